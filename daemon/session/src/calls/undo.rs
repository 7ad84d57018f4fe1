// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a call did that the provider took back too late: it is told, and undone where its tool says how.
//!
//! What undoes is another call. If that needs nobody's consent, the device makes it by itself: it has no answer, waits for its
//! turn like any other and goes on as a job, and one note tells of both. If it needs consent, the note says how it is made, and
//! the model may propose it: nothing that a provider says leads to a guarded call.

use serde_json::Value;
use units::CallKey;

use super::{CALLS_MAX, NO_RESPONSE};
use crate::answers;
use crate::confirm::{is_guarded, permit_without_question};
use crate::ledger::{Change, Open, Own, Queued, Stage, Undoes};
use crate::notice::Notice;
use crate::session::Session;
use crate::tool::{OutcomeStatus, UndoCall};

impl Session {
    /// Tells the model what became of a call that the provider took back, if there is anything to tell. What it did is undone
    /// first, if that can be; what it may have done is not.
    pub(super) fn tell_taken_back(
        &mut self,
        call: CallKey,
        name: &str,
        change: Change,
        undo: Option<Box<UndoCall>>,
    ) -> bool {
        let Some(note) = answers::taken_back(name, change) else { return false };
        let Some(by) = undo else {
            self.note(answers::in_brackets(&note));
            return true;
        };
        let undoes = Undoes { call, name: name.to_owned(), by };
        if change != Change::Made || !self.undo(&undoes) {
            self.note_how(note, &undoes.by);
        }
        true
    }

    /// Makes the call that undoes another, unless that must not be, or not by itself.
    fn undo(&mut self, undoes: &Undoes) -> bool {
        let UndoCall { tool, args, .. } = &*undoes.by;
        let Some(mut spec) = self.catalog.spec(tool).filter(|spec| !is_guarded(spec) && !spec.ends_session)
        else {
            return false;
        };
        let Ok(prepared) = self.catalog.prepare(tool, args) else { return false };
        let is_made = self.ledger.equal_in_flight(&spec.name, &prepared.digest).is_some()
            || self.ledger.is_job(&spec.name, &prepared.digest);
        if is_made || self.ledger.len() >= CALLS_MAX || !self.ledger.finished.begin_undo(undoes.call) {
            return false;
        }
        // What an earlier call of the model did that equals this one is not undone in its turn.
        self.ledger.on_asked_again(&spec.name, &prepared.digest);
        let (key, args) = (self.ledger.next_key(), prepared.args.clone());
        let Ok(permit) = permit_without_question(key, &spec, prepared, self.person.turn()) else {
            self.ledger.finished.end_undo(undoes.call, false);
            return false;
        };
        // Nobody has asked for it: nobody waits, and nobody is asked to speak about it.
        (spec.job, spec.needs_result_now) = (true, false);
        let name = spec.name.clone();
        self.cx.notice(Notice::CallMade { call: key, name: name.clone(), args, undoes: Some(undoes.call) });
        let own = Some(Own::Undoes(undoes.clone()));
        let queued = Queued { permit, spec, settled_at: self.cx.now, after: None, own };
        self.ledger.keep(key, Open { name, response: NO_RESPONSE, stage: Stage::Queued(Box::new(queued)) });
        true
    }

    /// An equal call has begun, and nobody knows how it ends: what would have undone another does not run.
    pub(super) fn drop_undo(&mut self, call: CallKey) {
        let Some(Open { name, stage: Stage::Queued(queued), .. }) = self.ledger.take(call) else { return };
        self.cx.notice(Notice::CallClosed { call, name, why: "an equal call is under way" });
        let Some(Own::Undoes(undoes)) = queued.own else { return };
        self.ledger.finished.end_undo(undoes.call, false);
        if let Some(note) = answers::taken_back(&undoes.name, Change::Made) {
            self.note_how(note, &undoes.by);
        }
    }

    /// The call that was to undo another has ended.
    pub(super) fn on_undo_over(&mut self, undoes: &Undoes, status: OutcomeStatus, body: &Value) {
        let undone = status == OutcomeStatus::Success;
        self.ledger.finished.end_undo(undoes.call, undone);
        let Some(note) = answers::taken_back(&undoes.name, Change::Made) else { return };
        let note = answers::undone(&note, &undoes.by.tool, status, body);
        if undone {
            self.note(answers::in_brackets(&note));
        } else {
            self.note_how(note, &undoes.by);
        }
    }

    /// Notes it, with how it can be undone if the model can do that.
    fn note_how(&mut self, note: String, by: &UndoCall) {
        let how = self.visible(&by.tool).map(|_| answers::how_to_undo(&by.tool, &by.shown));
        self.note(answers::in_brackets(&how.map_or(note.clone(), |how| format!("{note}. {how}"))));
    }
}
