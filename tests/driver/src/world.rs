// SPDX-License-Identifier: MIT OR Apache-2.0

//! The driver's side of the session's contract: everything it asks for is done, and reported, at virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use session::{
    Config, Effect, Engage, Input, Intent, LineKind, Notice, OutcomeStatus, Output, Session, Spoken,
};
use tokio::task::yield_now;
use tools::ToolSet;
use tracing::subscriber::DefaultGuard;
use units::{CallKey, Instant, UtteranceId};
use voiced::clock::Clock;
use voiced::identity::Identity;
use voiced::timeline::Timeline;
use voiced::toolbox::{SharedView, Told, Toolbox};
use voiced::watch::{Moment, Observer};

use crate::log::{Log, Pages};
use crate::model::Asked;
use crate::provider::{Link, OnItsWay};
use crate::realtime::{Adapter, Peer};
use crate::room::Room;
use crate::screen::Panel;
use crate::script::{self, Script};
use crate::warnings::Warnings;

/// Rounds in which tools that are ready to go on are let go on, when no time passes.
const ROUNDS: usize = 16;

/// A conversation under test.
pub struct Driver {
    pub(crate) clock: Clock,
    pub(crate) session: Session,
    pub(crate) config: Config,
    pub(crate) toolbox: Toolbox,
    pub(crate) tools: ToolSet,
    pub(crate) script: Script,
    pub(crate) link: Link,
    /// The provider cannot be reached.
    pub(crate) away: bool,
    /// Both ends of the adapter, where the provider speaks when it is asked to.
    pub(crate) realtime: Option<(Adapter, Peer)>,
    /// What the provider has said and the daemon has not heard.
    pub(crate) on_its_way: VecDeque<OnItsWay>,
    /// It stays on its way.
    pub(crate) lagging: bool,
    /// Conversations that the provider has begun, and the one that goes on.
    pub(crate) begun: u32,
    pub(crate) conversation: u32,
    pub(crate) room: Room,
    pub(crate) panel: Panel,
    pub(crate) log: Log,
    /// Every call of the model, by its handle.
    pub(crate) asked: Vec<Asked>,
    /// Those that were given to the session and not yet taken by it.
    pub(crate) arriving: VecDeque<usize>,
    /// Those that are being taken back.
    pub(crate) taken_back: Vec<usize>,
    pub(crate) keys: BTreeMap<CallKey, usize>,
    /// What the model is saying.
    pub(crate) saying: String,
    /// The model's turn is not closed, where it has no responses.
    pub(crate) turn_open: bool,
    pub(crate) speech_since: Option<Instant>,
    pub(crate) last_words: String,
    /// How much of what was heard, and of what was shown, has been asserted.
    pub(crate) asserted: usize,
    pub(crate) asserted_events: usize,
    /// Tools that were given a call and have not ended it.
    pub(crate) dispatched: BTreeMap<CallKey, (String, Effect)>,
    /// How often the daemon was started.
    pub(crate) starts: u32,
    inputs: VecDeque<Input>,
    timeline: Timeline<Pages>,
    pages: Pages,
    pub(crate) warnings: Warnings,
    _collecting: DefaultGuard,
}

impl Driver {
    /// A conversation with these tools, at the point where the provider is ready. Every figure is as shipped, but that the
    /// link stays up and its retries are not spread.
    #[must_use]
    pub fn new(tools: ToolSet, script: Script) -> Self {
        Self::with_config(tools, script, Config::default())
    }

    /// The same with other figures.
    #[must_use]
    pub fn with_config(tools: ToolSet, mut script: Script, mut config: Config) -> Self {
        config.engage = Engage::Always;
        config.retry.jitter_percent = 0;
        script.declare(&tools);
        let toolbox = Toolbox::new(tools.clone(), Identity::fixed());
        let realtime = script.is_realtime().then(Default::default);
        let warnings = Warnings::default();
        let collecting = warnings.collect();
        let pages = Pages::default();
        let mut driver = Self {
            clock: Clock::runtime(),
            session: Session::new(config.clone(), Box::new(toolbox.catalog()), 1),
            config,
            toolbox,
            tools,
            script,
            link: Link::Gone,
            away: false,
            realtime,
            on_its_way: VecDeque::new(),
            lagging: false,
            begun: 0,
            conversation: 0,
            room: Room::default(),
            panel: Panel::default(),
            log: Log::default(),
            asked: Vec::new(),
            arriving: VecDeque::new(),
            taken_back: Vec::new(),
            keys: BTreeMap::new(),
            saying: String::new(),
            turn_open: false,
            speech_since: None,
            last_words: String::new(),
            asserted: 0,
            asserted_events: 0,
            dispatched: BTreeMap::new(),
            starts: 1,
            inputs: VecDeque::new(),
            timeline: Timeline::new(pages.clone()),
            pages,
            warnings,
            _collecting: collecting,
        };
        driver.begin();
        driver.answer_the_dial();
        driver
    }

    /// Which tools the model sees, from the person's next turn on.
    #[must_use]
    pub fn view(&self) -> SharedView {
        self.toolbox.view()
    }

    /// Lets this much time pass.
    pub async fn advance(&mut self, span: Duration) {
        self.pass_while(span, |_| true).await;
    }

    /// Ends the conversation as the daemon does when it is stopped.
    pub async fn stops(&mut self) {
        self.feed(Input::Stop);
        self.settle().await;
    }

    /// The daemon is killed and started again, as by a power cut: the tools that ran are gone, and nothing is left of what
    /// was said, asked and agreed to. A [`Driver::view`] of before shows nothing to the new one.
    pub async fn restarts(&mut self) {
        self.starts += 1;
        let identity = Identity::fixed().named(&format!("run-{}", self.starts));
        self.toolbox = Toolbox::new(self.tools.clone(), identity);
        self.session = Session::new(self.config.clone(), Box::new(self.toolbox.catalog()), 1);
        self.room.fall_silent(self.now());
        self.link_is_gone();
        self.dispatched.clear();
        self.keys.clear();
        for asked in &mut self.asked {
            if asked.answers.is_empty() {
                asked.closed.get_or_insert("the daemon was started again");
            }
        }
        self.log.ended = None;
        self.panel.clear();
        self.begin();
        self.settle().await;
    }

    fn begin(&mut self) {
        self.feed(Input::Start);
        if self.config.gate.button {
            self.feed(Input::Button { down: self.panel.pressed });
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Lets time pass for as long as `go_on`, and no longer than `limit`. What is due when it comes back has been done.
    pub(crate) async fn pass_while(&mut self, limit: Duration, mut go_on: impl FnMut(&Self) -> bool) {
        let until = self.now() + limit;
        self.settle().await;
        while go_on(self) && self.now() < until {
            let adapter = self.realtime.as_ref().and_then(|(adapter, _)| adapter.due());
            let wakes = [self.session.deadline(), self.room.due(), self.panel.due(), adapter, Some(until)];
            let wake = wakes.into_iter().flatten().min();
            tokio::select! {
                biased;
                told = self.toolbox.told() => self.on_told(told),
                () = self.clock.sleep_until(wake) => {}
            }
            self.settle().await;
        }
    }

    /// Does everything that can be done without time passing.
    pub(crate) async fn settle(&mut self) {
        for _ in 0..ROUNDS {
            self.report();
            if !self.away {
                self.answer_the_dial();
            }
            tokio::select! {
                biased;
                told = self.toolbox.told() => self.on_told(told),
                () = yield_now() => {}
            }
        }
        self.report();
    }

    /// Gives the session what is due.
    fn report(&mut self) {
        self.ask_for_speech();
        for _ in 0..ROUNDS {
            let now = self.now();
            let report = self.room.take_due(now).or_else(|| self.panel.take_due(now));
            if let Some(report) = report {
                self.feed(report);
            } else if self.session.deadline().is_some_and(|deadline| deadline <= now) {
                self.feed(Input::Timeout);
            } else {
                return;
            }
        }
    }

    fn on_told(&mut self, told: Told) {
        match told {
            Told::Begun(call) => {
                if let Some((name, _)) = self.dispatched.get(&call) {
                    self.log.effect((self.starts, call), name);
                }
                self.feed(Input::EffectBegun { call });
            }
            Told::Job(call) => self.feed(Input::BecameJob { call }),
            Told::Event(event) => self.show(&Moment::Event(&event)),
            Told::Line(call, text) => self.feed(Input::CallLine { call, text }),
            Told::Note(call, text) => self.feed(Input::CallNote { call, text }),
            Told::Superseded(call, summary) => {
                self.dispatched.remove(&call);
                self.feed(Input::Superseded { call, summary });
            }
            Told::Done(call, outcome) => {
                if let Some((name, effect)) = self.dispatched.remove(&call) {
                    let done = match outcome.status {
                        OutcomeStatus::Success | OutcomeStatus::Unknown => effect == Effect::Outbound,
                        OutcomeStatus::Error | OutcomeStatus::Cancelled => false,
                    };
                    if done {
                        self.log.effect((self.starts, call), &name);
                    }
                }
                self.feed(Input::Outcome { call, outcome });
            }
        }
    }

    /// Gives the session one input and does what it says.
    pub(crate) fn feed(&mut self, input: Input) {
        let now = self.now();
        self.inputs.push_back(input);
        self.take_inputs(now);
        self.drain();
    }

    /// Lets arrive what is on its way.
    pub(crate) fn drain(&mut self) {
        let now = self.now();
        self.ask_for_speech();
        while let Some(said) = self.next_said() {
            let events = self.heard_as(now, said);
            self.inputs.extend(events.into_iter().map(Input::Provider));
            self.take_inputs(now);
            self.ask_for_speech();
        }
    }

    fn take_inputs(&mut self, now: Instant) {
        while let Some(input) = self.inputs.pop_front() {
            self.expect_calls(&input);
            self.session.handle(now, input);
            while let Some(output) = self.session.poll() {
                self.act(now, output);
            }
            self.close_untaken_calls();
        }
    }

    /// Gives it after what is being done.
    pub(crate) fn feed_later(&mut self, input: Input) {
        self.inputs.push_back(input);
    }

    fn act(&mut self, now: Instant, output: Output) {
        match output {
            Output::Connect { resume } => self.link = Link::Dialled { resume },
            Output::Disconnect => self.on_disconnect(),
            Output::Send(intent) => self.on_send(&intent),
            Output::UplinkOpen { .. } => self.log.uplink(now, true),
            Output::UplinkClose => self.log.uplink(now, false),
            Output::Play { utterance, pcm } => self.room.reply(utterance, pcm.span(), &self.saying),
            Output::PlayEnd { utterance } => self.room.end(utterance),
            Output::Speak { utterance, text, kind } => self.speak(utterance, &text, kind),
            Output::PlayClip { utterance, clip } => self.room.own(utterance, Spoken::Clip, clip.source()),
            Output::Duck | Output::Unduck => {}
            Output::Flush => self.room.flush(now),
            Output::Run(permit) => {
                self.dispatched.insert(permit.call_key(), (permit.name().to_owned(), permit.effect()));
                self.toolbox.dispatch(permit);
            }
            Output::Cancel { call } => self.toolbox.cancel(call),
            Output::Sheet(sheet) => self.panel.show(now, sheet),
            Output::SheetClosed { pending } => self.panel.close(pending),
            Output::Event(event) => self.show(&Moment::Event(&event)),
            Output::Notice(notice) => {
                self.on_notice(&notice);
                self.show(&Moment::Notice(&notice));
                self.log.notice(now, notice);
            }
            Output::Ended { by } => self.log.ended = Some(by),
        }
    }

    fn speak(&mut self, utterance: UtteranceId, text: &str, kind: LineKind) {
        self.show(&Moment::Line { text, kind });
        self.room.own(utterance, Spoken::Line(kind), text);
    }

    fn on_send(&mut self, intent: &Intent) {
        self.judge(intent);
        if let Some((adapter, _)) = &mut self.realtime {
            let messages = adapter.write(intent);
            messages.into_iter().for_each(|message| self.send(message));
        } else if let Some(message) = self.script.written(intent) {
            self.send(message);
        }
        self.log.context.push(script::seam(intent));
        // What is sent is written at once here.
        self.toolbox.on_sent(intent);
        if let Intent::Answer(answers) = intent {
            let calls: Vec<CallKey> = answers.iter().map(|answer| answer.call).collect();
            self.toolbox.on_delivered(&calls);
        }
    }

    fn on_notice(&mut self, notice: &Notice) {
        self.note_call(notice);
        if let Notice::UserSaid { text, .. } = notice {
            self.log.context.push(serde_json::json!({ "person": text }));
        }
    }

    fn show(&mut self, moment: &Moment<'_>) {
        if let Moment::Event(event) = moment {
            self.log.events.push((*event).clone());
        }
        self.timeline.observe(self.clock.now(), moment);
    }

    pub(crate) fn written(&self) -> Vec<u8> {
        self.pages.bytes()
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("now", &self.now()).field("script", &self.script.profile()).finish()
    }
}
