// SPDX-License-Identifier: MIT OR Apache-2.0

//! What leaves the loudspeaker, sample by sample: cases of the bench.

use super::*;
use audio::Priority;

const C: UtteranceId = UtteranceId(3);

fn rig_at(volume: Db) -> (Rig, sim::Speaker) {
    let speaker = sim::Speaker::new(Hz::K24);
    let config = Config { volume, ..Config::new(Source::Silence, Sink::Sim(speaker.clone())) };
    (Rig::new(config), speaker)
}

fn rig() -> (Rig, sim::Speaker) {
    rig_at(Db(0.0))
}

#[expect(clippy::cast_possible_truncation, reason = "half of full scale at most, or 20,000")]
fn tone(hertz: f64, amplitude: f64, span: Duration) -> Vec<i16> {
    let frames = Hz::K24.frames_in(span).0;
    (0..frames)
        .map(|n| (amplitude * (std::f64::consts::TAU * hertz * n as f64 / 24_000.0).sin()) as i16)
        .collect()
}

fn level_tone(amplitude: i16, span: Duration) -> Pcm {
    Pcm::new(Hz::K24, vec![amplitude; usize::try_from(Hz::K24.frames_in(span).0).unwrap()])
}

fn largest_step(samples: &[i16]) -> u16 {
    samples.windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap()
}

fn sounds_at(samples: &[i16]) -> Duration {
    let last = samples.iter().rposition(|sample| *sample != 0).map_or(0, |at| at + 1);
    Frames(last as u64).span(Hz::K24)
}

/// The levels that lasted longer than a joint, in order.
fn levels(samples: &[i16]) -> Vec<i16> {
    let mut levels = Vec::new();
    for run in samples.chunk_by(|a, b| a == b).filter(|run| run.len() > 150) {
        if levels.last() != Some(&run[0]) {
            levels.push(run[0]);
        }
    }
    levels
}

/// A 400 Hz tone of half of full scale moves by 1,715 a frame at most by itself.
const OWN_STEP: u16 = 1_716;

/// What a joint adds where the tone begins at its peak: a 120th of it.
const JOINT_STEP: u16 = 137;

#[test]
fn b23_an_interruption_at_any_phase_makes_no_step_larger_than_the_tone_and_a_joint() {
    for phase in 0..20 {
        let (mut rig, speaker) = rig();
        // 60 frames a period: the flush, which comes at whole hops, meets 20 phases of it.
        let said = tone(400.0, 16_384.0, MS(2_000));
        rig.play(A, Pcm::new(Hz::K24, &said[phase * 3..]));
        rig.run(MS(300));
        rig.tell(Command::Flush);
        rig.run(MS(300));
        let played = speaker.recorded();
        let step = largest_step(played.samples());
        assert!(step <= OWN_STEP + JOINT_STEP, "phase {phase}: {step}");
        assert!(step > OWN_STEP / 2, "phase {phase}: the tone was there, {step}");
        assert!(sounds_at(played.samples()) < MS(345), "{:?}", sounds_at(played.samples()));
    }
}

#[test]
fn b26_a_clip_waits_for_its_reply_and_each_has_one_end() {
    let (mut rig, speaker) = rig();
    rig.tell(Command::Append { utterance: A, priority: Priority::Reply, pcm: level_tone(4_000, MS(300)) });
    rig.tell(Command::Append { utterance: B, priority: Priority::Clip, pcm: level_tone(8_000, MS(300)) });
    rig.tell(Command::Finish { utterance: B });
    rig.run(MS(1_000));
    assert_eq!(rig.finished(B), None, "its reply is not over");
    rig.tell(Command::Append { utterance: A, priority: Priority::Reply, pcm: level_tone(5_000, MS(300)) });
    rig.tell(Command::Finish { utterance: A });
    rig.tell(Command::Append { utterance: C, priority: Priority::Alert, pcm: level_tone(2_000, MS(100)) });
    rig.tell(Command::Finish { utterance: C });
    rig.run(MS(1_500));
    // Never two at once: no level is the sum of two.
    assert_eq!(levels(speaker.recorded().samples()), [4_000, 0, 5_000, 2_000, 8_000, 0]);
    for (utterance, frames) in [(A, 14_400), (B, 7_200), (C, 2_400)] {
        let ends = rig
            .count(|event| matches!(event, Event::Finished { utterance: ended, .. } if *ended == utterance));
        assert_eq!((rig.finished(utterance), ends), (Some((Frames(frames), false)), 1));
    }
}

#[test]
fn b28_a_gain_acts_in_full_up_to_the_headroom_and_no_further() {
    let level_at = |gain: f32, amplitude: f64| {
        let (mut rig, speaker) = rig_at(Db(gain));
        rig.play(A, Pcm::new(Hz::K24, tone(400.0, amplitude, MS(1_000))));
        rig.run(MS(900));
        let played = speaker.recorded();
        let steady = &played.samples()[12_000..20_000];
        let peak = steady.iter().map(|sample| sample.unsigned_abs()).max().unwrap();
        (20.0 * level(steady).log10(), peak, largest_step(steady))
    };
    let (before, _, _) = level_at(0.0, 3_000.0);
    let (after, _, _) = level_at(12.0, 3_000.0);
    assert!((after - before - 12.0).abs() < 0.1, "{}", after - before);
    // 20,000 is 4.3 dB below full scale: 3.3 dB are left below -1 dBFS.
    let (before, _, _) = level_at(0.0, 20_000.0);
    let (after, peak, step) = level_at(12.0, 20_000.0);
    assert!((after - before - 3.3).abs() < 0.3, "{}", after - before);
    assert!(peak <= 29_205, "{peak}");
    assert!(step < 3_400, "it is still a sine: {step}");
}

#[test]
fn b32_nothing_of_a_burst_is_heard_150_ms_after_its_flush_and_all_of_what_follows_is() {
    let (mut rig, speaker) = rig();
    for _ in 0..1_000 {
        rig.tell(Command::Append { utterance: A, priority: Priority::Reply, pcm: level_tone(8_000, MS(20)) });
    }
    rig.run(MS(2_000));
    rig.tell(Command::Flush);
    // What was on its way comes late, and the next reply comes behind it.
    for _ in 0..25 {
        rig.tell(Command::Append { utterance: A, priority: Priority::Reply, pcm: level_tone(9_000, MS(20)) });
    }
    rig.run(MS(500));
    let quiet_from = sounds_at(speaker.recorded().samples());
    assert!(quiet_from < MS(2_150), "{quiet_from:?}");
    assert!(quiet_from <= MS(2_032), "two hops in the ring, a fade and the limiter: {quiet_from:?}");
    rig.tell(Command::Finish { utterance: A });
    rig.play(B, level_tone(3_000, MS(400)));
    rig.run(MS(1_000));
    assert_eq!(levels(speaker.recorded().samples()), [8_000, 0, 3_000, 0]);
    assert_eq!(rig.finished(B), Some((Frames(9_600), false)));
    assert_eq!(rig.handle.counters().playout_refused, 12_000);
}

#[test]
fn b34_what_was_heard_of_a_burst_is_what_left_the_loudspeaker() {
    let (mut rig, speaker) = rig();
    for _ in 0..500 {
        rig.tell(Command::Append { utterance: A, priority: Priority::Reply, pcm: level_tone(8_000, MS(20)) });
    }
    rig.run(MS(2_000));
    rig.tell(Command::Flush);
    rig.run(MS(500));
    let (heard, cut) = rig.finished(A).unwrap();
    let span = heard.span(Hz::K24);
    assert!(cut && span.abs_diff(MS(2_000)) <= MS(150), "{span:?}");
    let audible = speaker.recorded().samples().iter().filter(|sample| **sample != 0).count() as u64;
    assert!(heard.0.abs_diff(audible) <= 3, "{heard:?}, on the loudspeaker {audible}");
}

#[test]
fn b35_a_reply_whose_loudspeaker_goes_is_over_when_it_would_have_been() {
    let (mut rig, speaker) = rig();
    rig.play(A, level_tone(8_000, MS(3_000)));
    rig.run(MS(1_000));
    speaker.fault(sim::Fault::Gone);
    rig.run(MS(2_200));
    let (heard, cut) = rig.finished(A).expect("it does not play for ever");
    assert!(cut && heard.span(Hz::K24) <= MS(1_000), "{heard:?}");
    let over = rig.when(|event| matches!(event, Event::Finished { .. })).unwrap();
    assert!(over <= MS(3_100), "{over:?}");
}

#[test]
fn b40_silence_that_pads_a_reply_neither_starts_it_nor_keeps_it() {
    let (mut rig, _speaker) = rig();
    let padded = |before: u64, after: u64| {
        let mut samples = vec![0; usize::try_from(Hz::K24.frames_in(MS(before)).0).unwrap()];
        samples.extend(tone(400.0, 8_000.0, MS(300)).iter().map(|sample| sample | 1));
        samples.resize(samples.len() + usize::try_from(Hz::K24.frames_in(MS(after)).0).unwrap(), 0);
        Pcm::new(Hz::K24, samples)
    };
    rig.play(A, padded(0, 2_000));
    rig.run(MS(3_000));
    let over = |wanted: UtteranceId| move |event: &Event| matches!(event, Event::Finished { utterance, .. } if *utterance == wanted);
    let begun = |wanted: UtteranceId| move |event: &Event| matches!(event, Event::Started { utterance } if *utterance == wanted);
    assert_eq!(rig.finished(A).map(|(_, cut)| cut), Some(false));
    assert!(rig.when(over(A)).unwrap() <= MS(350), "{:?}", rig.when(over(A)));

    rig.play(B, padded(1_000, 0));
    rig.run(MS(2_000));
    let at = rig.when(begun(B)).unwrap() - MS(3_000);
    assert!((MS(1_000)..MS(1_060)).contains(&at), "{at:?}");
    assert_eq!(rig.finished(B), Some((Frames(31_200), false)), "a pause before is part of it");

    rig.play(C, level_tone(0, MS(2_000)));
    rig.run(MS(500));
    assert_eq!((rig.count(begun(C)), rig.count(over(C))), (0, 1));
}

#[test]
fn a_pause_within_a_reply_is_played_as_it_is() {
    let (mut rig, speaker) = rig();
    let mut said = vec![5_000i16; 2_400];
    said.extend(vec![0; 24_000]);
    said.extend(vec![6_000; 2_400]);
    rig.play(A, Pcm::new(Hz::K24, said));
    rig.run(MS(1_500));
    assert_eq!(rig.finished(A), Some((Frames(28_800), false)));
    let played = speaker.recorded();
    let silence = played.samples()[2_500..].iter().position(|sample| *sample == 6_000).unwrap();
    assert!(silence > 23_800, "{silence}");
}

#[test]
fn an_earcon_sounds_at_once_in_the_middle_of_a_reply_which_goes_on_without_loss() {
    let (mut rig, speaker) = rig();
    rig.play(A, level_tone(8_000, MS(1_000)));
    rig.tell(Command::Append { utterance: C, priority: Priority::ReadBack, pcm: level_tone(1_000, MS(100)) });
    rig.tell(Command::Finish { utterance: C });
    rig.run(MS(300));
    rig.tell(Command::Append { utterance: B, priority: Priority::Earcon, pcm: level_tone(3_000, MS(100)) });
    rig.tell(Command::Finish { utterance: B });
    rig.run(MS(1_300));
    let played = speaker.recorded();
    assert_eq!(levels(played.samples()), [1_000, 8_000, 3_000, 8_000, 0]);
    let at = played.samples().iter().position(|sample| *sample == 3_000).unwrap();
    let at = Frames(at as u64).span(Hz::K24);
    assert!((MS(300)..MS(335)).contains(&at), "{at:?}");
    assert_eq!(rig.finished(A), Some((Frames(24_000), false)));
    assert_eq!(rig.finished(B), Some((Frames(2_400), false)));
    assert!(largest_step(played.samples()) < 120, "{}", largest_step(played.samples()));
}

#[test]
fn after_ducking_a_reply_goes_on_without_loss() {
    let (mut rig, speaker) = rig();
    rig.play(A, level_tone(8_000, MS(1_000)));
    rig.run(MS(300));
    rig.tell(Command::Duck(Db(-15.0)));
    rig.run(MS(200));
    rig.tell(Command::Duck(Db(0.0)));
    rig.run(MS(1_000));
    let played = speaker.recorded();
    assert_eq!(rig.finished(A), Some((Frames(24_000), false)));
    let audible = played.samples().iter().filter(|sample| **sample != 0).count();
    assert!(audible.abs_diff(24_000 + 240) <= 130, "{audible}");
    assert_eq!(levels(played.samples()), [8_000, 1_423, 8_000, 0]);
}
