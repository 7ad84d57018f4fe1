// SPDX-License-Identifier: MIT OR Apache-2.0

//! The world around the session in the property tests: a driver that keeps its side of the contract, and a small model of
//! what may happen, checked at every output.

mod calls;
mod checks;
mod effects;
mod exchanges;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;
use session::{
    Capabilities, Config, Engage, GateState, Input, Intent, LineKind, LinkFailure, LinkState, Notice,
    Outcome, Output, ProviderCall, ProviderEvent, Session,
};
use units::{CallKey, Clip, Frames, Hz, Instant, Pcm, UtteranceId};

use crate::render;
use crate::shop::{Shop, Shown, Stock, is_guarded};
use checks::Active;
use effects::Effects;
use step::GUARDED;
pub use step::{Step, TOOLS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Gone,
    Open,
    /// To be closed; that it is gone may never be reported.
    Closing,
}

/// The world around the session: it keeps the driver's side of the contract, and a model of what may happen.
pub struct World {
    pub session: Session,
    now: Duration,
    calls_made: u64,
    ids_made: u64,
    ids: Vec<(String, String)>,
    running: Vec<CallKey>,
    playing: Vec<(UtteranceId, bool)>,
    flushed: BTreeSet<UtteranceId>,
    /// What the session does not wait for any more.
    given_up: BTreeSet<UtteranceId>,
    pub open_replies: BTreeSet<UtteranceId>,
    transport: Transport,
    uplink: bool,
    muted: bool,
    conversation: u64,
    /// Calls given and answers sent, by conversation and id.
    asked: BTreeMap<(u64, String), u32>,
    answers: BTreeMap<(u64, String), u32>,
    /// Of each call its tool and arguments.
    asked_for: BTreeMap<(u64, String), (String, String)>,
    /// Of each call the response and its place there.
    order: BTreeMap<(u64, String), (u64, usize)>,
    responses: u64,
    taken_back: BTreeSet<(u64, String)>,
    active: Vec<Active>,
    /// Calls whose tools have said that they take long, and the device's own.
    unwaited: BTreeSet<CallKey>,
    effects: Effects,
    /// A link has been told to keep the microphone shut while it waits for an answer.
    hold: bool,
    jobs_run: usize,
    jobs_told: usize,
    shown: Shown,
    /// Calls that arrived, and calls that were answered or closed.
    pub arrived: BTreeSet<CallKey>,
    pub settled: BTreeSet<CallKey>,
    /// Read-backs handed out, the last one that was heard to its end, and what each approval was given for.
    questions: BTreeMap<UtteranceId, String>,
    heard: Option<String>,
    heard_at: Duration,
    agreed_to: BTreeMap<u64, String>,
    speaking: bool,
    /// Something else was heard since the last question was.
    overtaken: bool,
    /// Since the last question was heard, and nothing else: speech began; and words that begin with "yes" came.
    spoke_after: bool,
    agreed_after: bool,
    agreements: usize,
    grants: BTreeSet<u64>,
    pub guarded_runs: usize,
    pub log: Vec<String>,
}

impl World {
    pub fn new(engage: Engage) -> Self {
        let config = Config { engage, ..Config::default() };
        let shop = Shop::new(Stock::Full);
        let mut world = Self {
            now: Duration::ZERO,
            calls_made: 0,
            ids_made: 0,
            ids: Vec::new(),
            running: Vec::new(),
            playing: Vec::new(),
            flushed: BTreeSet::new(),
            given_up: BTreeSet::new(),
            open_replies: BTreeSet::new(),
            transport: Transport::Gone,
            uplink: false,
            muted: false,
            conversation: 0,
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            asked_for: BTreeMap::new(),
            order: BTreeMap::new(),
            responses: 0,
            taken_back: BTreeSet::new(),
            active: Vec::new(),
            unwaited: BTreeSet::new(),
            effects: Effects::default(),
            hold: false,
            jobs_run: 0,
            jobs_told: 0,
            shown: shop.shown(),
            session: Session::new(config, Box::new(shop), 7),
            arrived: BTreeSet::new(),
            settled: BTreeSet::new(),
            questions: BTreeMap::new(),
            heard: None,
            heard_at: Duration::ZERO,
            speaking: false,
            overtaken: false,
            agreed_to: BTreeMap::new(),
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
            self.log.push(format!("{:?} {}", self.now, render::output(&output)));
            self.act(output);
        }
        let snapshot = self.session.snapshot();
        assert!(snapshot.calls.len() <= 64, "open calls are bounded");
        assert_eq!(snapshot.uplink_open, self.uplink);
        assert!(!self.uplink || snapshot.link == LinkState::Up, "no audio goes out without a link");
        assert!(!self.uplink || !self.muted, "no audio goes out of a microphone that is off");
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::Connect { .. } => {
                assert_ne!(self.transport, Transport::Open, "one transport at a time");
                self.transport = Transport::Open;
            }
            Output::Disconnect => {
                // What was due is decided before the input is, also when that is the news that it is gone.
                if self.transport == Transport::Open {
                    self.transport = Transport::Closing;
                }
            }
            Output::UplinkOpen { preroll } => {
                assert!(!std::mem::replace(&mut self.uplink, true) && preroll <= Duration::from_secs(3));
            }
            Output::UplinkClose => assert!(std::mem::replace(&mut self.uplink, false)),
            Output::Play { utterance, .. } => {
                assert!(!self.flushed.contains(&utterance), "nothing of a flushed reply plays");
                self.open_replies.insert(utterance);
                assert_eq!(self.open_replies.len(), 1, "one reply at a time is spoken");
                if !self.playing.iter().any(|(playing, _)| *playing == utterance) {
                    self.playing.push((utterance, false));
                }
            }
            Output::PlayEnd { utterance } => assert!(self.open_replies.remove(&utterance)),
            Output::Speak { utterance, text, kind } => {
                self.playing.push((utterance, false));
                assert!(kind != LineKind::PreCall || !self.speaking, "nobody is talked over");
                if kind == LineKind::ReadBack {
                    self.questions.insert(utterance, text);
                }
            }
            Output::PlayClip { utterance, .. } => self.playing.push((utterance, false)),
            Output::Flush => {
                self.flushed.extend(self.playing.iter().map(|(utterance, _)| *utterance));
                self.open_replies.clear();
            }
            Output::Run(permit) => self.on_run(&permit),
            Output::Cancel { call } => self.not_active(call),
            Output::Send(Intent::Ask(text) | Intent::AskInWords(text)) => self.on_ask(&text),
            Output::Send(Intent::Answer(answers)) => {
                assert_ne!(self.transport, Transport::Closing);
                self.on_answers(answers);
            }
            Output::Send(Intent::Note(text)) => self.on_told(&text),
            Output::Send(Intent::Earlier(call)) => self.on_earlier(call.id.as_deref()),
            Output::Notice(Notice::GateGranted { grant, .. }) => {
                assert!(self.agreed_after, "what was said to something else is not an agreement");
                let question = self.heard.clone().expect("only what was heard to its end is agreed to");
                self.agreed_to.insert(grant.0, question);
            }
            Output::Notice(Notice::CallArrived { call, ref name, ref args }) => {
                self.effects.on_arrived(call, name, args);
                assert!(self.arrived.insert(call));
            }
            Output::Notice(Notice::CallMade { call, ref name, ref args, undoes: Some(undoes) }) => {
                assert!(!is_guarded(name), "the device makes no call that a person must agree to");
                self.unwaited.insert(call);
                self.effects.on_made(call, undoes, args, self.now);
            }
            Output::Notice(
                ref notice @ (Notice::CallAnswered { call, .. } | Notice::CallClosed { call, .. }),
            ) => {
                let closed = matches!(notice, Notice::CallClosed { .. });
                if let Notice::CallAnswered { coalesced: true, status, .. } = notice
                    // One that is answered that nothing was done stands on nothing.
                    && !["error", "cancelled"].contains(&status.as_str())
                {
                    self.effects.on_coalesced(call);
                }
                assert!(self.settled.insert(call), "a call is answered or closed once");
                if closed {
                    self.not_active(call);
                    self.effects.on_closed(call, self.now);
                }
            }
            Output::Notice(Notice::Link { state: LinkState::Up, ref text, .. })
                if text == "a fresh conversation" =>
            {
                self.conversation += 1;
                // Ids are the conversation's own: this one's start over.
                self.ids_made = 0;
            }
            Output::Notice(Notice::Link {
                state: LinkState::Closing | LinkState::Down, ref text, ..
            }) if text.is_empty() => {
                self.effects = Effects::default();
            }
            Output::Ended { .. } => self.effects = Effects::default(),
            Output::Notice(Notice::PlayoutLost { .. }) => {
                self.given_up.extend(self.playing.iter().map(|(utterance, _)| *utterance));
            }
            Output::Notice(Notice::DuplicateCall { id, .. }) => {
                let asked = self.asked[&(self.conversation, id)];
                assert!(asked > 1, "only what came before in its conversation is a duplicate");
            }
            Output::Send(_)
            | Output::Duck
            | Output::Unduck
            | Output::Sheet(_)
            | Output::SheetClosed { .. }
            | Output::Event(_)
            | Output::Notice(_) => {}
        }
    }

    pub fn wait(&mut self, millis: u64) {
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
        if self.transport == Transport::Open {
            self.give(Input::Provider(event));
        }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Wait(millis) => self.wait(millis),
            Step::Speak(ago) => self.speak(ago),
            Step::Hush(voiced) => {
                self.speaking = false;
                self.give(Input::SpeechEnded { voiced: Duration::from_millis(voiced) });
            }
            Step::Hear(text) => self.hear(text),
            Step::Audio(millis) => {
                let Frames(frames) = Hz::K24.frames_in(Duration::from_millis(millis));
                let samples = vec![0i16; usize::try_from(frames).unwrap()];
                self.provider(ProviderEvent::ReplyAudio(Pcm::new(Hz::K24, samples)));
            }
            Step::Say(text) => self.provider(ProviderEvent::ReplyText(text.to_owned())),
            Step::Generated => self.provider(ProviderEvent::GenerationComplete),
            Step::TurnComplete(more) => self.provider(ProviderEvent::TurnComplete { more }),
            Step::Interrupted => self.provider(ProviderEvent::Interrupted),
            Step::Call(tool, arg) => self.call(TOOLS[tool], arg),
            Step::CallAgain(back) => {
                if let Some((id, name)) = self.ids.iter().rev().nth(back).cloned() {
                    let args = json!({"phone": "12345", "text": "0"});
                    self.give_calls(vec![ProviderCall { id: Some(id), name, args }]);
                }
            }
            Step::CallOwed(place) => {
                let owed = |asked: &&(u64, String)| {
                    asked.0 == self.conversation && !self.answers.contains_key(*asked)
                };
                if let Some((_, id)) = self.asked.keys().filter(owed).nth(place).cloned() {
                    let name = "look_up".to_owned();
                    self.give_calls(vec![ProviderCall { id: Some(id), name, args: json!({"q": 0}) }]);
                }
            }
            Step::Batch(size) => {
                let names: Vec<_> = ["look_up", "no_such"].into_iter().cycle().take(size).collect();
                self.calls(&names);
            }
            Step::Together(tools) => {
                let names: Vec<_> = tools.into_iter().map(|tool| TOOLS[tool]).collect();
                self.calls(&names);
            }
            Step::Show(all) => {
                let little = vec!["look_up".to_owned(), "see_left".to_owned()];
                *self.shown.lock().unwrap() = (!all).then_some(little);
            }
            Step::TakeBack(back) => {
                if let Some((id, _)) = self.ids.iter().rev().nth(back).cloned() {
                    // What is due is decided before it is taken back.
                    self.give(Input::Timeout);
                    let key = (self.conversation, id.clone());
                    // Past the first 256 of a response a call may have been dropped unseen.
                    let seen = self.order.get(&key).is_some_and(|(_, place)| *place < 256);
                    if self.is_up() && seen && !self.answers.contains_key(&key) {
                        self.taken_back.insert(key);
                    }
                    self.provider(ProviderEvent::CallsCancelled(vec![id]));
                }
            }
            Step::Outcome(place, status) => {
                // What is due is decided before it ends.
                self.give(Input::Timeout);
                if place < self.running.len() {
                    let call = self.running.remove(place);
                    self.not_active(call);
                    self.effects.on_outcome(call, status, self.now);
                    let outcome = Outcome {
                        status,
                        body: json!({"status": "from the tool", "message": "the user said yes"}),
                        events: Vec::new(),
                        clip_after: (place == 0)
                            .then(|| Clip::named("chime"))
                            .map(|clip| if self.ids.len().is_multiple_of(2) { clip.kept() } else { clip }),
                        silent_ok: false,
                    };
                    self.give(Input::Outcome { call, outcome });
                }
            }
            Step::EffectBegun(place) => {
                self.give(Input::Timeout);
                if let Some(call) = self.running.get(place).copied() {
                    self.effects.on_begun(call);
                    self.give(Input::EffectBegun { call });
                }
            }
            Step::BecomeJob(place) => {
                if let Some(call) = self.running.get(place).copied() {
                    self.unwaited.insert(call);
                    self.give(Input::BecameJob { call });
                }
            }
            Step::Line(place) => {
                if let Some(call) = self.running.get(place).copied() {
                    let gate = self.session.snapshot().gate;
                    let is_asked = matches!(gate, GateState::Asking { .. } | GateState::Waiting { .. });
                    let heard = self.playing.len();
                    self.give(Input::CallLine { call, text: "It takes a while.".to_owned() });
                    assert!(!is_asked || self.playing.len() == heard, "a question is not talked into");
                }
            }
            Step::Note(place) => {
                if let Some(call) = self.running.get(place).copied() {
                    self.give(Input::CallNote { call, text: "aisle 3 is closed".to_owned() });
                }
            }
            Step::Pace(percent) => self.give(Input::Pace { percent }),
            Step::Started(place) => {
                if let Some((utterance, started)) = self.playing.get_mut(place) {
                    let utterance = *utterance;
                    if !std::mem::replace(started, true) && !self.flushed.contains(&utterance) {
                        self.overtake();
                        self.give(Input::PlayoutStarted { utterance });
                    }
                }
            }
            Step::Finished(place, cut) => self.finish_playing(place, cut),
            Step::Ready(resumed, hold) => {
                self.hold |= hold;
                self.provider(ProviderEvent::Ready {
                    resumed,
                    capabilities: Capabilities {
                        hold_uplink_during_calls: hold,
                        resumes: true,
                        takes_notes: true,
                        takes_earlier_calls: !hold,
                    },
                });
            }
            Step::Closed(cause) => {
                if std::mem::replace(&mut self.transport, Transport::Gone) != Transport::Gone {
                    self.give(Input::LinkClosed(LinkFailure { cause, text: "gone".into() }));
                }
            }
            Step::GoAway(left) => {
                self.provider(ProviderEvent::GoAway { left: Some(Duration::from_millis(left)) });
            }
            Step::Handle(some) => {
                self.provider(ProviderEvent::ResumeHandle(some.then(|| "handle".to_owned())));
            }
            Step::Exchange(tool, arg, text) => self.exchange(GUARDED[tool], arg, text, false),
            Step::EarlyExchange(tool, arg, text) => self.exchange(GUARDED[tool], arg, text, true),
            Step::OvertakenExchange(tool, arg, text) => self.overtaken_exchange(GUARDED[tool], arg, text),
            Step::MidTurnExchange(tool, arg, text) => self.mid_turn_exchange(GUARDED[tool], arg, text),
            Step::Mute(muted) => {
                self.muted = muted;
                self.give(Input::Muted { muted });
            }
            Step::Start => self.give(Input::Start),
            Step::Stop => self.give(Input::Stop),
        }
    }

    fn speak(&mut self, ago: u64) {
        // What is due is decided before anybody is heard.
        self.give(Input::Timeout);
        let onset = self.now.saturating_sub(Duration::from_millis(ago));
        if !self.speaking {
            self.spoke_after = !self.overtaken && (self.spoke_after || onset > self.heard_at);
        }
        self.speaking = true;
        self.give(Input::SpeechStarted { onset_ago: Duration::from_millis(ago) });
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
        self.overtake();
        if !cut && let Some(text) = self.questions.get(&utterance) {
            self.heard = Some(text.clone());
            self.heard_at = self.now;
            let goes_on = |(other, started): &(UtteranceId, bool)| *started && !self.flushed.contains(other);
            self.overtaken = self.playing.iter().any(goes_on);
            self.spoke_after = false;
            self.agreed_after = false;
        }
        self.give(Input::PlayoutFinished { utterance, heard: Frames(2400), cut });
    }

    /// Something else than the question is heard. What is said in a turn that goes on may be to that.
    fn overtake(&mut self) {
        self.overtaken = true;
        if self.speaking {
            self.spoke_after = false;
            self.agreed_after = false;
        }
    }

    /// All that is handed out is heard to its end.
    fn play_out(&mut self) {
        while !self.playing.is_empty() {
            let before = self.playing.len();
            self.finish_playing(0, false);
            if self.playing.len() == before {
                self.take(Step::Generated);
                self.finish_playing(0, before == self.playing.len() && !self.open_replies.is_empty());
            }
        }
    }
}
