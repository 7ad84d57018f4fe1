// SPDX-License-Identifier: MIT OR Apache-2.0

//! Devices that are pulled out, moved about and put back while the program runs, and sound servers that die and hang.
//!
//! A test shares its run among several cases: a card and a daemon take seconds to start.

#![allow(clippy::print_stdout, reason = "the figures are for whoever runs it with --nocapture")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use e2e::{Apart, Daemon, MICROPHONE, Rig, SPEAKER, SPEAKER_LOOP, Scratch, wire_dir};

use crate::rig::{
    SOON, STOP, Server, config, line, on_card, run, wait_for_devices, wait_for_reply, with_key,
};

/// Cycles of pulling out and putting back: what grows with each shows in a few.
const CYCLES: usize = 5;

/// Over which a storm is looked for.
const WATCHED: Duration = Duration::from_secs(2);

/// Wake-ups of the whole process in [`WATCHED`] at most: the worker looks 250 times a second, and the threads around it
/// hardly ever. A storm of errors makes hundreds of thousands.
const WAKE_UPS_MAX: u64 = 5_000;

const LOST: [&str; 2] = ["WARN", "capture device"];
const BACK: [&str; 2] = ["INFO", "capture device"];
const SPEAKER_LOST: [&str; 2] = ["WARN", "playback device"];
const SPEAKER_BACK: [&str; 2] = ["INFO", "playback device"];

fn tasks(daemon: &Daemon) -> Vec<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{}/task", daemon.id())).expect("it runs");
    tasks.flatten().map(|task| task.path()).collect()
}

/// A figure of a status file, in its unit.
fn figure(path: &str, name: &str) -> u64 {
    let status = fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn resident_kb(daemon: &Daemon) -> u64 {
    figure(&format!("/proc/{}/status", daemon.id()), "VmRSS:")
}

/// How often its threads have gone to sleep, and the time they ran, in hundredths of a second.
fn effort(daemon: &Daemon) -> (u64, u64) {
    let slept = tasks(daemon)
        .iter()
        .map(|task| figure(&format!("{}/status", task.display()), "voluntary_ctxt_switches:"))
        .sum();
    let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.id())).unwrap_or_default();
    let figures: Vec<u64> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().flat_map(str::parse).collect();
    // User and system time, fields 14 and 15; state is no number, so the first figure is field 4.
    (slept, figures.get(10).copied().unwrap_or_default() + figures.get(11).copied().unwrap_or_default())
}

/// Lets it be for a while, and asserts that it does nothing in circles.
#[track_caller]
fn is_calm(daemon: &mut Daemon, state: &str) {
    // What an outage sets off is over.
    daemon.stays_up(Duration::from_secs(1));
    let (slept, ran) = effort(daemon);
    daemon.stays_up(WATCHED);
    let after = effort(daemon);
    let woken = after.0.saturating_sub(slept);
    println!("{state}: {} % of a core, {woken} wake-ups in {WATCHED:?}", (after.1 - ran) / WATCHED.as_secs());
    assert!(woken < WAKE_UPS_MAX, "{state}: {woken} wake-ups; {}", daemon.log());
}

#[test]
fn b01_b02_b03_b04_devices_pulled_out_and_put_back_are_taken_again_and_cost_nothing_meanwhile() {
    let (scratch, mut cards, server) = (Scratch::new(), Apart::start(), Server::start("barge_in"));
    let recorder = cards.speaker.record();
    let config = on_card(&scratch, server.address(), &wire_dir("unplug-cycles"), "voice", "");
    let mut daemon = run(&config, with_key(cards.env()));
    wait_for_devices(&daemon);
    let mut before = None;
    for cycle in 1..=CYCLES {
        cards.microphone.unplug("mic");
        daemon.wait_for_count(&LOST, cycle, SOON);
        if cycle == 1 {
            let lines = daemon.log().lines().len();
            is_calm(&mut daemon, "without a microphone");
            let more = daemon.log().lines().len() - lines;
            assert!(more < 20, "{more} lines of one outage; {}", daemon.log());
        }
        cards.microphone.plug("mic");
        let plugged = Instant::now();
        daemon.wait_for_count(&BACK, cycle + 1, SOON);
        println!("cycle {cycle}: back after {:?}", plugged.elapsed());
        // The first outage has made what each one needs.
        before.get_or_insert_with(|| (tasks(&daemon).len(), resident_kb(&daemon)));
    }
    daemon.stays_up(Duration::from_secs(1));
    let (threads, kb) = before.expect("there were cycles");
    println!(
        "after {CYCLES} cycles: {} threads, {threads} before; {} kB, {kb} before",
        tasks(&daemon).len(),
        resident_kb(&daemon)
    );
    assert!(tasks(&daemon).len() <= threads + 1, "one thread may be closing a device; {threads} before");
    assert!(resident_kb(&daemon) < kb + 4_096, "{kb} kB before, {} after", resident_kb(&daemon));

    // It hears again, and the loudspeaker goes in the middle of the answer.
    cards.microphone.say(&line("dock")).finished();
    wait_for_reply(&recorder, &server, &daemon, Duration::from_secs(1));
    drop(recorder);
    let lost = daemon.log().count("playback device");
    cards.speaker.unplug("speaker");
    daemon.wait_for_count(&SPEAKER_LOST, 1, SOON);
    is_calm(&mut daemon, "without a loudspeaker");
    cards.speaker.plug("speaker");
    daemon.wait_for_count(&SPEAKER_BACK, 2, SOON);
    assert!(daemon.log().count("playback device") < lost + 6, "{}", daemon.log());
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

#[test]
fn b05_b08_b18_a_sound_server_that_suspends_hangs_or_dies_is_named_and_taken_back() {
    let (scratch, mut cards) = (Scratch::new(), Apart::start());
    let nobody = ([127, 0, 0, 1], 9).into();
    let config = on_card(&scratch, nobody, &wire_dir("unplug-server"), "voice", "");
    let mut daemon = run(&config, with_key(cards.env()));
    wait_for_devices(&daemon);

    cards.microphone.suspend();
    daemon.wait_for(&["WARN", "capture device", "has moved no frame for"], SOON);
    is_calm(&mut daemon, "suspended");
    cards.microphone.resume();
    daemon.wait_for_count(&BACK, 2, SOON);

    let lines = daemon.log().lines().len();
    cards.microphone.crash();
    daemon.wait_for_count(&LOST, 2, SOON);
    is_calm(&mut daemon, "without a sound server");
    assert!(daemon.log().lines().len() < lines + 20, "{}", daemon.log());
    cards.microphone.revive();
    daemon.wait_for_count(&BACK, 3, SOON);

    cards.microphone.freeze();
    let stalls = daemon.log().count("has moved no frame for");
    daemon.wait_for_count(&["WARN", "has moved no frame for"], stalls + 1, SOON);
    daemon.wait_for(&["WARN", "capture device", "did not answer within 5 s"], SOON);
    is_calm(&mut daemon, "with a sound server that hangs");
    // The loudspeaker's server is well, and so is the daemon.
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
    cards.microphone.thaw();
}

#[test]
fn b09_devices_that_come_after_the_daemon_are_taken_when_they_come() {
    let (scratch, mut cards) = (Scratch::new(), Apart::start());
    cards.microphone.crash();
    cards.speaker.crash();
    let nobody = ([127, 0, 0, 1], 9).into();
    let config = on_card(&scratch, nobody, &wire_dir("unplug-late"), "voice", "");
    let mut daemon = run(&config, with_key(cards.env()));
    daemon.wait_for_count(&LOST, 1, SOON);
    daemon.wait_for_count(&SPEAKER_LOST, 1, SOON);
    daemon.stays_up(Duration::from_secs(3));
    cards.microphone.revive();
    cards.speaker.revive();
    wait_for_devices(&daemon);
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

#[test]
fn b06_b07_b67_a_server_that_moves_streams_about_is_found_out_and_a_normal_start_is_quiet() {
    let (scratch, mut rig) = (Scratch::new(), Rig::start());
    let nobody = ([127, 0, 0, 1], 9).into();
    let config = on_card(&scratch, nobody, &wire_dir("unplug-route"), "voice", "");
    let mut daemon = run(&config, with_key(rig.env()));
    wait_for_devices(&daemon);
    let foreign: Vec<String> = daemon.log().lines().into_iter().filter(|line| !is_ours(line)).collect();
    assert_eq!(foreign, [""; 0], "no line of a library");

    rig.unplug("mic");
    daemon.wait_for(&["WARN", "capture device", "hears what the loudspeaker plays"], SOON);
    rig.plug("mic");
    daemon.wait_for_count(&BACK, 2, SOON);

    rig.unplug("speaker");
    daemon.wait_for(&["WARN", "playback device", "moved it from `speaker` to `micbus`"], SOON);
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

/// A line of the daemon's log begins with a time.
fn is_ours(line: &str) -> bool {
    line.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()))
}

#[test]
fn b19_what_was_said_while_the_daemon_stood_still_is_stale_and_what_is_said_after_is_heard() {
    let (scratch, rig, server) = (Scratch::new(), Rig::start(), Server::start("sensor"));
    let recorder = rig.record();
    let config = on_card(&scratch, server.address(), &wire_dir("unplug-still"), "voice", "");
    let mut daemon = run(&config, with_key(rig.env()));
    wait_for_devices(&daemon);
    daemon.freeze();
    rig.say(&line("temperature")).finished();
    daemon.thaw();
    recorder.run(Duration::from_secs(3));
    assert_eq!(server.report().connections, 0, "stale speech opens no session; {}", daemon.log());
    rig.say(&line("temperature")).finished();
    wait_for_reply(&recorder, &server, &daemon, Duration::from_secs(3));
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

#[test]
fn the_host_of_a_sound_server_does_without_alsa() {
    let (scratch, rig) = (Scratch::new(), Rig::start());
    let nobody = ([127, 0, 0, 1], 9).into();
    let devices = "audio.capture = 'pulse:mic'\naudio.playback = 'pulse:speaker'\n";
    let config = config(&scratch, nobody, &wire_dir("unplug-native"), "voice", devices);
    let mut daemon = run(&config, with_key(rig.env()));
    wait_for_devices(&daemon);
    is_calm(&mut daemon, "on the sound server's own host");
    rig.crash();
    daemon.wait_for_count(&LOST, 1, SOON);
    daemon.wait_for_count(&SPEAKER_LOST, 1, SOON);
    is_calm(&mut daemon, "on the sound server's own host, without it");
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

#[test]
fn b17_the_devices_of_the_bench_have_the_ids_they_always_had() {
    let rig = Rig::start();
    let output = std::process::Command::new(e2e::voiced_binary())
        .args(["audio", "list", "--json"])
        .envs(rig.env())
        .output()
        .expect("it was built");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut ids: Vec<&str> =
        text.split('"').filter(|word| word.starts_with("alsa:") || word.starts_with("pulse:")).collect();
    ids.sort_unstable();
    ids.dedup();
    let expected = [
        "alsa:default",
        &format!("alsa:{SPEAKER_LOOP}"),
        &format!("alsa:{MICROPHONE}"),
        &format!("alsa:{SPEAKER}"),
        "pulse:mic",
        "pulse:micbus",
        "pulse:micbus.monitor",
        "pulse:speaker",
        "pulse:speaker.monitor",
    ];
    assert_eq!(ids, expected, "{text}");
}
