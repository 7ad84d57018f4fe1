// SPDX-License-Identifier: MIT OR Apache-2.0

//! What we say: configuration, intents and microphone audio as messages of the protocol. Pure.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use session::{Answer, Capabilities, FollowUp, Intent};

use super::models::{Behavior, Family, Hold, Scheduling, family};
use super::wire::{
    ActivityDetection, Blob, ClientContent, ClientMessage, Content, ContextWindowCompression,
    FunctionDeclaration, FunctionResponse, GenerationConfig, PrebuiltVoice, RealtimeInput,
    RealtimeInputConfig, SessionResumption, Setup, SlidingWindow, SpeechConfig, TextPart, Tool, ToolResponse,
    Transcription, VoiceConfig,
};
use super::{Declaration, GeminiConfig, Sensitivity, schema};

/// What an answer says where no field can ask for silence.
const NOTHING_TO_SAY: &str = "Nothing needs saying about this.";

/// The first message of a connection. `resume` is a handle of an earlier one.
pub(super) fn setup(config: &GeminiConfig, resume: Option<&str>) -> String {
    let family = family(&config.model);
    let instruction = Some(config.instruction.as_str()).filter(|text| !text.is_empty());
    let declarations: Vec<FunctionDeclaration<'_>> =
        config.tools.iter().map(|tool| declaration(family, tool)).collect();
    ClientMessage::Setup(Setup {
        model: model_path(&config.model),
        generation_config: GenerationConfig {
            response_modalities: ["AUDIO"],
            speech_config: config.voice.as_deref().map(|voice_name| SpeechConfig {
                voice_config: VoiceConfig { prebuilt_voice_config: PrebuiltVoice { voice_name } },
            }),
        },
        system_instruction: instruction.map(|text| Content { role: None, parts: [TextPart { text }] }),
        tools: if declarations.is_empty() {
            vec![]
        } else {
            vec![Tool { function_declarations: declarations }]
        },
        realtime_input_config: RealtimeInputConfig {
            automatic_activity_detection: ActivityDetection {
                start_of_speech_sensitivity: config.vad.start.map(|sensitivity| match sensitivity {
                    Sensitivity::High => "START_SENSITIVITY_HIGH",
                    Sensitivity::Low => "START_SENSITIVITY_LOW",
                }),
                end_of_speech_sensitivity: config.vad.end.map(|sensitivity| match sensitivity {
                    Sensitivity::High => "END_SENSITIVITY_HIGH",
                    Sensitivity::Low => "END_SENSITIVITY_LOW",
                }),
                prefix_padding_ms: config.vad.prefix.map(milliseconds),
                silence_duration_ms: milliseconds(config.vad.silence),
            },
            activity_handling: "START_OF_ACTIVITY_INTERRUPTS",
            turn_coverage: "TURN_INCLUDES_ONLY_ACTIVITY",
        },
        session_resumption: SessionResumption { handle: resume },
        context_window_compression: ContextWindowCompression {
            trigger_tokens: config.compression.trigger_tokens,
            sliding_window: SlidingWindow { target_tokens: config.compression.target_tokens },
        },
        input_audio_transcription: Transcription { language_codes: &config.languages },
        output_audio_transcription: Transcription::default(),
    })
    .to_text()
}

/// What the session may count on with this configuration.
pub(super) fn capabilities(config: &GeminiConfig) -> Capabilities {
    let family = family(&config.model);
    Capabilities {
        hold_uplink_during_calls: match family.hold {
            Hold::Never => false,
            Hold::Blocking => config.tools.iter().any(|tool| tool.blocking),
            Hold::Always => true,
        },
        resumes: true,
        takes_notes: family.notes,
        takes_earlier_calls: false,
    }
}

/// 20 ms of microphone audio, mono, 16 kHz.
pub(super) fn mic(samples: &[i16]) -> String {
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let blob = Blob { mime_type: "audio/pcm;rate=16000", data: STANDARD.encode(bytes) };
    ClientMessage::RealtimeInput(RealtimeInput::Audio(blob)).to_text()
}

/// `intent` as a message; `None` where this model knows no way to say it.
pub(super) fn intent(config: &GeminiConfig, intent: &Intent) -> Option<String> {
    let family = family(&config.model);
    let message = match intent {
        Intent::Answer(answers) if answers.is_empty() => return None,
        Intent::Answer(answers) => ClientMessage::ToolResponse(ToolResponse {
            function_responses: answers.iter().map(|answer| response(config, family, answer)).collect(),
        }),
        Intent::Note(_) if !family.notes => return None,
        Intent::Note(text) => content(text, false),
        // A conversation cannot be told to go without its tools, nor be given a call that was not made in it.
        Intent::Ask(text) | Intent::AskInWords(text) if family.notes => content(text, true),
        Intent::Ask(text) | Intent::AskInWords(text) => {
            ClientMessage::RealtimeInput(RealtimeInput::Text(text))
        }
        Intent::Earlier(_) => return None,
        Intent::AudioStreamEnd => ClientMessage::RealtimeInput(RealtimeInput::AudioStreamEnd(true)),
    };
    Some(message.to_text())
}

/// A text that joins the conversation; the model speaks because of it if it completes a turn.
fn content(text: &str, turn_complete: bool) -> ClientMessage<'_> {
    let turns = [Content { role: Some("user"), parts: [TextPart { text }] }];
    ClientMessage::ClientContent(ClientContent { turns, turn_complete })
}

fn declaration<'a>(family: &Family, tool: &'a Declaration) -> FunctionDeclaration<'a> {
    FunctionDeclaration {
        name: &tool.name,
        description: &tool.description,
        parameters: schema::parameters(&tool.schema),
        behavior: match family.behavior {
            Behavior::Absent => None,
            Behavior::Declared if tool.blocking => Some("BLOCKING"),
            Behavior::Declared | Behavior::NonBlockingOnly => Some("NON_BLOCKING"),
        },
    }
}

fn response<'a>(config: &GeminiConfig, family: &Family, answer: &'a Answer) -> FunctionResponse<'a> {
    // The service takes objects only, and reads one without `output` and `error` as the output itself.
    let mut body =
        if answer.body.is_object() { answer.body.clone() } else { json!({ "output": answer.body }) };
    // Only a call that does not block can be scheduled; a tool that was never declared is none we know about.
    let free = config.tools.iter().any(|tool| tool.name == answer.name && !tool.blocking);
    let scheduling = match family.scheduling {
        Scheduling::Absent => None,
        Scheduling::Field | Scheduling::FieldAndBody => free.then_some(match answer.follow_up {
            FollowUp::Silent => "SILENT",
            FollowUp::WhenIdle | FollowUp::InWords => "WHEN_IDLE",
            FollowUp::Interrupt => "INTERRUPT",
        }),
    };
    match (scheduling, answer.follow_up) {
        (Some(when), FollowUp::Silent | FollowUp::WhenIdle | FollowUp::InWords | FollowUp::Interrupt) => {
            if family.scheduling == Scheduling::FieldAndBody {
                insert_absent(&mut body, "scheduling", when);
            }
        }
        (None, FollowUp::Silent) => insert_absent(&mut body, "instruction", NOTHING_TO_SAY),
        (None, FollowUp::WhenIdle | FollowUp::InWords | FollowUp::Interrupt) => {}
    }
    FunctionResponse { id: answer.id.as_deref(), name: &answer.name, response: body, scheduling }
}

fn insert_absent(body: &mut Value, key: &str, text: &str) {
    if let Some(object) = body.as_object_mut() {
        object.entry(key).or_insert_with(|| json!(text));
    }
}

fn model_path(model: &str) -> String {
    if model.starts_with("models/") { model.to_owned() } else { format!("models/{model}") }
}

fn milliseconds(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "outbound_tests.rs"]
mod tests;
