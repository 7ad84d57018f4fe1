// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follow-up and silence, T76 to T88.

use serde_json::json;

use crate::{OUTPUT, asked, both, ms, types};

#[tokio::test(start_paused = true)]
async fn t76_unmarked_after_speech() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says("I turn it on.").await;
        let answer = d.model_calls("set_lamp", json!({})).await;
        assert!(!answer.is_to_be_spoken_about());
        d.agent_is_heard("I turn it on.").await;
        assert!(d.turn().completed);
        assert_eq!(d.turn().hops, 0);
        if d.profile().schedules {
            let sent = &d.wire().last().unwrap()["toolResponse"]["functionResponses"][0];
            assert_eq!(sent["scheduling"], "SILENT");
        } else {
            assert_eq!(d.wire().last().unwrap()["item"]["type"], "function_call_output");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t77_marked() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says("Let me see.").await;
        let answers =
            d.model_calls_many([("check_stock", json!({"n": 1})), ("check_stock", json!({"n": 2}))]).await;
        let spoken: Vec<_> = answers.iter().map(|answer| answer.is_to_be_spoken_about()).collect();
        assert_eq!(spoken, [false, true]);
        d.stops().await;
        let record = d.turns().pop().unwrap();
        assert_eq!((record.hops, record.calls, record.awaited), (1, 2, 2));
        if d.profile().speaks_when_asked {
            assert_eq!(types(&d), ["session.update", OUTPUT, OUTPUT, "response.create"]);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t78_marked_beside_unmarked() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says("Let me see.").await;
        d.model_calls_many([("check_stock", json!({})), ("set_lamp", json!({}))]).await;
        assert_eq!(d.turn().hops, 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t79_unmarked_speechless() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let answer = d.model_calls("set_lamp", json!({})).await;
        assert!(answer.is_to_be_spoken_about(), "nothing was said, so something has to be");
        assert!(d.turn().speechless);
        d.stops().await;
        assert!(d.turns().pop().unwrap().speechless);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t80_cap() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let mut in_words = Vec::new();
        for n in 0..d.config().max_follow_ups {
            assert_eq!(d.model_calls("check_stock", json!({"n": n})).await.status(), "success");
            let mut told = d.next_context().iter().map(|told| &told["answer"][0]["follow_up"]);
            in_words.push(told.any(|follow_up| follow_up == "in_words"));
        }
        assert_eq!(in_words, [false, false, false, false, false, true], "the last may not lead to a call");
        let refused = d.model_calls("check_stock", json!({"n": 99})).await;
        assert_eq!(refused.body()["error"], "no more tools in this turn");
        assert_eq!(runs.names().len(), 6);
        if d.profile().speaks_when_asked {
            let asked = d.wire().iter().filter(|message| message["type"] == "response.create");
            let choices: Vec<_> = asked.map(|asked| asked["response"].get("tool_choice")).collect();
            let none = json!("none");
            assert_eq!(choices, [None, None, None, None, None, Some(&none), Some(&none)]);
        }
        d.user_says("again").await;
        assert_eq!(d.model_calls("check_stock", json!({"n": 99})).await.status(), "success");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t81_calls_past_the_cap() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        let mut spoken = Vec::new();
        for n in 0..d.config().max_follow_ups + 5 {
            let answer = d.model_calls("check_stock", json!({"n": n})).await;
            assert!(answer.is_there());
            spoken.push(answer.is_to_be_spoken_about());
        }
        assert_eq!(spoken[6..], [true, true, true, false, false], "three refusals, then silence");
        d.agent_is_heard("Sorry, I could not finish that.").await;
        assert_eq!(runs.names().len(), 6);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t82_unmarked_never_count() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        for n in 0..10 {
            d.model_says("I see to it.").await;
            assert_eq!(d.model_calls("turn_page", json!({"n": n})).await.status(), "success");
        }
        assert_eq!((runs.names().len(), d.turn().hops), (10, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t86_silence() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.advance(ms(9900)).await;
        assert!(d.heard().is_empty() && d.turn().speechless);
        d.advance(ms(200)).await;
        d.agent_is_heard("Sorry, that is taking longer").await;
        d.advance(ms(20_000)).await;
        d.agent_is_silent().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t86_silence_of_a_tool_with_its_own_line() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        let call = d.model_asks("check_stock", json!({"wait_ms": 15_000})).await;
        d.advance(ms(10_100)).await;
        d.agent_is_heard("Still checking.").await;
        assert_eq!(d.answer(call).await.status(), "success");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t87_no_line_while_a_question_is_open() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("send_text", json!({})).await;
        d.agent_is_heard("Send the text. Is that right?").await;
        d.advance(ms(30_000)).await;
        d.agent_is_silent().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t88_empty_search() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        d.model_says("Let me look.").await;
        for n in 0..3 {
            d.model_calls("look_up", json!({"empty": true, "n": n})).await;
        }
        let answer = d.model_calls("look_up", json!({"empty": true, "n": 3})).await;
        assert_eq!(answer.body()["retryable"], false);
        assert_eq!(runs.names().len(), 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn notes_are_there_for_the_next_request() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("file_report", json!({"wait_ms": 1000})).await;
        let call = d.model_asks("check_stock", json!({"wait_ms": 2000})).await;
        assert!(d.answer(call).await.is_to_be_spoken_about());
        let told: Vec<_> = d
            .next_context()
            .iter()
            .filter_map(|told| told["note"].as_str().or(told["answer"][0]["name"].as_str()))
            .collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("file_report is done.") && told[1] == "check_stock", "{told:?}");
        if d.profile().speaks_when_asked {
            assert_eq!(types(&d).last().unwrap(), "response.create");
        }
    })
    .await;
}
