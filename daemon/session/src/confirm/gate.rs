//! The states of the one question that a voice device can ask at a time.

use serde_json::{Value, json};
use units::{CallKey, GrantId, Instant, PendingId, TurnId, UtteranceId};

use super::{Call, Permit, Reading, is_guarded, permit_without_question};
use crate::LineKind;
use crate::context::Context;
use crate::ledger::Owes;
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
    /// Speech that may be the answer is not transcribed yet: judge again when it is, or when time is up.
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
        /// Something else has been heard since: the last turn that had begun by then. A later one may answer that.
        overtaken: Option<TurnId>,
    },
    /// Agreed to in turn `by`.
    Granted {
        question: Question,
        grant: GrantId,
        by: TurnId,
    },
}

struct Question {
    id: PendingId,
    spec: ToolSpec,
    prepared: Prepared,
    summary: String,
    asked_in: TurnId,
    /// Unclear answers so far.
    unclear: u32,
    /// Times it was spoken.
    presentations: u32,
}

struct Settled {
    digest: [u8; 32],
    turn: TurnId,
    text: &'static str,
}

const SAID_NO: &str = "They said no. Do not propose this again unless they ask.";
const SAID_OTHER: &str = "They changed something: ask what.";
const TOO_MANY: &str =
    "That is too many changes at once. Propose nothing more. Ask the person what they want.";
const LAPSED: &str = "The question lapsed. Offer again only if they want it.";

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Clear,
            last_pending: PendingId(0),
            last_grant: GrantId(0),
            settled: None,
            proposals: Proposals { turn: TurnId(0), made: 0, told: false },
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

    /// Decides about a proposal. `patient` allows [`Verdict::Held`].
    pub(crate) fn judge(
        &mut self,
        cx: &mut Context,
        person: &Person,
        proposal: Proposal,
        patient: bool,
    ) -> Verdict {
        if !is_guarded(&proposal.spec) {
            let Proposal { key, spec, prepared, turn } = proposal;
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
            return Verdict::Answer(one_at_a_time(&open.summary), Owes::Silence);
        }
        if !open.is_about(&proposal.prepared) {
            return self.propose(cx, person, proposal);
        }
        match &self.state {
            State::Granted { .. } => self.spend(cx, proposal),
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

    /// Speaks the question, if there is one to be spoken. Call it when the person and the loudspeaker are quiet.
    pub(crate) fn present(&mut self, cx: &mut Context, playout: &mut Playout) {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Proposed(mut question) => {
                question.presentations += 1;
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

    /// Something is heard. If a question waits for its answer, that is something else, and a turn that begins after it
    /// may answer that.
    pub(crate) fn on_heard(&mut self, person: &Person) {
        if let State::Waiting { overtaken: overtaken @ None, .. } = &mut self.state {
            *overtaken = Some(person.turn());
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
                    Awaited::Speech if person.turn() == last => {
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

    /// A person said something. True if that settled or changed the question.
    pub(crate) fn on_said(&mut self, cx: &mut Context, turn: TurnId, said: &Said) -> bool {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Waiting { question, heard_at, overtaken }
                if said.voiced >= cx.config.gate.min_voiced
                    && question.window(heard_at, overtaken).holds(said.turn, said.onset) =>
            {
                self.weigh(cx, turn, question, said);
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

    /// More came of what a person said after it was taken as final. If that was an agreement, it must still be one.
    pub(crate) fn on_said_more(&mut self, cx: &mut Context, turn: TurnId, said: &Said) {
        let State::Granted { question, by, .. } = &self.state else {
            return;
        };
        if *by != said.turn {
            return;
        }
        let reading = crate::lexicon::read(&said.text, &question.prepared.slots);
        cx.notice(Notice::GateEvidence { pending: question.id, turn: said.turn, reading });
        match reading {
            Reading::Yes => {}
            Reading::No => self.settle(cx, turn, GateEnd::Declined, SAID_NO),
            Reading::Amend => self.settle(cx, turn, GateEnd::Amended, SAID_OTHER),
            Reading::Unclear => self.settle(cx, turn, GateEnd::Dropped, LAPSED),
        }
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

    /// The conversation is over: nothing of it may be agreed to by the next person.
    pub(crate) fn drop_all(&mut self, cx: &mut Context) {
        self.close(cx, GateEnd::Dropped);
        self.settled = None;
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
            self.proposals = Proposals { turn: person.turn(), made: 0, told: false };
        }
        if self.proposals.made >= cx.config.gate.proposals_per_turn {
            cx.notice(Notice::GateRefused { call: key, why: "too many proposals in this turn" });
            return match &self.state {
                State::Clear if std::mem::replace(&mut self.proposals.told, true) => {
                    Verdict::Answer(refused(TOO_MANY), Owes::Silence)
                }
                State::Clear => Verdict::Answer(refused(TOO_MANY), Owes::Speech),
                // What the model says while a question is open would stand between it and its answer.
                State::Proposed(open)
                | State::Presented { question: open, .. }
                | State::Waiting { question: open, .. }
                | State::Granted { question: open, .. } => {
                    Verdict::Answer(one_at_a_time(&open.summary), Owes::Silence)
                }
            };
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
        let reading = crate::lexicon::read(&said.text, &question.prepared.slots);
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

impl Question {
    /// Same arguments. The digest decides; the arguments are compared too, so that a catalog with a broken digest
    /// cannot make one approval fit another call.
    fn is_about(&self, prepared: &Prepared) -> bool {
        self.prepared.digest == prepared.digest && self.prepared.args == prepared.args
    }

    /// The turns that can answer it. That one is in time is the timer's to decide, that it was not used before the
    /// person's.
    fn window(&self, heard_at: Instant, last: Option<TurnId>) -> Window {
        Window { asked_in: self.asked_in, heard_at, last }
    }
}

fn refused(text: &str) -> Value {
    json!({"status": "refused", "message": text})
}

fn one_at_a_time(summary: &str) -> Value {
    refused(&format!("One thing at a time: \"{summary}\" is waiting for an answer."))
}

fn pending(replaced: bool) -> Value {
    let mut body = json!({
        "status": "pending_confirmation",
        "message": "Not done yet. The device is asking the person now. Say nothing until they have answered; \
                    when they say yes, call this again with the same arguments.",
    });
    if replaced {
        body["replaced"] = Value::Bool(true);
    }
    body
}

fn still_pending(unclear: bool) -> Value {
    let text = if unclear {
        "They have not clearly agreed. The device asks once more."
    } else {
        "Still waiting for the person. Do not call again until they answer."
    };
    json!({"status": "pending_confirmation", "message": text})
}
