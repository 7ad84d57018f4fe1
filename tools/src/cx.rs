// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a running tool knows of its call, and what it may say while it runs.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use units::{CallKey, TurnId};

use crate::lock;

/// Longest line of the device's own and longest note, in characters: what a slow voice speaks in 30 s, for which a session
/// waits. A longer note is for the answer.
pub const SAID_CHARS_MAX: usize = 300;

/// Lines and notes of one call together; more are dropped. Half of the notes that a session keeps, so that no call drives
/// out those of all others.
pub const SAID_MAX: u32 = 8;

/// The facts of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallInfo {
    /// The call in the session's ledger.
    pub call: CallKey,
    /// The turn of the person it belongs to.
    pub turn: TurnId,
    /// The session, for the records of whoever receives an effect.
    pub session: String,
    /// The same for every attempt at the effect that one approval allows. Gated calls have one.
    pub idempotency_key: Option<String>,
    /// When the call must have ended.
    pub deadline: Instant,
}

/// What a running tool tells the daemon.
#[derive(Clone, Debug, PartialEq)]
pub enum CallNotice {
    /// The call is past its point of no return. Sent before anything irreversible happens.
    EffectBegun {
        /// Which call.
        call: CallKey,
    },
    /// The call will take longer than a person waits: it is answered at once that it runs. Sent once.
    BecameJob {
        /// Which call.
        call: CallKey,
    },
    /// Show this on the device's screen while the call is still running.
    Event {
        /// Which call.
        call: CallKey,
        /// Name of the event.
        name: String,
        /// Its payload.
        payload: Value,
    },
    /// Say this to the person with the device's own voice.
    Line {
        /// Which call.
        call: CallKey,
        /// The words, at most [`SAID_CHARS_MAX`] characters.
        text: String,
    },
    /// Note this for the model.
    Note {
        /// Which call.
        call: CallKey,
        /// What is to be known, at most [`SAID_CHARS_MAX`] characters.
        text: String,
    },
}

/// The call was stopped before it did anything. Return it with `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// How far a call has come. Cancelling and beginning the effect exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Begun,
    Cancelled,
}

struct Shared {
    info: CallInfo,
    phase: Mutex<Phase>,
    cancelled: watch::Sender<bool>,
    /// When it became a job, if it did.
    job_since: OnceLock<Instant>,
    /// Lines and notes so far.
    said: AtomicU32,
    notify: Box<dyn Fn(CallNotice) + Send + Sync>,
}

/// A tool's view of its own call. Clones are the same call.
#[derive(Clone)]
pub struct Cx(Arc<Shared>);

/// The daemon's hold on the same call.
#[derive(Clone)]
pub struct CallControl(Arc<Shared>);

impl Cx {
    /// One call. `notify` is called from the tool's task; it must not block.
    #[must_use]
    pub fn new(info: CallInfo, notify: impl Fn(CallNotice) + Send + Sync + 'static) -> (Self, CallControl) {
        let shared = Arc::new(Shared {
            info,
            phase: Mutex::new(Phase::Open),
            cancelled: watch::Sender::new(false),
            job_since: OnceLock::new(),
            said: AtomicU32::new(0),
            notify: Box::new(notify),
        });
        (Self(Arc::clone(&shared)), CallControl(shared))
    }

    /// A call for testing one tool by itself: 8 s to run, no idempotency key, notices dropped. Inside a tokio runtime.
    #[must_use]
    pub fn for_test() -> Self {
        let info = CallInfo {
            call: CallKey(1),
            turn: TurnId(1),
            session: "test".to_owned(),
            idempotency_key: None,
            deadline: Instant::now() + Duration::from_secs(8),
        };
        Self::new(info, |_| {}).0
    }

    /// The call in the session's ledger.
    #[must_use]
    pub fn call(&self) -> CallKey {
        self.0.info.call
    }

    /// The turn of the person it belongs to.
    #[must_use]
    pub fn turn(&self) -> TurnId {
        self.0.info.turn
    }

    /// The session it belongs to.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.0.info.session
    }

    /// The key to send with an effect, so that a repeat of the same approval has none. Gated calls have one.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.0.info.idempotency_key.as_deref()
    }

    /// When the call must have ended. Hardware handles take it as it is.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.0.info.deadline
    }

    /// Passes the point of no return: call it right before the first thing that cannot be undone. From here on the call
    /// finishes whatever the person says, and if it does not come back, its outcome is reported as unknown.
    ///
    /// # Errors
    /// [`Cancelled`]: the call was stopped. Do nothing, and return it with `?`.
    pub fn begin_effect(&self) -> Result<(), Cancelled> {
        let mut phase = lock(&self.0.phase);
        match *phase {
            Phase::Cancelled => return Err(Cancelled),
            Phase::Begun => return Ok(()),
            Phase::Open => *phase = Phase::Begun,
        }
        drop(phase);
        (self.0.notify)(CallNotice::EffectBegun { call: self.call() });
        Ok(())
    }

    /// Whether the effect has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        *lock(&self.0.phase) == Phase::Begun
    }

    /// Ends the call from the runtime's side: after it nothing that still holds this `Cx` can begin the effect. True if
    /// it had begun before.
    pub(crate) fn close(&self) -> bool {
        let mut phase = lock(&self.0.phase);
        let begun = *phase == Phase::Begun;
        if !begun {
            *phase = Phase::Cancelled;
        }
        begun
    }

    /// Says that it will take longer than a person waits: the call is answered at once that it is running, and its result is
    /// told when it comes, as with [`crate::ToolBuilder::job`]. Nothing else changes: it must have ended by
    /// [`Cx::deadline`], and a person who speaks over it stops it or does not, as ever. Nothing happens a second time, in a
    /// call that was answered that it runs, or in one that was cancelled, answered or given up. A call that ends the
    /// session cannot become one.
    pub fn become_job(&self) {
        if *lock(&self.0.phase) != Phase::Cancelled && self.0.job_since.set(Instant::now()).is_ok() {
            (self.0.notify)(CallNotice::BecameJob { call: self.call() });
        }
    }

    /// When it became a job, if it did.
    pub(crate) fn job_since(&self) -> Option<Instant> {
        self.0.job_since.get().copied()
    }

    /// Shows an event on the device's screen at once, while the call runs. A payload that JSON cannot carry is dropped
    /// with a warning.
    pub fn emit(&self, name: &str, payload: impl Serialize) {
        match crate::shape::to_json(&payload) {
            Ok(payload) => {
                let name = name.to_owned();
                (self.0.notify)(CallNotice::Event { call: self.call(), name, payload });
            }
            Err(fault) => tracing::warn!(event = name, %fault, "event dropped"),
        }
    }

    /// Has the device say a line of its own, which the model neither says nor hears of: that a drawer opens, that it takes
    /// another minute. It comes after the reply that plays and before those that wait. While the person speaks, while
    /// another line is heard or waits, while a question of the gate is open, and after the call it is dropped with a
    /// notice. A line without words, one past [`SAID_CHARS_MAX`] characters and what is past [`SAID_MAX`] lines and notes is
    /// dropped with a warning.
    pub fn say_local(&self, line: impl Into<String>) {
        if let Some(text) = self.said("line", line.into()) {
            (self.0.notify)(CallNotice::Line { call: self.call(), text });
        }
    }

    /// Notes something for the model, which it reads without being asked to speak: in time for its next answer, or after
    /// the result where it can be told nothing while a call is open. The bounds of [`Cx::say_local`] hold here too.
    pub fn note(&self, note: impl Into<String>) {
        if let Some(text) = self.said("note", note.into()) {
            (self.0.notify)(CallNotice::Note { call: self.call(), text });
        }
    }

    /// What may be said of it: one line of text, if there is anything.
    fn said(&self, what: &str, text: String) -> Option<String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let chars = text.chars().count();
        if chars == 0 || chars > SAID_CHARS_MAX {
            tracing::warn!(call = %self.call(), "a tool's {what} of {chars} characters is dropped; 1..={SAID_CHARS_MAX}");
            return None;
        }
        let before = self
            .0
            .said
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |said| (said < SAID_MAX).then_some(said + 1));
        if before.is_err() {
            tracing::warn!(call = %self.call(), "a tool's {what} is dropped; a call has {SAID_MAX} lines and notes");
        }
        before.is_ok().then_some(text)
    }

    /// Comes back when the call is cancelled; never otherwise.
    pub async fn cancelled(&self) {
        let mut cancelled = self.0.cancelled.subscribe();
        // The sender lives as long as `self`, so the only way out is the value itself.
        let _ = cancelled.wait_for(|cancelled| *cancelled).await;
    }
}

impl CallControl {
    /// Stops the call if it has not begun its effect. True if it is stopped: nothing was or will be done.
    pub fn cancel(&self) -> bool {
        let mut phase = lock(&self.0.phase);
        if *phase == Phase::Begun {
            return false;
        }
        *phase = Phase::Cancelled;
        drop(phase);
        self.0.cancelled.send_replace(true);
        true
    }

    /// Whether the effect has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        *lock(&self.0.phase) == Phase::Begun
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cx").field(&self.0.info.call).finish()
    }
}

impl fmt::Debug for CallControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallControl").field(&self.0.info.call).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> (Cx, CallControl, Arc<Mutex<Vec<CallNotice>>>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let info = CallInfo {
            call: CallKey(7),
            turn: TurnId(2),
            session: "s".to_owned(),
            idempotency_key: None,
            deadline: Instant::now(),
        };
        let (cx, control) = Cx::new(info, move |notice| lock(&log).push(notice));
        (cx, control, heard)
    }

    #[test]
    fn a_begun_effect_cannot_be_cancelled_and_is_told_once() {
        let (cx, control, heard) = call();
        assert_eq!(cx.begin_effect(), Ok(()));
        assert_eq!(cx.begin_effect(), Ok(()));
        assert!(!control.cancel());
        assert!(cx.has_begun() && control.has_begun());
        assert_eq!(*lock(&heard), [CallNotice::EffectBegun { call: CallKey(7) }]);
    }

    #[test]
    fn a_cancelled_call_begins_nothing() {
        let (cx, control, heard) = call();
        assert!(control.cancel());
        assert!(control.cancel(), "a second time changes nothing");
        assert_eq!(cx.begin_effect(), Err(Cancelled));
        assert!(lock(&heard).is_empty());
    }

    #[test]
    fn row_24_a_call_says_eight_short_things_and_no_more() {
        let (cx, _, heard) = call();
        cx.say_local("  The drawer\nopens. ");
        cx.note("");
        cx.say_local(" ");
        cx.note("x".repeat(SAID_CHARS_MAX + 1));
        for _ in 0..10 {
            cx.note("ü".repeat(SAID_CHARS_MAX));
        }
        cx.say_local("One more.");
        let heard = lock(&heard);
        assert_eq!(heard[0], CallNotice::Line { call: CallKey(7), text: "The drawer opens.".to_owned() });
        assert!(heard[1..].iter().all(|notice| matches!(notice, CallNotice::Note { .. })));
        assert_eq!(heard.len(), 8);
    }

    #[test]
    fn row_114_a_call_becomes_a_job_once_and_not_when_it_was_stopped() {
        let (cx, control, heard) = call();
        cx.become_job();
        cx.clone().become_job();
        assert_eq!(*lock(&heard), [CallNotice::BecameJob { call: CallKey(7) }]);
        assert!(control.cancel(), "it can be stopped as before");
        let (cx, control, heard) = call();
        control.cancel();
        cx.become_job();
        assert!(lock(&heard).is_empty() && cx.job_since().is_none());
    }

    #[tokio::test]
    async fn cancelling_wakes_the_tool_even_if_it_listens_later() {
        let (cx, control, _) = call();
        control.cancel();
        cx.cancelled().await;
    }
}
