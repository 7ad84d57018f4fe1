// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tools of other processes: what holds whatever such a process does.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod answers;
mod handler;
mod hostile;
mod http;
mod offering;
mod process;
mod progress;
mod rig;
