// SPDX-License-Identifier: MIT OR Apache-2.0

//! The air between a simulated loudspeaker and a simulated microphone.

use std::collections::VecDeque;
use std::time::Duration;

use units::{Db, Hz};

/// How a microphone hears a loudspeaker: directly, and off the walls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// From the moment a frame leaves the loudspeaker until the microphone has it; 11 ms at least, as both devices move
    /// by 10 ms.
    pub delay: Duration,
    /// The level of all of it beside what left the loudspeaker.
    pub gain: Db,
    /// How long the room takes to ring down by 60 dB; zero is no room at all.
    pub ring: Duration,
}

/// How many times a room reflects. Sparse, so that a room costs little; dense enough that a canceller has to model all
/// of it.
const REFLECTIONS: usize = 160;

/// Frames of the loudspeaker kept: 1 s at 48 kHz.
const KEPT: usize = 48_000;

/// What is on its way.
#[derive(Debug)]
pub(super) struct Air {
    path: Path,
    rate: Hz,
    /// Delay in frames and gain of each way.
    ways: Vec<(usize, f32)>,
    /// What left the loudspeaker, newest first.
    sent: VecDeque<f32>,
    /// What comes of it by all ways, and the position of its first frame.
    arriving: VecDeque<f32>,
    first: u64,
    /// Where the microphone is, in frames of the loudspeaker's clock; `None` before its first.
    at: Option<f64>,
}

impl Air {
    pub(super) fn new(path: Path, rate: Hz) -> Self {
        let ways = ways(path, rate);
        Self { path, rate, ways, sent: VecDeque::new(), arriving: VecDeque::new(), first: 0, at: None }
    }

    /// What leaves the loudspeaker in the next 10 ms.
    pub(super) fn send(&mut self, samples: &[i16]) {
        for sample in samples {
            self.sent.push_front(f32::from(*sample));
            let frame = |ago: usize| self.sent.get(ago).copied().unwrap_or(0.0);
            self.arriving.push_back(self.ways.iter().map(|(ago, gain)| gain * frame(*ago)).sum());
        }
        self.sent.truncate(KEPT);
        let excess = self.arriving.len().saturating_sub(KEPT);
        self.arriving.drain(..excess);
        self.first += excess as u64;
    }

    /// The microphone is another: it begins where the loudspeaker is.
    pub(super) fn begin(&mut self) {
        self.at = None;
    }

    /// Adds what the microphone hears in its next frames. `ppm` is how much faster its clock is.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "within the second that is kept"
    )]
    pub(super) fn hear(&mut self, mono: &mut [i16], ppm: i32) {
        let delay = self.path.delay.as_secs_f64() * f64::from(self.rate.get());
        let mut at = self.at.unwrap_or((self.first + self.arriving.len() as u64) as f64 - delay);
        let step = 1e6 / (1e6 + f64::from(ppm));
        for sample in mono {
            let whole = at.floor();
            let part = (at - whole) as f32;
            let [a, b, c, d] = [-1, 0, 1, 2].map(|next| self.arrived(whole as i64 + next));
            // Catmull-Rom: what it adds at speech frequencies is 60 dB down at 48 kHz.
            let curve = (-a + 3.0 * b - 3.0 * c + d) * part + (2.0 * a - 5.0 * b + 4.0 * c - d);
            let heard = b + 0.5 * part * (c - a + part * curve);
            *sample = sample.saturating_add(heard.round() as i16);
            at += step;
        }
        self.at = Some(at);
    }

    /// All ways' sum at one frame of the loudspeaker's clock; silence beyond the second that is kept.
    fn arrived(&self, at: i64) -> f32 {
        let index = u64::try_from(at).ok().and_then(|at| usize::try_from(at.checked_sub(self.first)?).ok());
        index.and_then(|index| self.arriving.get(index).copied()).unwrap_or(0.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a room is shorter than a second")]
fn ways(path: Path, rate: Hz) -> Vec<(usize, f32)> {
    let length = usize::try_from(rate.frames_in(path.ring).0).unwrap_or(0).min(KEPT / 2);
    let mut ways = vec![(0, 1.0)];
    let mut seed = 12_345u32;
    for _ in 0..if length == 0 { 0 } else { REFLECTIONS } {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let ago = (seed >> 8) as usize % length + 1;
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let sign = if seed >> 31 == 0 { 0.3 } else { -0.3 };
        ways.push((ago, sign * 10f32.powf(-3.0 * ago as f32 / length as f32)));
    }
    let power: f32 = ways.iter().map(|(_, gain)| gain * gain).sum();
    let scale = path.gain.amplitude() / power.sqrt();
    ways.iter_mut().for_each(|(_, gain)| *gain *= scale);
    ways
}
