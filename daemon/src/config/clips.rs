// SPDX-License-Identifier: MIT OR Apache-2.0

//! `[clips]`: names for sounds that tools play.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use tools::http::{Egress, Target, TargetError};

use super::check::Check;
use super::raw::Raw;

/// Where a clip comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClipSource {
    /// One that is compiled in, by name.
    Builtin(String),
    /// A WAV, FLAC, Ogg Vorbis or MP3 file. It existed when the configuration was loaded.
    File(PathBuf),
    /// The same behind a URL, on a host that tools may call. It is fetched when it is first wanted.
    Url(Target),
}

impl fmt::Display for ClipSource {
    /// As the file spells it; a URL without its query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(name) => write!(f, "builtin:{name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Url(target) => write!(f, "{target:?}"),
        }
    }
}

impl Check<'_> {
    pub(super) fn clips(&mut self, raw: &Raw, egress: &Egress) -> BTreeMap<String, ClipSource> {
        let mut clips = BTreeMap::new();
        for (name, source) in &raw.clips.0 {
            let key = format!("clips.{name}");
            let clip = if let Some(builtin) = source.strip_prefix("builtin:") {
                Some(ClipSource::Builtin(builtin.to_owned()))
            } else if source.contains("://") {
                self.fetched_clip(&key, source, egress)
            } else {
                let path = self.resolve(&key, source);
                if source.is_empty() || !path.is_file() {
                    let expected =
                        "\"builtin:NAME\", an https:// URL, or the path of an audio file that exists";
                    self.wrong(&key, expected);
                }
                Some(ClipSource::File(path))
            };
            clips.extend(clip.map(|clip| (name.clone(), clip)));
        }
        clips
    }

    fn fetched_clip(&mut self, key: &str, url: &str, egress: &Egress) -> Option<ClipSource> {
        match Target::parse(url, egress) {
            Ok(target) => return Some(ClipSource::Url(target)),
            // Which hosts there would be is not known.
            Err(TargetError::NotAllowed { .. }) if !self.settled(&["tools.egress.allow"]) => {}
            Err(fault) => self.wrong(key, &fault.to_string()),
        }
        None
    }
}
