//! What happens around the session, step by step.

use session::{FailureCause, OutcomeStatus};

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
    Start,
    Stop,
}

pub const TOOLS: [&str; 21] = [
    "end_session",
    "look_up",
    "open_gate",
    "print_label",
    "read_sensor",
    "send_text",
    "set_volume",
    "no_such",
    "ask_service",
    "bolt_door",
    "find_part",
    "make_report",
    "next_page",
    "ring_bell",
    "see_left",
    "see_right",
    "send_fax",
    "show_bay",
    "smell_gas",
    "tidy_up",
    "water_plants",
];

pub(super) const GUARDED: [&str; 2] = ["open_gate", "send_text"];
