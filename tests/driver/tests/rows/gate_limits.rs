// SPDX-License-Identifier: MIT OR Apache-2.0

//! The gate and patience: how often a person is asked.

use std::time::Duration;

use session::Notice;

use crate::gate_voice::{QUESTION, again, has, heard, p};
use crate::{both, ms};

#[tokio::test(start_paused = true)]
async fn g30_two_answers_that_are_none() {
    both(async |script| {
        let mut d = heard(script).await;
        for _ in 0..2 {
            d.user_says("the weather is fine").await;
            d.advance(ms(1000)).await;
            d.question_or_silence().await;
        }
        d.user_says("yes").await;
        let answer = d.model_calls("send_text", p()).await;
        assert_eq!(answer.status(), "refused");
        assert_eq!(answer.body()["message"], "This needs the touch screen now.");
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g31_turned_down_twice() {
    both(async |script| {
        let mut d = heard(script).await;
        d.user_says("no").await;
        d.advance(ms(1000)).await;
        d.user_says("well then").await;
        assert_eq!(again(&mut d).await, "pending_confirmation");
        d.agent_is_heard(QUESTION).await;
        d.user_says("no").await;
        d.advance(ms(1000)).await;
        d.user_says("and what now").await;
        assert_eq!(again(&mut d).await, "refused");
        assert!(has(&d, |it| matches!(it, Notice::GateLocked { .. })));
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g32_three_questions_in_ten_minutes() {
    both(async |script| {
        let mut d = heard(script).await;
        for _ in 0..2 {
            d.advance(Duration::from_secs(50)).await;
            d.user_says("something else").await;
            assert_eq!(again(&mut d).await, "pending_confirmation");
        }
        d.advance(Duration::from_secs(50)).await;
        d.user_says("something else").await;
        assert_eq!(again(&mut d).await, "refused");
        d.advance(Duration::from_secs(600)).await;
        d.user_says("send it").await;
        assert_eq!(again(&mut d).await, "pending_confirmation", "ten minutes later it may be asked again");
        d.expect_effects(0);
    })
    .await;
}
