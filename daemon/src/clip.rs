//! Audio files: decoding clips, the built-in ones, and the WAV that speech engines write.
//!
//! Decoding happens when the daemon starts, never while it plays: a clip that cannot be decoded is a fault of the
//! configuration, found before the microphone opens.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::Duration;

use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error as DecodeError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;
use units::{Hz, Pcm};

use crate::file;

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
    /// It is too large or too long.
    #[error("clip `{name}` is {what}; the limit is {limit}")]
    TooLong {
        /// The clip.
        name: String,
        /// What was measured.
        what: String,
        /// What is allowed.
        limit: String,
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
}

/// Clips by name, decoded, mono, 24 kHz.
#[derive(Clone, Debug, Default)]
pub struct Clips(BTreeMap<String, Pcm>);

impl Clips {
    /// Loads every clip of `sources` (name to `builtin:NAME` or a path).
    ///
    /// # Errors
    /// Every clip that cannot be used.
    pub fn load<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Vec<ClipError>> {
        let mut clips = BTreeMap::new();
        let mut faults = Vec::new();
        for (name, source) in sources {
            match load(source) {
                Ok(pcm) => {
                    clips.insert(name.to_owned(), pcm);
                }
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok(Self(clips)) } else { Err(faults) }
    }

    /// The clip called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Pcm> {
        self.0.get(name)
    }
}

fn load(source: &str) -> Result<Pcm, ClipError> {
    if let Some(name) = source.strip_prefix("builtin:") {
        return builtin(name).ok_or_else(|| ClipError::Unknown { name: name.to_owned() });
    }
    let path = Path::new(source);
    let read = |cause| ClipError::Read { path: path.to_owned(), cause };
    let pcm = decode(source, file::read(path, MAX_CLIP_BYTES).map_err(read)?)?;
    if pcm.span() > MAX_CLIP {
        let what = format!("{} s long", pcm.span().as_secs());
        return Err(ClipError::TooLong {
            name: source.to_owned(),
            what,
            limit: format!("{} s", MAX_CLIP.as_secs()),
        });
    }
    Ok(audio::convert(&pcm, Hz::K24))
}

/// Decodes a whole WAV, FLAC, Ogg Vorbis or MP3 file to mono at its own rate. `name` is used in errors only.
///
/// A file that ends early (as the WAV of a program that writes to a pipe does, by its header) gives what is there.
///
/// # Errors
/// [`ClipError::Format`] if nothing can be decoded.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<Pcm, ClipError> {
    let format = |detail: String| ClipError::Format { name: name.to_owned(), detail };
    let stream = MediaSourceStream::new(Box::new(Cursor::new(bytes)), Default::default());
    let mut reader = symphonia::default::get_probe()
        .probe(&Hint::new(), stream, FormatOptions::default(), MetadataOptions::default())
        .map_err(|cause| format(cause.to_string()))?;
    let track = reader.default_track(TrackType::Audio).ok_or_else(|| format("no audio track".to_owned()))?;
    let id = track.id;
    let params = track.codec_params.as_ref().and_then(|params| params.audio());
    let params = params.ok_or_else(|| format("no audio parameters".to_owned()))?;
    let mut rate = params.sample_rate.and_then(Hz::new);
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(params, &AudioDecoderOptions::default())
        .map_err(|cause| format(cause.to_string()))?;
    let mut mono: Vec<i16> = Vec::new();
    let mut block: Vec<f32> = Vec::new();
    // The header of a WAV from a pipe promises more than comes: the end of the bytes is the end of the audio.
    while let Ok(Some(packet)) = reader.next_packet() {
        if packet.track_id != id {
            continue;
        }
        match decoder.decode(&packet) {
            Ok(buffer) => {
                let channels = buffer.spec().channels().count().max(1);
                rate = rate.or_else(|| Hz::new(buffer.spec().rate()));
                block.resize(buffer.samples_interleaved(), 0.0);
                buffer.copy_to_slice_interleaved(&mut block);
                mono.extend(block.chunks_exact(channels).map(mix));
            }
            Err(DecodeError::DecodeError(_)) => {}
            Err(cause) => return Err(format(cause.to_string())),
        }
    }
    let rate = rate.ok_or_else(|| format("no sample rate".to_owned()))?;
    if mono.is_empty() {
        return Err(format("no audio in it".to_owned()));
    }
    Ok(Pcm::new(rate, mono))
}

#[expect(clippy::cast_precision_loss, reason = "channel counts are small")]
fn mix(frame: &[f32]) -> i16 {
    to_i16(frame.iter().sum::<f32>() / frame.len() as f32)
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to the range of i16")]
fn to_i16(sample: f32) -> i16 {
    (sample * 32768.0).round().clamp(-32768.0, 32767.0) as i16
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
        samples.extend(tone(hz, ms));
    }
    Some(Pcm::new(Hz::K24, samples))
}

/// A tone at -9 dBFS with 10 ms ramps, 24 kHz.
#[expect(clippy::cast_precision_loss, reason = "a tone has far fewer than 2^24 frames")]
fn tone(hz: f32, ms: u32) -> Vec<i16> {
    let rate = Hz::K24.get();
    let frames = rate * ms / 1000;
    let ramp = (rate / 100) as f32;
    (0..frames)
        .map(|n| {
            let edge = (n.min(frames - 1 - n) as f32 / ramp).min(1.0);
            to_i16(0.355 * edge * (std::f32::consts::TAU * hz * n as f32 / rate as f32).sin())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav(rate: u32, channels: u16, frames: usize) -> Vec<u8> {
        let spec = hound::WavSpec {
            channels,
            sample_rate: rate,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = hound::WavWriter::new(&mut bytes, spec).expect("a header fits in memory");
        for n in 0..frames {
            for channel in 0..channels {
                let sample = i16::try_from(n % 100).expect("below 100")
                    * 50
                    * (i16::try_from(channel).expect("few") + 1);
                writer.write_sample(sample).expect("memory takes samples");
            }
        }
        writer.finalize().expect("memory can be seeked");
        bytes.into_inner()
    }

    #[test]
    fn wav_is_decoded_and_mixed_to_mono() {
        let pcm = decode("two.wav", wav(8000, 2, 4000)).expect("it is a WAV");
        assert_eq!((pcm.rate().get(), pcm.samples().len()), (8000, 4000));
        assert!(
            (i32::from(pcm.samples()[40]) - 3000).abs() <= 2,
            "mean of 2000 and 4000: {}",
            pcm.samples()[40]
        );
    }

    #[test]
    fn a_wav_that_ends_before_its_header_says_gives_what_is_there() {
        let mut bytes = wav(8000, 1, 4000);
        bytes.truncate(bytes.len() - 2000);
        let pcm = decode("cut.wav", bytes).expect("most of it is there");
        assert!(pcm.samples().len() >= 2900, "{}", pcm.samples().len());
    }

    #[test]
    fn what_is_not_audio_is_refused_by_name() {
        let fault =
            decode("notes.txt", b"hello, this is text and nothing else".to_vec()).expect_err("it is text");
        assert!(fault.to_string().starts_with("clip `notes.txt` is not WAV"), "{fault}");
    }

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
