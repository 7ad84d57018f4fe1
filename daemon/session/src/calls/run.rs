// SPDX-License-Identifier: MIT OR Apache-2.0

//! A call from its turn in the queue to its outcome or its deadline.

use serde_json::Value;
use units::{CallKey, Instant};

use crate::answers;
use crate::confirm::Permit;
use crate::ledger::{Change, InTheWay, LetGo, Loose, Open, Owes, Own, Queued, Running, Stage, Step, Told};
use crate::notice::Notice;
use crate::playout::Heard;
use crate::session::Session;
use crate::timers::Timer;
use crate::tool::{Effect, Outcome, OutcomeStatus, PreCall, ToolSpec};
use crate::{LineKind, Output};

impl Session {
    /// The person speaks: what waits to see whether they go on does not run. An approval it had spent is void.
    pub(crate) fn yield_to_speech(&mut self) {
        if !self.person.is_speaking() {
            return;
        }
        let unsettled = self.ledger.select(|open| match &open.stage {
            Stage::Queued(queued) => super::waits_for_speech(&queued.spec) && queued.own.is_none(),
            Stage::Held(_) | Stage::Running(_) | Stage::Copy(_) => false,
        });
        for call in unsettled {
            if let Some(Open { name, .. }) = self.ledger.take(call) {
                self.answer(call, name, Told::ours(answers::still_talking(), Owes::Silence));
            }
        }
    }

    /// Sends to their tools what may start at this moment.
    pub(crate) fn run_calls(&mut self) {
        self.cx.timers.clear(Timer::Settle);
        // What ends at this moment has ended: a call may have waited for just that.
        self.on_job_deadline();
        self.void_lapsed();
        while let Some((call, queued)) = self.ledger.next_to_run() {
            let ready_at = self.ready_at(queued);
            let (turn, digest) = (queued.permit.turn(), *queued.permit.digest());
            let (spec, is_own) = (queued.spec.clone(), queued.own.is_some());
            let is_agreed = matches!(queued.own, Some(Own::Agreed { .. }));
            if !is_own && self.must_wait_for_link(&spec) {
                if let Some(Open { name, .. }) = self.ledger.take(call) {
                    self.answer(call, name, Told::ours(answers::link_leaving(), Owes::Speech));
                }
                continue;
            }
            if let Some(refusal) = self.refusal_in_order(call, &spec) {
                if let Some(Open { name, .. }) = self.ledger.take(call) {
                    self.answer(call, name, Told::ours(refusal, Owes::Speech));
                }
                continue;
            }
            if ready_at > self.cx.now {
                self.cx.timers.set(Timer::Settle, ready_at);
                break;
            }
            if is_own {
                if self.in_the_way(&spec, &digest) == Some(InTheWay::Begun) {
                    if is_agreed {
                        self.drop_agreed(call)
                    } else {
                        self.drop_undo(call)
                    }
                    continue;
                }
            } else if let Some((body, owes)) = self.done_before(&spec, &digest, turn) {
                // An equal call that was stopped may have done something after all.
                if let Some(Open { name, .. }) = self.ledger.take(call) {
                    self.answer(call, name, Told::ours(body, owes));
                }
                continue;
            }
            let epoch = self.link.epoch();
            let catalog = &self.catalog;
            let undo = |permit: &Permit| catalog.undo(permit.name(), permit.args());
            let started = self.ledger.start(call, epoch, self.cx.now, undo);
            let Some((permit, spec, response)) = started else { break };
            if permit.agreed().is_some() {
                self.gate.on_started(&self.cx, permit.name());
            }
            self.announce(response, &spec);
            self.cx.notice(Notice::CallRun { call, name: spec.name.clone(), grant: permit.grant() });
            self.cx.emit(Output::Run(permit));
            self.record(|record| record.awaited += u32::from(spec.needs_result_now));
            if spec.job && !spec.ends_session {
                self.go_on_as_job(call);
            }
        }
        self.watch_blocking();
        match self.ledger.earliest_deadline() {
            Some(at) => self.cx.timers.set(Timer::CallDeadline, at),
            None => self.cx.timers.clear(Timer::CallDeadline),
        }
    }

    /// When a call that is next may run: not before the person has had time to go on, what was said before it was heard,
    /// and an equal one that was stopped has ended.
    fn ready_at(&self, queued: &Queued) -> Instant {
        let heard = queued.after.map(|(mark, at_last)| match self.playout.heard(mark) {
            Heard::All => self.cx.now,
            Heard::By(at) => at.min(at_last),
            Heard::Nothing => at_last,
        });
        let stopped = match self.in_the_way(&queued.spec, queued.permit.digest()) {
            Some(InTheWay::Stopping { until }) => Some(until),
            Some(InTheWay::Begun) | None => None,
        };
        [heard, stopped].into_iter().flatten().fold(queued.settled_at, Instant::max)
    }

    /// Speaks the line of a call that starts, which waits for nothing, unless it would be heard with something else.
    fn announce(&mut self, response: u64, spec: &ToolSpec) {
        let text = match &spec.pre_call {
            None => return,
            Some(PreCall::Always(text)) => text,
            Some(PreCall::IfSilent(text)) => {
                let covered = self.playout.is_model_heard(self.cx.now, self.cx.config.covered);
                if covered || self.tally.was_announced(&spec.name) {
                    return;
                }
                text
            }
        };
        if self.would_talk_over() {
            return;
        }
        self.playout.speak(&mut self.cx, text.clone(), LineKind::PreCall);
        self.tally.announced(&spec.name);
        self.ledger.on_line(response);
    }

    /// Why a call whose turn has come must not run after what came of those before it.
    fn refusal_in_order(&self, call: CallKey, spec: &ToolSpec) -> Option<Value> {
        if spec.effect != Effect::Outbound || spec.independent {
            return None;
        }
        match self.ledger.step_before(call) {
            Step::Fine => None,
            Step::Failed => Some(answers::step_failed()),
            Step::Unfinished => Some(answers::step_unfinished()),
        }
    }

    /// Remembers for the calls behind it that an outbound one has not gone well.
    fn on_step_over(&mut self, response: u64, spec: &ToolSpec, status: OutcomeStatus) {
        match status {
            OutcomeStatus::Success | OutcomeStatus::Cancelled => {}
            OutcomeStatus::Error | OutcomeStatus::Unknown if spec.effect != Effect::Outbound => {}
            OutcomeStatus::Error | OutcomeStatus::Unknown => self.ledger.on_step(response, Step::Failed),
        }
    }

    pub(crate) fn on_effect_begun(&mut self, call: CallKey) {
        self.ledger.on_begun(call);
    }

    pub(crate) fn on_outcome(&mut self, call: CallKey, outcome: Outcome) {
        if let Some(job) = self.ledger.take_job(call) {
            self.on_job_outcome(call, &job, outcome);
            return;
        }
        if !self.ledger.is_running(call) {
            self.on_unexpected_outcome(call, outcome);
            return;
        }
        let Some(Open { name, response, stage: Stage::Running(running) }) = self.ledger.take(call) else {
            return;
        };
        let Outcome { status, body, events, clip_after, silent_ok } = outcome;
        let body = answers::object(status.as_str(), body);
        for event in events {
            self.cx.emit(Output::Event(event));
        }
        self.gate.on_result(self.person.turn(), &body);
        self.remember(call, &running, status, &body, running.dropped || running.is_agreed());
        self.on_step_over(response, &running.spec, status);
        if silent_ok && status == OutcomeStatus::Success {
            self.on_silence_meant();
        }
        let ends = running.spec.ends_session && status == OutcomeStatus::Success;
        if ends {
            self.begin_ending(call, self.ledger.spoke(response));
        }
        if let Some(clip) = clip_after {
            self.queue_clip(response, clip);
        }
        if let Some(Own::Agreed { summary }) = &running.own {
            self.conclude_agreed(call, &name, summary, &body);
            return;
        }
        let told = Told {
            body,
            owes: owed(&running, status, silent_ok),
            change: Change::of(running.spec.effect, status),
            undo: running.undo.clone(),
            by: Some(running.spec.on_barge_in),
            urgent: running.spec.urgent,
        };
        self.answer(call, name, told);
    }

    /// Remembers what a call brought, for those that come again.
    pub(super) fn remember(
        &mut self,
        call: CallKey,
        running: &Running,
        status: OutcomeStatus,
        body: &Value,
        unread: bool,
    ) {
        self.ledger.finished.remember(self.cx.now, (call, running), status, body, unread);
        if status == OutcomeStatus::Success {
            self.tally.found(running.turn, &running.spec.name, body);
        }
    }

    /// The outcome of a call that is not owed an answer: the model must at least know the truth. It reads it in the
    /// answer if that is not sent yet, so that it never reads something else after it.
    fn on_unexpected_outcome(&mut self, call: CallKey, outcome: Outcome) {
        let Some(LetGo { running, why, .. }) = self.ledger.take_loose(call) else {
            self.cx.notice(Notice::LateOutcome { call });
            return;
        };
        let Outcome { status, body, silent_ok, .. } = outcome;
        let body = answers::object(status.as_str(), body);
        // What the model was told of it, if anything, was something else.
        let unread = why == Loose::TakenBack || status == OutcomeStatus::Success;
        self.remember(call, &running, status, &body, unread);
        let change = Change::of(running.spec.effect, status);
        if let Some(undoes) =
            running.own.as_ref().and_then(Own::undoes).filter(|_| status == OutcomeStatus::Success)
        {
            self.ledger.finished.end_undo(undoes.call, true);
        }
        let note = match why {
            Loose::TakenBack => {
                if !self.tell_taken_back(call, &running.spec.name, change, running.undo) {
                    self.cx.notice(Notice::LateOutcome { call });
                }
                return;
            }
            Loose::GivenUp { .. } if status == OutcomeStatus::Cancelled => None,
            Loose::GivenUp { answered } => {
                if self.ledger.correct(call, &body, owed(&running, status, silent_ok), change) {
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

    /// [`Timer::CallDeadline`] has come: what should have ended is answered without its tool.
    pub(crate) fn on_call_deadline(&mut self) {
        self.on_job_deadline();
        let now = self.cx.now;
        let due: Vec<CallKey> = self
            .ledger
            .running()
            .filter(|(_, _, running)| running.due <= now)
            .map(|(call, ..)| call)
            .collect();
        for call in due {
            if let Some(Open { name, response, stage: Stage::Running(running) }) = self.ledger.take(call) {
                self.give_up(call, name, response, *running);
            }
        }
    }

    fn give_up(&mut self, call: CallKey, name: String, response: u64, running: Running) {
        self.cx.emit(Output::Cancel { call });
        let (status, body) = no_outcome(&running);
        self.on_step_over(response, &running.spec, status);
        self.remember(call, &running, status, &body, running.dropped || running.is_agreed());
        if let Some(Own::Agreed { summary }) = &running.own {
            self.conclude_agreed(call, &name, summary, &body);
            self.ledger.let_go(call, running, Loose::GivenUp { answered: status }, self.cx.now);
            return;
        }
        let told = Told {
            body,
            owes: Owes::Speech,
            change: Change::of(running.spec.effect, status),
            undo: running.undo.clone(),
            by: Some(running.spec.on_barge_in),
            urgent: running.spec.urgent,
        };
        self.answer(call, name, told);
        self.ledger.let_go(call, running, Loose::GivenUp { answered: status }, self.cx.now);
    }
}

/// What is known of a call that did not come back in time.
pub(super) fn no_outcome(running: &Running) -> (OutcomeStatus, Value) {
    if running.begun {
        (OutcomeStatus::Unknown, unknown(&running.spec))
    } else {
        (OutcomeStatus::Error, answers::timed_out(&running.spec.name))
    }
}

/// What is told of a call that has begun and of which nobody knows how it ended.
pub(super) fn unknown(spec: &ToolSpec) -> Value {
    if spec.idempotent { answers::outcome_unknown_idempotent() } else { answers::outcome_unknown() }
}

/// What the answer of a call that its tool has ended asks of the model.
pub(super) fn owed(running: &Running, status: OutcomeStatus, silent_ok: bool) -> Owes {
    match status {
        OutcomeStatus::Error | OutcomeStatus::Unknown => Owes::Speech,
        OutcomeStatus::Cancelled => Owes::Silence,
        OutcomeStatus::Success if running.spec.ends_session => Owes::Silence,
        OutcomeStatus::Success if running.spec.needs_result_now || running.agreed.is_some() => Owes::Speech,
        OutcomeStatus::Success if silent_ok => Owes::Silence,
        OutcomeStatus::Success => Owes::SpeechIfNone,
    }
}
