// SPDX-License-Identifier: MIT OR Apache-2.0

//! The button that a person agrees with: read on its lane, told where it stands and then each change.

use std::sync::Arc;
use std::time::Duration;

use hal::PushButton;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{info, warn};

/// How often it is read: a press is held for many times that.
const POLL: Duration = Duration::from_millis(20);

/// How long one reading may take. A driver that hangs is found by its lane then.
const READ_LIMIT: Duration = Duration::from_millis(200);

/// Changes that may wait for the driver: more than a finger makes while it is busy.
const CHANGES: usize = 16;

/// What helps when it cannot be read.
pub(crate) const REMEDY: &str = "plug it in, name an input device as `ls /dev/input/by-id` shows it, and let this user read that \
                                 (group `input`)";

/// What the button does. Nothing, where there is none.
#[derive(Debug)]
pub struct Presses(Option<mpsc::Receiver<bool>>);

impl Presses {
    /// Those of `button`. On the runtime: a task reads it for as long as this lives.
    #[must_use]
    pub fn of(button: Option<Arc<PushButton>>) -> Self {
        Self(button.map(|button| {
            let (told, changes) = mpsc::channel(CHANGES);
            tokio::spawn(read(button, told));
            changes
        }))
    }

    /// Whether it is down, when that is first known, and after each change. Safe to drop.
    pub async fn next(&mut self) -> bool {
        match &mut self.0 {
            Some(changes) => match changes.recv().await {
                Some(down) => down,
                None => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }
}

async fn read(button: Arc<PushButton>, told: mpsc::Sender<bool>) {
    let mut polls = interval(POLL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = None;
    let mut failing = false;
    loop {
        tokio::select! {
            biased;
            () = told.closed() => return,
            _ = polls.tick() => {}
        }
        let down = match button.is_down(Instant::now() + READ_LIMIT).await {
            // When it was pressed nobody saw: that is no press.
            Ok(true) if failing => continue,
            Ok(down) => {
                if std::mem::take(&mut failing) {
                    info!("the button is back");
                }
                down
            }
            Err(fault) => {
                if !std::mem::replace(&mut failing, true) {
                    warn!("the button cannot be read, so nobody can agree with it: {fault}; {REMEDY}");
                }
                // It may have been let go of.
                if last != Some(true) {
                    continue;
                }
                false
            }
        };
        if last != Some(down) {
            last = Some(down);
            if told.send(down).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use hal::{ErrorKind, Lane, sim};
    use tokio::time::sleep;

    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn pressed() -> (Presses, sim::Finger) {
        let (button, finger) = sim::button(&Lane::inline("button"));
        (Presses::of(Some(Arc::new(button))), finger)
    }

    #[tokio::test(start_paused = true)]
    async fn where_it_stands_is_told_once_and_then_each_change() {
        let (mut presses, finger) = pressed();
        finger.press([(ms(100), ms(300))]);
        let from = Instant::now();
        assert!(!presses.next().await);
        assert!(presses.next().await);
        assert!((ms(100)..=ms(120)).contains(&from.elapsed()), "{:?}", from.elapsed());
        assert!(!presses.next().await);
        assert!((ms(400)..=ms(420)).contains(&from.elapsed()), "{:?}", from.elapsed());
        sleep(ms(1000)).await;
        assert_eq!(presses.next().now_or_never(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn g41_one_that_is_down_at_the_start_is_told_to_be() {
        let (button, finger) = sim::button(&Lane::inline("button"));
        finger.hold(true);
        assert!(Presses::of(Some(Arc::new(button))).next().await);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_cannot_be_read_is_up_until_it_is_pressed_anew() {
        let (mut presses, finger) = pressed();
        assert!(!presses.next().await);
        finger.hold(true);
        assert!(presses.next().await);
        finger.fail(ErrorKind::Unplugged);
        assert!(!presses.next().await, "what it was held for is void");
        finger.heal();
        sleep(ms(60_000)).await;
        assert_eq!(presses.next().now_or_never(), None, "nobody saw when it was pressed");
        finger.hold(false);
        sleep(ms(100)).await;
        finger.hold(true);
        assert!(presses.next().await);
    }
}
