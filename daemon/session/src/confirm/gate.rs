// SPDX-License-Identifier: MIT OR Apache-2.0

//! The questions of one device and their states. One is asked aloud at a time; others stand on the screen.
//!
//! Every event that has a say in an approval comes here, one after the other: the call that asks, what was heard of the
//! question, what a person said, tapped or pressed, and the clock.

mod agreed;
mod preasked;
mod press;
mod propose;
mod screen;
mod spoken;

use serde_json::Value;
use units::{CallKey, GrantId, Instant, PendingId, TurnId, UtteranceId};

use super::ears::Ears;
use super::limits::Limits;
use super::question::{Approval, Half, Question, permit};
use super::wording::{TOO_MANY, agreed_first, one_at_a_time, refused, still_pending};
use super::{Permit, is_guarded, permit_without_question};
use crate::context::Context;
use crate::ledger::Owes;
use crate::notice::{Channel, GateEnd, Notice};
use crate::person::{Awaited, Person, Said, Window};
use crate::snapshot::GateState;
use crate::timers::Timer;
use crate::tool::{Consent, Prepared, ToolSpec};

use press::Press;
use screen::OnScreen;
pub(crate) use spoken::{Presented, Weighed};

/// Questions that were turned down in a turn and are remembered in it.
const SETTLED_MAX: usize = 8;

/// A checked call that asks to run.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) key: CallKey,
    /// The tool's name, as the model wrote it.
    pub(crate) name: String,
    pub(crate) spec: ToolSpec,
    pub(crate) prepared: Prepared,
    /// The person's turn it was asked for in.
    pub(crate) turn: TurnId,
}

/// What becomes of a proposal.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It may run.
    Run(Permit),
    /// It may not. The body of its answer, and whether the model should speak about it.
    Answer(Value, Owes),
    /// Speech that may be the answer, or take it back, is not transcribed yet: judge again when it is, or when time is
    /// up.
    Held(Box<Proposal>),
}

/// The gate of one device.
pub(crate) struct Gate {
    state: State,
    /// Sheets on the screen: that of the question that is asked aloud, and questions of their own.
    sheets: Vec<OnScreen>,
    /// There is a screen to show them.
    has_screen: bool,
    press: Press,
    ears: Ears,
    limits: Limits,
    last_pending: PendingId,
    last_grant: GrantId,
    /// What a person just turned down, so that it is not proposed again in the same turn.
    settled: Vec<Settled>,
    proposals: Proposals,
    /// The turn in which a tool's result claimed that somebody had agreed.
    claimed_in: Option<TurnId>,
    /// What the model said last, when it was heard to its end.
    preasked: Option<Preasked>,
    /// What the person said last, until it has been an answer to something.
    said: Option<Said>,
    /// What the model is to be told.
    news: Vec<String>,
}

/// A reply of the model that was heard to its end, in a turn of the person.
struct Preasked {
    text: String,
    heard_at: Instant,
    turn: TurnId,
}

/// Questions made in one user turn; the time before the first counts as one.
#[derive(Clone, Copy)]
struct Proposals {
    turn: TurnId,
    made: u32,
    /// The model was asked to speak about one too many.
    told: bool,
}

/// The question that is asked aloud.
enum State {
    Clear,
    /// Waits for quiet to be spoken.
    Proposed(Question),
    /// Being spoken. Not heard to its end, so nobody can agree to it.
    Presented {
        question: Question,
        utterance: UtteranceId,
    },
    /// The model was asked to speak it at `at`. What it begins to say then is compared.
    Told {
        question: Question,
        at: Instant,
    },
    /// Heard to its end at `heard_at`.
    Waiting {
        question: Question,
        heard_at: Instant,
        /// Something else has been heard since: the last turn that was over by then. A later one may answer that.
        overtaken: Option<TurnId>,
    },
    /// Agreed to in turn `by`. What a later one says can take that back.
    Granted {
        question: Question,
        grant: GrantId,
        by: TurnId,
    },
}

struct Settled {
    digest: [u8; 32],
    turn: TurnId,
    text: &'static str,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Clear,
            sheets: Vec::new(),
            has_screen: false,
            press: Press::Unknown,
            ears: Ears::default(),
            limits: Limits::default(),
            last_pending: PendingId(0),
            last_grant: GrantId(0),
            settled: Vec::new(),
            proposals: Proposals::none_in(TurnId(0)),
            claimed_in: None,
            preasked: None,
            said: None,
            news: Vec::new(),
        }
    }

    pub(crate) fn snapshot(&self) -> GateState {
        match &self.state {
            State::Clear => GateState::Clear,
            State::Proposed(question) | State::Presented { question, .. } | State::Told { question, .. } => {
                GateState::Asking { summary: question.summary.clone() }
            }
            State::Waiting { question, .. } => GateState::Waiting { summary: question.summary.clone() },
            State::Granted { question, .. } => GateState::Granted { summary: question.summary.clone() },
        }
    }

    /// What stands on the screen.
    pub(crate) fn on_screen(&self) -> Vec<PendingId> {
        self.sheets.iter().map(|sheet| sheet.pending).collect()
    }

    /// Nothing is asked aloud.
    pub(crate) fn is_clear(&self) -> bool {
        matches!(self.state, State::Clear)
    }

    /// Nothing is asked.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_clear() && self.sheets.is_empty()
    }

    /// A question is to be asked aloud, or waits for its answer.
    pub(crate) fn is_open(&self) -> bool {
        match &self.state {
            State::Clear | State::Granted { .. } => false,
            State::Proposed(_) | State::Presented { .. } | State::Told { .. } | State::Waiting { .. } => true,
        }
    }

    /// A person has agreed, and the call is still to come.
    pub(crate) fn is_granted(&self) -> bool {
        matches!(self.state, State::Granted { .. })
    }

    /// What the model is to be told about questions, in order.
    pub(crate) fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// The first frame of `utterance` was heard.
    pub(crate) fn on_audible(&mut self, now: Instant, utterance: UtteranceId) {
        self.ears.on_started(now, utterance);
    }

    /// The last frame of it was heard, and these were its words.
    pub(crate) fn on_silent(&mut self, now: Instant, utterance: UtteranceId, words: Option<String>) {
        self.ears.on_ended(now, utterance, words);
    }

    /// The session ends: nothing is asked any more.
    pub(crate) fn on_ending(&mut self, cx: &mut Context) {
        self.close_all(cx);
    }

    /// The conversation is over, or another person stands there: nothing of it may be agreed to by them, or count
    /// against them.
    pub(crate) fn drop_all(&mut self, cx: &mut Context) {
        self.close_all(cx);
        self.settled.clear();
        self.proposals = Proposals::none_in(self.proposals.turn);
        self.limits.on_conversation_over();
        (self.claimed_in, self.preasked, self.said) = (None, None, None);
        self.news.clear();
    }

    /// Decides about a proposal. `patient` waits for words that are still to come. While a person who has agreed speaks
    /// again, the proposal is held in any case, which the approval's own time bounds.
    pub(crate) fn judge(
        &mut self,
        cx: &mut Context,
        person: &Person,
        proposal: Proposal,
        patient: bool,
    ) -> Verdict {
        if !is_guarded(&proposal.spec) {
            let Proposal { key, spec, prepared, turn, .. } = proposal;
            return match permit_without_question(key, &spec, prepared, turn) {
                Ok(permit) => Verdict::Run(permit),
                Err(needs) => Verdict::Answer(refused(&needs.to_string()), Owes::Speech),
            };
        }
        if patient && self.claimed_in == Some(person.turn()) {
            self.on_violation(cx, &proposal.spec.name);
        }
        if self.sheets.iter().any(|sheet| sheet.is_about(&proposal)) {
            return Verdict::Answer(still_pending(false), Owes::Silence);
        }
        let open = match &self.state {
            State::Clear => return self.propose(cx, person, proposal, patient),
            State::Proposed(question)
            | State::Presented { question, .. }
            | State::Told { question, .. }
            | State::Waiting { question, .. }
            | State::Granted { question, .. } => question,
        };
        if open.spec.name != proposal.spec.name {
            return self.propose_beside(cx, person, proposal, patient);
        }
        if !open.is_about(&proposal.prepared) {
            return self.propose(cx, person, proposal, patient);
        }
        match &self.state {
            State::Granted { by, .. } => match person.awaited(cx.now, &cx.config.gate, Window::after(*by)) {
                Awaited::Speech => Verdict::Held(Box::new(proposal)),
                Awaited::Words { .. } if patient => Verdict::Held(Box::new(proposal)),
                Awaited::Words { .. } | Awaited::Nothing => self.spend(cx, proposal),
            },
            State::Waiting { question, heard_at, overtaken }
                if patient
                    && question.takes_yes()
                    && person.awaited(cx.now, &cx.config.gate, question.window(*heard_at, *overtaken))
                        != Awaited::Nothing =>
            {
                Verdict::Held(Box::new(proposal))
            }
            State::Waiting { .. }
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Told { .. }
            | State::Clear => Verdict::Answer(still_pending(open.unclear > 0), Owes::Silence),
        }
    }

    /// [`Timer::GateDeadline`] or [`Timer::GrantLapses`] has come.
    pub(crate) fn on_lapsed(&mut self, cx: &mut Context, turn: TurnId) {
        match &self.state {
            State::Clear => {}
            State::Proposed(_) | State::Presented { .. } | State::Told { .. } | State::Waiting { .. } => {
                if let Some(question) =
                    self.state.question().filter(|open| open.spec.consent == Consent::Button)
                {
                    self.news.push(super::wording::news(&question.summary, super::wording::LAPSED));
                }
                self.settle(cx, turn, GateEnd::Expired, super::wording::LAPSED);
            }
            State::Granted { .. } => {
                self.close(cx, GateEnd::Expired);
            }
        }
    }

    /// A tool brought this back in `turn`. If it claims what only a person can say, what the model asks for next is not
    /// the person's wish.
    pub(crate) fn on_result(&mut self, turn: TurnId, body: &Value) {
        if super::wording::claims_consent(body) {
            self.claimed_in = Some(turn);
        }
    }

    fn spend(&mut self, cx: &mut Context, proposal: Proposal) -> Verdict {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Granted { question, grant, by } => {
                cx.timers.clear(Timer::GrantLapses);
                self.take_down(cx, question.id);
                cx.notice(Notice::GateSpent { grant, call: proposal.key });
                let until = cx.now + cx.config.gate.grant;
                Verdict::Run(permit(question, grant, (proposal.key, proposal.turn), (by, until)))
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Told { .. }
            | State::Waiting { .. }) => {
                self.state = other;
                Verdict::Answer(still_pending(false), Owes::Silence)
            }
        }
    }

    /// Takes an act of a person for an agreement, under a grant of its own.
    fn grant(&mut self, cx: &mut Context, question: &Question, by: Channel) -> GrantId {
        self.last_grant = self.last_grant.next();
        self.limits.on_answered(&question.spec.name);
        cx.notice(Notice::GateGranted { pending: question.id, grant: self.last_grant, by });
        self.last_grant
    }

    /// The same, by an act that makes the call.
    fn commit(&mut self, cx: &mut Context, question: Question, by: Channel) -> Approval {
        let grant = self.grant(cx, &question, by);
        self.make(cx, question, grant)
    }

    fn make(&mut self, cx: &mut Context, question: Question, grant: GrantId) -> Approval {
        self.take_down(cx, question.id);
        Approval::new(question, grant)
    }

    fn on_violation(&mut self, cx: &mut Context, tool: &str) {
        if self.limits.on_violation(&cx.config.gate, cx.now, tool) {
            cx.notice(Notice::GateLocked {
                tool: tool.to_owned(),
                why: "calls tried to get past the person",
            });
        }
    }

    /// Closes the question that is asked aloud and refuses it for the rest of the turn.
    fn settle(&mut self, cx: &mut Context, turn: TurnId, how: GateEnd, text: &'static str) {
        let tool = self.state.question().map(|question| question.spec.name.clone());
        if let (Some(digest), Some(tool)) = (self.close(cx, how), tool) {
            self.remember(cx, turn, digest, &tool, how, text);
        }
    }

    /// Remembers how a question ended that nobody agreed to.
    fn remember(
        &mut self,
        cx: &mut Context,
        turn: TurnId,
        digest: [u8; 32],
        tool: &str,
        how: GateEnd,
        text: &'static str,
    ) {
        self.settled.push(Settled { digest, turn, text });
        if self.settled.len() > SETTLED_MAX {
            self.settled.remove(0);
        }
        if how == GateEnd::Declined && self.limits.on_declined(&cx.config.gate, cx.now, tool) {
            cx.notice(Notice::GateLocked { tool: tool.to_owned(), why: "it was turned down time and again" });
        }
    }

    /// Closes the question that is asked aloud, if there is one; its digest.
    fn close(&mut self, cx: &mut Context, how: GateEnd) -> Option<[u8; 32]> {
        cx.timers.clear(Timer::GateDeadline);
        cx.timers.clear(Timer::GrantLapses);
        let question = std::mem::replace(&mut self.state, State::Clear).into_question()?;
        self.take_down(cx, question.id);
        cx.notice(Notice::GateClosed { pending: question.id, how });
        Some(question.prepared.digest)
    }

    fn close_all(&mut self, cx: &mut Context) {
        self.close(cx, GateEnd::Dropped);
        for pending in self.on_screen() {
            self.take_down(cx, pending);
            cx.notice(Notice::GateClosed { pending, how: GateEnd::Dropped });
        }
    }
}

impl State {
    fn question(&self) -> Option<&Question> {
        match self {
            Self::Clear => None,
            Self::Proposed(question)
            | Self::Presented { question, .. }
            | Self::Told { question, .. }
            | Self::Waiting { question, .. }
            | Self::Granted { question, .. } => Some(question),
        }
    }

    /// The question that nobody has heard to its end so far.
    fn unheard(&self) -> Option<&Question> {
        match self {
            Self::Clear | Self::Waiting { .. } | Self::Granted { .. } => None,
            Self::Proposed(question) | Self::Presented { question, .. } | Self::Told { question, .. } => {
                (question.presentations <= 1 && question.unclear == 0).then_some(question)
            }
        }
    }

    fn into_question(self) -> Option<Question> {
        match self {
            Self::Clear => None,
            Self::Proposed(question)
            | Self::Presented { question, .. }
            | Self::Told { question, .. }
            | Self::Waiting { question, .. }
            | Self::Granted { question, .. } => Some(question),
        }
    }

    /// Why another call has to wait.
    fn in_the_way(&self) -> Value {
        match self {
            Self::Clear => refused(TOO_MANY),
            Self::Proposed(question)
            | Self::Presented { question, .. }
            | Self::Told { question, .. }
            | Self::Waiting { question, .. } => one_at_a_time(&question.summary),
            Self::Granted { question, .. } => agreed_first(&question.summary),
        }
    }
}

impl Proposals {
    fn none_in(turn: TurnId) -> Self {
        Self { turn, made: 0, told: false }
    }
}
