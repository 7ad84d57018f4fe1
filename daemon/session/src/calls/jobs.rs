// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls that go on without being waited for: answered at once that they run, and told of when they end, once.

use units::CallKey;

use super::run::{no_outcome, owed};
use crate::Output;
use crate::answers;
use crate::ledger::{Change, Loose, Open, Owes, Own, Running, Stage, Step, Told};
use crate::notes::Ask;
use crate::session::Session;
use crate::timers::Timer;
use crate::tool::{Effect, OnBargeIn, Outcome};

impl Session {
    /// A running call is answered that it runs.
    pub(super) fn go_on_as_job(&mut self, call: CallKey) {
        let Some(Open { name, stage: Stage::Running(running), .. }) = self.ledger.take(call) else {
            return;
        };
        let undo = running.undo.clone();
        self.answer(call, name, Told { undo, ..Told::ours(answers::running(), Owes::SpeechIfNone) });
        self.ledger.go_on(call, *running);
    }

    /// Where a call that is not answered keeps the microphone shut, it does so for no longer than a person bears.
    pub(super) fn watch_blocking(&mut self) {
        let holds = self.link.up().is_some_and(|(_, capabilities)| capabilities.hold_uplink_during_calls);
        let asked = self.ledger.running().filter(|(_, _, running)| running.own.is_none());
        let started = asked.map(|(_, _, running)| running.started).min();
        match started.filter(|_| holds) {
            Some(started) => self.cx.timers.set(Timer::Blocking, started + self.cx.config.patience.blocking),
            None => self.cx.timers.clear(Timer::Blocking),
        }
    }

    /// [`Timer::Blocking`] has come.
    pub(crate) fn on_blocking(&mut self) {
        let patience = self.cx.config.patience.blocking;
        let now = self.cx.now;
        let due: Vec<_> = self
            .ledger
            .running()
            .filter(|(_, _, running)| running.own.is_none() && running.started + patience <= now)
            .map(|(call, open, running)| (call, open.response, running.spec.effect))
            .collect();
        for (call, response, effect) in due {
            self.go_on_unfinished(call, response, effect);
        }
    }

    /// The tool of a call that is waited for says that it will take long. Of any other there is nothing to be said.
    pub(crate) fn on_became_job(&mut self, call: CallKey) {
        let running = self.ledger.running().find(|(key, ..)| *key == call);
        let running = running.map(|(_, open, running)| (open.response, &running.spec));
        if let Some((response, spec)) = running.filter(|(_, spec)| !spec.ends_session) {
            let effect = spec.effect;
            self.go_on_unfinished(call, response, effect);
        }
    }

    /// A call goes on as a job that the calls behind it had reason to think would end before them.
    fn go_on_unfinished(&mut self, call: CallKey, response: u64, effect: Effect) {
        if effect == Effect::Outbound {
            self.ledger.on_step(response, Step::Unfinished);
        }
        self.go_on_as_job(call);
    }

    pub(super) fn on_job_outcome(&mut self, call: CallKey, running: &Running, outcome: Outcome) {
        let Outcome { status, body, events, clip_after, silent_ok } = outcome;
        let body = answers::object(status.as_str(), body);
        self.gate.on_result(self.person.turn(), &body);
        for event in events {
            self.cx.emit(Output::Event(event));
        }
        self.remember(call, running, status, &body, running.is_agreed());
        let owes = if running.own.is_some() { Owes::Silence } else { owed(running, status, silent_ok) };
        if let Some(clip) = clip_after {
            self.clip_is_due(clip, owes == Owes::Speech);
        }
        if let Some(undoes) = running.own.as_ref().and_then(Own::undoes) {
            self.on_undo_over(undoes, status, &body);
            return;
        }
        // What its answer says is not said yet: then that tells it.
        if !self.ledger.correct(call, &body, owes, Change::of(running.spec.effect, status)) {
            let text = answers::late_result_note(&running.spec.name, &body);
            if owes == Owes::Speech {
                let ask = Ask { asked_at: running.started, wish: answers::TELL, urgent: running.spec.urgent };
                self.ask(text, ask);
            } else {
                self.note(text);
            }
        }
    }

    /// Jobs that should have ended are told of as if they had failed.
    pub(super) fn on_job_deadline(&mut self) {
        let now = self.cx.now;
        let due: Vec<CallKey> =
            self.ledger.jobs().filter(|(_, job)| job.due <= now).map(|(call, _)| call).collect();
        for call in due {
            let Some(job) = self.ledger.take_job(call) else { continue };
            self.cx.emit(Output::Cancel { call });
            let (status, body) = no_outcome(&job);
            let outcome = Outcome { status, body, events: Vec::new(), clip_after: None, silent_ok: false };
            self.on_job_outcome(call, &job, outcome);
            self.ledger.let_go(call, job, Loose::GivenUp { answered: status }, now);
        }
    }

    /// Stops the jobs that the person speaks over, where their tools say so. How they end is told as ever.
    pub(crate) fn stop_jobs(&mut self) {
        let stopped = self
            .ledger
            .jobs()
            .filter(|(_, job)| job.spec.on_barge_in == OnBargeIn::Cancel && !job.begun && job.own.is_none());
        for (call, _) in stopped {
            self.cx.emit(Output::Cancel { call });
        }
    }

    /// A job is not waited for any more, and nobody is told of it unless it has changed something.
    pub(super) fn abandon_job(&mut self, call: CallKey) {
        let Some(job) = self.ledger.take_job(call) else { return };
        if !job.begun {
            self.cx.emit(Output::Cancel { call });
        }
        self.ledger.let_go(call, job, Loose::TakenBack, self.cx.now);
    }
}
