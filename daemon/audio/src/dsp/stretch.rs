// SPDX-License-Identifier: MIT OR Apache-2.0

//! The pace of speech: slower or faster at the pitch it has.
//!
//! Overlap-add by waveform similarity (WSOLA; W. Verhelst, M. Roelands, ICASSP 1993, pp. 554-557), 24 kHz mono, a hop of
//! output at a time. Two places in the source: *next*, where the output goes on by itself, and *due*, where it ought to
//! be at this pace. The output is the source from *next* on, sample for sample, until it is too far from *due*; then one
//! hop fades across to the place around *due* whose waveform goes on most alike, so that whole periods of the pitch are
//! said twice, or left out.
//!
//! *Due* is what counts as played: it never goes back, and it ends where the source ends.
//!
//! Costs 0.2 to 0.6 ms a second of audio on a desktop core (measured 2026-11, release build).

use std::f32::consts::PI;

use super::HOP_24K;
use crate::api::RATE_OWN;

/// What the pace may be, in percent of the source's own.
pub(crate) const PERCENT_MIN: u16 = 50;
/// The same, at most.
pub(crate) const PERCENT_MAX: u16 = 150;

/// What is compared: 20 ms, two hops, of which the first is faded across. The window of Chromium's media player
/// (`media/filters/audio_renderer_algorithm.cc`); a whole period of any voice fits in.
const WINDOW: usize = 2 * HOP_24K;

/// How far around *due* is searched: 15 ms each way, as in Chromium. Between them lie two periods of a voice of 67 Hz.
const SEARCH: usize = 360;

/// The least that is said twice or left out: 2.5 ms, a period of 400 Hz, which the Sonic library too takes for the
/// highest pitch of speech. Any waveform is like itself a few samples on.
const JUMP_MIN: usize = 60;

/// How far the output may be from *due* before it is put right: 5 ms, half a period of a voice of 100 Hz, which is how
/// near whole periods can bring it. With 15 ms several periods were repeated in a row, which stutters.
const TOLERANCE: usize = 120;

/// Likeness, of 1, that a place at the end of the search must be better by than one at *due*. The periods of a vowel are
/// nearly all alike, and the nearest keeps the output on its course.
const DETOUR: f32 = 0.1;

/// The search looks at sums of so many frames first, and then closely around the best: a sixth of a millisecond, a quarter
/// of a period of 1.5 kHz, below which a vowel has most of its power.
const COARSE: usize = 4;

/// Frames of source held: 80 ms. A hop reaches from [`SEARCH`] before *next* or *due* to [`SEARCH`] and [`WINDOW`] after,
/// and the two are never further apart than [`SEARCH`] and half a hop.
const SOURCE: usize = 8 * HOP_24K;

/// Changes the pace of one piece of speech after another. Allocates only when it is made.
#[derive(Debug)]
pub(crate) struct Stretch {
    percent: u16,
    /// [`SOURCE`] frames, of which `filled` are source on its way and its past as far as it can be gone back to.
    source: Vec<f32>,
    filled: usize,
    next: usize,
    due: usize,
    /// Hundredths of a frame by which `due` is short.
    owed: usize,
    /// The rising half of a Hann window; with its own mirror image it adds up to one.
    rise: [f32; HOP_24K],
    made: [f32; HOP_24K],
    /// Frames of `made` given out; all of them when it is spent.
    spent: usize,
    /// Frames of source that the rest of `made` plays.
    passing: usize,
}

/// What was put at the start of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Frames.
    pub(crate) len: usize,
    /// Frames of source that they play.
    pub(crate) source: usize,
}

impl Run {
    /// Source as it is.
    pub(crate) const fn plain(len: usize) -> Self {
        Self { len, source: len }
    }

    pub(crate) const fn is_plain(self) -> bool {
        self.len == self.source
    }
}

impl Default for Stretch {
    fn default() -> Self {
        #[expect(clippy::cast_precision_loss, reason = "240 frames")]
        let rise = |n: usize| 0.5 - 0.5 * (PI * (n as f32 + 0.5) / HOP_24K as f32).cos();
        Self {
            percent: RATE_OWN,
            source: vec![0.0; SOURCE],
            filled: 0,
            next: 0,
            due: 0,
            owed: 0,
            rise: std::array::from_fn(rise),
            made: [0.0; HOP_24K],
            spent: HOP_24K,
            passing: 0,
        }
    }
}

impl Stretch {
    /// From the next hop it makes on, the pace is this, or the nearest that may be, which is returned. The output goes on
    /// where it is.
    pub(crate) fn pace(&mut self, percent: u16) -> u16 {
        self.percent = percent.clamp(PERCENT_MIN, PERCENT_MAX);
        self.percent
    }

    /// True when it would change nothing and holds nothing: the source need not pass through it.
    pub(crate) const fn is_off(&self) -> bool {
        self.percent == RATE_OWN && self.is_empty()
    }

    /// True when nothing is held.
    pub(crate) const fn is_empty(&self) -> bool {
        self.spent == HOP_24K && self.next == self.filled
    }

    /// Takes in what `take` puts at the start of the room it is given; `take` says how much that is. Nothing when the pace
    /// is the source's own and what is held only has to be played out.
    pub(crate) fn fill(&mut self, take: impl FnOnce(&mut [f32]) -> usize) {
        if self.percent == RATE_OWN {
            return;
        }
        let past = self.next.min(self.due).saturating_sub(SEARCH);
        self.source.copy_within(past..self.filled, 0);
        self.filled -= past;
        self.next -= past;
        self.due -= past;
        if let Some(room) = self.source.get_mut(self.filled..) {
            self.filled += take(room);
        }
    }

    /// Puts as much as it can at the start of `out`: nothing only if nothing is held. What is held is all there is for
    /// now: its end, and so everything shorter than a hop, is played as it is.
    pub(crate) fn render(&mut self, out: &mut [f32]) -> Run {
        if self.spent == HOP_24K && self.percent != RATE_OWN {
            self.make();
        }
        let run = if self.spent < HOP_24K { self.give_made(out) } else { self.give_source(out) };
        if self.is_empty() {
            self.clear();
        }
        run
    }

    /// Drops what is held.
    pub(crate) fn clear(&mut self) {
        (self.filled, self.next, self.due, self.owed) = (0, 0, 0, 0);
        (self.spent, self.passing) = (HOP_24K, 0);
    }

    fn give_made(&mut self, out: &mut [f32]) -> Run {
        let left = HOP_24K - self.spent;
        let len = copy(self.made.get(self.spent..), out);
        let source = share(self.passing, len, left);
        self.spent += len;
        self.passing -= source;
        Run { len, source }
    }

    fn give_source(&mut self, out: &mut [f32]) -> Run {
        let left = self.filled - self.next;
        let len = copy(self.source.get(self.next..self.filled), out);
        let source = share(self.filled - self.due, len, left);
        self.next += len;
        self.due += source;
        Run { len, source }
    }

    /// Makes a hop, if there is source enough for one.
    fn make(&mut self) {
        if self.next.max(self.due) + HOP_24K > self.filled {
            return;
        }
        let at = self.turn().unwrap_or(self.next);
        let hop = |at: usize| self.source.get(at..at + HOP_24K).unwrap_or(&[]);
        let pairs = hop(self.next).iter().zip(hop(at));
        for ((made, rise), (from, to)) in self.made.iter_mut().zip(&self.rise).zip(pairs) {
            *made = from + rise * (to - from);
        }
        self.spent = 0;
        self.next = at + HOP_24K;
        let step = usize::from(self.percent) * HOP_24K + self.owed;
        self.owed = step % 100;
        // The last frame of the source counts as played when it is.
        let due =
            if self.next == self.filled { self.filled } else { (self.due + step / 100).min(self.filled - 1) };
        self.passing = due - self.due;
        self.due = due;
    }

    /// Where to fade across to; `None` while the output is near enough to its course, or on the side of it that the pace
    /// itself puts right.
    fn turn(&self) -> Option<usize> {
        let (mut first, mut last) = (self.due.saturating_sub(SEARCH), self.due + SEARCH);
        if self.percent < RATE_OWN && self.next > self.due + TOLERANCE {
            last = last.min(self.next.checked_sub(JUMP_MIN)?);
        } else if self.percent > RATE_OWN && self.due > self.next + TOLERANCE {
            first = first.max(self.next + JUMP_MIN);
        } else {
            return None;
        }
        // Towards the end of what is there a hop must do.
        let window = if self.next.max(last) + WINDOW <= self.filled { WINDOW } else { HOP_24K };
        last = last.min(self.filled.checked_sub(window)?);
        let model = self.source.get(self.next..self.next + window)?;
        #[expect(clippy::cast_precision_loss, reason = "hundreds of frames")]
        let detour = |at: usize| at.abs_diff(self.due) as f32 / SEARCH as f32 * DETOUR;

        let (mut thin, mut thin_model) = ([0.0; (2 * SEARCH + WINDOW) / COARSE], [0.0; WINDOW / COARSE]);
        let thin = thin_out(self.source.get(first..last + window)?, &mut thin);
        let thin_model = thin_out(model, &mut thin_model);
        let near = first + COARSE * best(thin_model, thin, |n| detour(first + COARSE * n))?;

        let (first, last) = (near.saturating_sub(COARSE - 1).max(first), (near + COARSE - 1).min(last));
        let around = self.source.get(first..last + window)?;
        Some(first + best(model, around, |n| detour(first + n))?)
    }
}

/// Copies what fits and says how much.
fn copy(from: Option<&[f32]>, to: &mut [f32]) -> usize {
    let from = from.unwrap_or(&[]);
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    from.len().min(to.len())
}

/// The part of `sum` that `part` of `whole` stands for, rounded down; all of it for the whole.
fn share(sum: usize, part: usize, whole: usize) -> usize {
    (sum * part).checked_div(whole).unwrap_or(0)
}

/// Sums of every [`COARSE`] frames, as many as there are whole ones and room: a low-pass with its first zero at 6 kHz.
fn thin_out<'a>(from: &[f32], to: &'a mut [f32]) -> &'a [f32] {
    let len = to.len().min(from.len() / COARSE);
    to.iter_mut().zip(from.chunks_exact(COARSE)).for_each(|(to, from)| *to = from.iter().sum());
    to.get(..len).unwrap_or(&[])
}

/// The place in `among` that is most like `model`, whatever its level; `detour` is what a place must be better by.
fn best(model: &[f32], among: &[f32], detour: impl Fn(usize) -> f32) -> Option<usize> {
    let own = dot(model, model);
    let likeness = |window: &[f32]| {
        let energy = own * dot(window, window);
        // Silence is like nothing. One 16-bit step has an energy of 1e-9.
        if energy < 1e-18 { 0.0 } else { dot(model, window) / energy.sqrt() }
    };
    let scored = among.windows(model.len()).enumerate().map(|(n, window)| (n, likeness(window) - detour(n)));
    scored.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(n, _)| n)
}

/// The sum of the products, made in as many lanes as a vector register has.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        lanes.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use std::f32::consts::TAU;

    use super::*;

    /// A voice-like tone: a fundamental and four weaker harmonics, peaks below 0.5.
    fn hum(frequency: f32, frames: usize) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "a test signal of seconds")]
        let wave =
            |n: usize, harmonic: f32| (TAU * frequency * harmonic * n as f32 / 24_000.0).sin() / harmonic;
        (0..frames)
            .map(|n| 0.2 * (1..=5u8).map(|harmonic| wave(n, f32::from(harmonic))).sum::<f32>())
            .collect()
    }

    /// Plays all of `source` in pieces of `piece` frames and gives what came out and how much it said was played.
    fn played(stretch: &mut Stretch, source: &[f32], piece: usize) -> (Vec<f32>, usize) {
        let (mut at, mut sum, mut out) = (0, 0, Vec::new());
        loop {
            stretch.fill(|room| {
                let len = copy(source.get(at..), room);
                at += len;
                len
            });
            let mut buffer = vec![9.0; piece];
            let run = stretch.render(&mut buffer);
            assert!(stretch.filled <= SOURCE && stretch.due <= stretch.filled);
            assert!(stretch.next.abs_diff(stretch.due) <= SEARCH + HOP_24K / 2);
            if run.len == 0 {
                assert_eq!(at, source.len(), "nothing comes only at the end");
                return (out, sum);
            }
            sum += run.source;
            out.extend_from_slice(&buffer[..run.len]);
        }
    }

    fn largest_step(samples: &[f32]) -> f32 {
        samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn all_of_the_source_is_played_at_any_pace_and_length() {
        for percent in [50, 51, 99, 101, 149, 150] {
            for frames in [1, 2, 119, 239, 240, 241, 479, 480, 481, 720, 959, 2_000, 24_000] {
                let mut stretch = Stretch::default();
                stretch.pace(percent);
                let source = hum(120.0, frames);
                let (out, sum) = played(&mut stretch, &source, 240);
                assert_eq!(sum, frames, "{frames} frames at {percent} %");
                let ends = out.iter().rev().zip(source.iter().rev()).take(120);
                let apart = ends.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(apart < 1e-3, "the end of {frames} frames at {percent} %: {apart}");
                assert!(stretch.is_empty() && stretch.filled == 0);
            }
        }
    }

    #[test]
    fn how_the_output_is_cut_changes_nothing() {
        let source = hum(150.0, 12_000);
        for percent in [70, 130] {
            let cut = |piece| {
                let mut stretch = Stretch::default();
                stretch.pace(percent);
                played(&mut stretch, &source, piece)
            };
            assert!(cut(240) == cut(240) && cut(240) == cut(37), "{percent} %");
        }
    }

    #[test]
    fn a_pure_pitch_has_no_seam() {
        for pitch in [70.0, 110.0, 180.0, 390.0] {
            let source = hum(pitch, 48_000);
            for percent in [50, 80, 95, 105, 120, 150] {
                let mut stretch = Stretch::default();
                stretch.pace(percent);
                let (out, _) = played(&mut stretch, &source, 240);
                let ratio = largest_step(&out) / largest_step(&source);
                assert!(ratio < 1.05, "{pitch} Hz at {percent} %: {ratio}");
                let level = |samples: &[f32]| {
                    let energy: f32 = samples.iter().map(|sample| sample * sample).sum();
                    #[expect(clippy::cast_precision_loss, reason = "seconds of samples")]
                    let mean = energy / samples.len() as f32;
                    mean.sqrt()
                };
                let loudness = level(&out) / level(&source);
                assert!((loudness - 1.0).abs() < 0.02, "{pitch} Hz at {percent} %: {loudness}");
            }
        }
    }

    #[test]
    fn what_fits_nowhere_is_faded_across() {
        // No two periods of these together are alike within the search.
        let source: Vec<f32> = hum(61.0, 48_000).iter().zip(hum(97.3, 48_000)).map(|(a, b)| a + b).collect();
        for percent in [50, 80, 120, 150] {
            let mut stretch = Stretch::default();
            stretch.pace(percent);
            let (out, _) = played(&mut stretch, &source, 240);
            let ratio = largest_step(&out) / largest_step(&source);
            assert!(ratio < 1.1, "{percent} %: {ratio}");
        }
    }

    #[test]
    fn parts_of_a_frame_add_up() {
        let mut stretch = Stretch::default();
        stretch.pace(51);
        let (out, _) = played(&mut stretch, &hum(120.0, 240_000), 240);
        // 122.4 frames a hop; 122 would be 1,540 frames too long.
        assert!(out.len().abs_diff(240_000 * 100 / 51) < 720, "{}", out.len());
    }

    #[test]
    fn it_is_off_only_when_it_holds_nothing_and_then_goes_on_from_the_very_next_sample() {
        let source = hum(130.0, 9_600);
        let mut stretch = Stretch::default();
        assert!(stretch.is_off());
        stretch.pace(60);
        let mut at = 0;
        let mut hop = [0.0; HOP_24K];
        for _ in 0..10 {
            stretch.fill(|room| {
                let len = copy(source.get(at..), room);
                at += len;
                len
            });
            assert_eq!(stretch.render(&mut hop).len, HOP_24K);
        }
        stretch.pace(100);
        let mut rest = Vec::new();
        while !stretch.is_off() {
            stretch.fill(|_| panic!("it needs no more"));
            let run = stretch.render(&mut hop);
            rest.extend_from_slice(&hop[..run.len]);
        }
        assert!(rest.len() > HOP_24K);
        assert_eq!(rest[..], source[at - rest.len()..at]);
    }

    #[test]
    fn noise_and_silence_pass_too() {
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(state.to_be_bytes()[0]) / 256.0 - 0.5
        };
        let source: Vec<f32> = (0..12_000).map(|n| if n < 6_000 { noise() } else { 0.0 }).collect();
        for percent in [50, 150] {
            let mut stretch = Stretch::default();
            stretch.pace(percent);
            let (out, sum) = played(&mut stretch, &source, 240);
            assert_eq!(sum, 12_000);
            assert!(out.iter().all(|sample| sample.abs() <= 0.5));
            let expected = 12_000 * 100 / usize::from(percent);
            assert!(out.len().abs_diff(expected) < 720, "{} for {expected}", out.len());
        }
    }

    #[test]
    fn likeness_knows_neither_level_nor_silence() {
        let wave = hum(200.0, WINDOW);
        let quiet: Vec<f32> = wave.iter().map(|sample| sample * 0.1).collect();
        let turned: Vec<f32> = wave.iter().map(|sample| sample * -2.0).collect();
        let places: Vec<f32> = turned.into_iter().chain([0.0; 100]).chain(quiet).collect();
        assert_eq!(best(&wave, &places, |_| 0.0), Some(WINDOW + 100));
        assert_eq!(best(&wave, &[0.0; 600], |n| n.abs_diff(50) as f32), Some(50), "the nearest of equals");
        assert_eq!(best(&wave, &wave[1..], |_| 0.0), None);
    }
}
