// SPDX-License-Identifier: MIT OR Apache-2.0

//! Points on the daemon's clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point on the daemon's clock: time since the device booted, suspend included.
///
/// It is a plain value. Reading the clock is the driver's work; everything else is given `now` as an argument.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(Duration);

impl Instant {
    /// The moment the clock started.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// The point `since_boot` after the clock started.
    #[must_use]
    pub const fn from_boot(since_boot: Duration) -> Self {
        Self(since_boot)
    }

    /// Time since the clock started.
    #[must_use]
    pub const fn since_boot(self) -> Duration {
        self.0
    }

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The point `span` before `self`, or the start of the clock.
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Time between the two; zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t+{:.3}s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_go_below_zero() {
        let early = Instant::ZERO + Duration::from_millis(5);
        let late = early + Duration::from_millis(7);
        assert_eq!(late - early, Duration::from_millis(7));
        assert_eq!(early - late, Duration::ZERO);
        assert_eq!(early.saturating_sub(Duration::from_secs(1)), Instant::ZERO);
    }
}
