// SPDX-License-Identifier: MIT OR Apache-2.0

//! One question about one call.

use units::{Instant, PendingId, TurnId};

use crate::person::Window;
use crate::tool::{Prepared, ToolSpec};

pub(super) struct Question {
    pub(super) id: PendingId,
    pub(super) spec: ToolSpec,
    pub(super) prepared: Prepared,
    pub(super) summary: String,
    pub(super) asked_in: TurnId,
    /// Unclear answers so far.
    pub(super) unclear: u32,
    /// Times it was spoken.
    pub(super) presentations: u32,
}

impl Question {
    /// Same arguments. The digest decides; the arguments are compared too, so that a catalog with a broken digest
    /// cannot make one approval fit another call.
    pub(super) fn is_about(&self, prepared: &Prepared) -> bool {
        self.prepared.digest == prepared.digest && self.prepared.args == prepared.args
    }

    /// The turns that can answer it. That one is in time is the timer's to decide, that it was not used before the
    /// person's.
    pub(super) fn window(&self, heard_at: Instant, last: Option<TurnId>) -> Window {
        Window { asked_in: self.asked_in, heard_at, last }
    }
}
