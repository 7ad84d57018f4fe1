// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is kept of a conversation, in this process and in the file.

use std::path::PathBuf;

use e2e::Talk;
use serde_json::{Value, json};
use tools::{Cx, Effect, ErasedTool, ToolResult, ToolSetBuilder};

fn with_a_secret(tools: ToolSetBuilder) -> ToolSetBuilder {
    let schema = json!({"type": "object", "properties": {"pin": {"type": "string"}}});
    let account = ErasedTool::dynamic("account", "Looks it up.", schema, |_: Value, _: Cx| async {
        ToolResult::ok("It is open.").data(json!({"balance": 12, "pin": "4711"}))
    });
    tools.tool(account.effect(Effect::Read).needs_result_now().hidden("pin"))
}

#[test]
fn row_84_90_91_92_93_a_conversation_is_kept_as_calls_results_words_and_figures_without_what_is_hidden() {
    let scenario = r#"
        name = "kept"
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "account", args = { pin = "4711" } } },
            { await_answer = true },
            { call = { name = "acount", args = { pin = "4711" } } },
            { await_answer = true },
            { say = "goodbye" },
            { call = { name = "end_session" } },
        ]
    "#;
    let file = std::env::temp_dir().join(format!("voiced-kept-{}.jsonl", std::process::id()));
    let kept = Kept(file);
    let seen = Talk::written("kept", scenario)
        .tools(with_a_secret)
        .set(&format!("log.records={}", kept.0.display()))
        .says(1_500, "hello")
        .lasting(20)
        .run();
    seen.assert_clean();
    let text = std::fs::read_to_string(&kept.0).expect("the records are written before the daemon is gone");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of_kind = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();

    let calls: Vec<&Value> = of_kind("tool.call").iter().map(|line| &line["name"]).collect();
    assert_eq!(calls, ["account", "acount", "end_session"]);
    let results: Vec<[&Value; 3]> =
        of_kind("tool.result").iter().map(|line| ["name", "status", "level"].map(|key| &line[key])).collect();
    assert_eq!(results, [["account", "success", "info"], ["acount", "error", "warning"]]);
    let [unknown] = of_kind("error")[..] else { panic!("one unknown tool: {text}") };
    assert!(unknown["available_tools"].as_array().is_some_and(|names| names.contains(&json!("account"))));
    for (role, words) in [
        ("person", "Hello there."),
        ("tool", "account({'pin': '***'})"),
        ("tool", "acount({'pin': '***'})"),
        ("tool", "end_session({})"),
    ] {
        let said = of_kind("transcript").iter().any(|line| line["role"] == role && line["text"] == words);
        assert!(said, "no {role} says {words:?} in\n{text}");
    }
    assert!(of_kind("transcript").iter().any(|line| line["role"] == "model"), "{text}");
    let [turn] = of_kind("turn")[..] else { panic!("one turn of the person: {text}") };
    assert_eq!(
        ["hops", "calls", "awaited", "speechless"].map(|key| &turn[key]),
        [&json!(2), &json!(3), &json!(1), &json!(false)]
    );
    assert!(
        ["open_ms", "speak_ms", "total_ms"].iter().all(|key| turn[key].as_u64().is_some_and(|ms| ms > 0)),
        "{turn}"
    );
    let steps: Vec<[&Value; 2]> =
        of_kind("step").iter().map(|line| ["of", "name"].map(|key| &line[key])).collect();
    let (model, none) = (json!("model"), Value::Null);
    let tool = json!("tool");
    assert_eq!(
        steps,
        [
            [&tool, &json!("account")],
            [&model, &none],
            [&tool, &json!("acount")],
            [&model, &none],
            [&model, &none]
        ]
    );
    let [ended] = of_kind("session.ended")[..] else { panic!("it ended once: {text}") };
    assert_eq!(ended["hangup_by"], "agent");
    assert_eq!(ended["hangup_reason"], "agent ended the call");
    assert!(text.contains("balance") && !text.contains("4711"), "{text}");

    let kinds = |kind: &Value| kind.as_str().unwrap_or_default().to_owned();
    let in_file: Vec<String> = lines.iter().map(|line| kinds(&line["kind"])).collect();
    let in_process: Vec<&str> = seen.records.iter().map(voiced::records::Record::kind).collect();
    assert_eq!(in_file, in_process);
    assert!(!format!("{:?}", (&seen.records, &seen.notices)).contains("4711"));
}

struct Kept(PathBuf);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
