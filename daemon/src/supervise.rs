// SPDX-License-Identifier: MIT OR Apache-2.0

//! The process and its manager: signals, readiness, and the watchdog that is fed by progress only.

use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use sd_notify::NotifyState;
use session::{GateState, Snapshot};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{debug, warn};

use crate::switch::Switch;

/// From SIGTERM to the end of the process, whatever hangs: what a person at a terminal waits before the second ^C.
pub const STOP_LIMIT: Duration = Duration::from_millis(4500);

/// What the last line of the log is given to get out. A reader that is alive takes a line in far less.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// Shuts the memory and the environment of this process to other programs of its user, and to debuggers; it leaves no core
/// dump either. Whatever it starts could otherwise read its secrets in `/proc`. Call before anything is started.
///
/// # Errors
/// When the kernel refuses.
pub fn close_to_others() -> std::io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Completes when the process is asked to stop, with the signal's name. Until then, and from when this returns, SIGUSR1 and
/// SIGUSR2 turn `switch` on and off.
///
/// Once it is asked to stop, the process ends within [`STOP_LIMIT`], whatever hangs: signals are taken on a thread of their
/// own, so neither a device that hangs in the kernel nor a busy runtime can keep the process or a microphone. That thread
/// speaks to nobody: the log may have a reader that stands still, and then whoever writes a line waits for ever, with all who
/// want to write one.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub fn stop_requested(switch: Switch) -> impl Future<Output = std::io::Result<&'static str>> {
    let (asked, told) = tokio::sync::oneshot::channel();
    let (installed, is_installed) = std::sync::mpsc::channel();
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let first = first_stop(&switch, installed);
        let stopping = first.is_ok();
        // The daemon may have ended by itself.
        let _ = asked.send(first);
        if stopping {
            aside(|| notify(&[NotifyState::Stopping]));
            thread::sleep(STOP_LIMIT - LAST_WORDS);
            aside(|| warn!("something did not stop in time; ending the process"));
            thread::sleep(LAST_WORDS);
            std::process::exit(0);
        }
    });
    // Until then a signal ends the process. If there is no thread, the sender is gone.
    let _ = is_installed.recv();
    async move {
        thread?;
        told.await.unwrap_or_else(|_| Err(std::io::Error::other("the thread for signals ended by itself")))
    }
}

/// Does on a thread of its own what may never come back. Without a thread it is not done.
fn aside(say: impl FnOnce() + Send + 'static) {
    drop(thread::Builder::new().name("last words".to_owned()).spawn(say));
}

/// Blocks until the first signal that asks to stop, and obeys those that do not.
fn first_stop(switch: &Switch, installed: Sender<()>) -> std::io::Result<&'static str> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut on = signal(SignalKind::user_defined1())?;
        let mut off = signal(SignalKind::user_defined2())?;
        // Nobody may be waiting.
        let _ = installed.send(());
        loop {
            tokio::select! {
                // What is polled later is obeyed later.
                biased;
                _ = terminate.recv() => return Ok("SIGTERM"),
                _ = interrupt.recv() => return Ok("SIGINT"),
                _ = on.recv() => switch.turn(true),
                _ = off.recv() => switch.turn(false),
            }
        }
    })
}

/// Tells the manager that the daemon is up.
pub fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The state of a session as one line for the manager.
pub(crate) fn status_line(snapshot: &Snapshot) -> String {
    let gate = match snapshot.gate {
        GateState::Clear => "",
        GateState::Asking { .. } | GateState::Waiting { .. } => "; waiting for a person's answer",
        GateState::Granted { .. } => "; a person agreed",
    };
    let text =
        format!("{:?}; link {:?}; {} calls open{gate}", snapshot.phase, snapshot.link, snapshot.calls.len());
    text.to_lowercase()
}

/// Tells the manager one line of state.
pub fn status(status: &str) {
    notify(&[NotifyState::Status(status)]);
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(cause) = sd_notify::notify(state) {
        debug!(%cause, "the service manager could not be told");
    }
}

/// Feeds the manager's watchdog as long as the audio worker advances.
#[derive(Debug)]
pub struct Watchdog {
    beats: Option<tokio::time::Interval>,
    seen_hops: Option<u64>,
}

impl Watchdog {
    /// What the manager asked for in the environment; idle if it asked for nothing. Call on the runtime.
    #[must_use]
    pub fn from_env() -> Self {
        // A third of the limit: two beats may be late before the manager acts.
        let beats = sd_notify::watchdog_enabled().map(|limit| tokio::time::interval(limit / 3));
        Self { beats, seen_hops: None }
    }

    /// Completes when the next beat is due; never if nobody asked for beats.
    pub async fn due(&mut self) {
        match self.beats.as_mut() {
            Some(beats) => {
                beats.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    /// Feeds the watchdog if the audio worker has advanced since the last beat. Returns whether it was fed.
    pub fn beat(&mut self, hops: u64) -> bool {
        let advanced = self.seen_hops != Some(hops);
        if advanced {
            notify(&[NotifyState::Watchdog]);
        } else {
            warn!(hops, "the audio worker has stopped; the watchdog is not fed");
        }
        self.seen_hops = Some(hops);
        advanced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_of_the_user_are_shut_out() {
        close_to_others().expect("the kernel allows it to everybody");
        let dumpable = rustix::process::dumpable_behavior();
        assert_eq!(dumpable, Ok(DumpableBehavior::NotDumpable));
    }

    #[test]
    fn a_worker_that_stands_still_starves_the_watchdog() {
        let mut watchdog = Watchdog { beats: None, seen_hops: None };
        assert!(watchdog.beat(7));
        assert!(watchdog.beat(8));
        assert!(!watchdog.beat(8));
        assert!(watchdog.beat(9));
    }
}
