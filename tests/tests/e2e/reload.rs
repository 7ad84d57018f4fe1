// SPDX-License-Identifier: MIT OR Apache-2.0

//! A service whose configuration is wrong: it waits for a good one, and is then a daemon like any other.

use std::ffi::OsString;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use e2e::{Daemon, Scratch};

/// Whatever happens at once has happened by then, also on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(30);

/// From SIGTERM to the end of the process: what the program promises.
const STOP: Duration = Duration::from_secs(5);

/// Threads of the daemon with this name.
fn threads(daemon: &Daemon, name: &str) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", daemon.id())).expect("it runs");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

#[test]
fn a_configuration_that_was_waited_for_leaves_one_thread_for_signals() {
    let scratch = Scratch::new();
    let config = scratch.write("voiced.toml", "vad.hangover_ms = 5\n");
    let args = [OsString::from("run"), "--keep-going".into(), "--config".into(), config.into()];
    let mut daemon = Daemon::start(args, []);
    daemon.wait_for(&["waiting for a configuration"], SOON);
    daemon.hang_up();
    daemon.wait_for(&["vad.hangover_ms = 5", "ERROR"], SOON);

    // It is the same file: the path is known by its name.
    let _ = scratch.write("voiced.toml", &scratch.without_sound());
    daemon.hang_up();
    daemon.wait_for(&["voiced is up"], SOON);
    // It hears a signal once it waits for all of them.
    let deadline = Instant::now() + SOON;
    while daemon.log().count("a running daemon does not read its configuration") == 0 {
        assert!(Instant::now() < deadline, "SIGHUP is not heard; {}", daemon.log());
        daemon.hang_up();
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(threads(&daemon, "signals"), 1);
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}
