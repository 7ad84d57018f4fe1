// SPDX-License-Identifier: MIT OR Apache-2.0

//! Near-end speech: when it begins and when it ends.

use std::time::Duration;

use earshot::Detector;
use units::{Frames, Hz};

use super::level::rms;
use crate::config::Vad as Config;

/// What the detector judges at a time: 256 frames at 16 kHz, 16 ms.
const WINDOW: usize = 256;

/// Turns 16 kHz mono into the beginnings and ends of speech.
pub(crate) struct Vad {
    detector: Box<Detector>,
    window: Vec<f32>,
    config: Config,
    speech: Speech,
}

/// The near end has begun or stopped speaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It began this long before the last frame given.
    Started { onset_ago: Duration },
    /// It ended, hangover included; this much of it was voiced.
    Ended { voiced: Duration },
}

impl Vad {
    /// A detector in a silent room.
    pub(crate) fn new(config: Config) -> Self {
        Self {
            detector: Detector::default_boxed(),
            window: Vec::with_capacity(WINDOW),
            config,
            speech: Speech::new(windows(config.onset), windows(config.hangover)),
        }
    }

    /// Takes any number of frames, 16 kHz mono. At most one change comes out of a hop.
    pub(crate) fn push(&mut self, mut samples: &[f32]) -> Option<Change> {
        let mut change = None;
        while !samples.is_empty() {
            let (head, tail) = samples.split_at(samples.len().min(WINDOW - self.window.len()));
            self.window.extend(head.iter().map(|sample| sample.clamp(-1.0, 1.0)));
            samples = tail;
            if self.window.len() == WINDOW {
                let score = self.detector.predict_f32(&self.window);
                let voiced = score >= self.config.threshold && rms(&self.window) >= self.config.floor;
                self.window.clear();
                change = self.speech.window(voiced, samples.len()).or(change);
            }
        }
        change
    }

    /// The microphone is gone or was muted: speech ends, and what follows is heard afresh.
    pub(crate) fn reset(&mut self) -> Option<Change> {
        self.detector.reset();
        self.window.clear();
        self.speech.end()
    }
}

/// Whole detector windows in `span`, rounded up.
fn windows(span: Duration) -> u32 {
    let frames = Hz::K16.frames_in(span).0;
    u32::try_from(frames.div_ceil(WINDOW as u64)).unwrap_or(u32::MAX).max(1)
}

fn span(windows: u32, frames: usize) -> Duration {
    Frames(u64::from(windows) * WINDOW as u64 + frames as u64).span(Hz::K16)
}

/// Onset and hangover over a row of judged windows.
struct Speech {
    onset: u32,
    hangover: u32,
    state: State,
}

enum State {
    /// `run` windows in a row were voiced.
    Quiet { run: u32 },
    /// `voiced` windows in all, the last `gap` none of them.
    Speaking { voiced: u32, gap: u32 },
}

impl Speech {
    const fn new(onset: u32, hangover: u32) -> Self {
        Self { onset, hangover, state: State::Quiet { run: 0 } }
    }

    /// Takes the verdict on one window, `newer` frames of which have been given since.
    fn window(&mut self, is_voiced: bool, newer: usize) -> Option<Change> {
        match &mut self.state {
            State::Quiet { run } => {
                *run = if is_voiced { *run + 1 } else { 0 };
                let run = *run;
                if run < self.onset {
                    return None;
                }
                self.state = State::Speaking { voiced: run, gap: 0 };
                Some(Change::Started { onset_ago: span(run, newer) })
            }
            State::Speaking { voiced, gap } => {
                if is_voiced {
                    *voiced = voiced.saturating_add(1);
                    *gap = 0;
                    return None;
                }
                *gap += 1;
                if *gap < self.hangover { None } else { self.end() }
            }
        }
    }

    fn end(&mut self) -> Option<Change> {
        match std::mem::replace(&mut self.state, State::Quiet { run: 0 }) {
            State::Quiet { .. } => None,
            State::Speaking { voiced, .. } => Some(Change::Ended { voiced: span(voiced, 0) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Db;

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// Windows as text: `#` is voiced, `.` is not. Changes come back with the index of the window that made them.
    fn judged(onset: u32, hangover: u32, verdicts: &str) -> Vec<(usize, Change)> {
        let mut row = Speech::new(onset, hangover);
        let mark = |(index, verdict)| Some((index, row.window(verdict == '#', 0)?));
        verdicts.chars().enumerate().filter_map(mark).collect()
    }

    #[test]
    fn speech_begins_after_an_unbroken_onset_and_ends_after_the_hangover() {
        let changes = judged(3, 4, "..##.###..##....##");
        let started = Change::Started { onset_ago: MS(48) };
        let ended = Change::Ended { voiced: MS(16 * 5) };
        assert_eq!(changes, [(7, started), (15, ended)]);
    }

    #[test]
    fn a_click_is_not_speech() {
        assert_eq!(judged(6, 25, ".#####.#####.#####."), []);
    }

    #[test]
    fn onset_counts_the_frames_given_since() {
        let mut speech = Speech::new(1, 1);
        assert_eq!(speech.window(true, 160), Some(Change::Started { onset_ago: MS(26) }));
    }

    #[test]
    fn spans_are_rounded_up_to_windows() {
        assert_eq!(windows(MS(96)), 6);
        assert_eq!(windows(MS(97)), 7);
        assert_eq!(windows(MS(400)), 25);
        assert_eq!(windows(Duration::ZERO), 1);
    }

    fn speech(span: Duration) -> Vec<f32> {
        let voice = crate::convert(&crate::sim::voice(span), Hz::K16);
        voice.samples().iter().map(|sample| f32::from(*sample) / 32_768.0).collect()
    }

    fn heard(vad: &mut Vad, samples: &[f32]) -> Vec<Change> {
        samples.chunks(160).filter_map(|hop| vad.push(hop)).collect()
    }

    #[test]
    fn a_voice_is_speech_and_silence_and_noise_are_not() {
        let mut vad = Vad::new(Config::default());
        let mut seed = 1u32;
        let noise: Vec<f32> = (0..32_000)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (f32::from(u16::try_from(seed >> 16).unwrap_or(0)) / 32_768.0 - 1.0) * 0.003
            })
            .collect();
        assert_eq!(heard(&mut vad, &noise), []);
        let changes = heard(&mut vad, &speech(MS(5_000)));
        assert!(matches!(changes[..], [Change::Started { .. }]), "{changes:?}");
        let changes = heard(&mut vad, &noise);
        assert!(matches!(changes[..], [Change::Ended { .. }]), "{changes:?}");
    }

    #[test]
    fn what_is_below_the_floor_is_not_speech_whatever_the_detector_thinks() {
        let mut vad = Vad::new(Config { floor: Db(-20.0), ..Config::default() });
        let whisper: Vec<f32> = speech(MS(1_500)).iter().map(|sample| sample * 0.02).collect();
        assert_eq!(heard(&mut vad, &whisper), []);
    }

    #[test]
    fn losing_the_microphone_ends_speech() {
        let mut vad = Vad::new(Config::default());
        assert_eq!(vad.reset(), None);
        assert_eq!(heard(&mut vad, &speech(MS(1_000))).len(), 1);
        assert!(matches!(vad.reset(), Some(Change::Ended { .. })));
        assert_eq!(vad.reset(), None);
    }

    #[test]
    fn samples_beyond_full_scale_do_no_harm() {
        let mut vad = Vad::new(Config::default());
        heard(&mut vad, &[1e9; 1_600]);
        heard(&mut vad, &[-1e9; 1_600]);
    }
}
