// SPDX-License-Identifier: MIT OR Apache-2.0

//! Earcons in whole talks, and the microphone that stays off across restarts.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use audio::find::Recording;
use e2e::{Daemon, Scratch, Talk};
use session::Notice;
use units::Pcm;
use voiced::clip::earcon::{Earcon, EarconSource, Earcons};

/// Whatever happens at once has happened by then, also on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(30);

fn sound(earcon: Earcon) -> Pcm {
    let earcons = Earcons::load(&[(earcon, EarconSource::Builtin)].into()).expect("it is drawn");
    earcons.find(earcon).expect("it was asked for").clone()
}

#[test]
fn an_earcon_between_a_question_and_its_answer_takes_nothing_from_the_answer() {
    let seen = Talk::bundled("cue_gate", "gate_yes")
        .says(1_500, "message")
        .switches(20_000, false)
        .switches(20_600, true)
        .says(22_000, "yes")
        .lasting(32)
        .run();
    seen.assert_clean();
    let at = |is: fn(&Notice) -> bool| {
        let found = seen.notices.iter().find(|(_, notice)| is(notice));
        found.map(|(at, _)| at.since_boot()).expect("it was told of")
    };
    let asked = at(|notice| matches!(notice, Notice::GatePresented { .. }));
    let agreed = at(|notice| matches!(notice, Notice::GateGranted { .. }));
    let heard = Recording::new(&seen.heard);
    let [muted, unmuted] = [Earcon::Muted, Earcon::Unmuted].map(|earcon| {
        let found = heard.find(&sound(earcon), Duration::from_millis(19_900));
        let at = found.expect("it sounds").at;
        assert!(asked < at && at < agreed, "{earcon:?}: {asked:?} {at:?} {agreed:?}");
        at
    });
    assert!(muted < unmuted);
    assert!(heard.find(&sound(Earcon::Confirm), Duration::from_millis(20_600)).is_some());
    assert_eq!(seen.deliveries.len(), 1, "one yes is enough");
    assert_eq!(seen.statuses("send_notification"), ["pending_confirmation", "success"]);
}

#[test]
fn an_earcon_that_is_none_does_not_sound() {
    let talk = |name, set: &str| {
        let seen = Talk::bundled(name, "sensor")
            .set(set)
            .set("earcons.unmuted=none")
            .switches(1_000, false)
            .switches(2_000, true)
            .run();
        Recording::new(&seen.heard).find(&sound(Earcon::Muted), Duration::ZERO).is_some()
    };
    assert!(talk("cue_muted", "earcons.muted="));
    assert!(!talk("cue_none", "earcons.muted=none"));
}

fn run(config: &Path) -> Daemon {
    Daemon::start([OsString::from("run"), "--config".into(), config.into()], [])
}

#[test]
fn b70_a_microphone_that_was_switched_off_is_off_after_a_restart_until_a_hand_switches_it_on() {
    let scratch = Scratch::new();
    let config = scratch.write("voiced.toml", &scratch.without_sound());
    let ends = |mut daemon: Daemon| {
        daemon.terminate();
        assert_eq!(daemon.exit_code(Duration::from_secs(5)), 0, "{}", daemon.log());
    };
    let daemon = run(&config);
    daemon.wait_for(&["voiced is up"], SOON);
    daemon.switch_microphone(false);
    daemon.wait_for(&["the microphone is off"], SOON);
    ends(daemon);

    let daemon = run(&config);
    daemon.wait_for(&["the microphone is off"], SOON);
    daemon.switch_microphone(true);
    daemon.wait_for(&["the microphone is on"], SOON);
    ends(daemon);

    let daemon = run(&config);
    daemon.wait_for(&["voiced is up"], SOON);
    daemon.switch_microphone(true);
    daemon.wait_for(&["the microphone is on"], SOON);
    daemon.switch_microphone(false);
    daemon.wait_for(&["the microphone is off"], SOON);
    assert_eq!(daemon.log().count("the microphone is off"), 1, "it began with it on");
    ends(daemon);

    std::fs::write(scratch.path().join("state/microphone"), "?").expect("the folder is there");
    let daemon = run(&config);
    daemon.wait_for(&["the microphone is off, as nobody knows whether it was"], SOON);
    ends(daemon);
}

#[test]
fn b70_a_switch_of_the_hardware_counts_for_more_than_a_hand() {
    let scratch = Scratch::new();
    let line = scratch.write("line", "1\n");
    let text = format!("{}hal.mute.file = '{}'\n", scratch.without_sound(), line.display());
    let config = scratch.write("voiced.toml", &text);
    let daemon = run(&config);
    daemon.wait_for(&["the microphone is off"], SOON);
    daemon.switch_microphone(true);
    daemon.wait_for(&["the microphone stays off: the switch of the hardware holds it"], SOON);
    std::fs::write(&line, "0\n").expect("it is there");
    daemon.wait_for(&["the microphone is on"], SOON);
    std::fs::remove_file(&line).expect("it is there");
    daemon.wait_for(&["the microphone is off, as its switch cannot be read"], SOON);
}
