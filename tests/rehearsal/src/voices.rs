// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bundled recordings: what the rehearsal says and what a person says to it.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error as DecodeError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;
use units::{Hz, Pcm};

/// The text of every bundled recording, and how it is spoken when they are made again.
const LINES: &str = include_str!("../voices/lines.toml");

macro_rules! recordings {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../voices/", $name, ".ogg")).as_slice())),*]
    };
}

/// Every bundled recording by `who-id`: Ogg Vorbis, mono; 24 kHz for the model, 48 kHz for the person.
const RECORDINGS: &[(&str, &[u8])] = recordings! {
    "model-claims_sent" "model-could_not" "model-dock_long" "model-goodbye" "model-hello" "model-not_sent"
    "model-on_its_way" "model-one_moment" "model-sure" "model-too_warm"
    "person-dock" "person-goodbye" "person-hello" "person-maybe" "person-message" "person-no" "person-shift"
    "person-stop" "person-temperature" "person-yes"
};

/// Why there is no such recording. All variants about bundled files are faults of this crate, found by its tests.
#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    /// Nothing is recorded under this name. Use one of [`Voices::ids`] or [`person_ids`].
    #[error("no recording `{id}`: expected one of {known}")]
    Unknown {
        /// The id that was asked for.
        id: String,
        /// The ids there are, separated by commas.
        known: String,
    },
    /// The recording is not mono Vorbis in Ogg. Run `voices/make-voices.sh` again.
    #[error("recording `{id}` cannot be decoded")]
    Decode {
        /// The recording.
        id: String,
        /// What the decoder said.
        #[source]
        cause: DecodeError,
    },
    /// The recording has no audio track, more than one channel, or no rate. Run `voices/make-voices.sh` again.
    #[error("recording `{id}` is not mono audio with a known rate")]
    Format {
        /// The recording.
        id: String,
    },
    /// `lines.toml` is not valid. Correct it and build again.
    #[error("voices/lines.toml is not valid")]
    Lines(#[source] toml::de::Error),
}

/// Something that can be said: its audio and the words in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Mono audio. The model's is at 24 kHz, the person's at 48 kHz.
    pub pcm: Pcm,
    /// The words, as a transcript has them.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    line: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    who: String,
    id: String,
    text: String,
    #[serde(rename = "spoken")]
    _spoken: Option<String>,
}

/// What the rehearsal can say, by id. Cloning copies handles, not audio.
#[derive(Clone, Debug, Default)]
pub struct Voices(BTreeMap<String, Recording>);

impl Voices {
    /// The bundled recordings of the model's lines, 24 kHz.
    ///
    /// # Errors
    /// Only if the bundled files are broken; the tests of this crate decode every one.
    pub fn bundled() -> Result<Self, VoiceError> {
        let mut voices = Self::default();
        for line in lines()?.into_iter().filter(|line| line.who == "model") {
            let recording = Recording { pcm: decode(&format!("model-{}", line.id))?, text: line.text };
            voices.0.insert(line.id, recording);
        }
        Ok(voices)
    }

    /// Adds or replaces what is said under `id`. `pcm` is mono at any rate; the wire carries 24 kHz, so any other
    /// rate is converted when it is said.
    pub fn insert(&mut self, id: impl Into<String>, pcm: Pcm, text: impl Into<String>) {
        self.0.insert(id.into(), Recording { pcm, text: text.into() });
    }

    /// What is said under `id`.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Recording> {
        self.0.get(id)
    }

    /// Every id, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// A line of the person's, mono at 48 kHz, without silence around it.
///
/// # Errors
/// [`VoiceError::Unknown`] names the ids there are.
pub fn person(id: &str) -> Result<Recording, VoiceError> {
    let known = || person_ids().collect::<Vec<_>>().join(", ");
    let line = lines()?
        .into_iter()
        .find(|line| line.who == "person" && line.id == id)
        .ok_or_else(|| VoiceError::Unknown { id: id.to_owned(), known: known() })?;
    Ok(Recording { pcm: decode(&format!("person-{id}"))?, text: line.text })
}

/// The ids [`person`] knows.
pub fn person_ids() -> impl Iterator<Item = &'static str> {
    RECORDINGS.iter().filter_map(|(name, _)| name.strip_prefix("person-"))
}

fn lines() -> Result<Vec<Line>, VoiceError> {
    toml::from_str::<Lines>(LINES).map(|lines| lines.line).map_err(VoiceError::Lines)
}

/// Decodes one bundled recording by its file name without the ending.
fn decode(name: &str) -> Result<Pcm, VoiceError> {
    let known = || RECORDINGS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let (_, bytes) = RECORDINGS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| VoiceError::Unknown { id: name.to_owned(), known: known() })?;
    let decode_failed = |cause| VoiceError::Decode { id: name.to_owned(), cause };
    let bad_format = || VoiceError::Format { id: name.to_owned() };

    let source =
        MediaSourceStream::new(Box::new(io::Cursor::new(*bytes)), MediaSourceStreamOptions::default());
    let mut format = symphonia::default::get_probe()
        .probe(&Hint::new(), source, FormatOptions::default(), MetadataOptions::default())
        .map_err(decode_failed)?;
    let track = format.default_track(TrackType::Audio).ok_or_else(bad_format)?;
    let track_id = track.id;
    let params = track.codec_params.as_ref().and_then(|params| params.audio()).ok_or_else(bad_format)?;
    let rate = params.sample_rate.and_then(Hz::new).ok_or_else(bad_format)?;
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(params, &AudioDecoderOptions::default())
        .map_err(decode_failed)?;

    let mut samples: Vec<i16> = Vec::new();
    let mut packet_samples: Vec<i16> = Vec::new();
    while let Some(packet) = format.next_packet().map_err(decode_failed)? {
        if packet.track_id != track_id {
            continue;
        }
        let buffer = decoder.decode(&packet).map_err(decode_failed)?;
        if buffer.spec().channels().count() != 1 {
            return Err(bad_format());
        }
        buffer.copy_to_vec_interleaved(&mut packet_samples);
        samples.append(&mut packet_samples);
    }
    Ok(Pcm::new(rate, samples))
}
