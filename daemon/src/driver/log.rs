// SPDX-License-Identifier: MIT OR Apache-2.0

//! What of the session's notices is worth a line in the log.

use session::{LinkState, Notice};
use tracing::{debug, info, warn};

use super::Running;

impl Running {
    /// One line for what a technician would want to know: what goes wrong with the model's calls, and each change of the
    /// link, the same trouble only once.
    pub(super) fn log(&mut self, notice: &Notice) {
        debug!(?notice);
        if let Notice::FollowUpsSpent { turn } = notice {
            warn!(%turn, "the model has used up its follow-ups: its further calls in this turn are refused");
        }
        if let Notice::CallSpoken { name } = notice {
            warn!(name, "the model spoke a call instead of making it, and was cut off");
        }
        let Notice::Link { state, text, .. } = notice else { return };
        match state {
            LinkState::Up => {
                info!("link up");
                self.trouble.clear();
            }
            LinkState::Waiting | LinkState::Down if !text.is_empty() && *text != self.trouble => {
                warn!("no link: {text}");
                self.trouble.clone_from(text);
            }
            LinkState::Waiting | LinkState::Down | LinkState::Connecting | LinkState::Closing => {}
        }
    }
}
