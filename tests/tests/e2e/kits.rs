// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the configuration offers of tools, as the model is shown it.

use std::time::Duration;

use e2e::Talk;
use serde_json::{Value, json};
use session::{Notice, Spoken};
use units::{Frames, Pcm};

fn voice(setup: &Value) -> &Value {
    &setup["generationConfig"]["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"]
}

#[test]
fn t17_with_tools_switched_off_the_set_up_declares_none_and_a_call_is_unknown() {
    let scenario = r#"
        name = "no_tools"
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "read_warehouse_sensors", args = { zone = "cold_storage" } } },
            { after_answer = [{ say = "hello" }], expect_status = "error" },
        ]
    "#;
    let talk = |name| Talk::written(name, scenario).says(1_500, "hello").lasting(10);
    let seen = talk("no_tools").set("tools.enabled=false").run();
    seen.assert_clean();
    let [setup] = &seen.report.setups[..] else { panic!("one connection: {:?}", seen.report.setups) };
    assert_eq!(setup.get("tools"), None, "{setup}");
    let [answer] = &seen.report.answers[..] else { panic!("one answer: {:?}", seen.report.answers) };
    assert_eq!(answer.response["error"], "unknown tool");
    assert_eq!(answer.response["available_tools"], json!([]));
    assert!(!seen.said("hello").samples().is_empty(), "it can still talk");
}

#[test]
fn row_129_another_voice_is_in_the_next_set_up_and_the_answer_says_when() {
    let scenario = r#"
        name = "voices"
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "set_voice", args = { voice = "Puck" } } },
            { after_answer = [{ say = "sure" }], expect_status = "success" },
            { pause_ms = 2000 },
            { goaway_ms = 3000 },
        ]
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "reset_voice" } },
            { after_answer = [{ say = "sure" }], expect_status = "success" },
            { drop = true },
        ]
    "#;
    let seen = Talk::written("voices", scenario)
        .set("tools.device_audio.enabled=true")
        .set("tools.device_audio.voices=[\"Kore\", \"Puck\"]")
        .says(1_500, "hello")
        .says(20_000, "hello")
        .lasting(40)
        .run();
    seen.assert_clean();
    let voices: Vec<&Value> = seen.report.setups.iter().map(voice).collect();
    assert_eq!(voices, ["Kore", "Puck", "Kore"], "one connection has one voice");
    let told = |name: &str| {
        let answer = seen.report.answers.iter().find(|answer| answer.name == name);
        answer.expect("it is answered").response["message"].clone()
    };
    let next = |usual: &str, next: &str| {
        format!(
            "Your voice is still {usual}. It will be {next} when the connection is next made, at the latest in the next \
             conversation."
        )
    };
    assert_eq!(told("set_voice"), next("Kore", "Puck"));
    assert_eq!(told("reset_voice"), next("Puck", "Kore"));
}

/// Samples above this are sound: -50 dBFS.
const SOUND: u16 = 100;

/// How long each stretch of sound in a recording is that a second of silence ends.
fn stretches(heard: &Pcm) -> Vec<Duration> {
    let second = usize::try_from(heard.rate().get()).expect("a rate fits");
    let mut stretches: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in heard.samples().iter().enumerate().filter(|(_, sample)| sample.unsigned_abs() > SOUND) {
        match stretches.last_mut() {
            Some(last) if at < last.end + second => last.end = at + 1,
            _ => stretches.push(at..at + 1),
        }
    }
    stretches.iter().map(|stretch| Frames(stretch.len() as u64).span(heard.rate())).collect()
}

#[test]
fn row_129_a_person_who_asks_for_it_hears_the_model_slower_and_then_as_before() {
    let scenario = r#"
        name = "pace"
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "set_speech_rate", args = { percent = 50 } } },
            { after_answer = [{ say = "hello" }], expect_status = "success" },
        ]
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "reset_speech" } },
            { after_answer = [{ say = "hello" }], expect_status = "success" },
        ]
    "#;
    let seen = Talk::written("pace", scenario)
        .set("tools.device_audio.enabled=true")
        .says(1_500, "hello")
        .says(25_000, "hello")
        .lasting(45)
        .run();
    seen.assert_clean();
    let told: Vec<&Value> = seen.report.answers.iter().map(|answer| &answer.response["message"]).collect();
    assert_eq!(told, ["You speak at 50 % of the usual pace.", "You speak at 100 % of the usual pace."]);
    let [slow, usual] = &stretches(&seen.heard)[..] else { panic!("{:?}", stretches(&seen.heard)) };
    let twice = *usual * 2;
    assert!(slow.abs_diff(twice) < Duration::from_millis(100), "{slow:?} is not {twice:?}");
    // Of the speech itself as much was heard.
    let mut heard = Vec::new();
    for (_, notice) in &seen.notices {
        if let Notice::Played { what: Spoken::Reply, heard: span, cut: false, .. } = notice {
            heard.push(*span);
        }
    }
    let said = seen.said("hello").span();
    assert_eq!(heard, [said, said], "{said:?} was said");
}
