// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the session says it is about, moment by moment.

use std::time::Duration;

use session::{Config, Engage, GateState, LinkState, Phase, Session};
use units::Instant;

use crate::script;
use crate::shop::{Shop, Stock};

/// The session after `inputs`, each at its milliseconds.
fn after(inputs: &[(u64, &str)]) -> Session {
    let config = Config { engage: Engage::Always, settle: Duration::ZERO, ..Config::default() };
    let mut session = Session::new(config, Box::new(Shop::new(Stock::Plain)), 1);
    for (at, text) in inputs {
        session.handle(Instant::from_boot(Duration::from_millis(*at)), script::input(text));
        while session.poll().is_some() {}
    }
    session
}

#[test]
fn every_phase_shows() {
    let mut story = vec![(0, "start"), (100, "ready")];
    assert_eq!(after(&[]).snapshot().phase, Phase::Off);
    assert_eq!(after(&story).snapshot().phase, Phase::Idle);
    for (at, input, phase) in [
        (1000, "speech-started ago=100ms", Phase::Listening),
        (2000, "speech-ended voiced=800ms", Phase::Waiting),
        (2500, "audio 1000ms", Phase::Waiting),
        (2510, "started 1", Phase::Speaking),
        (2800, "speech-started ago=50ms", Phase::Listening),
        (2900, "speech-ended voiced=50ms", Phase::Speaking),
        (3000, "turn-complete", Phase::Speaking),
        (3510, "finished 1 heard=1000ms", Phase::Idle),
        (4000, "call e1 end_session {}", Phase::Idle),
        (4010, "outcome 1 success {\"status\":\"success\"}", Phase::Ending),
    ] {
        story.push((at, input));
        assert_eq!(after(&story).snapshot().phase, phase, "after {input} at {at}");
    }
}

#[test]
fn open_calls_the_link_and_the_question_show() {
    let mut story = vec![(0, "start"), (100, "ready"), (1000, "speech-started ago=100ms")];
    story.extend([(2000, "speech-ended voiced=800ms"), (2500, "call a1 look_up {} | a2 set_volume {}")]);
    let snapshot = after(&story).snapshot();
    let calls: Vec<_> = snapshot.calls.iter().map(|call| (call.name.as_str(), call.running)).collect();
    assert_eq!(calls, [("look_up", true), ("set_volume", false)]);
    assert_eq!((snapshot.link, snapshot.uplink_open, snapshot.answered), (LinkState::Up, true, 0));
    assert_eq!(snapshot.gate, GateState::Clear);

    story.extend([(2600, "outcome 1 success {}"), (2700, "outcome 2 success {}")]);
    story.push((3000, "call a3 send_text {\"phone\":\"98765\",\"text\":\"hi\"}"));
    let snapshot = after(&story).snapshot();
    assert_eq!((snapshot.calls.len(), snapshot.answered), (0, 3));
    let summary = "Send 'hi' to 98765.".to_owned();
    assert_eq!(snapshot.gate, GateState::Asking { summary: summary.clone() });
    story.extend([(3100, "started 1"), (5000, "finished 1 heard=1900ms")]);
    assert_eq!(after(&story).snapshot().gate, GateState::Waiting { summary });
    story.push((6000, "link-closed transient gone"));
    assert_eq!(after(&story).snapshot().link, LinkState::Waiting);
}
