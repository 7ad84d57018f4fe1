//! Calls that changed something and have ended, for those that come again.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use units::{Epoch, Instant, TurnId};

use super::{REMEMBERED, Running};
use crate::tool::{Effect, OutcomeStatus};

#[derive(Default)]
pub(crate) struct Finished {
    calls: VecDeque<Done>,
}

struct Done {
    name: String,
    digest: [u8; 32],
    turn: TurnId,
    at: Instant,
    epoch: Epoch,
    body: Value,
}

impl Finished {
    /// Remembers how a call that changed something ended.
    pub(crate) fn remember(
        &mut self,
        now: Instant,
        epoch: Epoch,
        running: &Running,
        status: OutcomeStatus,
        body: &Value,
    ) {
        let repeatable = running.spec.effect != Effect::Read
            && matches!(status, OutcomeStatus::Success | OutcomeStatus::Unknown);
        if !repeatable {
            return;
        }
        self.calls.push_back(Done {
            name: running.spec.name.clone(),
            digest: running.digest,
            turn: running.turn,
            at: now,
            epoch,
            body: body.clone(),
        });
        if self.calls.len() > REMEMBERED {
            self.calls.pop_front();
        }
    }

    /// How an equal call ended, if that was `within` in the same turn, or `within_relinked` on another link.
    pub(crate) fn recall(
        &self,
        now: Instant,
        call: (&str, &[u8; 32]),
        turn: TurnId,
        epoch: Epoch,
        (within, within_relinked): (Duration, Duration),
    ) -> Option<&Value> {
        let (name, digest) = call;
        self.calls
            .iter()
            .rev()
            .filter(|done| done.name == name && done.digest == *digest)
            .find(|done| {
                let age = now - done.at;
                (done.turn == turn && age < within) || (done.epoch != epoch && age < within_relinked)
            })
            .map(|done| &done.body)
    }
}
