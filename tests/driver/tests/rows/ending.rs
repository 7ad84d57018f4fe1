// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ending, T100 to T104.

use serde_json::json;

use crate::{asked, both, ms};

#[tokio::test(start_paused = true)]
async fn t100_goodbye_is_heard() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says_for("Goodbye, and have a nice day.", ms(7000)).await;
        let answer = d.model_calls("end_session", json!({})).await;
        assert_eq!((answer.status(), answer.is_to_be_spoken_about()), ("success", false));
        d.model_done().await;
        d.advance(ms(6000)).await;
        assert_eq!(d.ended_by(), None);
        d.advance(ms(1500)).await;
        assert_eq!(d.ended_by(), Some("agent"));
        assert!(!d.heard()[0].cut);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t101_barge_in_during_the_goodbye() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says_for("Goodbye, and have a nice day.", ms(7000)).await;
        d.model_calls("end_session", json!({})).await;
        d.user_barges_in(ms(1000)).await;
        d.advance(ms(10_000)).await;
        assert_eq!(d.ended_by(), None);
        assert!(d.timeline().iter().any(|line| line["kind"] == "ending.cancelled"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t102_ending_without_a_word() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("end_session", json!({})).await;
        d.model_done().await;
        d.advance(ms(2100)).await;
        d.agent_is_heard("Goodbye.").await;
        d.advance(ms(1000)).await;
        assert_eq!(d.ended_by(), Some("agent"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t103_ending_waits_for_what_acts() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        d.model_says("Goodbye.").await;
        d.model_asks("print_label", json!({"commit": true, "wait_ms": 5000})).await;
        d.model_asks("end_session", json!({})).await;
        d.advance(ms(4000)).await;
        assert_eq!(d.ended_by(), None);
        d.advance(ms(10_000)).await;
        assert_eq!(d.ended_by(), Some("agent"));
        assert_eq!(runs.names(), ["print_label"]);
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t104_end_call_shows_nothing() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says("Goodbye.").await;
        let answer = d.model_calls("end_call", json!({})).await;
        assert_eq!((answer.status(), answer.is_to_be_spoken_about()), ("success", false));
        d.model_done().await;
        d.advance(ms(5000)).await;
        assert_eq!(d.ended_by(), Some("agent"));
        assert!(d.events().is_empty());
    })
    .await;
}
