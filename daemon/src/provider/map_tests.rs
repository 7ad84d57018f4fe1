// SPDX-License-Identifier: MIT OR Apache-2.0

//! Server messages in, one line of text for each thing heard out.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use base64::engine::general_purpose::STANDARD;

use super::*;

fn reader() -> Reader {
    let capabilities = Capabilities {
        hold_uplink_during_calls: false,
        resumes: true,
        takes_notes: true,
        takes_earlier_calls: false,
    };
    Reader::new(false, capabilities, Secret::new("AIza-secret-key"))
}

fn audio(bytes: &[u8]) -> Value {
    part("audio/pcm;rate=24000", &STANDARD.encode(bytes))
}

fn part(mime_type: &str, data: &str) -> Value {
    json!({"inlineData": {"mimeType": mime_type, "data": data}})
}

fn parts(parts: &[Value]) -> Value {
    json!({"serverContent": {"modelTurn": {"role": "model", "parts": parts}}})
}

/// 24 kHz reply audio of `ms`, as a part.
fn speech(ms: usize) -> Value {
    audio(&vec![1; ms * 48])
}

fn told(heard: &Heard) -> String {
    match heard {
        Heard::Anomaly(text) => format!("anomaly: {text}"),
        Heard::Event(event) => match event {
            ProviderEvent::Ready { resumed, .. } => format!("ready resumed={resumed}"),
            ProviderEvent::ReplyAudio(pcm) if pcm.frames().0 < 10 => format!("audio {:?}", pcm.samples()),
            ProviderEvent::ReplyAudio(pcm) => format!("audio {pcm:?}"),
            ProviderEvent::ReplyText(text) => format!("reply {text:?}"),
            ProviderEvent::UserText(text) => format!("user {text:?}"),
            ProviderEvent::Calls(calls) => calls
                .iter()
                .map(|call| format!("call {} {} {}", call.id.as_deref().unwrap_or("-"), call.name, call.args))
                .collect::<Vec<_>>()
                .join("; "),
            ProviderEvent::CallsCancelled(ids) => format!("cancelled {}", ids.join(" ")),
            ProviderEvent::GenerationComplete => "generated".into(),
            ProviderEvent::TurnComplete { more } => format!("turn more={more}"),
            ProviderEvent::Interrupted => "interrupted".into(),
            ProviderEvent::ResumeHandle(handle) => format!("handle {}", handle.as_deref().unwrap_or("-")),
            ProviderEvent::GoAway { left } => format!("go away {left:?}"),
            ProviderEvent::Usage { input_tokens, output_tokens } => {
                format!("usage {input_tokens} {output_tokens}")
            }
        },
    }
}

/// One connection hears `messages`, in order.
#[track_caller]
fn check(messages: &[Value], expected: &[&str]) {
    let mut reader = reader();
    let heard: Vec<String> = messages
        .iter()
        .flat_map(|message| reader.read(message.to_string().as_bytes()))
        .map(|heard| told(&heard))
        .collect();
    assert_eq!(heard, expected);
}

#[test]
fn set_up_is_heard_once() {
    check(
        &[json!({"setupComplete": {"sessionId": "s-0001"}}), json!({"setupComplete": {}})],
        &["ready resumed=false", "anomaly: setupComplete came twice: ignored"],
    );
}

#[test]
fn a_spoken_turn() {
    check(
        &[
            json!({"serverContent": {"inputTranscription": {"text": "what time is it"}}}),
            parts(&[speech(40)]),
            parts(&[speech(200)]),
            json!({"serverContent": {"outputTranscription": {"text": "It is"}}}),
            json!({"serverContent": {"outputTranscription": {"text": " noon."}}}),
            parts(&[speech(320)]),
            json!({"serverContent": {"generationComplete": true}}),
            json!({"serverContent": {"turnComplete": true}, "usageMetadata": {
                "promptTokenCount": 120, "responseTokenCount": 36, "thoughtsTokenCount": 60, "totalTokenCount": 156}}),
        ],
        &[
            "user \"what time is it\"",
            "audio Pcm(40 ms at 24000 Hz)",
            "audio Pcm(200 ms at 24000 Hz)",
            "reply \"It is\"",
            "reply \" noon.\"",
            "audio Pcm(320 ms at 24000 Hz)",
            "generated",
            "turn more=false",
            "usage 120 96",
        ],
    );
}

#[test]
fn one_message_may_hold_everything_and_thoughts_are_never_speech() {
    check(
        &[json!({
            "serverContent": {
                "turnComplete": true,
                "generationComplete": true,
                "outputTranscription": {"text": "Hello", "finished": true},
                "inputTranscription": {"text": "hi", "languageCode": "en-US"},
                "modelTurn": {"parts": [{"text": "planning", "thought": true}, {"text": "unspoken"}, speech(20), speech(20),
                    {"functionCall": {"id": "call-1", "name": "open_gate", "args": {}}}]},
                "continuationToken": "x",
            },
            "usageMetadata": {"totalTokenCount": 10},
        })],
        &[
            "audio Pcm(20 ms at 24000 Hz)",
            "audio Pcm(20 ms at 24000 Hz)",
            "user \"hi\"",
            "reply \"Hello\"",
            "generated",
            "turn more=false",
        ],
    );
}

#[test]
fn an_interruption_comes_first_and_voids_the_reply_beside_it() {
    check(
        &[
            parts(&[speech(40)]),
            json!({"serverContent": {
                "modelTurn": {"parts": [speech(20)]}, "outputTranscription": {"text": "never said"},
                "inputTranscription": {"text": "stop"}, "interrupted": true, "turnComplete": true}}),
            parts(&[speech(30)]),
        ],
        &[
            "audio Pcm(40 ms at 24000 Hz)",
            "interrupted",
            "user \"stop\"",
            "turn more=false",
            "audio Pcm(30 ms at 24000 Hz)",
        ],
    );
}

#[test]
fn calls_keep_their_order_and_absent_pieces_are_filled_in() {
    check(
        &[
            json!({"toolCall": {"functionCalls": [
                {"id": "call-1", "name": "read_scale", "args": {"unit": "kg"}},
                {"id": "call-2", "name": "open_gate", "args": {}},
            ]}}),
            json!({"toolCall": {"functionCalls": [{"name": "ping"}, {"id": "", "args": null}, {"name": "x", "args": [1]}]}}),
            json!({"toolCall": {"functionCalls": []}}),
            json!({"toolCall": {"functionCalls": [{"id": "call-4", "name": "look", "args": {}}]}, "interactionStatus": "IN_PROGRESS"}),
            json!({"toolCallCancellation": {"ids": ["call-1", "call-2"]}}),
            json!({"toolCallCancellation": {}}),
        ],
        &[
            "call call-1 read_scale {\"unit\":\"kg\"}; call call-2 open_gate {}",
            "anomaly: 1 calls without a name are ignored",
            "call - ping {}; call - x [1]",
            "call call-4 look {}",
            "cancelled call-1 call-2",
        ],
    );
}

/// As many as the session answers, one by one: a model that waits for an answer gets it.
#[test]
fn a_message_makes_320_calls_at_most() {
    let call = |n: usize| json!({"id": format!("call-{n}"), "name": "ping"});
    let message = |calls: usize| {
        let calls: Vec<Value> = (0..calls).map(call).collect();
        json!({"toolCall": {"functionCalls": calls}}).to_string()
    };
    let heard = reader().read(message(320).as_bytes());
    assert!(matches!(heard.as_slice(), [Heard::Event(ProviderEvent::Calls(calls))] if calls.len() == 320));
    let heard = reader().read(message(5000).as_bytes());
    let [Heard::Anomaly(text), Heard::Event(ProviderEvent::Calls(calls))] = heard.as_slice() else {
        panic!("{} things heard", heard.len())
    };
    assert_eq!(text, "`toolCall` of 5000 functionCalls: all after the first 320 are ignored");
    assert_eq!(calls.len(), 320);
    assert_eq!(calls.last().unwrap().id.as_deref(), Some("call-319"));
}

#[test]
fn a_call_with_an_oversized_id_is_ignored() {
    let call = |id: usize| json!({"id": "i".repeat(id), "name": "n"});
    check(
        &[
            json!({"toolCall": {"functionCalls": [call(257), {"id": "call-1", "name": "ping"}]}}),
            json!({"toolCall": {"functionCalls": [call(4096)]}}),
        ],
        &[
            "anomaly: call with an id of 257 bytes is ignored and gets no answer: at most 256 are taken",
            "call call-1 ping {}",
            "anomaly: call with an id of 4096 bytes is ignored and gets no answer: at most 256 are taken",
        ],
    );
    let heard = reader().read(json!({"toolCall": {"functionCalls": [call(256)]}}).to_string().as_bytes());
    assert!(matches!(heard.as_slice(), [Heard::Event(ProviderEvent::Calls(_))]), "{heard:?}");
}

#[test]
fn a_call_with_an_oversized_name_is_taken_with_a_part_of_it_so_that_it_is_answered() {
    let call = |name: &str| json!({"toolCall": {"functionCalls": [{"id": "call-1", "name": name}]}});
    let (fits, long) = ("n".repeat(128), "n".repeat(129));
    // 127 bytes and one character of two: the cut is before it.
    let split = format!("{}é", "n".repeat(127));
    check(
        &[call(&fits), call(&long), call(&split)],
        &[
            &format!("call call-1 {fits} {{}}"),
            "anomaly: call of a tool with a name of 129 bytes: cut to 128, which is the name of none",
            &format!("call call-1 {fits} {{}}"),
            "anomaly: call of a tool with a name of 129 bytes: cut to 128, which is the name of none",
            &format!("call call-1 {} {{}}", "n".repeat(127)),
        ],
    );
}

#[test]
fn a_cancellation_is_bounded_in_its_ids_and_in_each() {
    let long = "i".repeat(257);
    check(
        &[
            json!({"toolCallCancellation": {"ids": [long, "call-1", long]}}),
            json!({"toolCallCancellation": {"ids": [long]}}),
        ],
        &[
            "anomaly: 2 ids of cancelled calls are ignored: at most 256 bytes are taken",
            "cancelled call-1",
            "anomaly: 1 ids of cancelled calls are ignored: at most 256 bytes are taken",
        ],
    );
    let ids: Vec<String> = (0..5000).map(|n| format!("call-{n}")).collect();
    let heard = reader().read(json!({"toolCallCancellation": {"ids": ids}}).to_string().as_bytes());
    let [Heard::Anomaly(text), Heard::Event(ProviderEvent::CallsCancelled(taken))] = heard.as_slice() else {
        panic!("{} things heard", heard.len())
    };
    assert_eq!(text, "`toolCallCancellation` of 5000 ids: all after the first 256 are ignored");
    assert_eq!(taken.as_slice(), &ids[..256]);
}

#[test]
fn a_handle_that_is_too_long_to_be_sent_back_is_none() {
    let update = |bytes: usize| json!({"sessionResumptionUpdate": {"newHandle": "h".repeat(bytes), "resumable": true}});
    check(
        &[update(4096), update(4097)],
        &[
            &format!("handle {}", "h".repeat(4096)),
            "anomaly: handle of 4097 bytes to resume by is ignored: at most 4096 are taken",
            "handle -",
        ],
    );
}

#[test]
fn a_thinking_model_closes_an_utterance_and_goes_on() {
    check(
        &[
            json!({"serverContent": {"interactionStatus": "IN_PROGRESS", "turnComplete": true}}),
            json!({"serverContent": {"turnComplete": true}, "interactionStatus": "IN_PROGRESS"}),
            json!({"serverContent": {"turnComplete": true, "interactionStatus": "IDLE"}}),
            json!({"serverContent": {"turnComplete": true, "interactionStatus": "REQUIRES_ACTION"}}),
            json!({"serverContent": {"turnComplete": true, "turnCompleteReason": "NEW_REASON", "waitingForInput": true}}),
        ],
        &["turn more=true", "turn more=true", "turn more=false", "turn more=false", "turn more=false"],
    );
}

#[test]
fn handles_and_goodbyes() {
    check(
        &[
            json!({"sessionResumptionUpdate": {"newHandle": "handle-1", "resumable": true}}),
            json!({"sessionResumptionUpdate": {"newHandle": "handle-2", "resumable": true, "lastConsumedClientMessageIndex": "1234"}}),
            json!({"sessionResumptionUpdate": {"newHandle": "stale", "resumable": false}}),
            json!({"sessionResumptionUpdate": {"newHandle": "", "resumable": true}}),
            json!({"sessionResumptionUpdate": {}}),
            json!({"goAway": {"timeLeft": "50s"}}),
            json!({"goAway": {"timeLeft": "9.500s"}}),
            json!({"goAway": {}}),
        ],
        &[
            "handle handle-1",
            "handle handle-2",
            "handle -",
            "handle -",
            "handle -",
            "go away Some(50s)",
            "go away Some(9.5s)",
            "go away None",
        ],
    );
}

#[test]
fn known_messages_without_a_meaning_are_silent() {
    check(
        &[
            json!({}),
            json!({"serverContent": {}}),
            json!({"serverContent": {"modelTurn": {"parts": [{"text": ""}]}}}),
            json!({"serverContent": {"interimInputTranscription": {"text": "turn on"}}}),
            json!({"serverContent": {"outputTranscription": {"finished": true}}}),
            json!({"voiceActivity": {"type": "ACTIVITY_START", "audioOffset": "1.250s"}}),
            json!({"voiceActivityDetectionSignal": {"vadSignalType": "VAD_SIGNAL_TYPE_SOS"}}),
            json!({"usageMetadata": {}}),
            json!({"serverContent": null, "goAway": null, "setupComplete2": 1}),
        ],
        &[],
    );
    assert_eq!(reader().read(b""), []);
    assert_eq!(reader().read(b" \n"), []);
}

#[test]
fn usage_is_read_in_both_spellings() {
    check(
        &[
            json!({"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7, "trafficType": "ON_DEMAND"}}),
            json!({"usageMetadata": {"promptTokenCount": "9", "responseTokenCount": "1"}}),
        ],
        &["usage 5 7", "usage 9 1"],
    );
}

#[test]
fn half_a_sample_waits_for_its_other_half() {
    check(
        &[
            parts(&[audio(&[0x01, 0x02, 0x03])]),
            parts(&[audio(&[0x04]), audio(&[0x05]), audio(&[])]),
            parts(&[audio(&[0x06, 0x07, 0x08])]),
        ],
        &["audio [513]", "audio [1027]", "audio [1541, 2055]"],
    );
}

#[test]
fn half_a_sample_does_not_outlive_its_turn() {
    for end in ["interrupted", "generationComplete", "turnComplete"] {
        let mut reader = reader();
        reader.read(parts(&[audio(&[9])]).to_string().as_bytes());
        reader.read(json!({"serverContent": {end: true}}).to_string().as_bytes());
        let heard = reader.read(parts(&[audio(&[1, 0])]).to_string().as_bytes());
        assert_eq!(heard.iter().map(told).collect::<Vec<_>>(), ["audio [1]"], "{end}");
    }
}

#[test]
fn the_rate_is_read_and_an_absurd_one_drops_the_audio() {
    let bytes = STANDARD.encode([0, 0]);
    for (mime_type, rate) in [
        ("audio/pcm;rate=24000", Some(24_000)),
        ("audio/pcm; rate=16000", Some(16_000)),
        ("AUDIO/PCM;channels=1;Rate=48000", Some(48_000)),
        ("audio/pcm", Some(24_000)),
        ("audio/pcm;rate=8000", Some(8_000)),
        ("audio/pcm;rate=7999", None),
        ("audio/pcm;rate=192001", None),
        ("audio/pcm;rate=-1", None),
        ("audio/pcm;rate=fast", None),
        ("audio/pcm;rate=", None),
        ("audio/opus", None),
        ("image/png", None),
        ("", None),
    ] {
        let heard = reader().read(parts(&[part(mime_type, &bytes)]).to_string().as_bytes());
        let found = match heard.as_slice() {
            [Heard::Event(ProviderEvent::ReplyAudio(pcm))] => Some(pcm.rate().get()),
            [Heard::Anomaly(_)] => None,
            other => panic!("{mime_type}: {other:?}"),
        };
        assert_eq!(found, rate, "{mime_type}");
    }
}

#[test]
fn a_wrong_shape_costs_one_field_only_and_is_not_quoted() {
    check(
        &[
            json!({"serverContent": {"outputTranscription": "my secret words", "interrupted": "yes", "turnComplete": true}}),
            json!({"toolCall": {"functionCalls": {"id": 1}}, "goAway": {"timeLeft": 5}}),
            json!({"serverContent": [1, 2], "usageMetadata": {"promptTokenCount": 1}}),
            parts(&[part("audio/pcm;rate=24000", "###"), audio(&[1, 0])]),
        ],
        &[
            "anomaly: `interrupted` is not of the expected shape: ignored",
            "anomaly: `outputTranscription` is not of the expected shape: ignored",
            "turn more=false",
            "anomaly: `toolCall` is not of the expected shape: ignored",
            "go away None",
            "anomaly: `serverContent` is not of the expected shape: ignored",
            "usage 1 0",
            "anomaly: reply audio of 3 characters is not base64: dropped",
            "audio [1]",
        ],
    );
}

#[test]
fn what_is_no_message_is_an_anomaly() {
    for (message, part_of_text) in [
        (&b"<html>"[..], "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"{\"serverContent\":", "is not JSON"),
        (b"[1]", "no object"),
        (b"null", "no object"),
        (b"{\"hello\":1}", "unknown kind `hello`"),
        (&[b'['; 4096], "is not JSON"),
    ] {
        let heard = reader().read(message);
        let [Heard::Anomaly(text)] = heard.as_slice() else { panic!("{heard:?}") };
        assert!(text.contains(part_of_text), "{text}");
    }
}

#[test]
fn an_anomaly_that_quotes_masks_the_key_before_it_cuts() {
    for lead in 140..165 {
        let echo = format!("{}AIza-secret-key", "x".repeat(lead));
        for message in [json!({&*echo: 1}), parts(&[part(&echo, "")])] {
            let heard = reader().read(message.to_string().as_bytes());
            let [Heard::Anomaly(text)] = heard.as_slice() else { panic!("{heard:?}") };
            assert!(text.contains("xxx") && !text.contains("AI"), "{lead}: {text}");
        }
    }
}

/// Damaged copies of a rich message: whatever comes out, nothing panics, and the reader still works.
#[test]
fn damage_never_stops_the_reader() {
    let whole = json!({"serverContent": {"modelTurn": {"parts": [speech(2)]}, "inputTranscription": {"text": "é"},
        "interrupted": true, "turnComplete": true}, "toolCall": {"functionCalls": [{"id": "1", "name": "n", "args": {}}]},
        "goAway": {"timeLeft": "1s"}, "usageMetadata": {"promptTokenCount": 1}})
    .to_string()
    .into_bytes();
    let mut reader = reader();
    let mut seed = 1_u64;
    for at in 0..whole.len() {
        reader.read(&whole[..at]);
        let mut damaged = whole.clone();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        damaged[at] = seed.to_le_bytes()[7];
        reader.read(&damaged);
    }
    let heard = reader.read(&whole);
    assert_eq!(told(heard.first().unwrap()), "interrupted");
    assert_eq!(told(heard.last().unwrap()), "go away Some(1s)");
}
