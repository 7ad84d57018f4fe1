// SPDX-License-Identifier: MIT OR Apache-2.0

//! Frames, rates, levels and the handle to a piece of audio.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::sync::Arc;
use std::time::Duration;

/// A sample rate in hertz. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hz(u32);

impl Hz {
    /// 16 kHz: what the providers take and the DSP runs at.
    pub const K16: Self = Self(16_000);
    /// 24 kHz: what the providers send and playout runs at.
    pub const K24: Self = Self(24_000);
    /// 48 kHz: what devices run at unless they cannot.
    pub const K48: Self = Self(48_000);

    /// `rate` hertz, or `None` for zero.
    #[must_use]
    pub const fn new(rate: u32) -> Option<Self> {
        if rate == 0 { None } else { Some(Self(rate)) }
    }

    /// The rate as a number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Whole frames in `span` at this rate, rounded down.
    #[must_use]
    pub fn frames_in(self, span: Duration) -> Frames {
        let frames = span.as_nanos() * u128::from(self.0) / 1_000_000_000;
        Frames(u64::try_from(frames).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Hz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.0)
    }
}

impl fmt::Debug for Hz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A count of frames: one sample per channel at one instant. Means nothing without a rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Frames(pub u64);

impl Frames {
    /// How long this many frames last at `rate`.
    #[must_use]
    pub fn span(self, rate: Hz) -> Duration {
        let nanos = u128::from(self.0) * 1_000_000_000 / u128::from(rate.get());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Frames {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Frames {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Frames {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

/// A level in decibels. For signals, relative to full scale (dBFS): 0 is the loudest sine that fits.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Db(pub f32);

impl Db {
    /// Below anything a 16-bit signal can hold; stands for silence.
    pub const SILENCE: Self = Self(-120.0);

    /// The factor that applies this gain to an amplitude.
    #[must_use]
    pub fn amplitude(self) -> f32 {
        10f32.powf(self.0 / 20.0)
    }

    /// The level of an amplitude; [`Db::SILENCE`] for zero.
    #[must_use]
    pub fn from_amplitude(amplitude: f32) -> Self {
        if amplitude <= 1e-6 { Self::SILENCE } else { Self(20.0 * amplitude.log10()) }
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} dB", self.0)
    }
}

/// A handle to a piece of mono 16-bit PCM at a known rate. Cloning copies the handle, not the audio.
#[derive(Clone, PartialEq, Eq)]
pub struct Pcm {
    rate: Hz,
    samples: Arc<[i16]>,
}

impl Pcm {
    /// Takes `samples`, mono, at `rate`.
    #[must_use]
    pub fn new(rate: Hz, samples: impl Into<Arc<[i16]>>) -> Self {
        Self { rate, samples: samples.into() }
    }

    /// The rate.
    #[must_use]
    pub const fn rate(&self) -> Hz {
        self.rate
    }

    /// The samples, mono.
    #[must_use]
    pub fn samples(&self) -> &[i16] {
        &self.samples
    }

    /// How many frames it holds.
    #[must_use]
    pub fn frames(&self) -> Frames {
        Frames(self.samples.len() as u64)
    }

    /// How long it plays.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.frames().span(self.rate)
    }

    /// True when it holds no frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }
}

impl fmt::Debug for Pcm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pcm({} ms at {})", self.span().as_millis(), self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_spans_agree() {
        assert_eq!(Hz::K48.frames_in(Duration::from_millis(10)), Frames(480));
        assert_eq!(Frames(480).span(Hz::K48), Duration::from_millis(10));
        assert_eq!(Hz::new(44_100).map(|rate| rate.frames_in(Duration::from_millis(10))), Some(Frames(441)));
        assert_eq!(Hz::new(0), None);
    }

    #[test]
    fn level_and_amplitude_agree() {
        assert!((Db::from_amplitude(0.5).0 + 6.02).abs() < 0.01);
        assert!((Db(-6.0206).amplitude() - 0.5).abs() < 1e-4);
        assert_eq!(Db::from_amplitude(0.0), Db::SILENCE);
    }

    #[test]
    fn pcm_knows_its_length() {
        let pcm = Pcm::new(Hz::K24, vec![0i16; 2400]);
        assert_eq!(pcm.span(), Duration::from_millis(100));
        assert_eq!(format!("{pcm:?}"), "Pcm(100 ms at 24000 Hz)");
    }
}
