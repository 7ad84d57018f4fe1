// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lets a driver that keeps failing rest, so that nobody waits for it again and again.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::HalError;

/// Failures in a row after which a driver rests.
pub const BREAKER_FAILURES: u32 = 3;

/// First rest. It doubles with every further failure.
pub const BREAKER_REST_MIN: Duration = Duration::from_secs(1);

/// Longest rest: within a minute of being plugged back in, a device works again.
pub const BREAKER_REST_MAX: Duration = Duration::from_secs(60);

/// Pure: `now` is an argument.
#[derive(Debug)]
pub(crate) enum Breaker {
    /// Calls go through; this many failed in a row.
    Closed { failures: u32 },
    /// Calls are answered with `cause` until `until`; then one goes through as a probe.
    Resting { until: Instant, rest: Duration, cause: HalError },
}

impl Breaker {
    pub(crate) const fn new() -> Self {
        Self::Closed { failures: 0 }
    }

    /// Whether a call may go through.
    ///
    /// # Errors
    /// The failure that made the driver rest.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), HalError> {
        match self {
            Self::Closed { .. } => Ok(()),
            Self::Resting { until, cause, .. } if now < *until => Err(cause.clone()),
            Self::Resting { until, rest, .. } => {
                // This call is the probe. Everyone else waits for its verdict, or for one more rest if it has none.
                *until = now + *rest;
                Ok(())
            }
        }
    }

    /// Takes the verdict of a call that went through.
    pub(crate) fn settle(&mut self, now: Instant, failure: Option<&HalError>) {
        let blamed = failure.filter(|error| error.kind.blames_device());
        *self = match (&*self, blamed) {
            (_, None) => Self::Closed { failures: 0 },
            (Self::Closed { failures }, Some(_)) if failures + 1 < BREAKER_FAILURES => {
                Self::Closed { failures: failures + 1 }
            }
            (Self::Closed { .. }, Some(cause)) => {
                Self::Resting { until: now + BREAKER_REST_MIN, rest: BREAKER_REST_MIN, cause: cause.clone() }
            }
            (Self::Resting { rest, .. }, Some(cause)) => {
                let rest = (*rest * 2).min(BREAKER_REST_MAX);
                Self::Resting { until: now + rest, rest, cause: cause.clone() }
            }
        };
    }

    pub(crate) fn resting_until(&self, now: Instant) -> Option<Instant> {
        match self {
            Self::Closed { .. } => None,
            Self::Resting { until, .. } => (now < *until).then_some(*until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn failure() -> HalError {
        HalError::new(ErrorKind::NoAck, "no answer")
    }

    #[test]
    fn rests_after_three_failures_and_lets_one_probe_through() {
        let start = Instant::now();
        let mut breaker = Breaker::new();
        for _ in 0..BREAKER_FAILURES {
            assert_eq!(breaker.admit(start), Ok(()));
            breaker.settle(start, Some(&failure()));
        }
        assert_eq!(breaker.admit(start), Err(failure()));
        let later = start + BREAKER_REST_MIN;
        assert_eq!(breaker.admit(later), Ok(()), "the probe");
        assert_eq!(breaker.admit(later), Err(failure()), "everyone else waits");
        breaker.settle(later, None);
        assert_eq!(breaker.admit(later), Ok(()));
    }

    #[test]
    fn the_rest_doubles_up_to_its_bound() {
        let mut now = Instant::now();
        let mut breaker = Breaker::Closed { failures: BREAKER_FAILURES - 1 };
        let mut rests = Vec::new();
        for _ in 0..8 {
            breaker.settle(now, Some(&failure()));
            let until = breaker.resting_until(now).unwrap_or(now);
            rests.push((until - now).as_secs());
            now = until;
            assert_eq!(breaker.admit(now), Ok(()));
        }
        assert_eq!(rests, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_callers_mistake_does_not_count() {
        let now = Instant::now();
        let mut breaker = Breaker::new();
        for _ in 0..10 {
            breaker.settle(now, Some(&HalError::new(ErrorKind::NotFound, "no such channel")));
        }
        assert_eq!(breaker.admit(now), Ok(()));
    }
}
