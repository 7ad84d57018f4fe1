// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which calls run, and which comes next: one at a time and in order, but for those that only look and say that they may
//! run beside each other.

use units::{CallKey, Epoch, Instant};

use super::{Ledger, Open, Place, Queued, Running, Stage, Step};
use crate::confirm::Permit;
use crate::tool::{Effect, ToolSpec, UndoCall};

impl Ledger {
    pub(super) fn enqueue(&mut self, call: CallKey, response: u64, spec: &ToolSpec) {
        self.queue.push_back(call);
        if let Some(response) = self.response_mut(response) {
            response.together &= spec.parallel && spec.effect == Effect::Read;
        }
    }

    /// The call that is next in order, if it may start beside what runs.
    pub(crate) fn next_to_run(&self) -> Option<(CallKey, &Queued)> {
        let call = *self.queue.front()?;
        let Some(Open { response, stage: Stage::Queued(queued), .. }) = self.open.get(&call) else {
            return None;
        };
        let beside = self.running.is_empty()
            || (self.response(*response).is_some_and(|response| response.together)
                && self.running().all(|(_, open, _)| open.response == *response));
        let lane = queued.spec.lane.as_ref();
        let busy = lane.is_some() && self.with_tool().any(|running| running.spec.lane.as_ref() == lane);
        (beside && !busy).then_some((call, &**queued))
    }

    /// How the outbound calls before `call` in its response have gone.
    pub(crate) fn step_before(&self, call: CallKey) -> Step {
        let response = self.open.get(&call).and_then(|open| self.response(open.response));
        response.map_or(Step::Fine, |response| response.step)
    }

    /// An outbound call of `response` has not gone well.
    pub(crate) fn on_step(&mut self, response: u64, step: Step) {
        if let Some(response) = self.response_mut(response) {
            response.step = step;
        }
    }

    /// Takes a call from the queue to its tool. `undo` says how what it does can be undone.
    pub(crate) fn start(
        &mut self,
        call: CallKey,
        epoch: Epoch,
        now: Instant,
        undo: impl FnOnce(&Permit) -> Option<UndoCall>,
    ) -> Option<(Permit, ToolSpec, u64)> {
        let Some(Open { name, response, stage: Stage::Queued(queued) }) = self.take(call) else {
            return None;
        };
        let Queued { permit, spec, own, .. } = *queued;
        let running = Running {
            spec: spec.clone(),
            digest: *permit.digest(),
            turn: permit.turn(),
            epoch,
            agreed: permit.grant().map(|_| permit.args().clone()),
            begun: false,
            dropped: false,
            asked_again: !self.copies_of(call).is_empty(),
            // What the device makes by itself no provider takes back.
            undo: if own.is_none() { undo(&permit).map(Box::new) } else { None },
            own,
            started: now,
            due: now + spec.timeout,
        };
        self.open.insert(call, Open { name, response, stage: Stage::Running(Box::new(running)) });
        self.running.insert(call);
        Some((permit, spec, response))
    }

    /// The calls that are owed an answer and with their tool, oldest first.
    pub(crate) fn running(&self) -> impl Iterator<Item = (CallKey, &Open, &Running)> {
        self.running.iter().filter_map(|call| match self.open.get(call) {
            Some(open @ Open { stage: Stage::Running(running), .. }) => Some((*call, open, &**running)),
            Some(Open { stage: Stage::Held(_) | Stage::Queued(_) | Stage::Copy(_), .. }) | None => None,
        })
    }

    pub(crate) fn is_running(&self, call: CallKey) -> bool {
        self.running.contains(&call)
    }

    /// Everything that may still touch its lane, but for what was given up or taken back.
    fn with_tool(&self) -> impl Iterator<Item = &Running> {
        self.running().map(|(_, _, running)| running).chain(self.jobs.values())
    }

    /// When the first of the calls with their tools should have ended.
    pub(crate) fn earliest_deadline(&self) -> Option<Instant> {
        self.with_tool().map(|running| running.due).min()
    }

    /// A call is past its point of no return.
    pub(crate) fn on_begun(&mut self, call: CallKey) {
        if let Some(Open { stage: Stage::Running(running), .. }) = self.open.get_mut(&call) {
            running.begun = true;
        } else if let Some(running) = self.jobs.get_mut(&call) {
            running.begun = true;
        } else if let Some(let_go) = self.loose.get_mut(&call) {
            let_go.running.begun = true;
        }
    }

    /// Calls that act on the world outside and are owed an answer should have ended by `at`.
    pub(crate) fn shorten_deadlines(&mut self, at: Instant) {
        for open in self.open.values_mut() {
            if let Stage::Running(running) = &mut open.stage
                && running.spec.effect == Effect::Outbound
            {
                running.due = running.due.min(at);
            }
        }
    }

    /// The provider has cut its reply: the calls of it may be dropped there, with their answers.
    pub(crate) fn on_interrupted(&mut self) {
        for open in self.open.values_mut() {
            if let Stage::Running(running) = &mut open.stage {
                running.dropped = true;
            }
        }
        for place in self.responses.iter().flat_map(|response| &response.places) {
            if let Place::Answered(given) = place {
                self.finished.on_unread(given.call);
            }
        }
    }

    /// The call goes on without being waited for.
    pub(crate) fn go_on(&mut self, call: CallKey, running: Running) {
        self.jobs.insert(call, running);
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = (CallKey, &Running)> {
        self.jobs.iter().map(|(call, running)| (*call, running))
    }

    /// A call with equal arguments goes on as a job.
    pub(crate) fn is_job(&self, name: &str, digest: &[u8; 32]) -> bool {
        self.jobs.values().any(|job| job.is_equal(name, digest))
    }

    pub(crate) fn take_job(&mut self, call: CallKey) -> Option<Running> {
        self.jobs.remove(&call)
    }
}

impl Running {
    pub(super) fn is_equal(&self, name: &str, digest: &[u8; 32]) -> bool {
        self.spec.name == name && self.digest == *digest
    }
}
