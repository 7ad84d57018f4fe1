// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ordinary conversations.

use std::time::Duration;

use audio::find::Recording;
use e2e::Talk;
use session::{LinkState, Notice, Spoken};
use units::{Hz, Pcm};
use voiced::clip::Clips;

#[test]
fn a_sensor_question_is_answered_with_instruction_event_and_clip() {
    let seen = Talk::bundled("sensor", "sensor").says(1_500, "temperature").lasting(14).run();
    seen.assert_clean();
    assert_eq!(seen.statuses("read_warehouse_sensors"), ["success"]);
    let answer = &seen.report.answers[0];
    assert!(answer.instruction().is_some_and(|text| text.starts_with("Warn the person")), "{answer:?}");
    assert_eq!(seen.events, ["zone_reading", "zone_alarm"]);
    let recording = Recording::new(&seen.heard);
    let reply = recording.find(&seen.said("too_warm"), Duration::ZERO).expect("the reply is heard");
    let clips = Clips::load([("alarm", "builtin:alarm")]).expect("it is built in");
    let alarm =
        recording.find(clips.find("alarm").expect("it was loaded"), Duration::ZERO).expect("so is the clip");
    assert!(
        alarm.at >= reply.at + seen.said("too_warm").span(),
        "clip {alarm:?} before the end of {reply:?}"
    );
}

#[test]
fn a_barge_in_stops_the_reply_and_no_stale_audio_follows() {
    let seen =
        Talk::bundled("barge_in", "barge_in").says(1_500, "dock").says(9_000, "stop").lasting(20).run();
    seen.assert_clean();
    let heard = seen
        .notices
        .iter()
        .find_map(|(_, notice)| if let Notice::BargeIn { heard, .. } = notice { Some(*heard) } else { None });
    let heard = heard.expect("the person barged in");
    let reply = seen.said("dock_long");
    assert!(heard < reply.span(), "{heard:?} of {:?}", reply.span());
    let recording = Recording::new(&seen.heard);
    let start = recording.find(&reply, Duration::ZERO).expect("the reply began").at;
    // What the model had sent ahead, and what it sent after the interruption, is in the recording nowhere.
    let after = usize::try_from(Hz::K24.frames_in(heard + Duration::from_millis(300)).0).expect("seconds");
    let rest = Pcm::new(Hz::K24, &reply.samples()[after..]);
    assert_eq!(recording.find(&rest, start), None, "audio after the barge-in was played");
    assert!(recording.find(&seen.said("sure"), start).is_some(), "the next reply is heard");
}

#[test]
fn a_cancelled_call_is_never_answered() {
    let seen = Talk::bundled("cancel", "cancel").says(1_500, "temperature").lasting(12).run();
    seen.assert_clean();
    assert!(seen.report.calls.iter().all(|call| call.cancelled));
    assert!(
        seen.report.answers_to("cancelled-1").count() <= 1,
        "one answer may have crossed the cancellation"
    );
}

#[test]
fn by_voice_the_link_is_made_when_somebody_speaks_and_the_first_word_is_not_lost() {
    let seen = Talk::bundled("engage_voice", "sensor")
        .set("engage.mode=voice")
        .set("engage.idle_after_s=5")
        .says(3_000, "temperature")
        .lasting(30)
        .run();
    seen.assert_clean();
    assert_eq!(seen.report.segments, 1, "the question arrived as one segment");
    let question = rehearsal::voices::person("temperature").expect("it is recorded").pcm.span();
    assert!(seen.report.client_audio >= question, "{:?} of {question:?}", seen.report.client_audio);
    let up = seen
        .notices
        .iter()
        .position(|(_, notice)| matches!(notice, Notice::Link { state: LinkState::Up, .. }));
    let spoke = seen.notices.iter().position(|(_, notice)| matches!(notice, Notice::TurnOpened { .. }));
    assert!(spoke < up, "nothing is sent before somebody speaks");
    let down =
        seen.notices.iter().rev().find_map(|(_, notice)| {
            if let Notice::Link { state, .. } = notice { Some(*state) } else { None }
        });
    assert_eq!(down, Some(LinkState::Down), "the link is closed after the silence");
    let played = |what| {
        seen.notices
            .iter()
            .any(|(_, notice)| matches!(notice, Notice::Played { what: w, cut: false, .. } if *w == what))
    };
    assert!(played(Spoken::Reply) && played(Spoken::Clip));
}

#[test]
fn in_half_duplex_the_reply_cannot_be_barged_into() {
    let seen = Talk::bundled("half_duplex", "barge_in")
        .set("audio.echo.mode=half_duplex")
        .says(1_500, "dock")
        .says(9_000, "stop")
        .lasting(26)
        .run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert_eq!(seen.report.interruptions, 0);
    assert!(!seen.notices.iter().any(|(_, notice)| matches!(notice, Notice::BargeIn { .. })));
}
