// SPDX-License-Identifier: MIT OR Apache-2.0

//! The session: its parts, the order in which they act, and the contract with the driver.

use units::{Instant, TurnId};

use crate::clips::Clips;
use crate::config::Config;
use crate::confirm::Gate;
use crate::context::Context;
use crate::engage::Run;
use crate::ledger::Ledger;
use crate::link::Link;
use crate::notes::Notes;
use crate::person::Person;
use crate::playout::Playout;
use crate::record::Record;
use crate::reply::Reply;
use crate::snapshot::{Phase, Snapshot};
use crate::tally::Tally;
use crate::timers::Timer;
use crate::tool::Catalog;
use crate::turn::Overlap;
use crate::uplink::Uplink;
use crate::{Input, Output};

/// Timers handled for one input. One that is set to the present again and again (a figure of zero) cannot hold the
/// session; it asks for its next [`Input::Timeout`] at once.
const TIMERS_PER_INPUT: usize = 64;

/// One conversation after another with one person at a time, decided here and carried out by the driver.
pub struct Session {
    pub(crate) cx: Context,
    pub(crate) catalog: Box<dyn Catalog>,
    pub(crate) run: Run,
    pub(crate) link: Link,
    pub(crate) uplink: Uplink,
    pub(crate) person: Person,
    /// Near-end speech over playout that may be a barge-in.
    pub(crate) overlap: Overlap,
    /// Since when this person is there, as far as is told.
    pub(crate) person_since: Instant,
    /// The last turn that was over and in which the person was heard, and not just a click.
    pub(crate) heard_turn: TurnId,
    /// The turn for which the person has heard nothing yet.
    pub(crate) waiting: Option<TurnId>,
    pub(crate) reply: Reply,
    pub(crate) playout: Playout,
    pub(crate) ledger: Ledger,
    pub(crate) gate: Gate,
    pub(crate) clips: Clips,
    /// What the model should know, until it can be sent.
    pub(crate) notes: Notes,
    /// The tools that the model sees in this turn, sorted.
    pub(crate) view: Vec<String>,
    pub(crate) tally: Tally,
    pub(crate) record: Option<Record>,
    /// An answer asked the model to speak, and it has not yet.
    pub(crate) asked_to_speak: bool,
    pub(crate) answered: u64,
}

impl Session {
    /// A session that has not been started. `seed` decides the spread of its retries, nothing else.
    #[must_use]
    pub fn new(config: Config, catalog: Box<dyn Catalog>, seed: u64) -> Self {
        Self {
            cx: Context::new(config),
            catalog,
            run: Run::Off,
            link: Link::new(seed),
            uplink: Uplink::new(),
            person: Person::new(),
            overlap: Overlap::None,
            person_since: Instant::ZERO,
            heard_turn: TurnId(0),
            waiting: None,
            reply: Reply::new(),
            playout: Playout::new(),
            ledger: Ledger::default(),
            gate: Gate::new(),
            clips: Clips::default(),
            notes: Notes::default(),
            view: Vec::new(),
            tally: Tally::default(),
            record: None,
            asked_to_speak: false,
            answered: 0,
        }
    }

    /// Takes one input at `now`, which never goes back. The caller drains [`Session::poll`] until `None` before giving
    /// the next. What has become due by `now` is decided before the input is.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.cx.now = self.cx.now.max(now);
        for _ in 0..TIMERS_PER_INPUT {
            let Some(timer) = self.cx.timers.take_due(self.cx.now) else {
                break;
            };
            self.on_timer(timer);
            self.settle();
        }
        self.on_input(input);
        self.settle();
    }

    /// The next thing that should be done.
    pub fn poll(&mut self) -> Option<Output> {
        self.cx.out.pop_front()
    }

    /// When the session next wants [`Input::Timeout`], if ever.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.cx.timers.earliest()
    }

    /// What the session is about.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            phase: self.phase(),
            link: self.link.state(),
            epoch: self.link.epoch(),
            turn: self.person.turn(),
            uplink_open: self.uplink.is_open(),
            calls: self.ledger.open_calls(),
            gate: self.gate.snapshot(),
            on_screen: self.gate.on_screen(),
            answered: self.answered,
        }
    }

    fn phase(&self) -> Phase {
        match self.run {
            Run::Off | Run::Closing { .. } => Phase::Off,
            Run::Ending(_) => Phase::Ending,
            Run::On if self.person.is_speaking() => Phase::Listening,
            Run::On if self.playout.is_audible() => Phase::Speaking,
            Run::On if self.waiting.is_some() => Phase::Waiting,
            Run::On => Phase::Idle,
        }
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Start => self.on_start(),
            Input::Stop => self.on_stop(),
            Input::Timeout => {}
            Input::SpeechStarted { onset_ago } => self.on_speech_started(onset_ago),
            Input::SpeechEnded { voiced } => self.on_speech_ended(voiced),
            Input::PlayoutStarted { utterance } => self.on_playout_started(utterance),
            Input::Pace { percent } => self.playout.on_pace(&mut self.cx, percent),
            Input::PlayoutFinished { utterance, heard, cut } => {
                self.on_playout_finished(utterance, heard, cut);
            }
            Input::Muted { muted } => self.uplink.on_muted(muted),
            Input::Screen { there } => self.gate.on_screen_there(&mut self.cx, self.person.turn(), there),
            Input::SheetShown { pending } => self.gate.on_sheet_shown(&mut self.cx, pending),
            Input::SheetAnswered { nonce, answer, shown_for } => {
                let turn = self.person.turn();
                let approval = self.gate.on_sheet_answered(&mut self.cx, turn, nonce, (answer, shown_for));
                self.make_agreed(approval);
            }
            Input::Button { down } => self.gate.on_button(&mut self.cx, down),
            Input::PersonChanged => self.on_person_changed(),
            Input::Superseded { call, summary } => self.on_superseded(call, summary),
            Input::LinkOpened => self.link.on_opened(&mut self.cx),
            Input::LinkClosed(failure) => self.on_link_closed(&failure),
            Input::Provider(event) => self.on_provider(event),
            Input::Outcome { call, outcome } => self.on_outcome(call, outcome),
            Input::EffectBegun { call } => self.on_effect_begun(call),
            Input::BecameJob { call } => self.on_became_job(call),
            Input::CallLine { call, text } => self.on_call_line(call, text),
            Input::CallNote { call, text } => self.on_call_note(call, text),
            Input::Note { text } => self.note(text),
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::GateDeadline | Timer::GrantLapses => {
                self.gate.on_lapsed(&mut self.cx, self.person.turn());
            }
            Timer::Sheet => self.gate.on_sheets_lapsed(&mut self.cx, self.person.turn()),
            Timer::Hold => {
                let approval = self.gate.on_held(&mut self.cx);
                self.make_agreed(approval);
            }
            Timer::Transcript => self.on_transcript_final(),
            // What it wakes for is decided with every input.
            Timer::Answer | Timer::Telling | Timer::Settle => {}
            Timer::Asked => self.on_asked_over(),
            Timer::HeldCall => self.judge_held_calls(false),
            Timer::BargeIn => self.on_barge_in(),
            Timer::CutReply => {
                self.reply.give_up(&mut self.cx);
            }
            Timer::Reply => self.on_reply_overdue(),
            Timer::CallDeadline => self.on_call_deadline(),
            Timer::Blocking => self.on_blocking(),
            Timer::UplinkHold => self.uplink.on_hold_over(),
            Timer::Clip => self.on_clip_due(),
            Timer::ClipQuiet => self.play_quiet_clips(),
            Timer::Playout => self.on_playout_lost(),
            Timer::Goodbye => self.on_goodbye_due(),
            Timer::Drain => self.finish("agent"),
            Timer::Close => self.on_close_overdue(),
            Timer::Setup => self.link.on_setup_overdue(&mut self.cx),
            Timer::Retry => self.link.on_retry(&mut self.cx),
            Timer::GoAway => self.link.rotate(&mut self.cx),
            Timer::Stable => self.link.on_stable(),
            Timer::Idle => self.on_idle(),
        }
    }

    /// Does what has become possible. Answers go out before the microphone is let in again, and the question is asked
    /// when nobody speaks.
    ///
    /// A question waits until all else is over that was handed to the loudspeaker, an earlier question included: what
    /// is heard after it would leave unclear what a yes is about.
    fn settle(&mut self) {
        self.gate.review(&mut self.cx, &self.person);
        self.yield_to_speech();
        self.run_calls();
        self.send_answers();
        self.note_gate_news();
        self.send_notes();
        self.watch_clips();
        if !self.person.is_speaking() && !self.playout.is_pending() {
            self.ask_person();
        }
        self.end_when_drained();
        self.rotate_when_quiet();
        self.watch_idle();
        self.set_uplink();
    }
}
