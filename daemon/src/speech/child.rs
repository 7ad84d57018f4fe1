// SPDX-License-Identifier: MIT OR Apache-2.0

//! One run of a speech engine: a process that is given words and gives sound, and is gone afterwards with all it started.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often a waiting run looks whether the daemon stops.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// What a run left behind.
#[derive(Debug)]
pub(super) struct Ran {
    pub success: bool,
    pub output: Vec<u8>,
    pub complaint: Vec<u8>,
}

/// Why there is no output.
#[derive(Debug)]
pub(super) enum Fault {
    /// The program does not start.
    Start(io::Error),
    /// The system gave no thread, or could not tell of the process.
    System(io::Error),
    /// Time was up.
    Slow,
    /// The daemon stops.
    Stopped,
}

/// What ends a run before its time.
pub(super) struct Limits<'a> {
    pub span: Duration,
    /// Longest output that is taken, in bytes. A process that writes more is left with a full pipe, and is slow.
    pub bytes: u64,
    pub stopped: &'a AtomicBool,
}

/// Runs `command` with `input` on its standard input. Whatever comes of it, nothing of its process group is left.
pub(super) fn run(command: &mut Command, input: String, limits: &Limits<'_>) -> Result<Ran, Fault> {
    if limits.stopped.load(Ordering::Relaxed) {
        return Err(Fault::Stopped);
    }
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // With all it starts it is one group, so that all of it can be ended.
        .process_group(0)
        .spawn()
        .map_err(Fault::Start)?;
    let heard = attend(&mut child, input, started, limits);
    let status = end(&mut child);
    let (output, complaint) = heard?;
    Ok(Ran { success: status.map_err(Fault::System)?.success(), output, complaint })
}

/// Waits for the child's end and for that of its output, which somebody it started may hold open. It is not reaped yet.
fn attend(
    child: &mut Child,
    input: String,
    started: Instant,
    limits: &Limits<'_>,
) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    let go_on = || {
        if limits.stopped.load(Ordering::Relaxed) {
            return Err(Fault::Stopped);
        }
        if started.elapsed() >= limits.span { Err(Fault::Slow) } else { Ok(()) }
    };
    let output = read_all(child.stdout.take(), limits.bytes).map_err(Fault::System)?;
    let complaint = read_all(child.stderr.take(), limits.bytes).map_err(Fault::System)?;
    write_all(child.stdin.take(), input).map_err(Fault::System)?;
    let read = |from: &Receiver<Vec<u8>>| loop {
        match from.recv_timeout(STOP_CHECK) {
            Ok(bytes) => return Ok(bytes),
            Err(RecvTimeoutError::Timeout) => go_on()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Fault::System(io::Error::other("the thread for its output ended by itself")));
            }
        }
    };
    let heard = (read(&output)?, read(&complaint)?);
    // Both ends of its output are closed; a child that stays all the same is given no more time than it had.
    while !has_ended(child).map_err(Fault::System)? {
        go_on()?;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(heard)
}

/// Whether the child has ended. It is left to be reaped: until then its number, which is that of its group, is not given
/// to anybody else.
fn has_ended(child: &Child) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), look)?.is_some())
}

/// Ends everything the child started and the child itself, if it has not ended, and reaps it.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    // A group that is gone is as good as one that was ended.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    child.wait()
}

/// Reads to the end on a thread of its own, which ends when the last holder of the pipe does.
fn read_all(from: Option<impl Read + Send + 'static>, most: u64) -> io::Result<Receiver<Vec<u8>>> {
    let (done, read) = mpsc::channel();
    thread::Builder::new().name("speech out".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            // What was read before a fault is all there is.
            let _ = from.take(most).read_to_end(&mut bytes);
        }
        // Nobody may be waiting any longer.
        let _ = done.send(bytes);
    })?;
    Ok(read)
}

/// Writes on a thread of its own: a child that does not read must not hold up whoever waits for it.
fn write_all(to: Option<impl Write + Send + 'static>, input: String) -> io::Result<()> {
    thread::Builder::new().name("speech in".to_owned()).spawn(move || {
        if let Some(mut to) = to {
            // A child that does not read its input shows in its exit status; there is nothing more to say here.
            let _ = to.write_all(input.as_bytes());
        }
    })?;
    Ok(())
}
