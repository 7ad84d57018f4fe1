// SPDX-License-Identifier: MIT OR Apache-2.0

//! The devices of the machine, for real. Needs a sound card whose playback comes back as its capture: a virtual one
//! with a monitor will do. Run with `cargo test -p audio --test card -- --ignored`, the capture device's id in
//! `AUDIO_TEST_CAPTURE` and the playback device's in `AUDIO_TEST_PLAYBACK`; what is not set is the default device.

#![cfg(feature = "cpal")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the events it is about")]

use std::env::var;
use std::sync::mpsc;
use std::time::Duration;

use audio::{Command, Config, Engine, Event, Priority, Sink, Source, convert, devices, sim};
use units::{Hz, UtteranceId};

/// Far beyond what anything here takes; only a broken device waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
#[ignore = "needs a sound card"]
fn what_is_played_comes_back_through_the_microphone() {
    let capture = Source::Cpal { id: var("AUDIO_TEST_CAPTURE").ok() };
    let playback = Sink::Cpal { id: var("AUDIO_TEST_PLAYBACK").ok() };
    let (events, seen) = mpsc::channel();
    let handle =
        Engine::start(Config::new(capture, playback), move |event: Event| events.send(event).is_ok())
            .unwrap();
    handle.command(Command::UplinkOpen { preroll: Duration::ZERO }).unwrap();
    let (utterance, said) = (UtteranceId(1), sim::voice(Duration::from_millis(1_500)));
    let mut heard: Vec<f64> = Vec::new();
    let mut chunks_left = None;
    while chunks_left != Some(0) {
        match seen.recv_timeout(PATIENCE).unwrap() {
            Event::Mic(samples) => {
                heard.extend(samples.map(f64::from));
                chunks_left = chunks_left.map(|left: u32| left - 1);
                // The first chunk shows that capture runs; half a second later so does an idle sound server.
                if heard.len() == 320 * 25 {
                    let pcm = convert(&said, Hz::K24);
                    handle.command(Command::Append { utterance, priority: Priority::Reply, pcm }).unwrap();
                    handle.command(Command::Finish { utterance }).unwrap();
                }
            }
            // Another half a second, for what is still on its way back.
            Event::Finished { cut, .. } => {
                assert!(!cut);
                chunks_left = Some(25);
            }
            Event::DeviceDown { text, .. } => panic!("{text}"),
            _ => {}
        }
    }
    handle.stop(PATIENCE).unwrap();
    let said: Vec<f64> = said.samples().iter().map(|sample| f64::from(*sample)).collect();
    let energy = |samples: &[f64]| samples.iter().map(|sample| sample * sample).sum::<f64>().sqrt();
    let likeness = heard
        .windows(said.len())
        .map(|part| {
            let dot: f64 = part.iter().zip(&said).map(|(a, b)| a * b).sum();
            dot / (energy(part) * energy(&said)).max(1.0)
        })
        .fold(0.0, f64::max);
    assert!(likeness > 0.9, "the likeness of what came back is {likeness}");
}

#[test]
#[ignore = "needs a sound card"]
fn the_default_devices_are_listed_first_with_what_they_can_do() {
    let listed = devices().unwrap();
    assert!(listed.len() >= 2);
    for info in &listed[..2] {
        assert!(info.is_default, "{info:?}");
        assert!(!info.formats.as_ref().unwrap().is_empty(), "{info:?}");
    }
}
