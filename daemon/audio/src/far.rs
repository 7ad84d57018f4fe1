// SPDX-License-Identifier: MIT OR Apache-2.0

//! The far-end reference: what leaves the loudspeaker, at 16 kHz and on the microphone's clock.
//!
//! Playout is rendered as the loudspeaker asks for it, the microphone delivers on a clock of its own, and both come in
//! periods of their device. What the canceller needs is one hop of reference for each hop of microphone, always the same
//! time before its echo. So the reference is queued here, its position is held against the count of frames the
//! loudspeaker's device has moved, and a resampler whose ratio is driven slowly takes the difference of the clocks out.
//!
//! Silence that a callback had to make up is inserted where it was heard, so that the reference is frame for frame what
//! the device took. Nothing here waits, and nothing allocates once the queue has its size.

use std::collections::VecDeque;
use std::time::Duration;

use rubato::audioadapter_buffers::direct::SequentialSlice;
use rubato::{Async, Resampler as _};
use units::Hz;

use crate::dsp::resample::sinc;
use crate::dsp::{HOP_16K, HOP_24K};

/// Reference kept at most, in frames at 16 kHz: 500 ms, more than any ring before a device holds.
const QUEUE_MAX: usize = 8_000;

/// How far the reference may be from where it should be before it is put there at once: 60 ms in frames at 16 kHz,
/// beyond the longest period of a device (21 ms) and what is read of it late.
const SLIP_MAX: f64 = 960.0;

/// Positions are read every turn and averaged this long, so that the periods of the two devices do not beat.
const AVERAGE: Duration = Duration::from_secs(1);

/// Gains of the loop, per frame and per frame and second: natural frequency 0.1 rad/s, critically damped. At 100 ppm the
/// reference is off by 6 frames for a moment, then by none.
const PROPORTIONAL: f64 = 0.2 / 16_000.0;
const INTEGRAL: f64 = 0.01 / 16_000.0;

/// The largest difference of clocks that is corrected. Cheap USB microphones reach 200 ppm.
const DRIFT_MAX: f64 = 500e-6;

/// Added to the reference: exact silence makes the cancellers three times slower, on denormals (measured 2026-11).
const DITHER: f32 = 1e-6;

/// What a playback device has done so far, in frames at its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Frames it has taken, from the ring or made up.
    pub(crate) moved: u64,
    /// Those of them that were made up.
    pub(crate) made_up: u64,
    /// Its nominal rate.
    pub(crate) rate: Hz,
}

impl Clock {
    /// `frames` of this device at 24 kHz.
    fn at_24k(self, frames: u64) -> u64 {
        (u128::from(frames) * 24_000 / u128::from(self.rate.get())).try_into().unwrap_or(u64::MAX)
    }
}

/// The queue, the resampler and the loop.
pub(crate) struct Far {
    engine: Async<f32>,
    /// 24 kHz, less than a hop.
    waiting: VecDeque<f32>,
    block: Vec<f32>,
    /// 16 kHz.
    ready: VecDeque<f32>,
    /// At 24 kHz, since the device opened: put in, made-up silence included; and that silence alone.
    pushed: u64,
    inserted: u64,
    clock: Option<Clock>,
    lock: Lock,
    /// The difference of the clocks as far as it has been learned; it outlives the device.
    drift: f64,
    seed: u32,
    is_starved: bool,
    counts: Counts,
}

/// What [`Far`] has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Frames (16 kHz) that were wanted before they were rendered.
    pub(crate) starved: u64,
    /// Times the reference was put in place at once.
    pub(crate) aligned: u64,
}

#[derive(Clone, Copy, Debug)]
enum Lock {
    /// The next hop wanted is put in place.
    Open,
    /// In place; where exactly is still being averaged.
    Settling(Mean),
    /// Held `target` frames ahead of what the device has taken.
    Held { target: f64, mean: Mean },
}

#[derive(Clone, Copy, Debug)]
struct Mean {
    since: Duration,
    sum: f64,
    count: u32,
}

impl Mean {
    const fn new(since: Duration) -> Self {
        Self { since, sum: 0.0, count: 0 }
    }

    /// Adds a reading; the mean when it has been long enough.
    fn add(&mut self, now: Duration, value: f64) -> Option<f64> {
        self.sum += value;
        self.count += 1;
        (now >= self.since + AVERAGE).then(|| self.sum / f64::from(self.count))
    }
}

impl Far {
    pub(crate) fn new() -> Self {
        let engine = sinc(2.0 / 3.0, 1.01, HOP_24K);
        let block = vec![0.0; engine.output_frames_max()];
        Self {
            engine,
            waiting: VecDeque::with_capacity(2 * HOP_24K),
            block,
            ready: VecDeque::with_capacity(QUEUE_MAX + HOP_16K),
            pushed: 0,
            inserted: 0,
            clock: None,
            lock: Lock::Open,
            drift: 0.0,
            seed: 1,
            is_starved: false,
            counts: Counts::default(),
        }
    }

    /// A loudspeaker was opened or is gone: what was on its way is forgotten. The drift is kept, as it most likely comes
    /// back.
    pub(crate) fn restart(&mut self) {
        self.forget();
        self.pushed = 0;
        self.inserted = 0;
        self.clock = None;
    }

    /// The microphone was opened, or skipped time: the next hop is put in place anew.
    pub(crate) fn realign(&mut self) {
        self.lock = Lock::Open;
    }

    fn forget(&mut self) {
        self.engine.reset();
        self.steer_to(self.drift);
        self.waiting.clear();
        self.ready.clear();
        self.lock = Lock::Open;
    }

    /// Takes a reading of the device. Once a turn, before anything is taken or pushed.
    pub(crate) fn sync(&mut self, clock: Clock) {
        let silence = clock.at_24k(clock.made_up).saturating_sub(self.inserted);
        self.inserted += silence;
        if silence > QUEUE_MAX as u64 {
            // After a stall. What was queued has long been heard.
            self.forget();
            self.pushed += silence;
        } else {
            for _ in 0..silence {
                self.waiting.push_back(0.0);
                self.pushed += 1;
                self.convert();
            }
        }
        self.clock = Some(clock);
    }

    /// Takes a hop that leaves for the device, gain applied, ±1.0.
    pub(crate) fn push(&mut self, hop: &[f32; HOP_24K]) {
        self.waiting.extend(hop);
        self.pushed += HOP_24K as u64;
        self.convert();
    }

    fn convert(&mut self) {
        while self.waiting.len() >= HOP_24K {
            let mut input = [0.0; HOP_24K];
            input.iter_mut().zip(self.waiting.drain(..HOP_24K)).for_each(|(to, from)| *to = from);
            let frames = self.block.len();
            let adapters = SequentialSlice::new(&input[..], 1, HOP_24K)
                .ok()
                .zip(SequentialSlice::new_mut(&mut self.block[..], 1, frames).ok());
            let made = adapters
                .and_then(|(input, mut out)| self.engine.process_into_buffer(&input, &mut out, None).ok());
            // Both buffers have the size the engine asked for, so it never refuses them.
            debug_assert!(made.is_some());
            self.ready.extend(self.block.iter().take(made.map_or(0, |(_, made)| made)));
        }
        let excess = self.ready.len().saturating_sub(QUEUE_MAX);
        if excess > 0 {
            // Nobody listens: there is no microphone.
            self.ready.drain(..excess);
            self.lock = Lock::Open;
        }
    }

    /// The reference for the next hop of microphone. Silence where there is no loudspeaker.
    pub(crate) fn take(&mut self) -> [f32; HOP_16K] {
        let mut hop = [0.0; HOP_16K];
        if let Some(clock) = self.clock {
            if matches!(self.lock, Lock::Open) {
                self.align(clock);
            }
            let there = self.ready.len().min(HOP_16K);
            hop.iter_mut().zip(self.ready.drain(..there)).for_each(|(to, from)| *to = from);
            self.is_starved = there < HOP_16K;
            self.counts.starved += (HOP_16K - there) as u64;
        }
        for sample in &mut hop {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *sample += if self.seed >> 31 == 0 { DITHER } else { -DITHER };
        }
        hop
    }

    /// Puts the end of the hop that is taken next where the device is: what the microphone has just heard cannot have
    /// left the loudspeaker later than that.
    fn align(&mut self, clock: Clock) {
        let wanted = self.ahead(clock).max(0.0) + HOP_16K as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited on both sides")]
        let wanted = wanted.min(QUEUE_MAX as f64) as usize;
        let wanted = wanted.saturating_sub(self.waiting.len() * 2 / 3);
        let excess = self.ready.len().saturating_sub(wanted);
        self.ready.drain(..excess);
        for _ in self.ready.len()..wanted {
            self.ready.push_front(0.0);
        }
        self.counts.aligned += 1;
        self.lock = Lock::Settling(Mean::new(Duration::MAX));
    }

    /// How much has been pushed that the device has not taken, in frames at 16 kHz.
    fn ahead(&self, clock: Clock) -> f64 {
        (self.pushed as f64 - clock.at_24k(clock.moved) as f64) / 1.5
    }

    /// How far the microphone is ahead of the loudspeaker's device: the reference of what it has heard, `unheard` frames of
    /// which have yet to be taken, beside what the device took last. In frames at 16 kHz.
    fn lead(&self, clock: Clock, unheard: f64) -> f64 {
        unheard + self.ahead(clock) - self.ready.len() as f64 - self.waiting.len() as f64 / 1.5
    }

    /// Holds the reference in place. Once a turn, after the hops of that turn were taken; `unheard` is what the microphone
    /// has delivered beyond them, in frames at 16 kHz. Says whether it had to give up its place, so that the canceller has
    /// to find the echo again.
    pub(crate) fn steer(&mut self, now: Duration, unheard: f64) -> bool {
        let Some(clock) = self.clock else {
            return false;
        };
        let lead = self.lead(clock, unheard);
        let correction = match &mut self.lock {
            Lock::Open => return false,
            Lock::Settling(mean) => {
                if mean.since == Duration::MAX {
                    *mean = Mean::new(now);
                }
                let Some(target) = mean.add(now, lead) else {
                    return false;
                };
                self.lock = Lock::Held { target, mean: Mean::new(now) };
                return false;
            }
            Lock::Held { target, .. } if (lead - *target).abs() > SLIP_MAX => {
                self.lock = Lock::Open;
                return true;
            }
            Lock::Held { target, mean } => {
                let since = mean.since;
                let Some(reading) = mean.add(now, lead) else {
                    return false;
                };
                let off = reading - *target;
                *mean = Mean::new(now);
                let learned = INTEGRAL * off * now.saturating_sub(since).as_secs_f64();
                self.drift = (self.drift + learned).clamp(-DRIFT_MAX, DRIFT_MAX);
                self.drift + PROPORTIONAL * off
            }
        };
        self.steer_to(correction.clamp(-DRIFT_MAX, DRIFT_MAX));
        false
    }

    fn steer_to(&mut self, correction: f64) {
        let set = self
            .engine
            .as_adjustable()
            .map(|engine| engine.set_resample_ratio_relative(1.0 + correction, true));
        debug_assert!(matches!(set, Some(Ok(()))), "the engine is adjustable by 1 %");
    }

    /// How much faster the microphone's clock is than the loudspeaker's, in ppm.
    pub(crate) fn drift_ppm(&self) -> f64 {
        self.drift * 1e6
    }

    /// Whether the last hop taken was not all there: what the microphone hears is not what was to be heard.
    pub(crate) const fn is_starved(&self) -> bool {
        self.is_starved
    }

    pub(crate) const fn counts(&self) -> Counts {
        self.counts
    }
}
