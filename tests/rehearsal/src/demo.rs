// SPDX-License-Identifier: MIT OR Apache-2.0

//! The demo: five scenes, and the person's side of them as one microphone recording.

use std::time::Duration;

use units::{Hz, Pcm};

use crate::voices::{self, VoiceError};
use crate::{Scenario, ScenarioError};

/// One thing the person says in the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersonLine {
    /// The recording, for [`voices::person`].
    pub id: &'static str,
    /// When it starts, from the start of the microphone recording.
    pub start_ms: u64,
}

impl PersonLine {
    /// When it starts, from the start of the microphone recording.
    #[must_use]
    pub const fn start(&self) -> Duration {
        Duration::from_millis(self.start_ms)
    }
}

/// The person's timeline. Each pause has room for the reply before it: the recordings' own lengths plus 0.7 s of
/// silence until the turn is taken, 0.6 s until the reply, 9.5 s for a read-back by the device, 1.5 s for a clip and
/// 1.5 s to spare. The second line of scene 2 cuts into the reply 4 s after it began.
pub const PERSON_LINES: &[PersonLine] = &[
    // 1. A sensor question: a reading, an instruction with it, a clip after the reply.
    PersonLine { id: "temperature", start_ms: 1_500 },
    // 2. A long answer, and a barge-in.
    PersonLine { id: "dock", start_ms: 14_500 },
    PersonLine { id: "stop", start_ms: 21_900 },
    // 3. An outbound message: read back by the device, confirmed in the next turn, sent once.
    PersonLine { id: "message", start_ms: 27_500 },
    PersonLine { id: "yes", start_ms: 48_500 },
    // 4. The model tries to skip the question and is refused; the person declines.
    PersonLine { id: "shift", start_ms: 55_000 },
    PersonLine { id: "no", start_ms: 70_000 },
    // 5. Goodbye; the model ends the session.
    PersonLine { id: "goodbye", start_ms: 77_000 },
];

/// How long the microphone recording goes on after the last line.
const TAIL: Duration = Duration::from_secs(5);

/// The level of the room, so that no stretch is digital zero: amplitude 8 of 32768 is about -72 dBFS.
const ROOM_AMPLITUDE: i16 = 8;

/// The demo's scenario.
///
/// # Errors
/// Only if the bundled file is broken; the tests of this crate read it.
pub fn scenario() -> Result<Scenario, ScenarioError> {
    Scenario::bundled("demo")
}

/// What the microphone hears in the demo: [`PERSON_LINES`] over a quiet room, 48 kHz mono.
///
/// # Errors
/// Only if a bundled recording is broken; the tests of this crate decode every one.
pub fn microphone() -> Result<Pcm, VoiceError> {
    mix(PERSON_LINES, TAIL)
}

/// A microphone recording of any lines over a quiet room, 48 kHz mono, with `tail` of room after the last.
///
/// # Errors
/// [`VoiceError::Unknown`] if a line is not recorded.
pub fn mix(lines: &[PersonLine], tail: Duration) -> Result<Pcm, VoiceError> {
    let index = |span: Duration| usize::try_from(Hz::K48.frames_in(span).0).unwrap_or(usize::MAX);
    let mut samples: Vec<i16> = Vec::new();
    for line in lines {
        let speech = voices::person(line.id)?.pcm;
        let start = index(line.start());
        samples.resize(samples.len().max(start + speech.samples().len()), 0);
        for (slot, sample) in samples.iter_mut().skip(start).zip(speech.samples()) {
            *slot = slot.saturating_add(*sample);
        }
    }
    samples.resize(samples.len() + index(tail), 0);
    // A linear congruential generator (Numerical Recipes, 2nd ed., section 7.1): the same room every time.
    let mut state: u32 = 1;
    for sample in &mut samples {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let unit = i16::try_from(state >> 24).unwrap_or(0) - 128;
        *sample = sample.saturating_add(unit * ROOM_AMPLITUDE / 128);
    }
    Ok(Pcm::new(Hz::K48, samples))
}
