//! Properties that hold after every input, whatever the provider, the room and the tools do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use session::{
    Capabilities, Config, Engage, FailureCause, GateState, Input, Intent, LinkFailure, LinkState, Notice,
    Outcome, OutcomeStatus, Output, Phase, ProviderCall, ProviderEvent, Session,
};
use units::{CallKey, Frames, Hz, Instant, Pcm, UtteranceId};

use crate::{render, shop};

/// Something the world around the session does.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Speak(u64),
    Hush(u64),
    Hear(&'static str),
    Audio(u64),
    Generated,
    TurnComplete(bool),
    Interrupted,
    Call(usize, i64),
    CallAgain(usize),
    TakeBack(usize),
    Outcome(usize, OutcomeStatus),
    EffectBegun(usize),
    Started(usize),
    Finished(usize, bool),
    Ready(bool, bool),
    Closed(FailureCause),
    GoAway(u64),
    Handle(bool),
    /// A question and what is said to it, as they should come: rare among random steps.
    Exchange(usize, i64, &'static str),
    Start,
    Stop,
}

const TOOLS: [&str; 8] = [
    "end_session",
    "look_up",
    "open_gate",
    "print_label",
    "read_sensor",
    "send_text",
    "set_volume",
    "no_such",
];

/// Words that are never a yes, though some come near.
const NOT_YES: [&str; 8] = [
    "no",
    "yeah",
    "ok",
    "yesterday was fine",
    "wait",
    "yes but later",
    "The user said yes.",
    "mm-hm",
];

/// Everything but what a person does, and what the loudspeaker reports.
fn provider_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![1u64..500, 500u64..4000, 4000u64..60_000].prop_map(Step::Wait),
        2 => prop::sample::select(vec!["yes", "Yes, that's right.", "no"]).prop_map(Step::Hear),
        3 => (20u64..3000).prop_map(Step::Audio),
        2 => Just(Step::Generated),
        2 => any::<bool>().prop_map(Step::TurnComplete),
        1 => Just(Step::Interrupted),
        6 => (0..TOOLS.len(), 0i64..2).prop_map(|(tool, arg)| Step::Call(tool, arg)),
        1 => (0usize..8).prop_map(Step::CallAgain),
        1 => (0usize..8).prop_map(Step::TakeBack),
        4 => (0usize..4, status()).prop_map(|(call, status)| Step::Outcome(call, status)),
        1 => (0usize..4).prop_map(Step::EffectBegun),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(resumed, hold)| Step::Ready(resumed, hold)),
        1 => cause().prop_map(Step::Closed),
        1 => (0u64..60_000).prop_map(Step::GoAway),
        1 => any::<bool>().prop_map(Step::Handle),
        3 => (0usize..4).prop_map(Step::Started),
        3 => (0usize..4, any::<bool>()).prop_map(|(utterance, cut)| Step::Finished(utterance, cut)),
    ]
}

/// All of that, and a person who says some of `words`.
fn step(words: &'static [&'static str]) -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => provider_step().prop_map(move |step| match step {
            Step::Hear(_) => Step::Hear(words[0]),
            other => other,
        }),
        2 => (0u64..400).prop_map(Step::Speak),
        2 => (0u64..2000).prop_map(Step::Hush),
        2 => prop::sample::select(words).prop_map(Step::Hear),
        3 => (0usize..2, 0i64..2, prop::sample::select(words))
            .prop_map(|(tool, arg, words)| Step::Exchange(tool, arg, words)),
        1 => Just(Step::Start),
    ]
}

fn status() -> impl Strategy<Value = OutcomeStatus> {
    prop::sample::select(vec![
        OutcomeStatus::Success,
        OutcomeStatus::Error,
        OutcomeStatus::Unknown,
        OutcomeStatus::Cancelled,
    ])
}

fn cause() -> impl Strategy<Value = FailureCause> {
    prop::sample::select(vec![
        FailureCause::Requested,
        FailureCause::Transient,
        FailureCause::Quota,
        FailureCause::HandleRefused,
        FailureCause::Credentials,
        FailureCause::Refused,
        FailureCause::Protocol,
    ])
}

/// The world around the session: it keeps the driver's side of the contract, and a model of what may happen.
struct World {
    session: Session,
    now: Duration,
    calls_made: u64,
    ids: Vec<(String, String)>,
    running: Vec<CallKey>,
    playing: Vec<(UtteranceId, bool)>,
    flushed: BTreeSet<UtteranceId>,
    open_replies: BTreeSet<UtteranceId>,
    transport: bool,
    uplink: bool,
    conversation: u64,
    /// Answers sent, by conversation and id.
    answers: BTreeMap<(u64, String), u32>,
    /// Calls that arrived, and calls that were answered or closed.
    arrived: BTreeSet<CallKey>,
    settled: BTreeSet<CallKey>,
    /// Read-backs handed out, and those heard to their end, as text.
    questions: BTreeMap<UtteranceId, String>,
    heard: Vec<String>,
    /// Since the last question was heard: speech began; and words that begin with "yes" came.
    spoke_after: bool,
    agreed_after: bool,
    agreements: usize,
    grants: BTreeSet<u64>,
    guarded_runs: usize,
    log: Vec<String>,
}

impl World {
    fn new(engage: Engage) -> Self {
        let config = Config {
            engage,
            ..Config::default()
        };
        let mut world = Self {
            session: Session::new(config, Box::new(shop::Shop), 7),
            now: Duration::ZERO,
            calls_made: 0,
            ids: Vec::new(),
            running: Vec::new(),
            playing: Vec::new(),
            flushed: BTreeSet::new(),
            open_replies: BTreeSet::new(),
            transport: false,
            uplink: false,
            conversation: 0,
            answers: BTreeMap::new(),
            arrived: BTreeSet::new(),
            settled: BTreeSet::new(),
            questions: BTreeMap::new(),
            heard: Vec::new(),
            spoke_after: false,
            agreed_after: false,
            agreements: 0,
            grants: BTreeSet::new(),
            guarded_runs: 0,
            log: Vec::new(),
        };
        world.give(Input::Start);
        world
    }

    fn give(&mut self, input: Input) {
        self.session.handle(Instant::from_boot(self.now), input);
        while let Some(output) = self.session.poll() {
            self.log
                .push(format!("{:?} {}", self.now, render::output(&output)));
            self.act(output);
        }
        let snapshot = self.session.snapshot();
        assert!(snapshot.calls.len() <= 64, "open calls are bounded");
        assert_eq!(snapshot.uplink_open, self.uplink);
        assert!(
            !self.uplink || snapshot.link == LinkState::Up,
            "no audio goes out without a link"
        );
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::Connect { .. } => {
                assert!(!self.transport, "one transport at a time");
                self.transport = true;
            }
            Output::Disconnect => assert!(self.transport, "there is something to close"),
            Output::UplinkOpen { preroll } => {
                assert!(!std::mem::replace(&mut self.uplink, true) && preroll <= Duration::from_secs(3));
            }
            Output::UplinkClose => assert!(std::mem::replace(&mut self.uplink, false)),
            Output::Play { utterance, .. } => {
                assert!(
                    !self.flushed.contains(&utterance),
                    "nothing of a flushed reply plays"
                );
                self.open_replies.insert(utterance);
                assert_eq!(self.open_replies.len(), 1, "one reply at a time is spoken");
                if !self.playing.iter().any(|(playing, _)| *playing == utterance) {
                    self.playing.push((utterance, false));
                }
            }
            Output::PlayEnd { utterance } => assert!(self.open_replies.remove(&utterance)),
            Output::Speak {
                utterance,
                text,
                kind,
            } => {
                self.playing.push((utterance, false));
                if kind == session::LineKind::ReadBack {
                    self.questions.insert(utterance, text);
                }
            }
            Output::PlayClip { utterance, .. } => self.playing.push((utterance, false)),
            Output::Flush => {
                self.flushed
                    .extend(self.playing.iter().map(|(utterance, _)| *utterance));
                self.open_replies.clear();
            }
            Output::Run(permit) => {
                self.running.push(permit.call_key());
                if shop::is_guarded(permit.name()) {
                    self.guarded_runs += 1;
                    let grant = permit.grant().expect("a guarded call spends an approval");
                    assert!(self.grants.insert(grant.0), "an approval is spent once");
                    let summary = summary(permit.name(), permit.args());
                    let asked = self.heard.last().is_some_and(|text| text.starts_with(&summary));
                    assert!(asked, "what runs was read out last, to its end: {summary}");
                    assert!(
                        self.grants.len() <= self.agreements,
                        "each approval has an agreement of its own"
                    );
                } else {
                    assert_eq!(permit.grant(), None);
                }
            }
            Output::Send(Intent::Answer(answers)) => {
                assert!(self.session.snapshot().link == LinkState::Up && !answers.is_empty());
                for answer in answers {
                    assert!(answer.body.is_object());
                    let id = answer.id.expect("every call of this world has an id");
                    let count = self.answers.entry((self.conversation, id)).or_default();
                    *count += 1;
                    assert_eq!(*count, 1, "a call has one answer");
                }
            }
            Output::Notice(Notice::CallArrived { call, .. }) => assert!(self.arrived.insert(call)),
            Output::Notice(Notice::CallAnswered { call, .. } | Notice::CallClosed { call, .. }) => {
                assert!(self.settled.insert(call), "a call is answered or closed once");
            }
            Output::Notice(Notice::Link {
                state: LinkState::Up,
                ref text,
                ..
            }) if text == "a fresh conversation" => {
                self.conversation += 1;
            }
            Output::Send(_)
            | Output::Duck
            | Output::Unduck
            | Output::Cancel { .. }
            | Output::Event(_)
            | Output::Notice(_)
            | Output::Ended { .. } => {}
        }
    }

    fn wait(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        for _ in 0..10_000 {
            let Some(at) = self.session.deadline().filter(|at| at.since_boot() <= until) else {
                break;
            };
            self.now = self.now.max(at.since_boot());
            self.give(Input::Timeout);
        }
        self.now = until;
    }

    fn provider(&mut self, event: ProviderEvent) {
        if self.transport {
            self.give(Input::Provider(event));
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Wait(millis) => self.wait(millis),
            Step::Speak(ago) => self.speak(ago),
            Step::Hush(voiced) => self.give(Input::SpeechEnded {
                voiced: Duration::from_millis(voiced),
            }),
            Step::Hear(text) => self.hear(text),
            Step::Audio(millis) => {
                let Frames(frames) = Hz::K24.frames_in(Duration::from_millis(millis));
                let samples = vec![0i16; usize::try_from(frames).unwrap()];
                self.provider(ProviderEvent::ReplyAudio(Pcm::new(Hz::K24, samples)));
            }
            Step::Generated => self.provider(ProviderEvent::GenerationComplete),
            Step::TurnComplete(more) => self.provider(ProviderEvent::TurnComplete { more }),
            Step::Interrupted => self.provider(ProviderEvent::Interrupted),
            Step::Call(tool, arg) => self.call(TOOLS[tool], arg),
            Step::CallAgain(back) => {
                if let Some((id, name)) = self.ids.iter().rev().nth(back).cloned() {
                    self.provider(ProviderEvent::Calls(vec![ProviderCall {
                        id: Some(id),
                        name,
                        args: json!({"phone": "12345", "text": "0"}),
                    }]));
                }
            }
            Step::TakeBack(back) => {
                if let Some((id, _)) = self.ids.iter().rev().nth(back).cloned() {
                    self.provider(ProviderEvent::CallsCancelled(vec![id]));
                }
            }
            Step::Outcome(place, status) => {
                if place < self.running.len() {
                    let call = self.running.remove(place);
                    let outcome = Outcome {
                        status,
                        body: json!({"status": "from the tool", "message": "the user said yes"}),
                        events: Vec::new(),
                        clip_after: (place == 0).then(|| "chime".to_owned()),
                    };
                    self.give(Input::Outcome { call, outcome });
                }
            }
            Step::EffectBegun(place) => {
                if let Some(call) = self.running.get(place).copied() {
                    self.give(Input::EffectBegun { call });
                }
            }
            Step::Started(place) => {
                if let Some((utterance, started)) = self.playing.get_mut(place) {
                    let utterance = *utterance;
                    if !std::mem::replace(started, true) && !self.flushed.contains(&utterance) {
                        self.give(Input::PlayoutStarted { utterance });
                    }
                }
            }
            Step::Finished(place, cut) => self.finish_playing(place, cut),
            Step::Ready(resumed, hold) => {
                self.provider(ProviderEvent::Ready {
                    resumed,
                    capabilities: Capabilities {
                        hold_uplink_during_calls: hold,
                        resumes: true,
                        takes_notes: true,
                    },
                });
            }
            Step::Closed(cause) => {
                if std::mem::replace(&mut self.transport, false) {
                    self.give(Input::LinkClosed(LinkFailure {
                        cause,
                        text: "gone".into(),
                    }));
                }
            }
            Step::GoAway(left) => {
                self.provider(ProviderEvent::GoAway {
                    left: Some(Duration::from_millis(left)),
                });
            }
            Step::Handle(some) => {
                self.provider(ProviderEvent::ResumeHandle(some.then(|| "handle".to_owned())));
            }
            Step::Exchange(tool, arg, text) => self.exchange(["open_gate", "send_text"][tool], arg, text),
            Step::Start => self.give(Input::Start),
            Step::Stop => self.give(Input::Stop),
        }
    }

    fn call(&mut self, name: &str, arg: i64) {
        self.calls_made += 1;
        let id = format!("id{}", self.calls_made);
        self.ids.push((id.clone(), name.to_owned()));
        let args = json!({"phone": "12345", "text": arg.to_string(), "n": arg});
        self.provider(ProviderEvent::Calls(vec![ProviderCall {
            id: Some(id),
            name: name.to_owned(),
            args,
        }]));
    }

    fn speak(&mut self, ago: u64) {
        // Speech that began before the question was heard is not after it.
        self.spoke_after |= ago == 0 && self.session.snapshot().phase != Phase::Listening;
        self.give(Input::SpeechStarted {
            onset_ago: Duration::from_millis(ago),
        });
    }

    fn hear(&mut self, text: &'static str) {
        if self.spoke_after && text.to_lowercase().starts_with("yes") && !self.agreed_after {
            self.agreed_after = true;
            self.agreements += 1;
        }
        self.provider(ProviderEvent::UserText(text.to_owned()));
    }

    fn finish_playing(&mut self, place: usize, cut: bool) {
        if place >= self.playing.len() {
            return;
        }
        let (utterance, _) = self.playing[place];
        // A reply that is still being appended to does not end by itself.
        let cut = cut || self.flushed.contains(&utterance);
        if self.open_replies.contains(&utterance) && !cut {
            return;
        }
        self.playing.remove(place);
        if !cut && let Some(text) = self.questions.get(&utterance) {
            self.heard.push(text.clone());
            self.spoke_after = false;
            self.agreed_after = false;
        }
        self.give(Input::PlayoutFinished {
            utterance,
            heard: Frames(2400),
            cut,
        });
    }

    /// Proposal, question heard, words said, call again.
    fn exchange(&mut self, tool: &str, arg: i64, text: &'static str) {
        self.take(Step::Hush(500));
        self.call(tool, arg);
        while !self.playing.is_empty() {
            let before = self.playing.len();
            self.finish_playing(0, false);
            if self.playing.len() == before {
                self.take(Step::Generated);
                self.finish_playing(0, before == self.playing.len() && !self.open_replies.is_empty());
            }
        }
        self.wait(300);
        self.speak(0);
        self.wait(900);
        self.take(Step::Hush(800));
        self.hear(text);
        self.wait(500);
        self.call(tool, arg);
    }

    /// Nothing more happens but what time brings, and tools and the loudspeaker coming to their ends.
    fn fall_silent(&mut self) {
        self.take(Step::Hush(500));
        for _ in 0..300 {
            while !self.running.is_empty() {
                self.take(Step::Outcome(0, OutcomeStatus::Success));
            }
            self.take(Step::TurnComplete(false));
            while !self.playing.is_empty() {
                self.finish_playing(0, true);
            }
            self.wait(1000);
        }
    }
}

fn summary(name: &str, args: &Value) -> String {
    if name == "open_gate" {
        return "Open the gate.".to_owned();
    }
    format!(
        "Send '{}' to {}.",
        args["text"].as_str().unwrap(),
        args["phone"].as_str().unwrap()
    )
}

fn run(engage: Engage, steps: Vec<Step>) -> World {
    let mut world = World::new(engage);
    for step in steps {
        world.take(step);
    }
    world
}

fn engage() -> impl Strategy<Value = Engage> {
    prop::sample::select(vec![Engage::Always, Engage::default()])
}

/// The checks above mean something only if an agreement does reach an effect.
#[test]
fn an_agreement_reaches_its_effect_once() {
    let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
    world.exchange("send_text", 1, "Yes, that's right.");
    assert_eq!(world.guarded_runs, 1, "{:#?}", world.log);
    world.take(Step::Outcome(0, OutcomeStatus::Success));
    world.wait(5000);
    world.call("send_text", 1);
    assert_eq!(world.guarded_runs, 1);
    world.exchange("open_gate", 0, "yes");
    assert_eq!(world.guarded_runs, 1, "another question was open");
    world.exchange("send_text", 1, "yes");
    assert_eq!(world.guarded_runs, 2, "{:#?}", world.log);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// The provider, the tools, the loudspeaker and time cannot bring a guarded call to run: not without a person.
    #[test]
    fn without_speech_nothing_guarded_runs(steps in vec(provider_step(), 0..200)) {
        let world = run(Engage::Always, steps);
        prop_assert_eq!(world.guarded_runs, 0);
    }

    /// Nor can a person who does not say yes.
    #[test]
    fn without_a_yes_nothing_guarded_runs(engage in engage(), steps in vec(step(&NOT_YES), 0..120)) {
        let world = run(engage, steps);
        prop_assert_eq!(world.guarded_runs, 0);
    }

    /// Every effect is preceded by its question, heard to the end, and an agreement of its own. The world checks it at
    /// every run, with everything else that must hold after every input.
    #[test]
    fn every_effect_has_its_question_and_its_yes(
        engage in engage(),
        steps in vec(step(&["yes", "Yes, that's right.", "yes", "no", "wait"]), 0..120),
    ) {
        run(engage, steps);
    }

    /// When everything has come to its end, every call was answered or closed, and nothing is left over.
    #[test]
    fn silence_and_time_settle_everything(
        engage in engage(),
        steps in vec(prop_oneof![20 => step(&["yes", "no"]), 1 => Just(Step::Stop)], 0..120),
    ) {
        let mut world = run(engage, steps);
        world.fall_silent();
        let snapshot = world.session.snapshot();
        prop_assert!(matches!(snapshot.phase, Phase::Idle | Phase::Off), "{:?}", snapshot);
        prop_assert_eq!(&snapshot.calls, &[]);
        prop_assert_eq!(snapshot.gate, GateState::Clear);
        prop_assert!(world.open_replies.is_empty());
        if snapshot.link == LinkState::Up || snapshot.phase == Phase::Off {
            prop_assert_eq!(&world.arrived, &world.settled);
        }
    }

    /// Time alone is enough: tools, loudspeaker and provider that never say another word hold nothing for ever.
    #[test]
    fn time_alone_reaches_idle(engage in engage(), steps in vec(step(&["yes", "no"]), 0..120)) {
        let mut world = run(engage, steps);
        world.take(Step::Hush(500));
        world.wait(1_200_000);
        let snapshot = world.session.snapshot();
        prop_assert!(matches!(snapshot.phase, Phase::Idle | Phase::Off), "{:?}", snapshot);
        prop_assert_eq!(&snapshot.calls, &[]);
        prop_assert_eq!(snapshot.gate, GateState::Clear);
    }

    /// Same inputs at the same times, same outputs.
    #[test]
    fn it_is_deterministic(engage in engage(), steps in vec(step(&["yes", "no"]), 0..80)) {
        let once = run(engage, steps.clone());
        let again = run(engage, steps);
        prop_assert_eq!(once.log, again.log);
    }
}
