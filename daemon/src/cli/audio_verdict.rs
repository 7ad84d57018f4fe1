// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a stretch of microphone audio says of the microphone. Pure.

use std::time::Duration;

use serde_json::{Value, json};
use units::{Db, Hz};

/// Samples of a tenth of a second at 16 kHz, the stretches whose levels are compared.
const STRETCH: usize = 1_600;

/// Quieter speech than this is hard to understand, whoever listens.
const QUIET_SPEECH: Db = Db(-45.0);

/// A room louder than this covers what is said at arm's length.
const NOISY: Db = Db(-40.0);

/// An offset of the samples that is more than dirt: 1 % of full scale.
const DC_MAX: f64 = 0.01;

/// Part of the samples at full scale above which words are spoilt: 0.1 %.
const CLIPPED_MAX: f64 = 0.001;

/// What was measured of the microphone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    /// How much audio there was.
    pub(super) span: Duration,
    /// Largest sample.
    pub(super) peak: Db,
    /// Loudest tenth of a second.
    pub(super) loudest: Db,
    /// What nine of ten tenths of a second are louder than.
    pub(super) floor: Db,
    /// Mean of the samples, full scale being 1.
    pub(super) dc: f64,
    /// Every sample is zero.
    pub(super) digital_zero: bool,
    /// Part of the samples at full scale.
    pub(super) clipped: f64,
    /// How much of it was voiced.
    pub(super) speech: Duration,
}

/// Something that a person should know, in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// For programs.
    pub(super) code: &'static str,
    /// For people, with what to do.
    pub(super) text: &'static str,
    /// The microphone cannot be used like this.
    pub(super) is_fault: bool,
}

impl Measured {
    /// What `samples` are, 16 kHz mono, of which the detector took `speech` for voiced and the device delivered this part at
    /// full scale.
    pub(super) fn of(samples: &[i16], speech: Duration, clipped: f64) -> Self {
        let mut levels: Vec<f64> = samples.chunks(STRETCH).map(rms).collect();
        levels.sort_by(f64::total_cmp);
        let count = samples.len().max(1) as f64;
        let peak = samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
        Self {
            span: units::Frames(samples.len() as u64).span(Hz::K16),
            peak: decibels(f64::from(peak) / 32_768.0),
            loudest: decibels(levels.last().copied().unwrap_or(0.0)),
            floor: decibels(levels.get(levels.len() / 10).copied().unwrap_or(0.0)),
            dc: samples.iter().map(|sample| f64::from(*sample)).sum::<f64>() / count / 32_768.0,
            digital_zero: samples.iter().all(|sample| *sample == 0),
            clipped,
            speech,
        }
    }

    /// What there is to say of it, the worst first. Nothing is good.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let finding = |code, is_fault, text| Finding { code, text, is_fault };
        if self.span.is_zero() {
            let text =
                "no audio came: the device is open and delivers nothing; unplug it and plug it in again";
            return vec![finding("no_audio", true, text)];
        }
        if self.digital_zero {
            let text = "digital silence: every sample is zero; the microphone is muted in the mixer or by a switch of its own, or \
                        this is not the device with the microphone (`voiced audio list` shows the others)";
            return vec![finding("digital_zero", true, text)];
        }
        let mut findings = Vec::new();
        if self.clipped > CLIPPED_MAX {
            let text =
                "too loud: samples are cut off at full scale; lower the capture gain (`alsamixer`, F4)";
            findings.push(finding("clipping", true, text));
        }
        if self.dc.abs() > DC_MAX {
            let text = "the samples are off centre: a fault of the microphone, its bias or its sound card";
            findings.push(finding("dc_offset", true, text));
        }
        if self.floor.0 > NOISY.0 {
            let text =
                "the room, or the microphone, is noisy even when nobody speaks: move it, or lower its gain";
            findings.push(finding("noisy", false, text));
        }
        if self.speech.is_zero() {
            let text = "nobody was heard to speak: say something while it listens, closer if you did";
            findings.push(finding("no_speech", true, text));
        } else if self.loudest.0 < QUIET_SPEECH.0 {
            let text = "speech is very quiet: raise the capture gain (`alsamixer`, F4), or speak closer";
            findings.push(finding("quiet", false, text));
        }
        findings
    }

    pub(super) fn as_value(&self) -> Value {
        let tenth = |db: Db| (f64::from(db.0.max(-120.0)) * 10.0).round() / 10.0;
        json!({
            "seconds": self.span.as_secs_f64(),
            "peak_dbfs": tenth(self.peak),
            "loudest_dbfs": tenth(self.loudest),
            "noise_floor_dbfs": tenth(self.floor),
            "dc_percent": (self.dc * 10_000.0).round() / 100.0,
            "digital_zero": self.digital_zero,
            "clipped_percent": (self.clipped * 10_000.0).round() / 100.0,
            "speech_seconds": self.speech.as_secs_f64(),
        })
    }
}

fn rms(samples: &[i16]) -> f64 {
    let energy: f64 = samples.iter().map(|sample| (f64::from(*sample) / 32_768.0).powi(2)).sum();
    (energy / samples.len().max(1) as f64).sqrt()
}

#[expect(clippy::cast_possible_truncation, reason = "a level needs no more precision")]
fn decibels(amplitude: f64) -> Db {
    Db::from_amplitude(amplitude as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[expect(clippy::cast_possible_truncation, reason = "full scale at most")]
    fn tone(amplitude: f64, offset: f64) -> Vec<i16> {
        (0..32_000).map(|n| ((f64::from(n) * 0.1).sin() * amplitude + offset) as i16).collect()
    }

    fn codes(samples: &[i16], speech: Duration, clipped: f64) -> Vec<&'static str> {
        Measured::of(samples, speech, clipped).findings().iter().map(|finding| finding.code).collect()
    }

    /// A voice of one second in a quiet room of one more.
    fn said(amplitude: f64) -> Vec<i16> {
        let mut samples = tone(amplitude, 0.0);
        samples[..16_000].iter_mut().enumerate().for_each(|(n, sample)| *sample = i16::from(n % 2 == 0));
        samples
    }

    #[test]
    fn each_thing_that_is_wrong_has_its_name() {
        assert_eq!(codes(&said(6_000.0), SECOND, 0.0), [""; 0]);
        assert_eq!(codes(&[], Duration::ZERO, 0.0), ["no_audio"]);
        assert_eq!(codes(&[0; 16_000], Duration::ZERO, 0.0), ["digital_zero"]);
        assert_eq!(codes(&said(32_000.0), SECOND, 0.02), ["clipping"]);
        assert_eq!(codes(&tone(20.0, 900.0), SECOND, 0.0), ["dc_offset", "noisy"]);
        assert_eq!(codes(&tone(6_000.0, 0.0), SECOND, 0.0), ["noisy"]);
        assert_eq!(codes(&said(6_000.0), Duration::ZERO, 0.0), ["no_speech"]);
        assert_eq!(codes(&said(120.0), SECOND, 0.0), ["quiet"]);
    }

    #[test]
    fn levels_are_those_of_the_samples() {
        let measured = Measured::of(&said(16_384.0), SECOND, 0.0);
        assert!((measured.peak.0 + 6.0).abs() < 0.1, "{measured:?}");
        assert!((measured.loudest.0 + 9.0).abs() < 0.2, "{measured:?}");
        assert!(measured.floor.0 < -90.0, "{measured:?}");
        assert!(measured.dc.abs() < 0.001, "{measured:?}");
        assert_eq!(measured.span, 2 * SECOND);
    }
}
