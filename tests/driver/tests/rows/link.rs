// SPDX-License-Identifier: MIT OR Apache-2.0

//! Microphone and connection, T93 to T96b.

use driver::{Driver, Replay, Script};
use serde_json::{Value, json};

use crate::{asked, both, ms, shop};

/// A model that must not be sent audio while a call is open.
fn blocking() -> Script {
    Script::gemini_model("gemini-3.1-flash-live")
}

#[tokio::test(start_paused = true)]
async fn t93_uplink_is_held_gemini() {
    let (mut d, _) = asked(blocking()).await;
    d.model_says("I will do that for you, and I will tell you about it as I do it.").await;
    let call = d.model_asks("set_lamp", json!({"wait_ms": 3000})).await;
    assert!(!d.uplink_is_open());
    d.user_barges_in(ms(500)).await;
    assert!(d.heard().iter().any(|heard| heard.cut), "the person is heard all the same");
    assert!(!d.uplink_is_open());
    assert_eq!(d.answer(call).await.status(), "success");
    d.advance(ms(1)).await;
    assert!(d.uplink_is_open());
}

#[tokio::test(start_paused = true)]
async fn t94_uplink_comes_back_from_a_crash_gemini() {
    for args in [json!({"panic": true}), json!({"wait_ms": 25_000})] {
        let (mut d, _) = asked(blocking()).await;
        d.model_asks("tare", args).await;
        d.advance(ms(10_000)).await;
        assert!(d.uplink_is_open());
    }
}

#[tokio::test(start_paused = true)]
async fn t95_uplink_comes_back_on_every_path_gemini() {
    for (name, args, status) in [
        ("no_such", json!({}), "error"),
        ("look_up", json!({"n": "one"}), "error"),
        ("send_text", json!({}), "pending_confirmation"),
        ("look_up", json!({"fail": true}), "error"),
        ("look_up", json!({"panic": true}), "error"),
        ("bolt_door", json!({"commit": true, "wait_ms": 60_000}), "running"),
        ("look_up", json!({"wait_ms": 5000}), "success"),
    ] {
        let (mut d, _) = asked(blocking()).await;
        let answer = d.model_calls(name, args).await;
        d.advance(ms(1)).await;
        assert_eq!((answer.status(), d.uplink_is_open()), (status, true), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn t95_uplink_comes_back_from_a_refusal_gemini() {
    // For wrong arguments, time and again.
    let (mut d, _) = asked(blocking()).await;
    for status in ["error", "error", "refused"] {
        let answer = d.model_calls("look_up", json!({"n": "one"})).await;
        d.advance(ms(1)).await;
        assert_eq!((answer.status(), d.uplink_is_open()), (status, true));
    }
    // For want of follow-ups.
    let (mut d, _) = asked(blocking()).await;
    for n in 0..d.config().max_follow_ups + 5 {
        let answer = d.model_calls("check_stock", json!({"n": n})).await;
        d.advance(ms(1)).await;
        assert!(answer.is_there() && d.uplink_is_open(), "{answer:?}");
    }
    // After a no.
    let (mut d, _) = asked(blocking()).await;
    d.model_calls("send_text", json!({})).await;
    d.user_declines().await;
    let answer = d.model_calls("send_text", json!({})).await;
    d.advance(ms(1)).await;
    assert_eq!((answer.status(), d.uplink_is_open()), ("refused", true));
}

#[tokio::test(start_paused = true)]
async fn t95_uplink_comes_back_from_a_barge_in_gemini() {
    let (mut d, _) = asked(blocking()).await;
    d.model_says("I will do that for you, and I will tell you about it as I do it.").await;
    let call = d.model_asks("look_up", json!({"wait_ms": 5000})).await;
    assert!(!d.uplink_is_open());
    d.user_barges_in(ms(500)).await;
    assert_eq!((d.answer(call).await.status(), d.uplink_is_open()), ("cancelled", true));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_leaves_is_there_again() {
    both(async |script| {
        let resumes = script.profile().resumes;
        let (mut d, _) = asked(script).await;
        d.advance(ms(40_000)).await;
        d.provider_leaves(ms(10_000)).await;
        d.advance(ms(20_000)).await;
        d.user_says("Are you still there?").await;
        assert_eq!(d.model_calls("look_up", json!({})).await.status(), "success");
        let ups = d.timeline().into_iter().filter(|line| line["kind"] == "link" && line["state"] == "up");
        let ups: Vec<_> = ups.map(|line| line["text"].as_str().unwrap().to_owned()).collect();
        let again = if resumes { "the conversation goes on" } else { "a fresh conversation" };
        assert_eq!(ups, ["a fresh conversation", again]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t96_resumed_or_fresh() {
    both(async |script| {
        let resumes = script.profile().resumes;
        let (mut d, _) = asked(script).await;
        let call = d.model_asks("print_label", json!({"commit": true, "wait_ms": 3000})).await;
        d.advance(ms(1000)).await;
        d.provider_drops().await;
        d.provider_resumes(Replay::OpenCalls).await;
        d.advance(ms(5000)).await;
        assert_eq!(d.answers(call), usize::from(resumes));
        let told = |told: &&Value| told.get("note").or(told.get("earlier")).is_some();
        let told = d.next_context().iter().filter(told).count();
        assert_eq!(told, usize::from(!resumes), "{:?}", d.next_context());
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t96_fresh_session() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let call = d.model_asks("print_label", json!({"commit": true, "wait_ms": 3000})).await;
        d.advance(ms(1000)).await;
        d.provider_drops().await;
        d.provider_begins_anew().await;
        d.advance(ms(5000)).await;
        assert_eq!(d.answers(call), 0);
        let told = d.next_context().last().unwrap().clone();
        if d.profile().takes_earlier_calls {
            let call = &told["earlier"];
            assert_eq!((&call["name"], &call["body"]["status"]), (&json!("print_label"), &json!("success")));
        } else {
            let note = told["note"].as_str().unwrap();
            assert!(note.starts_with("[result of print_label requested earlier]"), "{note}");
        }
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t96b_no_scheduling_gemini() {
    let (tools, _) = shop();
    let mut d = Driver::new(tools, Script::gemini_model("gemini-3.8-live-extended-thinking"));
    assert!(!d.profile().schedules);
    d.user_says("please").await;
    d.model_calls("set_lamp", json!({})).await;
    d.model_calls("make_report", json!({})).await;
    d.advance(ms(1000)).await;
    let wire = serde_json::to_string(d.wire()).unwrap();
    assert!(!wire.contains("scheduling") && !wire.contains("willContinue"), "{wire}");
}
