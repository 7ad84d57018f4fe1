// SPDX-License-Identifier: MIT OR Apache-2.0

//! The provider-neutral seam: what any live model tells the session, and what the session asks of it.
//!
//! A provider adapter translates its wire into [`ProviderEvent`]s and [`Intent`]s into its wire. Nothing here names a
//! provider; what differs between them is data, in [`Capabilities`].

use std::time::Duration;

use serde_json::Value;
use units::{CallKey, Pcm};

/// What a provider and model can do. Data, chosen by the adapter when it knows the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Microphone audio sent while a call is unanswered breaks the connection: hold the uplink, drop, do not buffer.
    pub hold_uplink_during_calls: bool,
    /// A lost connection can be resumed by handle, with pending calls still answerable under their old ids.
    pub resumes: bool,
    /// A text note can be added to the conversation at any time without provoking speech.
    pub takes_notes: bool,
    /// A call and its answer can be added to a conversation in which the model did not make it.
    pub takes_earlier_calls: bool,
}

/// One call as the provider asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderCall {
    /// The provider's id; `None` where it sent none. The answer then carries none either.
    pub id: Option<String>,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them. Not yet checked.
    pub args: Value,
}

/// What happened on the provider's side.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderEvent {
    /// The connection is set up and takes audio.
    Ready {
        /// It continues an earlier session: old call ids may be answered.
        resumed: bool,
        /// What this provider and model can do.
        capabilities: Capabilities,
    },
    /// The next piece of the model's speech.
    ReplyAudio(Pcm),
    /// The next fragment of what the model's speech says, to be appended as it is.
    ReplyText(String),
    /// The next fragment of what the person said, as the provider heard it, to be appended as it is.
    UserText(String),
    /// The calls of one response, in order.
    Calls(Vec<ProviderCall>),
    /// These calls are void: never answer them.
    CallsCancelled(Vec<String>),
    /// Everything of this reply has been generated (not: heard).
    GenerationComplete,
    /// The model's turn is closed.
    TurnComplete {
        /// The model will go on by itself (an interim utterance), so the turn is not over.
        more: bool,
    },
    /// The provider cut its reply because it heard the person.
    Interrupted,
    /// A handle that resumes this session, or `None` if it cannot be resumed at this point.
    ResumeHandle(Option<String>),
    /// The provider will close this connection.
    GoAway {
        /// In this time, if it said.
        left: Option<Duration>,
    },
    /// Tokens used by the turn.
    Usage {
        /// Tokens read by the model.
        input_tokens: u64,
        /// Tokens produced by the model.
        output_tokens: u64,
    },
}

/// When, if at all, the model should speak about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// File it; say nothing.
    Silent,
    /// Speak about it when there is a gap.
    WhenIdle,
    /// Speak about it when there is a gap, in words: nothing it calls in that would run. Told to those that have a way to
    /// say it.
    InWords,
    /// Speak about it at once, whatever the model is saying.
    Interrupt,
}

/// The one answer to one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The call in the session's ledger. For whoever waits for its delivery; no provider is told.
    pub call: CallKey,
    /// The provider's id, echoed.
    pub id: Option<String>,
    /// The tool's name, echoed.
    pub name: String,
    /// What the model reads. Always a JSON object.
    pub body: Value,
    /// Whether the model should speak about it.
    pub follow_up: FollowUp,
}

/// A call of an earlier conversation, for one that knows nothing of it.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierCall {
    /// The id that the provider gave it then; `None` where it gave none.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub args: Value,
    /// What it brought. A JSON object.
    pub body: Value,
}

/// What the session asks of the provider.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// Answer these calls.
    Answer(Vec<Answer>),
    /// Add a note to the conversation; the model should not speak because of it.
    Note(String),
    /// Add this to the conversation; the model should speak because of it. What it is saying is cut off.
    Ask(String),
    /// The same, in words: nothing it calls in that would run. Told to those that have a way to say it.
    AskInWords(String),
    /// Add a call and its answer to the conversation, as if it had been made in it; the model should not speak because of
    /// it. Only where [`Capabilities::takes_earlier_calls`].
    Earlier(EarlierCall),
    /// The microphone has stopped sending for a while.
    AudioStreamEnd,
}

/// Why a connection ended or could not be made. The adapter classifies; the session decides when to try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFailure {
    /// What class of cause it is.
    pub cause: FailureCause,
    /// One line for a technician: names the thing, the value and the remedy. No secret in it.
    pub text: String,
}

/// Classes of link failure, by what should be done about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// We closed it.
    Requested,
    /// Network, server restart, overload, planned end: try again soon.
    Transient,
    /// Out of quota: try again after a long while.
    Quota,
    /// The handle was refused: try again without it.
    HandleRefused,
    /// Wrong key: trying again soon cannot help.
    Credentials,
    /// The provider refused our set-up: trying again soon cannot help.
    Refused,
    /// The peer broke the protocol.
    Protocol,
}
