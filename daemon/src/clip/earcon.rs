// SPDX-License-Identifier: MIT OR Apache-2.0

//! Earcons: short sounds of the device's own that say nothing and tell how it stands. They are drawn from tones, so that they
//! are there when the disk is not, and can be replaced by files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use units::{Hz, Pcm};

use super::{ClipError, decode, tone};
use crate::file;

/// What an earcon tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Earcon {
    /// The model is there and listens.
    Listening,
    /// The person was heard to the end; an answer is being made.
    Thinking,
    /// The microphone is off.
    Muted,
    /// The microphone is on.
    Unmuted,
    /// The service cannot be reached.
    Offline,
    /// Something went wrong that the device cannot say in words.
    Error,
    /// What a person agreed to is being done.
    Confirm,
    /// What is said here is recorded, for diagnosis.
    Recording,
}

/// Longest earcon: what is longer delays what it stands before.
const MAX_EARCON: Duration = Duration::from_secs(2);

/// Largest file: two seconds of 48 kHz stereo WAV, and room.
const MAX_EARCON_BYTES: u64 = 1024 * 1024;

/// Peak of the built-in ones: -20 dBFS, below speech, whose loud vowels reach -6.
const PEAK: f32 = 0.1;

impl Earcon {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Listening,
        Self::Thinking,
        Self::Muted,
        Self::Unmuted,
        Self::Offline,
        Self::Error,
        Self::Confirm,
        Self::Recording,
    ];

    /// As the configuration names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listening => "listening",
            Self::Thinking => "thinking",
            Self::Muted => "muted",
            Self::Unmuted => "unmuted",
            Self::Offline => "offline",
            Self::Error => "error",
            Self::Confirm => "confirm",
            Self::Recording => "recording",
        }
    }

    /// Tones one after the other: hertz and milliseconds. Up is good, down is not, and no two are alike.
    const fn tones(self) -> &'static [(f32, u32)] {
        match self {
            Self::Listening => &[(660.0, 80), (880.0, 120)],
            Self::Thinking => &[(523.0, 60)],
            Self::Muted => &[(587.0, 100), (392.0, 160)],
            Self::Unmuted => &[(392.0, 100), (587.0, 160)],
            Self::Offline => &[(440.0, 120), (349.0, 120), (294.0, 200)],
            Self::Error => &[(233.0, 150), (233.0, 250)],
            Self::Confirm => &[(784.0, 80), (1047.0, 80), (1319.0, 160)],
            Self::Recording => &[(988.0, 60), (740.0, 60), (988.0, 60)],
        }
    }
}

/// Where an earcon comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarconSource {
    /// It is drawn.
    Builtin,
    /// A WAV, FLAC, Ogg Vorbis or MP3 file of at most 2 s.
    File(PathBuf),
}

/// The earcons of a configuration, mono, 24 kHz. Those that are left out do not sound.
#[derive(Clone, Debug, Default)]
pub struct Earcons(BTreeMap<Earcon, Pcm>);

impl Earcons {
    /// Draws and loads them.
    ///
    /// # Errors
    /// Every file that cannot be used.
    pub fn load(sources: &BTreeMap<Earcon, EarconSource>) -> Result<Self, Vec<ClipError>> {
        let mut sounds = BTreeMap::new();
        let mut faults = Vec::new();
        for (earcon, source) in sources {
            match load(*earcon, source) {
                Ok(pcm) => drop(sounds.insert(*earcon, pcm)),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok(Self(sounds)) } else { Err(faults) }
    }

    /// The sound of `earcon`, if it has one.
    #[must_use]
    pub fn find(&self, earcon: Earcon) -> Option<&Pcm> {
        self.0.get(&earcon)
    }
}

fn load(earcon: Earcon, source: &EarconSource) -> Result<Pcm, ClipError> {
    match source {
        EarconSource::Builtin => {
            let tones = earcon.tones().iter();
            let samples: Vec<i16> = tones.flat_map(|&(hz, ms)| tone(hz, ms, PEAK)).collect();
            Ok(Pcm::new(Hz::K24, samples))
        }
        EarconSource::File(path) => {
            let read = |cause| ClipError::Read { path: path.clone(), cause };
            let bytes = file::read(path, MAX_EARCON_BYTES).map_err(read)?;
            let pcm = decode(&path.display().to_string(), bytes, MAX_EARCON)?;
            Ok(audio::convert(&pcm, Hz::K24))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use super::*;

    #[test]
    fn built_in_ones_are_short_quiet_and_faded_and_no_two_are_alike() {
        let sources = Earcon::ALL.map(|earcon| (earcon, EarconSource::Builtin)).into();
        let earcons = Earcons::load(&sources).unwrap();
        for earcon in Earcon::ALL {
            let pcm = earcons.find(earcon).unwrap();
            assert!(pcm.span() <= Duration::from_millis(500), "{earcon:?}");
            let peak = pcm.samples().iter().map(|sample| sample.unsigned_abs()).max().unwrap();
            assert!((3_000..=3_277).contains(&peak), "{earcon:?}: {peak}");
            let before = std::iter::once(&0).chain(pcm.samples());
            let after = pcm.samples().iter().chain(std::iter::once(&0));
            let step = before.zip(after).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            // 3,277 at 1,319 Hz moves by 1,131 a frame at most.
            assert!(step < 1_140, "{earcon:?}: {step}");
            let twins = Earcon::ALL.iter().filter(|other| earcons.find(**other) == Some(pcm));
            assert_eq!(twins.count(), 1, "{earcon:?}");
        }
    }

    #[test]
    fn one_that_is_left_out_is_silent_and_a_file_that_cannot_be_used_is_named() {
        let none = Earcons::load(&BTreeMap::new()).unwrap();
        assert_eq!(none.find(Earcon::Muted), None);
        let missing = EarconSource::File("/no/such/beep.wav".into());
        let faults = Earcons::load(&[(Earcon::Muted, missing)].into()).unwrap_err();
        assert!(faults[0].to_string().contains("/no/such/beep.wav"), "{faults:?}");
    }
}
