// SPDX-License-Identifier: MIT OR Apache-2.0

//! When microphone audio is let out.

use std::time::Duration;

use units::Instant;

use crate::engage::Run;
use crate::session::Session;
use crate::timers::Timer;
use crate::{Intent, Output};

/// The uplink gate. It only opens and closes; the audio never comes through here.
pub(crate) struct Uplink {
    state: State,
    /// When the first speech began that was not let out.
    onset: Option<Instant>,
    hold_over: bool,
    /// The microphone is switched off.
    muted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is no link, or the microphone is off.
    Shut,
    /// The link must not carry audio while a call is unanswered. What is said meanwhile is lost on purpose.
    Held,
    Open,
}

impl Uplink {
    pub(crate) fn new() -> Self {
        Self { state: State::Shut, onset: None, hold_over: false, muted: false }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Speech began at `onset`. The first that waits to be let out counts, unless it is too old to be kept.
    pub(crate) fn on_speech(&mut self, now: Instant, onset: Instant, kept: Duration) {
        let stale = self.onset.is_none_or(|first| now - first > kept);
        if self.state == State::Shut && stale {
            self.onset = Some(onset);
        }
    }

    /// The microphone was switched off, or on again.
    pub(crate) fn on_muted(&mut self, muted: bool) {
        self.muted = muted;
    }

    /// Audio was withheld for long enough: better a broken link than a deaf device.
    pub(crate) fn on_hold_over(&mut self) {
        self.hold_over = true;
    }
}

impl Session {
    pub(crate) fn set_uplink(&mut self) {
        let wanted = self.wanted_uplink();
        let was = std::mem::replace(&mut self.uplink.state, wanted);
        if was == wanted {
            return;
        }
        match wanted {
            State::Open => {
                let preroll = if was == State::Shut { self.late_audio() } else { Duration::ZERO };
                self.uplink.onset = None;
                self.cx.timers.clear(Timer::UplinkHold);
                self.cx.emit(Output::UplinkOpen { preroll });
            }
            State::Held => {
                self.cx.after(Timer::UplinkHold, self.cx.config.patience.uplink_hold);
                self.close_uplink(was);
            }
            State::Shut => {
                self.cx.timers.clear(Timer::UplinkHold);
                self.close_uplink(was);
                if was == State::Open && self.uplink.muted && self.link.up().is_some() {
                    // It would wait for the end of a word that it never hears.
                    self.cx.emit(Output::Send(Intent::AudioStreamEnd));
                }
            }
        }
    }

    fn close_uplink(&mut self, was: State) {
        if was == State::Open {
            self.cx.emit(Output::UplinkClose);
        }
    }

    fn wanted_uplink(&mut self) -> State {
        let working = matches!(self.run, Run::On | Run::Ending(_));
        let listens = working && !self.uplink.muted;
        let Some((conversation, capabilities)) = self.link.up().filter(|_| listens) else {
            self.uplink.hold_over = false;
            return State::Shut;
        };
        let owes = capabilities.hold_uplink_during_calls && self.ledger.owes(conversation);
        self.uplink.hold_over &= owes;
        if owes && !self.uplink.hold_over { State::Held } else { State::Open }
    }

    /// How much audio from before is sent first, so that what was said while the link was made is not lost.
    fn late_audio(&self) -> Duration {
        let kept = self.cx.config.preroll_max;
        match self.uplink.onset.map(|onset| self.cx.now - onset) {
            Some(age) if age <= kept || self.person.is_speaking() => (age + self.cx.config.preroll).min(kept),
            Some(_) | None => Duration::ZERO,
        }
    }
}
