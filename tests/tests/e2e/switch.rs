// SPDX-License-Identifier: MIT OR Apache-2.0

//! The microphone switched off and on: by a tool, by a hand, by a signal.

use std::ffi::OsString;
use std::time::Duration;

use e2e::{Daemon, Scratch, Seen, Talk};
use session::{LinkState, Notice};

/// Whatever happens at once has happened by then, also on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(30);

/// When the person was heard to begin.
fn turns(seen: &Seen) -> Vec<Duration> {
    let opened = |notice: &Notice| matches!(notice, Notice::TurnOpened { .. });
    seen.notices.iter().filter(|(_, notice)| opened(notice)).map(|(at, _)| at.since_boot()).collect()
}

#[test]
fn row_129_what_is_said_to_a_microphone_that_was_switched_off_reaches_nobody_until_a_hand_switches_it_on() {
    let scenario = r#"
        name = "mute"
        [[turn]]
        hears = "Okay, stop, that's enough."
        steps = [
            { call = { name = "mute" } },
            { after_answer = [{ say = "sure" }], expect_status = "success" },
        ]
        [[turn]]
        hears = "Hello there."
        steps = [{ say = "hello" }]
    "#;
    let talk = |name, switched: &[(u64, bool)]| {
        let talk = Talk::written(name, scenario)
            .set("tools.device_audio.enabled=true")
            .set("tools.device_audio.unmute=Press the green button.")
            .says(1_500, "stop")
            .says(12_000, "temperature")
            .says(18_000, "dock")
            .says(28_000, "hello")
            .lasting(40);
        switched.iter().fold(talk, |talk, (at, on)| talk.switches(*at, *on)).run()
    };
    let seen = talk("mute", &[(24_000, true)]);
    seen.assert_clean();
    let [answer] = &seen.report.answers[..] else { panic!("one answer: {:?}", seen.report.answers) };
    assert_eq!(
        answer.response["message"],
        "The microphone is off. To switch it on again: Press the green button."
    );
    assert_eq!(seen.events, ["device_audio"]);
    assert_eq!(seen.report.segments, 2, "what was said at 12 s and at 18 s was heard by nobody");
    assert!(!seen.said("hello").samples().is_empty(), "what was said at 28 s was");
    // It was off for some 20 of the 40 s, and then nothing leaves, not even silence.
    let sent = seen.report.client_audio;
    assert!((Duration::from_secs(14)..Duration::from_secs(23)).contains(&sent), "{sent:?}");

    let seen = talk("mute_stays", &[]);
    assert_eq!(seen.report.segments, 1, "nothing that is said switches it on");
    assert!(turns(&seen).iter().all(|at| *at < Duration::from_secs(5)), "{:?}", turns(&seen));

    let seen = talk("mute_by_hand", &[(100, false), (24_000, true)]);
    assert_eq!(seen.report.segments, 1);
    let turns = turns(&seen);
    assert!(!turns.is_empty() && turns.iter().all(|at| *at > Duration::from_secs(28)), "{turns:?}");
}

#[test]
fn row_129_a_muted_conversation_by_voice_ends_as_ever() {
    let seen = Talk::bundled("mute_idle", "sensor")
        .set("engage.mode=voice")
        .set("engage.idle_after_s=5")
        .says(1_500, "temperature")
        // In the middle of a word.
        .switches(2_500, false)
        .lasting(60)
        .run();
    let mut links = seen
        .notices
        .iter()
        .filter_map(|(_, notice)| if let Notice::Link { state, .. } = notice { Some(*state) } else { None });
    assert_eq!(links.next_back(), Some(LinkState::Down), "{:?}", seen.notices);
}

#[test]
fn row_129_signals_switch_the_microphone_of_a_daemon_in_every_state() {
    let scratch = Scratch::new();
    let config = scratch.write("voiced.toml", "vad.hangover_ms = 5\n");
    let args = [OsString::from("run"), "--keep-going".into(), "--config".into(), config.into()];
    let mut daemon = Daemon::start(args, []);
    daemon.wait_for(&["waiting for a configuration"], SOON);
    daemon.switch_microphone(true);
    daemon.wait_for(&["the microphone will be on once there is a configuration"], SOON);
    daemon.switch_microphone(false);
    daemon.wait_for(&["the microphone will be off once there is a configuration"], SOON);

    // It is the same file: the path is known by its name.
    let _ = scratch.write("voiced.toml", &scratch.without_sound());
    daemon.hang_up();
    daemon.wait_for(&["the microphone is off"], SOON);
    daemon.switch_microphone(true);
    daemon.wait_for(&["the microphone is on"], SOON);
    assert_eq!(daemon.log().count("the microphone is on"), 1);
    daemon.terminate();
    assert_eq!(daemon.exit_code(Duration::from_secs(5)), 0, "{}", daemon.log());
}

#[test]
fn row_129_no_tool_is_called_unmute() {
    let seen = Talk::bundled("mute_tools", "sensor")
        .set("tools.device_audio.enabled=true")
        .set("tools.device_audio.unmute=Press the green button.")
        .run();
    let [setup] = &seen.report.setups[..] else { panic!("one connection: {:?}", seen.report.setups) };
    let declared = setup["tools"].to_string();
    assert!(declared.contains(r#""name":"mute""#) && !declared.contains(r#""name":"unmute""#), "{declared}");
}
