// SPDX-License-Identifier: MIT OR Apache-2.0

//! `[earcons]`, `[hal.mute]` and `[audio.recording]`: the sounds that tell how the device stands, the switch that holds the
//! microphone off, and what is recorded of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hal::Level;
use serde::{Deserialize, Serialize};

use super::check::Check;
use super::raw::Raw;
use crate::clip::earcon::{Earcon, EarconSource};

/// `[hal.mute]`, where there is such a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MuteLine {
    /// The file that shows its level, 0 or 1.
    pub file: PathBuf,
    /// The level at which the microphone is off.
    pub muted: Level,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEarcons {
    pub listening: String,
    pub thinking: String,
    pub muted: String,
    pub unmuted: String,
    pub offline: String,
    pub error: String,
    pub confirm: String,
    pub recording: String,
}

/// No sound.
const NONE: &str = "none";

impl Default for RawEarcons {
    /// In half duplex whatever sounds while a person may still be speaking takes their words away: the two that do are off.
    fn default() -> Self {
        Self {
            listening: NONE.into(),
            thinking: NONE.into(),
            muted: String::new(),
            unmuted: String::new(),
            offline: String::new(),
            error: String::new(),
            confirm: String::new(),
            recording: String::new(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRecording {
    pub folder: String,
    pub take_s: i64,
    pub takes: i64,
}

impl Default for RawRecording {
    fn default() -> Self {
        Self { folder: String::new(), take_s: 300, takes: 4 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMute {
    pub file: String,
    pub muted: i64,
}

impl Default for RawMute {
    fn default() -> Self {
        Self { file: String::new(), muted: 1 }
    }
}

impl Check<'_> {
    pub(super) fn earcons(&mut self, raw: &Raw) -> BTreeMap<Earcon, EarconSource> {
        let raw = &raw.earcons;
        let mut earcons = BTreeMap::new();
        for earcon in Earcon::ALL {
            let text = match earcon {
                Earcon::Listening => &raw.listening,
                Earcon::Thinking => &raw.thinking,
                Earcon::Muted => &raw.muted,
                Earcon::Unmuted => &raw.unmuted,
                Earcon::Offline => &raw.offline,
                Earcon::Error => &raw.error,
                Earcon::Confirm => &raw.confirm,
                Earcon::Recording => &raw.recording,
            };
            let key = format!("earcons.{}", earcon.name());
            match self.path(&key, text) {
                None => drop(earcons.insert(earcon, EarconSource::Builtin)),
                Some(_) if text == NONE => {}
                Some(path) => {
                    if !path.is_file() {
                        self.wrong(&key, "\"\", \"none\", or the path of an audio file that exists");
                    }
                    earcons.insert(earcon, EarconSource::File(path));
                }
            }
        }
        earcons
    }

    pub(super) fn recording(&mut self, raw: &Raw) -> Option<audio::Recording> {
        let raw = &raw.audio.recording;
        let take_s = self.whole("audio.recording.take_s", raw.take_s, 1..=3600).unsigned_abs();
        let takes = self.whole("audio.recording.takes", raw.takes, 1..=100);
        Some(audio::Recording {
            folder: self.path("audio.recording.folder", &raw.folder)?,
            take_max: Duration::from_secs(take_s),
            takes_max: u32::try_from(takes).unwrap_or(1),
        })
    }

    pub(super) fn mute_line(&mut self, raw: &Raw) -> Option<MuteLine> {
        let raw = &raw.hal.mute;
        let muted =
            if self.whole("hal.mute.muted", raw.muted, 0..=1) == 0 { Level::Low } else { Level::High };
        let file = self.path("hal.mute.file", &raw.file)?;
        Some(MuteLine { file, muted })
    }
}
