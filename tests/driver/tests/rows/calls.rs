// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arguments and how a call ends, T17 and T30 to T44 as a conversation shows them.

use driver::Driver;
use serde_json::json;
use tools::{Effect, ToolError, ToolResult, ToolSet, tool};

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
async fn t37_t38_a_slow_tool_is_told_of_once() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        for (wait_ms, count) in [(19, 0), (20, 0), (21, 1), (412, 2)] {
            let answer = d.model_calls("look_up", json!({"wait_ms": wait_ms})).await;
            assert_eq!((answer.status(), answer.latency()), ("success", ms(wait_ms)));
            let slow = d.warnings().into_iter().filter(|line| line.contains("over the 20ms budget"));
            assert_eq!(slow.count(), count, "{wait_ms}");
        }
        let last = d.warnings().pop().unwrap();
        let told = "tool Tools.look_up took 412ms, over the 20ms budget; the user waited for it";
        assert!(last.starts_with(told), "{last}");
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

/// Fails. Use it when a test says so.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ReadStock {}

async fn read_stock(_: ReadStock) -> Result<ToolResult, ToolError> {
    let cause = std::io::Error::other("SELECT secret FROM stock: /var/lib/stock.db is locked");
    Err(ToolError::public("the stock list is being counted").because(cause))
}

#[tokio::test(start_paused = true)]
async fn t40_a_cause_stays_on_the_device() {
    both(async |script| {
        let tools = ToolSet::builder().tool(tool(read_stock).effect(Effect::Read)).build().unwrap();
        let mut d = Driver::new(tools, script);
        d.user_says("please").await;
        let answer = d.model_calls("read_stock", json!({})).await;
        assert_eq!(*answer.body(), json!({"status": "error", "error": "the stock list is being counted"}));
        let wire = d.wire().iter().map(ToString::to_string).collect::<String>();
        assert!(!wire.contains("SELECT") && !wire.contains("/var/lib"), "{wire}");
        assert!(d.warnings().iter().any(|line| line.contains("/var/lib/stock.db")), "{:?}", d.warnings());
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
