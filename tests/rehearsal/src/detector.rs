// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tells speech from silence by energy, on the time of the audio itself: a burst of a second is a second.

use std::time::Duration;

use crate::scenario::Hearing;

/// The length of one decision.
const FRAME: Duration = Duration::from_millis(20);

/// What the detector found, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Speech has lasted long enough to count.
    Onset,
    /// Silence has lasted long enough to end it.
    End,
}

/// An energy detector over mono 16-bit audio of one rate.
#[derive(Debug)]
pub(crate) struct Detector {
    rate: u32,
    /// Mean square over one frame, full scale 1.0, above which a frame counts as speech.
    threshold: f64,
    onset_frames: u32,
    silence_frames: u32,
    /// The sum of squares and the count of the frame being filled.
    sum: f64,
    filled: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `loud` consecutive frames of speech so far.
    Silence { loud: u32 },
    /// `quiet` consecutive frames of silence so far.
    Speech { quiet: u32 },
}

impl Detector {
    /// `silence` is how long it has to be quiet before speech counts as ended.
    pub(crate) fn new(hearing: Hearing, silence: Duration) -> Self {
        let frames =
            |span: Duration| u32::try_from(span.as_millis().div_ceil(FRAME.as_millis())).unwrap_or(u32::MAX);
        Self {
            rate: 16_000,
            threshold: 10f64.powf(f64::from(hearing.threshold_dbfs) / 10.0),
            onset_frames: frames(hearing.onset).max(1),
            silence_frames: frames(silence).max(1),
            sum: 0.0,
            filled: 0,
            state: State::Silence { loud: 0 },
        }
    }

    /// Takes audio at `rate` hertz.
    pub(crate) fn feed(&mut self, rate: u32, samples: impl Iterator<Item = i16>) -> Vec<Heard> {
        if rate != self.rate {
            (self.rate, self.sum, self.filled) = (rate, 0.0, 0);
        }
        let frame = (u64::from(rate) * 20 / 1000).max(1);
        let mut heard = Vec::new();
        for sample in samples {
            let value = f64::from(sample) / 32_768.0;
            self.sum += value * value;
            self.filled += 1;
            if u64::from(self.filled) >= frame {
                let loud = self.sum / f64::from(self.filled) > self.threshold;
                (self.sum, self.filled) = (0.0, 0);
                heard.extend(self.decide(loud));
            }
        }
        heard
    }

    /// The stream ended: speech in progress ends with it.
    pub(crate) fn flush(&mut self) -> Option<Heard> {
        let speaking = matches!(self.state, State::Speech { .. });
        self.state = State::Silence { loud: 0 };
        (self.sum, self.filled) = (0.0, 0);
        speaking.then_some(Heard::End)
    }

    fn decide(&mut self, loud: bool) -> Option<Heard> {
        let (state, heard) = match (self.state, loud) {
            (State::Silence { loud: before }, true) if before + 1 >= self.onset_frames => {
                (State::Speech { quiet: 0 }, Some(Heard::Onset))
            }
            (State::Silence { loud: before }, true) => (State::Silence { loud: before + 1 }, None),
            (State::Silence { .. }, false) => (State::Silence { loud: 0 }, None),
            (State::Speech { .. }, true) => (State::Speech { quiet: 0 }, None),
            (State::Speech { quiet }, false) if quiet + 1 >= self.silence_frames => {
                (State::Silence { loud: 0 }, Some(Heard::End))
            }
            (State::Speech { quiet }, false) => (State::Speech { quiet: quiet + 1 }, None),
        };
        self.state = state;
        heard
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{Scenario, demo, voices};

    fn detector(silence_ms: u64) -> Detector {
        let scenario = Scenario::parse("name = \"none\"").unwrap();
        Detector::new(scenario.hearing, Duration::from_millis(silence_ms))
    }

    fn noise(ms: usize, amplitude: i16) -> Vec<i16> {
        (0..ms * 16).map(|i| if (i / 18) % 2 == 0 { amplitude } else { -amplitude }).collect()
    }

    #[test]
    fn short_clicks_do_not_count_and_short_pauses_do_not_end() {
        let mut detector = detector(700);
        let mut feed = |samples: Vec<i16>| detector.feed(16_000, samples.into_iter());
        assert_eq!(feed(noise(40, 3000)), []);
        assert_eq!(feed(noise(200, 20)), []);
        assert_eq!(feed(noise(60, 3000)), [Heard::Onset]);
        assert_eq!(feed(noise(680, 20)), []);
        assert_eq!(feed(noise(20, 3000)), []);
        assert_eq!(feed(noise(700, 20)), [Heard::End]);
    }

    #[test]
    fn the_end_of_the_stream_ends_speech() {
        let mut detector = detector(700);
        assert_eq!(detector.flush(), None);
        detector.feed(16_000, noise(100, 3000).into_iter());
        assert_eq!(detector.flush(), Some(Heard::End));
        assert_eq!(detector.flush(), None);
    }

    #[test]
    fn every_line_of_the_person_is_one_segment() {
        for id in voices::person_ids() {
            let line = demo::PersonLine { id, start_ms: 500 };
            let mic = demo::mix(&[line], Duration::from_millis(1000)).unwrap();
            let heard = detector(500).feed(48_000, mic.samples().iter().copied());
            assert_eq!(heard, [Heard::Onset, Heard::End], "{id}");
        }
    }

    #[test]
    fn the_demo_has_one_segment_for_each_turn() {
        let mic = demo::microphone().unwrap();
        let heard = detector(500).feed(48_000, mic.samples().iter().copied());
        assert_eq!(heard.len(), 2 * demo::PERSON_LINES.len());
        assert_eq!(demo::PERSON_LINES.len(), demo::scenario().unwrap().turn_count());
    }
}
