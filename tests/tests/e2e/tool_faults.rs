// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tools that panic, hang, bring nothing, or do something after it: each call has its one answer, and the daemon goes on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use e2e::Talk;
use serde_json::Value;
use tools::{Cx, Delivered, Effect, ErasedTool, ToolResult, ToolSetBuilder};

fn with_bad_tools(tools: ToolSetBuilder) -> ToolSetBuilder {
    let schema = || serde_json::json!({"type": "object", "properties": {}});
    let panics =
        ErasedTool::dynamic("panics", "Fails when it is called.", schema(), |_: Value, _: Cx| async {
            // Not an unconditional panic: the compiler would warn of dead code.
            assert!(std::hint::black_box(false), "the tool is broken: {{}}");
            ToolResult::ok("unreachable")
        });
    let hangs = ErasedTool::dynamic("hangs", "Never comes back.", schema(), |_: Value, _: Cx| async {
        std::future::pending::<ToolResult>().await
    });
    let commits = ErasedTool::dynamic(
        "commits",
        "Starts and never comes back.",
        schema(),
        |_: Value, cx: Cx| async move {
            cx.begin_effect()?;
            std::future::pending::<Result<ToolResult, tools::ToolError>>().await
        },
    );
    let nothing =
        ErasedTool::dynamic("nothing", "Brings nothing back.", schema(), |_: Value, _: Cx| async {});
    tools
        .tool(panics.effect(Effect::Read).needs_result_now())
        .tool(hangs.effect(Effect::Read).needs_result_now().timeout(Duration::from_secs(2)))
        .tool(commits.effect(Effect::Local).needs_result_now().timeout(Duration::from_secs(2)))
        .tool(nothing.effect(Effect::Read).needs_result_now())
}

#[test]
fn every_call_of_a_bad_tool_is_answered_once_and_the_next_one_works() {
    let scenario = r#"
        name = "bad_tools"
        [[turn]]
        hears = "Hello there."
        steps = [
            { calls = [{ name = "panics" }, { name = "hangs" }, { name = "commits" }, { name = "nothing" }] },
            { await_answer = true },
            { calls = [{ name = "no_such_tool" }, { name = "read_warehouse_sensors", args = { zone = 7 } }] },
            { await_answer = true },
            { call = { name = "read_warehouse_sensors", args = { zone = "loading_dock" } } },
            { after_answer = [{ say = "hello" }], expect_status = "success" },
        ]
    "#;
    let seen =
        Talk::written("bad_tools", scenario).tools(with_bad_tools).says(1_500, "hello").lasting(20).run();
    seen.assert_clean();
    assert_eq!(seen.statuses("panics"), ["error"]);
    assert_eq!(seen.statuses("hangs"), ["error"]);
    assert_eq!(seen.statuses("commits"), ["unknown"], "it began its effect, so nobody knows");
    assert_eq!(seen.statuses("nothing"), ["success"]);
    assert_eq!(seen.statuses("no_such_tool"), ["error"]);
    assert_eq!(seen.statuses("read_warehouse_sensors"), ["error", "success"]);
    let answer = |name: &str| {
        let found = seen.report.answers.iter().find(|answer| answer.name == name);
        found.unwrap_or_else(|| panic!("{name} was not answered")).response.to_string()
    };
    assert!(answer("panics").contains("the panics tool failed"), "{}", answer("panics"));
    assert!(!answer("panics").contains("broken"), "the panic's own words are for the log");
    assert!(answer("no_such_tool").contains("read_warehouse_sensors"), "{}", answer("no_such_tool"));
    assert!(answer("read_warehouse_sensors").contains("/zone"), "{}", answer("read_warehouse_sensors"));
    let reply = audio::find::Recording::new(&seen.heard).find(&seen.said("hello"), Duration::ZERO);
    assert!(reply.is_some(), "the conversation goes on");
}

#[test]
fn row_137_what_follows_a_delivery_is_done_once_the_answer_was_written() {
    let scenario = r#"
        name = "delivered"
        [[turn]]
        hears = "Hello there."
        steps = [
            { calls = [{ name = "restart", args = { n = 1 } }, { name = "restart", args = { n = 2 } }] },
            { await_answer = true },
            { call = { name = "restart", args = { n = 3 } } },
            { after_answer = [{ say = "hello" }], expect_status = "success" },
        ]
    "#;
    let followed = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&followed);
    let with_restart = move |tools: ToolSetBuilder| {
        let log = Arc::clone(&log);
        let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let restart =
            ErasedTool::dynamic("restart", "Starts anew.", schema, |args: Value, _: Cx| async move {
                if args["n"] == 2 { ToolResult::error("not now") } else { ToolResult::ok("It starts anew.") }
            });
        let follows = move |delivered: Delivered<Value>| {
            log.lock().expect("no test panics with it").push((delivered.args["n"].clone(), delivered.answer));
            std::future::ready(())
        };
        tools.tool(restart.effect(Effect::Local).needs_result_now().after_delivery(follows))
    };
    let seen =
        Talk::written("delivered", scenario).tools(with_restart).says(1_500, "hello").lasting(12).run();
    seen.assert_clean();
    assert_eq!(seen.statuses("restart"), ["success", "error", "success"]);
    let followed = followed.lock().expect("no test panics with it");
    let numbers: Vec<_> = followed.iter().map(|(n, _)| n.clone()).collect();
    assert_eq!(numbers, [1, 3], "{followed:?}");
    assert!(followed.iter().all(|(_, answer)| answer["message"] == "It starts anew."), "{followed:?}");
}
