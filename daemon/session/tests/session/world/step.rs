// SPDX-License-Identifier: MIT OR Apache-2.0

//! What happens around the session, step by step.

use session::{FailureCause, OutcomeStatus};

use crate::shop;

/// Something the world around the session does.
#[derive(Clone, Debug)]
pub enum Step {
    Wait(u64),
    Speak(u64),
    Hush(u64),
    Hear(&'static str),
    Audio(u64),
    /// Text of the model's speech.
    Say(&'static str),
    Generated,
    TurnComplete(bool),
    Interrupted,
    Call(usize, i64),
    CallAgain(usize),
    /// One whose answer this conversation has not seen.
    CallOwed(usize),
    /// One response with this many calls.
    Batch(usize),
    /// One response with these.
    Together(Vec<usize>),
    /// The catalog shows little, or all.
    Show(bool),
    TakeBack(usize),
    Outcome(usize, OutcomeStatus),
    EffectBegun(usize),
    /// The tool of a running call says that it takes long.
    BecomeJob(usize),
    /// The tool of a running call says something to the person.
    Line(usize),
    /// It tells the model something.
    Note(usize),
    /// Percent.
    Pace(u16),
    Started(usize),
    Finished(usize, bool),
    Ready(bool, bool),
    Closed(FailureCause),
    GoAway(u64),
    Handle(bool),
    /// A question and what is said to it, as they should come: rare among random steps.
    Exchange(usize, i64, &'static str),
    /// The same, but the person begins to speak before the question has been heard to its end.
    EarlyExchange(usize, i64, &'static str),
    /// The same, but the model is heard between the question and what the person says.
    OvertakenExchange(usize, i64, &'static str),
    /// The same, but the model is heard while the person speaks.
    MidTurnExchange(usize, i64, &'static str),
    /// The microphone is switched off, or on.
    Mute(bool),
    Start,
    Stop,
}

/// Those of the shop and, between them, one that it does not have. Committed seeds depend on the order.
pub const TOOLS: [&str; shop::TOOLS.len() + 1 + shop::MARKED.len()] = {
    let mut names = ["no_such"; shop::TOOLS.len() + 1 + shop::MARKED.len()];
    let mut at = 0;
    while at < shop::TOOLS.len() {
        names[at] = shop::TOOLS[at].0;
        at += 1;
    }
    at = 0;
    while at < shop::MARKED.len() {
        names[shop::TOOLS.len() + 1 + at] = shop::MARKED[at];
        at += 1;
    }
    names
};

pub(super) const GUARDED: [&str; 2] = ["open_gate", "send_text"];
