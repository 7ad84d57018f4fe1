// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sans-IO core of `voiced`: it decides, and never acts.
//!
//! It decides whose turn it is, when speech is a barge-in, which calls run and with what answer, whether a person has
//! agreed to a guarded call, and when the link is made, dropped and retried. It never opens a socket, reads a clock,
//! starts a thread or touches audio samples: time and everything that happened come in as arguments, and what should
//! be done goes out as values.
//!
//! # Contract
//! Call [`Session::handle`] with one [`Input`] and the time, then drain [`Session::poll`] until `None`, acting on each
//! [`Output`] in order, before the next input. Give [`Input::Timeout`] when [`Session::deadline`] has come. The same
//! inputs at the same times with the same seed give the same outputs.
//!
//! - Each [`Output::Connect`] ends in one [`Input::LinkClosed`], whatever became of it, also after
//!   [`Output::Disconnect`], which can come when the transport is already gone. One transport at a time: a `Connect`
//!   that comes while the old one closes waits for it. What the old one still says may be given or dropped.
//! - Each utterance handed out ends in one [`Input::PlayoutFinished`], also if it was flushed or could not be played.
//!   A line that is still being rendered and a clip that is still to come when [`Output::Flush`] comes are flushed too.
//!   [`Input::PlayoutStarted`] comes before it if any of the utterance was heard.
//! - Each [`Output::Run`] ends in one [`Input::Outcome`], also after [`Output::Cancel`], after which it may be late: it
//!   is then told in the answer if that is not sent yet, as a note if it changed something, or dropped. [`Input::EffectBegun`] comes before it if the call passed its point of no return.
//! - Whatever breaks this contract costs at most a wait: every wait on somebody else has a named timer.
//!
//! # Invariants
//! - [`Permit`] is made in [`confirm`] only. For a guarded tool that takes a question rendered from the arguments that
//!   will run, put to a person, and an act of theirs after that: a later turn of local speech whose whole transcript
//!   reads as a yes, a tap with the nonce of the sheet, or the held button. No model output, tool result, note or
//!   reconnect is evidence.
//! - A call has one answer, in the conversation that asked for it, or is closed with a reason. One of the device's own, which
//!   undoes another or which a person made by agreeing, has none: a note tells of both.
//! - "Speaking" and "heard" come from playout reports, never from what was queued.

#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod answers;
mod calls;
mod clips;
mod config;
pub mod confirm;
mod context;
mod engage;
mod ledger;
pub mod lexicon;
mod link;
mod notes;
mod notice;
mod person;
mod playout;
mod provider;
pub mod readback;
mod record;
mod reply;
mod seam;
mod session;
mod snapshot;
mod tally;
mod timers;
mod tool;
mod turn;
mod uplink;
mod written;

use std::time::Duration;

use units::{CallKey, Clip, Frames, Nonce, Pcm, PendingId, UtteranceId};

pub use calls::END_CALL;
pub use config::{Config, Engage, GateConfig, Lines, Patience, Profile, ReadBack, RetryConfig};
pub use confirm::{
    ConsoleQuestion, NeedsConsent, NotAgreed, Permit, Reading, Reject, ask_at_console, observing,
};
pub use notice::{Channel, GateEnd, Notice, Presenter, Spoken};
pub use record::TurnRecord;
pub use seam::{
    Answer, Capabilities, EarlierCall, FailureCause, FollowUp, Intent, LinkFailure, ProviderCall,
    ProviderEvent,
};
pub use session::Session;
pub use snapshot::{GateState, LinkState, OpenCall, Phase, Snapshot};
pub use tool::{
    Catalog, ClientEvent, Consent, Effect, OnBargeIn, Outcome, OutcomeStatus, PreCall, Prepared, ToolSpec,
    UndoCall,
};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Begin: the audio path is up and the daemon wants to work.
    Start,
    /// End politely: no new work, close the link.
    Stop,
    /// [`Session::deadline`] has come.
    Timeout,
    /// The local VAD has found near-end speech.
    SpeechStarted {
        /// How long ago it began (the VAD needs some speech before it is sure).
        onset_ago: Duration,
    },
    /// The local VAD has found that it ended, hangover included.
    SpeechEnded {
        /// How much of it was voiced.
        voiced: Duration,
    },
    /// The first frame of this utterance has been heard.
    PlayoutStarted {
        /// Which.
        utterance: UtteranceId,
    },
    /// The last frame of this utterance that will ever play has been heard.
    PlayoutFinished {
        /// Which.
        utterance: UtteranceId,
        /// How much of it left the loudspeaker, in frames at 24 kHz.
        heard: Frames,
        /// It was flushed or could not be played: not all of it was heard.
        cut: bool,
    },
    /// The model's speech is played at this pace from here on, whether it was handed out before or not.
    Pace {
        /// Percent of its own, at least 1.
        percent: u16,
    },
    /// The microphone was switched off, or on again. What it had heard until then was given before.
    Muted {
        /// It is off.
        muted: bool,
    },
    /// A screen that shows sheets and takes taps is there, or is not any more.
    Screen {
        /// It is there.
        there: bool,
    },
    /// The sheet of this question is seen on the screen.
    SheetShown {
        /// Which.
        pending: PendingId,
    },
    /// A person answered a sheet, or somebody says so: only the right nonce makes it an answer.
    SheetAnswered {
        /// That of the sheet.
        nonce: Nonce,
        /// What they answered.
        answer: SheetAnswer,
        /// From the sheet being seen to the tap, by the clock of the screen.
        shown_for: Duration,
    },
    /// The device's button is down, or up. Its state is given once when it is known, then each change.
    Button {
        /// It is down.
        down: bool,
    },
    /// Another person stands at the device, or nobody: what was asked of the one before is void.
    PersonChanged,
    /// What a dispatched call would do is not any more what a person agreed to. Nothing was done.
    Superseded {
        /// Which call.
        call: CallKey,
        /// What it would do as things are, in the words of its gate.
        summary: String,
    },
    /// A transport to the provider is open and our set-up was sent.
    LinkOpened,
    /// The transport ended, or could not be opened.
    LinkClosed(LinkFailure),
    /// The provider said something.
    Provider(ProviderEvent),
    /// A dispatched call has ended.
    Outcome {
        /// Which.
        call: CallKey,
        /// How.
        outcome: Outcome,
    },
    /// A dispatched call is past its point of no return: a barge-in can no longer cancel it.
    EffectBegun {
        /// Which.
        call: CallKey,
    },
    /// The tool of a dispatched call says that it will take longer than a person waits: it goes on as a job.
    BecameJob {
        /// Which.
        call: CallKey,
    },
    /// The tool of a dispatched call says something to the person.
    CallLine {
        /// Which call.
        call: CallKey,
        /// The words.
        text: String,
    },
    /// The tool of a dispatched call tells the model something, outside of its answer.
    CallNote {
        /// Which call.
        call: CallKey,
        /// What is to be known.
        text: String,
    },
    /// The model should know something that belongs to no call: what became of one before a restart.
    Note {
        /// What is to be known.
        text: String,
    },
}

/// How a person answers a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheetAnswer {
    /// They tapped what agrees.
    Confirm,
    /// They tapped what does not.
    Decline,
    /// The sheet was put away, or the screen went dark.
    Dismiss,
}

/// A question on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// The question.
    pub pending: PendingId,
    /// What its answer must carry. For the screen alone.
    pub nonce: Nonce,
    /// What will be done.
    pub summary: String,
    /// The pieces of it that must be right, to be shown one by one.
    pub slots: Vec<String>,
}

/// What a local line is for; decides how it is spoken and where it stands in the playout queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The sentence of the confirmation gate. Must be heard to its end to count.
    ReadBack,
    /// About a call that runs: that it begins, or that it takes long. Comes before replies and after a read-back.
    PreCall,
    /// Something went wrong and the person should know why.
    Apology,
    /// The session ends and the model said nothing.
    Goodbye,
}

/// Something that should be done.
#[derive(Debug)]
pub enum Output {
    /// Open a transport to the provider, resuming by this handle if there is one.
    Connect {
        /// Handle of an earlier connection.
        resume: Option<String>,
    },
    /// Close the transport.
    Disconnect,
    /// Ask this of the provider.
    Send(Intent),
    /// Let microphone audio out, this much audio from before first.
    UplinkOpen {
        /// Audio from before the opening.
        preroll: Duration,
    },
    /// Let no microphone audio out.
    UplinkClose,
    /// Append this to the reply `utterance`.
    Play {
        /// Which reply.
        utterance: UtteranceId,
        /// The audio.
        pcm: Pcm,
    },
    /// Nothing more will be appended to the reply `utterance`.
    PlayEnd {
        /// Which reply.
        utterance: UtteranceId,
    },
    /// Speak this with the device's own voice.
    Speak {
        /// The id under which its playout is reported.
        utterance: UtteranceId,
        /// The words.
        text: String,
        /// What it is for.
        kind: LineKind,
    },
    /// Queue this clip. One that is still to come may be waited for; it plays behind whatever is queued then.
    PlayClip {
        /// The id under which its playout is reported.
        utterance: UtteranceId,
        /// Which.
        clip: Clip,
    },
    /// Lower playout while it is unclear whether this is a barge-in.
    Duck,
    /// Back to full level: it was noise, or what was lowered has been dropped.
    Unduck,
    /// Drop every queued and playing reply, line and clip, with a short fade.
    Flush,
    /// Run this call. The permit owns it.
    Run(Permit),
    /// Stop this dispatched call if it has not begun its effect.
    Cancel {
        /// Which.
        call: CallKey,
    },
    /// Show this sheet, drawn by the device and not by the model, and say when it is seen.
    Sheet(Sheet),
    /// The sheet of this question is over: take it away.
    SheetClosed {
        /// Which.
        pending: PendingId,
    },
    /// Show this on the device's screen.
    Event(ClientEvent),
    /// Something happened that a person watching would want to see. Facts only; nothing acts on it.
    Notice(Notice),
    /// The session is over: the goodbye was heard, the link is closed.
    Ended {
        /// Who ended it: `agent` or `daemon`.
        by: &'static str,
    },
}
