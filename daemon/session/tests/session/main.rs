// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests of the session from outside: golden transcripts and properties.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod attacks;
mod consent;
mod golden;
mod properties;
mod render;
mod retry;
mod script;
mod shop;
mod snapshot;
mod world;
