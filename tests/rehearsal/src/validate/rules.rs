// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules of use that types cannot express. Sources: the service's documentation and published field reports.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::tools::check_tools;
use super::{Backend, Finding};

/// `generationConfig` fields that a Live setup refuses.
const NOT_IN_LIVE: [&str; 8] = [
    "responseLogprobs",
    "logprobs",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "stopSequences",
    "routingConfig",
    "audioTimestamp",
];

/// What the model families differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// `gemini-3.8-live`; also stands for ids nobody knows yet.
    Live38,
    /// `gemini-3.8-live-extended-thinking`.
    Thinking38,
    /// `gemini-3.1-flash-live-*`.
    Live31,
    /// 2.5 native audio and older.
    Live25,
}

impl Family {
    fn of(model: &str) -> Self {
        let base = model.rsplit('/').next().unwrap_or(model);
        if base.starts_with("gemini-3.8-live-extended-thinking") {
            Self::Thinking38
        } else if base.starts_with("gemini-3.1") {
            Self::Live31
        } else if base.starts_with("gemini-2") || base.starts_with("gemini-live-2") {
            Self::Live25
        } else {
            Self::Live38
        }
    }

    /// Whether a function without a `behavior` blocks the model.
    const fn blocks_by_default(self) -> bool {
        match self {
            Self::Live38 | Self::Thinking38 => false,
            Self::Live31 | Self::Live25 => true,
        }
    }

    const fn takes_scheduling(self) -> bool {
        match self {
            Self::Live38 | Self::Live25 => true,
            Self::Thinking38 | Self::Live31 => false,
        }
    }
}

/// What was said so far on one connection, as far as the rules need it.
#[derive(Debug)]
pub(super) struct Rules {
    backend: Backend,
    setup: Option<Setup>,
    in_activity: bool,
}

#[derive(Debug)]
struct Setup {
    family: Family,
    manual_activity: bool,
    seeds_history: bool,
    /// The declared `behavior` of each function that has one.
    behavior: HashMap<String, String>,
    confirmed: bool,
}

impl Rules {
    pub(super) fn new(backend: Backend) -> Self {
        Self { backend, setup: None, in_activity: false }
    }

    pub(super) fn confirm(&mut self) {
        if let Some(setup) = &mut self.setup {
            setup.confirmed = true;
        }
    }

    pub(super) fn manual_activity(&self) -> bool {
        self.setup.as_ref().is_some_and(|setup| setup.manual_activity)
    }

    pub(super) fn reports_status(&self) -> bool {
        self.setup.as_ref().is_some_and(|setup| setup.family == Family::Thinking38)
    }

    pub(super) fn blocks(&self, function: &str) -> bool {
        self.setup.as_ref().is_some_and(|setup| match setup.behavior.get(function).map(String::as_str) {
            Some("BLOCKING") => true,
            Some("NON_BLOCKING") => false,
            Some(_) | None => setup.family.blocks_by_default(),
        })
    }

    /// Judges one message whose shape is right.
    pub(super) fn feed(&mut self, message: &Map<String, Value>, found: &mut Vec<Finding>) {
        let Some((kind, Value::Object(body))) = message.iter().next() else {
            return;
        };
        if kind == "setup" {
            if self.setup.is_some() {
                found.push(Finding::violation("setup", "only valid as the first message of a connection"));
            } else {
                self.on_setup(body, found);
            }
            return;
        }
        match &self.setup {
            None => return found.push(Finding::violation(kind, "sent before setup")),
            Some(setup) if !setup.confirmed => {
                return found.push(Finding::violation(kind, "sent before setupComplete"));
            }
            Some(_) => {}
        }
        match kind.as_str() {
            "realtimeInput" => self.on_realtime_input(body, found),
            "clientContent" => self.on_client_content(body, found),
            "toolResponse" => self.on_tool_response(body, found),
            "contextUpdate" => self.on_context_update(body, found),
            _ => {}
        }
    }

    fn on_setup(&mut self, setup: &Map<String, Value>, found: &mut Vec<Finding>) {
        let model = setup.get("model").and_then(Value::as_str).unwrap_or_default();
        let family = Family::of(model);
        self.check_model(model, found);
        let generation = setup.get("generationConfig").and_then(Value::as_object);
        check_generation(generation, family, found);
        let flag = |object: &str, field: &str| setup.get(object).and_then(|value| value.get(field));
        let newest = matches!(family, Family::Live38 | Family::Thinking38);
        if newest && flag("proactivity", "proactiveAudio") == Some(&Value::Bool(false)) {
            found.push(Finding::violation(
                "setup.proactivity.proactiveAudio",
                "false is refused: always on for 3.8",
            ));
        }
        if self.backend == Backend::Developer {
            if flag("sessionResumption", "transparent").is_some() {
                found.push(Finding::violation(
                    "setup.sessionResumption.transparent",
                    "not on the developer API",
                ));
            }
            if setup.contains_key("explicitVadSignal") {
                found.push(Finding::violation("setup.explicitVadSignal", "not on the developer API"));
            }
        }
        check_compression(setup.get("contextWindowCompression"), found);
        let activity = flag("realtimeInputConfig", "automaticActivityDetection");
        let mut behavior = HashMap::new();
        check_tools(setup.get("tools"), "setup.tools", family, &mut behavior, found);
        self.setup = Some(Setup {
            family,
            manual_activity: activity.and_then(|value| value.get("disabled")) == Some(&Value::Bool(true)),
            seeds_history: flag("historyConfig", "initialHistoryInClientContent") == Some(&Value::Bool(true)),
            behavior,
            confirmed: false,
        });
    }

    fn check_model(&self, model: &str, found: &mut Vec<Finding>) {
        let fits = match self.backend {
            Backend::Developer => model.strip_prefix("models/").is_some_and(|id| !id.is_empty()),
            Backend::Platform => {
                let parts: Vec<&str> = model.split('/').collect();
                match parts.as_slice() {
                    ["projects", p, "locations", l, "publishers", v, "models", id, ..] => {
                        [p, l, v, id].iter().all(|part| !part.is_empty())
                    }
                    ["projects", p, "locations", l, "endpoints", id, ..] => {
                        [p, l, id].iter().all(|part| !part.is_empty())
                    }
                    _ => false,
                }
            }
        };
        let wanted = match self.backend {
            Backend::Developer => "models/ID",
            Backend::Platform => "projects/P/locations/L/publishers/google/models/ID",
        };
        if !fits {
            found.push(Finding::violation("setup.model", format!("`{model}`: expected {wanted}")));
        }
    }

    fn on_realtime_input(&mut self, input: &Map<String, Value>, found: &mut Vec<Finding>) {
        let manual = self.manual_activity();
        if input.len() != 1 {
            found.push(Finding::violation(
                "realtimeInput",
                format!("{} fields: send exactly one", input.len()),
            ));
        }
        if input.contains_key("mediaChunks") {
            found.push(Finding::violation(
                "realtimeInput.mediaChunks",
                "deprecated: use audio, video or text",
            ));
        }
        for signal in ["activityStart", "activityEnd"] {
            if !input.contains_key(signal) {
                continue;
            }
            let path = format!("realtimeInput.{signal}");
            let starts = signal == "activityStart";
            if !manual {
                found.push(Finding::violation(path, "needs automaticActivityDetection.disabled = true"));
            } else if starts == self.in_activity {
                found.push(Finding::violation(
                    path,
                    if starts { "an activity is open" } else { "no activity is open" },
                ));
            }
            self.in_activity = starts;
        }
        if manual && input.contains_key("audioStreamEnd") {
            found.push(Finding::violation(
                "realtimeInput.audioStreamEnd",
                "not with manual activity detection",
            ));
        }
        if let Some(audio) = input.get("audio") {
            if manual && !self.in_activity {
                found
                    .push(Finding::violation("realtimeInput.audio", "outside activityStart and activityEnd"));
            }
            check_audio(audio, found);
        }
    }

    fn on_client_content(&self, content: &Map<String, Value>, found: &mut Vec<Finding>) {
        let unseeded =
            self.setup.as_ref().is_some_and(|setup| setup.family == Family::Live31 && !setup.seeds_history);
        if unseeded {
            let text = "3.1 may close on it unless historyConfig.initialHistoryInClientContent is set";
            found.push(Finding::note("clientContent", text));
        }
        for (i, turn) in items(content.get("turns")).enumerate() {
            let role = turn.get("role").and_then(Value::as_str);
            if !matches!(role, None | Some("user" | "model")) {
                let path = format!("clientContent.turns[{i}].role");
                found.push(Finding::violation(path, "expected user or model"));
            }
            for (j, part) in items(turn.get("parts")).enumerate() {
                if part.get("functionResponse").is_some() || part.get("functionCall").is_some() {
                    let path = format!("clientContent.turns[{i}].parts[{j}]");
                    found.push(Finding::violation(path, "tool traffic belongs in toolResponse"));
                }
            }
        }
    }

    fn on_tool_response(&self, response: &Map<String, Value>, found: &mut Vec<Finding>) {
        let Some(setup) = &self.setup else { return };
        if items(response.get("functionResponses")).next().is_none() {
            found.push(Finding::violation("toolResponse.functionResponses", "empty"));
        }
        for (i, answer) in items(response.get("functionResponses")).enumerate() {
            let here = format!("toolResponse.functionResponses[{i}]");
            let text = |field: &str| answer.get(field).and_then(Value::as_str).unwrap_or_default();
            if self.backend == Backend::Developer && text("id").is_empty() {
                found.push(Finding::violation(format!("{here}.id"), "required on the developer API"));
            }
            if text("name").is_empty() {
                found.push(Finding::note(format!("{here}.name"), "missing"));
            }
            if answer.get("response").is_none() {
                found.push(Finding::violation(format!("{here}.response"), "required: an object"));
            }
            if answer.get("scheduling").is_some() && !setup.family.takes_scheduling() {
                let text = "Function response scheduling is not supported for this model";
                found.push(Finding::violation(format!("{here}.scheduling"), text));
            }
            if answer.get("willContinue").is_some() && self.backend == Backend::Platform {
                found.push(Finding::violation(format!("{here}.willContinue"), "only on the developer API"));
            }
        }
    }

    fn on_context_update(&mut self, update: &Map<String, Value>, found: &mut Vec<Finding>) {
        if update.is_empty() {
            found.push(Finding::violation("contextUpdate", "sets nothing"));
        }
        let Some(setup) = &mut self.setup else { return };
        if let Some(tools) = update.get("tools").and_then(|tools| tools.get("tools")) {
            setup.behavior.clear();
            check_tools(Some(tools), "contextUpdate.tools.tools", setup.family, &mut setup.behavior, found);
        }
    }
}

fn check_generation(generation: Option<&Map<String, Value>>, family: Family, found: &mut Vec<Finding>) {
    let path = |field: &str| format!("setup.generationConfig.{field}");
    let modalities: Option<Vec<&str>> = generation
        .and_then(|generation| generation.get("responseModalities"))
        .map(|value| items(Some(value)).filter_map(Value::as_str).collect());
    match modalities.as_deref() {
        None => found.push(Finding::note(path("responseModalities"), "absent: send [\"AUDIO\"]")),
        Some(["AUDIO" | "VIDEO"]) => {}
        Some(_) => {
            let text = "Cannot extract voices from a non-audio request";
            found.push(Finding::violation(path("responseModalities"), text));
        }
    }
    let Some(generation) = generation else { return };
    for field in NOT_IN_LIVE.into_iter().filter(|field| generation.contains_key(*field)) {
        found.push(Finding::violation(path(field), "not supported in Live"));
    }
    let thinking = generation.get("thinkingConfig");
    match family {
        Family::Live38 if thinking.is_some() => {
            found.push(Finding::violation(
                path("thinkingConfig"),
                "Thinking level is not supported for this model.",
            ));
        }
        Family::Thinking38
            if thinking.and_then(|value| value.get("thinkingLevel")) == Some(&"MINIMAL".into()) =>
        {
            found.push(Finding::violation(path("thinkingConfig.thinkingLevel"), "MINIMAL is not supported"));
        }
        Family::Live38 | Family::Thinking38 | Family::Live31 | Family::Live25 => {}
    }
    if matches!(family, Family::Live38 | Family::Thinking38)
        && generation.contains_key("enableAffectiveDialog")
    {
        found.push(Finding::violation(path("enableAffectiveDialog"), "not on 3.8"));
    }
}

fn check_compression(compression: Option<&Value>, found: &mut Vec<Finding>) {
    let Some(compression) = compression else { return };
    let path = "setup.contextWindowCompression";
    let trigger = compression.get("triggerTokens").and_then(Value::as_i64);
    match compression.get("slidingWindow") {
        None => found.push(Finding::note(path, "no slidingWindow: no mechanism selected")),
        Some(window) => {
            let target = window.get("targetTokens").and_then(Value::as_i64);
            if let (Some(trigger), Some(target)) = (trigger, target)
                && target >= trigger
            {
                found.push(Finding::violation(path, "targetTokens must be below triggerTokens"));
            }
        }
    }
    if trigger.is_some_and(|trigger| !(5_000..=128_000).contains(&trigger)) {
        found.push(Finding::note(format!("{path}.triggerTokens"), "documented range is 5000..=128000"));
    }
}

fn check_audio(audio: &Value, found: &mut Vec<Finding>) {
    let mime = audio.get("mimeType").and_then(Value::as_str).unwrap_or_default();
    let rate = match pcm_rate(mime) {
        Some(PcmRate::Declared(rate)) => rate,
        Some(PcmRate::Assumed) => {
            found.push(Finding::note("realtimeInput.audio.mimeType", "no rate: 16000 is assumed"));
            DEFAULT_RATE
        }
        None => {
            let text = format!("`{mime}`: expected audio/pcm;rate=N");
            return found.push(Finding::violation("realtimeInput.audio.mimeType", text));
        }
    };
    let data = audio.get("data").and_then(Value::as_str).unwrap_or_default();
    let bytes = STANDARD.decode(data).map_or(0, |bytes| bytes.len());
    if bytes == 0 {
        found.push(Finding::violation("realtimeInput.audio.data", "empty"));
    } else if !bytes.is_multiple_of(2) {
        let text = format!("{bytes} bytes: odd for 16-bit samples");
        found.push(Finding::violation("realtimeInput.audio.data", text));
    } else {
        let ms = bytes as u64 * 1000 / (2 * u64::from(rate));
        if ms > 1000 {
            found.push(Finding::note(
                "realtimeInput.audio.data",
                format!("{ms} ms in one chunk: keep to 20..=100"),
            ));
        }
    }
}

/// The rate of microphone audio that declares none.
pub(super) const DEFAULT_RATE: u32 = 16_000;

/// The rate in an `audio/pcm` media type.
pub(super) enum PcmRate {
    Declared(u32),
    Assumed,
}

/// Reads `audio/pcm` or `audio/pcm;rate=N`; `None` for anything else.
pub(super) fn pcm_rate(mime: &str) -> Option<PcmRate> {
    let rest = mime.strip_prefix("audio/pcm")?;
    if rest.is_empty() {
        return Some(PcmRate::Assumed);
    }
    let digits = rest.strip_prefix(';')?.trim_start().strip_prefix("rate=")?;
    let rate = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()?;
    (rate > 0).then_some(PcmRate::Declared(rate))
}

pub(super) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
