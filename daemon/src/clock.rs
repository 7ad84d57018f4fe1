// SPDX-License-Identifier: MIT OR Apache-2.0

//! The one place that reads a clock.

use std::time::Duration;

use units::Instant;

/// The daemon's clock. Both kinds count from an origin that no peer, model or tool can move.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// Time since the device booted, suspend included, so that an approval does not outlive a suspend.
    Boot,
    /// The runtime's own clock from this origin on; it can be paused, and then jumps to the next timer.
    Runtime(tokio::time::Instant),
}

impl Clock {
    /// The clock of the runtime this is called on, starting at zero.
    #[must_use]
    pub fn runtime() -> Self {
        Self::Runtime(tokio::time::Instant::now())
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        match self {
            Self::Boot => Instant::from_boot(boot_time()),
            Self::Runtime(origin) => Instant::from_boot(origin.elapsed()),
        }
    }

    /// Waits until `deadline`; for ever if there is none.
    pub async fn sleep_until(&self, deadline: Option<Instant>) {
        match deadline {
            Some(deadline) => tokio::time::sleep(deadline - self.now()).await,
            None => std::future::pending().await,
        }
    }
}

/// The time of day for a record, in milliseconds since 1970. Nothing is decided by it: it jumps when somebody sets it.
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    millis(since)
}

/// A span as it is written down, in whole milliseconds.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn boot_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let secs = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(secs, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_clock_jumps_to_the_deadline() {
        let clock = Clock::runtime();
        let deadline = clock.now() + Duration::from_secs(3600);
        clock.sleep_until(Some(deadline)).await;
        assert!(clock.now() >= deadline);
    }

    #[test]
    fn boot_time_does_not_go_back() {
        let first = Clock::Boot.now();
        assert!(Clock::Boot.now() >= first);
        assert!(first > Instant::ZERO);
    }
}
