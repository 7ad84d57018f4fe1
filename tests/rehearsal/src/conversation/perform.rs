// SPDX-License-Identifier: MIT OR Apache-2.0

//! Does the steps of a turn.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{Conversation, Out, Phase};
use crate::report::Answered;
use crate::scenario::{Action, AnswerLike, CallPlan, Deed, Step, TurnEnd};
use crate::stage::Stage;
use crate::utterance::{self, Item};
use crate::wire;

/// The steps of a turn that are still to be done, and what they wait for.
#[derive(Debug)]
pub(crate) struct Script {
    /// Its place in the scenario, from 1, for messages.
    turn: usize,
    steps: VecDeque<Step>,
    wait: Wait,
    /// The calls this script has made.
    calls: Vec<String>,
    /// Answers that no step has looked at.
    unread: Vec<Answered>,
    last: Option<Answered>,
    /// How much audio goes on after speech cut into the present utterance.
    stale: Duration,
    /// `turnComplete` was sent while the script waited for answers.
    completed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The next step is due then.
    Until(Instant),
    /// The next step follows once the reply has been sent.
    Sent,
    /// The next step is one that waits for answers; it is done when no call is open.
    Answers,
}

impl Script {
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self.wait {
            Wait::Until(at) => Some(at),
            Wait::Sent | Wait::Answers => None,
        }
    }

    pub(super) fn waits_for_answers(&self) -> bool {
        self.wait == Wait::Answers
    }

    pub(super) fn on_answer(&mut self, answer: Answered) {
        if self.calls.contains(&answer.id) {
            self.last = Some(answer.clone());
            self.unread.push(answer);
        }
    }
}

impl AnswerLike {
    fn fits(&self, answer: &Answered) -> bool {
        let same = |wanted: &Option<String>, got: Option<&str>| wanted.is_none() || wanted.as_deref() == got;
        same(&self.status, answer.status())
            && same(&self.scheduling, answer.scheduling.as_deref())
            && self
                .instruction_contains
                .as_deref()
                .is_none_or(|wanted| answer.instruction().is_some_and(|text| text.contains(wanted)))
    }
}

impl Conversation {
    /// Starts a turn of the scenario. One that was under way gives way to it.
    pub(super) fn start_turn(&mut self, stage: &mut Stage, now: Instant, index: usize) {
        self.reply.cut(stage, now, Duration::ZERO);
        if self.reply.open || self.reply.complete_at.is_some() {
            self.complete_turn();
        }
        let turn = stage.scenario.turns[index].clone();
        tracing::debug!(turn = index + 1, "turn starts");
        if let Some(text) = &turn.hears {
            self.transcribe(stage, now, text);
        }
        self.script = Some(Script {
            turn: index + 1,
            steps: turn.steps.into(),
            wait: Wait::Until(now + stage.scenario.wire.reply_after),
            calls: Vec::new(),
            unread: Vec::new(),
            last: None,
            stale: Duration::ZERO,
            completed: false,
        });
    }

    /// Whether speech has something to cut into: a reply that is being made, sent or played.
    pub(super) fn is_busy(&self) -> bool {
        let making = self.script.as_ref().is_some_and(|script| script.wait != Wait::Answers);
        making || self.reply.open || self.reply.complete_at.is_some()
    }

    /// Does everything that is due.
    pub(super) fn perform_due(&mut self, stage: &mut Stage, now: Instant) {
        if self.expires.is_some_and(|at| at <= now) {
            return self.close(1011, "Deadline expired before operation could complete.");
        }
        while let Some((_, text)) = self.transcripts.pop_front_if(|(at, _)| *at <= now) {
            self.send(wire::heard(&text));
        }
        if self.interrupt_at.is_some_and(|at| at <= now) {
            self.interrupt_at = None;
            if self.is_busy() {
                self.interrupt(stage, now);
            }
        }
        while let Some((rate, item)) = self.reply.next_due(stage, now) {
            match item {
                Item::Audio(bytes) => self.send(wire::audio(rate, &bytes)),
                Item::Transcript(text) if self.asked.transcribe_output => self.send(wire::said(&text)),
                Item::Transcript(_) => {}
                Item::Call(plans) => self.call(stage, now, &plans),
            }
        }
        if self.reply.complete_at.is_some_and(|at| at <= now) {
            self.complete_turn();
        }
        while !matches!(self.phase, Phase::Over) && self.next_step(stage, now) {}
    }

    /// Does the next step if it is its time. False if there is nothing to do at `now`.
    fn next_step(&mut self, stage: &mut Stage, now: Instant) -> bool {
        let Some(script) = &mut self.script else {
            return false;
        };
        let ready = match script.wait {
            Wait::Until(at) => at <= now,
            Wait::Sent => self.reply.is_drained(),
            Wait::Answers => !script.calls.iter().any(|id| stage.is_open(id)),
        };
        if !ready {
            return false;
        }
        let Some(step) = script.steps.pop_front() else {
            let completed = script.completed;
            self.script = None;
            // After an answer that called for nothing, only extended thinking says that the turn is over.
            if self.reply.open || !completed || self.validator.reports_status() {
                self.end_turn(stage, now, "IDLE");
            }
            return false;
        };
        if step.when.as_ref().is_some_and(|when| !script.last.as_ref().is_some_and(|last| when.fits(last))) {
            return true;
        }
        script.wait = Wait::Until(now);
        let then = match step.action {
            Action::Do(deed) => {
                self.act(stage, now, deed);
                return true;
            }
            Action::Answers(_) if script.calls.iter().any(|id| stage.is_open(id)) => {
                script.wait = Wait::Answers;
                script.steps.push_front(step);
                // A call that does not block the model leaves its turn finished; the answer starts another.
                if self.reply.open && self.blocking_calls(stage).is_empty() {
                    self.end_turn(stage, now, "IN_PROGRESS");
                    if let Some(script) = &mut self.script {
                        script.completed = true;
                    }
                }
                return false;
            }
            Action::Answers(then) => then.unwrap_or_default(),
        };
        self.read_answers(stage, now, step.expect.as_ref(), then);
        true
    }

    /// Does a step that does not wait.
    fn act(&mut self, stage: &mut Stage, now: Instant, deed: Deed) {
        let Some(script) = &mut self.script else { return };
        match deed {
            Deed::Pause(span) => script.wait = Wait::Until(now + span),
            Deed::Say(say) => {
                script.wait = Wait::Sent;
                script.stale = say.stale;
                let wire = &stage.scenario.wire;
                let utterance = utterance::plan(&say, &stage.voices, wire.burst, wire.tiny_first);
                self.output_follows();
                self.reply.say(stage, now, utterance);
                self.perform_due(stage, now);
            }
            Deed::Call(plans) => {
                self.output_follows();
                self.call(stage, now, &plans);
            }
            Deed::Think(text) => {
                self.output_follows();
                self.reply.open = true;
                self.send(wire::thought(&text));
            }
            Deed::CancelCalls => {
                let ids = stage.cancel(&script.calls, now);
                if !ids.is_empty() {
                    self.send(wire::cancellation(&ids));
                }
            }
            Deed::GoAway(left) => {
                self.expires = Some(now + left);
                self.send(wire::go_away(left));
            }
            Deed::NotResumable => self.send(wire::not_resumable()),
            Deed::RawJson(value) => self.out.push_back(Out::Text(value.to_string())),
            Deed::RawText(text) => self.out.push_back(Out::Text(text)),
            Deed::RawBytes(bytes) => self.out.push_back(Out::Bytes(bytes)),
            Deed::Huge(bytes) => self.out.push_back(Out::Text(wire::huge(bytes).to_string())),
            Deed::Close(close) => self.close(close.code, &close.reason),
            Deed::Drop => self.finish(Out::Drop),
            Deed::HalfOpen => self.finish(Out::HalfOpen),
        }
    }

    /// Every call is answered: the expectations are checked, and `then` follows if an answer asks for speech.
    fn read_answers(
        &mut self,
        stage: &mut Stage,
        now: Instant,
        expect: Option<&AnswerLike>,
        then: Vec<Step>,
    ) {
        let Some(script) = &mut self.script else { return };
        let answers = std::mem::take(&mut script.unread);
        if let Some(expect) = expect {
            if answers.is_empty() {
                stage.report.unmet.push(format!("turn {}: no answer, expected {expect:?}", script.turn));
            }
            for answer in answers.iter().filter(|answer| !expect.fits(answer)) {
                let Answered { id, name, response, scheduling, .. } = answer;
                let got = format!("{response} scheduling {scheduling:?}");
                let text = format!("turn {}: {name} ({id}) answered {got}, expected {expect:?}", script.turn);
                tracing::warn!("{text}");
                stage.report.unmet.push(text);
            }
        }
        if answers.iter().any(|answer| answer.scheduling.as_deref() != Some("SILENT")) {
            then.into_iter().rev().for_each(|step| script.steps.push_front(step));
        }
        if !answers.is_empty() {
            script.wait = Wait::Until(now + stage.scenario.wire.reply_after);
        }
    }

    /// Sends one `toolCall` message.
    fn call(&mut self, stage: &mut Stage, now: Instant, plans: &[CallPlan]) {
        let mut calls: Vec<Value> = Vec::new();
        let mut stray: Vec<Value> = Vec::new();
        for plan in plans {
            let id = stage.open_call(plan.id.as_deref(), &plan.name, Value::Object(plan.args.clone()), now);
            let call = wire::call(&id, &plan.name, &plan.args);
            if plan.in_model_turn {
                stray.push(call.clone());
            }
            calls.extend((0..plan.times).map(|_| call.clone()));
            if let Some(script) = &mut self.script {
                script.calls.push(id);
            }
        }
        self.reply.open = true;
        if !stray.is_empty() {
            self.send(wire::call_parts(&stray));
        }
        self.send(wire::tool_call(&calls));
    }

    /// The open calls of this script that keep the model from going on.
    fn blocking_calls(&self, stage: &Stage) -> Vec<String> {
        let calls = self.script.iter().flat_map(|script| &script.calls).filter(|id| stage.is_open(id));
        let blocks = |id: &String| {
            let called = stage.report.calls.iter().find(|called| called.id == *id);
            called.is_some_and(|called| self.validator.blocks(&called.name))
        };
        calls.filter(|id| blocks(id)).cloned().collect()
    }

    /// Output follows: a turn that only waits to be played out is completed first.
    fn output_follows(&mut self) {
        if self.reply.complete_at.is_some() {
            self.complete_turn();
        }
    }

    /// Everything of this turn was made.
    fn end_turn(&mut self, stage: &Stage, now: Instant, status: &'static str) {
        if self.reply.open {
            self.send(wire::generation_complete());
        }
        self.reply.open = false;
        self.reply.status = self.validator.reports_status().then_some(status);
        match stage.scenario.wire.turn_end {
            TurnEnd::Never => self.reply.completed(),
            TurnEnd::Early => self.complete_turn(),
            TurnEnd::Played => {
                let at = self.reply.played_at(now);
                if at <= now { self.complete_turn() } else { self.reply.complete_at = Some(at) }
            }
        }
    }

    fn complete_turn(&mut self) {
        let heard = std::mem::take(&mut self.heard);
        self.send(wire::turn_complete(self.reply.status, heard, self.reply.said));
        self.reply.completed();
    }

    /// Speech or content cut in: the rest of the reply is not sent, and calls that block the model are cancelled.
    pub(super) fn interrupt(&mut self, stage: &mut Stage, now: Instant) {
        stage.report.interruptions += 1;
        self.send(wire::interrupted());
        let stale = self.script.as_ref().map_or(Duration::ZERO, |script| script.stale);
        for (rate, bytes) in self.reply.cut(stage, now, stale) {
            self.send(wire::audio(rate, &bytes));
        }
        let cancelled = stage.cancel(&self.blocking_calls(stage), now);
        if !cancelled.is_empty() {
            self.send(wire::cancellation(&cancelled));
        }
        self.script = None;
        self.complete_turn();
    }
}
