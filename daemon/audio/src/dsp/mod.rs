// SPDX-License-Identifier: MIT OR Apache-2.0

//! Pure blocks: frames in, frames out. None knows a device, a clock or a thread.

pub(crate) mod channels;
pub(crate) mod echo;
pub(crate) mod fade;
pub(crate) mod level;
pub(crate) mod limit;
pub(crate) mod resample;
pub(crate) mod stretch;
pub(crate) mod vad;

use std::time::Duration;

/// What the DSP moves by.
pub(crate) const HOP: Duration = Duration::from_millis(10);

/// One hop at 16 kHz, the rate of the microphone's side.
pub(crate) const HOP_16K: usize = 160;

/// One hop at 24 kHz, the rate of playout.
pub(crate) const HOP_24K: usize = 240;
