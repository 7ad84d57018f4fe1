// SPDX-License-Identifier: MIT OR Apache-2.0

//! Device sample formats.

/// A sample format a device can have.
pub trait Sample: Copy + Send + 'static {
    /// To nominal ±1.0. Floats pass as they are, whatever they hold.
    fn to_f32(self) -> f32;
    /// From nominal ±1.0; beyond is limited, not a number is zero.
    fn from_f32(sample: f32) -> Self;
}

impl Sample for f32 {
    fn to_f32(self) -> f32 {
        self
    }

    fn from_f32(sample: f32) -> Self {
        sample
    }
}

impl Sample for i16 {
    fn to_f32(self) -> f32 {
        f32::from(self) / 32_768.0
    }

    #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, and NaN becomes 0")]
    fn from_f32(sample: f32) -> Self {
        (sample * 32_768.0).round() as Self
    }
}

impl Sample for i32 {
    #[expect(clippy::cast_precision_loss, reason = "24 bits of an A/D converter are all there is")]
    fn to_f32(self) -> f32 {
        self as f32 / 2_147_483_648.0
    }

    #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, and NaN becomes 0")]
    fn from_f32(sample: f32) -> Self {
        (sample * 2_147_483_648.0) as Self
    }
}
