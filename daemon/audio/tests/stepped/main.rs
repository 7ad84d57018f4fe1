// SPDX-License-Identifier: MIT OR Apache-2.0

//! The whole worker on virtual time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the events it is about")]

mod devices;
mod drift;
mod echo;
mod heard;
mod mute;
mod pace;
mod recording;
mod rig;
mod steady;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use audio::{
    Channels, Command, Config, Direction, Echo, Engine, Event, Sink, Source, StartError, Vad, convert, sim,
};
use units::{Db, Frames, Hz, Pcm, UtteranceId};

use rig::{Folder, Rig, down, ended, find, level, started, up, voice, write_wav};

const A: UtteranceId = UtteranceId(1);
const B: UtteranceId = UtteranceId(2);
const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn a_wav_of_any_kind_comes_out_as_the_same_audio_in_chunks() {
    let folder = Folder::new("formats");
    let int = hound::SampleFormat::Int;
    let kinds = [
        (16_000, 1, 16, int),
        (48_000, 2, 24, int),
        (44_100, 4, 32, int),
        (22_050, 1, 16, int),
        (48_000, 1, 32, hound::SampleFormat::Float),
    ];
    for (sample_rate, channels, bits_per_sample, sample_format) in kinds {
        let path = folder.file("in.wav");
        let said = voice(MS(600), Hz::new(sample_rate).unwrap());
        let spec = hound::WavSpec { channels, sample_rate, bits_per_sample, sample_format };
        write_wav(&path, spec, said.samples());
        let mut rig = Rig::new(Config::new(Source::File { path }, Sink::Null));
        rig.tell(Command::UplinkOpen { preroll: Duration::ZERO });
        rig.run(MS(1_000));
        let heard = rig.microphone();
        let expected = convert(&said, Hz::K16);
        let (at, likeness) = find(&expected.samples()[800..8_000], &heard);
        assert!(likeness > 0.999, "{sample_rate} Hz {bits_per_sample} bit: {likeness}");
        assert!(at.abs_diff(800) <= 320, "{sample_rate} Hz: {at}");
        let loudness = level(&heard[at..at + 7_200]) / level(&expected.samples()[800..8_000]);
        assert!((loudness - 1.0).abs() < 0.02, "{sample_rate} Hz: {loudness}");
        assert_eq!(level(&heard[12_000..]), 0.0, "after its end the file is silent");
    }
}

#[test]
fn what_is_appended_is_in_the_wav_and_was_heard_to_the_end() {
    let folder = Folder::new("out");
    let path = folder.file("out.wav");
    let mut rig = Rig::new(Config::new(Source::Silence, Sink::File { path: path.clone() }));
    let said = voice(MS(500), Hz::K24);
    rig.run(MS(100));
    rig.play(A, said.clone());
    rig.run(MS(500));
    // The header is right before the file is closed.
    let so_far = hound::WavReader::open(&path).unwrap();
    assert_eq!(so_far.duration(), 24_000);
    rig.run(MS(400));
    assert_eq!(rig.finished(A), Some((Frames(12_000), false)));
    drop(rig);

    let mut reader = hound::WavReader::open(&path).unwrap();
    assert_eq!((reader.spec().sample_rate, reader.spec().channels), (48_000, 1));
    let samples: Vec<i16> = reader.samples::<i16>().map(Result::unwrap).collect();
    assert_eq!(samples.len(), 48_000);
    let played = convert(&Pcm::new(Hz::K48, samples), Hz::K24);
    let (at, likeness) = find(&said.samples()[240..], played.samples());
    assert!(likeness > 0.999, "{likeness}");
    // Said at 100 ms, behind 20 ms of ring and 5 ms of filter.
    assert!((2_400..2_400 + 240 + 600).contains(&at), "{at}");
}

#[test]
fn speech_is_reported_from_its_onset_to_its_end() {
    let microphone = sim::Microphone::new(Hz::K48, 2);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    microphone.pause(MS(1_000));
    microphone.say(&sim::voice(MS(1_200)));
    rig.run(MS(3_500));
    assert_eq!((rig.count(started), rig.count(ended)), (1, 1));
    let at = rig.when(started).unwrap();
    let onset_ago = rig
        .seen
        .iter()
        .find_map(|(_, event)| match event {
            Event::SpeechStarted { onset_ago } => Some(*onset_ago),
            _ => None,
        })
        .unwrap();
    let onset = at - onset_ago;
    assert!((MS(980)..MS(1_400)).contains(&onset), "{onset:?}");
    let end = rig.when(ended).unwrap();
    assert!((MS(2_400)..MS(2_800)).contains(&end), "{end:?}");
    assert_eq!(microphone.remaining(), Duration::ZERO);
}

#[test]
fn the_preroll_brings_the_first_word() {
    let microphone = sim::Microphone::new(Hz::K16, 1);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    let said = sim::voice(MS(800));
    microphone.pause(MS(500));
    microphone.say(&said);
    rig.run(MS(800));
    assert!(rig.microphone().is_empty(), "the gate is closed");
    rig.tell(Command::UplinkOpen { preroll: MS(400) });
    rig.run(MS(700));
    let heard = rig.microphone();
    let (at, likeness) = find(&said.samples()[..12_000], &heard);
    assert!(likeness > 0.999, "{likeness}");
    assert!((1_440..=1_760).contains(&at), "100 ms of silence before it: {at}");
    rig.tell(Command::UplinkClose);
    let before = rig.microphone().len();
    rig.run(MS(500));
    assert_eq!(rig.microphone().len(), before);
}

#[test]
fn row_129_while_muted_nothing_leaves_or_is_heard_and_nothing_is_remembered() {
    let microphone = sim::Microphone::new(Hz::K48, 1);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    microphone.say(&sim::voice(MS(5_000)));
    rig.tell(Command::UplinkOpen { preroll: MS(0) });
    rig.run(MS(1_000));
    let before = rig.microphone().len();
    assert!(before >= 15_000 && rig.count(started) == 1);
    assert!(!rig.handle.is_muted());
    rig.tell(Command::Mute(true));
    rig.run(MS(20));
    assert!(rig.handle.is_muted());
    assert_eq!(rig.count(ended), 1, "muting ends speech, at once");
    assert!(matches!(rig.seen.last(), Some((_, Event::Muted(true)))), "and says so behind it");
    let at = rig.seen.len();
    rig.run(MS(1_000));
    // Closed and opened again: no preroll from before or from while it was off.
    rig.tell(Command::UplinkClose);
    rig.run(MS(500));
    rig.tell(Command::UplinkOpen { preroll: MS(3_000) });
    rig.run(MS(500));
    assert_eq!(rig.microphone().len(), before, "nothing leaves, not even silence");
    assert_eq!(rig.handle.counters().muted_leak, 0);
    let levels = rig.seen[at..].iter().filter_map(|(_, event)| match event {
        Event::Levels { input, .. } => Some(input.0),
        _ => None,
    });
    assert!(levels.skip(1).all(|level| level <= -100.0), "what the speech detector sees is zero");
    assert_eq!(rig.count(started), 1);
    rig.tell(Command::Mute(false));
    rig.run(MS(600));
    let after = &rig.microphone()[before..];
    assert_eq!(level(&after[..160]), 0.0, "what was said while muted is not in the filter");
    assert!(level(after) > 100.0);
    assert_eq!((rig.count(started), rig.handle.is_muted()), (2, false));
}

#[test]
fn a_flush_is_silent_within_the_ring_and_a_fade() {
    let speaker = sim::Speaker::new(Hz::K48);
    let mut rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
    rig.play(A, Pcm::new(Hz::K24, vec![16_000i16; 48_000]));
    rig.play(B, Pcm::new(Hz::K24, vec![8_000i16; 24_000]));
    rig.run(MS(500));
    rig.tell(Command::Flush);
    rig.run(MS(200));
    let played = speaker.recorded();
    let flushed_at = 24_000;
    // Two hops in the ring, a hop of fade, half a hop of filter.
    assert_eq!(level(&played.samples()[flushed_at + 480 * 4..]), 0.0);
    let step = played.samples().windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap();
    assert!(step < 200, "largest step {step}");
    let (heard, cut) = rig.finished(A).unwrap();
    assert!(cut);
    let audible = played.samples().iter().filter(|sample| sample.abs() > 8_000).count() as u64;
    assert!(heard.0.abs_diff(audible / 2) < 480, "heard {heard:?}, on the speaker {}", audible / 2);
    assert_eq!(rig.finished(B), Some((Frames(0), true)));
}

#[test]
fn ducking_lowers_and_restores() {
    let speaker = sim::Speaker::new(Hz::K24);
    let mut rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
    rig.play(A, Pcm::new(Hz::K24, vec![10_000i16; 24_000]));
    rig.run(MS(300));
    rig.tell(Command::Duck(Db(20.0)));
    rig.run(MS(300));
    rig.tell(Command::Duck(Db(0.0)));
    rig.run(MS(300));
    let played = speaker.recorded();
    assert_eq!(played.samples()[6_000], 10_000);
    assert_eq!(played.samples()[13_000], 1_000);
    assert_eq!(played.samples()[20_000], 10_000);
    let step = played.samples().windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap();
    assert!(step < 100, "largest step {step}");
}

#[test]
fn row_129_the_volume_is_what_ducking_lowers_and_comes_back_to() {
    let speaker = sim::Speaker::new(Hz::K24);
    let mut rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
    rig.play(A, Pcm::new(Hz::K24, vec![10_000i16; 48_000]));
    rig.run(MS(300));
    rig.tell(Command::Volume(Db(-20.0)));
    rig.run(MS(300));
    rig.tell(Command::Duck(Db(20.0)));
    rig.run(MS(300));
    rig.tell(Command::Volume(Db(0.0)));
    rig.run(MS(300));
    rig.tell(Command::Duck(Db(0.0)));
    rig.run(MS(300));
    let played = speaker.recorded();
    let levels = [6_000, 13_000, 20_000, 27_000, 34_000].map(|at| played.samples()[at]);
    assert_eq!(levels, [10_000, 1_000, 100, 1_000, 10_000]);
    let step = played.samples().windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap();
    assert!(step < 100, "largest step {step}");

    for (asked, played) in [(f32::NAN, 0), (f32::INFINITY, 29_205)] {
        let speaker = sim::Speaker::new(Hz::K24);
        let mut rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
        rig.tell(Command::Volume(Db(asked)));
        rig.play(A, Pcm::new(Hz::K24, vec![10_000i16; 24_000]));
        rig.run(MS(600));
        assert_eq!(speaker.recorded().samples()[10_000], played, "{asked}");
    }
}

#[test]
fn too_loud_is_limited_and_counted() {
    let speaker = sim::Speaker::new(Hz::K24);
    let config = Config { volume: Db(12.0), ..Config::new(Source::Silence, Sink::Sim(speaker.clone())) };
    let mut rig = Rig::new(config);
    rig.play(A, Pcm::new(Hz::K24, vec![20_000i16; 2_400]));
    rig.run(MS(200));
    assert_eq!(speaker.recorded().samples().iter().max(), Some(&29_205));
    assert!(rig.handle.counters().playback_clipped > 2_000);
}

#[test]
fn half_duplex_is_deaf_while_it_speaks_and_a_little_longer() {
    let microphone = sim::Microphone::new(Hz::K16, 1);
    let echo = Echo::HalfDuplex { tail: MS(200) };
    let config = Config { echo, ..Config::new(Source::Sim(microphone.clone()), Sink::Null) };
    let mut rig = Rig::new(config);
    rig.tell(Command::UplinkOpen { preroll: Duration::ZERO });
    rig.run(MS(100));
    microphone.say(&sim::voice(MS(3_000)));
    rig.play(A, voice(MS(1_000), Hz::K24));
    rig.run(MS(2_000));
    let heard = rig.microphone();
    let spoke_until = rig.when(|event| matches!(event, Event::Finished { .. })).unwrap();
    assert!((MS(1_100)..MS(1_200)).contains(&spoke_until), "{spoke_until:?}");
    // 16 frames a millisecond; the first chunk holds the first 20 ms.
    assert_eq!(level(&heard[16 * 120..16 * 1_280]), 0.0);
    assert!(level(&heard[16 * 1_500..]) > 100.0);
    assert!(rig.when(started).unwrap() > spoke_until + MS(200));
}

#[test]
fn one_channel_of_many_can_be_chosen() {
    let folder = Folder::new("channels");
    let path = folder.file("in.wav");
    let sample_format = hound::SampleFormat::Int;
    let spec = hound::WavSpec { channels: 2, sample_rate: 16_000, bits_per_sample: 16, sample_format };
    let mut writer = hound::WavWriter::create(&path, spec).unwrap();
    for _ in 0..16_000 {
        writer.write_sample(1_000i16).unwrap();
        writer.write_sample(3_000i16).unwrap();
    }
    writer.finalize().unwrap();
    for (channels, expected) in
        [(Channels::Only(0), 1_000), (Channels::Only(1), 3_000), (Channels::Average, 2_000)]
    {
        let config = Config { channels, ..Config::new(Source::File { path: path.clone() }, Sink::Null) };
        let mut rig = Rig::new(config);
        rig.tell(Command::UplinkOpen { preroll: Duration::ZERO });
        rig.run(MS(100));
        assert_eq!(rig.microphone()[800], expected);
    }
    let channels = Channels::Only(2);
    let mut rig = Rig::new(Config { channels, ..Config::new(Source::File { path }, Sink::Null) });
    rig.run(MS(100));
    let text = rig.seen.iter().find_map(|(_, event)| match event {
        Event::DeviceDown { direction: Direction::Capture, text } => Some(text.clone()),
        _ => None,
    });
    assert!(text.unwrap().contains("has 2 channels and channel 2 was asked for"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_tried_again() {
    let folder = Folder::new("missing");
    let path = folder.file("later.wav");
    let mut rig = Rig::new(Config::new(Source::File { path: path.clone() }, Sink::Null));
    rig.run(MS(3_000));
    assert_eq!(rig.count(down), 1, "the same trouble is reported once");
    assert!(rig.handle.counters().device_downs > 1, "and tried again");
    let sample_format = hound::SampleFormat::Int;
    let spec = hound::WavSpec { channels: 1, sample_rate: 16_000, bits_per_sample: 16, sample_format };
    write_wav(&path, spec, &[1_000; 1_600]);
    rig.run(MS(2_000));
    assert_eq!(rig.count(|event| matches!(event, Event::DeviceUp { direction: Direction::Capture, .. })), 1);
    std::fs::write(folder.file("noise.wav"), b"this is not a WAV file").unwrap();
    let mut rig = Rig::new(Config::new(Source::File { path: folder.file("noise.wav") }, Sink::Null));
    rig.run(MS(50));
    assert_eq!(rig.count(down), 1);
}

#[test]
fn a_stalled_microphone_is_noticed_and_taken_back() {
    let microphone = sim::Microphone::new(Hz::K48, 1);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    microphone.say(&sim::voice(MS(10_000)));
    rig.run(MS(1_000));
    assert_eq!(rig.count(started), 1);
    rig.seen.clear();
    microphone.fault(sim::Fault::Stalled);
    rig.run(MS(1_500));
    let at = rig.when(down).unwrap();
    assert!((MS(1_990)..MS(2_050)).contains(&at), "a second without a frame: {at:?}");
    assert_eq!(rig.count(ended), 1, "speech does not outlive its microphone");
    microphone.fault(sim::Fault::None);
    rig.run(MS(2_000));
    assert!(rig.when(up).is_some());
    assert_eq!(rig.count(started), 1, "and is heard again");
}

#[test]
fn b02_a_lost_loudspeaker_lets_the_reply_pass_unheard_and_comes_back() {
    let speaker = sim::Speaker::new(Hz::K48);
    let mut rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
    rig.play(A, voice(MS(1_000), Hz::K24));
    rig.run(MS(500));
    speaker.fault(sim::Fault::Gone);
    rig.run(MS(1_500));
    let (heard, cut) = rig.finished(A).unwrap();
    assert!(cut);
    assert!((Frames(11_000)..Frames(12_100)).contains(&heard), "{heard:?}");
    assert!(rig.handle.counters().playback_lost > 11_000);
    let texts: Vec<String> = rig
        .seen
        .iter()
        .filter_map(|(_, event)| match event {
            Event::DeviceDown { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(texts.len(), 2, "it went, and is not there to be opened; not one more: {texts:?}");
    assert!(texts[0].contains("is gone") && texts[1].contains("there is no"), "{texts:?}");
    speaker.fault(sim::Fault::None);
    rig.run(MS(2_000));
    assert_eq!(rig.count(|event| matches!(event, Event::DeviceUp { .. })), 2);
    rig.play(B, voice(MS(500), Hz::K24));
    rig.run(MS(1_000));
    assert_eq!(rig.finished(B), Some((Frames(12_000), false)));
    // The recording keeps the stepper's time through all of it.
    assert_eq!(speaker.recorded().span(), MS(5_000));
}

#[test]
fn a_full_sink_drops_only_microphone_audio() {
    let microphone = sim::Microphone::new(Hz::K16, 1);
    let room = Arc::new(Mutex::new((0usize, Vec::new())));
    let sink = Arc::clone(&room);
    let push = move |event| {
        let mut room = sink.lock().unwrap();
        if room.0 == 0 {
            return false;
        }
        room.0 -= 1;
        room.1.push(event);
        true
    };
    let config = Config::new(Source::Sim(microphone), Sink::Null);
    let (mut stepper, handle) = Engine::stepped(config, push).unwrap();
    handle.command(Command::UplinkOpen { preroll: Duration::ZERO }).unwrap();
    handle.command(Command::Finish { utterance: A }).unwrap();
    for _ in 0..1_000 {
        stepper.hop();
    }
    room.lock().unwrap().0 = usize::MAX;
    stepper.hop();
    let counters = handle.counters();
    assert!(counters.mic_dropped > 200, "{counters:?}");
    assert_eq!(counters.events_dropped, 0);
    let seen = &room.lock().unwrap().1;
    assert!(seen.iter().any(|event| matches!(event, Event::Finished { .. })));
    assert_eq!(seen.len(), 256);
}

#[test]
fn levels_come_ten_times_a_second() {
    let microphone = sim::Microphone::new(Hz::K16, 1);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    microphone.say(&Pcm::new(Hz::K16, [16_384i16, -16_384].repeat(4_000)));
    rig.play(A, Pcm::new(Hz::K24, vec![3_277i16; 12_000]));
    rig.run(MS(1_000));
    let levels: Vec<(Db, Db)> = rig
        .seen
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Levels { input, output } => Some((*input, *output)),
            _ => None,
        })
        .collect();
    assert_eq!(levels.len(), 10);
    assert!((levels[2].0.0 + 6.0).abs() < 0.1 && (levels[2].1.0 + 20.0).abs() < 0.1, "{:?}", levels[2]);
    assert_eq!(levels[9], (Db::SILENCE, Db::SILENCE));
}

#[test]
fn the_same_script_gives_the_same_events_twice() {
    let once = || {
        let microphone = sim::Microphone::new(Hz::new(44_100).unwrap(), 2);
        let speaker = sim::Speaker::new(Hz::new(22_050).unwrap());
        let config = Config::new(Source::Sim(microphone.clone()), Sink::Sim(speaker.clone()));
        let mut rig = Rig::new(config);
        microphone.say(&sim::voice(MS(800)));
        rig.tell(Command::UplinkOpen { preroll: MS(100) });
        rig.play(A, voice(MS(700), Hz::K24));
        rig.run(MS(2_000));
        let log: Vec<String> = rig.seen.iter().map(|(at, event)| format!("{at:?} {event:?}")).collect();
        (log, speaker.recorded())
    };
    assert_eq!(once(), once());
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let config = Config::new(Source::Silence, Sink::Null);
    let refused = |config| match Engine::stepped(config, |_| true) {
        Err(StartError::Setting { setting, .. }) => setting,
        other => panic!("{other:?}"),
    };
    let vad = Vad { hangover: MS(5), ..Vad::default() };
    assert_eq!(refused(Config { vad, ..config.clone() }), "vad.hangover");
    let vad = Vad { threshold: f32::NAN, ..Vad::default() };
    assert_eq!(refused(Config { vad, ..config.clone() }), "vad.threshold");
    assert_eq!(refused(Config { volume: Db(40.0), ..config.clone() }), "volume");
    assert_eq!(refused(Config { preroll_max: MS(9_000), ..config.clone() }), "preroll_max");
    assert_eq!(refused(Config { echo: Echo::HalfDuplex { tail: MS(9_000) }, ..config }), "echo.tail");
}

#[test]
fn commands_are_bounded_and_come_back() {
    let config = Config::new(Source::Silence, Sink::Null);
    let (stepper, handle) = Engine::stepped(config, |_| true).unwrap();
    for _ in 0..audio::COMMANDS_MAX {
        handle.command(Command::Flush).unwrap();
    }
    assert!(matches!(handle.command(Command::UplinkClose), Err(Command::UplinkClose)));
    drop(stepper);
    assert!(matches!(handle.command(Command::Flush), Err(Command::Flush)));
}

#[test]
fn a_lost_microphone_does_not_hold_back_what_was_said_before() {
    let microphone = sim::Microphone::new(Hz::K16, 1);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    microphone.say(&sim::voice(MS(1_000)));
    rig.run(MS(500));
    microphone.fault(sim::Fault::Gone);
    rig.run(MS(100));
    rig.tell(Command::UplinkOpen { preroll: MS(400) });
    rig.run(MS(20));
    assert_eq!(rig.microphone().len(), 6_400);
}
