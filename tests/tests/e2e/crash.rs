// SPDX-License-Identifier: MIT OR Apache-2.0

//! One approval, at most one effect, whenever the device is killed.

#![allow(clippy::print_stdout, reason = "what a failure is repeated by, and what the kills hit")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use e2e::{Counter, Device, Reply, Scratch};
use voiced::gate_log::{files, path_in, verify};
use voiced::identity::key8;
use voiced::journal::{JOURNAL_FILE, State, read};

const STARTS: u64 = 500;

/// Latest moment of a kill after the device is up: some orders later.
const KILL_MS_MAX: u64 = 60;

/// Longer than any start takes, however busy the machine.
const SOON: Duration = Duration::from_secs(60);

/// Which random moments. `P3_SEED` sets another.
const SEED: u64 = 2026;

/// Numbers that look like chance and are the same for the same seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % end
    }
}

/// A run of the device and what it says.
struct Run {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Run {
    fn start(config: &str, name: &str, orders: u64) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_crash"))
            .args([config, name, &orders.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it was built with this test");
        let out = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // The test has failed.
                let Ok(()) = tell.send(line) else { return };
            }
        });
        Self { child, lines, said: Vec::new() }
    }

    /// Listens until `end`, or until it says `last`. False if it says nothing any more.
    fn listen(&mut self, end: Instant, last: Option<&str>) -> bool {
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.said.push(line);
                    if last.is_some() && self.said.last().map(String::as_str) == last {
                        return true;
                    }
                }
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Kills it; all that it said.
    fn kill(mut self) -> Vec<String> {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().expect("it is ours");
        self.listen(Instant::now() + SOON, None);
        self.said
    }
}

fn seed() -> u64 {
    std::env::var("P3_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED)
}

/// Calls of the journal, as whoever was killed has left it.
fn left(state: &Path) -> Vec<(String, State)> {
    let bytes = fs::read(state.join(JOURNAL_FILE)).unwrap_or_default();
    let contents = read(&bytes);
    assert!(contents.damaged.is_empty(), "a kill damages nothing: {:?}", contents.damaged);
    contents.calls.into_iter().map(|call| (call.key, call.state)).collect()
}

#[test]
fn p3_killed_at_any_moment_one_approval_has_at_most_one_effect_and_what_had_begun_is_told() {
    let seed = seed();
    println!("P3_SEED={seed}");
    let mut chance = Chance(seed);
    let scratch = Scratch::new();
    let state = scratch.path().join("state");
    // Some answers are lost on the way; one that is waited for is not given, and the test is told that it would be due.
    let (tell, held) = channel();
    let hold_at = Arc::new(Mutex::new(None::<usize>));
    let wanted = Arc::clone(&hold_at);
    let counter = Counter::start(move |number| {
        let mut wanted = wanted.lock().expect("nobody panics with it");
        if wanted.is_some_and(|wanted| number >= wanted) {
            *wanted = None;
            let _ = tell.send(());
            Reply::Hold
        } else if number % 7 == 3 {
            Reply::Drop
        } else {
            Reply::Answer
        }
    });
    let config = Device::config(&state, counter.port(), false, "gate.log.max_mb = 1\ngate.log.keep = 100");

    let mut granted = BTreeMap::<String, u32>::new();
    let (mut begun, mut intended) = (BTreeSet::new(), BTreeSet::new());
    let mut notes = 0;
    for start in 0..STARTS {
        let mut run = Run::start(&config, &format!("n{start}"), u64::MAX);
        let now = Instant::now();
        match chance.below(8) {
            // While it starts.
            0 => drop(run.listen(now + Duration::from_millis(chance.below(KILL_MS_MAX)), None)),
            // Between an effect and its answer.
            1 => {
                let wait = usize::try_from(chance.below(4)).expect("it is small");
                *hold_at.lock().expect("nobody panics with it") = Some(counter.done().len() + wait);
                held.recv_timeout(SOON).expect("it goes on printing");
            }
            _ => {
                assert!(run.listen(now + SOON, Some("up")), "it starts");
                run.listen(Instant::now() + Duration::from_millis(chance.below(KILL_MS_MAX)), None);
            }
        }
        for line in run.kill() {
            if let Some(order) = line.strip_prefix("granted ") {
                *granted.entry(order.to_owned()).or_default() += 1;
            }
            notes += usize::from(line.starts_with("note [Before the restart, "));
        }
        for (key, state) in left(&state) {
            match state {
                State::Begun => drop(begun.insert(key)),
                State::Intended => drop(intended.insert(key)),
                State::Done | State::Failed | State::Cancelled | State::Unknown | State::Told => {}
            }
        }
    }
    let mut last = Run::start(&config, "last", 0);
    assert!(!last.listen(Instant::now() + SOON, None), "it ends by itself");
    assert!(last.child.wait().expect("it is ours").success());
    let open: Vec<_> = left(&state).into_iter().filter(|(_, state)| !state.is_over()).collect();
    assert_eq!(open, [], "nothing is left to be told");

    let done = counter.done();
    let (mut by_key, mut by_order) = (BTreeMap::<&str, u32>::new(), BTreeMap::<&str, u32>::new());
    for done in &done {
        *by_key.entry(&done.key).or_default() += 1;
        *by_order.entry(&done.order).or_default() += 1;
    }
    let twice: Vec<_> = by_key.iter().filter(|(key, count)| key.is_empty() || **count > 1).collect();
    assert!(twice.is_empty(), "effects without a key, or two of one key: {twice:?}");
    for (order, count) in &by_order {
        let approvals = granted.get(*order).copied().unwrap_or_default();
        assert!(*count <= approvals, "{order}: {count} effects of {approvals} approvals");
    }
    let unmeant: Vec<_> = intended.iter().filter(|key| by_key.contains_key(key.as_str())).collect();
    assert!(unmeant.is_empty(), "effects of what was only intended: {unmeant:?}");

    let log = files(&path_in(&state));
    let log: Vec<Vec<u8>> = log.iter().map(|path| fs::read(path).expect("it is ours")).collect();
    let verdict = verify(&log);
    assert_eq!(verdict.breaks, [], "the chain holds");
    assert!(!verdict.is_continued && log.len() > 1, "it is whole, and was put aside: {} files", log.len());
    let mut unknown: Vec<String> = verdict
        .records
        .iter()
        .filter(|record| record.event == "call.unknown")
        .map(|record| record.fields["key8"].as_str().expect("it has one").to_owned())
        .collect();
    unknown.sort();
    let mut expected: Vec<String> = begun.iter().map(|key| key8(key).to_owned()).collect();
    expected.sort();
    assert_eq!(unknown, expected, "each that had begun is told of once, and no other is");

    println!(
        "{} effects of {} approvals; {} kills after a call had begun, {} after it was intended; {} torn lines; {notes} notes",
        done.len(),
        granted.len(),
        begun.len(),
        intended.len(),
        verdict.torn.len()
    );
    let hits = [done.len(), begun.len(), intended.len(), notes];
    assert!(hits.iter().zip([500, 50, 10, 50]).all(|(hits, least)| *hits > least), "too few hits: {hits:?}");
}
