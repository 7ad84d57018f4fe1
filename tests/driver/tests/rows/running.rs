// SPDX-License-Identifier: MIT OR Apache-2.0

//! Running, T45 to T53.

use serde_json::json;

use crate::{asked, both, ms};

#[tokio::test(start_paused = true)]
async fn t45_three_calls_run_in_order() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let answers = d
            .model_calls_many([
                ("look_up", json!({"wait_ms": 300})),
                ("set_lamp", json!({"wait_ms": 200})),
                ("check_stock", json!({"wait_ms": 100})),
            ])
            .await;
        assert_eq!(runs.names(), ["look_up", "set_lamp", "check_stock"]);
        for pair in runs.all().windows(2) {
            assert!(pair[0].to <= pair[1].from, "they overlap: {pair:?}");
        }
        let spoken: Vec<bool> = answers.iter().map(|answer| answer.is_to_be_spoken_about()).collect();
        assert_eq!(spoken, [false, false, true], "one follow-up");
        assert_eq!(d.turn().hops, 1);
        let answered: Vec<_> =
            d.timeline().into_iter().filter(|line| line["kind"] == "call.answered").collect();
        let names: Vec<_> = answered.iter().map(|line| line["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["look_up", "set_lamp", "check_stock"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t46_parallel_reads() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let wait = json!({"wait_ms": 300});
        let calls = [("see_left", wait.clone()), ("see_right", wait.clone()), ("see_up", wait)];
        let before = d.elapsed();
        let answers = d.model_calls_many(calls).await;
        assert!(d.elapsed() - before < ms(400), "{:?}", d.elapsed() - before);
        assert!(answers.iter().all(|answer| answer.status() == "success"));
        let answered: Vec<_> =
            d.timeline().into_iter().filter(|line| line["kind"] == "call.answered").collect();
        assert_eq!(
            answered.iter().map(|line| line["name"].as_str().unwrap()).collect::<Vec<_>>(),
            ["see_left", "see_right", "see_up"]
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t47_parallel_beside_outbound() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let wait = json!({"wait_ms": 300});
        d.model_calls_many([("see_left", wait.clone()), ("print_label", wait.clone()), ("see_right", wait)])
            .await;
        for pair in runs.all().windows(2) {
            assert!(pair[0].to <= pair[1].from, "they overlap: {pair:?}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t48_failed_step() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let answers = d
            .model_calls_many([
                ("print_label", json!({"fail": true})),
                ("bolt_door", json!({})),
                ("ring_bell", json!({})),
            ])
            .await;
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status().to_owned()).collect();
        assert_eq!(statuses, ["error", "refused", "success"]);
        assert_eq!(runs.names(), ["ring_bell"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t49_one_lane_from_two_responses() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let first = d.model_asks("weigh", json!({"wait_ms": 500})).await;
        d.advance(ms(100)).await;
        let second = d.model_asks("tare", json!({"wait_ms": 100})).await;
        assert_eq!(d.answer(first).await.status(), "success");
        assert_eq!(d.answer(second).await.status(), "success");
        let runs = runs.all();
        assert!(runs[0].to <= runs[1].from, "{runs:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t50_line_before_each_call() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let before = d.elapsed();
        d.model_calls("ask_service", json!({"n": 1})).await;
        assert!(d.elapsed() - before < ms(50), "the call waited for its line");
        d.agent_is_heard("One moment.").await;
        d.model_calls("ask_service", json!({"n": 2})).await;
        d.agent_is_heard("One moment.").await;
        assert_eq!(runs.names().len(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn row_24_a_tool_has_the_device_say_a_line_of_its_own_and_tells_the_model_something_else() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let args = json!({"line": "I am looking.", "note": "aisle 3 is closed", "wait_ms": 3000});
        let call = d.model_asks("look_up", args).await;
        d.agent_is_heard("I am looking.").await;
        let answer = d.answer(call).await;
        assert!(!answer.body().to_string().contains("I am looking."), "{}", answer.body());
        let told = d.next_context().iter().filter_map(|told| told["note"].as_str()).collect::<Vec<_>>();
        assert_eq!(told, ["[from look_up] aisle 3 is closed"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t51_line_that_speech_covers() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says("I will look for it.").await;
        d.agent_is_heard("I will look").await;
        d.advance(ms(1000)).await;
        d.model_calls("find_part", json!({})).await;
        d.agent_is_silent().await;
        d.advance(ms(2000)).await;
        d.model_calls("find_part", json!({"n": 2})).await;
        d.agent_is_heard("Let me look.").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t52_no_line_while_pending() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("send_text", json!({})).await;
        d.agent_is_heard("Send the text.").await;
        assert!(d.heard().iter().all(|heard| heard.text != "I am sending it."));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn rows_34_and_114_a_running_call_becomes_a_job() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let call = d.model_asks("check_stock", json!({"job": true, "wait_ms": 9000})).await;
        let answer = d.answer(call).await;
        assert_eq!((answer.status(), answer.latency()), ("running", ms(0)));
        assert_eq!(d.model_calls("set_lamp", json!({})).await.latency(), ms(0), "it holds up nobody");
        d.advance(ms(20_000)).await;
        let told = |told: &serde_json::Value| told["ask"].as_str().map(str::to_owned);
        let told: Vec<_> = d.next_context().iter().filter_map(told).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("check_stock is done."), "{told:?}");
        assert_eq!(
            (d.answers(call), runs.names()),
            (1, vec!["set_lamp".to_owned(), "check_stock".to_owned()])
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn row_34_a_call_that_became_a_job_ends_by_its_deadline() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let answer = d.model_calls("weigh", json!({"job": true, "wait_ms": 60_000})).await;
        assert_eq!(answer.status(), "running");
        d.advance(ms(60_000)).await;
        let told = format!("{:?}", d.next_context());
        assert!(told.contains("the weigh tool did not finish in time"), "{told}");
        assert!(runs.names().is_empty() && d.snapshot().calls.is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t53_job() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let call = d.model_asks("make_report", json!({"wait_ms": 9000})).await;
        let answer = d.answer(call).await;
        assert_eq!((answer.status(), answer.latency()), ("running", ms(0)));
        d.advance(ms(20_000)).await;
        let notes: Vec<_> =
            d.next_context().iter().filter_map(|told| told["ask"].as_str().map(str::to_owned)).collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("make_report is done."), "{notes:?}");
        assert_eq!(d.answers(call), 1);
    })
    .await;
}
