// SPDX-License-Identifier: MIT OR Apache-2.0

//! From the mirror to checked values: ranges, choices, and what must hold between keys.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Uri;
use session::Profile;
use tools::http::{CallFacts, Egress};
use units::Db;

use super::fault::{Fault, Origin, Problem};
use super::raw::{Raw, RawChannel};
use super::{
    Audio, BargeIn, Board, CaptureChannel, Config, Device, DeviceAudio, Echo, EchoMode, Endpoint, Engage,
    EngageMode, Entry, Hal, Kb, Level, Log, Notify, Persona, Provider, ProviderKind, Records, SimZone,
    Speech, SpeechEngine, State, Tools, Vad, Warehouse, ZoneLimits, show,
};
use crate::file;
use crate::records::Bounds;
use crate::sound::{MUTE, TOOLS, VOICE_TOOLS};

/// Longest persona or profile, in bytes: a fifth of the context that is kept of a conversation would be the person's.
const MAX_PERSONA_BYTES: usize = 32 * 1024;

/// Longest id that services are told.
const MAX_ID_CHARS: usize = 100;

/// Longest sentence that says how the microphone is switched on again: two of them when spoken.
const UNMUTE_CHARS_MAX: usize = 200;

/// One hop of the audio worker: spans it counts are whole hops.
const HOP_MS: i64 = 10;

/// Checks values one by one and keeps every fault.
pub(super) struct Check<'a> {
    pub entries: &'a BTreeMap<String, Entry>,
    pub faults: &'a mut Vec<Fault>,
}

impl Check<'_> {
    /// The checked configuration. It is only good if no fault was added.
    pub(super) fn config(&mut self, raw: Raw) -> Config {
        let tools = self.tools(&raw);
        Config {
            provider: self.provider(&raw),
            persona: self.persona(&raw),
            audio: self.audio(&raw),
            vad: Vad {
                threshold: self.level("vad.threshold", raw.vad.threshold, 0.1..=0.95),
                onset: self.millis("vad.onset_ms", raw.vad.onset_ms, 32..=500),
                hangover: self.hops("vad.hangover_ms", raw.vad.hangover_ms, 10..=3000),
                level_floor: Db(self.level("vad.level_floor_dbfs", raw.vad.level_floor_dbfs, -90.0..=-20.0)),
            },
            barge_in: BargeIn {
                min_speech: self.millis("barge_in.min_speech_ms", raw.barge_in.min_speech_ms, 0..=2000),
            },
            engage: Engage {
                mode: self.choice(
                    "engage.mode",
                    &raw.engage.mode,
                    &[("voice", EngageMode::Voice), ("always", EngageMode::Always)],
                ),
                idle_after: self.seconds("engage.idle_after_s", raw.engage.idle_after_s, 5..=3600),
                preroll: self.millis("engage.preroll_ms", raw.engage.preroll_ms, 300..=3000),
            },
            speech: self.speech(&raw),
            gate: self.gate(&raw),
            // Its tables are read on their own: there may be any number of them.
            http_tools: Vec::new(),
            mcp: Vec::new(),
            clips: self.clips(&raw, &tools.egress),
            tools,
            earcons: self.earcons(&raw),
            hal: self.hal(&raw),
            state: State { dir: self.path("state.dir", &raw.state.dir) },
            log: self.log(&raw),
        }
    }

    fn provider(&mut self, raw: &Raw) -> Provider {
        let raw = &raw.provider;
        if !is_id(&raw.model) {
            self.wrong("provider.model", "a model id such as `gemini-3.8-live`, without `models/`");
        }
        let endpoint = if raw.endpoint.is_empty() {
            Endpoint::Public
        } else {
            self.url("provider.endpoint", &raw.endpoint, ["ws", "wss"], raw.allow_plaintext);
            Endpoint::Url(raw.endpoint.clone())
        };
        if raw.api_key_env.is_empty() || !show::is_variable_name(&raw.api_key_env) {
            self.wrong(
                "provider.api_key_env",
                "the name of an environment variable (A-Z, 0-9, _), not the key itself",
            );
        }
        for (key, text) in [("provider.voice", &raw.voice), ("provider.language", &raw.language)] {
            if !text.is_empty() && !is_id(text) {
                self.wrong(key, "at most 100 of letters, digits, `.`, `_` and `-`, or \"\"");
            }
        }
        Provider {
            kind: self.choice("provider.kind", &raw.kind, &[("gemini", ProviderKind::Gemini)]),
            model: raw.model.clone(),
            endpoint,
            api_key_env: raw.api_key_env.clone(),
            api_key_file: self.path("provider.api_key_file", &raw.api_key_file),
            voice: non_empty(&raw.voice),
            language: non_empty(&raw.language),
        }
    }

    fn persona(&mut self, raw: &Raw) -> Persona {
        let raw = &raw.persona;
        let mut text = raw.text.clone();
        if let Some(path) = self.path("persona.file", &raw.file) {
            if self.is_set("persona.text") {
                self.wrong(
                    "persona.file",
                    "\"\", as `persona.text` is set too: one of them says who the voice is",
                );
            }
            match file::read_text(&path, MAX_PERSONA_BYTES as u64) {
                Ok(read) => text = read.trim().to_owned(),
                Err(cause) => self.wrong("persona.file", &format!("a text file that can be read ({cause})")),
            }
        }
        let expected = format!("at most {MAX_PERSONA_BYTES} bytes");
        let source = if raw.file.is_empty() { "persona.text" } else { "persona.file" };
        for (key, text) in [(source, &text), ("persona.profile", &raw.profile)] {
            if text.len() > MAX_PERSONA_BYTES {
                self.wrong(key, &expected);
            }
        }
        Persona { text, profile: raw.profile.clone() }
    }

    fn audio(&mut self, whole: &Raw) -> Audio {
        let raw = &whole.audio;
        Audio {
            capture: self.device("audio.capture", &raw.capture),
            playback: self.device("audio.playback", &raw.playback),
            capture_channel: match &raw.capture_channel {
                RawChannel::Word(word) if word == "mix" => CaptureChannel::Mix,
                RawChannel::Index(index @ 0..=63) => {
                    CaptureChannel::Index(u16::try_from(*index).unwrap_or_default())
                }
                RawChannel::Word(_) | RawChannel::Index(_) => {
                    self.wrong("audio.capture_channel", "\"mix\" or 0..=63");
                    CaptureChannel::Mix
                }
            },
            allow_monitor: raw.allow_monitor,
            volume: Db(self.level("audio.volume_db", raw.volume_db, -60.0..=12.0)),
            echo: Echo {
                mode: self.choice(
                    "audio.echo.mode",
                    &raw.echo.mode,
                    &[
                        ("auto", EchoMode::Auto),
                        ("software", EchoMode::Software),
                        ("hardware", EchoMode::Hardware),
                        ("half_duplex", EchoMode::HalfDuplex),
                        ("off", EchoMode::Off),
                    ],
                ),
                tail: self.millis("audio.echo.tail_ms", raw.echo.tail_ms, 0..=2000),
                noise_suppression: raw.echo.noise_suppression,
                gain_control: raw.echo.gain_control,
            },
            recording: self.recording(whole),
        }
    }

    fn device(&mut self, key: &str, text: &str) -> Device {
        let rest = |prefix: &str| text.strip_prefix(prefix).filter(|rest| !rest.is_empty());
        match text {
            "default" => Device::Default,
            "none" => Device::None,
            _ => {
                if let Some(path) = rest("file:") {
                    Device::File(self.resolve(key, path))
                } else if rest("alsa:").or(rest("pulse:")).is_some() {
                    Device::Named(text.to_owned())
                } else {
                    self.wrong(key, "\"default\", \"none\", \"file:PATH\", \"alsa:NAME\" or \"pulse:NAME\" (`voiced audio list` names them)");
                    Device::None
                }
            }
        }
    }

    fn speech(&mut self, raw: &Raw) -> Speech {
        let raw = &raw.speech;
        let command = SpeechEngine::Command(raw.command.clone());
        let engine = self.choice(
            "speech.engine",
            &raw.engine,
            &[("espeak-ng", SpeechEngine::EspeakNg), ("command", command)],
        );
        let settled = self.settled(&["speech.engine", "speech.command"]);
        if settled && raw.engine == "command" && raw.command.first().is_none_or(String::is_empty) {
            self.wrong("speech.engine", "`speech.command` to name a program with it");
        }
        if raw.voice.is_empty() || raw.voice.len() > 64 || raw.voice.chars().any(char::is_control) {
            self.wrong("speech.voice", "1..=64 characters");
        }
        Speech { engine, voice: raw.voice.clone() }
    }

    fn tools(&mut self, raw: &Raw) -> Tools {
        let notify = &raw.tools.notify;
        let timeout = self.seconds("tools.notify.timeout_s", notify.timeout_s, 1..=30);
        if !show::is_variable_name(&notify.token_env) {
            self.wrong(
                "tools.notify.token_env",
                "the name of an environment variable (A-Z, 0-9, _), not the token itself",
            );
        }
        if !notify.url.is_empty() {
            self.url("tools.notify.url", &notify.url, ["http", "https"], notify.allow_plaintext);
        } else if notify.enabled && self.settled(&["tools.notify.url"]) {
            self.wrong("tools.notify.enabled", "`tools.notify.url` to be set with it");
        }
        let mut zones = BTreeMap::new();
        for (name, limits) in &raw.tools.warehouse.zones {
            let [min, max] = ["min_c", "max_c"].map(|part| format!("tools.warehouse.zones.{name}.{part}"));
            let min_c = self.number(&min, limits.min_c, -60.0..=100.0);
            let max_c = self.number(&max, limits.max_c, -60.0..=100.0);
            // A fault that lies between two keys is told of one that somebody set.
            let key = if self.is_set(&max) { &max } else { &min };
            let settled = self.settled(&[&min, &max]);
            if settled && min_c >= max_c {
                self.wrong(key, &format!("min_c below max_c ({min_c} and {max_c})"));
            }
            if settled && raw.hal.board == "sim" && !raw.hal.sim.zones.contains_key(name) {
                let known: Vec<&str> = raw.hal.sim.zones.keys().map(String::as_str).collect();
                self.wrong(key, &format!("a zone of the board: {}", known.join(", ")));
            }
            zones.insert(name.clone(), ZoneLimits { min_c, max_c });
        }
        let profiles = [("default", Profile::Default), ("voxa", Profile::Voxa)];
        Tools {
            enabled: raw.tools.enabled,
            profile: self.choice("tools.profile", &raw.tools.profile, &profiles),
            timeout: self.seconds("tools.timeout_s", raw.tools.timeout_s, 1..=30),
            warehouse: Warehouse { enabled: raw.tools.warehouse.enabled, zones },
            notify: notify.enabled.then(|| Notify {
                url: notify.url.clone(),
                token_env: non_empty(&notify.token_env),
                timeout,
            }),
            kb: self.kb(raw),
            device_audio: self.device_audio(raw),
            secrets_dir: self.path("tools.secrets_dir", &raw.tools.secrets_dir),
            egress: Egress::parse(&raw.tools.egress.allow).unwrap_or_else(|fault| {
                self.wrong("tools.egress.allow", &fault.to_string());
                Egress::default()
            }),
            call: self.call(raw),
        }
    }

    fn kb(&mut self, raw: &Raw) -> Option<Kb> {
        const FOLDER: &str = "tools.kb.folder";
        let raw = &raw.tools.kb;
        if raw.enabled && raw.folder.is_empty() && self.settled(&[FOLDER]) {
            self.wrong("tools.kb.enabled", "`tools.kb.folder` to be set with it");
        }
        let folder = self.path(FOLDER, &raw.folder).filter(|_| raw.enabled)?;
        let origin = self.entries.get(FOLDER).map_or(Origin::Default, |entry| entry.origin.clone());
        Some(Kb { folder, origin })
    }

    fn device_audio(&mut self, raw: &Raw) -> Option<DeviceAudio> {
        const OFFER: &str = "tools.device_audio.offer";
        const VOICES: &str = "tools.device_audio.voices";
        const UNMUTE: &str = "tools.device_audio.unmute";
        let usual = &raw.provider.voice;
        let raw = &raw.tools.device_audio;
        if raw.offer.is_empty() || raw.offer.iter().any(|name| !TOOLS.contains(&name.as_str())) {
            let expected =
                format!("one or more of those that this device can carry out: {}", TOOLS.join(", "));
            self.wrong(OFFER, &expected);
        }
        let is_one_twice = (1..raw.voices.len()).any(|n| raw.voices[..n].contains(&raw.voices[n]));
        if raw.voices.len() == 1 || is_one_twice || !raw.voices.iter().all(|voice| is_id(voice)) {
            self.wrong(VOICES, "[], or two or more names of voices to choose from, each once");
        } else if !raw.voices.is_empty()
            && !raw.voices.contains(usual)
            && self.settled(&[VOICES, "provider.voice"])
        {
            self.wrong(VOICES, &format!("`provider.voice` among them, the usual one: {usual:?}"));
        }
        let unmute = &raw.unmute;
        if unmute.chars().count() > UNMUTE_CHARS_MAX || unmute.contains(char::is_control) {
            self.wrong(UNMUTE, &format!("at most {UNMUTE_CHARS_MAX} characters in one line, or \"\""));
        }
        // Tools that lack what they need are left out; an offer of nothing else is no offer.
        let lacks = |name: &str| match name {
            MUTE => unmute.is_empty().then_some(UNMUTE),
            _ => (VOICE_TOOLS.contains(&name) && raw.voices.is_empty()).then_some(VOICES),
        };
        let lacking: Option<Vec<&str>> = raw.offer.iter().map(|name| lacks(name)).collect();
        if let Some([first, ..]) = lacking.as_deref()
            && self.settled(&[OFFER, VOICES, UNMUTE])
        {
            self.wrong(OFFER, &format!("`{first}` to be set with it, or none of them can be offered"));
        }
        let others = raw.voices.iter().filter(|voice| *voice != usual);
        let voices = raw.voices.iter().filter(|voice| *voice == usual).chain(others).cloned().collect();
        raw.enabled.then(|| DeviceAudio { offer: raw.offer.clone(), unmute: non_empty(&raw.unmute), voices })
    }

    fn call(&mut self, raw: &Raw) -> CallFacts {
        let raw = &raw.tools.call;
        for (key, text) in [("tools.call.agent_id", &raw.agent_id), ("tools.call.device_id", &raw.device_id)]
        {
            if text.chars().count() > MAX_ID_CHARS || text.contains(char::is_control) {
                self.wrong(key, &format!("at most {MAX_ID_CHARS} characters"));
            }
        }
        let user_data = serde_json::from_str(&raw.user_data).unwrap_or_else(|_| {
            self.wrong("tools.call.user_data", "a JSON object, such as '{\"site\": \"north\"}'");
            serde_json::Map::new()
        });
        CallFacts { agent_id: raw.agent_id.clone(), device_id: raw.device_id.clone(), user_data }
    }

    fn hal(&mut self, raw: &Raw) -> Hal {
        let mut zones = BTreeMap::new();
        for (name, zone) in &raw.hal.sim.zones {
            let key = |part: &str| format!("hal.sim.zones.{name}.{part}");
            let temp_c = self.number(&key("temp_c"), zone.temp_c, -60.0..=100.0);
            let humidity = self.number(&key("humidity"), zone.humidity, 0.0..=100.0);
            zones.insert(name.clone(), SimZone { temp_c, humidity });
        }
        let boards = [("sim", Board::Sim(zones)), ("none", Board::None)];
        let board = self.choice("hal.board", &raw.hal.board, &boards);
        Hal { board, button: self.button(raw), mute: self.mute_line(raw) }
    }

    fn log(&mut self, raw: &Raw) -> Log {
        let raw = &raw.log;
        let levels = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];
        let megabytes = self.whole("log.records_max_mb", raw.records_max_mb, 1..=1000).unsigned_abs();
        let keep = self.whole("log.records_keep", raw.records_keep, 0..=100);
        let bounds = Bounds {
            bytes_max: megabytes.saturating_mul(1_000_000),
            keep: u32::try_from(keep).unwrap_or_default(),
        };
        let records = self.path("log.records", &raw.records);
        if records.as_ref().is_some_and(|path| path.is_dir()) {
            self.wrong("log.records", "the path of a file: this is a folder");
        }
        Log {
            level: self.choice("log.level", &raw.level, &levels.map(|level| (level.as_str(), level))),
            wire_dir: self.path("log.wire_dir", &raw.wire_dir),
            records: records.map(|path| Records { path, bounds }),
        }
    }

    // One value.

    pub(super) fn whole(&mut self, key: &str, value: i64, range: RangeInclusive<i64>) -> i64 {
        if !range.contains(&value) {
            self.wrong(key, &format!("{}..={}", range.start(), range.end()));
        }
        value
    }

    fn number(&mut self, key: &str, value: f64, range: RangeInclusive<f64>) -> f64 {
        if !range.contains(&value) {
            self.wrong(key, &format!("{}..={}", range.start(), range.end()));
        }
        value
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "in range it fits; out of range there is no configuration"
    )]
    fn level(&mut self, key: &str, value: f64, range: RangeInclusive<f64>) -> f32 {
        self.number(key, value, range) as f32
    }

    fn millis(&mut self, key: &str, value: i64, range: RangeInclusive<i64>) -> Duration {
        Duration::from_millis(self.whole(key, value, range).unsigned_abs())
    }

    pub(super) fn seconds(&mut self, key: &str, value: i64, range: RangeInclusive<i64>) -> Duration {
        Duration::from_secs(self.whole(key, value, range).unsigned_abs())
    }

    fn hops(&mut self, key: &str, value: i64, range: RangeInclusive<i64>) -> Duration {
        if !range.contains(&value) || value % HOP_MS != 0 {
            self.wrong(key, &format!("{}..={} in steps of {HOP_MS}", range.start(), range.end()));
        }
        Duration::from_millis(value.unsigned_abs())
    }

    /// The choice that `text` names; the first one stands in for a wrong one.
    pub(super) fn choice<T: Clone>(&mut self, key: &str, text: &str, choices: &[(&str, T)]) -> T {
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, choice)) => choice.clone(),
            None => {
                let names: Vec<String> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
                self.wrong(key, &names.join(" or "));
                choices[0].1.clone()
            }
        }
    }

    /// Plaintext carries the key or a message readable by everyone on the way: to this machine, or where it is allowed.
    fn url(&mut self, key: &str, text: &str, [plain, encrypted]: [&str; 2], allow_plaintext: bool) {
        let expected = match parts(text) {
            Some((scheme, _)) if scheme == encrypted => return,
            Some((scheme, host)) if scheme == plain && (allow_plaintext || is_loopback(&host)) => return,
            Some((scheme, _)) if scheme == plain => {
                let section = key.rsplit_once('.').map_or("", |(section, _)| section);
                format!(
                    "{encrypted}://, as {plain}:// goes to this machine only unless `{section}.allow_plaintext` is true"
                )
            }
            Some(_) | None => format!("a URL {encrypted}://HOST or {plain}://HOST, without a user"),
        };
        self.wrong(key, &expected);
    }

    pub(super) fn path(&self, key: &str, text: &str) -> Option<PathBuf> {
        (!text.is_empty()).then(|| self.resolve(key, text))
    }

    /// The path that the value of `key` names, by who set it.
    pub(super) fn resolve(&self, key: &str, text: &str) -> PathBuf {
        self.entries.get(key).map_or(&Origin::Default, |entry| &entry.origin).beside(text)
    }

    fn is_set(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.origin != Origin::Default)
    }

    /// Whether the values of `keys` are what their authors meant: only then can one be judged by another.
    pub(super) fn settled(&self, keys: &[&str]) -> bool {
        self.faults.iter().all(|fault| match fault {
            Fault::Key { key, .. } => !keys.contains(&key.as_str()),
            // What a broken file would have set is not known.
            Fault::Unreadable { .. } | Fault::Syntax { .. } => false,
            Fault::Argument { .. } => true,
        })
    }

    pub(super) fn wrong(&mut self, key: &str, expected: &str) {
        let (value, origin) = match self.entries.get(key) {
            Some(entry) => (show::shortened(&show::masked(key, &entry.value)), entry.origin.clone()),
            None => ("\"\"".to_owned(), Origin::Default),
        };
        let problem = Problem::Value { value, expected: expected.to_owned() };
        self.faults.push(Fault::Key { origin, key: key.to_owned(), problem });
    }
}

/// Whether a provider may call something so.
fn is_id(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Scheme and host of a URL that has both and no user.
pub(super) fn parts(text: &str) -> Option<(String, String)> {
    let uri: Uri = text.parse().ok()?;
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
    let host = authority.host();
    (!host.is_empty()).then(|| (uri.scheme_str().unwrap_or_default().to_owned(), host.to_owned()))
}

pub(super) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
