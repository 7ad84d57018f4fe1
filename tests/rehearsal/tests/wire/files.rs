// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bundled files: scenarios, recordings and the demo's timeline.

use std::time::Duration;

use rehearsal::{Rehearsal, Scenario, Voices, demo, voices};

#[test]
fn every_bundled_scenario_can_be_rehearsed() {
    for name in Scenario::names() {
        let scenario = Scenario::bundled(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(scenario.name(), name);
        Rehearsal::new(scenario, Voices::bundled().unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let unknown = Scenario::bundled("nope").unwrap_err().to_string();
    assert!(unknown.contains("`nope`") && unknown.contains("sensor"), "{unknown}");
}

#[test]
fn every_file_of_the_folder_is_bundled() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
        .collect();
    files.sort();
    assert_eq!(files, Scenario::names().collect::<Vec<_>>());
}

/// Each says in which line it is wrong, and what.
#[test]
fn scenario_faults_name_the_line() {
    let cases = [
        ("nmae = \"x\"", "line 1", "unknown field `nmae`"),
        ("turn = []", "", "missing field `name`"),
        ("name = \"x\"\n[wire]\nburst = \"some\"", "line 3", "0.5..=1000.0 or \"all\""),
        ("name = \"x\"\n[wire]\nburst = 0.1", "line 3", "0.5..=1000.0 or \"all\""),
        ("name = \"x\"\n[[turn]]\nsteps = [\n{ sya = \"y\" }]", "line 4", "unknown field `sya`"),
        ("name = \"x\"\n[[turn]]\nsteps = [\n{ }]", "line 4", "does nothing"),
        ("name = \"x\"\n[[turn]]\nsteps = [\n{ say = \"y\", pause_ms = 5 }]", "line 4", "several actions"),
        ("name = \"x\"\n[[turn]]\nsteps = [\n{ drop = false }]", "line 4", "drop = false"),
        ("name = \"x\"\n[[turn]]\nsteps = [\n{ pause_ms = 5, odd = true }]", "line 4", "belong to say"),
        (
            "name = \"x\"\n[[turn]]\nsteps = [\n{ say = \"y\", expect_status = \"z\" }]",
            "line 4",
            "expect belongs to",
        ),
        ("name = \"x\"\n[[turn]]\nsteps = [\n{ say = \"y\", rate_hz = 5 }]", "line 4", "8000..=192000"),
        (
            "name = \"x\"\n[[turn]]\nsteps = [\n{ calls = [{ name = \"f\", times = 0 }] }]",
            "line 4",
            "times = 0",
        ),
        ("name = \"x\"\n[[turn]]\nsteps = [\n{ close = { code = 1006 } }]", "line 4", "close code 1006"),
        (
            "name = \"x\"\n[[turn]]\nsteps = [\n{ after_answer = [\n{ say = 1 }] }]",
            "line 5",
            "expected a string",
        ),
        ("name = \"x\"\n[[connection]]\nupgrade = 200", "line 2", "400..=599"),
        ("name = \"x\"\n[[connection]]\nupgrade = 503\nsilent_setup = true", "line 2", "at most one of"),
    ];
    for (text, line, wanted) in cases {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains(wanted), "{text:?}: {error}");
    }
}

#[test]
fn a_voice_that_is_not_recorded_is_refused() {
    let text = "name = \"x\"\n[[turn]]\nsteps = [{ after_answer = [{ say = \"nobody\" }] }]";
    let error =
        Rehearsal::new(Scenario::parse(text).unwrap(), Voices::bundled().unwrap()).err().unwrap().to_string();
    assert!(error.contains("`nobody`") && error.contains("too_warm"), "{error}");
}

#[test]
fn every_recording_decodes_and_is_heard() {
    let bundled = Voices::bundled().unwrap();
    let model = bundled.ids().map(|id| (id, bundled.find(id).cloned().unwrap(), 24_000));
    let person = voices::person_ids().map(|id| (id, voices::person(id).unwrap(), 48_000));
    let mut count = 0;
    for (id, recording, rate) in model.chain(person) {
        count += 1;
        let pcm = recording.pcm;
        assert_eq!(pcm.rate().get(), rate, "{id}");
        let sum: f64 = pcm.samples().iter().map(|sample| f64::from(*sample).powi(2)).sum();
        let rms = (sum / f64::from(u32::try_from(pcm.samples().len()).unwrap())).sqrt();
        assert!(rms > 500.0, "{id}: rms {rms}");
        assert!(!recording.text.is_empty());
        assert!(
            pcm.span() > Duration::from_millis(250) && pcm.span() < Duration::from_secs(20),
            "{id}: {pcm:?}"
        );
    }
    assert_eq!(count, 20);
    assert!(
        bundled.find("dock_long").unwrap().pcm.span() >= Duration::from_secs(12),
        "long enough to cut into"
    );
    let unknown = voices::person("nobody").unwrap_err().to_string();
    assert!(unknown.contains("`nobody`") && unknown.contains("goodbye"), "{unknown}");
}

#[test]
fn recordings_stay_small() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/voices");
    let total: u64 =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(total < 900_000, "{total} bytes");
}

/// Each of the person's lines starts after what comes before it can have been said, with a second to spare.
#[test]
fn the_demo_leaves_room_for_every_reply() {
    let voices = Voices::bundled().unwrap();
    let span = |id: &str| voices.find(id).unwrap().pcm.span();
    let ms = Duration::from_millis;
    // Silence until the turn is taken, and until the reply.
    let taken = ms(700 + 600);
    let (answer, read_back, clip) = (ms(700), ms(9_500), ms(1_500));
    let after = [
        taken + answer + span("too_warm") + clip,
        taken + ms(4_000),
        taken + span("sure"),
        taken + read_back,
        taken + answer + span("on_its_way"),
        taken + read_back,
        taken + answer + span("not_sent"),
    ];
    for (index, needed) in after.into_iter().enumerate() {
        let (line, next) = (demo::PERSON_LINES[index], demo::PERSON_LINES[index + 1]);
        let free = next.start() - line.start() - voices::person(line.id).unwrap().pcm.span();
        // The barge-in is meant to come while the reply goes on.
        let spare = if next.id == "stop" { ms(0) } else { ms(1_000) };
        assert!(
            free >= needed + spare,
            "`{}` leaves {free:?} before `{}`, needed {needed:?}",
            line.id,
            next.id
        );
    }
    let cut = taken + span("dock_long");
    let (dock, stop) = (demo::PERSON_LINES[1], demo::PERSON_LINES[2]);
    assert!(stop.start() - dock.start() < cut, "the person cuts in before the long answer ends");
    let whole = demo::microphone().unwrap();
    assert!((75..=100).contains(&whole.span().as_secs()), "{whole:?}");
    assert!(
        whole.samples().chunks(480).all(|hop| hop.iter().any(|sample| *sample != 0)),
        "no digital silence"
    );
}
