// SPDX-License-Identifier: MIT OR Apache-2.0

//! A child that dies, floods, prints, or leaves others behind.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tools::mcp::{Reach, Servers};
use tools::{Status, ToolSet};

use crate::rig::{
    Log, PATIENCE, Scratch, call, child, config, is_running, read, run, tool, ungated, until, up,
};

#[tokio::test]
async fn t106_a_child_that_dies_mid_call_is_an_error_at_once_and_comes_back() {
    let servers = up([child(&[], &[("die", read()), ("text", read())])]).await;
    let (die, text) = (tool(&servers, "bench_die"), tool(&servers, "bench_text"));
    let since = Instant::now();
    let shaped = run(&die, json!({})).await;
    assert_eq!(shaped.body, json!({"status": "error", "error": "the bench server is not running"}));
    assert!(since.elapsed() < Duration::from_secs(2), "it did not wait for the deadline");

    until("the end of the server", || servers.joined(&ToolSet::default()).tools.iter().len() == 0).await;
    let shaped = run(&text, json!({})).await;
    assert_eq!(shaped.body["error"], "the bench server is not running");

    until("the return of the server", || servers.joined(&ToolSet::default()).tools.iter().len() > 0).await;
    assert!(since.elapsed() >= Duration::from_millis(500), "it was started again without a pause");
    // The very tool that was given before works again.
    assert_eq!(run(&text, json!({})).await.body["result"], "plain words");
}

#[tokio::test]
async fn t106_an_effect_that_was_under_way_when_the_child_died_is_unknown() {
    let servers = up([child(&[], &[("die", ungated())])]).await;
    let shaped = run(&tool(&servers, "bench_die"), json!({})).await;
    assert_eq!(shaped.status, Status::Unknown);
}

#[tokio::test]
async fn t106_a_child_that_is_killed_from_outside_comes_back() {
    let log = Scratch::new("killed");
    let tools = [("grandchild", ungated()), ("hang", read()), ("text", read())];
    let servers = up([child(&["--log", &log.arg()], &tools)]).await;
    let hang = tool(&servers, "bench_hang");
    let left_behind = run(&tool(&servers, "bench_grandchild"), json!({})).await.body["result"].to_string();
    assert!(is_running(&left_behind));
    let running = tokio::spawn(hang.run(json!({}), call().0));
    until("the call", || log.text().contains("hanging")).await;
    let stat = std::fs::read_to_string(format!("/proc/{left_behind}/stat")).unwrap();
    let parent = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().to_owned();
    assert!(std::process::Command::new("kill").args(["-KILL", &parent]).status().unwrap().success());
    let shaped = timeout(Duration::from_secs(2), running).await.expect("it waited for the deadline").unwrap();
    assert_eq!(shaped.body["error"], "the bench server is not running");
    until("the return of the server", || servers.joined(&ToolSet::default()).tools.iter().len() > 0).await;
    assert!(!is_running(&left_behind), "what the child had started was left behind");
}

#[tokio::test]
async fn a_server_that_is_not_there_at_the_start_comes_later() {
    let mark = Scratch::new("fail-once");
    let servers = Servers::start([child(&["--fail-once", &mark.arg()], &[("text", read())])]);
    let missing = servers.settled(PATIENCE).await;
    assert_eq!(missing, ["mcp `bench` has no tools yet: it ended at once (exit status: 4)"]);
    until("the server", || servers.joined(&ToolSet::default()).tools.find("bench_text").is_some()).await;

    let nowhere = Reach::Child { command: vec!["/nonexistent/driver".to_owned()], env: Vec::new() };
    let servers = Servers::start([config(nowhere, &[])]);
    let missing = servers.settled(PATIENCE).await;
    assert!(missing[0].contains("`/nonexistent/driver` cannot be started"), "{missing:?}");
    let servers = Servers::start([child(&["--deaf"], &[])]);
    let missing = servers.settled(Duration::from_millis(300)).await;
    assert_eq!(missing, ["mcp `bench` has no tools yet: it is not ready after 0.3 s"]);
}

#[tokio::test]
async fn t107_noise_on_both_outputs_holds_nobody_up_and_the_log_is_spared() {
    let (log, _logging) = Log::start();
    let servers = up([child(&[], &[("noise", read()), ("json-noise", read())])]).await;
    for name in ["bench_noise", "bench_json_noise"] {
        let shaped = run(&tool(&servers, name), json!({})).await;
        assert_eq!(shaped.body["result"], "quiet again", "{name}");
    }
    drop(servers);
    let rest = "more lines of its standard error were not kept";
    until("the end of the noise", || log.count(rest) > 0).await;
    let kept = log.count("says: complaint");
    // Two calls, each within a second or two of a slow machine.
    assert!((50..=400).contains(&kept), "{kept} of 40000 lines were kept");
    assert_eq!(log.count("it writes other things than the protocol"), 1);
    assert!(log.text().contains("first: fixture is starting"), "{}", log.text());
}

#[tokio::test]
async fn t109_a_child_sees_of_the_environment_what_it_was_given() {
    let mut config = child(&[], &[("environment", read())]);
    // Variables that cargo gives every test.
    let Reach::Child { env, .. } = &mut config.reach else { panic!("it is a child") };
    *env = vec!["CARGO_PKG_NAME".to_owned(), "VOICED_NOT_SET".to_owned()];
    let servers = up([config]).await;
    let shaped = run(&tool(&servers, "bench_environment"), json!({})).await;
    let seen = shaped.body["result"].as_object().unwrap();
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["CARGO_PKG_NAME", "PATH"]);
    assert_eq!(seen["CARGO_PKG_NAME"], "tools");
    assert_eq!(seen["PATH"], std::env::var("PATH").unwrap());
}

#[tokio::test]
async fn everything_a_server_started_ends_with_it() {
    let servers = up([child(&[], &[("grandchild", ungated())])]).await;
    let pid = run(&tool(&servers, "bench_grandchild"), json!({})).await.body["result"].to_string();
    assert!(is_running(&pid));
    drop(servers);
    let ended = async {
        while is_running(&pid) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(2), ended).await.expect("it was left behind");
}
