// SPDX-License-Identifier: MIT OR Apache-2.0

//! The JSON of the Live protocol: strict on the way out, lenient on the way in.
//!
//! Out: camelCase names, absent fields left out, exactly one field per message, and no way to write a field the
//! service does not know; one unknown field closes the connection. In: every field is optional, unknown ones are
//! ignored, because the service adds some every month.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// One message of ours.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "it lives for one serialization and is never stored")]
pub(super) enum ClientMessage<'a> {
    Setup(Setup<'a>),
    RealtimeInput(RealtimeInput<'a>),
    ClientContent(ClientContent<'a>),
    ToolResponse(ToolResponse<'a>),
}

impl ClientMessage<'_> {
    /// The text that goes over the wire.
    pub fn to_text(&self) -> String {
        // Only maps with other keys than strings and failing `Serialize` implementations can fail; there are none here.
        serde_json::to_string(self).expect("wire types hold strings, numbers and JSON values only")
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Setup<'a> {
    pub model: String,
    pub generation_config: GenerationConfig<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    pub realtime_input_config: RealtimeInputConfig,
    pub session_resumption: SessionResumption<'a>,
    pub context_window_compression: ContextWindowCompression,
    pub input_audio_transcription: Transcription<'a>,
    pub output_audio_transcription: Transcription<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig<'a> {
    pub response_modalities: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speech_config: Option<SpeechConfig<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpeechConfig<'a> {
    pub voice_config: VoiceConfig<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VoiceConfig<'a> {
    pub prebuilt_voice_config: PrebuiltVoice<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PrebuiltVoice<'a> {
    pub voice_name: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    pub parts: [TextPart<'a>; 1],
}

#[derive(Debug, Serialize)]
pub(super) struct TextPart<'a> {
    pub text: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tool<'a> {
    pub function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionDeclaration<'a> {
    pub name: &'a str,
    pub description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RealtimeInputConfig {
    pub automatic_activity_detection: ActivityDetection,
    pub activity_handling: &'static str,
    pub turn_coverage: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActivityDetection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_of_speech_sensitivity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_of_speech_sensitivity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_padding_ms: Option<u32>,
    pub silence_duration_ms: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct SessionResumption<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContextWindowCompression {
    pub trigger_tokens: u32,
    pub sliding_window: SlidingWindow,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SlidingWindow {
    pub target_tokens: u32,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Transcription<'a> {
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub language_codes: &'a [String],
}

/// Exactly one field a message, which is what the service takes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum RealtimeInput<'a> {
    Audio(Blob),
    Text(&'a str),
    AudioStreamEnd(bool),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob {
    pub mime_type: &'static str,
    pub data: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientContent<'a> {
    pub turns: [Content<'a>; 1],
    pub turn_complete: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolResponse<'a> {
    pub function_responses: Vec<FunctionResponse<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    pub name: &'a str,
    pub response: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<&'static str>,
}

/// Content of the model's turn. Only audio is taken from it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelTurn {
    pub parts: Vec<ModelPart>,
}

/// A part without audio (text, thought, a copy of a call) has neither field and is skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelPart {
    pub inline_data: Option<InlineData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct InlineData {
    pub mime_type: String,
    pub data: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Transcript {
    pub text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolCall {
    pub function_calls: Vec<FunctionCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionCall {
    pub id: Option<String>,
    pub name: String,
    pub args: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cancellation {
    pub ids: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GoAway {
    #[serde(deserialize_with = "protobuf_duration")]
    pub time_left: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResumptionUpdate {
    pub new_handle: Option<String>,
    pub resumable: bool,
}

/// The Developer API and Vertex name the model's half differently.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage {
    #[serde(deserialize_with = "protobuf_count")]
    pub prompt_token_count: u64,
    #[serde(deserialize_with = "protobuf_count")]
    pub response_token_count: u64,
    #[serde(deserialize_with = "protobuf_count")]
    pub candidates_token_count: u64,
    /// Billed as output, and not part of the response count.
    #[serde(deserialize_with = "protobuf_count")]
    pub thoughts_token_count: u64,
}

/// int64 is a string in protobuf JSON; a count that is no count is zero.
fn protobuf_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let from_text = || value.as_str().and_then(|text| text.parse().ok());
    Ok(value.as_u64().or_else(from_text).unwrap_or(0))
}

/// A duration in protobuf JSON is a decimal number of seconds and an `s`: `"50s"`, `"9.500s"`. Anything else is none.
fn protobuf_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let seconds =
        value.as_str().and_then(|text| text.strip_suffix('s')).and_then(|text| text.parse::<f64>().ok());
    Ok(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_are_seconds_with_a_letter() {
        let left =
            |value: Value| serde_json::from_value::<GoAway>(json!({ "timeLeft": value })).unwrap().time_left;
        assert_eq!(left(json!("50s")), Some(Duration::from_secs(50)));
        assert_eq!(left(json!("9.500s")), Some(Duration::from_millis(9500)));
        for odd in
            [json!("50"), json!("-1s"), json!("NaNs"), json!("1e99s"), json!(5), json!(null), json!("s")]
        {
            assert_eq!(left(odd.clone()), None, "{odd}");
        }
    }

    #[test]
    fn counts_are_numbers_or_texts() {
        let count = |value: Value| {
            serde_json::from_value::<Usage>(json!({ "promptTokenCount": value })).unwrap().prompt_token_count
        };
        assert_eq!((count(json!(12)), count(json!("12"))), (12, 12));
        for odd in [json!("x"), json!(-1), json!(null), json!([])] {
            assert_eq!(count(odd.clone()), 0, "{odd}");
        }
    }
}
