// SPDX-License-Identifier: MIT OR Apache-2.0

//! Server messages, as the Live service sends them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use units::Hz;

/// Tokens the service counts for a second of audio, in either direction.
const TOKENS_PER_SECOND: u128 = 25;

pub(crate) fn setup_complete(session: &str) -> Value {
    json!({ "setupComplete": { "sessionId": session } })
}

pub(crate) fn resumable(handle: &str) -> Value {
    json!({ "sessionResumptionUpdate": { "newHandle": handle, "resumable": true } })
}

/// A message without fields says that the session cannot be resumed at the moment.
pub(crate) fn not_resumable() -> Value {
    json!({ "sessionResumptionUpdate": {} })
}

pub(crate) fn heard(text: &str) -> Value {
    json!({ "serverContent": { "inputTranscription": { "text": text } } })
}

pub(crate) fn said(text: &str) -> Value {
    json!({ "serverContent": { "outputTranscription": { "text": text } } })
}

pub(crate) fn audio(rate: Hz, bytes: &[u8]) -> Value {
    let data = STANDARD.encode(bytes);
    let mime = format!("audio/pcm;rate={}", rate.get());
    json!({ "serverContent": { "modelTurn": {
        "role": "model", "parts": [{ "inlineData": { "mimeType": mime, "data": data } }],
    } } })
}

pub(crate) fn thought(text: &str) -> Value {
    json!({ "serverContent": { "modelTurn": { "role": "model", "parts": [{ "text": text, "thought": true }] } } })
}

pub(crate) fn interrupted() -> Value {
    json!({ "serverContent": { "interrupted": true } })
}

pub(crate) fn generation_complete() -> Value {
    json!({ "serverContent": { "generationComplete": true } })
}

/// `status` is `interactionStatus`, which only extended thinking sends.
pub(crate) fn turn_complete(status: Option<&str>, heard: Duration, said: Duration) -> Value {
    let mut content = Map::new();
    content.insert("turnComplete".to_owned(), true.into());
    if let Some(status) = status {
        content.insert("interactionStatus".to_owned(), status.into());
    }
    let tokens =
        |span: Duration| u64::try_from(span.as_millis() * TOKENS_PER_SECOND / 1000).unwrap_or(u64::MAX);
    let (heard, said) = (tokens(heard), tokens(said));
    json!({ "serverContent": content, "usageMetadata": {
        "promptTokenCount": heard,
        "responseTokenCount": said,
        "totalTokenCount": heard.saturating_add(said),
        "promptTokensDetails": [{ "modality": "AUDIO", "tokenCount": heard }],
        "responseTokensDetails": [{ "modality": "AUDIO", "tokenCount": said }],
    } })
}

/// One call as it stands in a message.
pub(crate) fn call(id: &str, name: &str, args: &Map<String, Value>) -> Value {
    json!({ "id": id, "name": name, "args": args })
}

pub(crate) fn tool_call(calls: &[Value]) -> Value {
    json!({ "toolCall": { "functionCalls": calls } })
}

/// The same calls where they do not belong, as some models send them too.
pub(crate) fn call_parts(calls: &[Value]) -> Value {
    let parts: Vec<Value> = calls.iter().map(|call| json!({ "functionCall": call })).collect();
    json!({ "serverContent": { "modelTurn": { "role": "model", "parts": parts } } })
}

pub(crate) fn cancellation(ids: &[String]) -> Value {
    json!({ "toolCallCancellation": { "ids": ids } })
}

pub(crate) fn go_away(left: Duration) -> Value {
    let text = match left.subsec_millis() {
        0 => format!("{}s", left.as_secs()),
        millis => format!("{}.{millis:03}s", left.as_secs()),
    };
    json!({ "goAway": { "timeLeft": text } })
}

/// A well-formed message of at least `bytes` bytes.
pub(crate) fn huge(bytes: usize) -> Value {
    thought(&"x".repeat(bytes))
}
