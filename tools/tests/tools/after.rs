// SPDX-License-Identifier: MIT OR Apache-2.0

//! What comes after a call: it is undone, or its answer was delivered.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tools::{Cx, Delivered, Effect, ErasedTool, Gate, ToolBuilder, ToolResult, ToolSet, tool};
use units::CallKey;

use crate::log::Log;

/// Unlocks a locker. Use it when the person asks for theirs.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Unlock {
    /// Which.
    #[schemars(range(min = 1, max = 48))]
    locker: u8,
}

/// Locks a locker. Use it when the person is done.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Lock {
    /// Which.
    #[schemars(range(min = 1, max = 48))]
    number: u8,
}

async fn unlock(_: Unlock) -> ToolResult {
    ToolResult::ok("It is open.")
}

async fn lock(_: Lock) -> ToolResult {
    ToolResult::ok("It is locked.")
}

fn unlocking() -> ToolBuilder<Unlock> {
    tool(unlock).effect(Effect::Local)
}

fn locking() -> ToolBuilder<Lock> {
    tool(lock).effect(Effect::Local)
}

fn undone(args: &Unlock) -> Lock {
    Lock { number: args.locker }
}

#[test]
fn what_undoes_a_call_is_made_of_its_arguments() {
    let tools = ToolSet::builder().tool(unlocking().undo("lock", undone)).tool(locking()).build().unwrap();
    let unlock = tools.find("unlock").unwrap();
    let args = unlock.prepare(&json!({"locker": 12.0})).unwrap();
    assert_eq!(unlock.undone_by(), Some("lock"));
    assert_eq!(unlock.undo(&args), Some(Ok(json!({"number": 12}))));
    let lock = tools.find("lock").unwrap();
    assert_eq!((lock.undone_by(), lock.undo(&json!({"number": 12}))), (None, None));
}

#[test]
fn what_undoes_is_tried_when_the_tools_are_built() {
    let broken = |_: &Unlock| -> Lock { panic!("as asked") };
    let gate = |args: &Unlock| format!("Unlock locker {}.", args.locker);
    let tools = ToolSet::builder()
        .tool(unlocking().named("a").undo("lock_it", undone))
        .tool(unlocking().named("b").effect(Effect::Read).undo("lock", undone))
        .tool(unlocking().named("c").undo("lock", |_: &Unlock| Lock { number: 99 }))
        .tool(unlocking().named("d").undo("lock", broken))
        .tool(unlocking().named("e").undo("end_session", |_: &Unlock| json!({})))
        .tool(unlocking().named("f").effect(Effect::Outbound).gate(Gate::voice(gate)).undo("lock", undone))
        .tool(unlocking().named("g").undo("h", undone))
        .tool(locking().named("h").timeout(Duration::from_secs(31)))
        .tool(locking())
        .tool(tools::end::end_session())
        .build();
    let faults: Vec<String> = tools.unwrap_err().0.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "tool `a`: it is undone by `lock_it`, which is none of the tools: name one that is there",
            "tool `b`: it only reads: there is nothing to undo; leave `.undo(..)` out",
            "tool `c`: for {\"locker\":3} it is undone by `lock` with {\"number\":99}, which do not fit: /number: 99 is greater \
             than the maximum of 48",
            "tool `d`: what undoes it cannot be rendered for {\"locker\":3}: the d tool failed",
            "tool `e`: it is undone by `end_session`, which ends the session: name another",
            // `f` is right, and `g` too: the fault is that of what undoes it.
            "tool `h`: the timeout is 31s: expected 1 s..=30 s",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn row_137_what_follows_a_delivery_knows_the_call_and_its_answer() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let noted = unlocking().after_delivery(move |delivered: Delivered<Unlock>| {
        let log = Arc::clone(&log);
        async move {
            sleep(Duration::from_secs(1)).await;
            log.lock().unwrap().push((delivered.call, delivered.args.locker, delivered.answer));
        }
    });
    let tools = ToolSet::builder().tool(noted).tool(locking()).build().unwrap();
    let unlock = tools.find("unlock").unwrap();
    let answer = json!({"status": "success"});
    let follows = unlock.after_delivery(CallKey(7), json!({"locker": 12}), answer.clone()).unwrap();
    sleep(Duration::from_secs(5)).await;
    assert!(seen.lock().unwrap().is_empty(), "it begins when it is polled");
    follows.await;
    assert_eq!(*seen.lock().unwrap(), [(CallKey(7), 12, answer)]);
    let lock = tools.find("lock").unwrap();
    assert!(!lock.has_after_delivery());
    assert!(lock.after_delivery(CallKey(8), json!({"number": 1}), Value::Null).is_none());
}

#[tokio::test(start_paused = true)]
async fn row_137_what_follows_a_delivery_ends_whatever_it_does() {
    let log = Log::start();
    let breaks = |delivered: Delivered<Unlock>| async move {
        assert_eq!(delivered.args.locker, 0, "broken on purpose");
        pending::<()>().await;
    };
    let built = ToolSet::builder().tool(unlocking().after_delivery(breaks)).build().unwrap();
    let unlock = built.find("unlock").unwrap();
    unlock.after_delivery(CallKey(7), json!({"locker": 12}), Value::Null).unwrap().await;
    let began = Instant::now();
    unlock.after_delivery(CallKey(8), json!({"locker": 0}), Value::Null).unwrap().await;
    assert_eq!(began.elapsed(), unlock.timeout());
    let warnings = log.warnings();
    assert!(
        warnings[0].starts_with("tool panicked") && warnings[0].contains("broken on purpose"),
        "{warnings:?}"
    );
    assert_eq!(warnings[1..], ["what tool unlock does after delivery did not end in 8s and is dropped"]);
}

#[test]
fn a_job_has_no_delivery_that_something_could_follow() {
    let job = unlocking().job().after_delivery(|_: Delivered<Unlock>| async {});
    let faults = ToolSet::builder().tool(job).build().unwrap_err().0;
    assert_eq!(faults.len(), 1);
    assert!(faults[0].fault.starts_with("it is a job and does something after delivery"), "{}", faults[0]);
}

#[tokio::test(start_paused = true)]
async fn row_114_nobody_waits_for_a_call_from_where_it_becomes_a_job() {
    let long = |args: Value, cx: Cx| async move {
        sleep(Duration::from_millis(args["before"].as_u64().unwrap())).await;
        cx.become_job();
        sleep(Duration::from_secs(5)).await;
        ToolResult::ok("It is done.")
    };
    let long = ErasedTool::dynamic("long", "Takes long.", json!({"type": "object"}), long);
    let tools = ToolSet::builder().named("Kiosk").tool(long.effect(Effect::Local)).build().unwrap();
    let long = tools.find("long").unwrap();
    let log = Log::start();
    let shaped = long.run(json!({"before": 10}), Cx::for_test()).await;
    assert_eq!((shaped.body["message"].as_str(), log.warnings()), (Some("It is done."), Vec::new()));
    let _ = long.run(json!({"before": 30}), Cx::for_test()).await;
    assert_eq!(log.warnings(), ["tool Kiosk.long took 30ms, over the 20ms budget; the user waited for it"]);
}

#[tokio::test(start_paused = true)]
async fn row_2_one_function_takes_the_calls_of_many_declarations_as_the_model_wrote_them() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut set = ToolSet::builder();
    for name in ["open_ticket", "close_ticket"] {
        let taken = Arc::clone(&taken);
        let raw = ErasedTool::dynamic(name, "Does as asked.", json!({"type": "object"}), move |args, _| {
            taken.lock().unwrap().push((name, args));
            async { ToolResult::ok("It is done.") }
        });
        set = set.tool(raw.effect(Effect::Local));
    }
    let tools = set.build().unwrap();
    let wild = json!({"number": 5.0, "tags": ["a", null, {"deep": [[]]}], "": "ü", "_x": false});
    for name in ["close_ticket", "open_ticket"] {
        let tool = tools.find(name).unwrap();
        let args = tool.prepare(&wild).unwrap();
        assert_eq!(tool.run(args, Cx::for_test()).await.body["message"], "It is done.");
    }
    assert_eq!(*taken.lock().unwrap(), [("close_ticket", wild.clone()), ("open_ticket", wild)]);
}
