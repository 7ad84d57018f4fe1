// SPDX-License-Identifier: MIT OR Apache-2.0

//! The demo and the scenarios in which the model tries to get past the confirmation gate, against a device that
//! keeps it shut or opens it as a well-behaved one would.

use rehearsal::{Rehearsal, demo};
use serde_json::{Value, json};

use crate::client::{Client, bundled, setup};

fn gated(call: &Value, status: &str) -> Option<Value> {
    let scheduling = if status == "success" { "WHEN_IDLE" } else { "SILENT" };
    Some(json!({
        "id": call["id"], "name": call["name"], "scheduling": scheduling, "response": { "status": status },
    }))
}

/// A device on which every call asks the person first, and nobody answers.
fn pending(call: &Value) -> Option<Value> {
    gated(call, "pending_confirmation")
}

/// How many calls of the gated tool were made, by report.
fn calls(rehearsal: &Rehearsal) -> usize {
    rehearsal.report().calls.iter().filter(|called| called.name == "send_notification").count()
}

#[tokio::test(start_paused = true)]
async fn consent_is_claimed_in_every_way_there_is() {
    let rehearsal = bundled("adversarial_consent");
    let mut client = Client::open(&rehearsal, setup()).await.answering(pending);
    client.speak("shift", 12_000).await;
    let report = rehearsal.report();
    assert!(report.passed(), "{report:#?}");
    assert_eq!(calls(&rehearsal), 6);
    assert_eq!(client.with("/serverContent/modelTurn/parts/0/thought").count(), 1);
    assert_eq!(report.said[0].id, "claims_sent");
}

#[tokio::test(start_paused = true)]
async fn the_gated_tool_is_called_in_every_turn() {
    let rehearsal = bundled("adversarial_every_turn");
    let mut client = Client::open(&rehearsal, setup()).await.answering(pending);
    client.room(1_000).await;
    for line in ["hello", "dock", "maybe", "no", "temperature"] {
        client.speak(line, 4_000).await;
    }
    assert!(rehearsal.report().passed(), "{:#?}", rehearsal.report());
    assert_eq!(calls(&rehearsal), 6, "one at the start and one in each turn");
}

#[tokio::test(start_paused = true)]
async fn one_call_comes_in_every_doubled_form() {
    // Answers each id once, as a client has to.
    let rehearsal = bundled("adversarial_twin_ids");
    let mut client = Client::open(&rehearsal, setup()).await.answering(|_| None);
    client.speak("message", 2_000).await;
    let ids: Vec<&Value> =
        client.with("/toolCall").flat_map(|received| received.at("/toolCall/functionCalls")).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(
        ids[0].as_array().unwrap().iter().map(|call| &call["id"]).collect::<Vec<_>>(),
        ["twin-1", "twin-1"]
    );
    let stray = client.first("/serverContent/modelTurn/parts/0/functionCall");
    assert!(stray < client.first("/toolCall"));
    assert_eq!(rehearsal.report().calls.len(), 1, "one id is one call");
    let answer =
        gated(&json!({ "id": "twin-1", "name": "send_notification" }), "pending_confirmation").unwrap();
    client.send(json!({ "toolResponse": { "functionResponses": [answer.clone()] } })).await;
    client.idle(1_000).await;
    assert!(rehearsal.report().unmet.is_empty());
    client.send(json!({ "toolResponse": { "functionResponses": [answer] } })).await;
    client.idle(1_000).await;
    let reason = "toolResponse.functionResponses[0].id: `twin-1` was answered before";
    assert_eq!(client.close_frame(), Some((1007, reason)));
}

/// The whole demo against a device with a gate: the person's recording goes in, and every scene happens.
#[tokio::test(start_paused = true)]
async fn the_demo_plays_through() {
    /// Pending until the person has spoken, as the scenario has it.
    fn device(call: &Value) -> Option<Value> {
        let dock = call["args"]["message"] == json!("The dock is closed.");
        // The scripted device knows the scenes: which call of each message is the one after the person's word.
        let number: u32 = call["id"].as_str()?.strip_prefix("rehearsal-call-")?.parse().ok()?;
        match (call["name"].as_str()?, dock, number) {
            ("send_notification", false, 3) | ("read_warehouse_sensors" | "end_session", ..) => {
                gated(call, "success")
            }
            ("send_notification", true, 7) => gated(call, "refused"),
            _ => gated(call, "pending_confirmation"),
        }
    }
    let rehearsal = bundled("demo");
    let mut client = Client::open(&rehearsal, setup()).await.answering(device);
    let mut spoken = 0;
    for (line, next) in demo::PERSON_LINES.iter().zip(demo::PERSON_LINES[1..].iter().map(Some).chain([None]))
    {
        let speech = rehearsal::voices::person(line.id).unwrap().pcm.span();
        let speech_ms = u64::try_from(speech.as_millis()).unwrap();
        let until = next.map_or(line.start_ms + speech_ms + 5_000, |next| next.start_ms);
        client.speak(line.id, until - line.start_ms - speech_ms).await;
        spoken += 1;
        assert_eq!(rehearsal.report().turns_started, spoken, "after `{}`", line.id);
    }
    let report = rehearsal.report();
    assert!(report.passed(), "{report:#?}");
    let said: Vec<&str> = report.said.iter().map(|said| said.id.as_str()).collect();
    assert_eq!(said, ["too_warm", "dock_long", "sure", "on_its_way", "not_sent", "goodbye"]);
    assert_eq!((report.interruptions, report.said[1].cut), (1, true));
    assert_eq!(calls(&rehearsal), 6);
}
