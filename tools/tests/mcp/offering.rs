// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which tools of a server are offered, under which marks.

use std::time::Duration;

use serde_json::json;
use tools::mcp::{LeftOut, Marks, ServerConfig};
use tools::{Agreement, Asking, Effect, ErasedTool, Status, ToolSet};

use crate::rig::{Log, Scratch, child, confirmed, read, run, tool, ungated, until, up};

/// Why a tool of the only server is left out.
async fn why(config: ServerConfig, name: &str) -> LeftOut {
    let servers = up([config]).await;
    let joined = servers.joined(&ToolSet::default());
    let mut found = joined.left_out.into_iter().filter(|left| left.tool == name);
    found.next().unwrap_or_else(|| panic!("{name} is offered"))
}

#[tokio::test]
async fn a_tool_acts_on_the_world_outside_until_the_configuration_says_otherwise() {
    let left = why(child(&[], &[]), "weigh").await;
    assert_eq!(
        left.to_string(),
        "mcp `bench`: tool `weigh`: left out: it acts on the world outside and nobody would be asked: under \
         [mcp.tools.weigh] set confirm = \"what the person agrees to\", or ungated = \"why nobody need be asked\", or \
         its true effect"
    );
    // It says of itself that it only reads; that is not believed.
    let servers = up([child(&[], &[("weigh", ungated()), ("text", read())])]).await;
    assert_eq!(tool(&servers, "bench_weigh").effect(), Effect::Outbound);
    assert_eq!(tool(&servers, "bench_text").effect(), Effect::Read);
}

#[tokio::test]
async fn a_servers_hint_makes_a_tool_stricter_than_configured() {
    let left = why(child(&[], &[("print", read())]), "print").await;
    assert!(left.reason.contains("(its own destructiveHint says so)"), "{left}");
    let servers =
        up([child(&[], &[("print", Marks { effect: Effect::Read, ..confirmed("Print {text}.") })])]).await;
    assert_eq!(tool(&servers, "bench_print").effect(), Effect::Outbound);
}

#[tokio::test]
async fn g58_a_server_that_says_it_only_reads_does_not_lift_the_gate() {
    let asking = Asking { by: Agreement::Both, high_risk: true, repeat_last: Some(2) };
    let marks = Marks { asking, ..confirmed("Weigh shelf {shelf}.") };
    let servers = up([child(&[], &[("weigh", marks)])]).await;
    let weigh = tool(&servers, "bench_weigh");
    assert_eq!((weigh.effect(), weigh.asking()), (Effect::Outbound, Some(asking)));
    assert_eq!(weigh.summary(&json!({"shelf": 12})), Some(Ok("Weigh shelf 12.".to_owned())));
}

#[tokio::test]
async fn the_person_is_asked_in_the_words_of_the_configuration() {
    let log = Scratch::new("print");
    let servers =
        up([child(&["--log", &log.arg()], &[("print", confirmed("Print {copies} labels saying {text}."))])])
            .await;
    let print = tool(&servers, "bench_print");
    assert!(print.is_gated());
    let args = print.prepare(&json!({"copies": 3, "text": "cold"})).unwrap();
    assert_eq!(print.summary(&args), Some(Ok("Print 3 labels saying cold.".to_owned())));
    assert_eq!(print.slots(&args), Ok(vec!["3".to_owned(), "cold".to_owned()]));
    // A default that was spoken is sent: what the server would have taken is not known.
    let args = print.prepare(&json!({"text": "dry"})).unwrap();
    assert_eq!(print.summary(&args), Some(Ok("Print 1 labels saying dry.".to_owned())));
    assert_eq!(run(&print, args).await.status, Status::Success);
    assert_eq!(log.text(), "print {\"copies\":1,\"text\":\"dry\"}\n");
    // An argument that nobody hears of cannot be slipped in.
    assert!(print.prepare(&json!({"text": "dry", "printer": "boss"})).is_err());

    let left = why(child(&[], &[("print", confirmed("Print {pages} pages."))]), "print").await;
    assert_eq!(left.reason, "left out: confirm names `pages`, which is none of its arguments");
}

#[tokio::test]
async fn an_invalid_tool_is_left_out_and_the_others_stay() {
    let marked =
        ["bad.name", "silent", "endless", "twin-a", "twin_a", "text", "gone"].map(|name| (name, read()));
    let servers = up([child(&[], &marked)]).await;
    let joined = servers.joined(&ToolSet::default());
    assert_eq!(joined.tools.names().collect::<Vec<_>>(), ["bench_text"]);
    let reason = |name: &str| {
        let found = joined.left_out.iter().find(|left| left.tool == name);
        found.unwrap_or_else(|| panic!("{name} is not told of")).reason.clone()
    };
    assert!(reason("bad.name").contains("the name does not fit"));
    assert!(reason("silent").contains("the description has 0 characters"));
    assert!(reason("endless").contains("refers to itself"));
    assert!(
        reason("gone").contains("it is configured, and the server has no such tool; it has: echo-meta, ")
    );
    for twin in ["twin-a", "twin_a"] {
        assert!(reason(twin).contains("`twin-a` of `bench` and `twin_a` of `bench`"), "{}", reason(twin));
    }
    assert_eq!(joined.left_out.iter().filter(|left| left.clash).count(), 2);
}

#[tokio::test]
async fn a_tool_of_this_device_keeps_its_name() {
    let native =
        ErasedTool::dynamic("bench_text", "The device's own.", json!({"type": "object"}), |_, _| async {
            "own"
        });
    let native = ToolSet::builder().tool(native.effect(Effect::Read)).build().unwrap();
    let servers = up([child(&[], &[("text", read())])]).await;
    let joined = servers.joined(&native);
    assert_eq!(joined.tools.find("bench_text").unwrap().description(), "The device's own.");
    let left = joined.left_out.iter().find(|left| left.tool == "text").unwrap();
    assert!(
        left.clash && left.reason.contains("`bench_text` is also that of a tool of this device"),
        "{left}"
    );
}

#[tokio::test]
async fn a_tool_can_be_switched_off_and_each_complaint_is_logged_once() {
    let off = Marks { enabled: false, ..Marks::default() };
    let servers = up([child(&[], &[("text", off), ("fail", read())])]).await;
    let (log, _logging) = Log::start();
    for _ in 0..3 {
        let tools = servers.joined_and_told(&ToolSet::default());
        assert_eq!(tools.names().collect::<Vec<_>>(), ["bench_fail"]);
    }
    assert_eq!(log.count("tool `weigh`: left out"), 1, "{}", log.text());
    assert_eq!(log.count("tool `text`"), 0, "{}", log.text());
}

#[tokio::test]
async fn a_budget_that_is_passed_is_a_warning() {
    let budget = Some(Duration::from_millis(1));
    let servers = up([child(&[], &[("progress", Marks { budget, ..read() })])]).await;
    let (log, _logging) = Log::start();
    assert_eq!(run(&tool(&servers, "bench_progress"), json!({})).await.status, Status::Success);
    assert_eq!(log.count("over the 1ms budget"), 1, "{}", log.text());
}

#[tokio::test]
async fn t108_a_list_that_changes_is_checked_again_and_taken_with_the_next_conversation() {
    let marked = ["change", "text", "null", "added", "add", "fail"].map(|name| (name, read()));
    let servers = up([child(&[], &marked)]).await;
    let before = servers.joined(&ToolSet::default()).tools;
    assert_eq!(
        before.names().collect::<Vec<_>>(),
        ["bench_change", "bench_fail", "bench_null", "bench_text"]
    );
    assert_eq!(run(before.find("bench_change").unwrap(), json!({})).await.body["result"], "changed");
    until("the new list", || servers.joined(&ToolSet::default()).tools.find("bench_added").is_some()).await;
    let joined = servers.joined(&ToolSet::default());
    assert_eq!(
        joined.tools.names().collect::<Vec<_>>(),
        ["bench_added", "bench_change", "bench_fail", "bench_null"]
    );
    assert!(joined.left_out.iter().any(|left| left.tool == "add" && left.reason.contains("0 characters")));

    // In the conversation that has begun, what is as it was works, and what is not says so.
    let of = |name: &str| before.find(name).unwrap().clone();
    assert_eq!(run(&of("bench_fail"), json!({})).await.body["result"], "no paper");
    let shaped = run(&of("bench_text"), json!({})).await;
    assert_eq!(shaped.body["error"], "the bench server does not have this tool any more");
    let shaped = run(&of("bench_null"), json!({})).await;
    assert_eq!(
        shaped.body["error"],
        "the bench server has changed this tool; it can be used in the next conversation"
    );
}
