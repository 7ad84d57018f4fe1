// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log's reader is not the daemon's keeper.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use e2e::{Scratch, voiced_binary};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process};

/// Far longer than the daemon takes for a few attempts at 1, 2 and 4 s.
const LIMIT: Duration = Duration::from_secs(60);

/// From SIGTERM to the end of the process, on a machine that is busy with other tests: the program promises 5 s.
const STOP: Duration = Duration::from_secs(10);

/// A daemon that links to `port` of this machine, whoever listens there, and has no sound card.
fn daemon(port: u16, scratch: &Scratch) -> Command {
    let mut command = Command::new(voiced_binary());
    command
        .arg("run")
        .args(["--set", &format!("provider.endpoint=ws://127.0.0.1:{port}")])
        .args(["--set", "engage.mode=always", "--set", "audio.capture=none", "--set", "audio.playback=none"])
        .args(["--set", &format!("state.dir={}", scratch.path().display())])
        .env("GEMINI_API_KEY", "a-key-for-nobody");
    command
}

#[test]
fn a_reader_of_the_log_that_goes_away_does_not_end_the_daemon() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    let port = listener.local_addr().expect("it is bound").port();
    let scratch = Scratch::new();
    let mut daemon = daemon(port, &scratch)
        // Every attempt is logged, so every attempt meets the closed pipe.
        .env("RUST_LOG", "debug")
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was built");
    let mut log = BufReader::new(daemon.stderr.take().expect("it is piped"));
    log.read_line(&mut String::new()).expect("the daemon says that it is up");
    drop(log);

    let (attempt, attempts) = mpsc::channel();
    thread::spawn(move || {
        // Each connection is dropped at once: an attempt that failed.
        while let Ok((stream, _)) = listener.accept() {
            drop(stream);
            if attempt.send(()).is_err() {
                break;
            }
        }
    });
    let alive = (0..3).all(|_| attempts.recv_timeout(LIMIT).is_ok());
    let exit = daemon.try_wait().expect("it is a child");
    daemon.kill().and_then(|()| daemon.wait()).expect("it can be ended");
    assert!(alive && exit.is_none(), "the daemon ended by itself: {exit:?}");
}

/// Asks again and again until there is an answer. `None` after `limit`.
fn poll<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= deadline {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process has a handler of its own for `signal`.
fn handles(pid: u32, signal: Signal) -> bool {
    let facts = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = facts.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn a_reader_of_the_log_that_stands_still_does_not_keep_the_daemon() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    let port = listener.local_addr().expect("it is bound").port();
    let scratch = Scratch::new();
    let (reader, writer) = std::io::pipe().expect("a process may have a few pipes");
    // Opened anew, so that only this end of the pipe does not block.
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut filler = File::options().write(true).open(path).expect("it is ours");
    ioctl_fionbio(&filler, true).expect("pipes can be made not to block");
    let mut daemon = daemon(port, &scratch).stderr(writer).spawn().expect("it was built");
    let ready = poll(LIMIT, || handles(daemon.id(), Signal::TERM).then_some(()));

    // Whole pages first, then what is left of the last one: no line of the daemon's fits any more.
    for piece in [&[b'\n'; 4096][..], b"\n"] {
        while filler.write(piece).is_ok() {}
    }
    kill_process(Pid::from_child(&daemon), Signal::TERM).expect("it is a child");
    let exit = poll(STOP, || daemon.try_wait().expect("it is a child"));
    // One that has ended cannot be killed, and that is fine.
    drop(daemon.kill());
    daemon.wait().expect("it is a child");
    drop(reader);
    assert!(ready.is_some(), "it takes no signals");
    assert_eq!(exit.and_then(|exit| exit.code()), Some(0), "{exit:?}");
}
