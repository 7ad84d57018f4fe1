// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is made of a server's word about how far a call is.

use std::time::Duration;

use serde_json::json;
use tools::mcp::Marks;

use crate::rig::{Scratch, call_within, child, job, noted_call, read, run, tool, until, up};

/// What was noted of a call of `bake`, which tells of 500 steps of 1000 at once, and of as many of a call that is not
/// there.
async fn baked(marks: Marks, trusted: bool) -> Vec<String> {
    let mut config = child(&[], &[("bake", marks)]);
    config.trusted = trusted;
    let servers = up([config]).await;
    let (cx, notes) = noted_call();
    let shaped = tool(&servers, "bench_bake").run(json!({}), cx).await;
    assert_eq!(shaped.body["result"], "baked", "{}", shaped.body);
    let notes = notes.lock().unwrap();
    notes.clone()
}

#[tokio::test]
async fn progress_of_a_job_is_noted_in_numbers_and_a_flood_of_it_is_one_note() {
    let notes = baked(job(), false).await;
    let [note] = &notes[..] else { panic!("{notes:?}") };
    let step: u32 = note.strip_suffix(" of 1000").unwrap().parse().unwrap();
    assert!((1..=500).contains(&step), "{note}");
}

#[tokio::test]
async fn a_trusted_server_says_how_far_a_job_is_in_its_own_words() {
    let notes = baked(job(), true).await;
    assert!(notes.len() == 1 && notes[0].ends_with(" of 1000: free of charge"), "{notes:?}");
}

#[tokio::test]
async fn progress_of_what_is_no_job_is_nothing() {
    assert!(baked(read(), true).await.is_empty());
}

#[tokio::test]
async fn progress_after_the_end_of_a_job_is_nothing() {
    let log = Scratch::new("late");
    let servers = up([child(&["--log", &log.arg()], &[("late", job()), ("text", read())])]).await;
    let (cx, notes) = noted_call();
    let shaped = tool(&servers, "bench_late").run(json!({}), cx).await;
    assert_eq!(shaped.body["result"], "done");
    until("the late word", || log.text().contains("told too late")).await;
    // What the server wrote before this answer has been read with it.
    assert_eq!(run(&tool(&servers, "bench_text"), json!({})).await.body["result"], "plain words");
    assert!(notes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn progress_does_not_move_the_deadline() {
    for marks in [read(), job()] {
        let servers = up([child(&[], &[("progress", marks)])]).await;
        let progress = tool(&servers, "bench_progress");
        assert_eq!(run(&progress, json!({})).await.body["result"], "done");
        let (cx, _control) = call_within(Duration::from_millis(500));
        let shaped = progress.run(json!({}), cx).await;
        assert_eq!(shaped.body["error"], "the bench_progress tool did not finish in time");
    }
}
