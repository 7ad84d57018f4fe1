// SPDX-License-Identifier: MIT OR Apache-2.0

//! A voice daemon for embedded Linux devices, as a library and as the program `voiced`.
//!
//! This crate acts: it reads the configuration, opens devices, sockets and files, runs tools, and carries events to the
//! `session` core and its decisions back. It decides nothing about turns, calls or consent; those decisions are made in
//! `session`, from values.
//!
//! # A binary of your own
//! Tools in Rust are added in a binary of your own, which keeps every subcommand of `voiced`:
//!
//! ```no_run
//! use tools::{Effect, ToolResult, tool};
//!
//! /// Tells how many pallets stand at the dock. Use it when somebody asks about pallets.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct CountPallets {}
//!
//! async fn count_pallets(_: CountPallets) -> ToolResult {
//!     ToolResult::ok("There are 12 pallets.")
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     voiced::Daemon::builder()
//!         .tools(|tools| tools.tool(tool(count_pallets).effect(Effect::Read).needs_result_now()))
//!         .main()
//! }
//! ```

#![forbid(unsafe_code)]

pub mod assembly;
mod button;
mod challenge;
mod cli;
pub mod clip;
pub mod clock;
pub mod config;
pub mod demo;
pub mod dial;
pub mod driver;
mod fault;
mod file;
pub mod gate_log;
pub mod identity;
pub mod journal;
pub mod mute;
pub mod provider;
pub mod records;
pub mod screen;
pub mod sound;
pub mod speech;
pub mod supervise;
pub mod switch;
pub mod timeline;
pub mod toolbox;
pub mod tooling;
pub mod voice;
pub mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use tools::ToolSetBuilder;

use assembly::Surfaces;

/// The daemon, with what an integrator adds to it.
#[derive(Default)]
pub struct Daemon {
    extend: Vec<Box<dyn Fn(ToolSetBuilder) -> ToolSetBuilder + Send + Sync>>,
    surfaces: Surfaces,
}

impl Daemon {
    /// The daemon as it ships.
    #[must_use]
    pub fn builder() -> Self {
        Self::default()
    }

    /// Adds tools, and handles for them. Called whenever the set is built: by `run`, `check`, `tools` and `demo`.
    #[must_use]
    pub fn tools(mut self, add: impl Fn(ToolSetBuilder) -> ToolSetBuilder + Send + Sync + 'static) -> Self {
        self.extend.push(Box::new(add));
        self
    }

    /// Lets people be asked on the screen that comes to `screens`. Keep a clone, and [`screen::Screens::attach`] where you draw.
    #[must_use]
    pub fn screens(mut self, screens: screen::Screens) -> Self {
        self.surfaces.screens = Some(screens);
        self
    }

    /// Lets people agree with this button, whatever `hal.button` says.
    #[must_use]
    pub fn button(mut self, button: hal::PushButton) -> Self {
        self.surfaces.button = Some(Arc::new(button));
        self
    }

    /// Does what the command line of this process says.
    ///
    /// 0: ended as asked; 1: a demo or a tool did not do what it should; 2: wrong arguments; 70: internal error; 78: wrong configuration.
    #[must_use]
    pub fn main(self) -> ExitCode {
        // Two providers compiled in by somebody else's dependency would make rustls panic at the first connection. The
        // only way this fails is that one was installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Self { extend, surfaces } = self;
        let extend: assembly::Extend =
            Arc::new(move |builder| extend.iter().fold(builder, |builder, add| add(builder)));
        // A panic here is a bug of ours: it is on standard error already, and the process must not go on half-dead.
        catch_unwind(AssertUnwindSafe(|| cli::main(extend, surfaces)))
            .unwrap_or(ExitCode::from(cli::EXIT_INTERNAL))
    }
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("extensions", &self.extend.len()).finish_non_exhaustive()
    }
}
