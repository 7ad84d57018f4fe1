// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the model is told outside of answers, and what it is asked to say by itself.
//!
//! A note joins the conversation in silence. One that the person waits to hear about asks the model to speak, which cuts
//! off whatever it says: so it waits until nobody speaks, nothing plays and nothing is owed. Where that would be wrong
//! (the person speaks, a question is open, the turn has no follow-ups left, it is too late) it is a note like any other.

use std::collections::VecDeque;

use units::{Instant, TurnId};

use crate::Output;
use crate::answers;
use crate::engage::Run;
use crate::notice::Notice;
use crate::seam::{Capabilities, EarlierCall, Intent};
use crate::session::Session;
use crate::timers::Timer;

/// What is kept to be said to the model at most.
const NOTES_MAX: usize = 16;

/// What waits to be told, in order.
#[derive(Default)]
pub(crate) struct Notes {
    waiting: VecDeque<Note>,
    /// The person has waited too long, and nothing runs that would end their wait.
    nudge: bool,
}

struct Note {
    what: What,
    asks: Option<Ask>,
    since: Instant,
}

/// What there is to be told.
enum What {
    Text(String),
    /// How a call of an earlier conversation ended: as a call where the provider takes that, else in words.
    Ended(EarlierCall),
}

impl What {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Ended(EarlierCall { name, body, .. }) => answers::late_result_note(&name, &body),
        }
    }
}

/// Why the model should speak because of a note.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    /// When the person, or the model for them, asked for it.
    pub(crate) asked_at: Instant,
    /// What the model should do.
    pub(crate) wish: &'static str,
    /// It does not wait for the model to finish.
    pub(crate) urgent: bool,
}

/// What is to be done with a note at this moment.
enum Manner {
    /// Told in silence, with this added.
    Silent(&'static str),
    Wait,
    Aloud,
}

impl Session {
    /// Notes something for the model, for when it can be told.
    pub(crate) fn note(&mut self, text: String) {
        self.keep_note(What::Text(text), None);
    }

    /// Notes something that the model should speak about.
    pub(crate) fn ask(&mut self, text: String, ask: Ask) {
        self.keep_note(What::Text(text), Some(ask));
    }

    /// Notes how a call ended that the conversation does not know of; the model should speak about it if it `asks`.
    pub(crate) fn note_ended(&mut self, call: EarlierCall, asks: Option<Ask>) {
        self.keep_note(What::Ended(call), asks);
    }

    fn keep_note(&mut self, what: What, asks: Option<Ask>) {
        self.notes.waiting.push_back(Note { what, asks, since: self.cx.now });
        if self.notes.waiting.len() > NOTES_MAX
            && let Some(Note { what, .. }) = self.notes.waiting.pop_front()
        {
            self.cx.notice(Notice::NoteDropped { text: what.into_text(), why: "too many wait" });
        }
    }

    pub(crate) fn drop_notes(&mut self, why: &'static str) {
        self.notes.nudge = false;
        for Note { what, .. } in std::mem::take(&mut self.notes.waiting) {
            self.cx.notice(Notice::NoteDropped { text: what.into_text(), why });
        }
    }

    /// The person waits in vain: the model is asked for an answer when the device has said so.
    pub(crate) fn nudge(&mut self) {
        self.notes.nudge = self.ledger.is_at_rest() && !self.are_follow_ups_spent();
    }

    /// The person speaks, or the model does something: it need not be asked to.
    pub(crate) fn drop_nudge(&mut self) {
        self.notes.nudge = false;
    }

    pub(crate) fn send_notes(&mut self) {
        self.cx.timers.clear(Timer::Telling);
        let Some((conversation, capabilities)) = self.link.up() else {
            return;
        };
        let capabilities = capabilities.clone();
        if capabilities.hold_uplink_during_calls && self.ledger.owes(conversation) {
            return;
        }
        while let Some(Note { asks, since, .. }) = self.notes.waiting.front() {
            let manner = match asks {
                Some(ask) => self.manner(*ask, *since),
                // It would cut off what the model says.
                None if self.reply.open().is_some() => Manner::Wait,
                None => Manner::Silent(""),
            };
            match manner {
                Manner::Wait => {
                    self.wait_to_tell(*since);
                    return;
                }
                Manner::Aloud => self.ask_all(&capabilities),
                Manner::Silent(added) => self.tell_first(&capabilities, added),
            }
        }
        if self.notes.nudge && self.is_quiet(false) {
            self.send_ask(Intent::AskInWords(answers::NUDGE.to_owned()));
            // What it calls from here on is refused.
            self.tally.follow_ups = self.tally.follow_ups.max(self.cx.config.max_follow_ups);
        }
    }

    /// Wakes when it shows whether the person speaks or made a noise, or when the model's turn has been waited for.
    fn wait_to_tell(&mut self, since: Instant) {
        let now = self.cx.now;
        let at = match self.person.speaks_for(now) {
            Some(span) => now + self.cx.config.barge_in_min_speech.saturating_sub(span),
            None => since + self.cx.config.patience.reply,
        };
        if at > now {
            self.cx.timers.set(Timer::Telling, at);
        }
    }

    fn manner(&self, ask: Ask, since: Instant) -> Manner {
        let now = self.cx.now;
        if now - ask.asked_at >= self.cx.config.stale_after {
            return Manner::Silent(answers::STALE);
        }
        if self.is_person_heard() {
            return Manner::Silent(answers::SPOKEN_OVER);
        }
        if !self.gate.is_clear() || self.are_follow_ups_spent() || self.run != Run::On {
            return Manner::Silent(ask.wish);
        }
        let waited = now - since >= self.cx.config.patience.reply;
        let quiet =
            self.is_quiet(waited) || (ask.urgent && self.ledger.is_empty() && !self.person.is_speaking());
        if quiet { Manner::Aloud } else { Manner::Wait }
    }

    /// Nobody speaks or is about to, and nothing is owed. A turn that the model has spoken in and not closed may go on,
    /// but is not waited for for ever: not if that has been `waited` for.
    fn is_quiet(&self, waited: bool) -> bool {
        let closed = self.reply.is_closed() || (waited && self.reply.is_quiet());
        closed
            && self.run == Run::On
            && self.gate.is_clear()
            && self.ledger.is_empty()
            && self.waiting.is_none()
            && !self.asked_to_speak
            && !self.person.is_speaking()
            && !self.playout.is_pending()
            && !self.link.is_due_to_rotate()
    }

    fn tell_first(&mut self, capabilities: &Capabilities, added: &str) {
        let Some(Note { what, .. }) = self.notes.waiting.pop_front() else { return };
        match what {
            What::Ended(mut call) if capabilities.takes_earlier_calls => {
                if !added.is_empty() {
                    answers::instruct(&mut call.body, added);
                }
                self.cx.emit(Output::Send(Intent::Earlier(call)));
            }
            what @ (What::Text(_) | What::Ended(_)) if capabilities.takes_notes => {
                self.cx.emit(Output::Send(Intent::Note(with(what.into_text(), added))));
            }
            what @ (What::Text(_) | What::Ended(_)) => {
                let why = "the model takes no notes";
                self.cx.notice(Notice::NoteDropped { text: what.into_text(), why });
            }
        }
    }

    /// All that waits: the model speaks once.
    fn ask_all(&mut self, capabilities: &Capabilities) {
        let mut texts = Vec::new();
        for Note { what, asks, .. } in std::mem::take(&mut self.notes.waiting) {
            let text = match what {
                What::Ended(call) if capabilities.takes_earlier_calls => {
                    let about = answers::late_result(&call.name);
                    self.cx.emit(Output::Send(Intent::Earlier(call)));
                    about
                }
                what @ (What::Text(_) | What::Ended(_)) => what.into_text(),
            };
            texts.push(with(text, asks.map_or("", |ask| ask.wish)));
        }
        self.send_ask(Intent::Ask(texts.join("\n")));
    }

    fn send_ask(&mut self, ask: Intent) {
        self.notes.nudge = false;
        self.cx.emit(Output::Send(ask));
        self.on_asked();
    }

    /// The model was asked to speak.
    pub(crate) fn on_asked(&mut self) {
        self.asked_to_speak = true;
        self.cx.after(Timer::Asked, self.cx.config.patience.reply);
        self.tally.follow_ups = self.tally.follow_ups.saturating_add(1);
        self.record(|record| record.hops += 1);
    }

    /// It has spoken, or need not, or had its time to.
    pub(crate) fn on_asked_over(&mut self) {
        self.asked_to_speak = false;
        self.cx.timers.clear(Timer::Asked);
    }

    /// The model was asked to speak as often as it may be in this turn.
    pub(crate) fn are_follow_ups_spent(&self) -> bool {
        self.tally.follow_ups >= self.cx.config.max_follow_ups
    }

    /// The last turn in which the person was heard, and not just a click.
    pub(crate) fn heard_turn(&self) -> TurnId {
        if self.is_person_heard() { self.person.turn() } else { self.heard_turn }
    }

    /// The person speaks, and not just for a click.
    pub(crate) fn is_person_heard(&self) -> bool {
        let span = self.person.speaks_for(self.cx.now);
        span.is_some_and(|span| span >= self.cx.config.barge_in_min_speech)
    }
}

fn with(text: String, added: &str) -> String {
    if added.is_empty() { text } else { format!("{text} {added}") }
}
