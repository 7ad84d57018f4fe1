// SPDX-License-Identifier: MIT OR Apache-2.0

//! The gate where a person agrees with more than their voice, by the numbers of its own list: G28, G33 to G41, G55, G56, G59.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use driver::{Driver, Script};
use serde_json::{Value, json};
use session::{Channel, Config, GateEnd, Notice, Reading};
use tools::{Cx, ErasedTool, Gate, ToolError, ToolResult, ToolSet};
use units::Nonce;

use crate::{both, ms};

const SENTENCE: &str = "Unlock locker 7.";

/// A locker that takes `wait_ms` to open, and a price that changes.
#[derive(Clone)]
struct Locker {
    price: Arc<Mutex<u32>>,
}

impl Locker {
    fn tools(&self) -> ToolSet {
        let sentence = |_: &Value| SENTENCE.to_owned();
        let (asked, looked) = (Arc::clone(&self.price), Arc::clone(&self.price));
        let rent = |price: u32| format!("Rent locker 7 for {price} coins.");
        let by_price = Gate::voice(move |_: &Value| rent(*asked.lock().unwrap())).recheck(move |_: Value| {
            let price = *looked.lock().unwrap();
            async move { Ok(rent(price)) }
        });
        ToolSet::builder()
            .tool(unlocking("unlock").gate(Gate::touch(sentence)))
            .tool(unlocking("either").gate(Gate::voice_or_touch(sentence)))
            .tool(unlocking("both").gate(Gate::both(sentence)))
            .tool(unlocking("pressed").gate(Gate::button(sentence)))
            .tool(unlocking("risky").gate(Gate::voice(sentence).high_risk()))
            .tool(unlocking("rent").gate(by_price))
            .build()
            .unwrap()
    }
}

fn unlocking(name: &str) -> tools::ToolBuilder<Value> {
    let schema = json!({"type": "object", "properties": {"wait_ms": {"type": "integer"}}});
    let description = "Unlocks a locker. Use it when a test says so.";
    ErasedTool::dynamic(name, description, schema, |args: Value, cx: Cx| async move {
        cx.begin_effect()?;
        tokio::time::sleep(Duration::from_millis(args["wait_ms"].as_u64().unwrap_or(0))).await;
        Ok::<_, ToolError>(ToolResult::ok("The locker is open."))
    })
}

/// A device with a screen and a button, whose person has just asked for something.
async fn asked(script: Script) -> (Driver, Locker) {
    let locker = Locker { price: Arc::new(Mutex::new(5)) };
    let mut config = Config::default();
    config.gate.button = true;
    let mut d = Driver::with_config(locker.tools(), script, config);
    d.screen().await;
    d.user_says("please").await;
    (d, locker)
}

/// The same, where the model has called `tool` and the question stands on the screen.
async fn on_screen(script: Script, tool: &str, args: Value) -> Driver {
    let (mut d, _) = asked(script).await;
    assert_eq!(d.model_calls(tool, args).await.status(), "pending_confirmation");
    assert_eq!(d.sheets().iter().map(|sheet| sheet.summary.as_str()).collect::<Vec<_>>(), [SENTENCE]);
    d
}

fn count(d: &Driver, what: impl Fn(&Notice) -> bool) -> usize {
    d.notices().iter().filter(|(_, notice)| what(notice)).count()
}

fn bad_nonces(d: &Driver) -> usize {
    count(d, |notice| matches!(notice, Notice::GateBadNonce))
}

fn granted(d: &Driver) -> Vec<Channel> {
    let by = |(_, notice): &(Duration, Notice)| {
        if let Notice::GateGranted { by, .. } = notice { Some(*by) } else { None }
    };
    d.notices().iter().filter_map(by).collect()
}

fn closed(d: &Driver) -> Vec<GateEnd> {
    let how = |(_, notice): &(Duration, Notice)| {
        if let Notice::GateClosed { how, .. } = notice { Some(*how) } else { None }
    };
    d.notices().iter().filter_map(how).collect()
}

fn notes(d: &Driver) -> Vec<&str> {
    d.next_context().iter().filter_map(|told| told["note"].as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn g28_a_yes_is_about_what_was_asked_aloud() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        assert_eq!(d.model_calls("unlock", json!({})).await.status(), "pending_confirmation");
        assert_eq!(d.model_calls("rent", json!({})).await.status(), "pending_confirmation");
        d.agent_is_heard("Rent locker 7").await;
        d.user_says("yes, that's correct").await;
        d.advance(ms(1000)).await;
        assert_eq!(d.model_calls("unlock", json!({})).await.status(), "pending_confirmation");
        d.expect_effects(0);
        assert_eq!(d.model_calls("rent", json!({})).await.status(), "success");
        assert_eq!(d.effects(), ["rent"]);
        assert_eq!(d.sheets().len(), 1, "the other still waits for its tap");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g33_a_tap_makes_the_call_without_the_model() {
    both(async |script| {
        let mut d = on_screen(script, "unlock", json!({})).await;
        d.model_says("It is on the screen.").await;
        d.agent_is_heard("It is on the screen.").await;
        d.expect_effects(0);
        d.tap(None, true).await;
        d.expect_effects(1);
        assert!(d.sheets().is_empty());
        assert_eq!(granted(&d), [Channel::Touch]);
        d.advance(ms(5000)).await;
        assert_eq!(d.turn().calls, 1, "the model has not called again");
        d.agent_is_silent().await;
        let told = d.next_context();
        assert!(told.iter().all(|told| told.get("ask").is_none()), "no speech is asked for: {told:?}");
        assert!(notes(&d).iter().any(|note| note.contains("The locker is open.")), "{told:?}");
        assert!(d.protocol_faults().is_empty(), "{:?}", d.protocol_faults());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g34_a_nonce_that_is_guessed() {
    both(async |script| {
        let mut d = on_screen(script, "unlock", json!({})).await;
        d.advance(ms(2000)).await;
        d.tap(Nonce::new(42), true).await;
        d.expect_effects(0);
        assert_eq!((bad_nonces(&d), d.sheets().len()), (1, 1));
        assert_ne!(d.sheets()[0].nonce, Nonce::new(42));
        d.tap(None, true).await;
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g35_the_same_tap_again() {
    both(async |script| {
        let mut d = on_screen(script, "unlock", json!({})).await;
        let nonce = d.sheets()[0].nonce;
        d.tap(None, true).await;
        d.tap(nonce, true).await;
        d.advance(ms(2000)).await;
        d.expect_effects(1);
        assert_eq!((bad_nonces(&d), granted(&d).len()), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g36_a_tap_too_soon() {
    both(async |script| {
        let mut d = on_screen(script, "unlock", json!({})).await;
        d.tap_after(ms(200)).await;
        d.expect_effects(0);
        assert_eq!(d.sheets().len(), 1, "it stays");
        d.tap_after(ms(699)).await;
        d.expect_effects(0);
        d.tap_after(ms(700)).await;
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g37_a_sheet_that_is_put_away() {
    both(async |script| {
        for answer in ["dismiss", "decline"] {
            let mut d = on_screen(script.clone(), "unlock", json!({})).await;
            if answer == "dismiss" {
                d.dismiss().await
            } else {
                d.tap(None, false).await
            }
            assert!(d.sheets().is_empty());
            assert_eq!(closed(&d), [GateEnd::Declined], "{answer}");
            d.advance(ms(1000)).await;
            assert!(notes(&d).iter().any(|note| note.contains("said no")), "{:?}", d.next_context());
            assert_eq!(d.model_calls("unlock", json!({})).await.status(), "refused");
            d.expect_effects(0);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g37_a_screen_that_goes_dark() {
    both(async |script| {
        let mut d = on_screen(script, "unlock", json!({})).await;
        let nonce = d.sheets()[0].nonce;
        d.screen_goes().await;
        assert_eq!(closed(&d), [GateEnd::Dropped]);
        d.screen().await;
        d.tap(nonce, true).await;
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g38_a_yes_where_only_a_tap_counts() {
    both(async |script| {
        let mut d = on_screen(script, "unlock", json!({})).await;
        d.advance(ms(2000)).await;
        d.user_says("yes yes").await;
        d.advance(ms(1000)).await;
        assert_eq!(d.model_calls("unlock", json!({})).await.status(), "pending_confirmation");
        d.expect_effects(0);
        assert!(granted(&d).is_empty() && d.sheets().len() == 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g39_the_model_calls_what_a_tap_has_begun() {
    both(async |script| {
        let args = json!({"wait_ms": 3000});
        let mut d = on_screen(script, "unlock", args.clone()).await;
        d.tap(None, true).await;
        d.advance(ms(500)).await;
        let answer = d.model_calls("unlock", args.clone()).await;
        assert_eq!((answer.status(), &answer.body()["repeat"]), ("success", &json!(true)));
        assert!((ms(2000)..=ms(2600)).contains(&answer.latency()), "it waited: {:?}", answer.latency());
        let again = d.model_calls("unlock", args).await;
        assert_eq!((again.status(), &again.body()["repeat"]), ("success", &json!(true)));
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g40_a_yes_and_a_tap_in_either_order() {
    both(async |script| {
        let mut d = on_screen(script.clone(), "both", json!({})).await;
        d.question_is_heard().await;
        d.user_says("yes").await;
        d.advance(ms(2000)).await;
        assert_eq!(d.model_calls("both", json!({})).await.status(), "pending_confirmation");
        d.expect_effects(0);
        d.tap(None, true).await;
        d.expect_effects(1);
        assert_eq!(granted(&d), [Channel::VoiceAndTouch]);

        let mut d = on_screen(script, "both", json!({})).await;
        d.question_is_heard().await;
        d.tap(None, true).await;
        d.advance(ms(2000)).await;
        d.expect_effects(0);
        d.user_says("yes").await;
        d.advance(ms(1000)).await;
        d.expect_effects(1);
        assert_eq!(granted(&d), [Channel::VoiceAndTouch]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g41_only_a_press_after_the_question_counts() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.button_goes(true).await;
        d.restarts().await;
        d.user_says("please").await;
        assert_eq!(d.model_calls("pressed", json!({})).await.status(), "pending_confirmation");
        d.question_is_heard().await;
        d.advance(ms(2000)).await;
        d.expect_effects(0);
        d.button_goes(false).await;
        d.button(ms(290)).await;
        d.expect_effects(0);
        d.button(ms(310)).await;
        d.expect_effects(1);
        assert_eq!(granted(&d), [Channel::Button]);
        d.button(ms(1000)).await;
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g41_a_press_during_the_question_is_none() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        d.model_calls("pressed", json!({})).await;
        d.advance(ms(500)).await;
        d.button_goes(true).await;
        d.question_is_heard().await;
        d.advance(ms(2000)).await;
        d.expect_effects(0);
        d.user_says("yes").await;
        assert_eq!(d.model_calls("pressed", json!({})).await.status(), "pending_confirmation");
        d.expect_effects(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g55_words_of_chance() {
    both(async |script| {
        let (mut d, _) = asked(script).await;
        assert_eq!(d.model_calls("risky", json!({})).await.status(), "pending_confirmation");
        d.question_is_heard().await;
        let question = d.heard().last().unwrap().text.clone();
        let code = question.rsplit(" is ").next().unwrap().trim_end_matches('.').to_owned();
        assert_eq!(code.split(' ').count(), 2, "{question}");
        for words in [d.next_context(), d.wire()] {
            let told = format!("{words:?}");
            assert!(!code.split(' ').any(|word| told.contains(word)), "the model reads {code}: {told}");
        }
        d.user_says("yes").await;
        d.advance(ms(1000)).await;
        let unclear =
            |notice: &Notice| matches!(notice, Notice::GateEvidence { read: Ok(Reading::Unclear), .. });
        assert_eq!((count(&d, unclear), granted(&d).len()), (1, 0));
        d.question_is_heard().await;
        assert_eq!(d.heard().last().unwrap().text, question, "it is asked again, with the same words");
        d.user_says(&format!("yes, {code}")).await;
        d.advance(ms(1000)).await;
        assert_eq!(granted(&d), [Channel::Voice]);
        assert_eq!(d.model_calls("risky", json!({})).await.status(), "success");
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g56_what_was_agreed_to_has_changed() {
    both(async |script| {
        let (mut d, locker) = asked(script).await;
        assert_eq!(d.model_calls("rent", json!({})).await.status(), "pending_confirmation");
        assert_eq!(d.user_approves().await, "Rent locker 7 for 5 coins.");
        *locker.price.lock().unwrap() = 9;
        let answer = d.model_calls("rent", json!({})).await;
        assert_eq!((answer.status(), &answer.body()["replaced"]), ("pending_confirmation", &json!(true)));
        d.expect_effects(0);
        assert_eq!(d.user_approves().await, "Rent locker 7 for 9 coins.", "they are asked anew");
        assert_eq!(d.model_calls("rent", json!({})).await.status(), "success");
        d.expect_effects(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn g59_a_tap_and_a_yes_at_one_moment() {
    both(async |script| {
        let mut d = on_screen(script.clone(), "either", json!({})).await;
        d.question_is_heard().await;
        d.user_begins().await;
        d.advance(ms(600)).await;
        d.tap(None, true).await;
        d.user_ends("yes").await;
        d.advance(ms(1000)).await;
        let answer = d.model_calls("either", json!({})).await;
        assert_eq!((answer.status(), &answer.body()["repeat"]), ("success", &json!(true)));
        d.expect_effects(1);
        assert_eq!(granted(&d), [Channel::Touch]);

        let mut d = on_screen(script, "either", json!({})).await;
        d.user_approves().await;
        d.tap(None, true).await;
        d.advance(ms(1000)).await;
        let answer = d.model_calls("either", json!({})).await;
        assert_eq!((answer.status(), &answer.body()["repeat"]), ("success", &json!(true)));
        d.expect_effects(1);
        assert_eq!(granted(&d), [Channel::Voice], "one grant: the yes was first");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn another_person_answers_nothing_that_the_one_before_was_asked() {
    both(async |script| {
        let mut d = on_screen(script, "unlock", json!({})).await;
        let nonce = d.sheets()[0].nonce;
        d.advance(ms(2000)).await;
        d.person_changes().await;
        assert!(d.sheets().is_empty());
        d.tap(nonce, true).await;
        d.expect_effects(0);
    })
    .await;
}
