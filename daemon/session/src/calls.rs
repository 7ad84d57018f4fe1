//! A call from its arrival to its one answer.

use serde_json::Value;
use units::CallKey;

use crate::Output;
use crate::answers;
use crate::confirm::{Proposal, Verdict};
use crate::engage::Run;
use crate::ledger::{Change, Loose, Open, Owes, Place, Response, Running, Stage};
use crate::notice::Notice;
use crate::seam::{Answer, FollowUp, Intent, ProviderCall};
use crate::session::Session;
use crate::timers::Timer;
use crate::tool::{Effect, Outcome, OutcomeStatus, Prepared, ToolSpec};

/// Calls taken of one response, and open calls altogether. A model makes a handful; this bounds a broken one.
const CALLS_MAX: usize = 64;

/// Calls with a place in the ledger altogether, answered ones that wait for their response included: four full
/// responses.
const PLACES_MAX: usize = 256;

/// Calls past those that are still refused one by one in the same response; what is past these gets no answer.
const REFUSED_MAX: usize = 256;

/// Refusals for want of follow-ups that still ask the model to speak; after them the device does.
const REFUSALS_SPOKEN: u32 = 3;

impl Session {
    pub(crate) fn on_calls(&mut self, calls: Vec<ProviderCall>) {
        let Some((conversation, _)) = self.link.up() else {
            return;
        };
        let response = self.ledger.begin_response(conversation, self.reply.spoke());
        let room = PLACES_MAX.saturating_sub(self.ledger.places()).min(CALLS_MAX);
        let mut calls = calls.into_iter();
        for ProviderCall { id, name, args } in calls.by_ref().take(room) {
            if self.ledger.knows(conversation, id.as_deref()) {
                self.cx.notice(Notice::DuplicateCall { id: id.unwrap_or_default(), name });
                continue;
            }
            let key = self.ledger.admit(response, id);
            self.cx.notice(Notice::CallArrived { call: key, name: name.clone(), args: args.clone() });
            match self.check(&name, &args) {
                Err((body, owes)) => self.ledger.fill(key, name, body, owes, Change::Nothing),
                Ok((spec, prepared)) => {
                    let proposal = Proposal { key, spec, prepared, turn: self.person.turn() };
                    self.decide(response, proposal, true);
                }
            }
        }
        self.refuse_rest(conversation, calls);
    }

    /// Answers at once what the ledger has no room for, without looking at it.
    fn refuse_rest(&mut self, conversation: u64, mut rest: impl Iterator<Item = ProviderCall>) {
        let mut refused = Vec::new();
        for ProviderCall { id, name, .. } in rest.by_ref().take(REFUSED_MAX) {
            if self.ledger.knows(conversation, id.as_deref()) {
                continue;
            }
            let body = answers::too_many_calls();
            let call = self.ledger.refuse(id.as_deref());
            self.tell_answered(call, &name, &body, FollowUp::Silent);
            refused.push(Answer { id, name, body, follow_up: FollowUp::Silent });
        }
        if !refused.is_empty() {
            self.cx.emit(Output::Send(Intent::Answer(refused)));
        }
        if let Some(ProviderCall { name, .. }) = rest.next() {
            let why = "too many calls at once: it and all that came after it are dropped";
            self.cx.notice(Notice::CallClosed { call: self.ledger.next_key(), name, why });
        }
    }

    /// Everything about a call that can be decided from itself.
    fn check(&mut self, name: &str, args: &Value) -> Result<(ToolSpec, Prepared), (Value, Owes)> {
        if matches!(self.run, Run::Ending(_)) {
            return Err((answers::session_ending(), Owes::Silence));
        }
        if self.ledger.len() >= CALLS_MAX {
            return Err((answers::too_many_calls(), Owes::Speech));
        }
        if self.follow_ups() >= self.cx.config.max_follow_ups {
            return Err((answers::no_more_tools(), self.owed_past_the_cap()));
        }
        let Some(spec) = self.catalog.spec(name) else {
            return Err((answers::unknown_tool(name, self.catalog.names()), Owes::Speech));
        };
        match self.catalog.prepare(name, args) {
            Ok(prepared) => Ok((spec, prepared)),
            Err(detail) => Err((answers::invalid_arguments(&detail), Owes::Speech)),
        }
    }

    /// Follow-ups of the present turn.
    fn follow_ups(&mut self) -> u32 {
        if self.follow_ups.0 != self.person.turn() {
            self.follow_ups = (self.person.turn(), 0);
        }
        self.follow_ups.1
    }

    fn owed_past_the_cap(&mut self) -> Owes {
        let refusals_end = self.cx.config.max_follow_ups.saturating_add(REFUSALS_SPOKEN);
        if self.follow_ups.1 < refusals_end {
            return Owes::Speech;
        }
        if self.follow_ups.1 == refusals_end {
            self.follow_ups.1 += 1;
            self.say_stuck();
        }
        Owes::Silence
    }

    /// Whether a checked call shares an answer, repeats one, runs, or is answered by the gate.
    fn decide(&mut self, response: u64, proposal: Proposal, patient: bool) {
        let key = proposal.key;
        let name = proposal.spec.name.clone();
        let spec = proposal.spec.clone();
        let digest = proposal.prepared.digest;
        if let Some(original) = self.ledger.equal_in_flight(&name, &digest) {
            self.ledger.keep(key, Open { name, response, stage: Stage::Copy(original) });
            return;
        }
        let windows = (self.cx.config.repeat_window, self.cx.config.repeat_window_relinked);
        let epoch = self.link.epoch();
        let done = self.ledger.finished.recall(self.cx.now, (&name, &digest), proposal.turn, epoch, windows);
        if let Some(body) = done.map(answers::repeated) {
            self.ledger.fill(key, name, body, Owes::SpeechIfNone, Change::Nothing);
            return;
        }
        match self.gate.judge(&mut self.cx, &self.person, proposal, patient) {
            Verdict::Run(permit) => {
                self.ledger.keep(key, Open { name, response, stage: Stage::Queued(permit, spec) });
            }
            Verdict::Answer(body, owes) => self.ledger.fill(key, name, body, owes, Change::Nothing),
            Verdict::Held(proposal) => {
                self.cx.after(Timer::HeldCall, self.cx.config.gate.evidence_grace);
                self.ledger.keep(key, Open { name, response, stage: Stage::Held(proposal) });
            }
        }
    }

    /// Judges again what waited for a transcript.
    pub(crate) fn judge_held_calls(&mut self, patient: bool) {
        self.cx.timers.clear(Timer::HeldCall);
        for call in self.ledger.select(|open| matches!(open.stage, Stage::Held(_))) {
            if let Some(Open { response, stage: Stage::Held(proposal), .. }) = self.ledger.take(call) {
                self.decide(response, *proposal, patient);
            }
        }
    }

    /// Sends the next call to its tool, one at a time and in order.
    pub(crate) fn run_calls(&mut self) {
        if let Some((call, permit, spec)) = self.ledger.start_next() {
            self.cx.after(Timer::CallDeadline, spec.timeout);
            self.cx.notice(Notice::CallRun { call, name: spec.name, grant: permit.grant() });
            self.cx.emit(Output::Run(permit));
        }
    }

    pub(crate) fn on_effect_begun(&mut self, call: CallKey) {
        self.ledger.on_begun(call);
    }

    pub(crate) fn on_outcome(&mut self, call: CallKey, outcome: Outcome) {
        let Outcome { status, body, events, clip_after } = outcome;
        let body = answers::object(status_word(status), body);
        if !self.ledger.is_running(call) {
            self.on_unexpected_outcome(call, status, &body);
            return;
        }
        let Some(Open { name, response, stage: Stage::Running(running) }) = self.ledger.take(call) else {
            return;
        };
        self.cx.timers.clear(Timer::CallDeadline);
        for event in events {
            self.cx.emit(Output::Event(event));
        }
        self.ledger.finished.remember(self.cx.now, self.link.epoch(), &running, status, &body);
        let ends = running.spec.ends_session && status == OutcomeStatus::Success;
        let owes = owed(&running, status);
        let change = Change::of(running.spec.effect, status);
        if ends {
            self.begin_ending(call, self.ledger.spoke(response));
        }
        if let Some(clip) = clip_after {
            self.queue_clip(response, clip);
        }
        self.answer(call, name, body, owes, change);
    }

    /// The outcome of a call that is not owed an answer: the model must at least know the truth. It reads it in the
    /// answer if that is not sent yet, so that it never reads something else after it.
    fn on_unexpected_outcome(&mut self, call: CallKey, status: OutcomeStatus, body: &Value) {
        let Some((running, why)) = self.ledger.take_loose(call) else {
            self.cx.notice(Notice::LateOutcome { call });
            return;
        };
        self.ledger.finished.remember(self.cx.now, self.link.epoch(), &running, status, body);
        let change = Change::of(running.spec.effect, status);
        let note = match why {
            Loose::TakenBack => answers::taken_back_note(&running.spec.name, change),
            Loose::GivenUp { .. } if status == OutcomeStatus::Cancelled => None,
            Loose::GivenUp { answered } => {
                if self.ledger.correct(call, body, owed(&running, status), change) {
                    return;
                }
                answers::late_note(&running.spec.name, answered, change)
            }
        };
        match note {
            Some(note) => self.note(note),
            None => self.cx.notice(Notice::LateOutcome { call }),
        }
    }

    /// [`Timer::CallDeadline`] has come: the running call is answered without its tool.
    pub(crate) fn on_call_deadline(&mut self) {
        let Some(call) = self.ledger.running() else { return };
        let Some(Open { name, stage: Stage::Running(running), .. }) = self.ledger.take(call) else {
            return;
        };
        self.cx.emit(Output::Cancel { call });
        let (status, body) = if running.begun {
            (OutcomeStatus::Unknown, answers::outcome_unknown())
        } else {
            (OutcomeStatus::Error, answers::timed_out(&name))
        };
        self.ledger.finished.remember(self.cx.now, self.link.epoch(), &running, status, &body);
        let change = Change::of(running.spec.effect, status);
        self.answer(call, name, body, Owes::Speech, change);
        self.ledger.let_go(call, running, Loose::GivenUp { answered: status });
    }

    /// Stops and answers what has not begun: everything that waits to run, and a running call that only looks.
    pub(crate) fn stop_unbegun_calls(&mut self) {
        let unbegun = self.ledger.select(|open| match &open.stage {
            Stage::Held(_) | Stage::Queued(..) => true,
            Stage::Running(running) => running.spec.effect == Effect::Read && !running.begun,
            Stage::Copy(_) => false,
        });
        for call in unbegun {
            let Some(Open { name, stage, .. }) = self.ledger.take(call) else {
                continue;
            };
            if let Stage::Running(_) = stage {
                self.cx.timers.clear(Timer::CallDeadline);
                self.cx.emit(Output::Cancel { call });
            }
            self.answer(call, name, answers::cancelled(), Owes::Silence, Change::Nothing);
        }
    }

    /// The provider takes calls back: they are never answered.
    pub(crate) fn on_calls_cancelled(&mut self, ids: &[String]) {
        let Some((conversation, _)) = self.link.up() else {
            return;
        };
        for id in ids {
            let Some(call) = self.ledger.by_id(conversation, id) else {
                continue;
            };
            let mut shared = answers::cancelled();
            let name = if let Some(given) = self.ledger.ready(call) {
                let (name, change) = (given.name.clone(), given.change);
                if let Some(note) = answers::taken_back_note(&name, change) {
                    self.note(note);
                }
                name
            } else if let Some(Open { name, stage, .. }) = self.ledger.take(call) {
                if let Stage::Running(running) = stage {
                    self.cx.timers.clear(Timer::CallDeadline);
                    if running.begun {
                        shared = answers::outcome_unknown();
                    } else {
                        self.cx.emit(Output::Cancel { call });
                    }
                    self.ledger.let_go(call, running, Loose::TakenBack);
                }
                name
            } else {
                continue;
            };
            self.ledger.void(call);
            self.cx.notice(Notice::CallClosed { call, name, why: "the provider took it back" });
            self.answer_copies(call, &shared);
        }
    }

    /// Gives a call that was taken out of the ledger its one answer, and the same to those that share it.
    fn answer(&mut self, call: CallKey, name: String, body: Value, owes: Owes, change: Change) {
        self.answer_copies(call, &body);
        self.ledger.fill(call, name, body, owes, change);
    }

    fn answer_copies(&mut self, call: CallKey, body: &Value) {
        for copy in self.ledger.copies_of(call) {
            if let Some(open) = self.ledger.take(copy) {
                self.ledger.fill_copy(copy, open.name, body.clone(), call);
            }
        }
    }

    /// Sends every response whose calls all have their answers, to the conversation that asked; what another
    /// conversation asked for becomes a note.
    pub(crate) fn send_answers(&mut self) {
        while let Some((conversation, _)) = self.link.up() {
            let Some(response) = self.ledger.take_complete() else {
                return;
            };
            if response.conversation == conversation {
                self.send_response(response);
            } else {
                self.note_response(response);
            }
        }
    }

    fn send_response(&mut self, response: Response) {
        let given: Vec<_> = response
            .places
            .into_iter()
            .filter_map(|place| match place {
                Place::Answered(given) => Some(given),
                Place::Owed(_) => None,
            })
            .collect();
        let owed = given.iter().any(|given| match self.owed_by(given.owes) {
            Owes::Silence => false,
            Owes::SpeechIfNone => !response.spoke,
            Owes::Speech => true,
        });
        if owed {
            self.asked_to_speak = true;
            self.follow_ups();
            self.follow_ups.1 += 1;
        }
        let last = given.len().saturating_sub(1);
        let mut sent = Vec::with_capacity(given.len());
        for (place, given) in given.into_iter().enumerate() {
            let follow_up = if owed && place == last { FollowUp::WhenIdle } else { FollowUp::Silent };
            self.tell_answered(given.call, &given.name, &given.body, follow_up);
            sent.push(Answer { id: given.id, name: given.name, body: given.body, follow_up });
        }
        self.cx.emit(Output::Send(Intent::Answer(sent)));
        self.on_clips_answered(response.id, owed);
    }

    /// The answer of `call` is on its way.
    fn tell_answered(&mut self, call: CallKey, name: &str, body: &Value, follow_up: FollowUp) {
        self.answered += 1;
        self.cx.notice(Notice::CallAnswered {
            call,
            name: name.to_owned(),
            status: body.get("status").and_then(Value::as_str).unwrap_or_default().to_owned(),
            body: body.clone(),
            follow_up,
        });
    }

    fn note_response(&mut self, response: Response) {
        self.drop_clips(response.id);
        for place in response.places {
            let Place::Answered(given) = place else { continue };
            if given.change != Change::Nothing {
                self.note(answers::late_result_note(&given.name, &given.body));
            }
            self.cx.notice(Notice::CallClosed {
                call: given.call,
                name: given.name,
                why: "the conversation that asked is gone",
            });
        }
    }
}

/// What the answer of a call that its tool has ended asks of the model.
fn owed(running: &Running, status: OutcomeStatus) -> Owes {
    match status {
        OutcomeStatus::Error | OutcomeStatus::Unknown => Owes::Speech,
        OutcomeStatus::Cancelled => Owes::Silence,
        OutcomeStatus::Success if running.spec.ends_session => Owes::Silence,
        OutcomeStatus::Success if running.spec.needs_result_now || running.agreed => Owes::Speech,
        OutcomeStatus::Success => Owes::SpeechIfNone,
    }
}

fn status_word(status: OutcomeStatus) -> &'static str {
    match status {
        OutcomeStatus::Success => "success",
        OutcomeStatus::Error => "error",
        OutcomeStatus::Unknown => "unknown",
        OutcomeStatus::Cancelled => "cancelled",
    }
}
