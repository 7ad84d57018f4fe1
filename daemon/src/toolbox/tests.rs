// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use session::ask_at_console;
use session::lexicon::Locale;
use tools::{Gate, ToolError, ToolResult};

use super::*;

#[test]
fn what_cannot_be_read_aloud_is_said_of_the_sentence_whoever_wrote_it() {
    // The arguments are empty: the character is the tool's own.
    let schema = json!({"type": "object", "properties": {}});
    let tool = ErasedTool::dynamic("stamp", "Stamps the form.", schema, |_: Value, _: Cx| async {
        ToolResult::ok("It is stamped.")
    });
    let tool = tool.gate(Gate::voice(|_: &Value| "Stamp █.".to_owned()));
    let tools = ToolSet::builder().tool(tool).build().expect("it is declared in full");
    let tool = tools.find("stamp").expect("it was added");
    let told = prepare(tool, &Identity::fixed(), &json!({})).expect_err("no voice says it");
    assert_eq!(told, "the sentence to be read aloud holds '█', which a voice cannot say: leave it out");
}

type Looks = Arc<dyn Fn() -> Result<String, ToolError> + Send + Sync>;

/// A tool that looks once more by `looks`, which takes `takes`, before it counts its runs.
fn buying(
    looks: impl Fn() -> Result<String, ToolError> + Send + Sync + 'static,
    takes: Duration,
) -> (ToolSet, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let schema = json!({"type": "object", "properties": {}});
    let looks: Looks = Arc::new(looks);
    let buy = ErasedTool::dynamic("buy", "Buys it. Use it when asked.", schema, move |_: Value, cx: Cx| {
        let counted = Arc::clone(&counted);
        async move {
            cx.begin_effect()?;
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ToolError>(ToolResult::ok("It is bought."))
        }
    });
    let gate = Gate::voice(|_: &Value| "Buy it for 5.".to_owned()).recheck(move |_: Value| {
        let looks = Arc::clone(&looks);
        async move {
            tokio::time::sleep(takes).await;
            looks()
        }
    });
    (ToolSet::builder().tool(buy.gate(gate)).build().unwrap(), runs)
}

fn agreed(tools: &ToolSet) -> Permit {
    let tool = tools.find("buy").unwrap();
    let prepared = prepare(tool, &Identity::fixed(), &json!({})).unwrap();
    ask_at_console(&spec(tool), prepared).unwrap().answer(Locale::En, &[], "yes").unwrap()
}

/// What is told of the one call, in order, until it is over.
async fn all_told(tools: &ToolSet) -> Vec<Told> {
    let mut toolbox = Toolbox::new(tools.clone(), Identity::fixed());
    toolbox.dispatch(agreed(tools));
    let mut all = Vec::new();
    loop {
        all.push(toolbox.told().await);
        if matches!(all.last(), Some(Told::Done(..) | Told::Superseded(..))) {
            return all;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g56_what_still_holds_runs_and_what_does_not_is_told_without_a_run() {
    let price = Arc::new(StdMutex::new("Buy it for 5."));
    let asked = Arc::clone(&price);
    let (tools, runs) = buying(move || Ok(asked.lock().unwrap().to_string()), Duration::ZERO);
    let told = all_told(&tools).await;
    assert!(
        matches!(&told[..], [Told::Begun(_), Told::Done(_, outcome)] if outcome.status == OutcomeStatus::Success)
    );
    *price.lock().unwrap() = " Buy it for 7. ";
    assert_eq!(all_told(&tools).await, [Told::Superseded(CallKey(0), "Buy it for 7.".to_owned())]);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn g56_a_look_that_fails_panics_hangs_or_says_nothing_fails_the_call_and_nothing_is_done() {
    let looks: [(&str, Looks, Duration); 5] = [
        ("sold out", Arc::new(|| Err(ToolError::public("it is sold out"))), Duration::ZERO),
        ("panic", Arc::new(|| panic!("a bug")), Duration::ZERO),
        ("hang", Arc::new(|| Ok("Buy it for 5.".to_owned())), Duration::from_secs(100)),
        ("nothing", Arc::new(|| Ok(" ".to_owned())), Duration::ZERO),
        ("unspeakable", Arc::new(|| Ok("Buy it for █.".to_owned())), Duration::ZERO),
    ];
    for (what, look, takes) in looks {
        let (tools, runs) = buying(move || look(), takes);
        let told = all_told(&tools).await;
        let [Told::Done(_, outcome)] = &told[..] else { panic!("{what}: {told:?}") };
        assert_eq!(outcome.status, OutcomeStatus::Error, "{what}");
        assert_eq!(outcome.body.to_string().contains("sold out"), what == "sold out", "{}", outcome.body);
        assert_eq!(runs.load(Ordering::Relaxed), 0, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn g56_a_call_that_is_stopped_while_it_looks_does_nothing() {
    let looked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&looked);
    let look = move || {
        seen.store(true, Ordering::Relaxed);
        Ok("Buy it for 5.".to_owned())
    };
    let (tools, runs) = buying(look, Duration::from_secs(3));
    let mut toolbox = Toolbox::new(tools.clone(), Identity::fixed());
    toolbox.dispatch(agreed(&tools));
    tokio::time::sleep(Duration::from_secs(1)).await;
    toolbox.cancel(CallKey(0));
    let Told::Done(_, outcome) = toolbox.told().await else { panic!("it has ended") };
    assert_eq!((outcome.status, runs.load(Ordering::Relaxed)), (OutcomeStatus::Cancelled, 0));
    assert!(!looked.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_trial_says_what_it_would_be_by_now() {
    let (tools, runs) = buying(|| Ok("Buy it for 7.".to_owned()), Duration::ZERO);
    let trial = run_alone(&tools, &Identity::fixed(), agreed(&tools)).await;
    assert_eq!(trial.outcome.body["it_would_be"], "Buy it for 7.");
    assert_eq!((trial.outcome.status, runs.load(Ordering::Relaxed)), (OutcomeStatus::Error, 0));
}

#[test]
fn how_a_person_agrees_is_what_the_gate_says() {
    let gates: [(Gate<Value>, Consent); 5] = [
        (Gate::voice(|_| "Do it.".to_owned()), Consent::Voice),
        (Gate::touch(|_| "Do it.".to_owned()), Consent::Touch),
        (Gate::button(|_| "Do it.".to_owned()), Consent::Button),
        (Gate::voice_or_touch(|_| "Do it.".to_owned()), Consent::VoiceOrTouch),
        (Gate::both(|_| "Do it.".to_owned()), Consent::VoiceAndTouch),
    ];
    for (gate, consent) in gates {
        let schema = json!({"type": "object", "properties": {}});
        let tool = ErasedTool::dynamic("act", "Acts when asked.", schema, |_: Value, _: Cx| async {});
        let tools = ToolSet::builder().tool(tool.gate(gate)).build().unwrap();
        assert_eq!(spec(tools.find("act").unwrap()).consent, consent);
    }
}

#[test]
fn g55_what_is_of_high_risk_has_two_words_of_chance_anew_each_time_and_nothing_else_has() {
    let prepared = |gate: Gate<Value>| {
        let schema = json!({"type": "object", "properties": {"pin": {"type": "string"}}});
        let tool = ErasedTool::dynamic("act", "Acts when asked.", schema, |_: Value, _: Cx| async {});
        let tools =
            ToolSet::builder().tool(tool.gate(gate.slots(|_| vec!["1234".to_owned()]))).build().unwrap();
        let tool = tools.find("act").unwrap();
        let prepared = || prepare(tool, &Identity::fixed(), &json!({"pin": "1234"})).unwrap();
        (spec(tool).repeat_last, prepared(), prepared())
    };
    let gate = || Gate::voice(|_: &Value| "Open 1234.".to_owned());
    let (repeat, first, second) = prepared(gate());
    assert_eq!((repeat, first.challenge.len()), (None, 0));
    assert_ne!(first.nonce, second.nonce);
    let (repeat, first, _) = prepared(gate().high_risk().repeat_last(4));
    assert_eq!((repeat, first.challenge.len()), (Some(4), 2));
}
