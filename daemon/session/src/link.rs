// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether there is a connection to the provider, and when there is one again. It never gives up.

use std::time::Duration;

use units::{Epoch, Instant};

use crate::Output;
use crate::config::RetryConfig;
use crate::context::Context;
use crate::notice::Notice;
use crate::seam::{Capabilities, FailureCause, LinkFailure};
use crate::snapshot::LinkState;
use crate::timers::Timer;

/// Failures in a row that make an outage: one is over within a second or two, and what is said meanwhile is kept.
const OUTAGE: u32 = 2;

/// The connection, and what is kept from one to the next.
pub(crate) struct Link {
    state: State,
    handle: Option<String>,
    epoch: Epoch,
    /// Counts connections that do not continue the one before.
    conversation: u64,
    /// Failures in a row.
    failures: u32,
    /// Failures in a row with this handle.
    handle_failures: u32,
    /// No attempt before this.
    not_before: Instant,
    /// The person was told of this outage.
    told: bool,
    random: u64,
}

enum State {
    Down,
    /// [`Timer::Retry`] is set.
    Waiting,
    /// [`Timer::Setup`] is set.
    Connecting {
        resuming: bool,
    },
    Up {
        capabilities: Capabilities,
        content: bool,
        stable: bool,
        leaving: bool,
    },
    /// [`Timer::Close`] is set.
    Closing {
        then: Then,
    },
}

/// What follows a close that we asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// No link is wanted.
    Stay,
    /// As soon as the last failure's wait allows: nothing was wrong.
    Connect,
    /// After the wait that a failure earns.
    Retry {
        /// What was wrong, for a technician: the transport only knows that we closed it.
        why: &'static str,
    },
}

/// What a closed transport means for the rest of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// There was none.
    Nothing,
    /// No link is wanted any more.
    ForGood,
    /// It is made again; trying soon may help.
    Again,
    /// It is made again, but trying soon cannot help.
    Outage,
}

impl Link {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: State::Down,
            handle: None,
            epoch: Epoch(0),
            conversation: 0,
            failures: 0,
            handle_failures: 0,
            not_before: Instant::ZERO,
            told: false,
            random: seed,
        }
    }

    pub(crate) fn state(&self) -> LinkState {
        match self.state {
            State::Down => LinkState::Down,
            State::Waiting => LinkState::Waiting,
            State::Connecting { .. } => LinkState::Connecting,
            State::Up { .. } => LinkState::Up,
            State::Closing { .. } => LinkState::Closing,
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The conversation that answers belong to, while there is a link to send them on.
    pub(crate) fn up(&self) -> Option<(u64, &Capabilities)> {
        match &self.state {
            State::Up { capabilities, .. } => Some((self.conversation, capabilities)),
            State::Down | State::Waiting | State::Connecting { .. } | State::Closing { .. } => None,
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state, State::Down)
    }

    /// The provider will close this connection.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.state, State::Up { leaving: true, .. })
    }

    /// The provider will close this connection, and it has held: any quiet moment is good for making it again. A young
    /// one is used for as long as it lasts, since to end it would count as a failure.
    pub(crate) fn is_due_to_rotate(&self) -> bool {
        matches!(self.state, State::Up { leaving: true, stable: true, .. })
    }

    /// The link was lost, and not just for a moment: trying again did not help at once, or cannot.
    pub(crate) fn is_outage(&self) -> bool {
        self.failures >= OUTAGE && !matches!(self.state, State::Up { .. } | State::Down)
    }

    /// True once per outage.
    pub(crate) fn tell_once(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// A link is wanted.
    pub(crate) fn want(&mut self, cx: &mut Context) {
        match self.state {
            State::Down if cx.now < self.not_before => self.wait_until(cx, self.not_before, ""),
            State::Down => self.connect(cx),
            State::Closing { ref mut then } if *then == Then::Stay => *then = Then::Connect,
            State::Closing { .. } | State::Waiting | State::Connecting { .. } | State::Up { .. } => {}
        }
    }

    /// No link is wanted. True if there is nothing left to close.
    ///
    /// One that has not held is followed no sooner than after the first wait, though nothing failed: a model that ends
    /// every session at once would make links without a pause.
    pub(crate) fn leave(&mut self, cx: &mut Context) -> bool {
        self.handle = None;
        if self.is_young() {
            self.not_before = self.not_before.max(cx.now + cx.config.retry.first);
        }
        match self.state {
            State::Down => true,
            State::Waiting => {
                cx.timers.clear(Timer::Retry);
                self.change(cx, State::Down, "");
                true
            }
            State::Connecting { .. } | State::Up { .. } => {
                self.disconnect(cx, Then::Stay, "");
                false
            }
            State::Closing { ref mut then } => {
                *then = Then::Stay;
                false
            }
        }
    }

    /// Close, and go on with the handle on another connection.
    ///
    /// A provider that sends a young link away may do so to every one: that counts as a failure, so that links follow
    /// each other no closer than the wait it earns. One that has held for [`RetryConfig::stable`] is followed at once.
    pub(crate) fn rotate(&mut self, cx: &mut Context) {
        let State::Up { stable, .. } = self.state else { return };
        let then = if stable {
            Then::Connect
        } else {
            Then::Retry { why: "the provider ends a connection that was just made; trying again" }
        };
        self.disconnect(cx, then, "made again before the provider closes it");
    }

    pub(crate) fn on_opened(&mut self, cx: &mut Context) {
        if matches!(self.state, State::Connecting { .. }) {
            cx.after(Timer::Setup, cx.config.patience.setup);
        }
    }

    /// Set up. `None` if that was not waited for; else whether an earlier conversation goes on.
    pub(crate) fn on_ready(
        &mut self,
        cx: &mut Context,
        resumed: bool,
        capabilities: Capabilities,
    ) -> Option<bool> {
        let State::Connecting { resuming } = self.state else {
            return None;
        };
        let resumed = resumed && resuming;
        if !resumed {
            self.handle = None;
            self.conversation += 1;
        }
        self.handle_failures = 0;
        self.epoch = self.epoch.next();
        cx.timers.clear(Timer::Setup);
        cx.after(Timer::Stable, cx.config.retry.stable);
        let text = if resumed { "the conversation goes on" } else { "a fresh conversation" };
        let up = State::Up { capabilities, content: false, stable: false, leaving: false };
        self.change(cx, up, text);
        Some(resumed)
    }

    /// Something of the conversation came over the link.
    pub(crate) fn on_content(&mut self) {
        if let State::Up { content, .. } = &mut self.state {
            *content = true;
            self.count_as_good();
        }
    }

    /// [`Timer::Stable`] has come.
    pub(crate) fn on_stable(&mut self) {
        if let State::Up { stable, .. } = &mut self.state {
            *stable = true;
            self.count_as_good();
        }
    }

    /// A later handle takes the place of an earlier one; none leaves it, since it still resumes what it covers.
    pub(crate) fn on_handle(&mut self, handle: Option<String>) {
        if handle.is_some() {
            self.handle = handle;
            self.handle_failures = 0;
        }
    }

    /// The provider will close this connection.
    pub(crate) fn on_go_away(&mut self, cx: &mut Context, left: Option<Duration>) {
        if let State::Up { leaving, .. } = &mut self.state {
            *leaving = true;
            let left = left.unwrap_or_default().saturating_sub(cx.config.patience.go_away_margin);
            cx.after(Timer::GoAway, left);
        }
    }

    /// [`Timer::Setup`] has come.
    pub(crate) fn on_setup_overdue(&mut self, cx: &mut Context) {
        if matches!(self.state, State::Connecting { .. }) {
            let why = "the provider did not finish the set-up in time; trying again";
            self.disconnect(cx, Then::Retry { why }, why);
        }
    }

    /// [`Timer::Retry`] has come.
    pub(crate) fn on_retry(&mut self, cx: &mut Context) {
        if matches!(self.state, State::Waiting) {
            self.connect(cx);
        }
    }

    /// The transport is gone, or could not be made.
    pub(crate) fn on_closed(&mut self, cx: &mut Context, failure: &LinkFailure) -> Closed {
        for timer in [Timer::Setup, Timer::Close, Timer::Stable, Timer::GoAway] {
            cx.timers.clear(timer);
        }
        match std::mem::replace(&mut self.state, State::Down) {
            State::Down => Closed::Nothing,
            State::Waiting => {
                self.state = State::Waiting;
                Closed::Nothing
            }
            State::Closing { then: Then::Stay } => {
                self.change(cx, State::Down, &failure.text);
                Closed::ForGood
            }
            State::Closing { then: Then::Connect } => {
                self.want(cx);
                Closed::Again
            }
            State::Closing { then: Then::Retry { why } } => {
                let text = if failure.cause == FailureCause::Requested { why } else { &failure.text };
                self.retry(cx, failure.cause, text);
                Closed::Again
            }
            // A transport that was given up for has reported its end after all.
            connecting @ State::Connecting { .. } if failure.cause == FailureCause::Requested => {
                self.state = connecting;
                cx.after(Timer::Setup, cx.config.patience.setup);
                Closed::Nothing
            }
            State::Connecting { .. } | State::Up { .. } => {
                self.retry(cx, failure.cause, &failure.text);
                if is_curable(failure.cause) { Closed::Again } else { Closed::Outage }
            }
        }
    }

    /// This connection is being made, has not held, or was to be made again after a wait.
    fn is_young(&self) -> bool {
        match self.state {
            State::Connecting { .. }
            | State::Up { stable: false, .. }
            | State::Closing { then: Then::Retry { .. } } => true,
            State::Down
            | State::Waiting
            | State::Up { stable: true, .. }
            | State::Closing { then: Then::Stay | Then::Connect } => false,
        }
    }

    fn connect(&mut self, cx: &mut Context) {
        let resume = self.handle.clone();
        self.change(cx, State::Connecting { resuming: resume.is_some() }, "");
        cx.after(Timer::Setup, cx.config.patience.setup);
        cx.emit(Output::Connect { resume });
    }

    fn disconnect(&mut self, cx: &mut Context, then: Then, text: &str) {
        for timer in [Timer::Setup, Timer::Stable, Timer::GoAway] {
            cx.timers.clear(timer);
        }
        cx.after(Timer::Close, cx.config.patience.close);
        self.change(cx, State::Closing { then }, text);
        cx.emit(Output::Disconnect);
    }

    fn retry(&mut self, cx: &mut Context, cause: FailureCause, text: &str) {
        self.failures = self.failures.saturating_add(1);
        if !is_curable(cause) {
            self.failures = self.failures.max(OUTAGE);
        }
        if self.handle.is_some() {
            self.handle_failures += 1;
        }
        let refused = cause == FailureCause::HandleRefused && self.handle.is_some();
        if refused || self.handle_failures >= cx.config.retry.handle_attempts {
            self.handle = None;
            self.handle_failures = 0;
        }
        let wait = if refused { cx.config.retry.first } else { self.wait(&cx.config.retry, cause) };
        self.not_before = cx.now + wait;
        self.wait_until(cx, self.not_before, text);
    }

    fn wait_until(&mut self, cx: &mut Context, at: Instant, text: &str) {
        cx.timers.set(Timer::Retry, at);
        self.change(cx, State::Waiting, text);
    }

    /// The wait that a failure earns: doubling, spread, bounded.
    fn wait(&mut self, retry: &RetryConfig, cause: FailureCause) -> Duration {
        let wait = match cause {
            FailureCause::Quota | FailureCause::Credentials | FailureCause::Refused => retry.permanent,
            FailureCause::Requested
            | FailureCause::Transient
            | FailureCause::HandleRefused
            | FailureCause::Protocol => {
                let doublings = self.failures.saturating_sub(1).min(16);
                retry.first.saturating_mul(1 << doublings).min(retry.cap)
            }
        };
        let spread = retry.jitter_percent.min(100);
        let percent = 100 - spread + self.draw(2 * spread + 1);
        wait * percent / 100
    }

    /// A number below `bound`, from the seed (splitmix64).
    fn draw(&mut self, bound: u32) -> u32 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        u32::try_from(z % u64::from(bound.max(1))).unwrap_or(0)
    }

    fn count_as_good(&mut self) {
        if matches!(self.state, State::Up { content: true, stable: true, .. }) {
            self.failures = 0;
            self.told = false;
        }
    }

    fn change(&mut self, cx: &mut Context, state: State, text: &str) {
        self.state = state;
        cx.notice(Notice::Link { state: self.state(), epoch: self.epoch, text: text.to_owned() });
    }
}

/// Trying again soon may help.
fn is_curable(cause: FailureCause) -> bool {
    match cause {
        FailureCause::Requested
        | FailureCause::Transient
        | FailureCause::HandleRefused
        | FailureCause::Protocol => true,
        FailureCause::Quota | FailureCause::Credentials | FailureCause::Refused => false,
    }
}
