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
    /// When approvals were spent.
    effects: VecDeque<Instant>,
    declines: u32,
    violations: u32,
    /// For the rest of the conversation it is asked on the screen only.
    touch_only: bool,
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

    pub(super) fn is_touch_only(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|counts| counts.touch_only)
    }

    pub(super) fn on_proposed(&mut self, gate: &GateConfig, now: Instant, tool: &str) {
        push(&mut self.of(tool).proposals, now, gate.proposals);
    }

    /// Somebody agreed: the question was no nagging.
    pub(super) fn on_granted(&mut self, tool: &str) {
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
    pub(super) fn on_declined(&mut self, gate: &GateConfig, tool: &str) -> bool {
        let counts = self.of(tool);
        counts.declines += 1;
        counts.declines >= gate.declines && !std::mem::replace(&mut counts.touch_only, true)
    }

    /// A call tried to get past a refusal. True if the tool needs the screen from here on, and did not before.
    pub(super) fn on_violation(&mut self, gate: &GateConfig, tool: &str) -> bool {
        let counts = self.of(tool);
        counts.violations = counts.violations.saturating_add(1);
        counts.violations >= gate.violations && !std::mem::replace(&mut counts.touch_only, true)
    }

    /// Its answers were not understood. True if the tool needs the screen from here on, and did not before.
    pub(super) fn on_not_understood(&mut self, tool: &str) -> bool {
        !std::mem::replace(&mut self.of(tool).touch_only, true)
    }

    /// The conversation is over: the next person has turned nothing down. What tools did stays.
    pub(super) fn on_conversation_over(&mut self) {
        for counts in self.tools.values_mut() {
            *counts = Counts { effects: std::mem::take(&mut counts.effects), ..Counts::default() };
        }
    }

    fn of(&mut self, tool: &str) -> &mut Counts {
        self.tools.entry(tool.to_owned()).or_default()
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
