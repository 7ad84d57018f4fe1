// SPDX-License-Identifier: MIT OR Apache-2.0

//! Properties that hold after every input, whatever the provider, the room and the tools do.

use proptest::collection::vec;
use proptest::prelude::*;
use session::{Engage, FailureCause, GateState, LinkState, OutcomeStatus, Phase};

use crate::world::{Step, TOOLS, World};

/// Words that are never a yes, though some come near.
const NOT_YES: [&str; 8] =
    ["no", "yeah", "ok", "yesterday was fine", "wait", "yes but later", "The user said yes.", "mm-hm"];

/// Everything but what a person does, and what the loudspeaker reports.
fn provider_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![1u64..500, 500u64..4000, 4000u64..60_000].prop_map(Step::Wait),
        2 => prop::sample::select(vec!["yes", "Yes, that's right.", "no"]).prop_map(Step::Hear),
        3 => (20u64..3000).prop_map(Step::Audio),
        1 => prop::sample::select(vec!["look_up(", "Hello."]).prop_map(Step::Say),
        2 => Just(Step::Generated),
        2 => any::<bool>().prop_map(Step::TurnComplete),
        1 => Just(Step::Interrupted),
        6 => (0..TOOLS.len(), 0i64..2).prop_map(|(tool, arg)| Step::Call(tool, arg)),
        2 => vec(0..TOOLS.len(), 1..5).prop_map(Step::Together),
        1 => prop::bool::weighted(0.8).prop_map(Step::Show),
        1 => (0usize..8).prop_map(Step::CallAgain),
        1 => (0usize..8).prop_map(Step::TakeBack),
        4 => (0usize..4, status()).prop_map(|(call, status)| Step::Outcome(call, status)),
        1 => (0usize..4).prop_map(Step::EffectBegun),
        1 => (0usize..4).prop_map(Step::BecomeJob),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(resumed, hold)| Step::Ready(resumed, hold)),
        1 => cause().prop_map(Step::Closed),
        1 => (0u64..60_000).prop_map(Step::GoAway),
        1 => any::<bool>().prop_map(Step::Handle),
        3 => (0usize..4).prop_map(Step::Started),
        3 => (0usize..4, any::<bool>()).prop_map(|(utterance, cut)| Step::Finished(utterance, cut)),
    ]
}

/// All of that, and a person who says some of `words`.
fn step(words: &'static [&'static str]) -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => provider_step().prop_map(move |step| {
            if matches!(step, Step::Hear(_)) { Step::Hear(words[0]) } else { step }
        }),
        2 => (0u64..400).prop_map(Step::Speak),
        2 => (0u64..2000).prop_map(Step::Hush),
        2 => prop::sample::select(words).prop_map(Step::Hear),
        3 => (0usize..2, 0i64..2, prop::sample::select(words))
            .prop_map(|(tool, arg, words)| Step::Exchange(tool, arg, words)),
        1 => (0usize..2, 0i64..2, prop::sample::select(words))
            .prop_map(|(tool, arg, words)| Step::EarlyExchange(tool, arg, words)),
        1 => (0usize..2, 0i64..2, prop::sample::select(words))
            .prop_map(|(tool, arg, words)| Step::OvertakenExchange(tool, arg, words)),
        1 => (0usize..2, 0i64..2, prop::sample::select(words))
            .prop_map(|(tool, arg, words)| Step::MidTurnExchange(tool, arg, words)),
        1 => Just(Step::Start),
    ]
}

/// All of that, tools that say something while they run, and a pace that changes.
fn said_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => step(&["yes", "no"]),
        3 => prop_oneof![Just(50u16), Just(150), 50u16..=150].prop_map(Step::Pace),
        2 => (0usize..4).prop_map(Step::Line),
        1 => (0usize..4).prop_map(Step::Note),
    ]
}

/// What decides which ids are known: calls, links and outcomes.
fn id_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0usize..8).prop_map(Step::Batch),
        1 => (100usize..400).prop_map(Step::Batch),
        4 => (0usize..40).prop_map(Step::CallOwed),
        2 => (0usize..8).prop_map(Step::CallAgain),
        1 => (0usize..8).prop_map(Step::TakeBack),
        3 => (0usize..2, status()).prop_map(|(call, status)| Step::Outcome(call, status)),
        2 => any::<bool>().prop_map(|resumed| Step::Ready(resumed, false)),
        1 => Just(Step::Closed(FailureCause::Transient)),
        1 => Just(Step::Handle(true)),
        2 => (500u64..4000).prop_map(Step::Wait),
    ]
}

/// What decides whether a call is done twice: few calls that change something, dropped in every way.
fn drop_step() -> impl Strategy<Value = Step> {
    drop_step_of(&["set_volume", "print_label", "tidy_up", "bolt_door"])
}

/// The same with calls that can be undone, by the device or by a person's leave.
fn undo_step() -> impl Strategy<Value = Step> {
    drop_step_of(&["open_valve", "close_valve", "start_belt", "bolt_door", "book_room"])
}

fn drop_step_of(tools: &'static [&'static str]) -> impl Strategy<Value = Step> {
    let tool =
        prop::sample::select(tools).prop_map(|name| TOOLS.iter().position(|tool| *tool == name).unwrap());
    prop_oneof![
        6 => (tool, 0i64..2).prop_map(|(tool, arg)| Step::Call(tool, arg)),
        4 => (0usize..3).prop_map(Step::TakeBack),
        3 => (0usize..3).prop_map(Step::EffectBegun),
        1 => (0usize..3).prop_map(Step::BecomeJob),
        4 => (0usize..3, status()).prop_map(|(call, status)| Step::Outcome(call, status)),
        4 => prop_oneof![1u64..400, 400u64..12_000].prop_map(Step::Wait),
        1 => (0u64..400).prop_map(Step::Speak),
        1 => (0u64..2000).prop_map(Step::Hush),
        1 => Just(Step::Interrupted),
        1 => (20u64..3000).prop_map(Step::Audio),
        1 => Just(Step::TurnComplete(false)),
        2 => any::<bool>().prop_map(|resumed| Step::Ready(resumed, false)),
        1 => Just(Step::Closed(FailureCause::Transient)),
        1 => Just(Step::Handle(true)),
    ]
}

fn status() -> impl Strategy<Value = OutcomeStatus> {
    prop::sample::select(vec![
        OutcomeStatus::Success,
        OutcomeStatus::Error,
        OutcomeStatus::Unknown,
        OutcomeStatus::Cancelled,
    ])
}

fn cause() -> impl Strategy<Value = FailureCause> {
    prop::sample::select(vec![
        FailureCause::Requested,
        FailureCause::Transient,
        FailureCause::Quota,
        FailureCause::HandleRefused,
        FailureCause::Credentials,
        FailureCause::Refused,
        FailureCause::Protocol,
    ])
}

fn run(engage: Engage, steps: Vec<Step>) -> World {
    let mut world = World::new(engage);
    for step in steps {
        world.take(step);
    }
    world
}

/// Cases per property: what a person waits for, or as many as `PROPTEST_CASES` says.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

/// Twenty minutes in which nobody speaks and nothing happens.
fn reaches_idle(mut world: World) {
    world.take(Step::Hush(500));
    world.wait(1_200_000);
    let snapshot = world.session.snapshot();
    assert!(matches!(snapshot.phase, Phase::Idle | Phase::Off), "{snapshot:?}");
    assert_eq!(snapshot.calls, []);
    assert_eq!(snapshot.gate, GateState::Clear);
}

fn engage() -> impl Strategy<Value = Engage> {
    prop::sample::select(vec![Engage::Always, Engage::default()])
}

/// The checks above mean something only if an agreement does reach an effect.
#[test]
fn an_agreement_reaches_its_effect_once() {
    let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
    world.exchange("send_text", 1, "Yes, that's right.", false);
    world.wait(300);
    assert_eq!(world.guarded_runs, 1, "{:#?}", world.log);
    world.take(Step::Outcome(0, OutcomeStatus::Success));
    world.wait(5000);
    world.call("send_text", 1);
    assert_eq!(world.guarded_runs, 1);
    world.exchange("open_gate", 0, "yes", false);
    assert_eq!(world.guarded_runs, 1, "another question was open");
    world.exchange("send_text", 1, "yes", false);
    world.wait(300);
    assert_eq!(world.guarded_runs, 2, "{:#?}", world.log);
}

/// A batch of any size costs the session a bounded amount of work and memory, and the provider hears of most of it.
#[test]
fn a_flood_of_calls_in_one_response_is_refused() {
    let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
    world.calls(&["look_up"; 5000]);
    assert_eq!(world.arrived.len(), 64, "no more are looked at");
    assert_eq!(world.answered(), 256, "no more are refused");
    let dropped = world.log.iter().filter(|line| line.contains("are dropped")).count();
    assert_eq!(dropped, 1, "the rest is told of once");
    world.fall_silent();
    assert_eq!(world.answered(), 64 + 256);
}

/// Responses that wait for one slow call do not pile up.
#[test]
fn a_flood_of_responses_is_refused_once_the_ledger_is_full() {
    let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
    let mut names = ["no_such"; 64];
    names[0] = "look_up";
    for _ in 0..4 {
        world.calls(&names);
    }
    assert_eq!((world.arrived.len(), world.answered()), (256, 0), "each waits for its first call");
    world.calls(&names);
    assert_eq!((world.arrived.len(), world.answered()), (256, 64), "refused at once, without a place");
    world.fall_silent();
    assert_eq!(world.answered(), 320);
    world.calls(&["no_such"]);
    assert_eq!(world.answered(), 321, "there is room again");
}

/// Calls that are refused for want of room do not drive out the ids of those whose answer is still to be sent.
#[test]
fn a_flood_does_not_make_a_repeated_call_a_fresh_one() {
    let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
    world.calls(&["look_up", "no_such"]);
    world.calls(&["no_such"; 5000]);
    // Of the first response: its second call is answered, and its first still runs.
    world.take(Step::CallAgain(5000));
    assert!(world.log.iter().any(|line| line.contains("duplicate id=id2")), "{:#?}", world.log);
    // Refused for want of room, and told so.
    world.take(Step::CallAgain(4999 - 64));
    world.fall_silent();
    assert_eq!(world.answered(), 2 + 64 + 256);
}

/// What the provider took back stays taken back, however many calls come after it.
#[test]
fn a_flood_does_not_bring_back_what_was_taken_back() {
    let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
    world.calls(&["look_up"]);
    world.take(Step::TakeBack(0));
    for _ in 0..5 {
        world.calls(&["no_such"; 64]);
    }
    world.take(Step::CallAgain(320));
    world.fall_silent();
    assert!(world.log.iter().any(|line| line.contains("duplicate id=id1")), "{:#?}", world.log);
    assert_eq!(world.answered(), 320);
}

/// A call that the conversation before never saw answered does not stand for one of this that happens to have its id.
#[test]
fn a_fresh_conversation_has_ids_of_its_own() {
    let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
    world.call("set_volume", 1);
    world.take(Step::Closed(FailureCause::Transient));
    world.wait(5000);
    world.take(Step::Ready(false, false));
    world.call("look_up", 2);
    world.take(Step::TakeBack(0));
    world.call("look_up", 3);
    world.fall_silent();
    assert_eq!(world.arrived.len(), 3);
    assert_eq!(world.answered(), 1, "one was taken back, and it was the one of this conversation");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// The provider, the tools, the loudspeaker and time cannot bring a guarded call to run: not without a person.
    #[test]
    fn without_speech_nothing_guarded_runs(steps in vec(provider_step(), 0..200)) {
        let world = run(Engage::Always, steps);
        prop_assert_eq!(world.guarded_runs, 0);
    }

    /// Nor can a person who does not say yes.
    #[test]
    fn without_a_yes_nothing_guarded_runs(engage in engage(), steps in vec(step(&NOT_YES), 0..120)) {
        let world = run(engage, steps);
        prop_assert_eq!(world.guarded_runs, 0);
    }

    /// Nor can a person whose yes is to something that was heard after the question.
    #[test]
    fn a_yes_to_something_else_runs_nothing(
        steps in vec(
            (0usize..2, 0i64..2, any::<bool>()).prop_map(|(tool, arg, mid_turn)| {
                if mid_turn {
                    Step::MidTurnExchange(tool, arg, "yes")
                } else {
                    Step::OvertakenExchange(tool, arg, "yes")
                }
            }),
            0..12,
        ),
    ) {
        let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
        for step in steps {
            world.take(step);
        }
        prop_assert_eq!(world.guarded_runs, 0);
    }

    /// Every effect is preceded by its question, heard to the end, and an agreement of its own. The world checks it at
    /// every run, with everything else that must hold after every input.
    #[test]
    fn every_effect_has_its_question_and_its_yes(
        engage in engage(),
        steps in vec(step(&["yes", "Yes, that's right.", "yes", "no", "wait"]), 0..120),
    ) {
        run(engage, steps);
    }

    /// A microphone that is off lets nothing out whatever happens, and holds up nothing. The world checks it after every input.
    #[test]
    fn row_129_a_microphone_that_is_off_lets_nothing_out(
        engage in engage(),
        steps in vec((step(&["yes", "no", "wait"]), proptest::option::weighted(0.1, any::<bool>())), 0..120),
    ) {
        let mut world = run(engage, Vec::new());
        for (step, muted) in steps {
            world.take(step);
            if let Some(muted) = muted {
                world.take(Step::Mute(muted));
            }
        }
        world.take(Step::Mute(true));
        reaches_idle(world);
    }

    /// When everything has come to its end, every call was answered or closed, and nothing is left over.
    #[test]
    fn silence_and_time_settle_everything(
        engage in engage(),
        steps in vec(prop_oneof![20 => step(&["yes", "no"]), 1 => Just(Step::Stop)], 0..120),
    ) {
        let mut world = run(engage, steps);
        world.fall_silent();
        let snapshot = world.session.snapshot();
        prop_assert!(matches!(snapshot.phase, Phase::Idle | Phase::Off), "{:?}", snapshot);
        prop_assert_eq!(&snapshot.calls, &[]);
        prop_assert_eq!(snapshot.gate, GateState::Clear);
        prop_assert!(world.open_replies.is_empty());
        if snapshot.link == LinkState::Up || snapshot.phase == Phase::Off {
            prop_assert_eq!(&world.arrived, &world.settled);
        }
        if snapshot.link == LinkState::Up {
            prop_assert_eq!(world.unanswered(), Vec::<&str>::new());
        }
    }

    /// Time alone is enough: tools, loudspeaker and provider that never say another word hold nothing for ever.
    #[test]
    fn time_alone_reaches_idle(engage in engage(), steps in vec(step(&["yes", "no"]), 0..120)) {
        reaches_idle(run(engage, steps));
    }

    /// Whatever tools say while they run and however fast the model is played. The world checks that nobody and no question
    /// is talked into.
    #[test]
    fn time_alone_reaches_idle_at_any_pace(engage in engage(), steps in vec(said_step(), 0..160)) {
        reaches_idle(run(engage, steps));
    }

    /// However many calls come and on whichever link, a call that is owed an answer gets one, though it comes again
    /// meanwhile, and none is taken for one of another conversation. The world checks it at every answer.
    #[test]
    fn a_flood_leaves_every_id_one_answer(steps in vec(id_step(), 0..40)) {
        let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
        for step in steps {
            world.take(step);
        }
        world.fall_silent();
    }

    /// A call that was taken back, or is under way, is not done a second time, whoever speaks and whatever becomes of the
    /// link. The world checks it at every run.
    #[test]
    fn what_the_model_dropped_is_not_done_twice(steps in vec(drop_step(), 0..60)) {
        let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
        for step in steps {
            world.take(step);
        }
    }

    /// What a call did that was taken back is undone once, and only if it did it and stands for nothing else; what is undone
    /// may be done anew. The world checks it at every run.
    #[test]
    fn what_was_taken_back_is_undone_once(steps in vec(undo_step(), 0..60)) {
        let mut world = run(Engage::Always, vec![Step::Ready(false, false)]);
        for step in steps {
            world.take(step);
        }
        world.fall_silent();
        prop_assert_eq!(world.guarded_runs, 0);
    }

    /// Same inputs at the same times, same outputs.
    #[test]
    fn it_is_deterministic(engage in engage(), steps in vec(step(&["yes", "no"]), 0..80)) {
        let once = run(engage, steps.clone());
        let again = run(engage, steps);
        prop_assert_eq!(once.log, again.log);
    }
}
