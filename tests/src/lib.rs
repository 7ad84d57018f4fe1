// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the end-to-end tests and the bench share: the built daemon as a process, and the virtual sound card.
//!
//! It decides nothing about the daemon; it starts things, watches them under a limit, and ends them, also when a test
//! panics. A harness that cannot go on panics with the reason: that is how a test fails. Nothing here sleeps: waiting
//! is for a line of the log, the end of a process, or audio to arrive, and each wait has a limit.

mod apart;
mod counter;
mod device;
mod files;
mod process;
mod rig;
mod talk;

pub use apart::Apart;
pub use counter::{Counter, Done, Reply};
pub use device::{Device, PRINT};
pub use files::{Scratch, voiced_binary, wav, wire_dir};
pub use process::{Daemon, Log};
pub use rig::{Client, MICROPHONE, RIG_VARIABLES, Recorder, Rig, SPEAKER, SPEAKER_LOOP};
pub use talk::{Seen, Talk};

/// Makes the TLS provider of this process, as the daemon's own start does. Every test of a process may call it.
pub fn install_tls() {
    // It fails when another test was first, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
}
