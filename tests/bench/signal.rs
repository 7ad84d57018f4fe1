// SPDX-License-Identifier: MIT OR Apache-2.0

//! The marks that are timed: what a click looks like, where clicks are in a recording, and where a sound ends.
//!
//! Pure. Positions are in seconds from the start of a recording. A click is recognised by its shape, not its level:
//! the score is the normalised cross-correlation with the same click at the recording's rate.

use std::f64::consts::PI;
use std::time::Duration;

use units::Hz;

/// Length of a click: long enough to survive a resampler's filter with its shape, short against every figure.
pub const CLICK: Duration = Duration::from_millis(4);

/// Sweep of a click, well inside the pass band of 16 kHz speech.
const SWEEP_HZ: (f64, f64) = (700.0, 5_000.0);

/// Peak of a click: loud, with headroom for filters that ring.
const AMPLITUDE: f64 = 0.5;

/// Correlation below which something is not a click. A click that went through two resamplers keeps more than 0.95.
const MATCH: f64 = 0.8;

/// Clicks are never closer than this.
pub const CLICK_GAP_MIN: Duration = Duration::from_millis(200);

/// Quieter than this, nothing is looked at: 40 dB under a click.
const FLOOR: f64 = AMPLITUDE / 100.0;

/// One click at `rate`, mono, nominal ±1.0. Its middle is at `CLICK / 2`.
#[must_use]
pub fn click(rate: Hz) -> Vec<f32> {
    let frames = rate.frames_in(CLICK).0;
    let length = CLICK.as_secs_f64();
    let (low, high) = SWEEP_HZ;
    (0..frames)
        .map(|frame| {
            let at = frame as f64 / f64::from(rate.get());
            let window = (PI * at / length).sin().powi(2);
            let phase = 2.0 * PI * (low * at + (high - low) * at * at / (2.0 * length));
            #[expect(clippy::cast_possible_truncation, reason = "a sample, not a count")]
            let sample = (AMPLITUDE * window * phase.sin()) as f32;
            sample
        })
        .collect()
}

/// Where the clicks of `recording` begin, in order.
#[must_use]
pub fn clicks(recording: &[f32], rate: Hz) -> Vec<Duration> {
    let shape: Vec<f64> = click(rate).into_iter().map(f64::from).collect();
    let norm = shape.iter().map(|sample| sample * sample).sum::<f64>().sqrt();
    let gap = usize::try_from(rate.frames_in(CLICK_GAP_MIN).0).unwrap_or(usize::MAX);
    let mut found: Vec<(usize, f64)> = Vec::new();
    for (start, here) in recording.windows(shape.len()).enumerate() {
        // The middle of a click is loud somewhere; skipping silence makes the search fast.
        let middle = &here[shape.len() / 4..];
        if middle.iter().all(|sample| f64::from(sample.abs()) < FLOOR) {
            continue;
        }
        let energy: f64 = here.iter().map(|&sample| f64::from(sample) * f64::from(sample)).sum();
        let product: f64 = here.iter().zip(&shape).map(|(&a, b)| f64::from(a) * b).sum();
        let score = product / (energy.sqrt() * norm).max(f64::MIN_POSITIVE);
        if score < MATCH {
            continue;
        }
        match found.last_mut() {
            Some(last) if start - last.0 < gap => {
                if score > last.1 {
                    *last = (start, score);
                }
            }
            _ => found.push((start, score)),
        }
    }
    found.into_iter().map(|(start, _)| units::Frames(start as u64).span(rate)).collect()
}

/// The last frame at or after `from` and before `until` that is louder than `floor`; `None` if there is none.
#[must_use]
pub fn last_sound(recording: &[f32], from: usize, until: usize, floor: f32) -> Option<usize> {
    let until = until.min(recording.len());
    let from = from.min(until);
    recording[from..until].iter().rposition(|sample| sample.abs() > floor).map(|at| from + at)
}

/// `count` clicks in `rate` mono, the first after `lead`, each `gap` after the last plus a part of `spread` that
/// differs from click to click, so that they fall on every phase of a period, a hop and a chunk.
#[must_use]
pub fn click_track(rate: Hz, count: usize, lead: Duration, gap: Duration, spread: Duration) -> Vec<i16> {
    let frames = |span: Duration| usize::try_from(rate.frames_in(span).0).unwrap_or(usize::MAX);
    let shape = click(rate);
    let mut track = vec![0; frames(lead)];
    let mut phases = Phases::default();
    for _ in 0..count {
        #[expect(clippy::cast_possible_truncation, reason = "within ±32767")]
        track.extend(shape.iter().map(|&sample| (sample * 32_767.0) as i16));
        track.resize(track.len() + frames(gap + phases.part_of(spread)) - shape.len(), 0);
    }
    track
}

/// An even, repeatable spread of numbers over 0..1: multiples of the golden ratio, which never bunch up.
#[derive(Debug, Default)]
pub struct Phases(f64);

impl Phases {
    /// The next part of `span`.
    pub fn part_of(&mut self, span: Duration) -> Duration {
        self.0 = (self.0 + 0.618_033_988_749_895).fract();
        span.mul_f64(self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn clicks_are_found_where_they_were_put_whatever_their_level() {
        for rate in [Hz::K16, Hz::K24, Hz::K48] {
            let track = click_track(rate, 3, MS(100), MS(300), Duration::ZERO);
            let quiet: Vec<f32> = track.iter().map(|&sample| f32::from(sample) / 32_768.0 / 8.0).collect();
            let found = clicks(&quiet, rate);
            assert_eq!(found, [MS(100), MS(400), MS(700)], "{rate}");
        }
    }

    #[test]
    fn other_sounds_are_no_clicks() {
        let tone: Vec<f32> = (0..16_000_u16).map(|n| (f32::from(n) * 0.4).sin() * 0.5).collect();
        assert!(clicks(&tone, Hz::K16).is_empty());
        let step: Vec<f32> = (0..16_000_u16).map(|n| if n < 8_000 { 0.0 } else { 0.5 }).collect();
        assert!(clicks(&step, Hz::K16).is_empty());
    }

    #[test]
    fn the_end_of_a_sound_is_its_last_loud_frame() {
        let recording = [0.0, 0.5, 0.5, 0.0005, 0.0, 0.5];
        assert_eq!(last_sound(&recording, 0, 5, 0.001), Some(2));
        assert_eq!(last_sound(&recording, 3, 5, 0.001), None);
        assert_eq!(last_sound(&recording, 0, 99, 0.001), Some(5));
    }

    #[test]
    fn phases_cover_the_span_evenly() {
        let mut phases = Phases::default();
        let mut parts: Vec<Duration> = (0..20).map(|_| phases.part_of(MS(20))).collect();
        parts.sort();
        let widest = parts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(parts[19] < MS(20) && widest < MS(3), "{parts:?}");
    }
}
