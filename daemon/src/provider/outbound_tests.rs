// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is written, exactly, by model family.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use units::CallKey;

use super::*;
use crate::provider::{Compression, Secret, ServerVad};

fn config(model: &str) -> GeminiConfig {
    let scale = json!({"type": "object", "additionalProperties": false, "required": ["unit"],
        "properties": {"unit": {"oneOf": [{"const": "kg"}, {"const": "lb"}]}}});
    let mut config = GeminiConfig::new(model, Secret::new("AIza-secret"));
    config.voice = Some("Kore".into());
    config.instruction = "You run a loading dock.".into();
    config.languages = vec!["en-US".into()];
    config.tools = vec![
        Declaration {
            name: "read_scale".into(),
            description: "Reads the scale.".into(),
            schema: scale,
            blocking: true,
        },
        Declaration {
            name: "ping".into(),
            description: "Checks the line.".into(),
            schema: json!({"type": "object"}),
            blocking: false,
        },
    ];
    config
}

fn parsed(message: &str) -> Value {
    serde_json::from_str(message).unwrap()
}

/// The set-up of `config(model)`; the two tools declare these behaviors.
fn golden(model: &str, behaviors: [Option<&str>; 2]) -> Value {
    let mut scale = json!({"name": "read_scale", "description": "Reads the scale.", "parameters": {"type": "OBJECT",
        "properties": {"unit": {"type": "STRING", "enum": ["kg", "lb"]}}, "required": ["unit"]}});
    let mut ping = json!({"name": "ping", "description": "Checks the line."});
    for (declaration, behavior) in [&mut scale, &mut ping].into_iter().zip(behaviors) {
        if let Some(behavior) = behavior {
            declaration["behavior"] = json!(behavior);
        }
    }
    json!({"setup": {
        "model": format!("models/{model}"),
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
        },
        "systemInstruction": {"parts": [{"text": "You run a loading dock."}]},
        "tools": [{"functionDeclarations": [scale, ping]}],
        "realtimeInputConfig": {
            "automaticActivityDetection": {"silenceDurationMs": 600},
            "activityHandling": "START_OF_ACTIVITY_INTERRUPTS",
            "turnCoverage": "TURN_INCLUDES_ONLY_ACTIVITY",
        },
        "sessionResumption": {},
        "contextWindowCompression": {"triggerTokens": 25_000, "slidingWindow": {"targetTokens": 8_000}},
        "inputAudioTranscription": {"languageCodes": ["en-US"]},
        "outputAudioTranscription": {},
    }})
}

#[test]
fn the_set_up_of_every_family() {
    for (model, behaviors) in [
        ("gemini-3.8-live", [Some("BLOCKING"), Some("NON_BLOCKING")]),
        ("gemini-3.8-live-extended-thinking", [Some("NON_BLOCKING"), Some("NON_BLOCKING")]),
        ("gemini-3.1-flash-live-preview", [None, None]),
        ("gemini-2.5-flash-native-audio-preview-12-2025", [Some("BLOCKING"), Some("NON_BLOCKING")]),
        ("gemini-9.9-live", [Some("BLOCKING"), Some("NON_BLOCKING")]),
    ] {
        assert_eq!(parsed(&setup(&config(model), None)), golden(model, behaviors), "{model}");
    }
}

#[test]
fn a_bare_set_up_and_a_full_one() {
    let bare = GeminiConfig::new("models/gemini-3.8-live", Secret::new("AIza-secret"));
    let setup_of = |config: &GeminiConfig, resume| parsed(&setup(config, resume))["setup"].clone();
    let written = setup_of(&bare, Some("handle-1"));
    assert_eq!(written["model"], "models/gemini-3.8-live");
    assert_eq!(written["generationConfig"], json!({"responseModalities": ["AUDIO"]}));
    assert_eq!(written["sessionResumption"], json!({"handle": "handle-1"}));
    assert_eq!(written["inputAudioTranscription"], json!({}));
    assert!(written.get("tools").is_none() && written.get("systemInstruction").is_none());

    let vad = ServerVad {
        silence: Duration::from_millis(750),
        prefix: Some(Duration::from_millis(20)),
        start: Some(Sensitivity::Low),
        end: Some(Sensitivity::High),
    };
    let compression = Compression { trigger_tokens: 100_000, target_tokens: 0 };
    let full = GeminiConfig { vad, compression, ..bare };
    let written = setup_of(&full, None);
    assert_eq!(
        written["realtimeInputConfig"]["automaticActivityDetection"],
        json!({"startOfSpeechSensitivity": "START_SENSITIVITY_LOW", "endOfSpeechSensitivity": "END_SENSITIVITY_HIGH",
            "prefixPaddingMs": 20, "silenceDurationMs": 750})
    );
    assert_eq!(
        written["contextWindowCompression"],
        json!({"triggerTokens": 100_000, "slidingWindow": {"targetTokens": 0}})
    );
}

#[test]
fn the_key_is_in_no_message() {
    let config = config("gemini-3.8-live");
    assert!(!setup(&config, Some("handle")).contains("AIza"));
    assert!(!format!("{config:?}").contains("AIza"));
}

#[test]
fn capabilities_follow_the_family_and_the_tools() {
    let holds = |config: &GeminiConfig| capabilities(config).hold_uplink_during_calls;
    assert!(!holds(&config("gemini-3.8-live")));
    assert!(!holds(&config("gemini-3.8-live-extended-thinking")));
    assert!(holds(&config("gemini-3.1-flash-live-preview")));
    let mut native = config("gemini-2.5-flash-native-audio-preview-12-2025");
    assert!(holds(&native));
    native.tools.retain(|tool| !tool.blocking);
    assert!(!holds(&native));
    assert!(capabilities(&config("gemini-3.8-live")).takes_notes);
    assert!(!capabilities(&config("gemini-3.1-flash-live-preview")).takes_notes);
}

fn answer(name: &str, follow_up: FollowUp, body: Value) -> Answer {
    Answer { call: CallKey(1), id: Some("call-1".into()), name: name.into(), body, follow_up }
}

/// The one function response that `model` is sent for `answer`.
fn answered(model: &str, answer: Answer) -> Value {
    let message = intent(&config(model), &Intent::Answer(vec![answer])).unwrap();
    parsed(&message)["toolResponse"]["functionResponses"][0].clone()
}

#[test]
fn an_answer_says_when_to_speak_where_the_model_takes_it() {
    let body = json!({"status": "ok"});
    let silent = json!({"status": "ok", "instruction": "Nothing needs saying about this."});
    let native = "gemini-2.5-flash-native-audio-preview-12-2025";
    let copied = |when: &str| json!({"status": "ok", "scheduling": when});
    for (model, tool, follow_up, response, scheduling) in [
        ("gemini-3.8-live", "ping", FollowUp::Silent, &body, Some("SILENT")),
        ("gemini-3.8-live", "ping", FollowUp::WhenIdle, &body, Some("WHEN_IDLE")),
        ("gemini-3.8-live", "ping", FollowUp::InWords, &body, Some("WHEN_IDLE")),
        ("gemini-3.8-live", "ping", FollowUp::Interrupt, &body, Some("INTERRUPT")),
        ("gemini-3.8-live", "read_scale", FollowUp::Silent, &silent, None),
        ("gemini-3.8-live", "read_scale", FollowUp::Interrupt, &body, None),
        ("gemini-3.8-live", "read_scale", FollowUp::WhenIdle, &body, None),
        ("gemini-3.8-live", "made_up", FollowUp::WhenIdle, &body, None),
        ("gemini-3.8-live-extended-thinking", "ping", FollowUp::Silent, &silent, None),
        ("gemini-3.8-live-extended-thinking", "ping", FollowUp::WhenIdle, &body, None),
        ("gemini-3.1-flash-live-preview", "ping", FollowUp::Silent, &silent, None),
        (native, "ping", FollowUp::Interrupt, &copied("INTERRUPT"), Some("INTERRUPT")),
        (native, "ping", FollowUp::Silent, &copied("SILENT"), Some("SILENT")),
        (native, "ping", FollowUp::WhenIdle, &copied("WHEN_IDLE"), Some("WHEN_IDLE")),
        (native, "read_scale", FollowUp::Silent, &silent, None),
    ] {
        let mut expected = json!({"id": "call-1", "name": tool, "response": response});
        if let Some(when) = scheduling {
            expected["scheduling"] = json!(when);
        }
        assert_eq!(
            answered(model, answer(tool, follow_up, body.clone())),
            expected,
            "{model} {tool} {follow_up:?}"
        );
    }
}

#[test]
fn an_answer_is_always_an_object_and_keeps_its_own_instruction() {
    let model = "gemini-3.1-flash-live-preview";
    let own = json!({"instruction": "say it twice"});
    assert_eq!(answered(model, answer("ping", FollowUp::Silent, own.clone()))["response"], own);
    let wrapped = answered(model, answer("ping", FollowUp::WhenIdle, json!(12)));
    assert_eq!(wrapped["response"], json!({"output": 12}));
    let mut anonymous = answer("ping", FollowUp::WhenIdle, json!({}));
    anonymous.id = None;
    assert!(answered(model, anonymous).get("id").is_none());
}

#[test]
fn several_answers_go_in_one_message() {
    let answers = vec![
        answer("ping", FollowUp::WhenIdle, json!({})),
        answer("read_scale", FollowUp::WhenIdle, json!({"kg": 3})),
    ];
    let message = intent(&config("gemini-3.8-live"), &Intent::Answer(answers)).unwrap();
    assert_eq!(parsed(&message)["toolResponse"]["functionResponses"].as_array().map(Vec::len), Some(2));
    assert_eq!(intent(&config("gemini-3.8-live"), &Intent::Answer(vec![])), None);
}

#[test]
fn notes_and_the_end_of_the_stream() {
    let note = Intent::Note("the door is open".into());
    assert_eq!(
        parsed(&intent(&config("gemini-3.8-live"), &note).unwrap()),
        json!({"clientContent": {"turns": [{"role": "user", "parts": [{"text": "the door is open"}]}], "turnComplete": false}})
    );
    assert_eq!(intent(&config("gemini-3.1-flash-live-preview"), &note), None);
    // One that is to be spoken about has a way to every model.
    let ask = Intent::Ask("the door is open".into());
    assert_eq!(
        parsed(&intent(&config("gemini-3.8-live"), &ask).unwrap()),
        json!({"clientContent": {"turns": [{"role": "user", "parts": [{"text": "the door is open"}]}], "turnComplete": true}})
    );
    assert_eq!(
        parsed(&intent(&config("gemini-3.1-flash-live-preview"), &ask).unwrap()),
        json!({"realtimeInput": {"text": "the door is open"}})
    );
    // That the model should not call anything is for the words to say.
    let in_words = Intent::AskInWords("the door is open".into());
    for model in ["gemini-3.8-live", "gemini-3.1-flash-live-preview"] {
        assert_eq!(intent(&config(model), &in_words), intent(&config(model), &ask), "{model}");
    }
    assert_eq!(
        parsed(&intent(&config("gemini-3.8-live"), &Intent::AudioStreamEnd).unwrap()),
        json!({"realtimeInput": {"audioStreamEnd": true}})
    );
}

#[test]
fn microphone_audio_is_little_endian_base64() {
    assert_eq!(
        parsed(&mic(&[1, -2])),
        json!({"realtimeInput": {"audio": {"mimeType": "audio/pcm;rate=16000", "data": "AQD+/w=="}}})
    );
}
