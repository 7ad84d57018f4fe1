// SPDX-License-Identifier: MIT OR Apache-2.0

//! The pace of replies.

use std::f64::consts::TAU;

use super::*;
use audio::Priority;

/// Seconds of 24 kHz.
const SECOND: usize = 24_000;

/// A loudspeaker at the rate of playout, so that nothing is resampled, and its rig.
fn rig() -> (Rig, sim::Speaker) {
    let speaker = sim::Speaker::new(Hz::K24);
    (Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone()))), speaker)
}

/// A sum of sines of these frequencies, each weaker by its place in the row.
fn tones(frequencies: &[f64], n: usize) -> i16 {
    let wave = |(k, frequency): (usize, &f64)| (TAU * frequency * n as f64 / 24_000.0).sin() / (k + 1) as f64;
    let sum: f64 = frequencies.iter().enumerate().map(wave).sum();
    #[expect(clippy::cast_possible_truncation, reason = "three times the level fits")]
    let sample = (5_000.0 * sum) as i16;
    sample
}

/// Fundamental and harmonics, like a held vowel.
fn hum(frequency: f64, frames: usize) -> Vec<i16> {
    let harmonics = [1.0, 2.0, 3.0, 4.0, 5.0].map(|k| k * frequency);
    ended((0..frames).map(|n| tones(&harmonics, n)).collect())
}

fn speech(span: Duration) -> Vec<i16> {
    ended(voice(span, Hz::K24).samples().to_vec())
}

/// The same, down to zero in its last 5 ms, so that playout has no step to spread behind it.
fn ended(mut samples: Vec<i16>) -> Vec<i16> {
    for (sample, left) in samples.iter_mut().rev().zip(0..120) {
        *sample = sample.div_euclid(120) * left;
    }
    samples
}

/// Power at one frequency.
fn power(samples: &[i16], frequency: f64) -> f64 {
    let turn = TAU * frequency / 24_000.0;
    let (re, im) = samples.iter().enumerate().fold((0.0, 0.0), |(re, im), (n, sample)| {
        let (sin, cos) = (turn * n as f64).sin_cos();
        (re + f64::from(*sample) * cos, im + f64::from(*sample) * sin)
    });
    (re * re + im * im) / samples.len() as f64
}

/// From the first sample that is not zero to the last.
fn sound(samples: &[i16]) -> &[i16] {
    let is_loud = |sample: &i16| *sample != 0;
    let (first, last) = (samples.iter().position(is_loud), samples.iter().rposition(is_loud));
    &samples[first.unwrap()..=last.unwrap()]
}

/// What a reply sounds like at a pace.
fn reply(percent: u16, said: &[i16]) -> Vec<i16> {
    let (mut rig, speaker) = rig();
    rig.tell(Command::Rate(percent));
    rig.play(A, Pcm::new(Hz::K24, said));
    rig.run(MS(said.len() as u64 / 24 * 2 + 200));
    assert_eq!(rig.finished(A), Some((Frames(said.len() as u64), false)), "{percent} %");
    sound(speaker.recorded().samples()).to_vec()
}

fn zero_crossings(samples: &[i16]) -> usize {
    samples.windows(2).filter(|pair| (pair[0] < 0) != (pair[1] < 0)).count()
}

fn largest_step(samples: &[i16]) -> u16 {
    samples.windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap()
}

fn within_percent(found: usize, expected: usize, percent: f64) -> bool {
    (found as f64 / expected as f64 - 1.0).abs() * 100.0 < percent
}

#[test]
fn a_reply_lasts_as_its_pace_says_and_keeps_its_pitch() {
    for percent in [50, 75, 125, 150] {
        let expected = 2 * SECOND * 100 / usize::from(percent);
        for pitch in [85.0, 140.0, 220.0] {
            let heard = reply(percent, &hum(pitch, 2 * SECOND));
            assert!(within_percent(heard.len(), expected, 2.0), "{pitch} Hz at {percent} %: {}", heard.len());
            let steady = &heard[2_400..2_400 + SECOND];
            let around = (-10..=10).map(|percent| pitch * (1.0 + f64::from(percent) / 100.0));
            let found = around.max_by(|a, b| power(steady, *a).total_cmp(&power(steady, *b))).unwrap();
            assert_eq!(found, pitch, "at {percent} %");
        }
        let said = speech(MS(3_000));
        let heard = reply(percent, &said);
        let expected = 3 * SECOND * 100 / usize::from(percent);
        assert!(within_percent(heard.len(), expected, 2.0), "a voice at {percent} %: {}", heard.len());
        let crossings = zero_crossings(&said) * 100 / usize::from(percent);
        let found = zero_crossings(&heard);
        assert!(within_percent(found, crossings, 5.0), "a voice at {percent} %: {found} for {crossings}");
    }
}

#[test]
fn the_usual_pace_changes_no_sample() {
    let said = hum(140.0, SECOND);
    assert_eq!(reply(100, &said), sound(&said));

    // And after another pace it changes none again.
    let (mut rig, speaker) = rig();
    rig.play(A, Pcm::new(Hz::K24, said.as_slice()));
    rig.run(MS(300));
    rig.tell(Command::Rate(70));
    rig.run(MS(200));
    rig.tell(Command::Rate(100));
    rig.run(MS(800));
    let recorded = speaker.recorded();
    let (heard, said) = (sound(recorded.samples()), sound(&said));
    assert_eq!(heard[..6_000], said[..6_000]);
    assert_eq!(heard[heard.len() - 9_600..], said[said.len() - 9_600..]);
    // 200 ms at 70 % last 60 ms longer than what they say.
    assert!((heard.len() - said.len()).abs_diff(1_440) < 480, "{}", heard.len() - said.len());
}

#[test]
fn nothing_but_replies_changes_its_pace() {
    for priority in [Priority::Alert, Priority::ReadBack, Priority::PreCall, Priority::Clip] {
        let (mut rig, speaker) = rig();
        let said = hum(170.0, SECOND / 2);
        rig.tell(Command::Rate(150));
        let pcm = Pcm::new(Hz::K24, said.as_slice());
        rig.tell(Command::Append { utterance: A, priority, pcm });
        rig.tell(Command::Finish { utterance: A });
        rig.run(MS(700));
        assert_eq!(sound(speaker.recorded().samples()), sound(&said), "{priority:?}");
    }
}

/// What was heard of a reply at a pace when it is flushed after `span`.
fn heard_after(said: &Pcm, percent: u16, span: Duration) -> u64 {
    let (mut rig, _) = rig();
    rig.tell(Command::Rate(percent));
    rig.play(A, said.clone());
    rig.run(span);
    rig.tell(Command::Flush);
    rig.run(MS(200));
    let (Frames(heard), cut) = rig.finished(A).unwrap();
    assert!(cut);
    heard
}

#[test]
fn what_was_heard_is_counted_in_the_reply_as_it_came() {
    let said = Pcm::new(Hz::K24, speech(MS(2_000)));
    for percent in [50, 90, 100, 140] {
        let mut before = heard_after(&said, percent, MS(200));
        for span in (210..=900).step_by(10) {
            let heard = heard_after(&said, percent, MS(span));
            // 240 frames a hop at 100 %. Nothing is rounded away, and nothing is counted late.
            let more = heard.checked_sub(before).expect("what was heard never grows less");
            assert!(more.abs_diff(u64::from(percent) * 240 / 100) <= 1, "{percent} % at {span} ms: {more}");
            before = heard;
        }
        // The ring's two hops, or as much as fades, more or less than the time that has passed.
        let passed = 900 * 24 * u64::from(percent) / 100;
        assert!(before.abs_diff(passed) < 3 * 240, "{percent} %: {before} for {passed}");
    }
}

#[test]
fn a_flush_drops_what_is_held_and_fades_what_plays() {
    for percent in [50, 150] {
        let (mut rig, speaker) = rig();
        rig.tell(Command::Rate(percent));
        let said = hum(140.0, 3 * SECOND);
        rig.play(A, Pcm::new(Hz::K24, said.as_slice()));
        rig.run(MS(500));
        rig.tell(Command::Flush);
        rig.run(MS(200));
        let flushed = speaker.recorded().samples().to_vec();
        // Two hops in the ring, a hop of fade.
        assert_eq!(level(&flushed[12_000 + 240 * 3..]), 0.0);
        assert!(level(&flushed[12_000 + 240..12_000 + 480]) > 1_000.0);
        assert!(largest_step(&flushed) < largest_step(&said) * 3 / 2, "{}", largest_step(&flushed));
        assert_eq!(rig.count(|event| matches!(event, Event::Finished { .. })), 1);

        // The next reply begins with its own first sample.
        let next = hum(310.0, SECOND);
        rig.play(B, Pcm::new(Hz::K24, next.as_slice()));
        rig.run(MS(2_500));
        let recorded = speaker.recorded();
        assert_eq!(sound(&recorded.samples()[flushed.len()..])[..239], next[1..240]);
        assert_eq!(rig.finished(B), Some((Frames(24_000), false)));
    }
}

/// Where the pitch changes between 200 and 400 Hz, in frames.
fn changes(samples: &[i16]) -> Vec<usize> {
    // 8 crossings in 20 ms, or 16.
    let is_high: Vec<bool> = samples.windows(480).map(|window| zero_crossings(window) > 12).collect();
    let mut changes: Vec<usize> = (1..is_high.len()).filter(|at| is_high[*at] != is_high[at - 1]).collect();
    // At the change itself it may waver.
    changes.dedup_by(|later, earlier| *later - *earlier < 480);
    changes.into_iter().map(|at| at + 240).collect()
}

#[test]
fn a_change_of_pace_takes_effect_at_once_and_without_a_click() {
    let (mut rig, speaker) = rig();
    // Half a second at 200 Hz, half a second at 400 Hz, eight times over.
    let pitch = |n: usize| if (n / 12_000).is_multiple_of(2) { 200.0 } else { 400.0 };
    let said: Vec<i16> = (0..8 * SECOND).map(|n| tones(&[pitch(n)], n)).collect();
    rig.play(A, Pcm::new(Hz::K24, said.as_slice()));
    // The pace in each second.
    let paces = [100, 50, 150, 75, 100, 125, 60, 140];
    for percent in paces {
        rig.tell(Command::Rate(percent));
        rig.run(MS(1_000));
    }
    rig.run(MS(1_000));
    assert_eq!(rig.finished(A), Some((Frames(192_000), false)));
    let heard = speaker.recorded().samples().to_vec();

    let mut expected = Vec::new();
    // In hundredths of a frame.
    let mut place = 0;
    for frame in 0..heard.len() {
        // What is in the ring, two hops, was made before the change.
        let second = frame.saturating_sub(480) / SECOND;
        let before = place;
        place += usize::from(paces[second.min(7)]);
        if place / 1_200_000 > before / 1_200_000 && place < 19_100_000 {
            expected.push(frame);
        }
    }
    let found = changes(&heard);
    // One more at the end, where silence is no pitch.
    assert_eq!(found.len(), expected.len() + 1, "{found:?} for {expected:?}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found.abs_diff(*expected) < 480, "{found:?} for {expected:?}");
    }
    assert!(largest_step(&heard) <= largest_step(&said) * 11 / 10, "{}", largest_step(&heard));
}

#[test]
fn a_reply_that_comes_in_pieces_is_heard_whole_at_any_pace() {
    for percent in [50, 100, 150] {
        let (mut rig, speaker) = rig();
        rig.tell(Command::Rate(percent));
        let said = speech(MS(2_000));
        for (n, piece) in said.chunks(960).enumerate() {
            let pcm = Pcm::new(Hz::K24, piece);
            rig.tell(Command::Append { utterance: A, priority: Priority::Reply, pcm });
            // 40 ms each, every 30 ms, with a gap of 300 ms in their midst.
            rig.run(MS(if n == 25 { 300 } else { 30 }));
        }
        rig.run(MS(200));
        rig.tell(Command::Finish { utterance: A });
        rig.run(MS(4_000));
        assert_eq!(rig.finished(A), Some((Frames(48_000), false)), "{percent} %");
        assert_eq!(rig.count(|event| matches!(event, Event::Started { .. })), 1);
        let recorded = speaker.recorded();
        let (heard, said) = (sound(recorded.samples()), sound(&said));
        let likeness = find(&said[said.len() - 480..], &heard[heard.len() - 480..]).1;
        assert!(likeness > 0.999, "the end is whole at {percent} %: {likeness}");
    }
}

#[test]
fn a_pace_out_of_range_is_the_nearest_that_may_be() {
    let said = hum(140.0, SECOND);
    assert!(reply(0, &said) == reply(50, &said));
    assert!(reply(u16::MAX, &said) == reply(150, &said));
}

#[test]
fn a_reply_passes_at_its_pace_where_there_is_no_loudspeaker() {
    let (mut rig, speaker) = rig();
    rig.tell(Command::Rate(50));
    rig.play(A, voice(MS(1_000), Hz::K24));
    rig.run(MS(500));
    speaker.fault(sim::Fault::Gone);
    rig.run(MS(2_500));
    let (Frames(heard), cut) = rig.finished(A).unwrap();
    assert!(cut);
    assert!((5_000..6_100).contains(&heard), "{heard}");
    assert_eq!(heard + rig.handle.counters().playback_lost, 24_000);
    let at = rig.when(|event| matches!(event, Event::Finished { .. })).unwrap();
    assert!((MS(1_900)..MS(2_150)).contains(&at), "{at:?}");
}
