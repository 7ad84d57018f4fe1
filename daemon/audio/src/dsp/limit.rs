// SPDX-License-Identifier: MIT OR Apache-2.0

//! A look-ahead peak limiter: what a gain makes too loud is turned down before it comes, so that no sample is cut off.
//!
//! The gain that each sample needs is held at its lowest over the look-ahead, released slowly, and averaged over the
//! look-ahead: it is down by the time the peak is due, gets there in a straight line, and moves no faster than that.

/// Delay of the limiter: 24 frames at 24 kHz, 1 ms. Shorter turns the attack into a buzz on low voices; longer is latency.
pub(crate) const LOOK_AHEAD: usize = 24;

/// Nothing louder leaves: -1 dBFS, which leaves room for what a resampler adds between samples.
pub(crate) const CEILING: f32 = 0.891_250_9;

/// Part of the way back that a gain goes in one frame: 63 % in 50 ms at 24 kHz, slow against the pitch of a voice.
const RELEASE: f32 = 1.0 / 1_200.0;

/// 24 kHz mono in place, any length, delayed by [`LOOK_AHEAD`] frames. Real-time: no allocation.
#[derive(Debug)]
pub(crate) struct Limiter {
    /// The last frames that came in; the oldest is due.
    delayed: [f32; LOOK_AHEAD],
    /// What each of them may be multiplied with at most.
    needed: [f32; LOOK_AHEAD],
    /// The last gains before they are averaged.
    gains: [f32; LOOK_AHEAD],
    released: f32,
    at: usize,
}

impl Default for Limiter {
    fn default() -> Self {
        Self {
            delayed: [0.0; LOOK_AHEAD],
            needed: [1.0; LOOK_AHEAD],
            gains: [1.0; LOOK_AHEAD],
            released: 1.0,
            at: 0,
        }
    }
}

impl Limiter {
    /// Limits `samples` to [`CEILING`] either way. Returns how many of those that came in were above it.
    pub(crate) fn apply(&mut self, samples: &mut [f32]) -> u64 {
        let mut above = 0;
        for sample in samples {
            above += u64::from(sample.abs() > CEILING);
            *sample = self.next(*sample);
        }
        above
    }

    fn next(&mut self, sample: f32) -> f32 {
        let at = self.at;
        self.at = (at + 1) % LOOK_AHEAD;
        let due = std::mem::replace(&mut self.delayed[at], sample);
        // What leaves at this step was the oldest of the gains that are averaged, so it is part of the mean still.
        let lowest = self.needed.iter().copied().fold(1.0, f32::min).min(needed(sample));
        self.needed[at] = needed(sample);
        self.released =
            if lowest < self.released { lowest } else { self.released + (lowest - self.released) * RELEASE };
        let gain = self.gains.iter().sum::<f32>() / LOOK_AHEAD_F32;
        self.gains[at] = self.released;
        if gain >= UNITY { due.clamp(-CEILING, CEILING) } else { (due * gain).clamp(-CEILING, CEILING) }
    }
}

const LOOK_AHEAD_F32: f32 = 24.0;

/// A gain that rounding alone keeps from 1: such samples pass as they are.
const UNITY: f32 = 0.999_99;

fn needed(sample: f32) -> f32 {
    if sample.abs() > CEILING { CEILING / sample.abs() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(samples: &[f32]) -> (Vec<f32>, u64) {
        let mut limiter = Limiter::default();
        let mut out: Vec<f32> = samples.iter().copied().chain([0.0; LOOK_AHEAD]).collect();
        let above = limiter.apply(&mut out);
        (out, above)
    }

    #[expect(clippy::cast_precision_loss, reason = "a test tone is short")]
    fn tone(hertz: f32, level: f32, frames: usize) -> Vec<f32> {
        (0..frames).map(|n| level * (std::f32::consts::TAU * hertz * n as f32 / 24_000.0).sin()).collect()
    }

    #[test]
    fn what_fits_passes_as_it_is_and_one_millisecond_later() {
        let quiet = tone(400.0, CEILING, 2_400);
        let (out, above) = limited(&quiet);
        assert_eq!((&out[LOOK_AHEAD..], above), (&quiet[..], 0));
        assert_eq!(out[..LOOK_AHEAD], [0.0; LOOK_AHEAD]);
    }

    #[test]
    fn a_lone_peak_is_turned_down_and_not_cut_off() {
        for at in [0, 1, 23, 24, 100, 599] {
            let mut samples = [0.5; 600];
            samples[at] = 3.0;
            let mut limiter = Limiter::default();
            let mut out: Vec<f32> = samples.iter().copied().chain([0.5; LOOK_AHEAD]).collect();
            assert_eq!(limiter.apply(&mut out), 1);
            let peak = out[at + LOOK_AHEAD];
            assert!((peak - CEILING).abs() < 1e-3, "at {at}: {peak}");
            // Around it the gain has moved by at most 1 / LOOK_AHEAD of the way at a time.
            let rest = out[LOOK_AHEAD..].windows(2).enumerate().filter(|(n, _)| n + 1 != at && *n != at);
            let step = rest.map(|(_, pair)| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
            assert!(step < 0.5 * 0.71 / 20.0, "at {at}: {step}");
        }
    }

    #[test]
    fn a_loud_voice_stays_a_sine_below_the_ceiling() {
        let (out, above) = limited(&tone(400.0, 4.0, 24_000));
        assert!(above > 10_000);
        assert!(out.iter().all(|sample| sample.abs() <= CEILING));
        let steady = &out[12_000..24_000];
        let peak = steady.iter().fold(0.0f32, |peak, sample| peak.max(sample.abs()));
        assert!(peak > 0.95 * CEILING, "{peak}");
        // A sine at the ceiling moves by 0.0933 a frame at most; one that is cut off stands still for two thirds of the time.
        let still = steady.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(still < 100, "{still}");
        let step = steady.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
        assert!(step < 0.11, "{step}");
    }

    #[test]
    fn it_lets_go_slowly_and_wholly() {
        let mut samples = tone(400.0, 2.0, 2_400);
        samples.extend(tone(400.0, 0.5, 24_000));
        let (out, _) = limited(&samples);
        let peak = |from: usize| out[from..from + 60].iter().fold(0.0f32, |peak, s| peak.max(s.abs()));
        assert!(peak(2_460) < 0.3, "{}", peak(2_460));
        assert!((peak(24_000) - 0.5).abs() < 1e-3, "{}", peak(24_000));
    }
}
