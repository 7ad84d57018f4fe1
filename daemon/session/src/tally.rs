// SPDX-License-Identifier: MIT OR Apache-2.0

//! What has happened in the present turn of the person, as far as it decides about the calls still to come in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use units::TurnId;

/// Counted per turn. Tools are known by their names, so every count is bounded by the tools there are.
#[derive(Default)]
pub(crate) struct Tally {
    turn: TurnId,
    /// Answers that asked the model to speak again, and refusals past the cap.
    pub(crate) follow_ups: u32,
    /// It was told that no follow-ups are left.
    pub(crate) told_spent: bool,
    /// The model was asked to make a call that it had written out as speech.
    pub(crate) asked_to_call: bool,
    /// Calls with wrong arguments, by tool.
    invalid: BTreeMap<String, u32>,
    /// Results in a row in which nothing was found, by tool.
    empty: BTreeMap<String, u32>,
    /// Tools whose line was spoken.
    announced: BTreeSet<String>,
}

impl Tally {
    /// None of what happened before counts.
    pub(crate) fn begin(&mut self, turn: TurnId) {
        *self = Self { turn, ..Self::default() };
    }

    /// Counts a call of `tool` with wrong arguments: how many there are.
    pub(crate) fn invalid(&mut self, tool: &str) -> u32 {
        count(&mut self.invalid, tool)
    }

    /// Looks at what `tool` found.
    pub(crate) fn found(&mut self, turn: TurnId, tool: &str, body: &Value) {
        if turn != self.turn {
            return;
        }
        if is_empty(body) {
            count(&mut self.empty, tool);
        } else {
            self.empty.remove(tool);
        }
    }

    /// How often in a row `tool` found nothing.
    pub(crate) fn empty(&self, tool: &str) -> u32 {
        self.empty.get(tool).copied().unwrap_or(0)
    }

    pub(crate) fn was_announced(&self, tool: &str) -> bool {
        self.announced.contains(tool)
    }

    pub(crate) fn announced(&mut self, tool: &str) {
        self.announced.insert(tool.to_owned());
    }
}

fn count(counts: &mut BTreeMap<String, u32>, tool: &str) -> u32 {
    let count = counts.entry(tool.to_owned()).or_default();
    *count = count.saturating_add(1);
    *count
}

/// A result that says that nothing was found, as results are shaped.
fn is_empty(body: &Value) -> bool {
    body["count"] == 0 || body["message"] == crate::answers::NO_RECORDS
}
