// SPDX-License-Identifier: MIT OR Apache-2.0

//! A provider whose calls come in pieces and whose model speaks when it is asked to: T26, T27, T83 to T85, and what of
//! other rows is its own.

use driver::{Driver, Script};
use serde_json::{Value, json};

use crate::{OUTPUT, Runs, asked, ms, requests, types};

#[tokio::test(start_paused = true)]
async fn t26_arguments_in_pieces() {
    let (mut d, runs) = asked(Script::openai()).await;
    let call = d.model_begins_call("set_lamp").await;
    for piece in ["{", r#""n""#, ":", "7", "}"] {
        d.model_writes(call, piece).await;
        d.advance(ms(1000)).await;
        assert!(d.snapshot().calls.is_empty() && runs.names().is_empty(), "it is not written yet");
    }
    d.model_ends_call(call).await;
    d.model_done().await;
    assert_eq!(d.answer(call).await.status(), "success");
    let args = d.timeline().into_iter().find(|line| line["kind"] == "call.arrived").unwrap()["args"].take();
    assert_eq!((args, runs.names().len()), (json!({"n": 7}), 1));
}

#[tokio::test(start_paused = true)]
async fn t27_a_call_cut_off_with_its_response() {
    let (mut d, runs) = asked(Script::openai()).await;
    d.model_says("I print it, and while I do I will tell you all about it.").await;
    let whole = d.model_begins_call("set_lamp").await;
    d.model_writes(whole, "{}").await;
    d.model_ends_call(whole).await;
    let cut = d.model_begins_call("print_label").await;
    d.model_writes(cut, r#"{"n":1"#).await;
    d.user_barges_in(ms(500)).await;
    d.advance(ms(5000)).await;
    assert_eq!(runs.names(), ["set_lamp"], "what was whole is a call, what was cut off is none");
    assert_eq!((d.answers(whole), d.answers(cut)), (1, 0));
    assert!(d.closed(cut).is_some());
    assert_eq!(types(&d), ["session.update", OUTPUT], "one output, and nothing asked for");
    assert!(d.protocol_faults().is_empty(), "{:?}", d.protocol_faults());
}

#[tokio::test(start_paused = true)]
async fn t28_no_id_on_the_call_openai() {
    let (mut d, _) = asked(Script::openai()).await;
    let call = d.model_asks_without_id("set_lamp", json!({})).await;
    assert_eq!(d.answer(call).await.status(), "success");
    let output = d.wire().iter().find(|message| message["item"]["type"] == OUTPUT).unwrap();
    assert_eq!(output["item"]["call_id"], "item-1-1", "the item's own id stands for it");
    assert!(d.protocol_faults().is_empty(), "{:?}", d.protocol_faults());
}

#[tokio::test(start_paused = true)]
async fn t32_argument_texts_as_they_are_sent() {
    for (text, status) in
        [("", "success"), ("null", "success"), ("[]", "error"), ("{bad", "error"), (r#"{"n":1}"#, "success")]
    {
        let (mut d, _) = asked(Script::openai()).await;
        let call = d.model_begins_call("look_up").await;
        d.model_writes(call, text).await;
        d.model_ends_call(call).await;
        d.model_done().await;
        assert_eq!(d.answer(call).await.status(), status, "{text}");
    }
}

/// A marked call whose result comes a second later.
async fn a_result_is_coming() -> (Driver, Runs) {
    let (mut d, runs) = asked(Script::openai()).await;
    d.model_asks("check_stock", json!({"wait_ms": 1000})).await;
    (d, runs)
}

#[tokio::test(start_paused = true)]
async fn t83_a_result_while_a_response_is_active() {
    let (mut d, _) = a_result_is_coming().await;
    d.model_says("Meanwhile I tell you about something else.").await;
    d.advance(ms(1500)).await;
    assert_eq!(types(&d), ["session.update", OUTPUT], "it is filed, and nothing is asked for yet");
    d.model_done().await;
    assert_eq!(types(&d), ["session.update", OUTPUT, "response.create"]);
    d.model_says("There are seven.").await;
    d.model_done().await;
    d.advance(ms(60_000)).await;
    assert_eq!(requests(&d), 1);
}

#[tokio::test(start_paused = true)]
async fn t83_two_results_are_asked_about_once() {
    let (mut d, _) = a_result_is_coming().await;
    d.model_asks("ask_service", json!({"wait_ms": 500})).await;
    d.model_says("Meanwhile I tell you about something else.").await;
    d.advance(ms(1500)).await;
    d.model_done().await;
    d.model_done().await;
    d.advance(ms(60_000)).await;
    assert_eq!(types(&d), ["session.update", OUTPUT, OUTPUT, "response.create"]);
}

#[tokio::test(start_paused = true)]
async fn t84_a_response_that_the_provider_began_after_filing() {
    let (mut d, _) = a_result_is_coming().await;
    d.user_says("and hurry").await;
    d.advance(ms(500)).await;
    assert_eq!(types(&d), ["session.update", OUTPUT], "the person's turn is being answered");
    d.model_says("There are seven, as fast as I could.").await;
    d.model_done().await;
    d.advance(ms(60_000)).await;
    assert_eq!(requests(&d), 0, "what it said had the result in it");
}

#[tokio::test(start_paused = true)]
async fn t84_a_turn_that_the_provider_does_not_answer() {
    let (mut d, _) = a_result_is_coming().await;
    d.user_says("and hurry").await;
    d.advance(ms(9000)).await;
    assert_eq!(requests(&d), 0);
    d.advance(ms(2000)).await;
    assert_eq!(requests(&d), 1, "nobody waits for ever");
}

/// The provider is speaking and the daemon does not know, as the result comes.
async fn unheard_of() -> Driver {
    let (mut d, _) = a_result_is_coming().await;
    d.provider_lags();
    d.provider_begins_response().await;
    d.advance(ms(1500)).await;
    assert_eq!(types(&d), ["session.update", OUTPUT, "response.create"]);
    d
}

#[tokio::test(start_paused = true)]
async fn t85_a_response_is_active_already() {
    let mut d = unheard_of().await;
    d.provider_is_heard_again().await;
    d.advance(ms(500)).await;
    assert_eq!(requests(&d), 1, "it was refused, and waits");
    d.model_says("Meanwhile I tell you about something else.").await;
    d.model_done().await;
    assert_eq!(requests(&d), 2);
    d.model_says("There are seven.").await;
    d.model_done().await;
    d.agent_is_heard("There are seven.").await;
    d.advance(ms(5000)).await;
    let heard: Vec<&str> = d.heard().iter().map(|heard| heard.text.as_str()).collect();
    assert_eq!(
        heard,
        ["Meanwhile I tell you about something else.", "There are seven."],
        "no error is heard"
    );
    assert_eq!(requests(&d), 2);
}

#[tokio::test(start_paused = true)]
async fn t85_refused_by_a_response_that_has_read_the_result() {
    let mut d = unheard_of().await;
    // That response is over, and the next begins before the daemon hears of it.
    d.model_done().await;
    d.provider_begins_response().await;
    d.provider_is_heard_again().await;
    assert_eq!(requests(&d), 2, "asked for again, and refused again");
    d.model_says("There are seven.").await;
    d.model_done().await;
    d.advance(ms(60_000)).await;
    assert_eq!(requests(&d), 2, "the one that was active began after the result was filed");
}

#[tokio::test(start_paused = true)]
async fn t96_a_fresh_conversation_is_given_the_call_and_its_output_openai() {
    let (mut d, _) = asked(Script::openai()).await;
    let call = d.model_asks("print_label", json!({"commit": true, "wait_ms": 3000})).await;
    d.advance(ms(1000)).await;
    d.provider_drops().await;
    d.provider_begins_anew().await;
    d.advance(ms(5000)).await;
    assert_eq!(d.answers(call), 0);
    assert_eq!(
        types(&d),
        ["session.update", "session.update", "function_call", "function_call_output"],
        "no output without its call, and nothing is asked about a tool that is not marked"
    );
    let [.., call, output] = d.wire() else { panic!("{:?}", d.wire()) };
    let (call, output) = (&call["item"], &output["item"]);
    assert_eq!((&call["name"], &call["call_id"]), (&json!("print_label"), &output["call_id"]));
    let args: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(args, json!({"commit": true, "wait_ms": 3000}));
    assert!(output["output"].as_str().unwrap().contains("success"), "{output}");
    assert!(d.protocol_faults().is_empty(), "{:?}", d.protocol_faults());
    d.expect_effects(1);
}

#[tokio::test(start_paused = true)]
async fn its_tools_are_declared_as_it_takes_them() {
    let (d, _) = asked(Script::openai()).await;
    let setup = &d.wire()[0]["session"];
    let tools = setup["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["type"] == "function" && tool["parameters"]["type"] == "object"));
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("set_lamp")), "{names:?}");
}
