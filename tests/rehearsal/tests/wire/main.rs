// SPDX-License-Identifier: MIT OR Apache-2.0

//! A scripted client talks to the rehearsal over an in-memory stream, on virtual time.
//!
//! With `REHEARSAL_WIRE_LOG=DIR` every message is also written below that directory, one folder per test, so that an
//! independent checker can judge both sides.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod conversations;
mod faults;
mod files;
mod gates;
