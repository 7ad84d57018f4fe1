// SPDX-License-Identifier: MIT OR Apache-2.0

//! A limit on lines: so many a second, the rest counted.

use std::time::Duration;

use tokio::time::Instant;

/// Lets at most `limit` things through in each second and counts the others.
#[derive(Debug)]
pub(super) struct Rate {
    limit: u32,
    since: Instant,
    passed: u32,
    held: u64,
}

/// What becomes of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It passes, and so many were held back in the second that has just ended.
    Pass {
        /// Held back before.
        held: u64,
    },
    /// It is held back.
    Hold,
}

impl Rate {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, since: Instant::now(), passed: 0, held: 0 }
    }

    pub(super) fn next(&mut self) -> Verdict {
        if self.since.elapsed() >= Duration::from_secs(1) {
            self.since = Instant::now();
            self.passed = 0;
        }
        if self.passed >= self.limit {
            self.held += 1;
            return Verdict::Hold;
        }
        self.passed += 1;
        Verdict::Pass { held: std::mem::take(&mut self.held) }
    }

    /// What was held back and not told yet.
    pub(super) fn held(&self) -> u64 {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_limit_is_a_second_and_what_is_held_is_told_with_the_next() {
        let mut rate = Rate::new(2);
        let mut next = || rate.next();
        assert_eq!([next(), next()], [Verdict::Pass { held: 0 }; 2]);
        assert_eq!([next(), next(), next()], [Verdict::Hold; 3]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(next(), Verdict::Pass { held: 3 });
        assert_eq!(next(), Verdict::Pass { held: 0 });
        assert_eq!((next(), rate.held()), (Verdict::Hold, 1));
    }
}
