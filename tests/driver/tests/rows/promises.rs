// SPDX-License-Identifier: MIT OR Apache-2.0

//! What comes after a call and beside it: what follows a delivery, what undoes, and calls that are taken raw.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use driver::{Driver, Replay, Script};
use serde_json::{Value, json};
use session::Notice;
use tokio::time::sleep;
use tools::{Cx, Delivered, Effect, ErasedTool, Gate, ToolBuilder, ToolError, ToolResult, ToolSet};

use crate::{both, ms};

type Done = Arc<Mutex<Vec<String>>>;

/// A tool that notes what it does after `wait_ms`, past its point of no return.
fn make(name: &'static str, done: &Done) -> ToolBuilder<Value> {
    let done = Arc::clone(done);
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "wait_ms": {"type": "integer"}, "fail": {"type": "boolean"}, "job": {"type": "boolean"},
    }});
    let run = move |args: Value, cx: Cx| {
        let done = Arc::clone(&done);
        async move {
            cx.begin_effect()?;
            if args["job"] == true {
                cx.become_job();
            }
            sleep(Duration::from_millis(args["wait_ms"].as_u64().unwrap_or(0))).await;
            if args["fail"] == true {
                return Err(ToolError::public("it is stuck"));
            }
            done.lock().unwrap().push(format!("{name} {}", args["n"]));
            Ok(ToolResult::ok(format!("{name} is done.")))
        }
    };
    ErasedTool::dynamic(name, "Does what a test asks for. Use it when a test says so.", schema, run)
        .effect(Effect::Local)
}

fn noted(done: &Done) -> Vec<String> {
    std::mem::take(&mut *done.lock().unwrap())
}

/// Filling is undone by draining, draining by filling what cannot be filled, and a booking by what a person must agree to.
fn tank() -> (ToolSet, Done) {
    let done = Done::default();
    let n = |args: &Value| json!({"n": args["n"]});
    let after = Arc::clone(&done);
    let follows = move |delivered: Delivered<Value>| {
        let after = Arc::clone(&after);
        async move {
            sleep(Duration::from_secs(1)).await;
            let Delivered { args, answer, .. } = delivered;
            after.lock().unwrap().push(format!("after {} {}", args["n"], answer["status"]));
        }
    };
    let gate = Gate::voice(|_: &Value| "Give the room back.".to_owned());
    let tools = ToolSet::builder()
        .tool(make("fill", &done).lane("tank").undo("drain", n))
        .tool(make("drain", &done).lane("tank"))
        .tool(make("warm", &done).undo("cool", |args: &Value| json!({"n": args["n"], "fail": true})))
        .tool(make("cool", &done))
        .tool(make("book_room", &done).undo("give_back", n))
        .tool(make("give_back", &done).effect(Effect::Outbound).gate(gate))
        .tool(make("restart", &done).after_delivery(follows))
        .build()
        .unwrap();
    (tools, done)
}

async fn asked(script: Script) -> (Driver, Done) {
    let (tools, done) = tank();
    let mut d = Driver::new(tools, script);
    d.user_says("please").await;
    (d, done)
}

fn notes(d: &Driver) -> Vec<&str> {
    d.next_context().iter().filter_map(|told| told["note"].as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn row_137_what_follows_a_delivery_runs_once_after_it_and_holds_nothing_up() {
    both(async |script| {
        let (mut d, done) = asked(script).await;
        let answer = d.model_calls("restart", json!({"n": 1, "wait_ms": 2000})).await;
        assert_eq!((answer.status(), noted(&done)), ("success", vec!["restart 1".to_owned()]));
        let next = d.model_calls("drain", json!({"n": 2})).await;
        assert_eq!((next.status(), next.latency()), ("success", ms(0)));
        assert_eq!(noted(&done), ["drain 2"]);
        d.advance(ms(20_000)).await;
        assert_eq!(noted(&done), ["after 1 \"success\""]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn row_137_nothing_follows_what_was_not_delivered() {
    both(async |script| {
        let (resumes, takes_back) = (script.profile().resumes, script.profile().takes_back);
        let (mut d, done) = asked(script).await;
        assert_eq!(d.model_calls("restart", json!({"n": 1, "fail": true})).await.status(), "error");
        // A job: its answer says that it runs, and what it brought is a note.
        assert_eq!(
            d.model_calls("restart", json!({"n": 2, "job": true, "wait_ms": 10})).await.status(),
            "running"
        );
        d.advance(ms(10_000)).await;
        assert_eq!(noted(&done), ["restart 2"]);
        if takes_back {
            let call = d.model_asks("restart", json!({"n": 3, "wait_ms": 500})).await;
            d.server_cancels(&[call]).await;
            d.advance(ms(5000)).await;
            assert_eq!(noted(&done), ["restart 3"]);
        }
        d.model_asks("restart", json!({"n": 4, "wait_ms": 500})).await;
        d.provider_drops().await;
        d.advance(ms(800)).await;
        assert_eq!(noted(&done), ["restart 4"], "it waits for a link");
        d.provider_resumes(Replay::OpenCalls).await;
        d.advance(ms(5000)).await;
        let followed: &[&str] = if resumes { &["after 4 \"success\""] } else { &[] };
        assert_eq!(noted(&done), followed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t91_what_was_taken_back_too_late_is_undone_and_told_of_once_gemini() {
    let (mut d, done) = asked(Script::gemini()).await;
    let call = d.model_asks("fill", json!({"n": 1, "wait_ms": 1000})).await;
    d.advance(ms(300)).await;
    d.server_cancels(&[call]).await;
    d.advance(ms(5000)).await;
    assert_eq!((noted(&done), d.answers(call)), (vec!["fill 1".to_owned(), "drain 1".to_owned()], 0));
    let told = notes(&d);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with(
            "[fill had already been carried out when it was cancelled, and drain has undone it: "
        ),
        "{told:?}"
    );
    let made: Vec<Value> = d
        .timeline()
        .into_iter()
        .filter(|line| line["kind"] == "call.made")
        .map(|line| line["name"].clone())
        .collect();
    assert_eq!(made, ["drain"]);
    // It is as if it had never been: the same may be done anew.
    assert_eq!(d.model_calls("fill", json!({"n": 1, "wait_ms": 1000})).await.status(), "success");
    assert_eq!(noted(&done), ["fill 1"]);
}

#[tokio::test(start_paused = true)]
async fn t91_what_could_not_be_undone_is_told_with_how_it_can_be_gemini() {
    let (mut d, done) = asked(Script::gemini()).await;
    let call = d.model_asks("warm", json!({"n": 1, "wait_ms": 1000})).await;
    d.advance(ms(300)).await;
    d.server_cancels(&[call]).await;
    d.advance(ms(5000)).await;
    assert_eq!(noted(&done), ["warm 1"]);
    let told = notes(&d);
    assert!(
        told[0].contains("cool was to undo it and has not") && told[0].contains("it is stuck"),
        "{told:?}"
    );
    assert!(told[0].ends_with("call cool with {\"fail\":true,\"n\":1}]"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_person_must_agree_to_undoes_nothing_by_itself_gemini() {
    let (mut d, done) = asked(Script::gemini()).await;
    let call = d.model_asks("book_room", json!({"n": 1, "wait_ms": 1000})).await;
    d.advance(ms(300)).await;
    d.server_cancels(&[call]).await;
    d.advance(ms(60_000)).await;
    assert_eq!(noted(&done), ["book_room 1"]);
    let how = "[book_room had already been carried out when it was cancelled. If it should not stand, call give_back with \
               {\"n\":1}]";
    assert_eq!(notes(&d), [how]);
    d.user_says("give it back").await;
    // The model proposes it, and the person is asked as ever.
    let args = json!({"n": 1});
    assert_eq!(d.model_calls("give_back", args.clone()).await.status(), "pending_confirmation");
    assert_eq!(noted(&done), [""; 0]);
    d.user_approves().await;
    assert_eq!(d.model_calls("give_back", args).await.status(), "success");
    assert_eq!(noted(&done), ["give_back 1"]);
}

/// What an integrator has who runs calls themselves: one function for all of them.
async fn own(name: &'static str, args: Value, taken: Arc<Mutex<Vec<(&'static str, Value)>>>) -> ToolResult {
    taken.lock().unwrap().push((name, args));
    if name == "hang" {
        std::future::pending::<()>().await;
    }
    ToolResult::ok("It is done.")
}

#[tokio::test(start_paused = true)]
async fn row_2_calls_that_are_taken_raw_have_one_answer_a_deadline_and_a_gate() {
    both(async |script| {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let mut set = ToolSet::builder();
        for name in ["list", "hang", "wipe"] {
            let log = Arc::clone(&taken);
            let run = move |args, _: Cx| own(name, args, Arc::clone(&log));
            let raw = ErasedTool::dynamic(
                name,
                "Does as asked. Use it when asked.",
                json!({"type": "object"}),
                run,
            );
            set = set.tool(match name {
                "wipe" => raw.gate(Gate::voice(|_: &Value| "Wipe the disk.".to_owned())),
                _ => raw.effect(Effect::Local),
            });
        }
        let mut d = Driver::new(set.build().unwrap(), script);
        d.user_says("please").await;
        let wild = json!({"path": ["a", {"b": 5.0}], "": null});
        let calls =
            d.model_asks_many([("list", wild.clone()), ("hang", wild.clone()), ("wipe", wild.clone())]).await;
        d.model_repeats(&calls).await;
        let mut statuses = Vec::new();
        for call in &calls {
            statuses.push(d.answer(*call).await.status().to_owned());
        }
        assert_eq!(statuses, ["success", "error", "pending_confirmation"]);
        d.advance(ms(20_000)).await;
        assert_eq!(calls.iter().map(|call| d.answers(*call)).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(*taken.lock().unwrap(), [("list", wild.clone()), ("hang", wild)]);
        let duplicates =
            d.notices().iter().filter(|(_, notice)| matches!(notice, Notice::DuplicateCall { .. }));
        assert_eq!(duplicates.count(), 3);
        assert!(d.protocol_faults().is_empty());
    })
    .await;
}
