// SPDX-License-Identifier: MIT OR Apache-2.0

//! A voice for simulated people.

use std::f32::consts::{PI, TAU};
use std::time::Duration;

use units::{Hz, Pcm};

use crate::rt::Sample as _;

/// The first four resonances of the vowels of "father, see, boot, bed, bought", in hertz: averages of male speakers
/// (Peterson and Barney 1952), the fourth rounded.
const VOWELS: [[f32; 4]; 5] = [
    [730.0, 1_090.0, 2_440.0, 3_400.0],
    [270.0, 2_290.0, 3_010.0, 3_500.0],
    [300.0, 870.0, 2_240.0, 3_300.0],
    [530.0, 1_840.0, 2_480.0, 3_400.0],
    [570.0, 840.0, 2_410.0, 3_300.0],
];

/// How wide each resonance is, in hertz.
const WIDTHS: [f32; 4] = [80.0, 100.0, 140.0, 200.0];

/// Syllables a second.
const PACE: f32 = 6.0;

/// Part of a syllable after which its vowel turns into the next.
const GLIDE: f32 = 0.7;

/// A synthetic voice: six vowels a second at 120 Hz, 16 kHz, peaks at -20 dBFS. It says nothing, but the VAD takes it
/// for speech within the first 400 ms and without a gap longer than its default hangover. The same for every call.
#[must_use]
pub fn voice(span: Duration) -> Pcm {
    let rate = 16_000.0;
    let frames = usize::try_from(Hz::K16.frames_in(span).0).unwrap_or(usize::MAX);
    let mut throat = Throat::default();
    let (mut syllable, mut at, mut time) = (0, 0.0, 0.0f32);
    let mut samples = Vec::with_capacity(frames);
    for _ in 0..frames {
        let turn = ((at - GLIDE) / (1.0 - GLIDE)).max(0.0);
        let (from, to) = (VOWELS[syllable % VOWELS.len()], VOWELS[(syllable + 1) % VOWELS.len()]);
        let pitch = 120.0 * (1.0 + 0.15 * (TAU * 1.3 * time).sin());
        let sound = throat.next(pitch / rate, |n| from[n] * (1.0 - turn) + to[n] * turn);
        samples.push(sound * (PI * at).sin().max(0.0).powf(0.4));
        time += 1.0 / rate;
        at += PACE / rate;
        if at >= 1.0 {
            at -= 1.0;
            syllable += 1;
        }
    }
    let peak = samples.iter().fold(1e-9, |peak: f32, sample| peak.max(sample.abs()));
    let scaled: Vec<i16> = samples.iter().map(|sample| i16::from_f32(sample / peak * 0.1)).collect();
    Pcm::new(Hz::K16, scaled)
}

/// Pulses through resonances.
#[derive(Default)]
struct Throat {
    phase: f32,
    cords: [f32; 2],
    resonances: [[f32; 2]; 4],
    breath: u32,
}

impl Throat {
    /// The next sample at 16 kHz. `step` is the pitch as part of the rate, `formant` the frequency of each resonance.
    fn next(&mut self, step: f32, formant: impl Fn(usize) -> f32) -> f32 {
        self.phase += step;
        let mut sound = 0.0;
        if self.phase >= 1.0 {
            self.phase -= 1.0;
            sound = 1.0;
        }
        // The cords soften the pulse; a little noise is the breath.
        self.cords[0] = 0.95 * self.cords[0] + 0.5 * sound;
        self.cords[1] = 0.7 * self.cords[1] + 0.3 * self.cords[0];
        self.breath = self.breath.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        sound = self.cords[1] + 0.02 * f32::from(self.breath.to_be_bytes()[0]).mul_add(1.0 / 128.0, -1.0);
        for (n, (state, width)) in self.resonances.iter_mut().zip(WIDTHS).enumerate() {
            let (radius, angle) = ((-PI * width / 16_000.0).exp(), TAU * formant(n) / 16_000.0);
            let (a, b) = (2.0 * radius * angle.cos(), radius * radius);
            let out = (1.0 - a + b) * sound + a * state[0] - b * state[1];
            *state = [out, state[0]];
            sound = out;
        }
        sound
    }
}
