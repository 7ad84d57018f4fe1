// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a conversation is like when nothing is broken on purpose.

use std::time::Duration;

use rehearsal::{Scenario, Voices};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{Client, bundled, rehearse, setup, succeed, words, written};

const GENERATED: &str = "/serverContent/generationComplete";
const COMPLETE: &str = "/serverContent/turnComplete";
const INTERRUPTED: &str = "/serverContent/interrupted";
const AUDIO: &str = "/serverContent/modelTurn/parts/0/inlineData";
const CALL: &str = "/toolCall";

#[tokio::test(start_paused = true)]
async fn a_question_is_heard_looked_up_and_answered() {
    let rehearsal = bundled("sensor");
    let mut client = Client::open(&rehearsal, setup()).await;
    assert_eq!(client.received[1].at("/sessionResumptionUpdate/resumable"), Some(&json!(true)));
    client.speak("temperature", 9_000).await;

    let reply = Voices::bundled().unwrap().find("too_warm").cloned().unwrap();
    assert_eq!(client.text("/serverContent/inputTranscription/text"), words("temperature"));
    assert_eq!(client.text("/serverContent/outputTranscription/text"), reply.text);
    assert_eq!(client.audio(), reply.pcm.samples());
    assert_eq!(
        client.received[client.first(CALL)].at("/toolCall/functionCalls/0/args"),
        Some(&json!({ "zone": "cold_storage" }))
    );

    // The call does not block the model, so its turn is complete before the reply starts another.
    let ends: Vec<usize> = (0..client.received.len()).filter(|i| client.received[*i].has(COMPLETE)).collect();
    assert_eq!((client.count(GENERATED), ends.len()), (2, 2));
    assert!(client.first("/serverContent/inputTranscription") < client.first(CALL));
    assert!(client.first(CALL) < ends[0] && ends[0] < client.first(AUDIO));
    assert!(client.received[ends[1]].has("/usageMetadata/totalTokenCount"));

    // Audio arrives four times as fast as it plays; the turn ends when it would have been played.
    let audio: Vec<Instant> = client.with(AUDIO).map(|received| received.at).collect();
    let generated = client.with(GENERATED).last().unwrap().at;
    let sent_in = *audio.last().unwrap() - audio[0];
    assert!(sent_in > reply.pcm.span() / 5 && sent_in < reply.pcm.span() / 3, "{sent_in:?}");
    assert_eq!(generated, *audio.last().unwrap());
    let played = client.received[ends[1]].at - audio[0];
    assert!(played >= reply.pcm.span() && played < reply.pcm.span() + Duration::from_millis(5), "{played:?}");
    assert_eq!(client.with(AUDIO).next().unwrap().audio().len(), 2);

    let report = rehearsal.report();
    assert!(report.passed(), "{report:#?}");
    assert_eq!((report.said.len(), report.said[0].cut), (1, false));
    assert_eq!(report.said[0].pcm, reply.pcm);
    assert_eq!(report.answers[0].status(), Some("success"));
    assert_eq!((report.segments, report.unscripted, report.interruptions), (1, 0, 0));
    assert!(report.client_audio >= Duration::from_secs(10));
    assert!(client.frames.0 > 0 && client.frames.1 == 0, "JSON in binary frames: {:?}", client.frames);
    client.hang_up().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_answer_is_not_spoken_about() {
    let rehearsal = bundled("sensor");
    let mut client = Client::open(&rehearsal, setup()).await.answering(|call| {
        let mut answer = succeed(call)?;
        answer["scheduling"] = json!("SILENT");
        Some(answer)
    });
    client.speak("temperature", 9_000).await;
    assert_eq!((client.count(AUDIO), client.count(COMPLETE)), (0, 1));
    assert_eq!(rehearsal.report().answers.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn speech_cuts_a_reply_short() {
    let rehearsal = bundled("barge_in");
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("dock", 2_500).await;
    let before = client.received.len();
    client.speak("stop", 4_000).await;

    let cut = client.first(INTERRUPTED);
    assert!(cut >= before);
    let next_end = client.received[cut..].iter().position(|received| received.has(COMPLETE)).unwrap() + cut;
    // A little audio is still on its way after `interrupted`; then the turn ends without `generationComplete`.
    let stale: usize =
        client.received[cut..next_end].iter().map(|received| received.audio().len() / 48).sum();
    assert!((400..=720).contains(&stale), "{stale} ms of stale audio");
    assert_eq!(client.count(INTERRUPTED), 1);
    assert!(client.first(GENERATED) > next_end);

    let report = rehearsal.report();
    assert!(report.passed(), "{report:#?}");
    let (cut, short) = (&report.said[0], &report.said[1]);
    assert!(cut.cut && !short.cut);
    let whole = Voices::bundled().unwrap().find("dock_long").cloned().unwrap();
    assert!(cut.pcm.span() < whole.pcm.span(), "{:?}", cut.pcm);
    let sent = cut.pcm.samples().len();
    assert_eq!(client.audio()[..sent], whole.pcm.samples()[..sent]);
    assert_eq!(client.audio()[sent..], *short.pcm.samples());
}

#[tokio::test(start_paused = true)]
async fn speech_leaves_the_reply_alone_if_the_client_asked_so() {
    let rehearsal = bundled("barge_in");
    let mut wishes = setup();
    wishes["realtimeInputConfig"] = json!({ "activityHandling": "NO_INTERRUPTION" });
    let mut client = Client::open(&rehearsal, wishes).await;
    client.speak("dock", 2_500).await;
    client.speak("stop", 4_000).await;
    assert_eq!(client.count(INTERRUPTED), 0);
    assert_eq!(rehearsal.report().turns_started, 2);
}

#[tokio::test(start_paused = true)]
async fn a_blocking_call_keeps_its_turn_open_and_speech_cancels_it() {
    let text = "name = \"blocking\"\n[[turn]]\nsteps = [{ call = { name = \"weigh\" } }, { after_answer = [{ say = \"sure\" }] }]\n\
                [[turn]]\nsteps = [{ say = \"could_not\" }]";
    let rehearsal = written("blocking", text);
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("hello", 3_000).await;
    assert_eq!((client.count(GENERATED), client.count(COMPLETE)), (1, 1), "one turn from call to reply");
    assert!(client.first(CALL) < client.first(AUDIO));
    client.hang_up().await;

    let rehearsal = written("blocking_cancelled", text);
    let mut client = Client::open(&rehearsal, setup()).await.answering(|_| None);
    client.speak("hello", 3_000).await;
    assert_eq!(client.count(COMPLETE), 0);
    client.speak("stop", 3_000).await;
    assert_eq!((client.count(INTERRUPTED), client.count("/toolCallCancellation/ids/0")), (1, 1));
    assert!(client.first(INTERRUPTED) < client.first("/toolCallCancellation"));
    assert!(rehearsal.report().calls[0].cancelled);
    client.hang_up().await;
}

#[tokio::test(start_paused = true)]
async fn extended_thinking_says_whether_the_interaction_goes_on() {
    let rehearsal = bundled("sensor");
    let mut thinking = setup();
    thinking["model"] = json!("models/gemini-3.8-live-extended-thinking");
    thinking["tools"] = json!([{ "functionDeclarations": [{ "name": "read_warehouse_sensors", "behavior": "NON_BLOCKING" }] }]);
    let mut client = Client::open(&rehearsal, thinking).await.answering(|call| {
        Some(json!({ "id": call["id"], "name": call["name"], "response": { "status": "success" } }))
    });
    client.speak("temperature", 9_000).await;
    let status: Vec<&Value> = client
        .with(COMPLETE)
        .filter_map(|received| received.at("/serverContent/interactionStatus"))
        .collect();
    assert_eq!(status, ["IN_PROGRESS", "IDLE"]);
}

#[tokio::test(start_paused = true)]
async fn turns_start_by_themselves_by_text_and_by_marked_activity() {
    let text = "name = \"triggers\"\n[wire]\nframes = \"text\"\nturn_end = \"early\"\n\
                [[turn]]\non = \"start\"\nsteps = [{ say = \"hello\" }]\n\
                [[turn]]\non = \"note\"\nsteps = [{ say = \"one_moment\" }]\n\
                [[turn]]\nhears = \"Hello there.\"\nsteps = [{ say = \"sure\" }]";
    let rehearsal = written("triggers", text);
    let mut wishes = setup();
    wishes["realtimeInputConfig"] = json!({ "automaticActivityDetection": { "disabled": true } });
    wishes["historyConfig"] = json!({ "initialHistoryInClientContent": true });
    let mut client = Client::open(&rehearsal, wishes).await;
    // History is not a note, and starts nothing.
    client.send(json!({ "clientContent": { "turns": [{ "role": "user", "parts": [{ "text": "before" }] }], "turnComplete": true } })).await;
    client.idle(4_000).await;
    assert_eq!(rehearsal.report().said.len(), 1);
    client.send(json!({ "realtimeInput": { "text": "a note" } })).await;
    client.idle(4_000).await;
    client.send(json!({ "realtimeInput": { "activityStart": {} } })).await;
    client.speak("hello", 100).await;
    client.send(json!({ "realtimeInput": { "activityEnd": {} } })).await;
    client.idle(4_000).await;

    let report = rehearsal.report();
    assert!(report.passed(), "{report:#?}");
    assert_eq!(
        report.said.iter().map(|said| said.id.as_str()).collect::<Vec<_>>(),
        ["hello", "one_moment", "sure"]
    );
    assert_eq!(report.texts, ["before", "a note"]);
    assert_eq!(client.frames.0, 0, "text frames were asked for");
    let generated: Vec<Instant> = client.with(GENERATED).map(|received| received.at).collect();
    let complete: Vec<Instant> = client.with(COMPLETE).map(|received| received.at).collect();
    assert_eq!(generated, complete, "early turn end");
}

#[tokio::test(start_paused = true)]
async fn content_from_the_client_always_cuts_in() {
    let rehearsal = bundled("barge_in");
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("dock", 2_500).await;
    client.send(json!({ "clientContent": { "turnComplete": false } })).await;
    client.idle(100).await;
    assert_eq!((client.count(INTERRUPTED), client.count(COMPLETE)), (1, 1));
    let sent = client.count(AUDIO);
    client.idle(10_000).await;
    assert_eq!(client.count(AUDIO), sent, "nothing follows");
}

#[tokio::test(start_paused = true)]
async fn a_muted_microphone_ends_speech_by_saying_so() {
    let rehearsal = bundled("sensor");
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("temperature", 20).await;
    client.idle(5_000).await;
    assert_eq!(client.count(CALL), 0, "without silence or audioStreamEnd speech goes on");
    client.send(json!({ "realtimeInput": { "audioStreamEnd": true } })).await;
    client.idle(5_000).await;
    assert_eq!(client.count(CALL), 1);
}

#[tokio::test(start_paused = true)]
async fn expectations_that_are_not_met_are_reported() {
    let scenario = Scenario::parse(
        "name = \"expects\"\n[[turn]]\nsteps = [\n{ call = { name = \"weigh\" } },\n\
         { await_answer = true, expect_status = \"pending_confirmation\", expect_instruction_contains = \"Say nothing\" },\n\
         { say = \"sure\", when = { status = \"refused\" } },\n{ say = \"could_not\", when = { status = \"success\" } },\n]",
    );
    let rehearsal = rehearse("expects", scenario.unwrap());
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("hello", 5_000).await;
    let report = rehearsal.report();
    assert_eq!(report.unmet.len(), 1, "{:?}", report.unmet);
    assert!(report.unmet[0].starts_with("turn 1: weigh (rehearsal-call-1) answered"), "{:?}", report.unmet);
    assert!(!report.passed());
    assert_eq!(report.said.iter().map(|said| said.id.as_str()).collect::<Vec<_>>(), ["could_not"]);
}

#[tokio::test]
async fn a_program_can_listen_on_a_port() {
    let rehearsal = written("listens", "name = \"listens\"\n[wire]\nsetup_after_ms = 0");
    let (address, task) = rehearsal.listen("127.0.0.1:0").await.unwrap();
    let url = format!(
        "ws://{address}//ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContent"
    );
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
    let text = json!({ "setup": setup() }).to_string();
    futures_util::SinkExt::send(&mut socket, text.into()).await.unwrap();
    let first = futures_util::StreamExt::next(&mut socket).await.unwrap().unwrap();
    assert!(first.to_text().unwrap().contains("setupComplete"));
    assert_eq!(rehearsal.report().connections, 1);
    task.abort();
}
