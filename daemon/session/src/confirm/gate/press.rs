// SPDX-License-Identifier: MIT OR Apache-2.0

//! The device's button: held for a moment after the question was heard, it makes the call.

use units::{Instant, PendingId};

use super::super::question::Approval;
use super::{Gate, State};
use crate::context::Context;
use crate::notice::Channel;
use crate::timers::Timer;
use crate::tool::Consent;

/// What is known of the button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Press {
    /// Nothing: it may be stuck.
    Unknown,
    Up,
    /// Pressed while this question waited for it, if one did. Any other press says nothing, however long it lasts.
    Down {
        answers: Option<(PendingId, Instant)>,
    },
}

impl Gate {
    pub(crate) fn on_button(&mut self, cx: &mut Context, down: bool) {
        cx.timers.clear(Timer::Hold);
        self.press = match (self.press, down) {
            (_, false) => Press::Up,
            (Press::Up, true) => {
                let answers = self.waits_for_press().map(|pending| (pending, cx.now));
                if answers.is_some() {
                    cx.after(Timer::Hold, cx.config.gate.hold);
                }
                Press::Down { answers }
            }
            (Press::Unknown, true) => Press::Down { answers: None },
            (pressed @ Press::Down { .. }, true) => pressed,
        };
    }

    /// [`Timer::Hold`] has come: it is held for long enough. The approval, if its question still waits.
    pub(crate) fn on_held(&mut self, cx: &mut Context) -> Option<Approval> {
        let Press::Down { answers: Some((pending, since)) } = self.press else { return None };
        self.press = Press::Down { answers: None };
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Waiting { question, heard_at, overtaken: None }
                if question.id == pending && heard_at < since =>
            {
                cx.timers.clear(Timer::GateDeadline);
                Some(self.commit(cx, question, Channel::Button))
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Told { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => {
                self.state = other;
                None
            }
        }
    }

    /// The question that the button answers, if it was heard to its end.
    fn waits_for_press(&self) -> Option<PendingId> {
        match &self.state {
            State::Waiting { question, .. } if question.spec.consent == Consent::Button => Some(question.id),
            State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Told { .. }
            | State::Waiting { .. }
            | State::Granted { .. } => None,
        }
    }
}
