// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gain ramps, and steps taken out of joints.

/// A gain that moves to a new value in a straight line.
#[derive(Debug)]
pub(crate) struct Ramp {
    gain: f32,
    target: f32,
    left: u16,
}

/// How long a [`Ramp`] takes: 10 ms at 24 kHz. Shorter is heard as a click on a loud vowel.
pub(crate) const RAMP_FRAMES: u16 = 240;

impl Ramp {
    /// A gain at rest.
    pub(crate) const fn new(gain: f32) -> Self {
        Self { gain, target: gain, left: 0 }
    }

    /// Moves to `gain` within the next [`RAMP_FRAMES`], from wherever it is.
    pub(crate) fn to(&mut self, gain: f32) {
        self.target = gain;
        self.left = RAMP_FRAMES;
    }

    /// Applies the gain to `samples`.
    pub(crate) fn apply(&mut self, samples: &mut [f32]) {
        for sample in samples {
            if self.left > 0 {
                self.gain += (self.target - self.gain) / f32::from(self.left);
                self.left -= 1;
            }
            *sample *= self.gain;
        }
    }
}

/// Fades `samples`, the start of a [`RAMP_FRAMES`] long fade, out.
pub(crate) fn fade_out(samples: &mut [f32]) {
    let steps = f32::from(RAMP_FRAMES);
    let mut left = steps;
    for sample in samples {
        left = (left - 1.0).max(0.0);
        *sample *= left / steps;
    }
}

/// Joins pieces of audio that do not fit. Where one piece ends and another begins, silence included, the step between
/// them is added to what follows and decays in a straight line.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    last: f32,
    step: f32,
    left: u16,
}

/// How long the step of a joint takes to decay: 5 ms at 24 kHz. A step spread so wide is inaudible under speech.
const JOIN_FRAMES: u16 = 120;

impl Joiner {
    /// Passes `samples`. `joint` says that the first of them does not continue what passed before.
    pub(crate) fn pass(&mut self, samples: &mut [f32], joint: Joint) {
        if let (Joint::New, Some(first)) = (joint, samples.first()) {
            self.step = self.last - first;
            self.left = JOIN_FRAMES;
        }
        for sample in &mut *samples {
            if self.left > 0 {
                *sample += self.step * f32::from(self.left) / f32::from(JOIN_FRAMES);
                self.left -= 1;
            }
        }
        self.last = samples.last().copied().unwrap_or(self.last);
    }
}

/// How a piece of audio follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// It goes on.
    Same,
    /// It is another.
    New,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest difference between neighbours, from silence to silence.
    fn largest_step(samples: &[f32]) -> f32 {
        let padded: Vec<f32> = [0.0].into_iter().chain(samples.iter().copied()).chain([0.0]).collect();
        padded.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn a_ramp_arrives_without_a_step_even_when_turned_round() {
        let mut ramp = Ramp::new(1.0);
        let mut samples = [1.0; 600];
        ramp.apply(&mut samples[..100]);
        ramp.to(0.25);
        ramp.apply(&mut samples[100..200]);
        ramp.to(0.5);
        ramp.apply(&mut samples[200..]);
        assert_eq!(samples[99], 1.0);
        assert_eq!(samples[599], 0.5);
        assert!(samples.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 0.005));
    }

    #[test]
    fn a_fade_ends_at_nothing() {
        let mut samples = [0.8; RAMP_FRAMES as usize];
        fade_out(&mut samples);
        assert!(largest_step(&samples[1..]) < 0.8, "it starts where it was");
        assert_eq!(samples[239], 0.0);
        assert!(samples.windows(2).all(|pair| pair[0] - pair[1] < 0.004));
    }

    #[test]
    fn a_joint_has_no_step_and_heals() {
        let mut joiner = Joiner::default();
        let mut speech = [0.6; 240];
        joiner.pass(&mut speech, Joint::New);
        let mut silence = [0.0; 240];
        joiner.pass(&mut silence, Joint::New);
        assert_eq!(speech[239], 0.6);
        assert_eq!(silence[239], 0.0);
        let whole: Vec<f32> = speech.into_iter().chain(silence).collect();
        assert!(largest_step(&whole) < 0.006, "{}", largest_step(&whole));
    }

    #[test]
    fn a_joint_inside_a_joint_has_no_step_either() {
        let mut joiner = Joiner::default();
        let mut whole = Vec::new();
        for level in [0.5, -0.5, 0.0, 0.7, 0.0] {
            let mut piece = [level; 30];
            joiner.pass(&mut piece, Joint::New);
            whole.extend(piece);
        }
        let mut rest = [0.0; 200];
        joiner.pass(&mut rest, Joint::Same);
        whole.extend(rest);
        assert!(largest_step(&whole) < 0.02, "{}", largest_step(&whole));
    }
}
