//! From a call's answer to the message that carries it.

use serde_json::Value;
use units::CallKey;

use crate::Output;
use crate::answers;
use crate::ledger::{Change, Given, Owes, Place, Response, Told};
use crate::notice::Notice;
use crate::seam::{Answer, FollowUp, Intent};
use crate::session::Session;
use crate::tool::OnBargeIn;

impl Session {
    /// Gives a call that was taken out of the ledger its one answer, and the same to those that share it.
    pub(super) fn answer(&mut self, call: CallKey, name: String, told: Told) {
        self.answer_copies(call, &told.body);
        self.ledger.fill(call, name, told);
    }

    pub(super) fn answer_copies(&mut self, call: CallKey, body: &Value) {
        for copy in self.ledger.copies_of(call) {
            if let Some(open) = self.ledger.take(copy) {
                self.ledger.fill_copy(copy, open.name, body.clone(), call);
            }
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
        let spoken_over = self
            .person
            .speaks_for(self.cx.now)
            .is_some_and(|span| span >= self.cx.config.barge_in_min_speech);
        let stale = self.cx.now - asked_at >= self.cx.config.stale_after;
        let in_time = |given: &&Given| !(spoken_over || stale || given.spoken_over);
        let owed = given.iter().filter(in_time).any(|given| match self.owed_by(given.told.owes) {
            Owes::Silence => false,
            Owes::SpeechIfNone => !spoke,
            Owes::Speech => true,
        });
        if owed {
            self.asked_to_speak = true;
            self.tally.follow_ups += 1;
            self.record(|record| record.hops += 1);
        }
        let last = given.len().saturating_sub(1);
        let mut sent = Vec::with_capacity(given.len());
        for (place, given) in given.into_iter().enumerate() {
            let follow_up = if owed && place == last { FollowUp::WhenIdle } else { FollowUp::Silent };
            let over = given.spoken_over || spoken_over;
            let Given { call, id, asked_at, name, told: Told { mut body, by, .. }, copy_of, .. } = given;
            match by {
                Some(_) if stale => answers::instruct(&mut body, answers::STALE),
                Some(OnBargeIn::Finish) if over => answers::instruct(&mut body, answers::SPOKEN_OVER),
                Some(OnBargeIn::Finish | OnBargeIn::Cancel) | None => {}
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
            sent.push(Answer { id, name, body, follow_up });
        }
        self.cx.emit(Output::Send(Intent::Answer(sent)));
        self.record_progress();
        self.on_clips_answered(id, owed);
    }

    fn note_response(&mut self, response: Response) {
        self.drop_clips(response.id);
        for place in response.places {
            let Place::Answered(given) = place else { continue };
            if given.told.change != Change::Nothing {
                self.note(answers::late_result_note(&given.name, &given.told.body));
            }
            self.cx.notice(Notice::CallClosed {
                call: given.call,
                name: given.name,
                why: "the conversation that asked is gone",
            });
        }
    }
}

/// The word that a body says of how the call ended.
pub(super) fn status_of(body: &Value) -> &str {
    body.get("status").and_then(Value::as_str).unwrap_or_default()
}
