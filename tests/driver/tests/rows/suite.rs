// SPDX-License-Identifier: MIT OR Apache-2.0

//! The conformance suite, over tools that stand it and one that does not.

use std::sync::Arc;

use driver::conformance::Suite;
use driver::{Driver, Script};
use serde_json::{Value, json};
use tools::{Cx, ErasedTool, Gate, Hal, ToolResult, ToolSet};

use crate::shop;

#[tokio::test(start_paused = true)]
async fn tools_of_every_kind_stand_it() {
    let (tools, _) = shop();
    let suite = Suite::new(tools);
    let faults: Vec<_> = [
        suite.unknown_arguments().await,
        suite.empty_arguments().await,
        suite.answered_once().await,
        suite.outbound_asks_first().await,
    ]
    .concat();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_fault_is_told_with_the_name_of_the_tool() {
    let schema = json!({"type": "object", "properties": {"words": {"type": "integer", "maximum": 99}}});
    let wordy =
        ErasedTool::dynamic("wordy", "Talks. Use it when asked.", schema.clone(), |_: Value, _: Cx| async {
            ToolResult::ok("It is done.")
        });
    let broken =
        ErasedTool::dynamic("broken", "Fails. Use it when asked.", schema, |args: Value, _: Cx| async move {
            assert!(args["never"] == true, "a bug");
            ToolResult::ok("It is done.")
        });
    // What is made up of the schema has few words; what people will say has more.
    let say = |args: &Value| {
        let words = args["words"].as_u64().unwrap_or(1);
        format!("Say {}.", (0..words).map(|_| "word ").collect::<String>())
    };
    let tools = ToolSet::builder()
        .tool(wordy.gate(Gate::voice(say)))
        .tool(broken.effect(tools::Effect::Read))
        .build()
        .unwrap();
    let told: Vec<String> = Suite::new(tools)
        .sample("wordy", json!({"words": 40}))
        .run()
        .await
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(told[0].starts_with("tool `wordy`: declared well: its question has 20"), "{told:#?}");
    assert!(told[1..].iter().all(|line| line.starts_with("tool `broken`: ")), "{told:#?}");
    assert!(told.len() > 10, "it is told for every check in which it ran: {told:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_logged_can_be_read() {
    let (tools, _) = shop();
    let mut d = Driver::new(tools, Script::gemini());
    d.user_says("please").await;
    d.model_calls("look_up", json!({"wait_ms": 412})).await;
    let slow: Vec<_> =
        d.warnings().into_iter().filter(|line| line.contains("over the 20ms budget")).collect();
    assert_eq!(slow.len(), 1, "{slow:?}");
    assert!(slow[0].starts_with("tool Tools.look_up took 412ms"), "{slow:?}");
}

/// Weighs what lies on the scale. Use it when somebody asks.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Weigh {}

struct Scale(u32);

#[tokio::test(start_paused = true)]
async fn one_function_with_a_fake() {
    async fn weigh(_: Weigh, scale: Hal<Scale>, cx: Cx) -> ToolResult {
        cx.emit("weight", scale.0);
        ToolResult::ok(format!("It weighs {} grams.", scale.0))
    }
    let (answer, events) = Driver::for_tool(weigh).hal(Arc::new(Scale(740))).call(json!({})).await;
    assert_eq!(answer["message"], "It weighs 740 grams.");
    assert_eq!((events[0].name.as_str(), &events[0].payload), ("weight", &json!(740)));
}
