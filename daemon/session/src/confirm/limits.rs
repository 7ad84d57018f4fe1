// SPDX-License-Identifier: MIT OR Apache-2.0

//! How often a person may be asked, and a tool may act: what wears people down, and what should not be possible however
//! they answer.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use units::Instant;

use crate::config::GateConfig;

/// Counts by tool.
#[derive(Default)]
pub(super) struct Limits {
    tools: BTreeMap<String, Counts>,
}

#[derive(Default)]
struct Counts {
    /// When questions were made that nobody has agreed to.
    proposals: VecDeque<Instant>,
    /// When calls that were agreed to started.
    effects: VecDeque<Instant>,
    /// When it was turned down, and when calls tried to get past that.
    declines: VecDeque<Instant>,
    violations: VecDeque<Instant>,
    /// Since when it is asked on the screen only.
    touch_only: Option<Instant>,
}

/// Why a question is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Proposals,
    Effects,
}

impl Limits {
    /// What is against another question about `tool`.
    pub(super) fn against(&mut self, gate: &GateConfig, now: Instant, tool: &str) -> Option<Limit> {
        let counts = self.tools.get_mut(tool)?;
        if within(&mut counts.effects, now, gate.effects_span) >= gate.effects {
            return Some(Limit::Effects);
        }
        (within(&mut counts.proposals, now, gate.proposals_span) >= gate.proposals)
            .then_some(Limit::Proposals)
    }

    pub(super) fn is_touch_only(&self, gate: &GateConfig, now: Instant, tool: &str) -> bool {
        let since = self.tools.get(tool).and_then(|counts| counts.touch_only);
        since.is_some_and(|since| now - since < gate.lock)
    }

    pub(super) fn on_proposed(&mut self, gate: &GateConfig, now: Instant, tool: &str) {
        push(&mut self.of(tool).proposals, now, gate.proposals);
    }

    /// Somebody agreed, or changed something: the question was no nagging.
    pub(super) fn on_answered(&mut self, tool: &str) {
        self.of(tool).proposals.pop_back();
    }

    /// The question made way for another before anybody heard it.
    pub(super) fn on_unheard(&mut self, tool: &str) {
        self.of(tool).proposals.pop_back();
    }

    pub(super) fn on_effect(&mut self, gate: &GateConfig, now: Instant, tool: &str) {
        push(&mut self.of(tool).effects, now, gate.effects);
    }

    /// Somebody said no. True if the tool needs the screen from here on, and did not before.
    pub(super) fn on_declined(&mut self, gate: &GateConfig, now: Instant, tool: &str) -> bool {
        let counts = self.of(tool);
        counts.declines.push_back(now);
        within(&mut counts.declines, now, gate.lock) >= gate.declines && counts.lock(gate, now)
    }

    /// A call tried to get past a refusal. True if the tool needs the screen from here on, and did not before.
    pub(super) fn on_violation(&mut self, gate: &GateConfig, now: Instant, tool: &str) -> bool {
        let counts = self.of(tool);
        push(&mut counts.violations, now, gate.violations);
        within(&mut counts.violations, now, gate.lock) >= gate.violations && counts.lock(gate, now)
    }

    /// Its answers were not understood. True if the tool needs the screen from here on, and did not before.
    pub(super) fn on_not_understood(&mut self, gate: &GateConfig, now: Instant, tool: &str) -> bool {
        self.of(tool).lock(gate, now)
    }

    /// The conversation is over: the next person has turned nothing down. How often was asked and done stays, or a model
    /// could end conversations to be rid of it.
    pub(super) fn on_conversation_over(&mut self) {
        for counts in self.tools.values_mut() {
            let (proposals, effects) =
                (std::mem::take(&mut counts.proposals), std::mem::take(&mut counts.effects));
            *counts = Counts { proposals, effects, ..Counts::default() };
        }
    }

    fn of(&mut self, tool: &str) -> &mut Counts {
        self.tools.entry(tool.to_owned()).or_default()
    }
}

impl Counts {
    /// True if it was not locked.
    fn lock(&mut self, gate: &GateConfig, now: Instant) -> bool {
        let before = self.touch_only.replace(now);
        before.is_none_or(|since| now - since >= gate.lock)
    }
}

/// Drops what is older than `span`; how much is left.
fn within(times: &mut VecDeque<Instant>, now: Instant, span: Duration) -> usize {
    while times.front().is_some_and(|at| now - *at >= span) {
        times.pop_front();
    }
    times.len()
}

/// Keeps as many as are ever counted.
fn push(times: &mut VecDeque<Instant>, now: Instant, most: usize) {
    times.push_back(now);
    if times.len() > most {
        times.pop_front();
    }
}
