//! A server that is a child of this process: how it is started, spoken to, and ended with everything it started.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::MESSAGE_BYTES_MAX;
use super::rate::{Rate, Verdict};

/// Lines of a child's standard error that reach the log in one second. A driver that complains in a loop must not push
/// everything else out of a small journal.
const STDERR_LINES_PER_S: u32 = 50;

/// Longest line of standard error that is kept; the rest of it is dropped.
const STDERR_LINE_BYTES: usize = 500;

/// How long a child may leave a message to it unread. One that reads nothing for so long hangs.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// Lines that are no protocol, after which reading rests for [`REST`]: a flood then costs some per cent of a core.
const NOISE_BURST: u32 = 64;

/// Bytes of standard error after which reading rests.
const STDERR_BURST: usize = 64 * 1024;

/// See [`NOISE_BURST`]. Short enough that a child is hardly held up by a full pipe.
const REST: Duration = Duration::from_millis(1);

/// A running child. Dropping it ends the child and everything it started.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    _stderr: JoinSet<()>,
}

impl Process {
    /// Starts `command` with `PATH` and the variables named in `env`, and nothing else of this process's environment.
    pub(super) fn start(server: &Arc<str>, command: &[String], env: &[String]) -> io::Result<(Self, Lines)> {
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
        tasks.spawn(log_stderr(Arc::clone(server), stderr));
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let lines = Lines {
            server: Arc::clone(server),
            read: BufReader::with_capacity(16 * 1024, stdout),
            line: Vec::new(),
            skipping: false,
            write: Arc::new(Mutex::new(Some(stdin))),
            lost: watch::Sender::new(0),
            noise: 0,
        };
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
async fn log_stderr(server: Arc<str>, from: impl AsyncRead + Unpin) {
    let mut from = BufReader::new(from);
    let mut rate = Rate::new(STDERR_LINES_PER_S);
    let mut line = Vec::new();
    let mut burst = 0;
    loop {
        let (taken, ended) = match from.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let text = &bytes[..end.unwrap_or(bytes.len())];
                let room = STDERR_LINE_BYTES.saturating_sub(line.len());
                line.extend_from_slice(&text[..text.len().min(room)]);
                (end.map_or(bytes.len(), |end| end + 1), end.is_some())
            }
        };
        from.consume(taken);
        burst += taken;
        if ended {
            log_line(&server, &mut rate, &line);
            line.clear();
        }
        if burst >= STDERR_BURST {
            burst = 0;
            sleep(REST).await;
        }
    }
    if !line.is_empty() {
        log_line(&server, &mut rate, &line);
    }
    if rate.held() > 0 {
        tracing::info!(
            server = &*server,
            held = rate.held(),
            "more lines of its standard error were not kept"
        );
    }
}

fn log_line(server: &str, rate: &mut Rate, line: &[u8]) {
    match rate.next() {
        Verdict::Hold => {}
        Verdict::Pass { held } => {
            if held > 0 {
                tracing::info!(server, held, "more lines of its standard error were not kept");
            }
            tracing::info!(server, "says: {}", plain(line));
        }
    }
}

/// Bytes of somebody else as text that no terminal acts on.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end().chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// The protocol over a child's standard input and output: one JSON text a line.
///
/// What is not a message is skipped and not answered: a child that prints to its standard output does not read our
/// complaints either, and two full pipes would hold each other up for ever.
#[derive(Debug)]
pub(super) struct Lines {
    server: Arc<str>,
    read: BufReader<ChildStdout>,
    /// What has been read of the line that is on its way. Kept here, as `receive` may be dropped at any moment.
    line: Vec<u8>,
    /// The rest of the line is dropped: it is too long.
    skipping: bool,
    write: Arc<Mutex<Option<ChildStdin>>>,
    lost: watch::Sender<u64>,
    noise: u32,
}

impl Lines {
    /// Counts the messages that were too long. One of them may have been an answer.
    pub(super) fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    /// The next whole line into `self.line`. False at the end.
    async fn next_line(&mut self) -> bool {
        loop {
            let bytes = match self.read.fill_buf().await {
                Ok([]) | Err(_) => return false,
                Ok(bytes) => bytes,
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            let too_long = self.line.len() + taken > MESSAGE_BYTES_MAX;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            }
            self.read.consume(taken);
            if too_long && !self.skipping {
                self.skipping = true;
                self.line = Vec::new();
                tracing::warn!(
                    server = &*self.server,
                    limit = MESSAGE_BYTES_MAX,
                    "a message was too long and was dropped"
                );
                self.lost.send_modify(|lost| *lost += 1);
            }
            if end.is_some() && !std::mem::take(&mut self.skipping) {
                return true;
            }
        }
    }

    fn on_noise(&mut self, line: &[u8]) {
        if self.noise == 0 {
            let head = plain(&line[..line.len().min(80)]);
            tracing::warn!(
                server = &*self.server,
                "it writes other things than the protocol to its standard output, first: {head}"
            );
        }
        self.noise = self.noise.wrapping_add(1).max(1);
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            let mut text = serde_json::to_vec(&item)?;
            text.push(b'\n');
            let mut write = write.lock().await;
            let closed = || io::Error::new(io::ErrorKind::NotConnected, "its standard input is closed");
            // Out of its place while it is written to: if that does not come to its end, half a message was sent, and
            // nothing that follows would be understood.
            let mut stdin = write.take().ok_or_else(closed)?;
            let written = timeout(WRITE_LIMIT, async {
                stdin.write_all(&text).await?;
                stdin.flush().await
            });
            written.await.map_err(|_| {
                io::Error::new(io::ErrorKind::TimedOut, "it does not read its standard input")
            })??;
            *write = Some(stdin);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if self.noise % NOISE_BURST == NOISE_BURST - 1 {
                self.noise += 1;
                sleep(REST).await;
            }
            if !self.next_line().await {
                return None;
            }
            let line = std::mem::take(&mut self.line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(_) => self.on_noise(&line),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A child that reads its input to the end ends by itself then.
        drop(self.write.lock().await.take());
        Ok(())
    }
}
