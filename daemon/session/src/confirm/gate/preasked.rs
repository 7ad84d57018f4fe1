// SPDX-License-Identifier: MIT OR Apache-2.0

//! A model that puts the question first and calls only after the yes. Off unless the device's owner wants it: what was asked
//! then rests on the transcript of what the model said.

use serde_json::Value;

use super::super::Permit;
use super::super::Reading;
use super::super::evidence::reject;
use super::super::question::{Question, permit};
use super::spoken::{read, says};
use super::{Gate, Proposal};
use crate::config::ReadBack;
use crate::context::Context;
use crate::notice::{Channel, Notice, Presenter};
use crate::person::{Awaited, Person, Window};
use crate::tool::Consent;

/// Whether the person has answered this very question before the call was made.
pub(super) enum Before {
    No,
    /// Words that may be the answer are still to come.
    MayBe,
    Answered(Permit),
}

impl Gate {
    pub(super) fn preasked(
        &mut self,
        cx: &mut Context,
        person: &Person,
        proposal: &Proposal,
        summary: &str,
        patient: bool,
    ) -> Before {
        let Some(asked) = &self.preasked else { return Before::No };
        let Proposal { spec, prepared, .. } = proposal;
        if spec.consent != Consent::Voice || !are_all_in(&prepared.args, &prepared.slots) {
            return Before::No;
        }
        let (heard_at, turn) = (asked.heard_at, asked.turn);
        let id = self.last_pending.next();
        let read_back = ReadBack::Model { then_device: false };
        let parts = (spec.clone(), prepared.clone());
        let question = Question::new(id, parts, summary.to_owned(), turn, read_back);
        let sentence = question.in_the_models_words(&cx.config.lines);
        if !says(cx, &question, &sentence, &asked.text) {
            return Before::No;
        }
        let window = Window { asked_in: turn, heard_at, last: None };
        if patient && person.awaited(cx.now, &cx.config.gate, window) != Awaited::Nothing {
            return Before::MayBe;
        }
        let Some(said) = self.said.take_if(|said| said.turn == person.turn()) else { return Before::No };
        let why = reject(&cx.config.gate, cx.now, &self.ears, &question.asked(heard_at, None), &said);
        let read = match why {
            Some(why) => Err(why),
            None => Ok(read(cx, &question, &said)),
        };
        self.preasked = None;
        if read != Ok(Reading::Yes) {
            return Before::No;
        }
        self.last_pending = id;
        cx.notice(Notice::GatePending {
            pending: id,
            tool: spec.name.clone(),
            summary: summary.to_owned(),
            consent: spec.consent,
            replaces: None,
        });
        cx.notice(Notice::GatePresented { pending: id, by: Presenter::Model });
        self.note_evidence(cx, id, &said, Some(heard_at), read);
        let grant = self.grant(cx, &question, Channel::Voice);
        cx.notice(Notice::GateSpent { grant, call: proposal.key });
        let until = cx.now + cx.config.gate.grant;
        Before::Answered(permit(question, grant, (proposal.key, proposal.turn), (said.turn, until)))
    }
}

/// Whether everything in `args` is among the pieces that had to be heard exactly.
fn are_all_in(args: &Value, slots: &[String]) -> bool {
    match args {
        Value::String(text) => slots.iter().any(|slot| slot == text),
        Value::Number(number) => slots.iter().any(|slot| *slot == number.to_string()),
        Value::Array(items) => items.iter().all(|item| are_all_in(item, slots)),
        Value::Object(fields) => fields.values().all(|field| are_all_in(field, slots)),
        // There is no word for it that could be compared.
        Value::Bool(_) | Value::Null => false,
    }
}
