// SPDX-License-Identifier: MIT OR Apache-2.0

//! What playout promises.

use super::*;
use crate::dsp::HOP_24K;
use crate::rt::Sample as _;
use crate::utterance::UTTERANCE_MAX;

const A: UtteranceId = UtteranceId(1);
const B: UtteranceId = UtteranceId(2);
const C: UtteranceId = UtteranceId(3);

/// A playout whose audio is constant levels, so that who plays can be read off the samples.
#[derive(Default)]
struct Rig {
    playout: Playout,
    out: Vec<f32>,
}

impl Rig {
    fn append(&mut self, id: UtteranceId, priority: Priority, level: i16, frames: usize) {
        self.playout.append(id, priority, &Pcm::new(Hz::K24, vec![level; frames]));
    }

    fn whole(&mut self, id: UtteranceId, priority: Priority, level: i16, frames: usize) {
        self.append(id, priority, level, frames);
        self.playout.finish(id);
    }

    fn render(&mut self, hops: usize) {
        for _ in 0..hops {
            let mut hop = [9.0; HOP_24K];
            self.playout.render(&mut hop);
            self.out.extend(hop);
        }
    }

    /// Renders and hears everything but the last `behind` frames.
    fn play(&mut self, hops: usize, behind: u64) -> Vec<Change> {
        let mut changes = Vec::new();
        for _ in 0..hops {
            self.render(1);
            self.playout.advance(self.playout.rendered().saturating_sub(behind), Audible::Yes);
            changes.extend(std::iter::from_fn(|| self.playout.poll()));
        }
        changes
    }

    /// The levels that lasted longer than a joint, in order, in 16-bit steps.
    fn levels(&self) -> Vec<i16> {
        let mut levels = Vec::new();
        for run in self.out.chunk_by(|a, b| a == b).filter(|run| run.len() > 30) {
            let level = i16::from_f32(run[0]);
            if levels.last() != Some(&level) {
                levels.push(level);
            }
        }
        levels
    }

    fn largest_step(&self) -> f32 {
        let before = std::iter::once(&0.0).chain(&self.out);
        before.zip(&self.out).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

fn finished(utterance: UtteranceId, heard: u64, cut: bool) -> Change {
    Change::Finished { utterance, heard: Frames(heard), cut }
}

#[test]
fn an_utterance_is_heard_from_its_first_to_its_last_frame() {
    let mut rig = Rig::default();
    rig.whole(A, Priority::Reply, 8_000, 1_000);
    assert_eq!(rig.play(10, 0), [Change::Started(A), finished(A, 1_000, false)]);
    assert_eq!(rig.levels(), [8_000, 0]);
    assert_eq!(rig.playout.rendered(), 2_400);
}

#[test]
fn heard_lags_rendered_by_what_is_on_its_way() {
    let mut rig = Rig::default();
    rig.whole(A, Priority::Reply, 8_000, 480);
    assert_eq!(rig.play(2, 480), []);
    assert!(rig.playout.is_audible());
    assert_eq!(rig.play(1, 480), [Change::Started(A)]);
    assert_eq!(rig.play(1, 480), [finished(A, 480, false)]);
    assert!(!rig.playout.is_audible());
}

#[test]
fn classes_play_in_order_and_a_clip_comes_after_every_reply() {
    let mut rig = Rig::default();
    rig.whole(UtteranceId(9), Priority::Clip, 900, 480);
    rig.whole(UtteranceId(8), Priority::Reply, 800, 480);
    rig.whole(UtteranceId(7), Priority::PreCall, 700, 480);
    rig.whole(UtteranceId(6), Priority::ReadBack, 600, 480);
    rig.whole(UtteranceId(5), Priority::Alert, 500, 480);
    rig.whole(UtteranceId(4), Priority::Reply, 400, 480);
    rig.play(20, 0);
    assert_eq!(rig.levels(), [500, 600, 700, 800, 400, 900, 0]);
}

#[test]
fn an_utterance_that_plays_is_not_interrupted() {
    let mut rig = Rig::default();
    rig.whole(A, Priority::Reply, 1_000, 2_400);
    rig.play(2, 0);
    rig.whole(B, Priority::Alert, 2_000, 480);
    rig.play(20, 0);
    assert_eq!(rig.levels(), [1_000, 2_000, 0]);
}

#[test]
fn a_starved_reply_lets_a_higher_class_in_and_then_goes_on() {
    let mut rig = Rig::default();
    rig.append(A, Priority::Reply, 1_000, 480);
    rig.whole(B, Priority::Alert, 2_000, 480);
    rig.whole(C, Priority::Clip, 3_000, 480);
    rig.out.clear();
    // The alert came before anything was rendered, so it goes first.
    rig.play(4, 0);
    assert_eq!(rig.levels(), [2_000, 1_000]);

    rig.whole(UtteranceId(4), Priority::Alert, 4_000, 480);
    rig.play(9, 0);
    assert_eq!(rig.levels(), [2_000, 1_000, 0], "90 ms are jitter");
    rig.play(4, 0);
    assert_eq!(rig.levels(), [2_000, 1_000, 0, 4_000, 0]);
    rig.play(50, 0);
    assert_eq!(rig.levels(), [2_000, 1_000, 0, 4_000, 0], "the clip waits for its reply");
    rig.append(A, Priority::Reply, 1_100, 480);
    rig.playout.finish(A);
    rig.play(10, 0);
    assert_eq!(rig.levels(), [2_000, 1_000, 0, 4_000, 0, 1_100, 3_000, 0]);
}

#[test]
fn a_reply_never_passes_a_starved_reply() {
    let mut rig = Rig::default();
    rig.append(A, Priority::Reply, 1_000, 480);
    rig.play(2, 0);
    rig.whole(B, Priority::Reply, 2_000, 480);
    rig.play(50, 0);
    assert_eq!(rig.levels(), [1_000, 0]);
    rig.playout.finish(A);
    rig.play(5, 0);
    assert_eq!(rig.levels(), [1_000, 0, 2_000, 0]);
}

#[test]
fn a_flush_fades_what_plays_and_drops_the_rest() {
    let mut rig = Rig::default();
    rig.whole(A, Priority::Reply, 16_000, 24_000);
    rig.whole(B, Priority::Clip, 8_000, 2_400);
    let mut changes = rig.play(5, 240);
    rig.playout.flush();
    changes.extend(rig.play(10, 240));
    // 50 ms, and the fade of 10 ms.
    assert_eq!(changes, [Change::Started(A), finished(A, 1_440, true), finished(B, 0, true)]);
    assert_eq!(rig.out[1_440..].iter().filter(|sample| **sample != 0.0).count(), 0);
    assert!(rig.largest_step() < 0.006, "{}", rig.largest_step());
}

#[test]
fn no_audio_of_a_flushed_utterance_plays_however_late_it_comes() {
    let mut rig = Rig::default();
    rig.append(A, Priority::Reply, 1_000, 2_400);
    rig.play(2, 0);
    rig.playout.flush();
    rig.append(A, Priority::Reply, 5_000, 2_400);
    let changes = rig.play(5, 0);
    assert_eq!(changes, [finished(A, 720, true)]);
    rig.append(A, Priority::Reply, 6_000, 2_400);
    rig.playout.finish(A);
    rig.whole(B, Priority::Reply, 2_000, 480);
    rig.play(10, 0);
    assert_eq!(rig.levels(), [1_000, 0, 2_000, 0]);
    assert_eq!(rig.playout.refused(), 4_800);
}

#[test]
fn a_second_flush_during_the_fade_changes_nothing() {
    let mut rig = Rig::default();
    rig.append(A, Priority::Reply, 16_000, 24_000);
    rig.play(2, 0);
    rig.playout.flush();
    let mut part = [0.0; 100];
    rig.playout.render(&mut part);
    rig.out.extend(part);
    rig.playout.flush();
    assert_eq!(rig.play(3, 0), [finished(A, 720, true)]);
    assert!(rig.largest_step() < 0.006, "{}", rig.largest_step());
}

#[test]
fn what_was_fully_rendered_before_a_flush_is_not_cut() {
    let mut rig = Rig::default();
    rig.whole(A, Priority::Reply, 1_000, 240);
    rig.play(2, 480);
    rig.playout.flush();
    assert_eq!(rig.play(4, 480), [Change::Started(A), finished(A, 240, false)]);
}

#[test]
fn what_passes_without_a_loudspeaker_is_not_heard() {
    let mut rig = Rig::default();
    rig.whole(A, Priority::Reply, 1_000, 720);
    rig.render(1);
    rig.playout.advance(240, Audible::Yes);
    rig.render(3);
    rig.playout.advance(960, Audible::No);
    let changes: Vec<_> = std::iter::from_fn(|| rig.playout.poll()).collect();
    assert_eq!(changes, [Change::Started(A), finished(A, 240, true)]);
    assert_eq!(rig.playout.lost(), 480);
}

#[test]
fn an_utterance_without_audio_ends_unheard_at_once_and_only_once() {
    let mut rig = Rig::default();
    rig.playout.finish(A);
    rig.playout.finish(A);
    assert_eq!(rig.play(2, 0), [finished(A, 0, true)]);
}

#[test]
fn audio_beyond_the_bound_is_refused_and_the_utterance_counts_as_cut() {
    let mut rig = Rig::default();
    let second = Pcm::new(Hz::K24, vec![1_000i16; 24_000]);
    for _ in 0..181 {
        rig.playout.append(A, Priority::Reply, &second);
    }
    rig.playout.finish(A);
    assert_eq!(rig.playout.refused(), 24_000);
    let changes = rig.play(18_010, 0);
    assert_eq!(changes, [Change::Started(A), finished(A, UTTERANCE_MAX, true)]);
}

#[test]
fn no_step_is_heard_where_pieces_meet() {
    let mut rig = Rig::default();
    rig.append(A, Priority::Reply, 16_000, 500);
    rig.play(3, 0);
    rig.append(A, Priority::Reply, -16_000, 500);
    rig.playout.finish(A);
    rig.whole(B, Priority::Reply, 16_000, 100);
    rig.whole(C, Priority::Reply, -16_000, 100);
    rig.play(10, 0);
    // Pieces of one utterance are taken to belong together; everything else is joined over 5 ms.
    assert!(rig.largest_step() < 0.02, "{}", rig.largest_step());
    assert_eq!(rig.out.last(), Some(&0.0));
}

#[test]
fn other_rates_are_converted() {
    let mut rig = Rig::default();
    rig.playout.append(A, Priority::Clip, &Pcm::new(Hz::K48, vec![1_000i16; 4_800]));
    rig.playout.finish(A);
    assert_eq!(rig.play(15, 0), [Change::Started(A), finished(A, 2_400, false)]);
}

#[test]
fn at_another_pace_heard_goes_on_evenly_and_ends_with_the_reply() {
    for percent in [50, 80, 130] {
        let mut rig = Rig::default();
        rig.playout.pace(percent);
        rig.whole(A, Priority::Reply, 8_000, 24_000);
        let per_hop = u64::from(percent) * 240 / 100;
        let (mut before, mut changes) = (0, Vec::new());
        while changes.last() != Some(&finished(A, 24_000, false)) {
            changes.extend(rig.play(1, 300));
            if let Some(utterance) = rig.playout.utterances.first() {
                let left = 24_000 - utterance.heard;
                // The last bit, shorter than what is compared, is played as it is.
                if before > 0 && left > 1_000 {
                    assert!((utterance.heard - before).abs_diff(per_hop) <= 1, "{percent} %");
                }
                assert!(utterance.heard >= before, "never back");
                before = utterance.heard;
            }
            assert!(rig.out.len() < 60_000, "it ends");
        }
        assert_eq!(changes, [Change::Started(A), finished(A, 24_000, false)], "each once");
        assert_eq!(rig.levels(), [8_000, 0]);
    }
}

#[test]
fn each_frame_counts_by_the_pace_it_was_rendered_at() {
    let mut rig = Rig::default();
    rig.whole(A, Priority::Reply, 8_000, 24_000);
    for percent in [50, 150, 100] {
        rig.playout.pace(percent);
        rig.render(10);
    }
    // From 2,400 frames at 50 % through as many at 150 % to what was taken ahead and is as it came.
    for (at, heard) in [(240, 120), (2_400, 1_200), (2_640, 1_560), (3_600, 3_000), (4_800, 4_800)] {
        rig.playout.advance(at, Audible::Yes);
        assert_eq!(rig.playout.utterances.first().map(|utterance| utterance.heard), Some(heard), "at {at}");
    }
}

#[test]
fn a_flush_at_another_pace_drops_what_was_taken_ahead() {
    let mut rig = Rig::default();
    rig.playout.pace(50);
    rig.whole(A, Priority::Reply, 16_000, 24_000);
    let mut changes = rig.play(5, 0);
    rig.playout.flush();
    assert!(rig.playout.stretch.is_empty());
    changes.extend(rig.play(10, 0));
    // 50 ms and the fade of 10 ms, at half the pace.
    assert_eq!(changes, [Change::Started(A), finished(A, 720, true)]);
    assert_eq!(rig.out[1_440..].iter().filter(|sample| **sample != 0.0).count(), 0);
    assert!(rig.largest_step() < 0.006, "{}", rig.largest_step());
    rig.whole(B, Priority::Reply, 4_000, 2_400);
    rig.play(30, 0);
    assert_eq!(rig.levels(), [16_000, 0, 4_000, 0]);
}

/// Random commands against what must hold after every one of them.
#[test]
fn whatever_is_asked_for_queues_stay_bounded_and_everything_is_reported_once() {
    let mut seed = 7u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let classes = [Priority::Alert, Priority::ReadBack, Priority::PreCall, Priority::Reply, Priority::Clip];
    let mut rig = Rig::default();
    let (mut open, mut next, mut reported, mut heard_before) = (Vec::new(), 0, Vec::new(), 0);
    for _ in 0..20_000 {
        match random(12) {
            0 | 1 if next < 2_000 => {
                next += 1;
                let class = classes[usize::try_from(random(5)).unwrap_or(0)];
                rig.append(UtteranceId(next), class, 10_000, usize::try_from(random(2_000)).unwrap_or(0));
                open.push((UtteranceId(next), class));
            }
            2 | 3 => {
                if let Some((id, class)) = open.last() {
                    rig.append(*id, *class, -10_000, usize::try_from(random(700)).unwrap_or(0));
                }
            }
            4..=6 => {
                if let Some((id, _)) = open.pop() {
                    rig.playout.finish(id);
                }
            }
            7 if random(40) == 0 => rig.playout.flush(),
            8 if random(10) == 0 => {
                rig.playout.pace(u16::try_from(50 + 10 * random(11)).unwrap_or(100));
            }
            _ => {
                let changes = rig.play(1, random(1_000));
                assert!(rig.playout.heard >= heard_before, "heard never goes back");
                heard_before = rig.playout.heard;
                reported.extend(changes);
            }
        }
        assert!(rig.playout.utterances.len() <= UTTERANCES_MAX);
        assert!(rig.playout.ended.len() <= ENDED_MAX);
        assert!(rig.playout.heard <= rig.playout.rendered);
    }
    assert!(rig.largest_step() < 0.02 + 20_000.0 / 32_768.0);
    for (id, _) in open {
        rig.playout.finish(id);
    }
    reported.extend(rig.play(20_000, 0));
    assert!(rig.playout.utterances.is_empty(), "time empties the queue");
    assert!(!rig.playout.is_audible());
    for id in 1..=next {
        let mine =
            |change: &&Change| matches!(change, Change::Finished { utterance, .. } if utterance.0 == id);
        assert_eq!(reported.iter().filter(mine).count(), 1, "utterance {id} is reported once");
    }
}
