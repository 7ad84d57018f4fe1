// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether what a microphone delivers can be the sound of a room.
//!
//! A microphone that is switched off, wired to another channel or overdriven moves frames like a healthy one.

use units::Hz;

use super::note::{Latch, Note, Patience};

/// A room has noise, and a converter has some of its own: the same sample for this many seconds is no microphone. A gate
/// in the hardware that closes between words opens again sooner.
const SILENT: Patience = Patience { begin: 20, end: 1 };

/// Part of a second's samples at full scale that is heard as distortion: shouting at a healthy gain clips a few peaks,
/// some tens of samples (2026-11: 0.1 % of synthetic speech 12 dB over full scale stays clean in the detector).
const CLIPPED_PART: f32 = 0.005;

/// Seconds of it, speech having pauses: three in a row begin it, ten without end it.
const CLIPPED: Patience = Patience { begin: 3, end: 10 };

/// A mean of a second at or above this, -20 dBFS, is an offset and no sound: the detector's level and the headroom suffer.
const OFFSET: f32 = 0.1;

/// Seconds of it.
const OFFSET_SEEN: Patience = Patience { begin: 10, end: 10 };

/// At or above this a sample is at full scale: the largest 16-bit value.
const FULL_SCALE: f32 = 32_767.0 / 32_768.0;

/// Judges one microphone, second by second. Real-time but for the text of news.
#[derive(Debug)]
pub(crate) struct Signal {
    frames_per_second: u64,
    second: Second,
    silent: Latch,
    clipped: Latch,
    offset: Latch,
}

#[derive(Debug, Default)]
struct Second {
    frames: u64,
    first: f32,
    last_constant: Option<f32>,
    has_changed: bool,
    clipped: u64,
    sum: f32,
}

impl Signal {
    pub(crate) fn new(rate: Hz) -> Self {
        Self {
            frames_per_second: u64::from(rate.get()),
            second: Second::default(),
            silent: Latch::new(SILENT),
            clipped: Latch::new(CLIPPED),
            offset: Latch::new(OFFSET_SEEN),
        }
    }

    /// Takes what the device delivered, one channel, nominal ±1.0. `say` is given what begins or ends with it.
    pub(crate) fn add(&mut self, mono: &[f32], mut say: impl FnMut(Note)) {
        for sample in mono {
            self.second.add(*sample);
            if self.second.frames == self.frames_per_second {
                self.judge(&mut say);
            }
        }
    }

    /// What was delivered is not the microphone's doing: it is switched off here, or has gaps.
    pub(crate) fn interrupt(&mut self) {
        self.second = Second::default();
        self.silent.interrupt();
        self.clipped.interrupt();
        self.offset.interrupt();
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    fn judge(&mut self, say: &mut impl FnMut(Note)) {
        let second = std::mem::take(&mut self.second);
        let frames = second.frames as f32;
        let constant = (!second.has_changed).then_some(second.first);
        self.second.last_constant = constant;
        let is_same = constant.is_some() && second.last_constant.is_none_or(|last| Some(last) == constant);
        match self.silent.see(is_same) {
            Some(true) if second.first == 0.0 => say(Note::Fault(format!(
                "microphone silent (digital zero) for {} s: switched off at the microphone, or another channel",
                SILENT.begin
            ))),
            Some(true) => say(Note::Fault(format!(
                "microphone silent (the same sample, {:.4}, for {} s): it is not connected, or another channel",
                second.first, SILENT.begin
            ))),
            Some(false) => say(Note::Well("the microphone is no longer silent".into())),
            None => {}
        }
        let part = second.clipped as f32 / frames;
        match self.clipped.see(part > CLIPPED_PART && constant.is_none()) {
            Some(true) => say(Note::Fault(format!(
                "microphone overdriven: {:.1} % of its samples are at full scale: turn its gain down",
                part * 100.0
            ))),
            Some(false) => say(Note::Well("the microphone is no longer overdriven".into())),
            None => {}
        }
        let mean = second.sum / frames;
        match self.offset.see(mean.abs() >= OFFSET && constant.is_none()) {
            Some(true) => say(Note::Fault(format!(
                "microphone with a constant offset of {mean:.2} of full scale: its input or its supply is faulty"
            ))),
            Some(false) => say(Note::Well("the microphone has no constant offset any more".into())),
            None => {}
        }
    }
}

impl Second {
    fn add(&mut self, sample: f32) {
        if self.frames == 0 {
            self.first = sample;
        }
        self.has_changed |= sample.to_bits() != self.first.to_bits();
        self.clipped += u64::from(sample.abs() >= FULL_SCALE);
        self.sum += sample;
        self.frames += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::cast_precision_loss, reason = "small numbers")]

    use super::*;

    /// So many seconds, and the sample at a place in each of them.
    type Stretch = (u32, fn(f32) -> f32);

    /// What is said of these, and in which second.
    fn said(seconds: &[Stretch]) -> Vec<(u32, String)> {
        let mut signal = Signal::new(Hz::K16);
        let (mut said, mut at) = (Vec::new(), 0);
        for (count, sound) in seconds {
            for _ in 0..*count {
                let second: Vec<f32> = (0..16_000u16).map(|n| sound(f32::from(n))).collect();
                for part in second.chunks(333) {
                    signal.add(part, |note| {
                        let (Note::Fault(text) | Note::Well(text)) = note;
                        said.push((at, text.split([':', '(']).next().unwrap_or_default().trim().to_owned()));
                    });
                }
                at += 1;
            }
        }
        said
    }

    fn hum(n: f32) -> f32 {
        0.01 * (n * 0.1).sin()
    }

    #[test]
    fn a_healthy_room_is_not_spoken_of() {
        assert_eq!(said(&[(60, hum), (19, |_| 0.0), (1, hum), (19, |_| 0.0), (5, hum)]), []);
    }

    #[test]
    fn silence_is_zero_or_constant_for_twenty_seconds_and_ends_with_a_sound() {
        let expected =
            |text: &str| [(19, text.to_owned()), (40, "the microphone is no longer silent".into())];
        assert_eq!(said(&[(40, |_| 0.0), (2, hum)]), expected("microphone silent"));
        assert_eq!(said(&[(40, |_| 0.25), (2, hum)]), expected("microphone silent"));
        assert_eq!(said(&[(40, |_| -1.0), (2, hum)]), expected("microphone silent"), "one fault, not three");
        // Constant, but another each second: something moves.
        assert_eq!(said(&[(10, |_| 0.0), (10, |_| 0.25), (9, |_| 0.0)]), []);
    }

    #[test]
    fn clipping_is_said_after_three_seconds_in_a_row_and_its_end_after_ten_without() {
        let loud = |n: f32| (2.0 * (n * 0.1).sin()).clamp(-1.0, 1.0);
        assert_eq!(
            said(&[(2, loud), (1, hum), (3, loud), (9, hum), (1, loud), (10, hum)]),
            [(5, "microphone overdriven".to_owned()), (25, "the microphone is no longer overdriven".into())]
        );
    }

    #[test]
    fn an_offset_is_said() {
        let askew = |n: f32| 0.2 + hum(n);
        assert_eq!(
            said(&[(9, askew), (1, hum), (10, askew)]),
            [(19, "microphone with a constant offset of 0.20 of full scale".to_owned())]
        );
    }
}
