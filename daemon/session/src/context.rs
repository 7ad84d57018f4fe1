// SPDX-License-Identifier: MIT OR Apache-2.0

//! What every part of the session works with while it handles one input: the time, the figures, the timers and the
//! queue of what should be done.

use std::collections::VecDeque;
use std::time::Duration;

use units::Instant;

use crate::Output;
use crate::config::Config;
use crate::notice::Notice;
use crate::timers::{Timer, Timers};

pub(crate) struct Context {
    pub(crate) now: Instant,
    pub(crate) config: Config,
    pub(crate) timers: Timers,
    pub(crate) out: VecDeque<Output>,
}

impl Context {
    pub(crate) fn new(config: Config) -> Self {
        Self { now: Instant::ZERO, config, timers: Timers::default(), out: VecDeque::new() }
    }

    pub(crate) fn emit(&mut self, output: Output) {
        self.out.push_back(output);
    }

    pub(crate) fn notice(&mut self, notice: Notice) {
        self.out.push_back(Output::Notice(notice));
    }

    /// Sets `timer` to come after `span`.
    pub(crate) fn after(&mut self, timer: Timer, span: Duration) {
        self.timers.set(timer, self.now + span);
    }
}

/// Appends `fragment` to `text`, which keeps its first 4 KiB: enough for minutes of speech.
pub(crate) fn append_bounded(text: &mut String, fragment: &str) {
    const BYTES_MAX: usize = 4096;
    let mut end = fragment.len().min(BYTES_MAX.saturating_sub(text.len()));
    while !fragment.is_char_boundary(end) {
        end -= 1;
    }
    text.push_str(&fragment[..end]);
}
