// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls that changed something and have ended, for those that come again.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use units::{CallKey, Epoch, Instant, TurnId};

use super::{REMEMBERED, Running};
use crate::tool::{Effect, OutcomeStatus, ToolSpec};

#[derive(Default)]
pub(crate) struct Finished {
    calls: VecDeque<Done>,
}

struct Done {
    call: CallKey,
    name: String,
    digest: [u8; 32],
    turn: TurnId,
    at: Instant,
    /// The connection that asked.
    epoch: Epoch,
    /// The model may not have read how it ended.
    unread: bool,
    /// Nobody knows how it ended.
    doubtful: bool,
    /// An equal call was asked for since: it stands for more than itself.
    asked_again: bool,
    /// It is being undone.
    undoing: bool,
    body: Value,
}

impl Done {
    /// It is as if it had ended here: the model may repeat the call that it was read for too.
    fn is_read(&mut self, now: Instant, turn: TurnId, epoch: Epoch) {
        (self.unread, self.at, self.turn, self.epoch) = (false, now, turn, epoch);
    }
}

/// What asks to run, and where.
pub(crate) struct Again<'a> {
    pub(crate) spec: &'a ToolSpec,
    pub(crate) digest: &'a [u8; 32],
    pub(crate) turn: TurnId,
    pub(crate) epoch: Epoch,
}

/// How an equal call ended.
pub(crate) struct Recalled {
    pub(crate) body: Value,
    /// The model may not have known.
    pub(crate) unread: bool,
}

impl Finished {
    /// Remembers how a call that changed something ended, or what became of it after all. `unread` if the model may not
    /// read its answer.
    pub(crate) fn remember(
        &mut self,
        now: Instant,
        (call, running): (CallKey, &Running),
        status: OutcomeStatus,
        body: &Value,
        unread: bool,
    ) {
        let repeatable = running.spec.effect != Effect::Read
            && matches!(status, OutcomeStatus::Success | OutcomeStatus::Unknown);
        if !repeatable {
            return;
        }
        let before = self.calls.iter().position(|done| done.call == call);
        let before = before.and_then(|place| self.calls.remove(place));
        self.calls.push_back(Done {
            call,
            name: running.spec.name.clone(),
            digest: running.digest,
            turn: running.turn,
            at: now,
            epoch: running.epoch,
            unread: unread || before.as_ref().is_some_and(|done| done.unread),
            doubtful: status == OutcomeStatus::Unknown,
            asked_again: running.asked_again || before.is_some_and(|done| done.asked_again),
            undoing: false,
            body: body.clone(),
        });
        if self.calls.len() > REMEMBERED {
            self.calls.pop_front();
        }
    }

    /// An equal call is asked for.
    pub(crate) fn on_asked_again(&mut self, name: &str, digest: &[u8; 32]) {
        for done in &mut self.calls {
            done.asked_again |= !done.undoing && done.name == name && done.digest == *digest;
        }
    }

    /// Begins to undo what `call` did. False if that must not be: it stands for another call too, or is not remembered.
    pub(crate) fn begin_undo(&mut self, call: CallKey) -> bool {
        let done = self.find(call).filter(|done| !done.asked_again && !done.undoing);
        done.is_some_and(|done| {
            done.undoing = true;
            true
        })
    }

    /// What `call` did is undone, and may be done anew; or it was to be, and stands.
    pub(crate) fn end_undo(&mut self, call: CallKey, undone: bool) {
        if undone {
            self.calls.retain(|done| done.call != call);
        } else if let Some(done) = self.find(call) {
            done.undoing = false;
        }
    }

    /// Tool and digest of `call`, if it is remembered.
    pub(crate) fn of(&self, call: CallKey) -> Option<(&str, &[u8; 32])> {
        let done = self.calls.iter().find(|done| done.call == call)?;
        Some((&done.name, &done.digest))
    }

    fn find(&mut self, call: CallKey) -> Option<&mut Done> {
        self.calls.iter_mut().find(|done| done.call == call)
    }

    /// The model may not read the answer of `call`.
    pub(crate) fn on_unread(&mut self, call: CallKey) {
        if let Some(done) = self.find(call) {
            done.unread = true;
        }
    }

    /// The model reads how `call` ended in the answer of an equal one, made in `turn` on `epoch`.
    pub(crate) fn on_read(&mut self, now: Instant, call: CallKey, turn: TurnId, epoch: Epoch) {
        if let Some(done) = self.find(call) {
            done.is_read(now, turn, epoch);
        }
    }

    /// The answer of `call` is sent when the person was last heard in `turn`. If that is later than it was asked for, a
    /// model may have dropped it.
    pub(crate) fn on_answered(&mut self, call: CallKey, turn: TurnId) {
        if let Some(done) = self.find(call) {
            done.unread |= done.turn < turn;
        }
    }

    /// How an equal call ended, if that was `within` in the same turn, or `within_unread` and the model may not know.
    /// From here on it knows. What may be tried again because nobody knows how it ended is so once.
    pub(crate) fn recall(
        &mut self,
        now: Instant,
        again: &Again<'_>,
        (within, within_unread): (Duration, Duration),
    ) -> Option<Recalled> {
        let mut recent = self.calls.iter_mut().rev().filter(|done| {
            let age = now - done.at;
            let unread = done.unread || done.epoch != again.epoch;
            let counts = (done.turn == again.turn && age < within) || (unread && age < within_unread);
            counts && !done.undoing && done.name == again.spec.name && done.digest == *again.digest
        });
        let last = recent.next()?;
        if again.spec.idempotent && last.doubtful && !recent.any(|done| done.doubtful) {
            return None;
        }
        let unread = last.unread || last.epoch != again.epoch;
        if unread {
            last.is_read(now, again.turn, again.epoch);
        }
        Some(Recalled { body: last.body.clone(), unread })
    }
}
