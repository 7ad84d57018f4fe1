// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is recorded for diagnosis.

use super::*;
use audio::Recording;

fn track(folder: &Folder, name: &str) -> Vec<i16> {
    let path = folder.file(&format!("take-00001-{name}.wav"));
    let mut wav = hound::WavReader::open(path).unwrap();
    wav.samples().map(Result::unwrap).collect()
}

#[test]
fn a_recording_has_what_the_microphone_gave_what_was_made_of_it_and_what_was_played() {
    let folder = Folder::new("recording");
    let (microphone, speaker) = (sim::Microphone::new(Hz::K16, 1), sim::Speaker::new(Hz::K24));
    let take = folder.file("takes");
    let config = Config {
        echo: Echo::HalfDuplex { tail: MS(100) },
        recording: Some(Recording { folder: take.clone(), take_max: MS(60_000), takes_max: 1 }),
        ..Config::new(Source::Sim(microphone.clone()), Sink::Sim(speaker.clone()))
    };
    let mut rig = Rig::new(config);
    microphone.say(&Pcm::new(Hz::K16, vec![1_000i16; 32_000]));
    rig.run(MS(200));
    rig.play(A, Pcm::new(Hz::K24, vec![8_000i16; 4_800]));
    rig.run(MS(600));
    rig.tell(Command::Mute(true));
    rig.run(MS(500));
    assert_eq!(rig.count(|event| matches!(event, Event::Recording(true))), 1);
    assert_eq!(rig.handle.counters().recording_dropped, 0);
    let played = speaker.recorded();
    drop(rig);

    let takes = Folder::at(&take);
    let of = |name: &str| track(&takes, name);
    let (raw, cleaned, far) = (of("mic-raw"), of("mic-cleaned"), of("far-end"));
    // 130 hops but for the one in which the microphone opened.
    assert_eq!((raw.len(), cleaned.len()), (20_640, 20_640));
    assert_eq!(raw[..12_600].iter().filter(|sample| **sample == 1_000).count(), 12_600);
    assert!(raw[13_000..].iter().all(|sample| *sample == 0), "the microphone was off");
    // Heard from some 20 ms after the order to 200 ms later, and 100 ms of tail.
    assert!(cleaned[4_000..8_000].iter().all(|sample| *sample == 0));
    assert_eq!((cleaned[2_000], cleaned[11_000]), (1_000, 1_000));
    assert_eq!(played.samples()[..26_000], far[..26_000], "what was played is what was recorded");
}

#[test]
fn a_recording_that_cannot_be_written_is_told_of_and_nothing_else_suffers() {
    let folder = Folder::new("recording-broken");
    let file = folder.file("in-the-way");
    std::fs::write(&file, "").unwrap();
    let recording = Some(Recording { folder: file, take_max: MS(1_000), takes_max: 1 });
    let mut rig = Rig::new(Config { recording, ..Config::new(Source::Silence, Sink::Null) });
    let until = std::time::Instant::now() + Duration::from_secs(10);
    while rig.count(|event| matches!(event, Event::Recording(false))) == 0 {
        assert!(std::time::Instant::now() < until, "its thread ends by itself");
        rig.run(MS(10));
        std::thread::yield_now();
    }
    rig.play(A, Pcm::new(Hz::K24, vec![8_000i16; 2_400]));
    rig.run(MS(300));
    assert_eq!(rig.finished(A), Some((Frames(2_400), false)));
}
