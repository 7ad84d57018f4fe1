// SPDX-License-Identifier: MIT OR Apache-2.0

//! Units, ids, clips by name and the audio handle that every `voiced` crate shares.
//!
//! This crate decides nothing and does nothing: it has no dependencies, no I/O and no clock. It exists so that
//! frames cannot be taken for milliseconds, a turn for a call, or the audio of one rate for another.
//!
//! Instants are [`Instant`], counted on the daemon's boot-time clock: it goes on while the device is suspended, so
//! an approval cannot be kept alive by putting the device to sleep. Spans are [`std::time::Duration`].

#![forbid(unsafe_code)]

mod audio;
mod clip;
mod id;
mod time;

pub use audio::{Db, Frames, Hz, Pcm};
pub use clip::Clip;
pub use id::{CallKey, Epoch, GrantId, Nonce, PendingId, TurnId, UtteranceId};
pub use time::Instant;
