//! Arguments and how a call ends, T17 and T30 to T44 as a conversation shows them.

use driver::Driver;
use serde_json::json;
use tools::ToolSet;

use crate::{asked, both, ms};

#[tokio::test(start_paused = true)]
async fn t17_no_tools_at_all() {
    both(async |script| {
        let mut d = Driver::new(ToolSet::builder().build().unwrap(), script);
        d.user_says("please").await;
        let answer = d.model_calls("set_lamp", json!({})).await;
        assert_eq!(answer.body()["error"], "unknown tool");
        assert_eq!(answer.body()["available_tools"], json!([]));
        let setup = d.wire()[0].to_string();
        assert!(
            !setup.contains("functionDeclarations") && !setup.contains(r#""type":"function""#),
            "{setup}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t30_t31_wrong_arguments_are_told_with_their_place() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        for wrong in [json!("5"), json!(5.5)] {
            let answer = d.model_calls("set_lamp", json!({"n": wrong})).await;
            assert_eq!((answer.status(), &answer.body()["error"]), ("error", &json!("invalid arguments")));
            assert!(answer.body()["detail"].as_str().unwrap().contains("/n"), "{answer:?}");
            assert!(answer.is_to_be_spoken_about());
        }
        assert!(runs.names().is_empty());
        assert_eq!(d.model_calls("set_lamp", json!({"n": 5.0})).await.status(), "success");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t35_the_third_wrong_call_of_a_turn() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        for _ in 0..2 {
            assert_eq!(d.model_calls("set_lamp", json!({"n": "x"})).await.status(), "error");
        }
        let third = d.model_calls("set_lamp", json!({"n": "x"})).await;
        assert_eq!(third.status(), "refused");
        assert!(third.body()["message"].as_str().unwrap().contains("Ask the person"), "{third:?}");
        d.user_says("the small one").await;
        assert_eq!(d.model_calls("set_lamp", json!({"n": "x"})).await.status(), "error", "a turn of its own");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t39_a_panic_is_one_answer() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let answer = d.model_calls("look_up", json!({"panic": true})).await;
        assert_eq!(answer.body()["error"], "the look_up tool failed");
        assert_eq!(d.warnings().iter().filter(|line| line.starts_with("tool panicked")).count(), 1);
        assert_eq!(d.model_calls("look_up", json!({"n": 1})).await.status(), "success");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t41_a_tool_that_never_returns() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let answer = d.model_calls("look_up", json!({"wait_ms": 3_600_000})).await;
        assert_eq!((answer.status(), answer.latency()), ("error", ms(8000)));
        d.advance(ms(3_700_000)).await;
        assert!(runs.names().is_empty(), "its task is gone");
        assert_eq!(d.snapshot().calls, []);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t42_a_tool_that_hangs_in_its_effect() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says("I print it.").await;
        let answer = d.model_calls("bolt_door", json!({"commit": true, "wait_ms": 3_600_000})).await;
        assert_eq!(answer.status(), "unknown");
        assert!(answer.body()["message"].as_str().unwrap().contains("Do not repeat it"), "{answer:?}");
        d.expect_effects(1);
    })
    .await;
}
