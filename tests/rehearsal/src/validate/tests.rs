// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Backend, Finding, Validator, Weight};

/// A setup that uses most of what there is.
fn setup() -> Value {
    json!({ "setup": {
        "model": "models/gemini-3.8-live",
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "speechConfig": { "voiceConfig": { "prebuiltVoiceConfig": { "voiceName": "Kore" } } },
        },
        "systemInstruction": { "parts": [{ "text": "You run a loading dock." }] },
        "tools": [{ "functionDeclarations": [
            {
                "name": "read_scale", "description": "Reads the scale.", "behavior": "NON_BLOCKING",
                "parameters": {
                    "type": "OBJECT",
                    "properties": { "unit": { "type": "STRING", "enum": ["kg", "lb"] } },
                    "required": ["unit"],
                },
            },
            {
                "name": "ping", "behavior": "BLOCKING",
                "parametersJsonSchema": { "type": "object", "properties": {} },
            },
        ] }],
        "realtimeInputConfig": {
            "automaticActivityDetection": {
                "startOfSpeechSensitivity": "START_SENSITIVITY_LOW", "silenceDurationMs": 600, "prefixPaddingMs": 20,
            },
            "activityHandling": "START_OF_ACTIVITY_INTERRUPTS",
            "turnCoverage": "TURN_INCLUDES_ONLY_ACTIVITY",
        },
        "sessionResumption": {},
        "contextWindowCompression": { "triggerTokens": 25000, "slidingWindow": { "targetTokens": 8000 } },
        "inputAudioTranscription": { "languageCodes": ["en-US"] },
        "outputAudioTranscription": {},
        "historyConfig": { "initialHistoryInClientContent": true },
    } })
}

/// The setup with one dotted path replaced. Objects on the way are made.
fn edited(path: &str, value: Value) -> Value {
    let mut message = setup();
    let mut node = &mut message["setup"];
    for key in path.split('.') {
        node = match key.parse::<usize>() {
            Ok(index) => &mut node[index],
            Err(_) => &mut node[key],
        };
    }
    *node = value;
    message
}

fn without(path: &str, key: &str) -> Value {
    let mut message = setup();
    message["setup"].pointer_mut(path).unwrap().as_object_mut().unwrap().remove(key);
    message
}

fn mic() -> Value {
    mic_bytes(&[0; 1280])
}

fn mic_bytes(bytes: &[u8]) -> Value {
    json!({ "realtimeInput": { "audio": { "data": STANDARD.encode(bytes), "mimeType": "audio/pcm;rate=16000" } } })
}

fn answer(fields: Value) -> Value {
    json!({ "toolResponse": { "functionResponses": [fields] } })
}

fn manual() -> Value {
    edited("realtimeInputConfig.automaticActivityDetection", json!({ "disabled": true }))
}

/// What is found in a conversation that confirms each setup. A string stands for itself, anything else is sent as
/// JSON.
fn found(backend: Backend, messages: &[Value]) -> Vec<Finding> {
    let mut validator = Validator::new(backend);
    let mut found = Vec::new();
    for message in messages {
        let text = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
        found.extend(validator.check(&text).1);
        validator.confirm();
    }
    found
}

fn violations(messages: &[Value]) -> Vec<Finding> {
    let mut found = found(Backend::Developer, messages);
    found.retain(|finding| finding.weight == Weight::Violation);
    found
}

#[test]
fn good_sessions_pass() {
    let automatic = [
        setup(),
        json!({ "clientContent": { "turns": [{ "role": "user", "parts": [{ "text": "hi" }] }], "turnComplete": true } }),
        mic(),
        json!({ "realtimeInput": { "audioStreamEnd": true } }),
        json!({ "realtimeInput": { "text": "note" } }),
        answer(json!({
            "id": "c1", "name": "read_scale", "response": { "output": 12.5 }, "scheduling": "WHEN_IDLE",
        })),
        json!({ "contextUpdate": {
            "systemInstruction": { "parts": [{ "text": "new" }] }, "tools": { "tools": [] },
        } }),
        json!({ "clientContent": { "turnComplete": true } }),
    ];
    assert_eq!(found(Backend::Developer, &automatic), []);
    let manual = [
        manual(),
        json!({ "realtimeInput": { "activityStart": {} } }),
        mic(),
        json!({ "realtimeInput": { "activityEnd": {} } }),
    ];
    assert_eq!(found(Backend::Developer, &manual), []);
    let platform = [
        edited("model", json!("projects/p/locations/us-central1/publishers/google/models/gemini-3.8-live")),
        answer(json!({ "name": "read_scale", "response": { "output": 1 } })),
    ];
    assert_eq!(found(Backend::Platform, &platform), []);
}

/// Each is refused, and for the reason that is meant: the path the finding names.
#[test]
fn bad_messages_are_refused_where_they_are_wrong() {
    let function = "setup.tools[0].functionDeclarations[0]";
    let with = |message: Value| vec![setup(), message];
    let model = |id: &str, message: Value| vec![edited("model", json!(format!("models/{id}"))), message];
    let cases: Vec<(&str, Vec<Value>, String)> = vec![
        ("snake_case envelope", vec![json!({ "realtime_input": { "text": "x" } })], String::new()),
        (
            "snake_case leaf",
            with(
                json!({ "realtimeInput": { "audio": { "data": "AAAA", "mime_type": "audio/pcm;rate=16000" } } }),
            ),
            "realtimeInput.audio.mime_type".into(),
        ),
        ("unknown setup field", vec![edited("turnDetection", json!({}))], "setup.turnDetection".into()),
        (
            "instruction as a string",
            vec![edited("systemInstruction", json!("be brief"))],
            "setup.systemInstruction".into(),
        ),
        (
            "lower-case schema type",
            vec![edited("tools.0.functionDeclarations.0.parameters.type", json!("object"))],
            format!("{function}.parameters.type"),
        ),
        (
            "unknown schema key",
            vec![edited("tools.0.functionDeclarations.0.parameters.$schema", json!("x"))],
            format!("{function}.parameters.$schema"),
        ),
        (
            "enum on an integer",
            vec![edited(
                "tools.0.functionDeclarations.0.parameters.properties.unit",
                json!({ "type": "INTEGER", "enum": ["1"] }),
            )],
            format!("{function}.parameters.properties.unit.enum"),
        ),
        (
            "required names no property",
            vec![edited("tools.0.functionDeclarations.0.parameters.required", json!(["weight"]))],
            format!("{function}.parameters.required"),
        ),
        (
            "parameters twice",
            vec![edited("tools.0.functionDeclarations.0.parametersJsonSchema", json!({}))],
            function.into(),
        ),
        (
            "function name",
            vec![edited("tools.0.functionDeclarations.0.name", json!("read scale"))],
            format!("{function}.name"),
        ),
        (
            "function declared twice",
            vec![edited("tools.0.functionDeclarations.1.name", json!("read_scale"))],
            "setup.tools[0].functionDeclarations[1].name".into(),
        ),
        (
            "enum value",
            vec![edited("realtimeInputConfig.activityHandling", json!("INTERRUPT"))],
            "setup.realtimeInputConfig.activityHandling".into(),
        ),
        (
            "INTERRUPTED, as one page prints it",
            with(answer(json!({ "id": "1", "name": "f", "response": {}, "scheduling": "INTERRUPTED" }))),
            "toolResponse.functionResponses[0].scheduling".into(),
        ),
        (
            "thinking level on 3.8",
            vec![edited("generationConfig.thinkingConfig", json!({ "thinkingLevel": "LOW" }))],
            "setup.generationConfig.thinkingConfig".into(),
        ),
        (
            "TEXT modality",
            vec![edited("generationConfig.responseModalities", json!(["TEXT"]))],
            "setup.generationConfig.responseModalities".into(),
        ),
        (
            "not supported in Live",
            vec![edited("generationConfig.stopSequences", json!(["x"]))],
            "setup.generationConfig.stopSequences".into(),
        ),
        (
            "proactive audio off",
            vec![edited("proactivity", json!({ "proactiveAudio": false }))],
            "setup.proactivity.proactiveAudio".into(),
        ),
        (
            "transparent resumption",
            vec![edited("sessionResumption", json!({ "transparent": true }))],
            "setup.sessionResumption.transparent".into(),
        ),
        (
            "explicit VAD signal",
            vec![edited("explicitVadSignal", json!(true))],
            "setup.explicitVadSignal".into(),
        ),
        (
            "compression target above trigger",
            vec![edited("contextWindowCompression.slidingWindow.targetTokens", json!(25000))],
            "setup.contextWindowCompression".into(),
        ),
        ("bare model id", vec![edited("model", json!("gemini-3.8-live"))], "setup.model".into()),
        ("no model", vec![without("", "model")], "setup.model".into()),
        ("two kinds in one", vec![json!({ "setup": {}, "realtimeInput": { "text": "x" } })], String::new()),
        (
            "turnComplete in realtimeInput",
            with(json!({ "realtimeInput": { "text": "x", "turnComplete": true } })),
            "realtimeInput.turnComplete".into(),
        ),
        (
            "two inputs in one",
            with(json!({ "realtimeInput": { "text": "x", "audioStreamEnd": true } })),
            "realtimeInput".into(),
        ),
        ("audio before setup", vec![mic()], "realtimeInput".into()),
        ("second setup", with(setup()), "setup".into()),
        (
            "activityStart with automatic detection",
            with(json!({ "realtimeInput": { "activityStart": {} } })),
            "realtimeInput.activityStart".into(),
        ),
        ("audio outside an activity", vec![manual(), mic()], "realtimeInput.audio".into()),
        (
            "activityEnd without a start",
            vec![manual(), json!({ "realtimeInput": { "activityEnd": {} } })],
            "realtimeInput.activityEnd".into(),
        ),
        (
            "audioStreamEnd with manual detection",
            vec![manual(), json!({ "realtimeInput": { "audioStreamEnd": true } })],
            "realtimeInput.audioStreamEnd".into(),
        ),
        ("odd PCM length", with(mic_bytes(b"abc")), "realtimeInput.audio.data".into()),
        ("empty PCM", with(mic_bytes(b"")), "realtimeInput.audio.data".into()),
        (
            "unpadded base64",
            with(
                json!({ "realtimeInput": { "audio": { "data": "AAE", "mimeType": "audio/pcm;rate=16000" } } }),
            ),
            "realtimeInput.audio.data".into(),
        ),
        (
            "media type",
            with(json!({ "realtimeInput": { "audio": { "data": "AAAA", "mimeType": "audio/wav" } } })),
            "realtimeInput.audio.mimeType".into(),
        ),
        (
            "rate zero",
            with(json!({ "realtimeInput": { "audio": { "data": "AAAA", "mimeType": "audio/pcm;rate=0" } } })),
            "realtimeInput.audio.mimeType".into(),
        ),
        (
            "missing id",
            with(answer(json!({ "name": "f", "response": { "output": 1 } }))),
            "toolResponse.functionResponses[0].id".into(),
        ),
        (
            "missing response",
            with(answer(json!({ "id": "1", "name": "f" }))),
            "toolResponse.functionResponses[0].response".into(),
        ),
        (
            "response not an object",
            with(answer(json!({ "id": "1", "name": "f", "response": "ok" }))),
            "toolResponse.functionResponses[0].response".into(),
        ),
        (
            "no answers",
            with(json!({ "toolResponse": { "functionResponses": [] } })),
            "toolResponse.functionResponses".into(),
        ),
        (
            "number as a string",
            vec![edited("generationConfig.maxOutputTokens", json!("100"))],
            "setup.generationConfig.maxOutputTokens".into(),
        ),
        (
            "fraction for an integer",
            vec![edited("generationConfig.maxOutputTokens", json!(100.0))],
            "setup.generationConfig.maxOutputTokens".into(),
        ),
        ("null field", vec![edited("proactivity", Value::Null)], "setup.proactivity".into()),
        (
            "extended thinking with a blocking tool",
            vec![edited("model", json!("models/gemini-3.8-live-extended-thinking"))],
            "setup.tools[0].functionDeclarations[1].behavior".into(),
        ),
        (
            "3.1 with a non-blocking tool",
            vec![edited("model", json!("models/gemini-3.1-flash-live-preview"))],
            format!("{function}.behavior"),
        ),
        (
            "scheduling on extended thinking",
            model(
                "gemini-3.8-live-extended-thinking",
                answer(json!({ "id": "1", "name": "f", "response": {}, "scheduling": "SILENT" })),
            ),
            "toolResponse.functionResponses[0].scheduling".into(),
        ),
        (
            "media chunks",
            with(
                json!({ "realtimeInput": { "mediaChunks": [{ "data": "AAAA", "mimeType": "audio/pcm" }] } }),
            ),
            "realtimeInput.mediaChunks".into(),
        ),
        (
            "tool traffic in clientContent",
            with(
                json!({ "clientContent": { "turns": [{ "parts": [{ "functionResponse": { "name": "f" } }] }] } }),
            ),
            "clientContent.turns[0].parts[0]".into(),
        ),
        (
            "role system",
            with(json!({ "clientContent": { "turns": [{ "role": "system", "parts": [] }] } })),
            "clientContent.turns[0].role".into(),
        ),
        ("empty context update", with(json!({ "contextUpdate": {} })), "contextUpdate".into()),
        ("not JSON", with(json!("{oops")), String::new()),
        ("NaN", with(json!("{\"realtimeInput\": {\"text\": NaN}}")), String::new()),
        ("key twice", with(json!("{\"realtimeInput\": {\"text\": \"a\", \"text\": \"b\"}}")), String::new()),
        ("text after the message", with(json!("{\"realtimeInput\": {\"text\": \"a\"}} x")), String::new()),
        ("array at the top", with(json!("[]")), String::new()),
        ("empty text", with(json!("")), String::new()),
    ];
    for (name, messages, path) in cases {
        let found = violations(&messages);
        assert!(
            found.iter().any(|finding| finding.path == path),
            "{name}: expected {path:?}, found {found:?}"
        );
    }
}

#[test]
fn nothing_may_be_sent_before_the_setup_is_confirmed() {
    let mut validator = Validator::new(Backend::Developer);
    assert_eq!(validator.check(&setup().to_string()).1, []);
    let early = validator.check(&mic().to_string());
    assert_eq!(early.1, [Finding::violation("realtimeInput", "sent before setupComplete")]);
    validator.confirm();
    assert_eq!(validator.check(&mic().to_string()).1, []);
}

#[test]
fn doubtful_use_is_noted_and_passes() {
    let long = mic_bytes(&[0; 2 * 16_000 * 2]);
    let found = found(Backend::Developer, &[without("/generationConfig", "responseModalities"), long]);
    let paths: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["setup.generationConfig.responseModalities", "realtimeInput.audio.data"]);
    assert!(found.iter().all(|finding| finding.weight == Weight::Note), "{found:?}");
}

#[test]
fn whether_a_call_blocks_is_declared_or_the_models_default() {
    let blocks = |setup: Value, function: &str| {
        let mut validator = Validator::new(Backend::Developer);
        validator.check(&setup.to_string());
        validator.blocks(function)
    };
    assert!(!blocks(setup(), "read_scale"));
    assert!(blocks(setup(), "ping"));
    assert!(!blocks(setup(), "undeclared"));
    let old = edited("model", json!("models/gemini-2.5-flash-native-audio-preview-12-2025"));
    assert!(blocks(old, "undeclared"));
}
