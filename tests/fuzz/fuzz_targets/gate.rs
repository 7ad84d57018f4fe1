// SPDX-License-Identifier: MIT OR Apache-2.0

//! Any sequence of what the model, its provider, a screen, a button and a person do: every approval has its act, and what
//! runs is what was agreed to. The world of the session's own property checks it after every input.
//!
//! Input: two bytes for each step.

#![no_main]

#[path = "../../../daemon/session/tests/session/consent/world.rs"]
mod world;

use libfuzzer_sys::fuzz_target;
use session::{OutcomeStatus, SheetAnswer};

use world::{Step, TOOLS, World};

const WORDS: [&str; 6] = ["yes", "no", "wait", "yes but later", "what is the weather", "Yes, that's right."];

fn step(kind: u8, value: u8) -> Step {
    let (tool, n) = (usize::from(value) % TOOLS.len(), u64::from(value / 128));
    let (words, span) = (WORDS[usize::from(value) % WORDS.len()], u64::from(value) * 10);
    let answers = [SheetAnswer::Confirm, SheetAnswer::Decline, SheetAnswer::Dismiss];
    match kind % 17 {
        0 => Step::Wait(u64::from(value) * u64::from(value)),
        1 | 2 => Step::Call(tool, n),
        3 => Step::Hear(words),
        4 => Step::Reply(words),
        5 => Step::Play(value.is_multiple_of(4)),
        6 => Step::Outcome([OutcomeStatus::Success, OutcomeStatus::Error, OutcomeStatus::Unknown][tool % 3]),
        7 => Step::Label,
        8 => Step::Drop(value.is_multiple_of(2)),
        9 => Step::Screen(!value.is_multiple_of(5)),
        10 => Step::Shown,
        11 => Step::Guess,
        12 => Step::Say(words, span),
        13 => Step::Speak,
        14 => Step::Tap(answers[usize::from(value) % 3], span),
        15 => Step::Press(span),
        _ if value < 32 => Step::PersonChanges,
        _ => Step::Whole(tool, n),
    }
}

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    for pair in data.chunks_exact(2).take(200) {
        world.take(step(pair[0], pair[1]));
    }
});
