// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls that a person makes: by a tap, with the button, or by what completes an agreement. The device makes them at once with
//! the arguments that were agreed to; the model reads of it in a note, or in the answer of an equal call of its own.

use serde_json::Value;
use units::{CallKey, UtteranceId};

use super::NO_RESPONSE;
use crate::answers;
use crate::confirm::{Approval, Permit, Presented, Proposal};
use crate::ledger::{Open, Owes, Own, Queued, Running, Stage, Told};
use crate::notice::{GateEnd, Notice, Spoken};
use crate::person::Said;
use crate::seam::Intent;
use crate::session::Session;

impl Session {
    /// Makes the call of this approval, if there is one.
    pub(crate) fn make_agreed(&mut self, approval: Option<Approval>) {
        let Some(approval) = approval else { return };
        let key = self.ledger.next_key();
        let (grant, summary) = (approval.grant(), approval.summary().to_owned());
        let until = self.cx.now + self.cx.config.gate.grant;
        let (mut spec, permit) = approval.into_call(key, self.person.turn(), until);
        // The rest of the question need not be heard.
        if self.playout.is_question_pending() {
            self.playout.flush(&mut self.cx, None);
        }
        // No answer waits for it.
        spec.needs_result_now = false;
        let (name, args) = (spec.name.clone(), permit.args().clone());
        self.cx.notice(Notice::CallMade { call: key, name: name.clone(), args, undoes: None });
        self.cx.notice(Notice::GateSpent { grant, call: key });
        self.ledger.on_asked_again(&name, permit.digest());
        let own = Some(Own::Agreed { summary });
        let queued = Queued { permit, spec, settled_at: self.cx.now, after: None, own };
        self.ledger.keep(key, Open { name, response: NO_RESPONSE, stage: Stage::Queued(Box::new(queued)) });
    }

    /// Such a call has ended: equal calls of the model read how; if there are none, it is noted.
    pub(super) fn conclude_agreed(&mut self, call: CallKey, name: &str, summary: &str, body: &Value) {
        let copies = self.ledger.copies_of(call);
        if copies.is_empty() {
            self.note(answers::agreed(summary, name, body));
        }
        for copy in copies {
            self.answer_copy(call, copy, answers::repeated(body.clone()), Owes::SpeechIfNone);
        }
    }

    /// What was said takes back what was agreed to and has not started.
    pub(crate) fn reconsider_queued(&mut self, said: &Said) {
        let taken_back: Vec<(CallKey, GateEnd)> = self
            .ledger
            .agreed()
            .filter_map(|(call, permit)| Some((call, self.gate.takes_back(&self.cx, permit, said)?)))
            .collect();
        for (call, how) in taken_back {
            self.void(call, how);
        }
    }

    /// Calls that were agreed to and have waited too long for their turn do not run any more.
    pub(super) fn void_lapsed(&mut self) {
        let now = self.cx.now;
        let lapsed = |(call, permit): (CallKey, &Permit)| {
            permit.agreed().is_some_and(|agreed| agreed.until < now).then_some(call)
        };
        for call in self.ledger.agreed().filter_map(lapsed).collect::<Vec<_>>() {
            self.void(call, GateEnd::Expired);
        }
    }

    /// Nothing that the person before agreed to, or was asked, concerns the next one.
    pub(crate) fn on_person_changed(&mut self) {
        self.gate.drop_all(&mut self.cx);
        self.person_since = self.cx.now;
        for call in self.ledger.agreed().map(|(call, _)| call).collect::<Vec<_>>() {
            self.void(call, GateEnd::Dropped);
        }
        for call in self.ledger.select(|open| matches!(open.stage, Stage::Held(_))) {
            if let Some(Open { name, .. }) = self.ledger.take(call) {
                self.answer(call, name, Told::ours(answers::cancelled(), Owes::Silence));
            }
        }
    }

    fn void(&mut self, call: CallKey, how: GateEnd) {
        let Some(Open { name, stage: Stage::Queued(queued), .. }) = self.ledger.take(call) else { return };
        let turn = self.person.turn();
        let body = self.gate.on_taken_back(&mut self.cx, turn, &queued.permit, how);
        match queued.own {
            Some(Own::Agreed { summary }) => {
                let why = "what was agreed to was taken back, or had waited too long";
                self.cx.notice(Notice::CallClosed { call, name: name.clone(), why });
                self.conclude_agreed(call, &name, &summary, &body);
            }
            Some(Own::Undoes(_)) | None => self.answer(call, name, Told::ours(body, Owes::Speech)),
        }
    }

    /// Such a call must not run: an equal one has begun, and nobody knows how it ends.
    pub(super) fn drop_agreed(&mut self, call: CallKey) {
        let Some(Open { name, stage: Stage::Queued(queued), .. }) = self.ledger.take(call) else { return };
        let Some(Own::Agreed { summary }) = queued.own else { return };
        self.cx.notice(Notice::CallClosed { call, name: name.clone(), why: "an equal call is under way" });
        self.conclude_agreed(call, &name, &summary, &answers::outcome_unknown());
    }

    /// What a person agreed to is not any more what would be done: nothing was, and they are asked anew.
    pub(crate) fn on_superseded(&mut self, call: CallKey, summary: String) {
        if !self.ledger.is_running(call) {
            return;
        }
        let Some(Open { name, stage: Stage::Running(running), .. }) = self.ledger.take(call) else {
            return;
        };
        let Running { spec, agreed, own, turn, started, .. } = *running;
        // Who is asked anew must be who had agreed.
        let args = agreed.filter(|_| started >= self.person_since);
        let prepared = args.ok_or_else(String::new).and_then(|args| self.catalog.prepare(&spec.name, &args));
        // The surface it was asked on may have been chosen for that question.
        let spec = self.catalog.spec(&spec.name).unwrap_or(spec);
        let (body, owes) = match prepared {
            Ok(prepared) => {
                let proposal = Proposal { key: call, name: name.clone(), spec, prepared, turn };
                self.gate.on_superseded(&mut self.cx, &self.person, proposal, summary)
            }
            Err(_) => (answers::cancelled(), Owes::Speech),
        };
        match own {
            Some(Own::Agreed { summary }) => self.conclude_agreed(call, &name, &summary, &body),
            Some(Own::Undoes(_)) | None => self.answer(call, name, Told::ours(body, owes)),
        }
    }

    /// Has a question put that waits for quiet.
    pub(crate) fn ask_person(&mut self) {
        match self.gate.present(&mut self.cx, &mut self.playout) {
            Presented::Nothing | Presented::Spoken => {}
            Presented::ByModel(text) => {
                self.cx.emit(crate::Output::Send(Intent::Ask(text)));
                self.on_asked();
            }
        }
    }

    /// Tells the model what became of questions that it was promised to hear of.
    pub(crate) fn note_gate_news(&mut self) {
        for news in self.gate.take_news() {
            self.note(news);
        }
    }

    /// An utterance is over, and with it its words.
    pub(crate) fn on_words_played(&mut self, utterance: UtteranceId, what: Spoken, cut: bool) {
        let words = match what {
            Spoken::Reply => self.reply.take_words(utterance),
            Spoken::Line(_) => self.playout.take_words(utterance),
            Spoken::Clip => None,
        };
        if what == Spoken::Reply {
            let text = words.as_deref().unwrap_or_default().trim();
            self.gate.on_reply_played(&mut self.cx, self.person.turn(), (utterance, text), cut);
        }
        self.gate.on_silent(self.cx.now, utterance, words);
    }
}
