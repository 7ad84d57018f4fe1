// SPDX-License-Identifier: MIT OR Apache-2.0

//! Faults on purpose, and what the rehearsal does about a client that is at fault.

use std::time::Duration;

use rehearsal::Voices;
use serde_json::json;
use tokio_tungstenite::tungstenite::Error;

use crate::client::{Client, Received, URL, bundled, rehearse, setup, written};

#[tokio::test(start_paused = true)]
async fn a_violation_closes_with_the_field_path() {
    let rehearsal = bundled("sensor");
    let mut client = Client::dial(&rehearsal, URL, None).await.unwrap();
    let mut wrong = setup();
    wrong["turnDetection"] = json!({});
    client.send(json!({ "setup": wrong })).await;
    client.idle(1_000).await;
    assert_eq!(client.close_frame(), Some((1007, "setup.turnDetection: unknown field of LiveClientSetup")));
    assert_eq!(
        rehearsal.report().violations,
        ["connection 1: setup.turnDetection: unknown field of LiveClientSetup"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_reason_is_cut_to_what_a_close_frame_holds() {
    let rehearsal = bundled("sensor");
    let mut client = Client::dial(&rehearsal, URL, None).await.unwrap();
    client.send(json!({ "setup": { "model": format!("ü{}", "ü".repeat(200)) } })).await;
    client.idle(1_000).await;
    let (code, reason) = client.close_frame().unwrap();
    // The last character would not fit whole.
    assert_eq!((code, reason.len()), (1007, 122), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_is_refused_after_the_upgrade() {
    let scenario = || rehearsal::Scenario::bundled("sensor").unwrap().with_key("right");
    let rehearsal = rehearse("key", scenario());
    for key in [None, Some("wrong")] {
        let mut client = Client::dial(&rehearsal, URL, key).await.unwrap();
        client.idle(100).await;
        assert_eq!(client.close_frame(), Some((1007, "API key not valid. Please pass a valid API key.")));
    }
    let mut client = Client::dial(&rehearsal, URL, Some("right")).await.unwrap();
    client.send(json!({ "setup": setup() })).await;
    client.idle(1_000).await;
    assert_eq!(client.count("/setupComplete"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_path_without_the_method_is_not_found() {
    let rehearsal = bundled("sensor");
    let refused = Client::dial(&rehearsal, "ws://rehearsal/v1/models", None).await.err().unwrap();
    assert!(matches!(&refused, Error::Http(response) if response.status() == 404), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn connections_fail_to_get_going_in_every_way() {
    let rehearsal = bundled("faults_setup");
    let refused = Client::dial(&rehearsal, URL, None).await.err().unwrap();
    assert!(matches!(&refused, Error::Http(response) if response.status() == 503), "{refused:?}");
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        let mut client = Client::dial(&rehearsal, URL, None).await.unwrap();
        client.send(json!({ "setup": setup() })).await;
        client.idle(20_000).await;
        outcomes.push((client.count("/setupComplete"), client.close_frame().map(|(code, _)| code)));
    }
    assert_eq!(outcomes, [(0, None), (0, Some(1011)), (0, Some(1011)), (1, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_may_not_be_answered() {
    let late = json!({ "toolResponse": { "functionResponses": [
        { "id": "cancelled-1", "name": "read_warehouse_sensors", "response": { "status": "success" } },
    ] } });
    // An answer that crosses the cancellation is nobody's fault.
    let rehearsal = bundled("cancel");
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("temperature", 5_000).await;
    assert_eq!(client.count("/toolCallCancellation"), 1);
    let report = rehearsal.report();
    assert!(report.passed() && report.calls[0].cancelled, "{report:#?}");
    assert_eq!((report.notes.len(), report.answers.len()), (1, 1), "{:?}", report.notes);
    assert_eq!(report.said[0].id, "could_not");
    // One that comes later is.
    client.send(late).await;
    client.idle(1_000).await;
    let reason = "toolResponse.functionResponses[0].id: `cancelled-1` was cancelled";
    assert_eq!(client.close_frame(), Some((1007, reason)));
}

#[tokio::test(start_paused = true)]
async fn a_call_survives_a_resumed_connection_but_not_a_fresh_one() {
    let text = "name = \"resumes\"\n[[turn]]\nsteps = [{ call = { name = \"read_warehouse_sensors\", id = \"slow\" } }, \
                { after_answer = [{ say = \"too_warm\" }] }]";
    let answer = json!({ "toolResponse": { "functionResponses": [
        { "id": "slow", "name": "read_warehouse_sensors", "response": { "status": "success" } },
    ] } });
    let resumed = |client: &Client| {
        let handle = client.with("/sessionResumptionUpdate/newHandle").next().unwrap();
        let mut again = setup();
        again["sessionResumption"] = json!({ "handle": handle.at("/sessionResumptionUpdate/newHandle") });
        again
    };
    for fresh in [false, true] {
        let rehearsal = written(if fresh { "resumes_not" } else { "resumes" }, text);
        let mut client = Client::open(&rehearsal, setup()).await.answering(|_| None);
        client.speak("temperature", 3_000).await;
        let again = if fresh { setup() } else { resumed(&client) };
        client.hang_up().await;
        let mut client = Client::open(&rehearsal, again).await;
        client.send(answer.clone()).await;
        client.idle(8_000).await;
        if fresh {
            let reason = "toolResponse.functionResponses[0].id: `slow` was not issued in this session";
            assert_eq!(client.close_frame(), Some((1007, reason)));
        } else {
            assert_eq!(
                client.text("/serverContent/outputTranscription/text"),
                rehearsal.report().said[0].text
            );
            assert!(rehearsal.report().passed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resuming_is_refused_where_the_scenario_or_the_handle_says_so() {
    let text = "name = \"refuses\"\n[[connection]]\nrefuse_resume = { code = 1011, reason = \"Internal error encountered.\" }";
    let rehearsal = written("refuses", text);
    for (reason, code) in [
        ("Internal error encountered.", 1011),
        ("setup.sessionResumption.handle: no such handle was issued", 1007),
    ] {
        let mut client = Client::dial(&rehearsal, URL, None).await.unwrap();
        let mut again = setup();
        again["sessionResumption"] = json!({ "handle": "from somewhere else" });
        client.send(json!({ "setup": again })).await;
        client.idle(1_000).await;
        assert_eq!(client.close_frame(), Some((code, reason)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_newest_connection_has_the_session() {
    let rehearsal = bundled("sensor");
    let mut old = Client::open(&rehearsal, setup()).await;
    let mut new = Client::open(&rehearsal, setup()).await;
    old.room(100).await;
    assert_eq!(old.close_frame(), Some((1011, "Internal error encountered.")));
    new.speak("temperature", 9_000).await;
    assert!(rehearsal.report().passed());
}

#[tokio::test(start_paused = true)]
async fn connections_end_announced_in_mid_call_and_without_a_word() {
    let rehearsal = bundled("faults_close");
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("hello", 4_000).await;
    let left = client.received[client.first("/goAway")].at("/goAway/timeLeft");
    assert_eq!(left, Some(&json!("2s")));
    client.idle(3_000).await;
    assert_eq!(client.close_frame(), Some((1011, "Deadline expired before operation could complete.")));

    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("dock", 3_000).await;
    assert_eq!(client.count("/toolCall"), 1);
    assert_eq!(client.close_frame(), Some((1011, "The service is currently unavailable.")));

    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("hello", 4_000).await;
    assert_eq!(client.closed, Some(None), "the stream ends without a close frame");

    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("hello", 4_000).await;
    assert!(rehearsal.report().passed(), "{:#?}", rehearsal.report());
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_none_arrive_as_they_are() {
    let rehearsal = bundled("faults_messages");
    let mut client = Client::open(&rehearsal, setup()).await.answering(|_| None);
    client.speak("hello", 5_000).await;
    assert_eq!(client.strange, [b"this is not JSON".to_vec(), vec![0, 159, 146, 150], Vec::new()]);
    assert_eq!(client.count("/unheardOf"), 1);
    assert_eq!(rehearsal.report().said[0].id, "hello");
    client.speak("hello", 5_000).await;
    let largest = client.received.iter().map(|received| received.message.to_string().len()).max().unwrap();
    assert!(
        largest >= 17 * 1024 * 1024 || client.closed.is_some(),
        "the client's library has a limit of its own"
    );
}

#[tokio::test(start_paused = true)]
async fn audio_comes_split_resampled_and_all_at_once() {
    let rehearsal = bundled("faults_audio");
    let mut client = Client::open(&rehearsal, setup()).await;
    for line in ["hello", "hello"] {
        client.speak(line, 5_000).await;
    }
    let voices = Voices::bundled().unwrap();
    let (odd, other) = (voices.find("hello").unwrap(), voices.find("one_moment").unwrap());
    let audio = client.audio();
    assert!(client.received.iter().any(|received| received.audio().len() % 2 == 1));
    assert_eq!(&audio[..odd.pcm.samples().len()], odd.pcm.samples(), "nothing is lost between the chunks");
    let mime = "/serverContent/modelTurn/parts/0/inlineData/mimeType";
    let declared = |received: &&Received| received.at(mime) == Some(&json!("audio/pcm;rate=16000"));
    assert!(client.with(mime).filter(declared).count() > 2);
    assert_eq!(rehearsal.report().said[1].pcm.span().as_millis(), other.pcm.span().as_millis());

    let before = client.received.len();
    client.speak("dock", 3_000).await;
    let burst: Vec<_> =
        client.received[before..].iter().filter(|received| !received.audio().is_empty()).collect();
    let ms: usize = burst.iter().map(|received| received.audio().len() / 48).sum();
    assert!((19_900..=20_000).contains(&ms), "{ms}");
    assert!(burst.last().unwrap().at - burst[0].at < Duration::from_millis(1));
    client.speak("stop", 4_000).await;
    assert!(rehearsal.report().passed(), "{:#?}", rehearsal.report());
    assert!(!rehearsal.report().said[2].cut, "all of it was sent before the person cut in");
    assert_eq!(rehearsal.report().interruptions, 1);
}

#[tokio::test(start_paused = true)]
async fn turns_stay_open_and_streams_go_quiet() {
    let rehearsal = bundled("faults_stall");
    let mut client = Client::open(&rehearsal, setup()).await;
    client.speak("hello", 5_000).await;
    assert_eq!(
        (client.count("/serverContent/generationComplete"), client.count("/serverContent/turnComplete")),
        (1, 0)
    );
    client.speak("temperature", 5_000).await;
    client.speak("dock", 800).await;
    client.idle(3_000).await;
    let before = client.received.len();
    client.idle(60_000).await;
    assert_eq!(
        (client.received.len(), client.closed.is_some()),
        (before, false),
        "open, and not a sign of life"
    );
}
