// SPDX-License-Identifier: MIT OR Apache-2.0

//! From a call's answer to the message that carries it.

use serde_json::Value;
use units::CallKey;

use crate::Output;
use crate::answers;
use crate::ledger::{Change, Given, Owes, Place, Response, Told};
use crate::notes::Ask;
use crate::notice::Notice;
use crate::seam::{Answer, EarlierCall, FollowUp, Intent};
use crate::session::Session;
use crate::tool::OnBargeIn;

impl Session {
    /// Gives a call that was taken out of the ledger its one answer, and the same to those that share it.
    ///
    /// The model speaks about the first, if it should, and the others are only filed; unless one was asked for after
    /// the person had spoken again. Then that is the one that it waits for, and may be the only one that it reads.
    pub(super) fn answer(&mut self, call: CallKey, name: String, mut told: Told) {
        for copy in self.ledger.copies_of(call) {
            let later = self.ledger.are_turns_apart(call, copy);
            let owes = if later { std::mem::replace(&mut told.owes, Owes::Silence) } else { Owes::Silence };
            self.answer_copy(call, copy, told.body.clone(), owes);
        }
        self.ledger.fill(call, name, told);
    }

    pub(super) fn answer_copy(&mut self, call: CallKey, copy: CallKey, body: Value, owes: Owes) {
        if let Some(open) = self.ledger.take(copy) {
            self.ledger.fill_copy(copy, open.name, Told::ours(body, owes), call);
        }
    }

    /// Sends every response whose calls all have their answers, to the conversation that asked; what another
    /// conversation asked for becomes a note.
    pub(crate) fn send_answers(&mut self) {
        while let Some((conversation, _)) = self.link.up() {
            let Some(response) = self.ledger.take_complete() else {
                return;
            };
            if response.conversation == conversation {
                self.send_response(response);
            } else {
                self.note_response(response);
            }
        }
    }

    fn send_response(&mut self, response: Response) {
        let Response { id, asked_at, spoke, places, .. } = response;
        let given: Vec<Given> = places
            .into_iter()
            .filter_map(|place| match place {
                Place::Answered(given) => Some(given),
                Place::Owed(_) => None,
            })
            .collect();
        // A click does not silence an answer; speech does, and the person's turn brings it up.
        let spoken_over = self.is_person_heard();
        let stale = self.cx.now - asked_at >= self.cx.config.stale_after;
        let in_time = |given: &&Given| !(spoken_over || stale || given.spoken_over);
        let asking = |given: &&Given| match self.owed_by(given.told.owes) {
            Owes::Silence => false,
            Owes::SpeechIfNone => !spoke,
            Owes::Speech => true,
        };
        let mut asking = given.iter().filter(in_time).filter(asking).peekable();
        let owed = asking.peek().is_some();
        let urgent = asking.any(|given| given.told.urgent);
        if owed {
            self.on_asked();
        }
        let aloud = match (urgent, self.are_follow_ups_spent()) {
            (true, _) => FollowUp::Interrupt,
            (false, true) => FollowUp::InWords,
            (false, false) => FollowUp::WhenIdle,
        };
        let turn = self.heard_turn();
        let last = given.len().saturating_sub(1);
        let mut sent = Vec::with_capacity(given.len());
        for (place, given) in given.into_iter().enumerate() {
            let follow_up = if owed && place == last { aloud } else { FollowUp::Silent };
            let over = given.spoken_over || spoken_over;
            let Given { call, id, asked_at, name, told: Told { mut body, by, .. }, copy_of, .. } = given;
            match by {
                Some(_) if stale => answers::instruct(&mut body, answers::STALE),
                Some(OnBargeIn::Finish) if over => answers::instruct(&mut body, answers::SPOKEN_OVER),
                Some(OnBargeIn::Finish | OnBargeIn::Cancel) | None => {}
            }
            self.ledger.finished.on_answered(call, turn);
            match copy_of {
                Some(original) if !over => {
                    self.ledger.finished.on_read(self.cx.now, original, turn, self.link.epoch());
                }
                Some(_) => {}
                None if over => self.ledger.finished.on_unread(call),
                None => {}
            }
            self.answered += 1;
            self.cx.notice(Notice::CallAnswered {
                call,
                name: name.clone(),
                status: status_of(&body).to_owned(),
                body: body.clone(),
                follow_up,
                latency: self.cx.now - asked_at,
                coalesced: copy_of.is_some(),
            });
            sent.push(Answer { call, id, name, body, follow_up });
        }
        self.cx.emit(Output::Send(Intent::Answer(sent)));
        self.record_progress();
        self.on_clips_answered(id, owed);
    }

    fn note_response(&mut self, response: Response) {
        self.drop_clips(response.id);
        for place in response.places {
            let Place::Answered(given) = place else { continue };
            let Given { call, id, asked_at, name, args, told, .. } = given;
            let Told { body, owes, change, by, urgent, undo: _ } = told;
            let asks = (by.is_some() && owes == Owes::Speech).then_some(Ask {
                asked_at,
                wish: answers::TELL,
                urgent,
            });
            if asks.is_some() || change != Change::Nothing {
                self.note_ended(EarlierCall { id, name: name.clone(), args, body }, asks);
            }
            self.cx.notice(Notice::CallClosed { call, name, why: "the conversation that asked is gone" });
        }
    }
}

/// The word that a body says of how the call ended.
pub(super) fn status_of(body: &Value) -> &str {
    body.get("status").and_then(Value::as_str).unwrap_or_default()
}
