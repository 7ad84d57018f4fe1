// SPDX-License-Identifier: MIT OR Apache-2.0

//! Playout depends on nobody.

use super::*;

/// A reply, and the loudspeaker it plays on.
fn replying(said: &Pcm) -> (Rig, sim::Speaker) {
    let speaker = sim::Speaker::new(Hz::K24);
    let rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
    rig.play(A, said.clone());
    (rig, speaker)
}

#[test]
fn t43_playout_goes_on_sample_for_sample_while_the_side_that_commands_is_blocked() {
    // Noise, so that no stretch of it is like another, and longer than the block.
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (i16::from(state.to_be_bytes()[0]) - 128) * 100
    };
    let length = 24 * 10_500;
    let said: Vec<i16> = (0..length).map(|n| if n == 0 { 0 } else { noise() }).collect();
    let said = Pcm::new(Hz::K24, said);

    // For 10 s it says nothing and takes no event.
    let (mut rig, speaker) = replying(&said);
    rig.block();
    rig.run(MS(10_000));
    let played = speaker.recorded().samples().to_vec();
    let start = played.iter().position(|sample| *sample != 0).unwrap() - 1;
    assert!(start <= 480, "{start}");
    assert_eq!(played.len(), 240_000);
    assert!(played[start..] == said.samples()[..240_000 - start], "sample for sample");
    assert_eq!(rig.handle.counters().playback_underrun, 0);
    assert!(rig.seen.is_empty());

    // What happened meanwhile is told once it listens again.
    rig.unblock();
    rig.run(MS(1_000));
    assert_eq!(rig.count(|event| matches!(event, Event::Started { .. })), 1);
    assert_eq!(rig.finished(A), Some((Frames(length), false)));
    assert_eq!(rig.handle.counters().events_dropped, 0);

    let (mut attentive, speaker) = replying(&said);
    attentive.run(MS(10_000));
    assert!(speaker.recorded().samples() == played, "nobody could tell by listening");
    assert!(attentive.count(|event| matches!(event, Event::Levels { .. })) == 100);
}
