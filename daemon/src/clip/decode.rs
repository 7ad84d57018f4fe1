// SPDX-License-Identifier: MIT OR Apache-2.0

//! Audio files to samples.

use std::io::Cursor;
use std::panic::catch_unwind;
use std::time::Duration;

use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error as DecodeError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;
use units::{Hz, Pcm};

use super::ClipError;

/// Highest sample rate decoded: that of sound cards. With the longest clip it bounds what a small file can become, 12 MB.
const RATE_HZ_MAX: u32 = 48_000;

/// Decodes a whole WAV, FLAC, Ogg Vorbis or MP3 file to mono at its own rate, at most 48 kHz. `name` is used in errors only.
/// A file of more than `longest` is refused as soon as that much of it is decoded: a few kilobytes can hold hours of silence.
///
/// A file that ends early (as the WAV of a program that writes to a pipe does, by its header) gives what is there.
///
/// # Errors
/// [`ClipError::Format`] if nothing can be decoded, [`ClipError::TooLong`].
pub fn decode(name: &str, bytes: Vec<u8>, longest: Duration) -> Result<Pcm, ClipError> {
    // A header of nonsense has made a decoder panic.
    let decoded = catch_unwind(|| decode_from(name, Box::new(Cursor::new(bytes)), longest));
    decoded.unwrap_or_else(|_| {
        Err(ClipError::Format { name: name.to_owned(), detail: "its decoder gave up".to_owned() })
    })
}

fn decode_from(name: &str, source: Box<dyn MediaSource>, longest: Duration) -> Result<Pcm, ClipError> {
    let format = |detail: String| ClipError::Format { name: name.to_owned(), detail };
    let stream = MediaSourceStream::new(source, Default::default());
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
                let rate = checked(rate).map_err(&format)?;
                if mono.len() as u64 > rate.frames_in(longest).0 {
                    return Err(ClipError::TooLong { name: name.to_owned(), limit: longest });
                }
            }
            Err(DecodeError::DecodeError(_)) => {}
            Err(cause) => return Err(format(cause.to_string())),
        }
    }
    let rate = checked(rate).map_err(&format)?;
    if mono.is_empty() {
        return Err(format("no audio in it".to_owned()));
    }
    Ok(Pcm::new(rate, mono))
}

fn checked(rate: Option<Hz>) -> Result<Hz, String> {
    match rate {
        Some(rate) if rate.get() <= RATE_HZ_MAX => Ok(rate),
        Some(rate) => Err(format!("its sample rate of {} Hz is above {RATE_HZ_MAX} Hz", rate.get())),
        None => Err("no sample rate".to_owned()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "channel counts are small")]
fn mix(frame: &[f32]) -> i16 {
    to_i16(frame.iter().sum::<f32>() / frame.len() as f32)
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to the range of i16")]
pub(super) fn to_i16(sample: f32) -> i16 {
    (sample * 32768.0).round().clamp(-32768.0, 32767.0) as i16
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Read, Seek, SeekFrom};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::clip::MAX_CLIP;

    /// A WAV of 16 bits: saw teeth of 100 frames, louder in each channel.
    pub(crate) fn wav(rate: u32, channels: u16, frames: usize) -> Vec<u8> {
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

    /// A FLAC of silence, 8 kHz, mono: 14 bytes for every 4 s.
    pub(crate) fn silent_flac(frames: u64) -> Vec<u8> {
        const BLOCK: u16 = 32_768;
        let mut bytes = b"fLaC\x80\0\0\x22".to_vec();
        // Block sizes, unknown frame sizes, then 8000 Hz, one channel, 16 bits, unknown length, and no digest.
        bytes.extend([BLOCK.to_be_bytes(), BLOCK.to_be_bytes()].concat());
        bytes.extend([0; 6]);
        bytes.extend([0x01, 0xf4, 0x00, 0xf0, 0, 0, 0, 0]);
        bytes.extend([0; 16]);
        for number in 0..frames.div_ceil(BLOCK.into()) {
            let start = bytes.len();
            bytes.extend([0xff, 0xf8, 0x74, 0x08]);
            let number =
                u32::try_from(number).ok().and_then(char::from_u32).expect("short of the surrogates");
            bytes.extend(number.to_string().as_bytes());
            bytes.extend((BLOCK - 1).to_be_bytes());
            bytes.push(u8::try_from(crc(&bytes[start..], 8, 0x07)).expect("of 8 bits"));
            // One constant subframe of zeros.
            bytes.extend([0, 0, 0]);
            bytes.extend(u16::try_from(crc(&bytes[start..], 16, 0x8005)).expect("of 16 bits").to_be_bytes());
        }
        bytes
    }

    /// A check sum of that many bits, from 0, the highest bit first.
    fn crc(bytes: &[u8], bits: u32, polynomial: u32) -> u32 {
        let (top, mask) = (1 << (bits - 1), (1 << bits) - 1);
        bytes.iter().fold(0, |sum, byte| {
            (0..8).fold(sum ^ (u32::from(*byte) << (bits - 8)), |sum, _| {
                if sum & top == 0 { sum << 1 & mask } else { (sum << 1 ^ polynomial) & mask }
            })
        })
    }

    #[test]
    fn flac_is_decoded() {
        let pcm = decode("short.flac", silent_flac(32_768 * 3), MAX_CLIP).expect("it is a FLAC");
        assert_eq!((pcm.rate().get(), pcm.samples().len()), (8000, 32_768 * 3));
    }

    #[test]
    fn row_112_hours_of_silence_in_a_small_file_are_refused_after_two_minutes_of_them() {
        let hours = silent_flac(8000 * 3600 * 50);
        assert!(hours.len() < 800_000, "{}", hours.len());
        let (read, whole) = (Arc::new(AtomicUsize::new(0)), hours.len());
        let source = Counted { bytes: Cursor::new(hours), read: Arc::clone(&read) };
        let fault = decode_from("hours.flac", Box::new(source), MAX_CLIP).expect_err("it is too long");
        assert_eq!(fault.to_string(), "clip `hours.flac` is longer than 120 s");
        // Two minutes of 50 hours are less than a thousandth; it is read ahead.
        let read = read.load(Ordering::Relaxed);
        assert!(read * 4 < whole, "{read} of {whole} bytes were read");
    }

    /// Bytes that know how many of them were read.
    struct Counted {
        bytes: Cursor<Vec<u8>>,
        read: Arc<AtomicUsize>,
    }

    impl Read for Counted {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = self.bytes.read(into)?;
            self.read.fetch_add(count, Ordering::Relaxed);
            Ok(count)
        }
    }

    impl Seek for Counted {
        fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
            self.bytes.seek(to)
        }
    }

    impl MediaSource for Counted {
        fn is_seekable(&self) -> bool {
            true
        }

        fn byte_len(&self) -> Option<u64> {
            u64::try_from(self.bytes.get_ref().len()).ok()
        }
    }

    #[test]
    fn row_112_the_longest_clip_is_taken_and_a_longer_one_is_not() {
        let of = |frames| decode("long.wav", wav(8000, 1, frames), Duration::from_secs(2));
        assert_eq!(of(16_000).expect("it fits").samples().len(), 16_000);
        assert!(matches!(of(16_001), Err(ClipError::TooLong { .. })));
        let fault = decode("fine.wav", wav(96_000, 1, 1000), MAX_CLIP).expect_err("nobody hears that");
        assert!(fault.to_string().contains("sample rate of 96000 Hz is above 48000 Hz"), "{fault}");
        let mut wide = wav(48_000, 1, 1000);
        // The number of channels in the header.
        wide[22..24].fill(0xff);
        let fault = decode("wide.wav", wide, MAX_CLIP).expect_err("nobody has as many ears");
        assert!(matches!(fault, ClipError::Format { .. }), "{fault}");
    }

    #[test]
    fn wav_is_decoded_and_mixed_to_mono() {
        let pcm = decode("two.wav", wav(8000, 2, 4000), MAX_CLIP).expect("it is a WAV");
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
        let pcm = decode("cut.wav", bytes, MAX_CLIP).expect("most of it is there");
        assert!(pcm.samples().len() >= 2900, "{}", pcm.samples().len());
    }

    #[test]
    fn what_is_not_audio_is_refused_by_name() {
        let fault = decode("notes.txt", b"hello, this is text and nothing else".to_vec(), MAX_CLIP)
            .expect_err("it is text");
        assert!(fault.to_string().starts_with("clip `notes.txt` is not WAV"), "{fault}");
    }
}
