// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was agreed to and has not started: it can be taken back, and it may not hold any more.

use serde_json::Value;
use units::TurnId;

use super::super::wording::refused;
use super::super::{Permit, Reading};
use super::{Gate, GateEnd, Proposal, Verdict};
use crate::context::Context;
use crate::ledger::Owes;
use crate::lexicon;
use crate::notice::Notice;
use crate::person::{Person, Said};

impl Gate {
    /// What was said takes back what was agreed to, as far as `permit` hears of it.
    pub(crate) fn takes_back(&self, cx: &Context, permit: &Permit, said: &Said) -> Option<GateEnd> {
        let agreed = permit.agreed().filter(|agreed| said.turn >= agreed.from)?;
        let gate = &cx.config.gate;
        match lexicon::read(gate.locale, &gate.other_locales, &said.text, &agreed.expected()) {
            Reading::No => Some(GateEnd::Declined),
            Reading::Amend => Some(GateEnd::Amended),
            Reading::Yes | Reading::Unclear => None,
        }
    }

    /// A call that was agreed to has started.
    pub(crate) fn on_started(&mut self, cx: &Context, tool: &str) {
        self.limits.on_effect(&cx.config.gate, cx.now, tool);
    }

    /// A call that was agreed to and has not started does not run: the person has said so.
    pub(crate) fn on_taken_back(
        &mut self,
        cx: &mut Context,
        turn: TurnId,
        permit: &Permit,
        how: GateEnd,
    ) -> Value {
        let Some(agreed) = permit.agreed() else { return refused(super::super::wording::LAPSED) };
        let text = match how {
            GateEnd::Declined => super::super::wording::SAID_NO,
            GateEnd::Amended => super::super::wording::SAID_OTHER,
            GateEnd::Expired | GateEnd::Superseded | GateEnd::Dropped => super::super::wording::LAPSED,
        };
        cx.notice(Notice::GateClosed { pending: agreed.pending, how });
        self.remember(cx, turn, *permit.digest(), permit.name(), how, text);
        refused(text)
    }

    /// A person agreed to a call that would do something else by now: its question is asked anew, in these words.
    pub(crate) fn on_superseded(
        &mut self,
        cx: &mut Context,
        person: &Person,
        mut proposal: Proposal,
        summary: String,
    ) -> (Value, Owes) {
        proposal.prepared.summary = Some(summary);
        if self.state.question().is_some_and(|open| open.spec.name != proposal.spec.name) {
            // It takes the place of nothing that a person is being asked or has agreed to.
            let Verdict::Answer(body, owes) = self.propose_beside(cx, person, proposal, false) else {
                return (refused(super::super::wording::LAPSED), Owes::Speech);
            };
            return (body, owes);
        }
        match self.propose(cx, person, proposal, false) {
            Verdict::Answer(mut body, owes) => {
                if body["status"] == "pending_confirmation" {
                    body["replaced"] = Value::Bool(true);
                }
                (body, owes)
            }
            // A proposal that is not preasked neither runs nor waits.
            Verdict::Run(_) | Verdict::Held(_) => (refused(super::super::wording::LAPSED), Owes::Speech),
        }
    }
}
