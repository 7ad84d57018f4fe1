// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the provider says: its messages as neutral events. No I/O and no clock.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use session::{Capabilities, ProviderCall, ProviderEvent};
use units::{Hz, Pcm};

use super::Secret;
use super::close::excerpt;
use super::wire::{
    Cancellation, FunctionCall, GoAway, InlineData, ModelTurn, ResumptionUpdate, ToolCall, Transcript, Usage,
};

/// Rates a loudspeaker could be meant for; others are a mistake.
const RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;

/// Calls that are taken of one message: the 64 that the session takes of one response and the 256 past those that it
/// refuses one by one, so that a model which waits for its answers gets them. What is past these is a flood.
const CALLS: usize = 64 + 256;

/// Ids that one cancellation takes back: as many as there can be calls with a place in the session's ledger. Each costs
/// a look at all of it.
const CANCELLED: usize = 256;

/// Longest id of a call; the service's own have some 40 bytes. It is sent back with the answer.
const CALL_ID_BYTES: usize = 256;

/// Longest name of a called tool; a [declared](super::Declaration) one has at most 64, so one that is cut here names none.
const CALL_NAME_BYTES: usize = 128;

/// Longest handle to resume by: ample for an opaque token, and little to keep and to send back with the next set-up.
const HANDLE_BYTES: usize = 4096;

/// Messages that are known and mean nothing to us.
const KNOWN_AND_UNUSED: [&str; 3] = ["interactionStatus", "voiceActivity", "voiceActivityDetectionSignal"];

/// One thing that was in a message, in the order in which it should be acted on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    Event(ProviderEvent),
    /// Something that was ignored. No transcript, no audio.
    Anomaly(String),
}

/// Reads the messages of one connection, in order.
#[derive(Debug)]
pub(super) struct Reader {
    resumed: bool,
    capabilities: Capabilities,
    key: Secret,
    ready: bool,
    /// First half of a sample whose second half is in the next piece of audio.
    carry: Option<u8>,
}

impl Reader {
    /// `resumed`: the set-up carried a handle. `key` is masked in what anomalies quote.
    pub const fn new(resumed: bool, capabilities: Capabilities, key: Secret) -> Self {
        Self { resumed, capabilities, key, ready: false, carry: None }
    }

    /// Whether `setupComplete` has come.
    pub const fn is_ready(&self) -> bool {
        self.ready
    }

    /// Reads one message, text or binary alike.
    pub fn read(&mut self, message: &[u8]) -> Vec<Heard> {
        let mut out = Vec::new();
        if message.iter().all(u8::is_ascii_whitespace) {
            return out;
        }
        match serde_json::from_slice::<Value>(message) {
            Ok(Value::Object(fields)) => self.object(fields, &mut out),
            Ok(_) => out
                .push(anomaly(format!("message of {} bytes is JSON but no object: ignored", message.len()))),
            Err(error) => out
                .push(anomaly(format!("message of {} bytes is not JSON ({error}): ignored", message.len()))),
        }
        out
    }

    fn object(&mut self, mut fields: Map<String, Value>, out: &mut Vec<Heard>) {
        let mut known = fields.is_empty();
        for name in KNOWN_AND_UNUSED {
            known |= fields.contains_key(name);
        }
        let going_on = is_in_progress(&fields);
        if fields.remove("setupComplete").is_some() {
            known = true;
            self.set_up(out);
        }
        if let Some(update) =
            field::<ResumptionUpdate>(&mut fields, "sessionResumptionUpdate", &mut known, out)
        {
            let handle = handle(update, out);
            out.push(Heard::Event(ProviderEvent::ResumeHandle(handle)));
        }
        limit(&mut fields, ("toolCallCancellation", "ids", CANCELLED), out);
        if let Some(cancelled) = field::<Cancellation>(&mut fields, "toolCallCancellation", &mut known, out) {
            cancellation(cancelled, out);
        }
        let mut content =
            field::<Map<String, Value>>(&mut fields, "serverContent", &mut known, out).unwrap_or_default();
        self.speech(&mut content, out);
        limit(&mut fields, ("toolCall", "functionCalls", CALLS), out);
        if let Some(call) = field::<ToolCall>(&mut fields, "toolCall", &mut known, out) {
            calls(call, out);
        }
        self.turn_ends(&mut content, going_on, out);
        if let Some(usage) = field::<Usage>(&mut fields, "usageMetadata", &mut known, out) {
            tokens(&usage, out);
        }
        if let Some(go_away) = field::<GoAway>(&mut fields, "goAway", &mut known, out) {
            out.push(Heard::Event(ProviderEvent::GoAway { left: go_away.time_left }));
        }
        if !known {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let told = excerpt(&names.join(", "), &self.key);
            out.push(anomaly(format!("message of unknown kind `{told}`: ignored")));
        }
    }

    fn set_up(&mut self, out: &mut Vec<Heard>) {
        if self.ready {
            out.push(anomaly("setupComplete came twice: ignored".into()));
            return;
        }
        self.ready = true;
        let capabilities = self.capabilities.clone();
        out.push(Heard::Event(ProviderEvent::Ready { resumed: self.resumed, capabilities }));
    }

    /// Interruption, audio and text of a `serverContent`. An interruption voids the reply audio and text beside it: they
    /// belong to the reply it cut.
    fn speech(&mut self, content: &mut Map<String, Value>, out: &mut Vec<Heard>) {
        let interrupted = flag(content, "interrupted", out);
        if interrupted {
            self.carry = None;
            out.push(Heard::Event(ProviderEvent::Interrupted));
        }
        let turn = field::<ModelTurn>(content, "modelTurn", &mut true, out).unwrap_or_default();
        for audio in turn.parts.into_iter().filter_map(|part| part.inline_data) {
            if !interrupted {
                self.audio(&audio, out);
            }
        }
        if let Some(text) = transcript(content, "inputTranscription", out) {
            out.push(Heard::Event(ProviderEvent::UserText(text)));
        }
        if let Some(text) = transcript(content, "outputTranscription", out)
            && !interrupted
        {
            out.push(Heard::Event(ProviderEvent::ReplyText(text)));
        }
    }

    fn turn_ends(&mut self, content: &mut Map<String, Value>, going_on: bool, out: &mut Vec<Heard>) {
        let more = going_on || is_in_progress(content);
        if flag(content, "generationComplete", out) {
            self.carry = None;
            out.push(Heard::Event(ProviderEvent::GenerationComplete));
        }
        if flag(content, "turnComplete", out) {
            self.carry = None;
            out.push(Heard::Event(ProviderEvent::TurnComplete { more }));
        }
    }

    /// Appends one piece of audio as an event, unless it cannot be audio.
    fn audio(&mut self, audio: &InlineData, out: &mut Vec<Heard>) {
        let Some(rate) = pcm_rate(&audio.mime_type) else {
            let told = excerpt(&audio.mime_type, &self.key);
            out.push(anomaly(format!("reply audio of type `{told}` is not PCM at 8 to 192 kHz: dropped")));
            return;
        };
        let Ok(bytes) = STANDARD_PAD_INDIFFERENT.decode(&audio.data) else {
            out.push(anomaly(format!(
                "reply audio of {} characters is not base64: dropped",
                audio.data.len()
            )));
            return;
        };
        let samples = self.samples(&bytes);
        if !samples.is_empty() {
            out.push(Heard::Event(ProviderEvent::ReplyAudio(Pcm::new(rate, samples))));
        }
    }

    /// Little-endian samples; an odd byte waits for the next piece.
    fn samples(&mut self, bytes: &[u8]) -> Vec<i16> {
        let mut samples = Vec::with_capacity(bytes.len() / 2 + 1);
        let mut rest = bytes;
        if let (Some(low), Some((&high, after))) = (self.carry, bytes.split_first()) {
            samples.push(i16::from_le_bytes([low, high]));
            self.carry = None;
            rest = after;
        }
        let (pairs, odd) = rest.as_chunks::<2>();
        samples.extend(pairs.iter().map(|pair| i16::from_le_bytes(*pair)));
        if let [odd] = odd {
            self.carry = Some(*odd);
        }
        samples
    }
}

/// `audio/pcm;rate=24000`. Without a rate it is 24 kHz, the only rate that is documented.
fn pcm_rate(mime_type: &str) -> Option<Hz> {
    let mut pieces = mime_type.split(';').map(str::trim);
    if !pieces.next()?.eq_ignore_ascii_case("audio/pcm") {
        return None;
    }
    let named = pieces
        .filter_map(|piece| piece.split_once('='))
        .find(|(key, _)| key.trim().eq_ignore_ascii_case("rate"));
    let Some((_, rate)) = named else {
        return Some(Hz::K24);
    };
    let rate: u32 = rate.trim().parse().ok()?;
    RATES.contains(&rate).then(|| Hz::new(rate)).flatten()
}

/// Drops what a list in a message holds past its `most`, before anything is done for each. `list` is where it is: field,
/// name.
fn limit(fields: &mut Map<String, Value>, (field, list, most): (&str, &str, usize), out: &mut Vec<Heard>) {
    let found = fields.get_mut(field).and_then(|holder| holder.get_mut(list)).and_then(Value::as_array_mut);
    let Some(found) = found.filter(|found| found.len() > most) else { return };
    out.push(anomaly(format!("`{field}` of {} {list}: all after the first {most} are ignored", found.len())));
    found.truncate(most);
}

/// What the connection can be resumed by, if it can.
fn handle(update: ResumptionUpdate, out: &mut Vec<Heard>) -> Option<String> {
    let handle = update.new_handle.filter(|handle| update.resumable && !handle.is_empty())?;
    if handle.len() > HANDLE_BYTES {
        let bytes = handle.len();
        out.push(anomaly(format!(
            "handle of {bytes} bytes to resume by is ignored: at most {HANDLE_BYTES} are taken"
        )));
        return None;
    }
    Some(handle)
}

/// No call was taken with an id that does not fit, so none can be meant by one.
fn cancellation(mut cancelled: Cancellation, out: &mut Vec<Heard>) {
    let named = cancelled.ids.len();
    cancelled.ids.retain(|id| id.len() <= CALL_ID_BYTES);
    let odd = named - cancelled.ids.len();
    if odd > 0 {
        out.push(anomaly(format!(
            "{odd} ids of cancelled calls are ignored: at most {CALL_ID_BYTES} bytes are taken"
        )));
    }
    if !cancelled.ids.is_empty() {
        out.push(Heard::Event(ProviderEvent::CallsCancelled(cancelled.ids)));
    }
}

fn calls(call: ToolCall, out: &mut Vec<Heard>) {
    let (named, nameless): (Vec<_>, Vec<_>) =
        call.function_calls.into_iter().partition(|call| !call.name.is_empty());
    if !nameless.is_empty() {
        out.push(Heard::Anomaly(format!("{} calls without a name are ignored", nameless.len())));
    }
    let mut taken = Vec::with_capacity(named.len());
    for FunctionCall { id, mut name, args } in named {
        let id = id.filter(|id| !id.is_empty());
        // Without its id an answer would be taken for another call's.
        if let Some(bytes) = id.as_ref().map(String::len).filter(|&bytes| bytes > CALL_ID_BYTES) {
            out.push(anomaly(format!(
                "call with an id of {bytes} bytes is ignored and gets no answer: at most {CALL_ID_BYTES} are taken"
            )));
            continue;
        }
        if name.len() > CALL_NAME_BYTES {
            out.push(anomaly(format!(
                "call of a tool with a name of {} bytes: cut to {CALL_NAME_BYTES}, which is the name of none",
                name.len()
            )));
            name.truncate(name.floor_char_boundary(CALL_NAME_BYTES));
        }
        let args = args.filter(|args| !args.is_null()).unwrap_or_else(|| json!({}));
        taken.push(ProviderCall { id, name, args });
    }
    if !taken.is_empty() {
        out.push(Heard::Event(ProviderEvent::Calls(taken)));
    }
}

fn tokens(usage: &Usage, out: &mut Vec<Heard>) {
    let input_tokens = usage.prompt_token_count;
    let response = usage.response_token_count.max(usage.candidates_token_count);
    let output_tokens = response.saturating_add(usage.thoughts_token_count);
    if input_tokens > 0 || output_tokens > 0 {
        out.push(Heard::Event(ProviderEvent::Usage { input_tokens, output_tokens }));
    }
}

/// A model that thinks aloud closes an utterance and goes on by itself.
fn is_in_progress(fields: &Map<String, Value>) -> bool {
    fields.get("interactionStatus").and_then(Value::as_str) == Some("IN_PROGRESS")
}

fn transcript(content: &mut Map<String, Value>, name: &str, out: &mut Vec<Heard>) -> Option<String> {
    field::<Transcript>(content, name, &mut true, out).map(|it| it.text).filter(|text| !text.is_empty())
}

fn flag(content: &mut Map<String, Value>, name: &str, out: &mut Vec<Heard>) -> bool {
    field::<bool>(content, name, &mut true, out).unwrap_or(false)
}

/// Takes the field `name`, if it is there and of the shape that is expected. Null counts as absent. A wrong shape costs
/// this field only. The error's own text is not repeated: it may quote a transcript.
fn field<T: DeserializeOwned>(
    fields: &mut Map<String, Value>,
    name: &str,
    known: &mut bool,
    out: &mut Vec<Heard>,
) -> Option<T> {
    let value = fields.remove(name)?;
    *known = true;
    if value.is_null() {
        return None;
    }
    let parsed = serde_json::from_value(value).ok();
    if parsed.is_none() {
        out.push(anomaly(format!("`{name}` is not of the expected shape: ignored")));
    }
    parsed
}

const fn anomaly(text: String) -> Heard {
    Heard::Anomaly(text)
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
