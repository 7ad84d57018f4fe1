// SPDX-License-Identifier: MIT OR Apache-2.0

//! Facts for whoever watches: the timeline, the log, the screen. Nothing acts on them.

use std::time::Duration;

use serde_json::Value;
use units::{CallKey, Clip, Epoch, GrantId, PendingId, TurnId, UtteranceId};

use crate::confirm::{Reading, Reject};
use crate::record::TurnRecord;
use crate::seam::FollowUp;
use crate::snapshot::LinkState;
use crate::tool::Consent;

/// Something that happened and that a person watching would want to see.
///
/// Summaries, arguments, bodies and transcripts are personal: never log them above debug level.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The person has begun to speak.
    TurnOpened {
        /// The turn this opened.
        turn: TurnId,
    },
    /// The person has stopped speaking.
    TurnClosed {
        /// Whose speech ended.
        turn: TurnId,
        /// How much of it was voiced.
        voiced: Duration,
    },
    /// A turn is over: the next has begun, or the conversation has ended.
    Turn(TurnRecord),
    /// What the person said, as the provider heard it, when no more of it comes; and again in full if more does.
    UserSaid {
        /// The turn it is credited to; `None` if nobody was heard to speak, and then it counts for nothing.
        turn: Option<TurnId>,
        /// At most 4 KiB.
        text: String,
    },
    /// What the model said, when its reply is generated or cut.
    ModelSaid {
        /// At most 4 KiB.
        text: String,
        /// The reply was cut: not all of this was heard.
        cut: bool,
    },
    /// The person spoke over playout, and it was stopped.
    BargeIn {
        /// Their turn.
        turn: TurnId,
        /// What was playing.
        utterance: UtteranceId,
        /// How much of it had been heard.
        heard: Duration,
    },
    /// Something sounded like speech over playout and was not; playout is back to full level.
    NoiseIgnored {
        /// The turn that came to nothing.
        turn: TurnId,
    },
    /// An utterance is over.
    Played {
        /// Which.
        utterance: UtteranceId,
        /// What it was.
        what: Spoken,
        /// How much of it was heard.
        heard: Duration,
        /// Not all of it was.
        cut: bool,
    },
    /// The model asked for a call.
    CallArrived {
        /// Its key in the ledger.
        call: CallKey,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The arguments, as the model wrote them.
        args: Value,
    },
    /// The device makes a call of its own. It has no answer.
    CallMade {
        /// Its key in the ledger.
        call: CallKey,
        /// The tool's name.
        name: String,
        /// Its arguments.
        args: Value,
        /// The call whose effect it undoes, as the provider had taken that back; `None` if a person agreed to it.
        undoes: Option<CallKey>,
    },
    /// A call's id had been seen before. It is ignored: it has, or had, its one answer.
    DuplicateCall {
        /// The provider's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A call was sent to its tool.
    CallRun {
        /// Which.
        call: CallKey,
        /// The tool's name.
        name: String,
        /// The approval it spent, if it needed one.
        grant: Option<GrantId>,
    },
    /// A call was answered: its one answer is on the way to the provider.
    CallAnswered {
        /// Which.
        call: CallKey,
        /// The tool's name.
        name: String,
        /// `status` of the body.
        status: String,
        /// What the model reads.
        body: Value,
        /// Whether it should speak about it.
        follow_up: FollowUp,
        /// From the call's arrival to this.
        latency: Duration,
        /// It equalled one that had not ended, and shares its answer.
        coalesced: bool,
    },
    /// The model has used up what it may be asked to say in one turn: its further calls are refused. Once in a turn.
    FollowUpsSpent {
        /// The turn.
        turn: TurnId,
    },
    /// The model has written a call out as speech, which was cut off.
    CallSpoken {
        /// The tool's name, or what gave it away.
        name: String,
    },
    /// A call will never be answered.
    CallClosed {
        /// Which.
        call: CallKey,
        /// The tool's name.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// An outcome came for a call that had been answered or closed. It is dropped.
    LateOutcome {
        /// Which.
        call: CallKey,
    },
    /// Something the model should have known will not be told. If it is what became of an effect, this is all that is
    /// left of it.
    NoteDropped {
        /// What it would have read.
        text: String,
        /// Why not.
        why: &'static str,
    },
    /// A line of a tool's own is not spoken.
    LineDropped {
        /// Its call.
        call: CallKey,
        /// The words.
        text: String,
        /// Why not.
        why: &'static str,
    },
    /// A guarded call needs a person's agreement.
    GatePending {
        /// The question.
        pending: PendingId,
        /// The tool's name.
        tool: String,
        /// What the person will be asked to agree to.
        summary: String,
        /// How they may agree.
        consent: Consent,
        /// It takes the place of an earlier question about other arguments.
        replaces: Option<PendingId>,
    },
    /// The question was heard to its end, or is seen.
    GatePresented {
        /// The question.
        pending: PendingId,
        /// Whether it was heard or is seen, and from whom.
        by: Presenter,
    },
    /// The question was cut before its end, or something else was heard after it, so that a yes could be about either: it
    /// will be asked again.
    GateCut {
        /// The question.
        pending: PendingId,
    },
    /// What a person said while a question waited for its answer.
    GateEvidence {
        /// The question.
        pending: PendingId,
        /// The turn they said it in.
        turn: TurnId,
        /// How much of it was voiced.
        voiced: Duration,
        /// How much of it overlapped what the device played.
        overlap: Duration,
        /// From the end of the question to the onset; zero if it began before.
        after: Duration,
        /// How it was read, or why it is no answer.
        read: Result<Reading, Reject>,
    },
    /// A person agreed.
    GateGranted {
        /// The question.
        pending: PendingId,
        /// The approval.
        grant: GrantId,
        /// How they did.
        by: Channel,
    },
    /// The approval was used up by a call.
    GateSpent {
        /// The approval.
        grant: GrantId,
        /// The call.
        call: CallKey,
    },
    /// The question is over without an effect.
    GateClosed {
        /// The question.
        pending: PendingId,
        /// How it ended.
        how: GateEnd,
    },
    /// A sheet was answered with a nonce that is of no open sheet. It has no effect.
    GateBadNonce,
    /// The tool needs the screen for the rest of the conversation.
    GateLocked {
        /// The tool's name.
        tool: String,
        /// Why.
        why: &'static str,
    },
    /// A guarded call was refused without a question.
    GateRefused {
        /// Which.
        call: CallKey,
        /// Why.
        why: &'static str,
    },
    /// The link changed.
    Link {
        /// What it is.
        state: LinkState,
        /// Which connection.
        epoch: Epoch,
        /// One line for a technician; empty when there is nothing to say.
        text: String,
    },
    /// A clip waits for the speech it belongs after.
    ClipQueued {
        /// Which.
        clip: Clip,
    },
    /// Tokens used by the model's turn.
    Usage {
        /// Tokens read by the model.
        input_tokens: u64,
        /// Tokens produced by the model.
        output_tokens: u64,
    },
    /// The agent is ending the session; what it says is played first.
    Ending {
        /// The call that asked for it.
        call: CallKey,
    },
    /// The person kept talking, so the session goes on.
    EndingCancelled,
    /// Reports of playout stopped coming; what should have played is given up.
    PlayoutLost {
        /// How many utterances.
        utterances: usize,
    },
    /// The session is over.
    Ended {
        /// Who ended it: `agent` or `daemon`.
        by: &'static str,
    },
}

/// What an utterance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// The model's speech.
    Reply,
    /// The device's own voice.
    Line(crate::LineKind),
    /// A queued clip.
    Clip,
}

/// How a person agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// By a spoken yes.
    Voice,
    /// By a tap on the screen.
    Touch,
    /// By holding the device's button.
    Button,
    /// By a spoken yes and a tap.
    VoiceAndTouch,
}

impl Channel {
    /// A word for the record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Touch => "touch",
            Self::Button => "button",
            Self::VoiceAndTouch => "voice and touch",
        }
    }
}

impl Presenter {
    /// A word for the record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Model => "model",
            Self::Screen => "screen",
        }
    }
}

/// By whom a question was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presenter {
    /// The device spoke it.
    Device,
    /// The model spoke it, word by word.
    Model,
    /// The screen shows it.
    Screen,
}

/// How a question ended without an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateEnd {
    /// The person said no.
    Declined,
    /// The person wants something else.
    Amended,
    /// Nobody answered, or the approval was not used in time.
    Expired,
    /// The model asked for other arguments, so another question takes its place.
    Superseded,
    /// It could not be asked or was not clearly answered, or the session ended.
    Dropped,
}
