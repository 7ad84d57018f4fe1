// SPDX-License-Identifier: MIT OR Apache-2.0

//! A server that is a child of this process: how it is started, spoken to, and ended with everything it started.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::lines::Lines;
use super::pace::{LINE, Pace};
use super::rate::{Rate, Verdict};
use super::words::clean;
use crate::secret::{Secret, redacted};

/// Lines of a child's standard error that reach the log in one second. A driver that complains in a loop must not push
/// everything else out of a small journal.
const STDERR_LINES_PER_S: u32 = 50;

/// Longest line of standard error that is kept; the rest of it is dropped.
const STDERR_LINE_BYTES: usize = 500;

/// What a child is spoken to by.
pub(super) type Pipes = Lines<ChildStdout, ChildStdin>;

/// A running child. Dropping it ends the child and everything it started.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    _stderr: JoinSet<()>,
}

impl Process {
    /// Starts `command` with `PATH` and the variables named in `env`, and nothing else of this process's environment.
    /// What it says is logged without copies of `secrets`.
    pub(super) fn start(
        server: &Arc<str>,
        command: &[String],
        env: &[String],
        secrets: &Arc<[Secret]>,
    ) -> io::Result<(Self, Pipes)> {
        let (program, args) = command.split_first().ok_or_else(|| io::Error::other("there is no program"))?;
        let passed = env.iter().map(String::as_str).chain(["PATH"]);
        let passed = passed.filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(passed)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // With all it starts it is one group, so that all of it can be ended.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("its pipes are missing"));
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(log_stderr(Arc::clone(server), Arc::clone(secrets), stderr));
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let lines = Lines::new(server, secrets, stdout, stdin);
        Ok((Self { child, group, _stderr: tasks }, lines))
    }

    /// Comes back when the child has ended. What it started may still run.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it and everything it started, and reaps it.
    pub(super) async fn end(mut self) {
        self.kill();
        // It has been killed: there is nothing to wait for but the kernel.
        let _ = self.child.wait().await;
    }

    fn kill(&mut self) {
        // No more than once: the number may belong to somebody else later.
        if let Some(group) = self.group.take() {
            // Everybody in it may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Copies standard error to the log, within a rate. Reads on whatever happens: a child whose pipe is full would stop.
async fn log_stderr(server: Arc<str>, secrets: Arc<[Secret]>, from: impl AsyncRead + Unpin) {
    let mut from = BufReader::new(from);
    let mut rate = Rate::new(STDERR_LINES_PER_S);
    let mut pace = Pace::new();
    let mut line = Vec::new();
    // A secret that is cut would not be known for one.
    let kept =
        STDERR_LINE_BYTES + secrets.iter().map(|secret| secret.expose().len()).max().unwrap_or_default();
    loop {
        pace.rest().await;
        let (taken, ended) = match from.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let text = &bytes[..end.unwrap_or(bytes.len())];
                let room = kept.saturating_sub(line.len());
                line.extend_from_slice(&text[..text.len().min(room)]);
                (end.map_or(bytes.len(), |end| end + 1), end.is_some())
            }
        };
        from.consume(taken);
        pace.spend_bytes(taken);
        if ended {
            pace.spend(LINE);
            log_line(&server, &secrets, &mut rate, &line);
            line.clear();
        }
    }
    if !line.is_empty() {
        log_line(&server, &secrets, &mut rate, &line);
    }
    if rate.held() > 0 {
        tracing::info!(
            server = &*server,
            held = rate.held(),
            "more lines of its standard error were not kept"
        );
    }
}

fn log_line(server: &str, secrets: &[Secret], rate: &mut Rate, line: &[u8]) {
    match rate.next() {
        Verdict::Hold => {}
        Verdict::Pass { held } => {
            if held > 0 {
                tracing::info!(server, held, "more lines of its standard error were not kept");
            }
            let text = redacted(secrets, &String::from_utf8_lossy(line));
            tracing::info!(server, "says: {}", clean(&text, STDERR_LINE_BYTES));
        }
    }
}
