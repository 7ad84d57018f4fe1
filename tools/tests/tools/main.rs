// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a tool's author and the daemon can rely on.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod after;
mod arguments;
mod asking;
mod declaring;
mod device_audio;
#[cfg(feature = "http")]
mod http;
mod kb;
mod kits;
mod log;
mod marks;
mod notify;
mod rows_declaring;
mod rows_running;
mod rows_shaping;
mod running;
mod shaping;
mod warehouse;
