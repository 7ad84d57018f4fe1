// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the session must know of a tool to decide about it, without being able to run it.

use std::time::Duration;

use serde_json::Value;
use units::{CallKey, Clip, Nonce};

/// What a tool does to the world. The strictest class is the default everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It only looks.
    Read,
    /// It changes this device only, and can be changed back.
    Local,
    /// It acts on the world outside. Runs only with a person's consent.
    Outbound,
}

/// By what a person agrees to a guarded call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// The device asks aloud, and a spoken yes lets the model make the call again.
    #[default]
    Voice,
    /// The screen asks, and a tap makes the call. A spoken yes is none.
    Touch,
    /// The device asks aloud, and its button, held, makes the call. A spoken yes is none.
    Button,
    /// The device asks aloud and on the screen, if there is one; the first answer counts.
    VoiceOrTouch,
    /// Aloud and on the screen: a spoken yes and a tap, in any order, make the call.
    VoiceAndTouch,
}

impl Consent {
    /// A word for the record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Touch => "touch",
            Self::Button => "button",
            Self::VoiceOrTouch => "voice or touch",
            Self::VoiceAndTouch => "voice and touch",
        }
    }
}

/// A line of the device's own, spoken when a call is really about to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreCall {
    /// Before every run.
    Always(String),
    /// Only if the model has not just been heard, and once in a turn of the person.
    IfSilent(String),
}

/// What becomes of a running call when the person speaks over it. One past its point of no return always goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBargeIn {
    /// It is stopped.
    Cancel,
    /// It goes on.
    Finish,
}

/// The facts of one tool that decide how its calls are handled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each mark is independent of every other")]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its effect class.
    pub effect: Effect,
    /// Outbound, but its integrator wrote down why it needs no consent.
    pub ungated: bool,
    /// How a person agrees, if one must.
    pub consent: Consent,
    /// Whoever answers must say the last so many digits of what the question names; a yes alone is none.
    pub repeat_last: Option<usize>,
    /// The model needs the result before it can go on speaking.
    pub needs_result_now: bool,
    /// From dispatch to answer.
    pub timeout: Duration,
    /// It ends the session: the answer is silent and the goodbye is drained before the link closes.
    pub ends_session: bool,
    /// Spoken when a call starts to run.
    pub pre_call: Option<PreCall>,
    /// Spoken in place of the general line when a person has waited long for this tool.
    pub waiting: Option<String>,
    /// Calls of one lane never overlap, whichever tools they are of.
    pub lane: Option<String>,
    /// It may run beside others of its response, if all of them are such and only look.
    pub parallel: bool,
    /// It is answered at once, and its outcome is told when it comes.
    pub job: bool,
    /// The same call again soon is meant again.
    pub repeatable: bool,
    /// It runs though an outbound call before it in the same response has failed.
    pub independent: bool,
    /// It runs when what the model said before it was heard, not when it arrives.
    pub run_when_heard: bool,
    /// What it brings may interrupt the model, if the model should speak about it at all.
    pub urgent: bool,
    /// Running it twice does no more than running it once: if nobody knows how it ended, it may be tried once more.
    pub idempotent: bool,
    /// What becomes of a running call when the person speaks over it.
    pub on_barge_in: OnBargeIn,
}

impl ToolSpec {
    /// A tool about which nothing is said but its effect.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: Effect) -> Self {
        Self {
            name: name.into(),
            effect,
            ungated: false,
            consent: Consent::Voice,
            repeat_last: None,
            needs_result_now: false,
            timeout: Duration::from_secs(8),
            ends_session: false,
            pre_call: None,
            waiting: None,
            lane: None,
            parallel: false,
            job: false,
            repeatable: false,
            independent: false,
            run_when_heard: false,
            urgent: false,
            idempotent: false,
            on_barge_in: match effect {
                Effect::Read => OnBargeIn::Cancel,
                Effect::Local | Effect::Outbound => OnBargeIn::Finish,
            },
        }
    }
}

/// Arguments that passed every check, with what the gate needs of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Canonical arguments: exactly what will run.
    pub args: Value,
    /// Binds an approval to boot, session, tool, schema and arguments. SHA-256.
    pub digest: [u8; 32],
    /// The sentence that a person is asked to agree to, rendered by the device from `args`. Gated tools only.
    pub summary: Option<String>,
    /// Pieces of `summary` that must be heard exactly: digits, amounts, names.
    pub slots: Vec<String>,
    /// Words or digits of chance that whoever answers must say beside the yes; the model never reads them. None where a
    /// yes is enough.
    pub challenge: Vec<String>,
    /// What the sheet of this call is answered with, drawn anew each time.
    pub nonce: Nonce,
}

/// The call that undoes what another has done: another tool of the same catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoCall {
    /// Its name.
    pub tool: String,
    /// Its arguments, as [`Catalog::prepare`] takes them.
    pub args: Value,
    /// The same as they may be shown.
    pub shown: Value,
}

/// Knowledge of the tools: no I/O, no clock. Only [`Catalog::view`] changes with time.
pub trait Catalog: Send {
    /// The facts of the tool called `name`, if there is one.
    fn spec(&self, name: &str) -> Option<ToolSpec>;

    /// Names of the tools the model may see at this moment, sorted. Asked when a conversation begins and when a turn of
    /// the person opens; what it says then holds until the next.
    fn view(&self) -> Vec<String>;

    /// Checks `args` against the tool's schema and renders what the gate needs.
    ///
    /// # Errors
    /// One text for the model that names every fault by JSON pointer.
    fn prepare(&self, name: &str, args: &Value) -> Result<Prepared, String>;

    /// What undoes a call of the tool `name` with these canonical arguments, if its tool says.
    fn undo(&self, _name: &str, _args: &Value) -> Option<UndoCall> {
        None
    }
}

/// How a tool's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeStatus {
    /// It did what it says.
    Success,
    /// It failed before or without an effect, or says so itself.
    Error,
    /// It began its effect and did not come back: nobody knows.
    Unknown,
    /// It was stopped before it did anything.
    Cancelled,
}

impl OutcomeStatus {
    /// A word for the record, and for the model.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a finished run brings back. Already shaped for the model by trusted code.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub status: OutcomeStatus,
    /// What the model reads: a JSON object, bounded in size.
    pub body: Value,
    /// Events for the screen, in order.
    pub events: Vec<ClientEvent>,
    /// A clip to play after the speech that this result provokes.
    pub clip_after: Option<Clip>,
    /// Nothing need be said about it: that nothing is heard is right.
    pub silent_ok: bool,
}

/// An event pushed to the device's screen.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientEvent {
    /// The call it came from.
    pub call: CallKey,
    /// Its name.
    pub name: String,
    /// Its payload.
    pub payload: Value,
}
