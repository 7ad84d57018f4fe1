// SPDX-License-Identifier: MIT OR Apache-2.0

//! The supervisor, with devices whose answers the test gives.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::sync::Mutex;
use std::sync::mpsc::SyncSender;

use units::Hz;

use super::super::Pump;
use super::*;
use crate::rt::{Capture, CaptureLine, capture};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A device whose answers the test gives.
#[derive(Clone, Default)]
struct Bench(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    asked: Vec<SyncSender<Answer<CaptureLine>>>,
    device: Option<Capture>,
}

struct Still;

impl Pump for Still {
    fn pump(&mut self) {}
}

impl Opener for Bench {
    type Line = CaptureLine;

    fn device(&self) -> String {
        "the bench".into()
    }

    fn open(&mut self) -> Receiver<Answer<CaptureLine>> {
        let (sender, receiver) = sync_channel(1);
        self.0.lock().unwrap().asked.push(sender);
        receiver
    }
}

impl Bench {
    fn supervised(&self) -> Supervisor<CaptureLine> {
        Supervisor::new(Box::new(self.clone()), Pacing::Stepped)
    }

    fn attempts(&self) -> usize {
        self.0.lock().unwrap().asked.len()
    }

    fn refuse(&self) {
        let error = DeviceError::Missing { device: self.device() };
        self.0.lock().unwrap().asked.last().unwrap().send(Err(error)).unwrap();
    }

    fn open_up(&self) {
        let (device, line) = capture(Hz::K48, 1);
        let mut inner = self.0.lock().unwrap();
        inner.device = Some(device);
        let opened = Opened::fixed(line, Stream::Pumped(Box::new(Still)), "open".into());
        inner.asked.last().unwrap().send(Ok(opened)).ok().unwrap();
    }

    fn deliver(&self) {
        self.0.lock().unwrap().device.as_mut().unwrap().push(&[0.0f32; 480]);
    }
}

/// What a poll found, as a word.
fn seen(supervisor: &mut Supervisor<CaptureLine>, now: Duration) -> String {
    match supervisor.poll(now) {
        None => "nothing".into(),
        Some(Change::Up { .. }) => "up".into(),
        Some(Change::Note(note)) => format!("{note:?}"),
        Some(Change::Down { error }) => format!("{error:?}").split(' ').next().unwrap().to_lowercase(),
    }
}

#[test]
fn a_device_that_is_not_there_is_tried_for_ever_ever_more_slowly() {
    let bench = Bench::default();
    let mut supervisor = bench.supervised();
    let mut tried_at = Vec::new();
    for now in (0..10_000).step_by(10).map(MS) {
        let before = bench.attempts();
        assert_eq!(seen(&mut supervisor, now), "nothing");
        if bench.attempts() > before {
            tried_at.push(now);
            bench.refuse();
            assert_eq!(seen(&mut supervisor, now), "missing");
        }
    }
    assert_eq!(tried_at[..5], [MS(0), MS(500), MS(1_500), MS(3_000), MS(4_500)]);
    assert!(tried_at.last().unwrap() > &MS(8_000));
}

#[test]
fn one_that_hangs_is_reported_once_and_taken_when_it_comes() {
    let bench = Bench::default();
    let mut supervisor = bench.supervised();
    assert_eq!(seen(&mut supervisor, MS(0)), "nothing");
    assert_eq!(seen(&mut supervisor, MS(4_990)), "nothing");
    assert_eq!(seen(&mut supervisor, MS(5_000)), "hung");
    assert_eq!(seen(&mut supervisor, MS(3_600_000)), "nothing");
    assert_eq!(bench.attempts(), 1, "no second thread hangs beside the first");
    bench.open_up();
    assert_eq!(seen(&mut supervisor, MS(3_600_010)), "up");
}

#[test]
fn an_opener_that_dies_is_a_failure_like_any_other() {
    let bench = Bench::default();
    let mut supervisor = bench.supervised();
    assert_eq!(seen(&mut supervisor, MS(0)), "nothing");
    bench.0.lock().unwrap().asked.clear();
    assert_eq!(seen(&mut supervisor, MS(10)), "failed");
    assert_eq!(seen(&mut supervisor, MS(600)), "nothing");
    assert_eq!(bench.attempts(), 1);
}

#[test]
fn silence_of_a_second_is_a_stall_but_the_first_frame_may_take_three() {
    let bench = Bench::default();
    let mut supervisor = bench.supervised();
    seen(&mut supervisor, MS(0));
    bench.open_up();
    assert_eq!(seen(&mut supervisor, MS(10)), "up");
    assert_eq!(seen(&mut supervisor, MS(2_500)), "nothing");
    bench.deliver();
    assert_eq!(seen(&mut supervisor, MS(2_510)), "nothing");
    assert_eq!(seen(&mut supervisor, MS(3_500)), "nothing");
    assert_eq!(seen(&mut supervisor, MS(3_510)), "stalled");
}

#[test]
fn an_error_is_forgotten_when_frames_go_on_moving() {
    let bench = Bench::default();
    let mut supervisor = bench.supervised();
    seen(&mut supervisor, MS(0));
    bench.open_up();
    assert_eq!(seen(&mut supervisor, MS(0)), "up");
    let health = Arc::clone(&bench.0.lock().unwrap().device.as_ref().unwrap().shared().health);
    health.fault.store(Fault::Broken.code(), Relaxed);
    assert_eq!(seen(&mut supervisor, MS(290)), "nothing");
    bench.deliver();
    assert_eq!(seen(&mut supervisor, MS(310)), "nothing");
    assert_eq!(seen(&mut supervisor, MS(1_300)), "nothing");
    health.fault.store(Fault::Gone.code(), Relaxed);
    bench.deliver();
    assert_eq!(seen(&mut supervisor, MS(1_301)), "gone", "what is gone is gone");
}

#[test]
fn a_device_that_was_steady_is_back_after_the_shortest_pause() {
    let bench = Bench::default();
    let mut supervisor = bench.supervised();
    let mut now = MS(0);
    for (lives, pauses) in [(1_000, 1_000), (1_000, 1_500), (12_000, 1_000)] {
        while bench.attempts() == 0 {
            assert_eq!(seen(&mut supervisor, now), "nothing");
            now += MS(10);
        }
        bench.open_up();
        assert_eq!(seen(&mut supervisor, now), "up");
        for _ in 0..lives / 10 {
            bench.deliver();
            now += MS(10);
            assert_eq!(seen(&mut supervisor, now), "nothing");
        }
        let health = Arc::clone(&bench.0.lock().unwrap().device.as_ref().unwrap().shared().health);
        health.report.set("the server died".into()).unwrap();
        health.fault.store(Fault::Broken.code(), Relaxed);
        assert_eq!(seen(&mut supervisor, now), "nothing", "frames may go on moving");
        now += BROKEN_TIMEOUT;
        let Some(Change::Down { error }) = supervisor.poll(now) else { panic!("a fault was not seen") };
        assert_eq!(error.line(), "the bench failed: the server died");
        assert_eq!(supervisor.pause, MS(pauses), "the pause after the next");
        bench.0.lock().unwrap().asked.clear();
    }
}

#[test]
fn one_that_opens_and_never_moves_is_opened_ever_more_rarely_and_soon_again_once_it_moves() {
    let bench = Bench::default();
    let mut supervisor = bench.supervised();
    let (mut opened_at, mut now) = (Vec::new(), MS(0));
    while now < MS(120_000) {
        let before = bench.attempts();
        let is_stalled = seen(&mut supervisor, now) == "stalled";
        assert!(!is_stalled || !opened_at.is_empty());
        if bench.attempts() > before {
            opened_at.push(now);
            bench.open_up();
            assert_eq!(seen(&mut supervisor, now), "up");
        }
        now += MS(10);
    }
    let pauses: Vec<u128> = opened_at.windows(2).map(|two| (two[1] - two[0]).as_millis() - 3_000).collect();
    assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 24_000, 24_000]);
    // It moves, then it is unplugged.
    let before = bench.attempts();
    while bench.attempts() == before {
        seen(&mut supervisor, now);
        now += MS(10);
    }
    bench.open_up();
    assert_eq!(seen(&mut supervisor, now), "up");
    let health = Arc::clone(&bench.0.lock().unwrap().device.as_ref().unwrap().shared().health);
    bench.deliver();
    assert_eq!(seen(&mut supervisor, now), "nothing");
    health.fault.store(Fault::Gone.code(), Relaxed);
    assert_eq!(seen(&mut supervisor, now), "gone");
    assert!(supervisor.pause <= RETRY_LAST);
}
