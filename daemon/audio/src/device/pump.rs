// SPDX-License-Identifier: MIT OR Apache-2.0

//! Devices that do not move by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use units::Hz;

use crate::dsp::HOP;

/// A device that is moved from outside.
pub(crate) trait Pump: Send {
    /// Moves the device by exactly 10 ms.
    fn pump(&mut self);
}

/// How many frames each 10 ms are, for rates that do not divide by 100 too.
#[derive(Debug)]
pub(crate) struct Cadence {
    /// Millionths of a frame in a second.
    step: u64,
    hops: u64,
    frames: u64,
}

impl Cadence {
    pub(crate) const fn new(rate: Hz) -> Self {
        Self::skewed(rate, 0)
    }

    /// One that gives this many ppm more.
    pub(crate) const fn skewed(rate: Hz, ppm: i32) -> Self {
        let millionths = 1_000_000u64.saturating_add_signed(ppm as i64);
        Self { step: rate.get() as u64 * millionths, hops: 0, frames: 0 }
    }

    /// Frames in the next 10 ms; never off by more than a frame in the sum.
    pub(crate) fn next(&mut self) -> usize {
        self.hops += 1;
        let due =
            u64::try_from(u128::from(self.step) * u128::from(self.hops) / 100_000_000).unwrap_or(u64::MAX);
        let frames = due - self.frames;
        self.frames = due;
        usize::try_from(frames).unwrap_or(usize::MAX)
    }
}

/// Pumps a device on the clock, from a thread of its own. Dropping it stops the thread and waits for it: 10 ms and
/// whatever the device takes for its last move.
pub(crate) struct Pacer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pacer {
    /// Starts it.
    pub(crate) fn start(mut device: Box<dyn Pump>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("audio-pump".into()).spawn(move || {
            let mut due = Instant::now();
            while !stopped.load(Relaxed) {
                device.pump();
                due += HOP;
                let now = Instant::now();
                // After a stall the lost time stays lost, as with a real device.
                if now > due + HOP * 10 {
                    due = now;
                }
                thread::sleep(due.saturating_duration_since(now));
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A pump that panicked has said so already, and is gone either way.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use super::*;

    #[test]
    fn a_second_is_a_second_at_any_rate() {
        for rate in [8_000, 11_025, 22_050, 44_100, 47_999, 48_000] {
            let mut cadence = Cadence::new(Hz::new(rate).unwrap());
            let sum: usize = (0..100).map(|_| cadence.next()).sum();
            assert_eq!(sum, rate as usize);
        }
    }

    #[test]
    fn a_clock_that_is_fast_gives_more() {
        let mut cadence = Cadence::skewed(Hz::K48, 100);
        let sum: usize = (0..100_000).map(|_| cadence.next()).sum();
        assert_eq!(sum, 48_004_800);
    }
}
