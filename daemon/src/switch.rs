// SPDX-License-Identifier: MIT OR Apache-2.0

//! The owner's switch of the microphone, which works whatever the daemon is about and which no model can reach.

use tokio::sync::watch;

/// Where it was last turned to, if it was. Clones are one.
#[derive(Clone, Debug)]
pub struct Switch(watch::Sender<Option<bool>>);

impl Default for Switch {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Switch {
    /// Turns the microphone on or off. Never waits.
    pub fn turn(&self, on: bool) {
        self.0.send_replace(Some(on));
    }

    /// Each turn from here on, and first where it stands if it was turned before: what nobody could obey then still holds.
    #[must_use]
    pub fn flips(&self) -> Flips {
        let mut flips = self.0.subscribe();
        flips.mark_changed();
        Flips(flips)
    }
}

/// What becomes of a [`Switch`].
#[derive(Debug)]
pub struct Flips(watch::Receiver<Option<bool>>);

impl Flips {
    /// Waits until it is turned; whether it is on. Of several turns at once the last counts. Safe to drop.
    pub async fn next(&mut self) -> bool {
        while self.0.changed().await.is_ok() {
            if let Some(on) = *self.0.borrow_and_update() {
                return on;
            }
        }
        // The switch is gone.
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn where_it_stood_before_anybody_looked_is_told_once_and_so_is_each_turn() {
        let switch = Switch::default();
        assert_eq!(switch.flips().next().now_or_never(), None, "nobody has turned it");
        switch.turn(false);
        let mut flips = switch.flips();
        assert_eq!(flips.next().now_or_never(), Some(false));
        assert_eq!(flips.next().now_or_never(), None);
        switch.turn(false);
        assert_eq!(
            flips.next().now_or_never(),
            Some(false),
            "it may have been switched on by others meanwhile"
        );
        switch.turn(false);
        switch.turn(true);
        assert_eq!(flips.next().now_or_never(), Some(true));
    }
}
