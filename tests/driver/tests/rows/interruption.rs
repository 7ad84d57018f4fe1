// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interruption and what is told afterwards, T89 to T92 and T97 to T99.

use driver::Script;
use serde_json::json;

use crate::{agreed, asked, both, ms};

const LONG: &str = "I will do that for you, and while I do it I will tell you everything about it.";

#[tokio::test(start_paused = true)]
async fn t89_read_is_stopped() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        d.model_says(LONG).await;
        let call = d.model_asks("look_up", json!({"wait_ms": 5000})).await;
        d.user_barges_in(ms(500)).await;
        let answer = d.answer(call).await;
        assert_eq!((answer.status(), answer.is_to_be_spoken_about()), ("cancelled", false));
        d.advance(ms(8000)).await;
        assert!(runs.names().is_empty());
        assert_eq!(d.answers(call), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t90_committed_goes_on() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says(LONG).await;
        let call = d.model_asks("print_label", json!({"commit": true, "wait_ms": 3000})).await;
        d.user_barges_in(ms(1000)).await;
        let answer = d.answer(call).await;
        assert_eq!(answer.status(), "success");
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t90_agreed_and_committed_goes_on() {
    both(async |script| {
        let args = json!({"commit": true, "wait_ms": 3000});
        let (mut d, runs) = agreed(script, &args).await;
        d.model_says(LONG).await;
        let call = d.model_asks("send_text", args).await;
        d.user_barges_in(ms(2000)).await;
        let answer = d.answer(call).await;
        assert_eq!(answer.status(), "success");
        assert_eq!(runs.names(), ["send_text"]);
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t91_taken_back_before_the_effect_gemini() {
    let (mut d, runs) = asked(Script::gemini()).await;
    let call = d.model_asks("print_label", json!({"wait_ms": 3000})).await;
    d.advance(ms(1000)).await;
    d.server_cancels(&[call]).await;
    d.advance(ms(10_000)).await;
    assert_eq!((d.answers(call), d.closed(call)), (0, Some("the provider took it back")));
    assert!(runs.names().is_empty());
    d.expect_effects(0);
}

#[tokio::test(start_paused = true)]
async fn t91_taken_back_after_the_effect_gemini() {
    let (mut d, _) = asked(Script::gemini()).await;
    let call = d.model_asks("print_label", json!({"commit": true, "wait_ms": 3000})).await;
    d.advance(ms(1000)).await;
    d.server_cancels(&[call]).await;
    d.advance(ms(10_000)).await;
    assert_eq!(d.answers(call), 0);
    d.expect_effects(1);
    assert!(
        d.next_context()
            .iter()
            .any(|told| told["note"] == "[print_label had already been carried out when it was cancelled]"),
        "{:?}",
        d.next_context()
    );
}

#[tokio::test(start_paused = true)]
async fn t92_called_again_unread() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        assert_eq!(d.model_calls("set_lamp", json!({})).await.status(), "success");
        let again = d.model_calls("set_lamp", json!({})).await;
        assert_eq!(again.body()["repeat"], true);
        assert_eq!(runs.names().len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t97_stale() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let calls = d
            .model_asks_many([
                ("tare", json!({"wait_ms": 25_000})),
                ("ask_service", json!({"wait_ms": 25_000})),
                ("print_label", json!({"wait_ms": 15_000})),
            ])
            .await;
        d.advance(ms(70_000)).await;
        for call in calls {
            let answer = d.answer(call).await;
            assert_eq!((answer.status(), answer.is_to_be_spoken_about()), ("success", false));
            assert!(answer.body()["instruction"].as_str().unwrap().contains("if it still matters"));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t98_result_while_the_person_speaks() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let call = d.model_asks("check_stock", json!({"wait_ms": 1000})).await;
        d.user_begins().await;
        d.advance(ms(2000)).await;
        let answer = d.answer(call).await;
        assert_eq!((answer.status(), answer.is_to_be_spoken_about()), ("success", false));
        d.user_ends("and one more thing").await;
        d.advance(ms(1000)).await;
        assert_eq!(d.answers(call), 1);
        assert!(d.next_context().iter().any(|told| told["answer"][0]["name"] == "check_stock"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t99_settle() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let call = d.model_asks("end_session", json!({})).await;
        d.user_begins().await;
        let answer = d.answer(call).await;
        assert_eq!(answer.status(), "cancelled");
        d.user_ends("no, wait").await;
        d.advance(ms(5000)).await;
        assert_eq!(d.ended_by(), None);
    })
    .await;
}
