// SPDX-License-Identifier: MIT OR Apache-2.0

//! Taking the loudspeaker out of the microphone.
//!
//! A [`Canceller`] is one of the libraries that can; [`gauge`] measures how well it does, from outside and alike for
//! all; [`policy`] decides from that measure whether what comes out may be listened to. None knows a device or a clock.

mod aec;
pub(crate) mod gauge;
pub(crate) mod policy;
#[cfg(feature = "sonora")]
mod stock;

use std::time::Duration;

use crate::config::{Canceller as Kind, Cleaning};
use crate::dsp::HOP_16K;

/// Cancels the echo of one loudspeaker in one microphone, 10 ms at a time, 16 kHz mono, nominal ±1.0.
///
/// One hop of far-end, in the order in which it leaves the loudspeaker, goes in before each hop of microphone. It may
/// lead its echo by up to 250 ms and must never come after it. Not for a device callback: the libraries allocate.
///
/// Not `Send`, as the libraries are not: it lives and dies on the thread of the worker.
pub(crate) trait Canceller {
    /// Takes what leaves the loudspeaker, silence too.
    fn render(&mut self, far: &[f32; HOP_16K]);

    /// Takes what the microphone heard and gives it without the echo, 8 ms later, or 14 ms with noise suppression.
    fn capture(&mut self, near: &[f32; HOP_16K], out: &mut [f32; HOP_16K]);

    /// Forgets the room.
    fn reset(&mut self);

    /// How long after its far-end an echo arrives, when it has found out.
    fn delay(&mut self) -> Option<Duration>;
}

/// The canceller that `cleaning` asks for.
pub(crate) fn canceller(cleaning: Cleaning) -> Box<dyn Canceller> {
    match cleaning.canceller {
        Kind::LongRoom => Box::new(aec::Aec::new(cleaning)),
        #[cfg(feature = "sonora")]
        Kind::Stock => Box::new(stock::Stock::new(cleaning)),
    }
}
