// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clips: short recordings that tools play, by name or from a URL, and the decoding of audio files.
//!
//! A file is decoded when the daemon starts: one that cannot be is a fault of the configuration, found before the microphone
//! opens. What is fetched is decoded when it has come, on a thread of its own; see [`store`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tools::http::{DownloadError, Target, TargetError};
use units::{Hz, Pcm};

use crate::file;

mod decode;
pub mod earcon;
pub mod store;

pub use decode::decode;

/// Longest clip accepted. A kiosk that talks for longer than this by itself has a wrong file configured.
pub const MAX_CLIP: Duration = Duration::from_secs(120);

/// Largest clip file accepted: two minutes of 48 kHz stereo WAV fit.
pub const MAX_CLIP_BYTES: u64 = 24 * 1024 * 1024;

/// Why a clip cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClipError {
    /// It could not be read.
    #[error("clip `{path}` cannot be read; check the path and its permissions")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// It is too long.
    #[error("clip `{name}` is longer than {} s", limit.as_secs())]
    TooLong {
        /// The clip.
        name: String,
        /// What is allowed.
        limit: Duration,
    },
    /// It is not audio in a format we decode.
    #[error("clip `{name}` is not WAV, FLAC, Ogg Vorbis or MP3: {detail}")]
    Format {
        /// The clip.
        name: String,
        /// The decoder's words.
        detail: String,
    },
    /// No such built-in clip.
    #[error("there is no built-in clip `{name}`; there are: alarm, chime")]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// No clip of this name.
    #[error("there is no clip `{name}` under [clips]")]
    Unnamed {
        /// What was asked for.
        name: String,
    },
    /// It may not be fetched from there.
    #[error("clip `{name}` may not be fetched; it takes {cause}")]
    Forbidden {
        /// The clip.
        name: String,
        /// What a URL must be, and is not; no cause of this, but its words.
        cause: TargetError,
    },
    /// It could not be fetched.
    #[error("clip `{name}` could not be fetched")]
    Lost {
        /// The clip.
        name: String,
        /// Why.
        #[source]
        cause: DownloadError,
    },
    /// Too much is being fetched as it is.
    #[error("clip `{name}` is not fetched, as {max} others are")]
    Crowded {
        /// The clip.
        name: String,
        /// How many at once.
        max: usize,
    },
    /// What was to fetch it ended without a word; a panic is logged above.
    #[error("clip `{name}` was given up")]
    GivenUp {
        /// The clip.
        name: String,
    },
}

/// The clips of a configuration by name: decoded, mono, 24 kHz, or where they are fetched from.
#[derive(Clone, Debug, Default)]
pub struct Clips {
    here: BTreeMap<String, Pcm>,
    away: BTreeMap<String, Target>,
}

impl Clips {
    /// Loads every clip of `sources` (name to `builtin:NAME` or a path).
    ///
    /// # Errors
    /// Every clip that cannot be used.
    pub fn load<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Vec<ClipError>> {
        let mut here = BTreeMap::new();
        let mut faults = Vec::new();
        for (name, source) in sources {
            match load(source) {
                Ok(pcm) => {
                    here.insert(name.to_owned(), pcm);
                }
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok(Self { here, away: BTreeMap::new() }) } else { Err(faults) }
    }

    /// The same with those that are fetched, by name, once they are wanted.
    #[must_use]
    pub fn with_fetched(mut self, away: BTreeMap<String, Target>) -> Self {
        self.away = away;
        self
    }

    /// The clip called `name`, if it need not be fetched.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Pcm> {
        self.here.get(name)
    }

    /// Where the clip called `name` is fetched from, if it is.
    #[must_use]
    pub fn target(&self, name: &str) -> Option<&Target> {
        self.away.get(name)
    }
}

fn load(source: &str) -> Result<Pcm, ClipError> {
    if let Some(name) = source.strip_prefix("builtin:") {
        return builtin(name).ok_or_else(|| ClipError::Unknown { name: name.to_owned() });
    }
    let path = Path::new(source);
    let read = |cause| ClipError::Read { path: path.to_owned(), cause };
    let pcm = decode(source, file::read(path, MAX_CLIP_BYTES).map_err(read)?, MAX_CLIP)?;
    Ok(audio::convert(&pcm, Hz::K24))
}

/// Built-in clips: drawn from tones, so that they are there when the disk is not.
fn builtin(name: &str) -> Option<Pcm> {
    // Alarm: two tones a fifth apart, three times, 1.2 s. Chime: one rising pair, 0.4 s.
    let tones: &[(f32, u32)] = match name {
        "alarm" => &[(880.0, 200), (1320.0, 200), (880.0, 200), (1320.0, 200), (880.0, 200), (1320.0, 200)],
        "chime" => &[(660.0, 150), (990.0, 250)],
        _ => return None,
    };
    let mut samples = Vec::new();
    for &(hz, ms) in tones {
        samples.extend(tone(hz, ms, PEAK));
    }
    Some(Pcm::new(Hz::K24, samples))
}

/// Peak of the built-in clips: -9 dBFS.
const PEAK: f32 = 0.355;

/// A tone with 10 ms ramps, 24 kHz.
#[expect(clippy::cast_precision_loss, reason = "a tone has far fewer than 2^24 frames")]
fn tone(hz: f32, ms: u32, peak: f32) -> Vec<i16> {
    let rate = Hz::K24.get();
    let frames = rate * ms / 1000;
    let ramp = (rate / 100) as f32;
    (0..frames)
        .map(|n| {
            let edge = (n.min(frames - 1 - n) as f32 / ramp).min(1.0);
            decode::to_i16(peak * edge * (std::f32::consts::TAU * hz * n as f32 / rate as f32).sin())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_of_a_set_is_reported() {
        let faults = Clips::load([("a", "builtin:alarm"), ("b", "builtin:gong"), ("c", "/no/such/file.wav")]);
        let faults: Vec<String> =
            faults.expect_err("two are wrong").iter().map(ToString::to_string).collect();
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("`gong`") && faults[1].contains("/no/such/file.wav"), "{faults:?}");
    }

    #[test]
    fn built_in_clips_start_and_end_in_silence() {
        let alarm = builtin("alarm").expect("it is built in");
        assert_eq!(alarm.span(), Duration::from_millis(1200));
        assert_eq!((alarm.samples().first(), alarm.samples().last()), (Some(&0), Some(&0)));
        assert!(alarm.samples().iter().any(|&sample| sample > 8000));
    }
}
