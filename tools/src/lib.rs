// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tools a live model may ask for: how one is written, what is checked before the daemon starts, and what comes back.
//!
//! It decides what a tool is called, which arguments it takes, what may be said about its result and how large that
//! may be. It never decides *whether* a call runs: consent, order, deadlines and cancellation belong to the session,
//! which this crate does not know. Nothing here reads configuration or talks to a model.
//!
//! # A tool
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use tools::{Effect, ToolError, ToolResult, ToolSet, tool};
//!
//! /// Adds up two amounts. Use it whenever the person asks for a sum.
//! #[derive(Deserialize, JsonSchema)]
//! struct AddUp {
//!     /// First amount.
//!     first: i64,
//!     /// Second amount.
//!     second: i64,
//! }
//!
//! async fn add_up(args: AddUp) -> Result<ToolResult, ToolError> {
//!     let sum = args.first.checked_add(args.second).ok_or(ToolError::public("that is too much for me"))?;
//!     Ok(ToolResult::ok(format!("The sum is {sum}.")))
//! }
//!
//! let tools = ToolSet::builder().tool(tool(add_up).effect(Effect::Read)).build()?;
//! assert_eq!(tools.find("add_up").map(|tool| tool.effect()), Some(Effect::Read));
//! # Ok::<(), tools::BuildErrors>(())
//! ```
//! The function is the declaration: its name is the tool's name, the doc comment of its argument struct is the
//! description the model reads, the doc comments of the fields describe the parameters. After the arguments it may
//! take up to three of [`Hal<T>`] and [`Cx`].
//!
//! # Contract
//! [`ToolSetBuilder::build`] reports every fault of every tool together; after it, nothing about a tool can first fail
//! in a conversation. [`ToolSet::prepare`] checks a model's arguments and gives the canonical ones; only those may be
//! given to [`ErasedTool::run`], which catches panics, bounds time and size, and always comes back.
//!
//! # Words
//! - **effect**: what a tool does to the world; the strictest class is the default.
//! - **gate**: how a person is asked before an outbound tool runs: a sentence rendered from the very arguments.
//! - **slot**: a piece of that sentence that must be heard exactly.
//! - **just-in-time instruction**: guidance for the model that goes with one result. Only code of this process writes
//!   one; what comes from outside is nested below `result`.

#![forbid(unsafe_code)]

#[cfg(panic = "abort")]
compile_error!("a tool's panic is caught and answered: build with `panic = \"unwind\"`");

#[cfg(any(feature = "http", feature = "mcp"))]
mod apart;
mod args;
mod build;
mod cx;
mod declare;
pub mod device_audio;
pub mod end;
mod handler;
#[cfg(feature = "http")]
pub mod http;
mod import;
pub mod kb;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod notify;
mod result;
mod secret;
mod set;
pub mod shape;
mod view;
pub mod warehouse;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use args::{canonical, parse_arguments};
pub use build::sample::SENTENCE_CHARS_MAX;
pub use build::{BuildError, BuildErrors, BuildWarning, ToolSetBuilder};
pub use cx::{CallControl, CallInfo, CallNotice, Cancelled, Cx, SAID_CHARS_MAX, SAID_MAX};
pub use declare::{
    Agreement, Asking, BUDGET_DEFAULT, Declaration, Delivered, Effect, Gate, OnBargeIn, Origin, PreCall,
    REPEATED_DIGITS, ToolBuilder,
};
pub use handler::{Extract, Hal, HalMap, Handler, HasTools, Need, Tool, object, tool};
pub use import::{ImportError, import_schema};
pub use result::{IntoResult, Json, RawOutcome, ToolError, ToolResult};
pub use secret::Secret;
pub use set::{ErasedTool, RULES_HEADING, STANDING_RULES, ToolSet, build_instruction};
pub use shape::{Shaped, Status};
pub use units::Clip;
pub use view::ToolView;

/// A boxed `Send` future: what an object-safe async call returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Locks data whose writers never leave it half-changed, so a panic elsewhere does not spoil it.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles and runs the code of the tutorial.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Tutorial;
