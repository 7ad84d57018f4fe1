// SPDX-License-Identifier: MIT OR Apache-2.0

//! Broken servers: each costs at most its own turn, is said once, and the next turn works.

use std::time::Duration;

use audio::find::Recording;
use e2e::{Seen, Talk};
use session::{LinkState, Notice};

fn hears(seen: &Seen, voice: &str) -> bool {
    Recording::new(&seen.heard).find(&seen.said(voice), Duration::ZERO).is_some()
}

#[test]
fn messages_that_make_no_sense_are_ignored_and_the_reply_is_heard() {
    let seen = Talk::bundled("faults_messages", "faults_messages")
        .says(1_500, "hello")
        .says(8_000, "hello")
        .lasting(30)
        .run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert!(seen.anomalies.len() >= 3, "{:?}", seen.anomalies);
    for part in ["JSON", "unheardOf"] {
        assert!(
            seen.anomalies.iter().any(|text| text.contains(part)),
            "nothing names {part}: {:?}",
            seen.anomalies
        );
    }
    assert!(hears(&seen, "hello"));
    // A frame beyond 16 MiB ends the connection, in words; another one is made.
    let closed = seen
        .notices
        .iter()
        .any(|(_, notice)| matches!(notice, Notice::Link { text, .. } if text.contains("MiB")));
    assert!(closed, "{:#?}", seen.notices);
    assert!(seen.report.connections >= 2);
}

#[test]
fn audio_of_odd_length_and_of_other_rates_is_heard_right() {
    let seen = Talk::bundled("faults_audio", "faults_audio")
        .says(1_500, "hello")
        .says(7_000, "hello")
        .says(14_000, "dock")
        .says(22_000, "stop")
        .lasting(32)
        .run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert!(hears(&seen, "hello"), "odd lengths");
    assert!(hears(&seen, "one_moment"), "16 kHz");
    assert!(hears(&seen, "sure"), "48 kHz after 20 s of audio in one burst, flushed");
}

#[test]
fn openings_that_fail_are_tried_again_until_one_works() {
    let seen = Talk::bundled("faults_setup", "faults_setup").says(40_000, "hello").lasting(60).run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert!(hears(&seen, "hello"), "{:#?}", seen.notices);
}

#[test]
fn a_connection_that_ends_in_any_way_is_made_again() {
    let seen = Talk::bundled("faults_close", "faults_close")
        .says(1_500, "hello")
        .says(12_000, "dock")
        .says(24_000, "hello")
        .says(40_000, "hello")
        .lasting(60)
        .run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert!(seen.report.connections >= 3, "{}", seen.report.connections);
    assert_eq!(seen.report.turns_started, seen.report.turns_total, "{:#?}", seen.notices);
}

#[test]
fn a_turn_that_is_never_answered_or_closed_wedges_nothing() {
    let seen = Talk::bundled("faults_stall", "faults_stall")
        .says(1_500, "hello")
        .says(9_000, "temperature")
        .says(30_000, "dock")
        .lasting(100)
        .run();
    assert!(seen.report.violations.is_empty(), "{:?}", seen.report.violations);
    assert_eq!(seen.report.turns_started, seen.report.turns_total);
    // The half-open stream is found by its silence, and left.
    let lost = seen
        .notices
        .iter()
        .filter(|(_, notice)| matches!(notice, Notice::Link { state: LinkState::Waiting, .. }));
    assert!(lost.count() >= 1, "{:#?}", seen.notices);
}

#[test]
fn a_wrong_key_is_said_in_words_and_not_tried_in_a_loop() {
    // A minute less its 20 % of jitter is 48 s.
    let seen = Talk::bundled("wrong_key", "sensor").wanting_key("another-key").lasting(45).run();
    assert_eq!(seen.report.connections, 1, "a refused key is tried again after a minute, not sooner");
    let said = seen.notices.iter().any(
        |(_, notice)| matches!(notice, Notice::Link { text, .. } if text.to_lowercase().contains("key")),
    );
    assert!(said, "{:#?}", seen.notices);
}
