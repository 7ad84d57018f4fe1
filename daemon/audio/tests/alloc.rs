// SPDX-License-Identifier: MIT OR Apache-2.0

//! The device callbacks allocate and free nothing, nor does the worker while it plays, at any pace.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use assert_no_alloc::{AllocDisabler, assert_no_alloc, reset_violation_count, violation_count};
use audio::rt::{capture, playback};
use audio::{Command, Config, Engine, Priority, Sink, Source, sim};
use units::{Frames, Hz, Pcm, UtteranceId};

#[global_allocator]
static GUARD: AllocDisabler = AllocDisabler;

/// Allocations and frees while `work` ran on this thread.
fn violations(work: impl FnOnce()) -> u32 {
    reset_violation_count();
    assert_no_alloc(work);
    violation_count()
}

#[test]
fn the_callbacks_allocate_and_free_nothing() {
    let (mut microphone, mut capture_line) = capture(Hz::K48, 2);
    let (mut loudspeaker, mut playback_line) = playback(Hz::K48, 2, 480);
    let floats = [0.25f32; 960];
    let (shorts, longs) = ([9i16; 960], [9i32; 960]);
    let (mut out_floats, mut out_shorts, mut out_longs) = ([0.0f32; 960], [0i16; 960], [0i32; 960]);
    for round in 0..100 {
        let found = violations(|| {
            microphone.push(&floats);
            microphone.push(&shorts);
            microphone.push(&longs);
            loudspeaker.fill(&mut out_floats, None);
            loudspeaker.fill(&mut out_shorts, Some(Frames(7)));
            loudspeaker.fill(&mut out_longs, None);
        });
        assert_eq!(found, 0, "round {round}");
        // Every other stretch of rounds the rings run over, or dry.
        if round % 20 < 10 {
            let ready = capture_line.ring.slots();
            capture_line.ring.read_chunk(ready).unwrap().commit_all();
            let room = playback_line.ring.slots();
            playback_line.ring.push_entire_slice(&vec![0.5; room]).unwrap();
        }
    }
}

#[test]
fn a_callback_goes_on_without_allocating_when_the_worker_is_gone() {
    let (mut microphone, capture_line) = capture(Hz::K48, 1);
    let (mut loudspeaker, playback_line) = playback(Hz::K48, 1, 480);
    drop((capture_line, playback_line));
    let mut out = [0.0f32; 480];
    let found = violations(|| {
        for _ in 0..100 {
            microphone.push(&[0.5f32; 480]);
            loudspeaker.fill(&mut out, None);
        }
    });
    assert_eq!(found, 0);
}

#[test]
fn a_worker_that_plays_allocates_and_frees_nothing_at_any_pace() {
    // The test keeps the audio, so that nothing of it is freed with its last frame either.
    let said = Pcm::new(Hz::K24, [9_000i16, 7_000, -4_000, -12_000].repeat(60_000));
    let config = Config::new(Source::Sim(sim::Microphone::new(Hz::K48, 1)), Sink::Null);
    let (mut stepper, handle) = Engine::stepped(config, |_| true).unwrap();
    let utterance = UtteranceId(1);
    handle.command(Command::Append { utterance, priority: Priority::Reply, pcm: said.clone() }).unwrap();
    // Queues and filters come to their working size.
    for _ in 0..50 {
        stepper.hop();
    }
    for percent in [50, 150, 100, 75, 125, 100] {
        handle.command(Command::Rate(percent)).unwrap();
        let found = violations(|| {
            for _ in 0..100 {
                stepper.hop();
            }
        });
        assert_eq!(found, 0, "at {percent} %");
    }
    assert_eq!(handle.counters().playback_underrun, 0, "it played all the time");
}

#[test]
fn the_guard_sees_an_allocation_and_a_free() {
    assert!(violations(|| drop(std::hint::black_box(vec![0u8; 64]))) >= 2);
    let kept = vec![0u8; 64];
    assert!(violations(move || drop(std::hint::black_box(kept))) >= 1);
}
