// SPDX-License-Identifier: MIT OR Apache-2.0

//! The file as it is written: the mirror of its tables, and every default, once.
//!
//! Numbers are as wide as TOML's, choices are text: what a value may be is said in `check`, where it can be said to the
//! person who wrote it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sounds::{RawEarcons, RawMute, RawRecording};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub provider: RawProvider,
    pub persona: RawPersona,
    pub audio: RawAudio,
    pub vad: RawVad,
    pub barge_in: RawBargeIn,
    pub engage: RawEngage,
    pub speech: RawSpeech,
    pub gate: RawGate,
    pub tools: RawTools,
    pub clips: RawClips,
    pub earcons: RawEarcons,
    pub hal: RawHal,
    pub state: RawState,
    pub log: RawLog,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProvider {
    pub kind: String,
    pub model: String,
    pub endpoint: String,
    pub allow_plaintext: bool,
    pub api_key_env: String,
    pub api_key_file: String,
    pub voice: String,
    pub language: String,
}

impl Default for RawProvider {
    fn default() -> Self {
        Self {
            kind: "gemini".into(),
            model: "gemini-3.8-live".into(),
            endpoint: String::new(),
            allow_plaintext: false,
            api_key_env: "GEMINI_API_KEY".into(),
            api_key_file: String::new(),
            voice: "Kore".into(),
            language: String::new(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPersona {
    pub text: String,
    pub file: String,
    pub profile: String,
}

impl Default for RawPersona {
    fn default() -> Self {
        Self {
            text: "You are the voice of this device. You are friendly, calm and brief: one or two short sentences at \
                   a time, no lists, no markup. You say only what you know; when a tool can answer, you call it."
                .into(),
            file: String::new(),
            profile: String::new(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAudio {
    pub capture: String,
    pub playback: String,
    pub capture_channel: RawChannel,
    pub allow_monitor: bool,
    pub volume_db: f64,
    pub echo: RawEcho,
    pub recording: RawRecording,
}

impl Default for RawAudio {
    fn default() -> Self {
        Self {
            capture: "default".into(),
            playback: "default".into(),
            capture_channel: RawChannel::Word("mix".into()),
            allow_monitor: false,
            volume_db: 0.0,
            echo: RawEcho::default(),
            recording: RawRecording::default(),
        }
    }
}

/// `"mix"` or a number.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum RawChannel {
    Index(i64),
    Word(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEcho {
    pub mode: String,
    pub tail_ms: i64,
    pub noise_suppression: bool,
    pub gain_control: bool,
}

impl Default for RawEcho {
    /// Half duplex is right in every room. Cancelling is not yet: over synthetic rooms a loud echo is taken for speech twice in
    /// ten minutes (`tests/bench/README.md`). The tail covers the device buffers of the measured sound servers (up to 150 ms) and a room's first reflections. Speech recognition
    /// needs no gain control, and it lifts what is left of the echo too.
    fn default() -> Self {
        Self { mode: "half_duplex".into(), tail_ms: 300, noise_suppression: true, gain_control: false }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVad {
    pub threshold: f64,
    pub onset_ms: i64,
    pub hangover_ms: i64,
    pub level_floor_dbfs: f64,
}

impl Default for RawVad {
    fn default() -> Self {
        Self { threshold: 0.5, onset_ms: 96, hangover_ms: 400, level_floor_dbfs: -55.0 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBargeIn {
    pub min_speech_ms: i64,
}

impl Default for RawBargeIn {
    fn default() -> Self {
        Self { min_speech_ms: 200 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEngage {
    pub mode: String,
    pub idle_after_s: i64,
    pub preroll_ms: i64,
}

impl Default for RawEngage {
    fn default() -> Self {
        Self { mode: "voice".into(), idle_after_s: 30, preroll_ms: 3000 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSpeech {
    pub engine: String,
    pub command: Vec<String>,
    pub voice: String,
}

impl Default for RawSpeech {
    fn default() -> Self {
        Self { engine: "espeak-ng".into(), command: Vec::new(), voice: "en".into() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGate {
    pub locale: String,
    pub other_locales: Vec<String>,
    pub read_back: String,
    pub accept_preasked: bool,
    pub trust_capture: bool,
    pub deadline_s: i64,
    pub grant_s: i64,
    pub attempts: i64,
    pub proposals: i64,
    pub declines: i64,
    pub violations: i64,
    pub effects: i64,
    pub log: RawGateLog,
}

impl Default for RawGate {
    fn default() -> Self {
        Self {
            locale: "en".into(),
            other_locales: Vec::new(),
            read_back: "device".into(),
            accept_preasked: false,
            trust_capture: false,
            deadline_s: 45,
            grant_s: 15,
            attempts: 2,
            proposals: 3,
            declines: 2,
            violations: 3,
            effects: 10,
            log: RawGateLog::default(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGateLog {
    pub fields: Vec<String>,
    pub max_mb: i64,
    pub keep: i64,
}

impl Default for RawGateLog {
    fn default() -> Self {
        Self { fields: Vec::new(), max_mb: 5, keep: 9 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTools {
    pub enabled: bool,
    pub profile: String,
    pub timeout_s: i64,
    pub secrets_dir: String,
    pub egress: RawEgress,
    pub call: RawCall,
    pub warehouse: RawWarehouse,
    pub notify: RawNotify,
    pub kb: RawKb,
    pub device_audio: RawDeviceAudio,
}

impl Default for RawTools {
    fn default() -> Self {
        Self {
            enabled: true,
            profile: "default".into(),
            timeout_s: 8,
            secrets_dir: String::new(),
            egress: RawEgress::default(),
            call: RawCall::default(),
            warehouse: RawWarehouse::default(),
            notify: RawNotify::default(),
            kb: RawKb::default(),
            device_audio: RawDeviceAudio::default(),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEgress {
    pub allow: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCall {
    pub agent_id: String,
    pub device_id: String,
    pub user_data: String,
}

impl Default for RawCall {
    fn default() -> Self {
        Self { agent_id: "voiced".into(), device_id: String::new(), user_data: "{}".into() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWarehouse {
    pub enabled: bool,
    pub zones: BTreeMap<String, RawZoneLimits>,
}

impl Default for RawWarehouse {
    fn default() -> Self {
        let cold = RawZoneLimits { min_c: 2.0, max_c: 8.0 };
        Self { enabled: true, zones: BTreeMap::from([("cold_storage".into(), cold)]) }
    }
}

/// A limit left out is no limit: the bound of what may be written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawZoneLimits {
    pub min_c: f64,
    pub max_c: f64,
}

impl Default for RawZoneLimits {
    fn default() -> Self {
        Self { min_c: -60.0, max_c: 100.0 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNotify {
    pub enabled: bool,
    pub url: String,
    pub allow_plaintext: bool,
    pub token_env: String,
    pub timeout_s: i64,
}

impl Default for RawNotify {
    fn default() -> Self {
        Self {
            enabled: false,
            url: String::new(),
            allow_plaintext: false,
            token_env: String::new(),
            timeout_s: 8,
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKb {
    pub enabled: bool,
    pub folder: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDeviceAudio {
    pub enabled: bool,
    pub offer: Vec<String>,
    pub unmute: String,
    pub voices: Vec<String>,
}

impl Default for RawDeviceAudio {
    fn default() -> Self {
        let offer = crate::sound::TOOLS.map(str::to_owned).into();
        Self { enabled: false, offer, unmute: String::new(), voices: Vec::new() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct RawClips(pub BTreeMap<String, String>);

impl Default for RawClips {
    fn default() -> Self {
        Self(BTreeMap::from([
            ("alarm".into(), "builtin:alarm".into()),
            ("chime".into(), "builtin:chime".into()),
        ]))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHal {
    pub board: String,
    pub button: RawButton,
    pub mute: RawMute,
    pub sim: RawSim,
}

impl Default for RawHal {
    fn default() -> Self {
        Self {
            board: "sim".into(),
            button: RawButton::default(),
            mute: RawMute::default(),
            sim: RawSim::default(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawButton {
    pub device: String,
    pub key: i64,
}

impl Default for RawButton {
    fn default() -> Self {
        Self { device: String::new(), key: 28 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSim {
    pub zones: BTreeMap<String, RawSimZone>,
}

impl Default for RawSim {
    fn default() -> Self {
        let cold = RawSimZone { temp_c: 4.2, humidity: 85.0 };
        let dock = RawSimZone { temp_c: 22.5, humidity: 45.0 };
        Self { zones: BTreeMap::from([("cold_storage".into(), cold), ("loading_dock".into(), dock)]) }
    }
}

/// What is left out is an ordinary room.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawSimZone {
    pub temp_c: f64,
    pub humidity: f64,
}

impl Default for RawSimZone {
    fn default() -> Self {
        Self { temp_c: 20.0, humidity: 50.0 }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawState {
    pub dir: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLog {
    pub level: String,
    pub wire_dir: String,
    pub records: String,
    pub records_max_mb: i64,
    pub records_keep: i64,
}

impl Default for RawLog {
    fn default() -> Self {
        Self {
            level: "info".into(),
            wire_dir: String::new(),
            records: String::new(),
            records_max_mb: 10,
            records_keep: 3,
        }
    }
}
