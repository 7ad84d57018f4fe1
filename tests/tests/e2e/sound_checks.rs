// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced audio test-mic`, `test-speaker` and `loopback` on a virtual sound card.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use audio::find::Recording;
use e2e::{MICROPHONE, Rig, SPEAKER, voiced_binary};
use rehearsal::demo::{PersonLine, mix};
use serde_json::Value;
use units::{Hz, Pcm};

/// Runs `voiced audio WHAT --json` on the card; its exit code and what it printed.
fn try_out(rig: &Rig, what: &str, seconds: &str) -> (Option<i32>, Value) {
    let devices = [format!("audio.capture=alsa:{MICROPHONE}"), format!("audio.playback=alsa:{SPEAKER}")];
    let env: Vec<(&str, OsString)> = rig.env();
    let output = Command::new(voiced_binary())
        .args(["audio", what, "--json", "--seconds", seconds])
        .args(devices.iter().flat_map(|set| ["--set", set.as_str()]))
        .envs(env)
        .output()
        .expect("it is built");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = serde_json::from_str(&text);
    let value = value.unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), value)
}

fn codes(value: &Value) -> Vec<&str> {
    value["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|finding| finding["code"].as_str())
        .collect()
}

#[test]
fn a_microphone_is_tried_silent_and_spoken_to() {
    let rig = Rig::start();
    let (code, silent) = try_out(&rig, "test-mic", "2");
    assert_eq!((code, codes(&silent)), (Some(1), vec!["digital_zero"]), "{silent}");

    // It speaks from before the program has the device open until after it has measured.
    let lines = [500, 4_000, 7_500].map(|start_ms| PersonLine { id: "temperature", start_ms });
    let said = mix(&lines, Duration::from_secs(12)).expect("the line is bundled");
    let _voice = rig.say(&said);
    let (code, spoken) = try_out(&rig, "test-mic", "5");
    assert_eq!((code, &spoken["ok"]), (Some(0), &Value::Bool(true)), "{spoken}");
    assert!(spoken["speech_seconds"].as_f64() > Some(0.5), "{spoken}");
    assert!(spoken["loudest_dbfs"].as_f64() > Some(-40.0), "{spoken}");
    assert_eq!(spoken["digital_zero"], false);
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "a quarter of full scale")]
fn a_loudspeaker_is_tried_and_what_it_plays_is_the_tones() {
    let rig = Rig::start();
    let recorder = rig.record();
    let (code, value) = try_out(&rig, "test-speaker", "3");
    assert_eq!((code, &value["ok"]), (Some(0), &Value::Bool(true)), "{value}");
    assert_eq!(value["heard_seconds"].as_f64(), Some(3.0), "{value}");
    let second: Vec<i16> = (0..24_000)
        .map(|n| (8_000.0 * (std::f64::consts::TAU * 440.0 * f64::from(n) / 24_000.0).sin()) as i16)
        .collect();
    let heard = Recording::new(&recorder.pcm());
    assert!(heard.find(&Pcm::new(Hz::K24, second), Duration::ZERO).is_some(), "the first tone was heard");
}

#[test]
fn the_way_through_the_room_is_measured() {
    let rig = Rig::with_echo("40:-6");
    let (code, value) = try_out(&rig, "loopback", "1");
    assert_eq!(code, Some(0), "{value}");
    // 40 ms of room, the devices' buffers and the sound server's: 300 ms is ten times what they are made for.
    let latency = value["latency_ms"].as_u64().unwrap_or_else(|| panic!("it is heard: {value}"));
    assert!((40..400).contains(&latency), "{value}");
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let output = Command::new(voiced_binary())
        .args(["audio", "test-mic", "--seconds", "1", "--set", "audio.capture=alsa:no_such_card"])
        .output()
        .expect("it is built");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("no_such_card"), "{text}");
}
