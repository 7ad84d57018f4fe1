// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clocks that differ, for a long time, and what is heard after a long silence.

#![allow(clippy::print_stdout, reason = "the figures are for whoever runs it with --nocapture")]

use super::*;

/// 10 ms that nothing else is as loud as.
fn click() -> Pcm {
    Pcm::new(Hz::K16, vec![20_000i16; 160])
}

/// From when a click is made in the room, now, to when it leaves the worker. The uplink is open.
fn uplink_delay(rig: &mut Rig, microphone: &sim::Microphone) -> Duration {
    rig.seen.clear();
    let made = rig.stepper.now();
    microphone.say(&click());
    rig.run(MS(1_000));
    let loud =
        |event: &Event| matches!(event, Event::Mic(chunk) if chunk.iter().any(|sample| *sample > 10_000));
    rig.when(loud).expect("it is heard") - made
}

/// From when an utterance is queued, now, to when its first frame was heard.
fn playout_delay(rig: &mut Rig, utterance: UtteranceId) -> Duration {
    rig.seen.clear();
    let queued = rig.stepper.now();
    rig.play(utterance, Pcm::new(Hz::K24, vec![5_000i16; 24_000]));
    rig.run(MS(2_000));
    assert_eq!(rig.finished(utterance), Some((Frames(24_000), false)));
    rig.when(|event| matches!(event, Event::Started { .. })).unwrap() - queued
}

#[test]
fn b24_a_clock_that_is_five_hundredths_fast_does_not_make_the_uplink_late() {
    let microphone = sim::Microphone::new(Hz::K16, 1).off_by(50_000);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    rig.tell(Command::UplinkOpen { preroll: Duration::ZERO });
    let mut longest = MS(0);
    for _ in 0..20 {
        longest = longest.max(uplink_delay(&mut rig, &microphone));
        rig.run(MS(29_000));
    }
    assert!(longest < MS(300), "{longest:?}");
    let counters = rig.handle.counters();
    assert_eq!((counters.capture_overrun, counters.capture_stale, counters.mic_dropped), (0, 0, 0));
    println!("the longest delay in ten minutes was {longest:?}");
}

/// Two clocks that differ by 200 ppm for so long: how much the delays changed.
fn drifts_apart(minutes: u64) {
    let microphone = sim::Microphone::new(Hz::K48, 1).off_by(100);
    let speaker = sim::Speaker::new(Hz::K48).off_by(-100);
    for (microphone, speaker) in [
        (microphone, speaker),
        (sim::Microphone::new(Hz::K48, 1).off_by(-100), sim::Speaker::new(Hz::K48).off_by(100)),
    ] {
        let config = Config::new(Source::Sim(microphone.clone()), Sink::Sim(speaker));
        let mut rig = Rig::new(config);
        rig.tell(Command::UplinkOpen { preroll: Duration::ZERO });
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for utterance in 0..minutes {
            up.push(uplink_delay(&mut rig, &microphone));
            down.push(playout_delay(&mut rig, UtteranceId(utterance + 1)));
            rig.run(MS(57_000));
        }
        let spread = |delays: &[Duration]| *delays.iter().max().unwrap() - *delays.iter().min().unwrap();
        // Where in a chunk of 20 ms and in a hop of 10 a click falls wanders with the clocks, so it is the longest of ten
        // delays that must stay.
        let longest = |delays: &[Duration]| *delays.iter().max().unwrap();
        let (first, last) = (longest(&up[..10]), longest(&up[up.len() - 10..]));
        assert!(last <= first + MS(10), "the uplink's delay stays within a hop: {first:?}, {last:?}");
        assert!(spread(&up) <= MS(30), "a chunk and a hop: {:?}", spread(&up));
        assert!(spread(&down) <= MS(10), "playout's delay stays within a hop: {:?}", spread(&down));
        let counters = rig.handle.counters();
        let lost = [
            counters.capture_overrun,
            counters.capture_stale,
            counters.playback_underrun,
            counters.playback_lost,
            counters.mic_dropped,
            counters.events_dropped,
        ];
        assert_eq!(lost, [0; 6], "{counters:?}");
        println!(
            "{minutes} min: uplink {:?}..+{:?}, playout {:?}..+{:?}",
            up[0],
            spread(&up),
            down[0],
            spread(&down)
        );
    }
}

#[test]
fn clocks_that_drift_apart_lose_nothing_and_make_nothing_late() {
    drifts_apart(20);
}

#[test]
#[ignore = "takes minutes: a day"]
fn clocks_that_drift_apart_for_a_day_lose_nothing_and_make_nothing_late() {
    let resident = || std::fs::read_to_string("/proc/self/statm").unwrap();
    println!("pages before: {}", resident().trim());
    drifts_apart(24 * 60);
    println!("pages after: {}", resident().trim());
}

/// Ten tones of 100 ms, each of its own pitch, and a rest that is no whole number of periods.
fn ten_tones() -> Pcm {
    let tone = |n: u16| {
        (0..2_400u16).map(move |at| {
            let angle = f32::from(at) * f32::from(n + 3) * 0.02;
            #[expect(clippy::cast_possible_truncation, reason = "small enough")]
            let sample = (angle.sin() * 9_000.0) as i16;
            sample
        })
    };
    let mut samples: Vec<i16> = (0..10).flat_map(tone).collect();
    samples.extend([7, 7, 7]);
    Pcm::new(Hz::K24, samples)
}

#[test]
fn b21_b22_the_first_and_the_last_tone_of_a_reply_are_whole_after_ten_minutes_of_silence() {
    let speaker = sim::Speaker::new(Hz::K24);
    let mut rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
    rig.run(MS(600_000));
    let silence = speaker.take();
    assert!(
        silence.span() == MS(600_000) && silence.samples().iter().all(|sample| *sample == 0),
        "it is kept open"
    );
    let reply = ten_tones();
    rig.play(A, reply.clone());
    rig.run(MS(2_000));
    let played = speaker.take();
    let whole = played.samples().windows(reply.samples().len()).any(|part| part == reply.samples());
    assert!(whole, "sample for sample, the first and the last with them");
    assert_eq!(rig.finished(A), Some((reply.frames(), false)));
    let last = played.samples().iter().rposition(|sample| *sample != 0).unwrap();
    let over = rig.when(|event| matches!(event, Event::Finished { .. })).unwrap() - MS(600_000);
    assert!(
        Hz::K24.frames_in(over).0 > last as u64,
        "it is over when its last frame has left, and no sooner"
    );
}
