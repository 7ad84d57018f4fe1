// SPDX-License-Identifier: MIT OR Apache-2.0

//! The gate and words: what the model must have said where it puts the question, what answers mean in other languages, and a
//! model that asks before it calls.

use driver::{Driver, Script, When};
use serde_json::json;
use session::lexicon::Locale;
use session::{GateConfig, GateState, ReadBack, Reading};

use crate::gate_voice::{PHONE, QUESTION, again, p, proposed_with, readings, with_gate};
use crate::{both, ms};

/// The model is to put the question, and says `wrong` first.
async fn misread(script: Script, wrong: &str) {
    let mut d = proposed_with(script, |gate| gate.read_back = ReadBack::Model { then_device: true }).await;
    d.model_says(wrong).await;
    d.agent_is_heard(wrong).await;
    assert!(matches!(d.snapshot().gate, GateState::Asking { .. }), "{wrong}");
    // A yes in between is about something else.
    d.user_says("yes").await;
    assert_eq!(again(&mut d).await, "pending_confirmation");
    d.expect_effects(0);
    d.model_says(wrong).await;
    d.agent_is_heard(QUESTION).await;
    d.user_says("yes, that's correct").await;
    assert_eq!(again(&mut d).await, "success");
    d.expect_effects(1);
}

#[tokio::test(start_paused = true)]
async fn g18_the_model_reads_other_digits() {
    both(async |script| misread(script, "Send 'hi' to 9876543211. Is that right?").await).await;
}

#[tokio::test(start_paused = true)]
async fn g19_the_model_turns_it_round() {
    both(async |script| misread(script, "I will not send 'hi' to 9876543210. Is that right?").await).await;
}

#[tokio::test(start_paused = true)]
async fn g20_the_model_reads_a_digit_more() {
    both(async |script| misread(script, "Send 'hi' to 98765432101. Is that right?").await).await;
}

#[tokio::test(start_paused = true)]
async fn g20_the_model_reads_it_well() {
    both(async |script| {
        let model = |gate: &mut GateConfig| gate.read_back = ReadBack::Model { then_device: false };
        let mut d = proposed_with(script, model).await;
        d.model_says("Send 'hi' to 98765 43210. Is that right?").await;
        d.agent_is_heard("Send 'hi'").await;
        d.user_says("yes, that's correct").await;
        assert_eq!(again(&mut d).await, "success");
        d.expect_effects(1);
    })
    .await;
}

/// Asked and answered in another language.
async fn in_locale(script: Script, locale: Locale, also: &[Locale], said: &str, expected: Reading) {
    let mut d = proposed_with(script, |gate| {
        gate.locale = locale;
        gate.other_locales = also.to_vec();
    })
    .await;
    d.agent_is_heard("Send 'hi'").await;
    d.user_says(said).await;
    d.advance(ms(1000)).await;
    assert_eq!(readings(&d), [Ok(expected)], "{said}");
}

#[tokio::test(start_paused = true)]
async fn g50_si() {
    both(async |script| in_locale(script, Locale::Es, &[], "si", Reading::Yes).await).await;
    let said = "si me llaman mañana";
    both(async |script| in_locale(script, Locale::Es, &[], said, Reading::Unclear).await).await;
}

#[tokio::test(start_paused = true)]
async fn g51_pois_nao() {
    both(async |script| in_locale(script, Locale::Pt, &[], "pois não", Reading::No).await).await;
}

#[tokio::test(start_paused = true)]
async fn g52_mei_cuo() {
    both(async |script| in_locale(script, Locale::Zh, &[], "没错", Reading::Yes).await).await;
    both(async |script| in_locale(script, Locale::Zh, &[], "不对", Reading::No).await).await;
}

#[tokio::test(start_paused = true)]
async fn g53_hai_over_the_question() {
    both(async |script| {
        let mut d = proposed_with(script, |gate| gate.locale = Locale::Ja).await;
        d.advance(ms(500)).await;
        d.user_turn("はい", ms(400), When::OverPlayback).await;
        d.advance(ms(1000)).await;
        assert_ne!(d.model_calls("send_text", p()).await.status(), "success");
        assert!(readings(&d).iter().all(|read| read.is_err()));
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g54_ne_where_it_means_both() {
    both(async |script| in_locale(script, Locale::En, &[Locale::El], "ne", Reading::Unclear).await).await;
}

/// The model has asked by itself, and calls only after the yes.
async fn preasked(script: Script, accept: bool, said: &str) -> (Driver, String) {
    let mut d = with_gate(script, |gate| gate.accept_preasked = accept);
    d.user_says("call me on 98765 43210").await;
    d.model_says("Ring 9876543210. Is that right?").await;
    d.agent_is_heard("Ring").await;
    d.user_says(said).await;
    d.advance(ms(1000)).await;
    let status = d.model_calls("ring_back", json!({"phone": PHONE})).await.status().to_owned();
    (d, status)
}

#[tokio::test(start_paused = true)]
async fn preasked_only_where_it_is_accepted() {
    both(async |script| {
        let (d, status) = preasked(script, true, "yes, that's correct").await;
        assert_eq!(status, "success");
        d.expect_effects(1);
    })
    .await;
    for (accept, said) in [(false, "yes, that's correct"), (true, "yes but later"), (true, "what")] {
        both(async |script| {
            let (d, status) = preasked(script, accept, said).await;
            assert_eq!(status, "pending_confirmation", "{said}");
            d.expect_effects(0);
        })
        .await;
    }
}
