// SPDX-License-Identifier: MIT OR Apache-2.0

//! One consistent status value.

use units::{CallKey, Epoch, PendingId, TurnId};

/// What the session is about at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What it does.
    pub phase: Phase,
    /// The link.
    pub link: LinkState,
    /// The connection that is, or was last, up.
    pub epoch: Epoch,
    /// The person's last turn.
    pub turn: TurnId,
    /// Microphone audio is let out.
    pub uplink_open: bool,
    /// Calls without an answer, oldest first.
    pub calls: Vec<OpenCall>,
    /// The confirmation gate.
    pub gate: GateState,
    /// Questions on the screen, oldest first.
    pub on_screen: Vec<PendingId>,
    /// Calls answered since start.
    pub answered: u64,
}

/// What the session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not started, or ended.
    Off,
    /// Nobody speaks and nothing is owed.
    Idle,
    /// The person speaks.
    Listening,
    /// The person has spoken; nothing was heard in return yet.
    Waiting,
    /// The device is heard.
    Speaking,
    /// The agent said goodbye; what is queued plays out.
    Ending,
}

/// What the link does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// No link, and none wanted.
    Down,
    /// Waits to try again.
    Waiting,
    /// Being made.
    Connecting,
    /// Set up; takes audio.
    Up,
    /// Being closed.
    Closing,
}

/// One call without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Its key.
    pub call: CallKey,
    /// The tool's name.
    pub name: String,
    /// It was sent to its tool.
    pub running: bool,
}

/// What the confirmation gate does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateState {
    /// Nothing is asked.
    Clear,
    /// A question waits to be spoken, or is being spoken.
    Asking {
        /// What the person is asked to agree to.
        summary: String,
    },
    /// The question was heard; an answer is waited for.
    Waiting {
        /// What the person was asked to agree to.
        summary: String,
    },
    /// A person agreed; the model may make the call once.
    Granted {
        /// What the person agreed to.
        summary: String,
    },
}
