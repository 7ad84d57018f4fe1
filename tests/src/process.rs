// SPDX-License-Identifier: MIT OR Apache-2.0

//! The daemon as a process: its log, its signals, its end.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::voiced_binary;

/// A running `voiced`. Dropping it kills the process.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    /// Becomes readable when the process ends, and cannot come to mean another process as a number can.
    pidfd: OwnedFd,
    log: Log,
}

impl Daemon {
    /// Starts `voiced` with these arguments. Of the caller's environment it gets what a program needs to run and no
    /// more, so a key or setting of the developer's machine decides nothing; then `env` is added.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start<A, E>(args: A, env: E) -> Self
    where
        A: IntoIterator<Item: AsRef<OsStr>>,
        E: IntoIterator<Item = (&'static str, OsString)>,
    {
        let kept = ["PATH", "HOME", "TMPDIR", "LANG", "RUST_BACKTRACE", "LLVM_PROFILE_FILE"];
        let kept = kept.into_iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
        let child = Command::new(voiced_binary())
            .args(args)
            .env_clear()
            .envs(kept)
            .envs(env)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child =
            child.unwrap_or_else(|error| panic!("{} does not start: {error}", voiced_binary().display()));
        let log = Log::follow(child.stderr.take().expect("it was asked for"));
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).expect("Linux 5.3 or later");
        Self { child, pidfd, log }
    }

    /// Its log so far.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Its process id, for `/proc`.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until a line of the log has all of `words`, and gives that line.
    ///
    /// # Panics
    /// After `limit`, or when the process ends without such a line; the text shows the log.
    #[track_caller]
    pub fn wait_for(&self, words: &[&str], limit: Duration) -> String {
        let found = |lines: &[String]| {
            lines.iter().find(|line| words.iter().all(|word| line.contains(word))).cloned()
        };
        match self.log.wait(found, limit) {
            Some(line) => line,
            None => panic!("no line with {words:?} within {limit:?}; {}", self.log),
        }
    }

    /// Sends SIGTERM.
    ///
    /// # Panics
    /// If the process has ended already; the text shows the log.
    #[track_caller]
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends SIGHUP.
    ///
    /// # Panics
    /// If the process has ended already; the text shows the log.
    #[track_caller]
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Sends SIGUSR1, which switches the microphone on, or SIGUSR2, which switches it off.
    ///
    /// # Panics
    /// If the process has ended already; the text shows the log.
    #[track_caller]
    pub fn switch_microphone(&self, on: bool) {
        self.signal(if on { Signal::USR1 } else { Signal::USR2 });
    }

    /// Stops it where it stands, until [`Daemon::thaw`].
    ///
    /// # Panics
    /// If the process has ended already; the text shows the log.
    #[track_caller]
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// If the process has ended already; the text shows the log.
    #[track_caller]
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Waits until `words` are in `count` lines of the log.
    ///
    /// # Panics
    /// After `limit`, or when the process ends before; the text shows the log.
    #[track_caller]
    pub fn wait_for_count(&self, words: &[&str], count: usize, limit: Duration) {
        let has_all = |line: &&String| words.iter().all(|word| line.contains(word));
        let found = |lines: &[String]| (lines.iter().filter(has_all).count() >= count).then_some(());
        if self.log.wait(found, limit).is_none() {
            panic!("no {count} lines with {words:?} within {limit:?}; {}", self.log);
        }
    }

    #[track_caller]
    fn signal(&self, signal: Signal) {
        if let Err(error) = pidfd_send_signal(&self.pidfd, signal) {
            panic!("{signal:?} cannot be sent: {error}; {}", self.log);
        }
    }

    /// Waits for its end. `None` if it still runs after `limit`.
    ///
    /// # Panics
    /// If the kernel cannot tell.
    #[track_caller]
    pub fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).expect("limits are short");
            match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&timeout)) {
                Ok(0) => return None,
                Ok(_) => {
                    // Its last words may still be in the pipe.
                    self.log.wait(|_| None::<()>, Duration::from_secs(2));
                    return Some(self.child.wait().expect("it is our child and has ended"));
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("the process cannot be watched: {error}"),
            }
        }
    }

    /// Asserts that it still runs after `span` of real time.
    ///
    /// # Panics
    /// If it has ended; the text shows its status and the log.
    #[track_caller]
    pub fn stays_up(&mut self, span: Duration) {
        if let Some(status) = self.ended_within(span) {
            panic!("the daemon ended ({status}) and was to stay up; {}", self.log);
        }
    }

    /// Waits for its end and gives the exit code.
    ///
    /// # Panics
    /// If it runs longer than `limit` or was killed by a signal; the text shows the log.
    #[track_caller]
    pub fn exit_code(&mut self, limit: Duration) -> i32 {
        let Some(status) = self.ended_within(limit) else {
            panic!("the daemon still runs after {limit:?}; {}", self.log);
        };
        status.code().unwrap_or_else(|| panic!("the daemon was ended by a signal ({status}); {}", self.log))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and that is fine.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a process has written to standard error, line by line, without colors.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Default)]
struct Lines {
    text: Vec<String>,
    ended: bool,
}

impl Log {
    fn follow(stream: impl Read + Send + 'static) -> Self {
        let log = Self(Arc::new(Shared { lines: Mutex::default(), changed: Condvar::new() }));
        let writer = log.clone();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                writer.lock().text.push(text);
                writer.0.changed.notify_all();
                line.clear();
            }
            writer.lock().ended = true;
            writer.0.changed.notify_all();
        });
        log
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every line so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lock().text.clone()
    }

    /// How many lines have `words` in them.
    #[must_use]
    pub fn count(&self, words: &str) -> usize {
        self.lock().text.iter().filter(|line| line.contains(words)).count()
    }

    /// Waits until `found` gives something for the lines. `None` after `limit` or when the log has ended without.
    fn wait<T>(&self, found: impl Fn(&[String]) -> Option<T>, limit: Duration) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut lines = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(result) = found(&lines.text) {
                return Some(result);
            }
            if lines.ended || left.is_zero() {
                return None;
            }
            lines = self.0.changed.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines();
        writeln!(f, "the daemon's log ({} lines):", lines.len())?;
        lines.iter().try_for_each(|line| writeln!(f, "  | {line}"))
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn a_log_is_waited_for_until_the_line_comes_or_the_process_ends() {
        let log = Log::follow(&b"one\ntwo 2\n"[..]);
        let second = log.wait(|lines| lines.get(1).cloned(), SOON);
        assert_eq!(second.as_deref(), Some("two 2"));
        assert_eq!(
            log.wait(|lines| lines.get(2).cloned(), SOON),
            None,
            "the stream has ended: no use in waiting"
        );
        assert_eq!(log.count("o"), 2);
    }
}
