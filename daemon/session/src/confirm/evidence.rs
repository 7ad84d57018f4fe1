// SPDX-License-Identifier: MIT OR Apache-2.0

//! When what a person said counts as an answer to a question. Every condition stands alone: whichever fails, nothing has
//! been said.
//!
//! Two of the conditions hold elsewhere. That a transcript belongs to a stretch of speech that was heard here, arrives in
//! time and is used once is [`crate::person`]'s; that one question at a time can be answered by voice is the gate's.

use std::time::Duration;

use units::{Instant, TurnId};

use super::ears::Ears;
use crate::config::GateConfig;
use crate::person::Said;

/// Why what was said is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// It was said in the turn in which the question came up.
    SameTurn,
    /// It is too short to be a word.
    TooShort,
    /// Too much of it falls on what the device played.
    Overlaps,
    /// It repeats what the device has just said.
    Echo,
    /// It began before the question was heard to its end.
    BeforeHeard,
    /// Something else has been heard since the question.
    Overtaken,
    /// The question had lapsed.
    Late,
    /// The microphone does not hear the room.
    NotThisRoom,
}

impl Reject {
    /// A word for the record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameTurn => "same turn",
            Self::TooShort => "too short",
            Self::Overlaps => "overlaps playout",
            Self::Echo => "echo",
            Self::BeforeHeard => "before heard",
            Self::Overtaken => "overtaken",
            Self::Late => "late",
            Self::NotThisRoom => "not this room",
        }
    }
}

/// What was asked, and when it was heard.
pub(super) struct Asked {
    /// The person's turn in which the model proposed it.
    pub(super) asked_in: TurnId,
    pub(super) heard_at: Instant,
    /// The last turn that was over when something else was heard, if something was.
    pub(super) overtaken: Option<TurnId>,
}

/// How much of `said` falls on what the device played.
pub(super) fn overlap(gate: &GateConfig, ears: &Ears, said: &Said) -> Duration {
    ears.overlap(said.onset, said.ended, gate.tail)
}

/// The first condition that `said` does not meet.
pub(super) fn reject(
    gate: &GateConfig,
    now: Instant,
    ears: &Ears,
    asked: &Asked,
    said: &Said,
) -> Option<Reject> {
    let length = said.ended - said.onset;
    let overlaps = overlap(gate, ears, said) * 100 > length * gate.overlap_percent;
    let echo = ears.said_since(said.onset.saturating_sub(gate.echo_window), &said.text);
    [
        (said.turn <= asked.asked_in, Reject::SameTurn),
        (said.onset <= asked.heard_at, Reject::BeforeHeard),
        (asked.overtaken.is_some_and(|last| said.turn > last), Reject::Overtaken),
        (said.voiced < gate.min_voiced, Reject::TooShort),
        (overlaps, Reject::Overlaps),
        (echo, Reject::Echo),
        (now > asked.heard_at + gate.deadline, Reject::Late),
        (!gate.own_microphone, Reject::NotThisRoom),
    ]
    .into_iter()
    .find_map(|(fails, why)| fails.then_some(why))
}
