// SPDX-License-Identifier: MIT OR Apache-2.0

//! The gate as it is seen through this harness: cases of its own list, by their numbers there.

use driver::{Replay, When};
use serde_json::json;

use crate::{agreed, asked, both, ms};

const QUESTION: &str = "Send the text. Is that right?";

#[tokio::test(start_paused = true)]
async fn g3_asked_again_and_again() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        for _ in 0..5 {
            assert_eq!(d.model_calls("send_text", json!({})).await.status(), "pending_confirmation");
        }
        d.agent_is_heard(QUESTION).await;
        assert_eq!(d.heard().len(), 1);
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g2_agreed() {
    both(async |script| {
        let (mut d, runs) = agreed(script, &json!({})).await;
        assert_eq!(d.model_calls("send_text", json!({})).await.status(), "success");
        assert_eq!(runs.names(), ["send_text"]);
        d.agent_is_heard("I am sending it.").await;
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g7_yes_before_the_end() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("send_text", json!({})).await;
        d.advance(ms(500)).await;
        d.user_turn("yes", ms(600), When::OverPlayback).await;
        d.advance(ms(1000)).await;
        assert_eq!(d.model_calls("send_text", json!({})).await.status(), "pending_confirmation");
        d.agent_is_heard(QUESTION).await;
        assert_eq!(d.heard().iter().filter(|heard| heard.text == QUESTION).count(), 2, "it is asked again");
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g9_click_that_is_transcribed() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("send_text", json!({})).await;
        d.agent_is_heard(QUESTION).await;
        d.user_turn("yes", ms(90), When::Quiet).await;
        assert_eq!(d.model_calls("send_text", json!({})).await.status(), "pending_confirmation");
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g14_no() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("send_text", json!({})).await;
        d.agent_is_heard(QUESTION).await;
        d.user_says("no").await;
        d.advance(ms(1000)).await;
        assert_eq!(d.model_calls("send_text", json!({})).await.status(), "refused");
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g21_other_arguments() {
    both(async |script| {
        let (mut d, _) = agreed(script, &json!({})).await;
        let answer = d.model_calls("send_text", json!({"n": 2})).await;
        assert_eq!((answer.status(), &answer.body()["replaced"]), ("pending_confirmation", &json!(true)));
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g43_replayed_yes() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.user_says("yes").await;
        d.model_calls("send_text", json!({})).await;
        d.agent_is_heard(QUESTION).await;
        d.provider_drops().await;
        d.provider_resumes(Replay::LastWords).await;
        d.advance(ms(2000)).await;
        assert_eq!(d.model_calls("send_text", json!({})).await.status(), "pending_confirmation");
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn noise_over_playback() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_says("I will tell you everything about it.").await;
        d.advance(ms(300)).await;
        d.noise(ms(90)).await;
        d.agent_is_heard("I will tell you everything").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g44_a_restart_voids_an_approval() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        d.model_calls("send_text", json!({})).await;
        assert_eq!(d.user_approves().await, "Send the text.");
        d.restarts().await;
        d.user_says("well, send it").await;
        assert_eq!(d.model_calls("send_text", json!({})).await.status(), "pending_confirmation");
        assert!(runs.names().is_empty());
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_leaves_nothing_running() {
    both(async |script| {
        let (mut d, runs) = asked(script).await;
        d.model_says("I print it, and tell you all about it while I do.").await;
        let call = d.model_asks("print_label", json!({"commit": true, "wait_ms": 3000})).await;
        d.advance(ms(1000)).await;
        d.restarts().await;
        d.advance(ms(10_000)).await;
        assert_eq!((d.answers(call), d.closed(call)), (0, Some("the daemon was started again")));
        assert!(runs.names().is_empty() && d.heard()[0].cut);
        d.expect_effects(1);
        d.user_says("and again").await;
        assert_eq!(d.model_calls("print_label", json!({"commit": true})).await.status(), "success");
        d.expect_effects(2);
        assert!(d.protocol_faults().is_empty(), "{:?}", d.protocol_faults());
    })
    .await;
}
