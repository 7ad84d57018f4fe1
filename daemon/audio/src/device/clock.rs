// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rate a device really runs at.
//!
//! A device may call itself 16 kHz and deliver 22, and a sound server hands on what it says.

use std::time::Duration;

use units::Hz;

use super::note::Note;

/// Over how long the rate is measured at a time.
const WINDOW: Duration = Duration::from_secs(2);

/// Windows in a row that must say the same: a clock is always off, frames that a busy machine loses are lost once.
const WINDOWS: u32 = 5;

/// Frames of the first moments are not counted: buffers fill and empty.
const SETTLE: Duration = Duration::from_secs(1);

/// A longer gap between two looks, or between two deliveries, belongs to a stall and not to the clock: what was measured
/// up to it is forgotten, and so is the settling after it.
const GAP: Duration = Duration::from_millis(250);

/// Off by more than this, in parts of a hundred, is a fault. Crystals are off by 0.01, and a window of whole
/// periods is off by the moment at which it is looked at, 0.2.
const OFF_PERCENT: f64 = 1.0;

/// Measures one open device.
#[derive(Debug)]
pub(crate) struct Clock {
    rate: Hz,
    looked_at: Duration,
    moved_at: Duration,
    frames: u64,
    /// When, and how many frames had been moved by then.
    since: (Duration, u64),
    /// It begins to count from here.
    settled_at: Duration,
    row: Row,
    is_off: bool,
}

/// Windows in a row that say the same.
#[derive(Debug, Default)]
struct Row {
    pace: Pace,
    windows: u32,
    span: Duration,
    frames: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pace {
    Slow,
    #[default]
    Right,
    Fast,
}

impl Clock {
    pub(crate) fn new(rate: Hz, now: Duration) -> Self {
        Self {
            rate,
            looked_at: now,
            moved_at: now,
            frames: 0,
            since: (now, 0),
            settled_at: now + SETTLE,
            row: Row::default(),
            is_off: false,
        }
    }

    /// `frames` have been moved by `now`. Call it each turn. Says what begins or ends.
    pub(crate) fn look(&mut self, now: Duration, frames: u64) -> Option<Note> {
        let slept = now.saturating_sub(self.looked_at);
        self.looked_at = now;
        let has_moved = frames != self.frames;
        let waited = now.saturating_sub(self.moved_at);
        if has_moved {
            self.moved_at = now;
            self.frames = frames;
        }
        if slept > GAP || waited > GAP {
            self.settled_at = now + SETTLE;
        }
        // A window begins and ends with a delivery, so that it holds whole ones.
        if !has_moved {
            return None;
        }
        if now <= self.settled_at {
            self.since = (now, frames);
            return None;
        }
        let (since, before) = self.since;
        let span = now.saturating_sub(since);
        if span < WINDOW {
            return None;
        }
        self.since = (now, frames);
        self.judge(span, frames - before)
    }

    fn judge(&mut self, span: Duration, frames: u64) -> Option<Note> {
        let declared = f64::from(self.rate.get());
        let off = (rate(span, frames) / declared - 1.0) * 100.0;
        let pace = match off {
            off if off > OFF_PERCENT => Pace::Fast,
            off if off < -OFF_PERCENT => Pace::Slow,
            _ => Pace::Right,
        };
        if pace != self.row.pace {
            self.row = Row { pace, ..Row::default() };
        }
        self.row.windows += 1;
        self.row.span += span;
        self.row.frames += frames;
        let is_off = pace != Pace::Right;
        if self.row.windows < WINDOWS || is_off == std::mem::replace(&mut self.is_off, is_off) {
            return None;
        }
        let measured = rate(self.row.span, self.row.frames);
        let (measured, declared) = (measured / 1_000.0, declared / 1_000.0);
        Some(if is_off {
            Note::Fault(format!(
                "device runs at {measured:.1} kHz instead of {declared} kHz: speech is heard at the wrong pitch; use its \
                 `plughw:` name or another device"
            ))
        } else {
            Note::Well(format!("device runs at {declared} kHz again"))
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "frames of months")]
fn rate(span: Duration, frames: u64) -> f64 {
    frames as f64 / span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A device on virtual time.
    struct Bench {
        clock: Clock,
        now: Duration,
        frames: f64,
        said: Vec<(u64, Note)>,
    }

    impl Bench {
        fn new() -> Self {
            Self { clock: Clock::new(Hz::K16, MS(0)), now: MS(0), frames: 0.0, said: Vec::new() }
        }

        /// Frames come each `period` at this many a second, and are looked at every 4 ms.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
        fn run(&mut self, seconds: u64, rate: f64, period: u64) {
            for at in (0..seconds * 1_000).step_by(4) {
                self.now += MS(4);
                if at % period < 4 {
                    self.frames += rate * MS(period).as_secs_f64();
                }
                if let Some(note) = self.clock.look(self.now, self.frames as u64) {
                    self.said.push((self.now.as_secs(), note));
                }
            }
        }
    }

    #[test]
    fn a_healthy_clock_is_not_spoken_of_whatever_the_period() {
        for period in [4, 20, 84, 200] {
            for rate in [16_000.0 * 1.0003, 16_000.0 * 0.9997, 16_000.0 * 1.005] {
                let mut bench = Bench::new();
                bench.run(120, rate, period);
                assert_eq!(bench.said, [], "{period} ms at {rate}");
            }
        }
    }

    #[test]
    fn a_device_off_by_more_than_a_hundredth_is_said_once_and_so_is_its_cure() {
        let mut bench = Bench::new();
        bench.run(40, 16_000.0 * 0.985, 20);
        bench.run(40, 16_000.0, 20);
        let [(first, Note::Fault(fault)), (second, Note::Well(_))] = &bench.said[..] else {
            panic!("{:?}", bench.said)
        };
        assert!(fault.starts_with("device runs at 15.8 kHz instead of 16 kHz"), "{fault}");
        assert!((10..13).contains(first) && (40..61).contains(second), "{:?}", bench.said);
    }

    #[test]
    fn frames_that_are_lost_now_and_then_are_not_a_matter_of_the_clock() {
        let mut bench = Bench::new();
        for _ in 0..20 {
            bench.run(7, 16_000.0, 20);
            // No gap is long, and a second in eight has half its frames.
            bench.run(1, 8_000.0, 20);
        }
        assert_eq!(bench.said, []);
    }

    #[test]
    fn a_stall_is_not_a_matter_of_the_clock() {
        let mut bench = Bench::new();
        for _ in 0..10 {
            bench.run(8, 16_000.0, 20);
            // The worker was stopped, and the server threw away what it could not deliver.
            bench.now += MS(3_000);
        }
        bench.run(8, 16_000.0, 20);
        bench.run(1, 0.0, 20);
        bench.run(20, 16_000.0, 20);
        assert_eq!(bench.said, []);
    }
}
