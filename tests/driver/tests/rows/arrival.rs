// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arrival and lookup, T20 to T29.

use driver::{Driver, Script};
use serde_json::json;

use crate::{asked, both, ms, shop};

#[tokio::test(start_paused = true)]
async fn t20_unknown_tool() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let answer = d.model_calls("no_such", json!({})).await;
        assert_eq!(answer.body()["error"], "unknown tool");
        let listed: Vec<_> = answer.body()["available_tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert!(listed.is_sorted() && listed.contains(&"look_up"), "{listed:?}");
        assert!(answer.is_to_be_spoken_about());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t21_out_of_view() {
    both(async |script| {
        let (tools, runs) = shop();
        let shown = tools.view(["look_up"]);
        let mut d = Driver::new(tools, script);
        d.view().show(shown);
        d.user_says("please").await;
        let answer = d.model_calls("set_lamp", json!({})).await;
        assert_eq!(answer.body()["available_tools"], json!(["look_up"]));
        assert!(runs.names().is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t22_view_changes_within_a_turn() {
    both(async |script| {
        let (tools, _) = shop();
        let (few, more) = (tools.view(["check_stock"]), tools.view(["check_stock", "set_lamp"]));
        let mut d = Driver::new(tools, script);
        d.view().show(few);
        d.user_says("please").await;
        d.model_calls("check_stock", json!({})).await;
        d.view().show(more);
        assert_eq!(d.model_calls("set_lamp", json!({})).await.body()["error"], "unknown tool");
        d.user_says("again").await;
        assert_eq!(d.model_calls("set_lamp", json!({})).await.status(), "success");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t23_names_of_an_earlier_view() {
    both(async |script| {
        let (tools, _) = shop();
        let shown = tools.view(["look_up"]);
        let mut d = Driver::new(tools, script);
        d.user_says("please").await;
        assert_eq!(d.model_calls("set_lamp", json!({})).await.status(), "success");
        d.view().show(shown);
        d.user_says("again").await;
        let answer = d.model_calls("no_such", json!({})).await;
        assert_eq!(answer.body()["available_tools"], json!(["look_up"]));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t24_same_id_twice() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let call = d.model_asks("set_lamp", json!({"wait_ms": 100})).await;
        d.model_repeats(&[call, call]).await;
        assert_eq!(d.answer(call).await.status(), "success");
        d.model_repeats(&[call]).await;
        d.advance(ms(1000)).await;
        assert_eq!((d.answers(call), runs.names().len()), (1, 1));
        let duplicates = d.timeline().iter().filter(|line| line["kind"] == "call.duplicate").count();
        assert_eq!(duplicates, 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t25_equal_call_in_flight() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let first = d.model_asks("set_lamp", json!({"wait_ms": 100})).await;
        let second = d.model_asks("set_lamp", json!({"wait_ms": 100})).await;
        let (first, second) = (d.answer(first).await, d.answer(second).await);
        assert_eq!(first.body(), second.body());
        assert!(!first.is_coalesced() && second.is_coalesced());
        assert_eq!(runs.names().len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t28_no_id_on_the_call_gemini() {
    let (mut d, runs) = asked(Script::gemini()).await;
    let call = d.model_asks_without_id("set_lamp", json!({})).await;
    assert_eq!(d.answer(call).await.status(), "success");
    assert_eq!(runs.names(), ["set_lamp"]);
    let sent = &d.wire().last().unwrap()["toolResponse"]["functionResponses"][0];
    assert_eq!((sent.get("id"), &sent["name"]), (None, &json!("set_lamp")));
}

#[tokio::test(start_paused = true)]
async fn t29_call_after_the_connection_closed() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        d.provider_drops().await;
        let sent = d.wire().len();
        let call = d.model_asks("print_label", json!({})).await;
        d.advance(ms(500)).await;
        assert_eq!((d.answers(call), d.wire().len()), (0, sent));
        assert!(runs.names().is_empty());
    })
    .await;
}
