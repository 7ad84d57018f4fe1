// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds a known piece of audio in a recording by its content.
//!
//! Level alone proves nothing: a recording full of the wrong sound is loud too. The measure is the normalised
//! cross-correlation of the waveforms, which is 1 for the same sound at any gain and near 0 for anything else.

use std::time::Duration;

use units::{Hz, Pcm};

/// Rate at which waveforms are compared: keeps the fundamentals and first formant of speech, and a recording of two
/// minutes is searched in about a second.
const SEARCH: Hz = match Hz::new(4_000) {
    Some(rate) => rate,
    None => Hz::K16,
};

/// Below this, what was found is something else. Other speech of the same voice stays under 0.35.
pub const MATCH: f32 = 0.6;

/// How much of the piece is looked for: enough to be unmistakable.
const PROBE: Duration = Duration::from_millis(600);

/// Where a piece was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// From the start of the recording to the start of the piece.
    pub at: Duration,
    /// Normalised correlation; 1 is the same waveform.
    pub score: f32,
}

/// A recording that is searched for several pieces.
#[derive(Clone, Debug)]
pub struct Recording {
    samples: Vec<f32>,
    /// Running sum of squares: the energy of any stretch in one subtraction.
    energy: Vec<f64>,
}

impl Recording {
    /// Prepares `pcm` for searching.
    #[must_use]
    pub fn new(pcm: &Pcm) -> Self {
        let samples = reduced(pcm);
        let mut energy = vec![0.0];
        let mut sum = 0.0;
        for &sample in &samples {
            sum += f64::from(sample) * f64::from(sample);
            energy.push(sum);
        }
        Self { samples, energy }
    }

    /// The best place of the opening of `piece`, at or after `from`. `None` if it is nowhere ([`MATCH`]).
    #[must_use]
    pub fn find(&self, piece: &Pcm, from: Duration) -> Option<Found> {
        self.best(piece, from).filter(|found| found.score >= MATCH)
    }

    /// The best place of the opening of `piece`, at or after `from`, however bad.
    #[must_use]
    pub fn best(&self, piece: &Pcm, from: Duration) -> Option<Found> {
        let piece = reduced(piece);
        let (skipped, probe) = loudest(&piece);
        let norm = probe.iter().map(|sample| sample * sample).sum::<f32>().sqrt();
        let first = usize::try_from(SEARCH.frames_in(from).0).ok()?.saturating_add(skipped);
        let last = self.samples.len().checked_sub(probe.len())?;
        let mut best: Option<(usize, f32)> = None;
        for start in first..=last {
            let energy = self.energy[start + probe.len()] - self.energy[start];
            // Silence matches nothing: a stretch 40 dB under the probe is not looked at.
            #[expect(clippy::cast_possible_truncation, reason = "an amplitude is well inside f32")]
            let level = energy.max(0.0).sqrt() as f32;
            if level < norm * 0.01 {
                continue;
            }
            let here = &self.samples[start..start + probe.len()];
            let product: f32 = here.iter().zip(probe).map(|(a, b)| a * b).sum();
            let score = product / (level * norm);
            if best.is_none_or(|(_, top)| score > top) {
                best = Some((start, score));
            }
        }
        let (start, score) = best?;
        let at = units::Frames(start.saturating_sub(skipped) as u64).span(SEARCH);
        Some(Found { at, score })
    }
}

/// The stretch of `piece` that is compared: the loudest one of its first two seconds, with its offset.
fn loudest(piece: &[f32]) -> (usize, &[f32]) {
    let probe = usize::try_from(SEARCH.frames_in(PROBE).0).unwrap_or(usize::MAX).min(piece.len());
    let head =
        usize::try_from(SEARCH.frames_in(Duration::from_secs(2)).0).unwrap_or(usize::MAX).min(piece.len());
    let energy = |start: usize| piece[start..start + probe].iter().map(|sample| sample * sample).sum::<f32>();
    let start = (0..=head - probe).step_by(40).max_by(|&a, &b| energy(a).total_cmp(&energy(b))).unwrap_or(0);
    (start, &piece[start..start + probe])
}

fn reduced(pcm: &Pcm) -> Vec<f32> {
    crate::convert(pcm, SEARCH).samples().iter().map(|&sample| f32::from(sample) / 32768.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sound with no period: what one seed makes, another does not.
    fn noise(seed: u32, frames: usize) -> Vec<i16> {
        let mut state = seed;
        (0..frames)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                i16::from_ne_bytes([state.to_ne_bytes()[2], state.to_ne_bytes()[3]]) / 4
            })
            .collect()
    }

    #[test]
    fn a_piece_is_found_where_it_is_at_half_the_gain() {
        let piece = noise(7, 24_000);
        let mut recording = noise(1, 24_000);
        recording.extend(piece.iter().map(|sample| sample / 2));
        recording.extend(noise(2, 24_000));
        let recording = Recording::new(&Pcm::new(Hz::K24, recording));
        let found = recording.find(&Pcm::new(Hz::K24, piece), Duration::ZERO).expect("it is there");
        assert!(found.at.abs_diff(Duration::from_secs(1)) < Duration::from_millis(2), "{found:?}");
    }

    #[test]
    fn another_sound_of_the_same_level_is_not_found() {
        let recording = Recording::new(&Pcm::new(Hz::K24, noise(1, 48_000)));
        assert_eq!(recording.find(&Pcm::new(Hz::K24, noise(3, 24_000)), Duration::ZERO), None);
    }

    #[test]
    fn a_piece_before_the_given_time_does_not_count() {
        let piece = Pcm::new(Hz::K24, noise(7, 24_000));
        let mut audio = noise(7, 24_000);
        audio.extend(noise(2, 72_000));
        let recording = Recording::new(&Pcm::new(Hz::K24, audio));
        assert!(recording.find(&piece, Duration::ZERO).is_some());
        assert_eq!(recording.find(&piece, Duration::from_millis(1500)), None);
    }
}
