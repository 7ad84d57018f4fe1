// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tools of the rows: one of every kind that is handled differently. What each does is in its arguments.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tools::{Cx, Effect, ErasedTool, Gate, ToolBuilder, ToolError, ToolResult, ToolSet};

/// What ran, and from when to when.
#[derive(Clone, Default)]
pub struct Runs(Arc<Mutex<Vec<Run>>>);

#[derive(Clone, Debug)]
pub struct Run {
    pub name: String,
    pub from: Instant,
    pub to: Instant,
}

impl Runs {
    /// Every run that came to its end.
    pub fn all(&self) -> Vec<Run> {
        self.0.lock().unwrap().clone()
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<String> {
        self.all().into_iter().map(|run| run.name).collect()
    }
}

/// `line` and `note` are said and `wait_ms` passes, after the effect has begun if `commit`, and the call is a job if `job`; then it fails, panics, finds
/// nothing, or has done it.
async fn act(name: &'static str, runs: Runs, args: Value, cx: Cx) -> Result<ToolResult, ToolError> {
    let from = Instant::now();
    if args["commit"] == true {
        cx.begin_effect()?;
    }
    if args["job"] == true {
        cx.become_job();
    }
    if let Some(line) = args["line"].as_str() {
        cx.say_local(line);
    }
    if let Some(note) = args["note"].as_str() {
        cx.note(note);
    }
    let span = Duration::from_millis(args["wait_ms"].as_u64().unwrap_or(0));
    tokio::select! {
        () = sleep(span) => {}
        () = cx.cancelled() => return Err(tools::Cancelled.into()),
    }
    assert!(args["panic"] != true, "as asked");
    if args["fail"] == true {
        return Err(ToolError::public("it did not work"));
    }
    if name == "send_text" {
        cx.begin_effect()?;
    }
    runs.0.lock().unwrap().push(Run { name: name.to_owned(), from, to: Instant::now() });
    Ok(if args["empty"] == true {
        ToolResult::ok("No matching records found.").data(json!([]))
    } else {
        ToolResult::ok(format!("{name} is done."))
    })
}

fn make(name: &'static str, effect: Effect, runs: &Runs) -> ToolBuilder<Value> {
    let schema = json!({"type": "object", "properties": {
        "wait_ms": {"type": "integer"}, "commit": {"type": "boolean"}, "fail": {"type": "boolean"},
        "panic": {"type": "boolean"}, "empty": {"type": "boolean"}, "n": {"type": "integer"},
        "line": {"type": "string"}, "note": {"type": "string"}, "job": {"type": "boolean"},
    }});
    let runs = runs.clone();
    let description = "Does what a test asks for. Use it when a test says so.";
    ErasedTool::dynamic(name, description, schema, move |args, cx| act(name, runs.clone(), args, cx))
        .effect(effect)
}

/// All of them, and what they have run.
pub fn shop() -> (ToolSet, Runs) {
    let runs = Runs::default();
    let read = |name| make(name, Effect::Read, &runs);
    let local = |name| make(name, Effect::Local, &runs);
    let free = |name| make(name, Effect::Outbound, &runs).ungated("a test needs nobody's consent");
    let asked =
        |name| make(name, Effect::Outbound, &runs).gate(Gate::voice(|_: &Value| "Send the text.".to_owned()));
    let tools = ToolSet::builder()
        .tool(read("look_up"))
        .tool(
            read("check_stock")
                .needs_result_now()
                .waiting("Still checking.")
                .timeout(Duration::from_secs(30)),
        )
        .tool(read("see_left").parallel().lane("left"))
        .tool(read("see_right").parallel().lane("right"))
        .tool(read("see_up").parallel().lane("up"))
        .tool(read("file_report").job().timeout(Duration::from_secs(30)))
        .tool(read("make_report").job().needs_result_now().timeout(Duration::from_secs(30)))
        .tool(
            read("ask_service")
                .needs_result_now()
                .pre_call_always("One moment.")
                .timeout(Duration::from_secs(30)),
        )
        .tool(read("find_part").needs_result_now().pre_call("Let me look."))
        .tool(local("set_lamp"))
        .tool(local("fill_tank").lane("tank").undo("drain_tank", |args: &Value| json!({"n": args["n"]})))
        .tool(local("drain_tank").lane("tank"))
        .tool(local("turn_page").repeatable())
        .tool(local("weigh").lane("scale"))
        .tool(local("tare").lane("scale").timeout(Duration::from_secs(30)))
        .tool(free("print_label").timeout(Duration::from_secs(20)))
        .tool(free("bolt_door"))
        .tool(free("ring_bell").independent())
        .tool(asked("send_text").pre_call_always("I am sending it."))
        .tool(tools::end::end_session())
        .build()
        .unwrap();
    (tools, runs)
}
