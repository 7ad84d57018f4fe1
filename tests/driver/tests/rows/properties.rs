// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whatever a person, a model and a provider do: a call that somebody waits for has one answer, and no other has any.

use driver::{Call, Driver, Replay, Script, When};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use session::Notice;

use crate::{ms, shop};

/// Of every kind but the one that ends the session.
const TOOLS: [&str; 16] = [
    "look_up",
    "check_stock",
    "see_left",
    "see_right",
    "make_report",
    "ask_service",
    "find_part",
    "set_lamp",
    "turn_page",
    "weigh",
    "print_label",
    "bolt_door",
    "send_text",
    "no_such",
    "fill_tank",
    "drain_tank",
];

const WORDS: [&str; 5] = ["yes", "Yes, that's right.", "no", "and what about tomorrow", "wait"];

/// Milliseconds in which as many calls as a play can hold run one after the other, each for as long as it may.
const ALL_OVER: u64 = 60 * 3 * 30_000;

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    /// The person waits for silence and speaks.
    Say(&'static str),
    /// They speak over everything, for so long.
    SayOver(&'static str, u64),
    /// The model speaks.
    Speak,
    Done,
    Call(Vec<Wanted>),
    Unnamed(Wanted),
    Repeat(usize),
    TakeBack(usize),
    Lag,
    Hear,
    /// The provider begins a response by itself.
    Begin,
    Drop,
    Resume(Replay),
    BeginAnew,
    Leave(u64),
    Restart,
}

/// A call: which tool, for how long, whether it begins an effect first, whether it becomes a job, whether it fails, and what sets
/// it apart.
type Wanted = (usize, u64, bool, bool, bool, i64);

fn wanted() -> impl Strategy<Value = Wanted> {
    let waits = prop_oneof![Just(0), 1u64..2000, 2000u64..40_000];
    let (rarely, rather_not) = (prop::bool::weighted(0.1), prop::bool::weighted(0.2));
    (0..TOOLS.len(), waits, any::<bool>(), rather_not, rarely, 0i64..2)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![1u64..1000, 1000u64..20_000, 20_000u64..90_000].prop_map(Step::Wait),
        3 => prop::sample::select(&WORDS[..]).prop_map(Step::Say),
        2 => (prop::sample::select(&WORDS[..]), 50u64..1500).prop_map(|(words, ms)| Step::SayOver(words, ms)),
        3 => Just(Step::Speak),
        2 => Just(Step::Done),
        8 => vec(wanted(), 1..4).prop_map(Step::Call),
        1 => wanted().prop_map(Step::Unnamed),
        1 => (0usize..8).prop_map(Step::Repeat),
        2 => (0usize..8).prop_map(Step::TakeBack),
        1 => Just(Step::Lag),
        2 => Just(Step::Hear),
        1 => Just(Step::Begin),
        2 => Just(Step::Drop),
        2 => prop::sample::select(vec![Replay::Nothing, Replay::LastWords, Replay::OpenCalls])
            .prop_map(Step::Resume),
        1 => Just(Step::BeginAnew),
        1 => (0u64..30_000).prop_map(Step::Leave),
        1 => Just(Step::Restart),
    ]
}

/// A conversation, and what of it the steps need to know.
struct Play {
    d: Driver,
    calls: Vec<Call>,
    is_down: bool,
}

impl Play {
    async fn take(&mut self, step: Step) {
        let d = &mut self.d;
        match step {
            Step::Wait(millis) => d.advance(ms(millis)).await,
            Step::Say(words) => d.user_says(words).await,
            Step::SayOver(words, millis) => d.user_turn(words, ms(millis), When::OverPlayback).await,
            Step::Speak => d.model_says("I will tell you all about it.").await,
            Step::Done => d.model_done().await,
            Step::Call(wanted) => {
                let calls: Vec<(&str, Value)> = wanted.into_iter().map(call).collect();
                self.calls.extend(d.model_asks_many(calls).await);
            }
            Step::Unnamed(wanted) => {
                let (name, args) = call(wanted);
                self.calls.push(d.model_asks_without_id(name, args).await);
            }
            Step::Repeat(back) => {
                let known = |call: &&Call| d.has_id(**call) && d.is_current(**call);
                if let Some(call) = self.calls.iter().rev().filter(known).nth(back).copied() {
                    d.model_repeats(&[call]).await;
                }
            }
            Step::TakeBack(back) => {
                let call = self.calls.iter().rev().nth(back).copied();
                if let Some(call) = call.filter(|_| d.profile().takes_back) {
                    d.server_cancels(&[call]).await;
                }
            }
            Step::Lag => d.provider_lags(),
            Step::Hear => d.provider_is_heard_again().await,
            Step::Begin => d.provider_begins_response().await,
            Step::Drop => {
                self.is_down = true;
                d.provider_drops().await;
            }
            Step::Resume(replay) if self.is_down => {
                self.is_down = false;
                d.provider_resumes(replay).await;
            }
            Step::BeginAnew if self.is_down => {
                self.is_down = false;
                d.provider_begins_anew().await;
            }
            Step::Resume(_) | Step::BeginAnew => {}
            Step::Leave(millis) => d.provider_leaves(ms(millis)).await,
            Step::Restart => d.restarts().await,
        }
        self.hold();
    }

    /// What holds at every moment.
    fn hold(&self) {
        let d = &self.d;
        assert!(d.protocol_faults().is_empty(), "{:#?}", d.protocol_faults());
        for call in &self.calls {
            assert!(d.answers(*call) <= 1, "answered {} times: {call:?}", d.answers(*call));
        }
        let granted = d.notices().iter().filter(|(_, notice)| matches!(notice, Notice::GateGranted { .. }));
        let sent = d.effects().into_iter().filter(|name| *name == "send_text");
        assert!(sent.count() <= granted.count(), "sent without consent");
    }

    /// Everything comes to its end.
    async fn end(&mut self) {
        if self.is_down {
            self.take(Step::Resume(Replay::OpenCalls)).await;
        }
        self.take(Step::Hear).await;
        self.take(Step::Done).await;
        self.take(Step::Wait(ALL_OVER)).await;
        let d = &self.d;
        for call in &self.calls {
            if d.is_owed(*call) {
                assert_eq!((d.answers(*call), d.closed(*call)), (1, None), "{call:?}");
            } else {
                assert!(d.answers(*call) == 1 || d.closed(*call).is_some(), "nobody knows of {call:?}");
            }
        }
        assert_eq!(d.snapshot().calls, []);
    }
}

fn call((tool, wait_ms, commit, job, fail, n): Wanted) -> (&'static str, Value) {
    (TOOLS[tool], json!({"wait_ms": wait_ms, "commit": commit, "job": job, "fail": fail, "n": n}))
}

fn play(script: Script, steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let (tools, _) = shop();
        let mut play = Play { d: Driver::new(tools, script), calls: Vec::new(), is_down: false };
        for step in steps {
            play.take(step).await;
        }
        play.end().await;
    });
}

/// Cases per property: what a person waits for, or as many as `PROPTEST_CASES` says.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn every_call_that_is_waited_for_has_one_answer_gemini(steps in vec(step(), 0..60)) {
        play(Script::gemini(), steps);
    }

    /// The microphone is shut while a call is open, and long ones become jobs.
    #[test]
    fn every_call_that_is_waited_for_has_one_answer_blocking(steps in vec(step(), 0..60)) {
        play(Script::gemini_model("gemini-3.1-flash-live"), steps);
    }

    #[test]
    fn every_call_that_is_waited_for_has_one_answer_openai(steps in vec(step(), 0..60)) {
        play(Script::openai(), steps);
    }
}
