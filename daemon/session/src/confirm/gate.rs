// SPDX-License-Identifier: MIT OR Apache-2.0

//! The states of the one question that a voice device can ask at a time.

use serde_json::Value;
use units::{CallKey, GrantId, Instant, PendingId, TurnId, UtteranceId};

use super::question::Question;
use super::wording::{
    LAPSED, SAID_NO, SAID_OTHER, TOO_MANY, agreed_first, one_at_a_time, pending, refused, still_pending,
};
use super::{Call, Permit, Reading, is_guarded, permit_without_question};
use crate::LineKind;
use crate::context::Context;
use crate::ledger::Owes;
use crate::lexicon::{self, Expected, Locale};
use crate::notice::{GateEnd, Notice};
use crate::person::{Awaited, Person, Said, Window};
use crate::playout::Playout;
use crate::snapshot::GateState;
use crate::timers::Timer;
use crate::tool::{Prepared, ToolSpec};

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
    last_pending: PendingId,
    last_grant: GrantId,
    /// What a person just turned down, so that it is not proposed again in the same turn.
    settled: Option<Settled>,
    proposals: Proposals,
}

/// Questions made in one user turn; the time before the first counts as one.
#[derive(Clone, Copy)]
struct Proposals {
    turn: TurnId,
    made: u32,
    /// The model was asked to speak about one too many.
    told: bool,
}

enum State {
    Clear,
    /// Waits for quiet to be spoken.
    Proposed(Question),
    /// Being spoken. Not heard to its end, so nobody can agree to it.
    Presented {
        question: Question,
        utterance: UtteranceId,
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
            last_pending: PendingId(0),
            last_grant: GrantId(0),
            settled: None,
            proposals: Proposals::none_in(TurnId(0)),
        }
    }

    pub(crate) fn snapshot(&self) -> GateState {
        match &self.state {
            State::Clear => GateState::Clear,
            State::Proposed(question) | State::Presented { question, .. } => {
                GateState::Asking { summary: question.summary.clone() }
            }
            State::Waiting { question, .. } => GateState::Waiting { summary: question.summary.clone() },
            State::Granted { question, .. } => GateState::Granted { summary: question.summary.clone() },
        }
    }

    pub(crate) fn is_clear(&self) -> bool {
        matches!(self.state, State::Clear)
    }

    /// A question is to be asked, or waits for its answer.
    pub(crate) fn is_open(&self) -> bool {
        match &self.state {
            State::Clear | State::Granted { .. } => false,
            State::Proposed(_) | State::Presented { .. } | State::Waiting { .. } => true,
        }
    }

    /// A person has agreed, and the call is still to come.
    pub(crate) fn is_granted(&self) -> bool {
        matches!(self.state, State::Granted { .. })
    }

    /// The session ends: nothing is asked any more.
    pub(crate) fn on_ending(&mut self, cx: &mut Context) {
        self.close(cx, GateEnd::Dropped);
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
        let open = match &self.state {
            State::Clear => return self.propose(cx, person, proposal),
            State::Proposed(question)
            | State::Presented { question, .. }
            | State::Waiting { question, .. }
            | State::Granted { question, .. } => question,
        };
        if open.spec.name != proposal.spec.name {
            cx.notice(Notice::GateRefused { call: proposal.key, why: "another question is open" });
            return Verdict::Answer(self.state.in_the_way(), Owes::Silence);
        }
        if !open.is_about(&proposal.prepared) {
            return self.propose(cx, person, proposal);
        }
        match &self.state {
            State::Granted { by, .. } => match person.awaited(cx.now, &cx.config.gate, Window::after(*by)) {
                Awaited::Speech => Verdict::Held(Box::new(proposal)),
                Awaited::Words { .. } if patient => Verdict::Held(Box::new(proposal)),
                Awaited::Words { .. } | Awaited::Nothing => self.spend(cx, proposal),
            },
            State::Waiting { question, heard_at, overtaken }
                if patient
                    && person.awaited(cx.now, &cx.config.gate, question.window(*heard_at, *overtaken))
                        != Awaited::Nothing =>
            {
                Verdict::Held(Box::new(proposal))
            }
            State::Waiting { .. } | State::Proposed(_) | State::Presented { .. } | State::Clear => {
                Verdict::Answer(still_pending(open.unclear > 0), Owes::Silence)
            }
        }
    }

    /// Speaks the question, if there is one to be spoken, and gives it its full time. Call it when the person and the
    /// loudspeaker are quiet.
    pub(crate) fn present(&mut self, cx: &mut Context, playout: &mut Playout) {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Proposed(mut question) => {
                question.presentations += 1;
                cx.after(Timer::GateDeadline, cx.config.gate.deadline);
                let text = format!("{} {}", question.summary, cx.config.lines.question);
                let utterance = playout.speak(cx, text, LineKind::ReadBack);
                self.state = State::Presented { question, utterance };
            }
            other @ (State::Clear
            | State::Presented { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => self.state = other,
        }
    }

    /// The reading of a question is over. If it is the open one and was not cut, an answer can follow; not if what it
    /// was heard in the midst of goes on.
    pub(crate) fn on_question_played(
        &mut self,
        cx: &mut Context,
        playout: &Playout,
        turn: TurnId,
        utterance: UtteranceId,
        cut: bool,
    ) {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Presented { question, utterance: own }
                if own == utterance && !cut && !playout.is_audible() =>
            {
                cx.notice(Notice::GatePresented { pending: question.id });
                cx.after(Timer::GateDeadline, cx.config.gate.deadline);
                self.state = State::Waiting { question, heard_at: cx.now, overtaken: None };
            }
            State::Presented { question, utterance: own } if own == utterance => {
                cx.notice(Notice::GateCut { pending: question.id });
                self.ask_again(cx, turn, question);
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => self.state = other,
        }
    }

    /// Something is heard. If a question waits for its answer, that is something else, and what a person says once it
    /// is heard, also in a turn that goes on, may answer that.
    pub(crate) fn on_heard(&mut self, person: &Person) {
        if let State::Waiting { overtaken: overtaken @ None, .. } = &mut self.state {
            *overtaken = Some(person.last_ended());
        }
    }

    /// Asks a question again that was overtaken, unless what a person said before that may still answer it. Once they
    /// speak again, words that come could be of either turn, and nothing is waited for.
    pub(crate) fn review(&mut self, cx: &mut Context, person: &Person) {
        cx.timers.clear(Timer::Answer);
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Waiting { question, heard_at, overtaken: overtaken @ Some(last) } => {
                let window = question.window(heard_at, overtaken);
                match person.awaited(cx.now, &cx.config.gate, window) {
                    Awaited::Words { until } if person.turn() == last => {
                        cx.timers.set(Timer::Answer, until);
                        self.state = State::Waiting { question, heard_at, overtaken };
                    }
                    Awaited::Nothing | Awaited::Speech | Awaited::Words { .. } => {
                        cx.notice(Notice::GateCut { pending: question.id });
                        self.ask_again(cx, person.turn(), question);
                    }
                }
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => self.state = other,
        }
    }

    /// A person said something. True if what was held may be judged again.
    pub(crate) fn on_said(&mut self, cx: &mut Context, turn: TurnId, said: &Said) -> bool {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Waiting { question, heard_at, overtaken }
                if said.voiced >= cx.config.gate.min_voiced
                    && question.window(heard_at, overtaken).holds(said.turn, said.onset) =>
            {
                self.weigh(cx, turn, question, said);
                true
            }
            granted @ State::Granted { by, .. } if said.turn > by => {
                self.state = granted;
                self.reconsider(cx, turn, said);
                true
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => {
                self.state = other;
                false
            }
        }
    }

    /// More came of what a person said after it was taken as final.
    pub(crate) fn on_said_more(&mut self, cx: &mut Context, turn: TurnId, said: &Said) {
        self.reconsider(cx, turn, said);
    }

    /// [`Timer::GateDeadline`] or [`Timer::GrantLapses`] has come.
    pub(crate) fn on_lapsed(&mut self, cx: &mut Context, turn: TurnId) {
        match &self.state {
            State::Clear => {}
            State::Proposed(_) | State::Presented { .. } | State::Waiting { .. } => {
                self.settle(cx, turn, GateEnd::Expired, LAPSED);
            }
            State::Granted { .. } => {
                self.close(cx, GateEnd::Expired);
            }
        }
    }

    /// The conversation is over: nothing of it may be agreed to by the next person, or count against them.
    pub(crate) fn drop_all(&mut self, cx: &mut Context) {
        self.close(cx, GateEnd::Dropped);
        self.settled = None;
        self.proposals = Proposals::none_in(self.proposals.turn);
    }

    /// Opens a question, in the place of the open one if there is one.
    fn propose(&mut self, cx: &mut Context, person: &Person, proposal: Proposal) -> Verdict {
        let Proposal { key, spec, prepared, .. } = proposal;
        if let Some(settled) = &self.settled
            && settled.digest == prepared.digest
            && settled.turn == person.turn()
        {
            cx.notice(Notice::GateRefused { call: key, why: "turned down in this turn" });
            return Verdict::Answer(refused(settled.text), Owes::SpeechIfNone);
        }
        let Some(summary) = prepared.summary.clone() else {
            cx.notice(Notice::GateRefused { call: key, why: "it cannot be put into words" });
            let text = "This cannot be put into words for a person to agree to.";
            return Verdict::Answer(refused(text), Owes::Speech);
        };
        if self.proposals.turn != person.turn() {
            self.proposals = Proposals::none_in(person.turn());
        }
        if self.proposals.made >= cx.config.gate.proposals_per_turn {
            cx.notice(Notice::GateRefused { call: key, why: "too many proposals in this turn" });
            // What the model says while a question is open would stand between it and its answer.
            let told = !self.is_clear() || std::mem::replace(&mut self.proposals.told, true);
            let owes = if told { Owes::Silence } else { Owes::Speech };
            return Verdict::Answer(self.state.in_the_way(), owes);
        }
        self.proposals.made += 1;
        self.settled = None;
        let replaces = self.close(cx, GateEnd::Superseded).map(|_| self.last_pending);
        self.last_pending = self.last_pending.next();
        cx.notice(Notice::GatePending {
            pending: self.last_pending,
            tool: spec.name.clone(),
            summary: summary.clone(),
            replaces,
        });
        cx.after(Timer::GateDeadline, cx.config.gate.deadline);
        self.state = State::Proposed(Question {
            id: self.last_pending,
            spec,
            prepared,
            summary,
            asked_in: person.turn(),
            unclear: 0,
            presentations: 0,
        });
        Verdict::Answer(pending(replaces.is_some()), Owes::Silence)
    }

    fn spend(&mut self, cx: &mut Context, proposal: Proposal) -> Verdict {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Granted { question, grant, .. } => {
                cx.timers.clear(Timer::GrantLapses);
                cx.notice(Notice::GateSpent { grant, call: proposal.key });
                Verdict::Run(Permit(Call {
                    key: proposal.key,
                    name: question.spec.name,
                    args: question.prepared.args,
                    effect: question.spec.effect,
                    timeout: question.spec.timeout,
                    grant: Some(grant),
                    digest: question.prepared.digest,
                    turn: proposal.turn,
                }))
            }
            other @ (State::Clear | State::Proposed(_) | State::Presented { .. } | State::Waiting { .. }) => {
                self.state = other;
                Verdict::Answer(still_pending(false), Owes::Silence)
            }
        }
    }

    fn weigh(&mut self, cx: &mut Context, turn: TurnId, mut question: Question, said: &Said) {
        let expected = Expected { slots: &question.prepared.slots, ..Expected::default() };
        let reading = lexicon::read(Locale::En, &[], &said.text, &expected);
        let pending = question.id;
        cx.notice(Notice::GateEvidence { pending, turn: said.turn, reading });
        match reading {
            Reading::Yes => {
                self.last_grant = self.last_grant.next();
                let grant = self.last_grant;
                cx.notice(Notice::GateGranted { pending, grant });
                cx.timers.clear(Timer::GateDeadline);
                cx.after(Timer::GrantLapses, cx.config.gate.grant);
                self.state = State::Granted { question, grant, by: said.turn };
            }
            Reading::No => {
                self.state = State::Proposed(question);
                self.settle(cx, turn, GateEnd::Declined, SAID_NO);
            }
            Reading::Amend => {
                self.state = State::Proposed(question);
                self.settle(cx, turn, GateEnd::Amended, SAID_OTHER);
            }
            Reading::Unclear => {
                question.unclear += 1;
                self.ask_again(cx, turn, question);
            }
        }
    }

    /// Reads what an agreement has to stand up to: its own turn must still be a yes when all of it is known, a later one
    /// must not be a no or a change.
    fn reconsider(&mut self, cx: &mut Context, turn: TurnId, said: &Said) {
        let State::Granted { question, by, .. } = &self.state else {
            return;
        };
        if said.turn < *by {
            return;
        }
        let is_agreement = said.turn == *by;
        let expected = Expected { slots: &question.prepared.slots, ..Expected::default() };
        let reading = lexicon::read(Locale::En, &[], &said.text, &expected);
        cx.notice(Notice::GateEvidence { pending: question.id, turn: said.turn, reading });
        match reading {
            Reading::No => self.settle(cx, turn, GateEnd::Declined, SAID_NO),
            Reading::Amend => self.settle(cx, turn, GateEnd::Amended, SAID_OTHER),
            Reading::Unclear if is_agreement => self.settle(cx, turn, GateEnd::Dropped, LAPSED),
            Reading::Yes | Reading::Unclear => {}
        }
    }

    fn ask_again(&mut self, cx: &mut Context, turn: TurnId, question: Question) {
        let gate = &cx.config.gate;
        let tired = question.unclear >= gate.attempts || question.presentations >= gate.presentations;
        self.state = State::Proposed(question);
        if tired {
            self.settle(cx, turn, GateEnd::Dropped, LAPSED);
        }
    }

    /// Closes the question and refuses it for the rest of the turn.
    fn settle(&mut self, cx: &mut Context, turn: TurnId, how: GateEnd, text: &'static str) {
        if let Some(digest) = self.close(cx, how) {
            self.settled = Some(Settled { digest, turn, text });
        }
    }

    /// Closes the question, if there is one; its digest.
    fn close(&mut self, cx: &mut Context, how: GateEnd) -> Option<[u8; 32]> {
        cx.timers.clear(Timer::GateDeadline);
        cx.timers.clear(Timer::GrantLapses);
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Clear => None,
            State::Proposed(question)
            | State::Presented { question, .. }
            | State::Waiting { question, .. }
            | State::Granted { question, .. } => {
                cx.notice(Notice::GateClosed { pending: question.id, how });
                Some(question.prepared.digest)
            }
        }
    }
}

impl State {
    /// Why another call has to wait.
    fn in_the_way(&self) -> Value {
        match self {
            Self::Clear => refused(TOO_MANY),
            Self::Proposed(question) | Self::Presented { question, .. } | Self::Waiting { question, .. } => {
                one_at_a_time(&question.summary)
            }
            Self::Granted { question, .. } => agreed_first(&question.summary),
        }
    }
}

impl Proposals {
    fn none_in(turn: TurnId) -> Self {
        Self { turn, made: 0, told: false }
    }
}
