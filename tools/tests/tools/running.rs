// SPDX-License-Identifier: MIT OR Apache-2.0

//! A run always comes back, and says truly what happened.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tools::{
    CallControl, CallInfo, CallNotice, Cx, Effect, ErasedTool, RawOutcome, Shaped, Status, ToolError,
    ToolResult, ToolSet, tool,
};
use units::{CallKey, TurnId};

/// Does as it is told.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

const DEADLINE: Duration = Duration::from_secs(8);

fn call() -> (Cx, CallControl, Arc<Mutex<Vec<CallNotice>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let info = CallInfo {
        call: CallKey(7),
        turn: TurnId(3),
        session: "s-1".to_owned(),
        idempotency_key: Some("key".to_owned()),
        deadline: Instant::now() + DEADLINE,
    };
    let (cx, control) = Cx::new(info, move |notice| log.lock().unwrap().push(notice));
    (cx, control, heard)
}

fn built(declaration: impl Into<tools::Declaration>) -> ErasedTool {
    ToolSet::builder().tool(declaration).build().unwrap().iter().next().unwrap().clone()
}

async fn run(tool: &ErasedTool, cx: Cx) -> Shaped {
    tool.run(json!({}), cx).await
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_answer() {
    async fn breaks(_: Nothing) -> &'static str {
        panic!("secret detail")
    }
    let shaped = run(&built(tool(breaks).effect(Effect::Read)), Cx::for_test()).await;
    assert_eq!(shaped.status, Status::Error);
    assert_eq!(shaped.body, json!({"status": "error", "error": "the breaks tool failed"}));
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_is_an_answer_too() {
    let breaks = |_: Nothing| -> std::future::Ready<&'static str> { panic!("at once") };
    let shaped = run(&built(tool(breaks).named("breaks").effect(Effect::Read)), Cx::for_test()).await;
    assert_eq!(shaped.body["error"], "the breaks tool failed");
}

#[tokio::test(start_paused = true)]
async fn a_panic_after_the_point_of_no_return_is_unknown() {
    async fn breaks(_: Nothing, cx: Cx) -> RawOutcome {
        cx.begin_effect()?;
        panic!("half done")
    }
    let shaped = run(&built(tool(breaks).effect(Effect::Local)), Cx::for_test()).await;
    assert_eq!(shaped.status, Status::Unknown);
    assert_eq!(
        shaped.body["message"],
        "It was started; whether it finished is not known. Say so. Do not repeat it."
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_returns_ends_at_its_deadline() {
    async fn hangs(_: Nothing) -> &'static str {
        pending().await
    }
    let start = Instant::now();
    let shaped = run(&built(tool(hangs).effect(Effect::Read)), Cx::for_test()).await;
    assert_eq!(start.elapsed(), DEADLINE);
    assert_eq!(shaped.body, json!({"status": "error", "error": "the hangs tool did not finish in time"}));
}

#[tokio::test(start_paused = true)]
async fn after_its_deadline_nothing_of_a_tool_can_begin_the_effect() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let hangs = move |_: Nothing, cx: Cx| {
        *keep.lock().unwrap() = Some(cx);
        pending::<&'static str>()
    };
    run(&built(tool(hangs).named("hangs").effect(Effect::Read)), Cx::for_test()).await;
    let cx = kept.lock().unwrap().take().unwrap();
    assert!(cx.begin_effect().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_in_its_effect_is_unknown() {
    async fn hangs(_: Nothing, cx: Cx) -> RawOutcome {
        cx.begin_effect()?;
        pending().await
    }
    let (cx, control, heard) = call();
    let running = tokio::spawn(built(tool(hangs).effect(Effect::Local)).run(json!({}), cx));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*heard.lock().unwrap(), [CallNotice::EffectBegun { call: CallKey(7) }]);
    assert!(!control.cancel(), "too late to stop it");
    assert_eq!(running.await.unwrap().status, Status::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_dropped_after_a_short_grace() {
    async fn hangs(_: Nothing) -> &'static str {
        pending().await
    }
    let (cx, control, _) = call();
    let start = Instant::now();
    let running = tokio::spawn(built(tool(hangs).effect(Effect::Read)).run(json!({}), cx));
    sleep(Duration::from_secs(1)).await;
    assert!(control.cancel());
    let shaped = running.await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(1250));
    assert_eq!(shaped.status, Status::Cancelled);
    assert_eq!(shaped.body["message"], "this tool call was stopped before it did anything");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_listens_ends_at_once_when_cancelled() {
    async fn listens(_: Nothing, cx: Cx) -> RawOutcome {
        cx.cancelled().await;
        cx.begin_effect()?;
        Ok(ToolResult::ok("done all the same"))
    }
    let (cx, control, heard) = call();
    let start = Instant::now();
    let running = tokio::spawn(built(tool(listens).effect(Effect::Local)).run(json!({}), cx));
    sleep(Duration::from_secs(1)).await;
    control.cancel();
    assert_eq!(running.await.unwrap().status, Status::Cancelled);
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    assert!(heard.lock().unwrap().is_empty(), "no effect was begun");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_error_is_not_spoken() {
    async fn fails(_: Nothing) -> Result<&'static str, ToolError> {
        "not a number".parse::<u8>()?;
        Ok("fine")
    }
    let shaped = run(&built(tool(fails).effect(Effect::Read)), Cx::for_test()).await;
    assert_eq!(shaped.body, json!({"status": "error", "error": "the fails tool failed"}));
}

#[tokio::test(start_paused = true)]
async fn a_failure_brings_its_instruction() {
    async fn fails(_: Nothing) -> Result<ToolResult, ToolError> {
        Err(ToolError::public("the door is open"))
    }
    async fn fails_with_words(_: Nothing) -> Result<ToolResult, ToolError> {
        Err(ToolError::public("the door is open").then_say("Ask them to close it."))
    }
    let tool_with = |declaration: tools::ToolBuilder<Nothing>| {
        built(declaration.effect(Effect::Read).on_failure("Say that it failed."))
    };
    let shaped = run(&tool_with(tool(fails)), Cx::for_test()).await;
    assert_eq!(shaped.body["instruction"], "Say that it failed.");
    let shaped = run(&tool_with(tool(fails_with_words)), Cx::for_test()).await;
    assert_eq!(shaped.body["instruction"], "Ask them to close it.");
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_parse_are_told_to_the_model() {
    async fn nothing(_: Nothing) -> &'static str {
        "done"
    }
    let tool = built(tool(nothing).effect(Effect::Read));
    let shaped = tool.run(json!([1]), Cx::for_test()).await;
    assert_eq!((shaped.status, &shaped.body["error"]), (Status::Error, &json!("invalid arguments")));
}

#[tokio::test(start_paused = true)]
async fn a_running_tool_can_show_events_and_knows_its_call() {
    async fn shows(_: Nothing, cx: Cx) -> String {
        cx.emit("step", json!({"at": 1}));
        cx.emit("broken", f64::NAN);
        format!("{} {} {} {:?}", cx.call(), cx.turn(), cx.session(), cx.idempotency_key())
    }
    let (cx, _, heard) = call();
    let shaped = run(&built(tool(shows).effect(Effect::Read)), cx).await;
    assert_eq!(shaped.body["result"], r#"call-7 turn-3 s-1 Some("key")"#);
    let step = CallNotice::Event { call: CallKey(7), name: "step".to_owned(), payload: json!({"at": 1}) };
    assert_eq!(*heard.lock().unwrap(), [step]);
}
