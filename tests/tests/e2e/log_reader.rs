//! The log's reader is not the daemon's keeper.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use e2e::{Scratch, voiced_binary};

/// Far longer than the daemon takes for a few attempts at 1, 2 and 4 s.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_reader_of_the_log_that_goes_away_does_not_end_the_daemon() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    let port = listener.local_addr().expect("it is bound").port();
    let scratch = Scratch::new();
    let mut daemon = Command::new(voiced_binary())
        .arg("run")
        .args(["--set", &format!("provider.endpoint=ws://127.0.0.1:{port}")])
        .args(["--set", "engage.mode=always", "--set", "audio.capture=none", "--set", "audio.playback=none"])
        .args(["--set", &format!("state.dir={}", scratch.path().display())])
        .env("GEMINI_API_KEY", "a-key-for-nobody")
        // Every attempt is logged, so every attempt meets the closed pipe.
        .env("RUST_LOG", "debug")
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was built");
    let mut log = BufReader::new(daemon.stderr.take().expect("it is piped"));
    log.read_line(&mut String::new()).expect("the daemon says that it is up");
    drop(log);

    let (attempt, attempts) = mpsc::channel();
    std::thread::spawn(move || {
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
