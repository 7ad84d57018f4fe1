// SPDX-License-Identifier: MIT OR Apache-2.0

//! A limit on the work that a server can cause: everything it sends costs time that has to pass before more is read.
//!
//! All servers, and the conversation itself, share one thread. Whoever writes without end would have it for itself, as
//! there is always something to read.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How much may be owed before reading rests: what is taken in one go. 32 messages, 128 lines or 128 KiB, some
/// milliseconds of work on a small device.
const BURST: Duration = Duration::from_millis(16);

/// Price of one message: 2000 a second, some tens of times what a server that tells its progress sends.
pub(super) const MESSAGE: Duration = Duration::from_micros(500);

/// Price of one line, whatever is in it: a driver that prints 8000 lines a second is not held up.
pub(super) const LINE: Duration = Duration::from_micros(125);

/// Bytes for 1 ms: about 8 MB/s, so the longest message is read in half a second.
const BYTES_PER_MS: usize = 8 * 1024;

/// What one source has cost, against the time that has passed.
#[derive(Debug)]
pub(super) struct Pace {
    /// When all of it is paid.
    paid: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { paid: Instant::now() }
    }

    pub(super) fn spend(&mut self, price: Duration) {
        self.paid = self.paid.max(Instant::now()) + price;
    }

    pub(super) fn spend_bytes(&mut self, bytes: usize) {
        let micros = bytes.saturating_mul(1000) / BYTES_PER_MS;
        self.spend(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)));
    }

    /// Comes back when more may be read: at once, unless more than a burst is owed. May be dropped at any moment.
    pub(super) async fn rest(&self) {
        if let Some(until) = self.paid.checked_sub(BURST).filter(|until| *until > Instant::now()) {
            sleep_until(until).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_what_follows_takes_its_time() {
        let mut pace = Pace::new();
        let since = Instant::now();
        for _ in 0..32 {
            pace.rest().await;
            pace.spend(MESSAGE);
        }
        assert_eq!(since.elapsed(), Duration::ZERO);
        for _ in 0..2000 {
            pace.rest().await;
            pace.spend(MESSAGE);
        }
        let took = since.elapsed();
        assert!((Duration::from_millis(990)..Duration::from_millis(1010)).contains(&took), "{took:?}");
        // What was not used is not saved up beyond the burst.
        tokio::time::advance(Duration::from_secs(60)).await;
        let since = Instant::now();
        for _ in 0..64 {
            pace.rest().await;
            pace.spend_bytes(64 * 1024);
        }
        let took = since.elapsed();
        assert!((Duration::from_millis(480)..Duration::from_millis(520)).contains(&took), "{took:?}");
    }
}
