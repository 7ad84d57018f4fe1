// SPDX-License-Identifier: MIT OR Apache-2.0

//! When an earcon sounds, and the microphone's being off, which two of them tell of.
//!
//! An earcon is an utterance of the audio worker that the session knows nothing of: it says nothing, so it is no part of what
//! was heard between a question and its answer.

use std::time::Duration;

use audio::{Command, Priority};
use session::{LinkState, Notice};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tracing::{info, warn};
use units::UtteranceId;

use super::Running;
use crate::clip::earcon::Earcon;

/// Ids from here on are those of earcons. The session counts its own up from 0.
const FIRST_ID: u64 = 1 << 63;

/// What has sounded.
#[derive(Debug, Default)]
pub(super) struct Cues {
    count: u64,
    /// Whether the microphone was off when that was last told.
    muted: Option<bool>,
    /// It was to be switched on, and the worker has not said whether it is.
    unmute_asked: bool,
    /// It is known where the switch of the hardware stands.
    line_known: bool,
    /// The service could not be reached when that was last told.
    offline: bool,
    /// Ticks while everything is recorded.
    recording: Option<Interval>,
}

/// How often those who are recorded are told: nobody stands there for longer without having heard it.
const RECORDED_EVERY: Duration = Duration::from_secs(30);

impl Cues {
    /// Waits until it is to be heard that everything is recorded: at once, and again and again. Safe to drop.
    pub(super) async fn recorded(&mut self) {
        match &mut self.recording {
            Some(ticks) => drop(ticks.tick().await),
            None => std::future::pending().await,
        }
    }

    pub(super) const fn is_recording(&self) -> bool {
        self.recording.is_some()
    }
}

/// Whether this utterance is an earcon.
pub(super) const fn is_earcon(utterance: UtteranceId) -> bool {
    utterance.0 >= FIRST_ID
}

impl Running {
    /// Has `earcon` sound, if it has a sound, before everything that waits.
    pub(super) fn cue(&mut self, earcon: Earcon) {
        let Some(pcm) = self.driver.earcons.find(earcon).cloned() else { return };
        let utterance = UtteranceId(FIRST_ID + self.cues.count);
        self.cues.count += 1;
        self.command(Command::Append { utterance, priority: Priority::Earcon, pcm });
        self.command(Command::Finish { utterance });
    }

    /// The sound that goes with what the session tells of.
    pub(super) fn cue_for(&mut self, notice: &Notice) {
        if matches!(notice, Notice::GateGranted { .. }) {
            self.cue(Earcon::Confirm);
        } else if matches!(notice, Notice::TurnClosed { .. }) && self.link.is_some() {
            self.cue(Earcon::Thinking);
        }
        let Notice::Link { state, text, .. } = notice else { return };
        match state {
            LinkState::Up => {
                self.cues.offline = false;
                self.cue(Earcon::Listening);
            }
            // Once an outage, however often it is tried to end it.
            LinkState::Waiting | LinkState::Down if !text.is_empty() && !self.cues.offline => {
                self.cues.offline = true;
                self.cue(Earcon::Offline);
            }
            LinkState::Waiting | LinkState::Down | LinkState::Connecting | LinkState::Closing => {}
        }
    }

    /// Everything is recorded from here on, or no longer.
    pub(super) fn on_recording(&mut self, on: bool) {
        if on {
            warn!("what is said and played here is recorded for diagnosis: see audio.recording");
            let mut ticks = interval(RECORDED_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            self.cues.recording = Some(ticks);
        } else {
            self.cues.recording = None;
        }
        self.tell_status();
    }

    /// A person, by whatever, wants the microphone off or on: that is kept.
    pub(super) fn on_mute_asked(&mut self, off: bool) {
        self.cues.unmute_asked = !off;
        if let Some(memory) = &self.driver.mute_memory {
            memory.keep(off);
        }
    }

    pub(super) fn on_mute_line(&mut self, off: bool) {
        self.cues.line_known = true;
        self.command(Command::MuteLine(off));
    }

    /// The microphone is off, or on, from here on.
    pub(super) fn on_muted(&mut self, muted: bool) {
        let was_asked = std::mem::take(&mut self.cues.unmute_asked);
        if self.line.is_there() && !self.cues.line_known {
            // It is off until that is known: no news.
            return;
        }
        let before = self.cues.muted.replace(muted);
        if before != Some(muted) {
            info!("the microphone is {}", if muted { "off" } else { "on" });
            match (before, muted) {
                // A start with the microphone on is what everybody expects.
                (None, false) => {}
                (_, true) => self.cue(Earcon::Muted),
                (Some(_), false) => self.cue(Earcon::Unmuted),
            }
        } else if muted && was_asked {
            info!("the microphone stays off: the switch of the hardware holds it");
            self.cue(Earcon::Muted);
        }
    }
}
