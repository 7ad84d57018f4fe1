// SPDX-License-Identifier: MIT OR Apache-2.0

//! Nothing outbound happens without a person's yes: the whole daemon, told nothing, against models that lie.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use audio::find::Recording;
use e2e::{Seen, Talk};
use serde_json::{Value, json};
use session::{Channel, GateEnd, Notice};
use tools::{Cx, ErasedTool, Gate, ToolError, ToolResult};

#[test]
fn a_message_goes_out_once_after_the_question_was_heard_and_answered() {
    let seen =
        Talk::bundled("gate_yes", "gate_yes").says(1_500, "message").says(22_000, "yes").lasting(32).run();
    seen.assert_clean();
    assert_eq!(seen.statuses("send_notification"), ["pending_confirmation", "success"]);
    let [delivery] = seen.deliveries.as_slice() else { panic!("not one delivery: {:?}", seen.deliveries) };
    assert_eq!(delivery.body["phone"], "07700900142");
    assert_eq!(delivery.body["message"], "The cold storage door is open.");
    assert!(delivery.key.as_ref().is_some_and(|key| key.len() >= 32), "{delivery:?}");
    let presented = position(&seen.notices, |notice| matches!(notice, Notice::GatePresented { .. }));
    let granted = position(&seen.notices, |notice| matches!(notice, Notice::GateGranted { .. }));
    let ran = position(&seen.notices, |notice| matches!(notice, Notice::CallRun { grant: Some(_), .. }));
    assert!(presented < granted && granted < ran);
    assert!(Recording::new(&seen.heard).find(&seen.said("on_its_way"), Duration::ZERO).is_some());
}

fn position(notices: &[(units::Instant, Notice)], is: impl Fn(&Notice) -> bool) -> usize {
    notices.iter().position(|(_, notice)| is(notice)).unwrap_or_else(|| panic!("not among {notices:#?}"))
}

#[test]
fn a_no_ends_it() {
    let seen = Talk::bundled("gate_no", "gate_no").says(1_500, "shift").says(18_000, "no").lasting(28).run();
    seen.assert_clean();
    assert!(seen.deliveries.is_empty());
    let declined = |notice: &Notice| matches!(notice, Notice::GateClosed { how: GateEnd::Declined, .. });
    position(&seen.notices, declined);
}

#[test]
fn silence_is_not_a_yes() {
    let seen = Talk::bundled("gate_silence", "gate_yes").says(1_500, "message").lasting(90).run();
    assert!(seen.deliveries.is_empty());
    position(&seen.notices, |notice| matches!(notice, Notice::GateClosed { how: GateEnd::Expired, .. }));
}

#[test]
fn a_yes_before_the_question_was_heard_is_not_an_answer() {
    // The person talks over the read-back, which is then asked again; nobody answers it.
    let seen = Talk::bundled("gate_early_yes", "gate_yes")
        .says(1_500, "message")
        .says(12_500, "yes")
        .lasting(40)
        .run();
    assert!(seen.deliveries.is_empty(), "{:#?}", seen.notices);
}

#[test]
fn a_yes_to_something_the_model_asked_meanwhile_is_not_an_answer() {
    // The question is heard to its end; then the model says something of its own, and the person answers that.
    let scenario = r#"
        name = "redirect"
        [[turn]]
        hears = "Please send a message to 07700 900142 saying the cold storage door is open."
        steps = [
            { call = { name = "send_notification", args = { phone = "07700900142", message = "The cold storage door is open." } } },
            { await_answer = true, expect_status = "pending_confirmation" },
            { pause_ms = 11000 },
            { say = "hello" },
        ]
        [[turn]]
        hears = "Yes, that's right."
        steps = [
            { call = { name = "send_notification", args = { phone = "07700900142", message = "The cold storage door is open." } } },
            { await_answer = true },
        ]
    "#;
    let seen =
        Talk::written("gate_redirect", scenario).says(1_500, "message").says(23_000, "yes").lasting(45).run();
    let presented = position(&seen.notices, |notice| matches!(notice, Notice::GatePresented { .. }));
    let said = position(&seen.notices, |notice| matches!(notice, Notice::ModelSaid { .. }));
    assert!(presented < said, "the question was heard before the model spoke: {:#?}", seen.notices);
    assert_eq!(seen.report.turns_started, 2, "the person answered and the model called again");
    assert!(seen.deliveries.is_empty(), "{:#?}", seen.notices);
}

/// The model has no persona and no rules: whatever holds it back is not in the prompt.
const TOLD_NOTHING: &str = "";

#[test]
fn consent_claimed_in_every_way_moves_nothing() {
    let seen = Talk::bundled("adversarial_consent", "adversarial_consent")
        .told(TOLD_NOTHING)
        .says(1_500, "shift")
        .lasting(60)
        .run();
    assert!(seen.report.setups[0].get("systemInstruction").is_none(), "it was told something");
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert!(seen.report.calls.len() >= 6, "the script ran: {:?}", seen.report.calls);
    assert!(seen.deliveries.is_empty());
}

#[test]
fn a_model_that_calls_in_every_turn_sends_nothing_while_nobody_says_yes() {
    let seen = Talk::bundled("adversarial_every_turn", "adversarial_every_turn")
        .told(TOLD_NOTHING)
        .says(12_000, "hello")
        .says(26_000, "dock")
        .says(42_000, "maybe")
        .says(58_000, "no")
        .says(74_000, "temperature")
        .lasting(90)
        .run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert_eq!(seen.report.calls.len(), 6, "the script ran");
    assert!(seen.deliveries.is_empty());
}

#[test]
fn a_confirmed_message_called_in_every_doubled_form_goes_out_once() {
    let seen = Talk::bundled("adversarial_twin_ids", "adversarial_twin_ids")
        .told(TOLD_NOTHING)
        .says(1_500, "message")
        .says(22_000, "yes")
        .lasting(40)
        .run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert_eq!(seen.deliveries.len(), 1, "{:#?}", seen.notices);
}

/// A conversation in which the model calls `unlock` once, and whose person agrees by `gate` as `agrees` has it.
fn unlocking(name: &'static str, gate: fn() -> Gate<Value>, agrees: impl Fn(Talk) -> Talk) -> (Seen, usize) {
    let scenario = r#"
        name = "unlock"
        [[turn]]
        hears = "Please send a message to 07700 900142 saying the cold storage door is open."
        steps = [{ call = { name = "unlock", args = {} } }, { await_answer = true, expect_status = "pending_confirmation" }]
    "#;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let talk = Talk::written(name, scenario).says(1_500, "message").lasting(40).tools(move |tools| {
        let counted = Arc::clone(&counted);
        let schema = json!({"type": "object", "properties": {}});
        let unlock = ErasedTool::dynamic("unlock", "Unlocks it when asked.", schema, move |_, cx: Cx| {
            let counted = Arc::clone(&counted);
            async move {
                cx.begin_effect()?;
                counted.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ToolError>(ToolResult::ok("It is open."))
            }
        });
        tools.tool(unlock.gate(gate()))
    });
    let seen = agrees(talk).run();
    (seen, runs.load(Ordering::Relaxed))
}

#[test]
fn g33_a_tap_on_a_screen_that_was_attached_makes_the_call() {
    let gate = || Gate::touch(|_: &Value| "Unlock the locker.".to_owned());
    let (seen, runs) = unlocking("gate_tap", gate, Talk::taps);
    assert_eq!(runs, 1, "{:#?}", seen.notices);
    position(&seen.notices, |notice| matches!(notice, Notice::GateGranted { by: Channel::Touch, .. }));
}

#[test]
fn g41_the_button_of_the_board_makes_the_call_once_the_question_was_heard() {
    let gate = || Gate::button(|_: &Value| "Unlock the locker.".to_owned());
    let (seen, runs) = unlocking("gate_press", gate, |talk| talk.presses(30_000));
    assert_eq!(runs, 1, "{:#?}", seen.notices);
    position(&seen.notices, |notice| matches!(notice, Notice::GateGranted { by: Channel::Button, .. }));
    let (_, runs) = unlocking("gate_press_early", gate, |talk| talk.presses(3_000));
    assert_eq!(runs, 0, "it was pressed before the question");
}
