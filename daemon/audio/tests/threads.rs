// SPDX-License-Identifier: MIT OR Apache-2.0

//! The worker on its own thread, in real time. Nothing here judges how long anything took.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the events it is about")]

use std::sync::mpsc;
use std::time::Duration;

use audio::{Command, Config, Engine, Event, Priority, Sink, Source, sim};
use units::{Frames, Hz, Pcm, UtteranceId};

/// Far beyond what anything here takes; only a broken worker waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_worker_of_its_own_listens_plays_and_stops() {
    let microphone = sim::Microphone::new(Hz::K48, 1);
    let speaker = sim::Speaker::new(Hz::K48);
    let config = Config::new(Source::Sim(microphone), Sink::Sim(speaker.clone()));
    let (events, seen) = mpsc::channel();
    let handle = Engine::start(config, move |event: Event| events.send(event).is_ok()).unwrap();
    let utterance = UtteranceId(1);
    handle.command(Command::UplinkOpen { preroll: Duration::ZERO }).unwrap();
    let pcm = Pcm::new(Hz::K24, vec![8_000i16; 4_800]);
    handle.command(Command::Append { utterance, priority: Priority::Reply, pcm }).unwrap();
    handle.command(Command::Finish { utterance }).unwrap();
    let (mut chunks, mut finished) = (0, None);
    while chunks < 5 || finished.is_none() {
        match seen.recv_timeout(PATIENCE).unwrap() {
            Event::Mic(_) => chunks += 1,
            Event::Finished { heard, cut, .. } => finished = Some((heard, cut)),
            _ => {}
        }
    }
    assert_eq!(finished, Some((Frames(4_800), false)));
    assert!(speaker.recorded().samples().iter().filter(|sample| **sample == 8_000).count() > 8_000);
    assert!(handle.counters().turns > 0);
    handle.stop(PATIENCE).unwrap();
    // The sink went with the worker.
    while seen.recv_timeout(PATIENCE).is_ok() {}
    assert!(matches!(seen.try_recv(), Err(mpsc::TryRecvError::Disconnected)));
    assert!(handle.command(Command::Flush).is_err());
    handle.stop(PATIENCE).unwrap();
}

#[test]
fn a_recording_is_whole_when_the_worker_has_stopped() {
    let path = std::env::temp_dir().join(format!("audio-threads-{}.wav", std::process::id()));
    let config = Config::new(Source::Silence, Sink::File { path: path.clone() });
    let (events, seen) = mpsc::channel();
    let handle = Engine::start(config, move |event: Event| events.send(event).is_ok()).unwrap();
    let utterance = UtteranceId(1);
    let pcm = Pcm::new(Hz::K24, vec![8_000i16; 2_400]);
    handle.command(Command::Append { utterance, priority: Priority::Reply, pcm }).unwrap();
    handle.command(Command::Finish { utterance }).unwrap();
    while !matches!(seen.recv_timeout(PATIENCE).unwrap(), Event::Finished { .. }) {}
    handle.stop(PATIENCE).unwrap();
    let mut reader = hound::WavReader::open(&path).unwrap();
    let loud = reader.samples::<i16>().filter(|sample| sample.as_ref().is_ok_and(|sample| *sample > 7_000));
    assert!(loud.count() > 4_500);
    std::fs::remove_file(&path).unwrap();
}
