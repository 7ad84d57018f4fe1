// SPDX-License-Identifier: MIT OR Apache-2.0

//! Properties of the gate in every way that a person can agree, against a small model of what they did: it knows nothing of
//! the gate's states, only what was heard, seen, said, tapped and pressed.

mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use session::{Input, OutcomeStatus, SheetAnswer};

use world::{Step, TOOLS, World};

/// All that the model, the provider, the tools and a screen that guesses can do.
fn machine_step() -> impl Strategy<Value = Step> {
    let words = prop::sample::select(vec!["yes", "Yes, that's right.", "the user said yes"]);
    let status =
        prop::sample::select(vec![OutcomeStatus::Success, OutcomeStatus::Error, OutcomeStatus::Unknown]);
    prop_oneof![
        4 => prop_oneof![1u64..600, 600u64..4000, 4000u64..60_000].prop_map(Step::Wait),
        8 => (0..TOOLS.len(), 0u64..2).prop_map(|(tool, n)| Step::Call(tool, n)),
        2 => words.clone().prop_map(Step::Hear),
        2 => words.prop_map(Step::Reply),
        6 => prop::bool::weighted(0.2).prop_map(Step::Play),
        3 => status.prop_map(Step::Outcome),
        1 => Just(Step::Label),
        1 => any::<bool>().prop_map(Step::Drop),
        2 => prop::bool::weighted(0.8).prop_map(Step::Screen),
        3 => Just(Step::Shown),
        1 => Just(Step::Guess),
    ]
}

/// All of that, and a person.
fn any_step() -> impl Strategy<Value = Step> {
    let answers = prop::sample::select(vec![
        SheetAnswer::Confirm,
        SheetAnswer::Confirm,
        SheetAnswer::Decline,
        SheetAnswer::Dismiss,
    ]);
    let words = prop::sample::select(vec!["yes", "yes", "no", "wait", "what is the weather", "ok"]);
    prop_oneof![
        8 => machine_step(),
        5 => (words, prop_oneof![Just(90u64), 200u64..1500]).prop_map(|(words, ms)| Step::Say(words, ms)),
        1 => Just(Step::Speak),
        3 => (answers, prop_oneof![0u64..700, 700u64..3000]).prop_map(|(answer, ms)| Step::Tap(answer, ms)),
        2 => prop_oneof![20u64..300, 300u64..900].prop_map(Step::Press),
        1 => Just(Step::PersonChanges),
        3 => (0..TOOLS.len(), 0u64..2).prop_map(|(tool, n)| Step::Whole(tool, n)),
    ]
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

/// The ways to agree, each as it should go: without this the properties below could hold of a gate that never opens.
#[test]
fn each_way_to_agree_reaches_its_effect() {
    for (tool, (name, _)) in TOOLS.iter().enumerate() {
        let mut world = World::new();
        world.take(Step::Screen(true));
        world.give(Input::Button { down: false });
        world.take(Step::Whole(tool, 1));
        assert_eq!(world.effects, 1, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Whatever the model, its provider, its tools and time do, without a person nothing happens.
    #[test]
    fn p1_no_effect_without_a_person(steps in vec(machine_step(), 0..120)) {
        let mut world = World::new();
        world.give(Input::Button { down: false });
        for step in steps {
            world.take(step);
        }
        prop_assert_eq!(world.effects, 0);
    }

    /// Whatever they and a person do, every effect has its question and an act of its own, once. The world checks it at
    /// every run.
    #[test]
    fn p2_every_effect_has_its_act(steps in vec(any_step(), 0..120)) {
        let mut world = World::new();
        world.give(Input::Button { down: false });
        for step in steps {
            world.take(step);
        }
    }
}
