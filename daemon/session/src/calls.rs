// SPDX-License-Identifier: MIT OR Apache-2.0

//! A call from its arrival to the decision what becomes of it.

mod agreed;
mod answer;
mod jobs;
mod run;
mod said;
mod stop;
mod undo;

use std::time::Duration;

use serde_json::Value;
use units::TurnId;

use crate::Output;
use crate::answers;
use crate::confirm::{Proposal, Verdict, is_guarded};
use crate::engage::Run;
use crate::ledger::{Again, InTheWay, Open, Owes, Queued, Recalled, Stage, Told};
use crate::notice::Notice;
use crate::seam::{Answer, FollowUp, Intent, ProviderCall};
use crate::session::Session;
use crate::timers::Timer;
use crate::tool::{Effect, Prepared, ToolSpec};

/// Another name of the tool that ends the session, which models know from elsewhere; it is taken for it where no tool is
/// called so.
pub const END_CALL: &str = "end_call";

/// Calls taken of one response, and open calls altogether. A model makes a handful; this bounds a broken one.
const CALLS_MAX: usize = 64;

/// The response of a call that the model did not make: none has this number.
const NO_RESPONSE: u64 = 0;

/// Calls with a place in the ledger altogether, answered ones that wait for their response included: four full
/// responses.
const PLACES_MAX: usize = 256;

/// Calls past those that are still refused one by one in the same response; what is past these gets no answer.
const REFUSED_MAX: usize = 256;

/// Refusals for want of follow-ups that still ask the model to speak; after them the device does.
const REFUSALS_SPOKEN: u32 = 3;

impl Session {
    pub(crate) fn on_calls(&mut self, calls: Vec<ProviderCall>) {
        let Some((conversation, _)) = self.link.up() else {
            return;
        };
        let response =
            self.ledger.begin_response(conversation, self.reply.spoke(), self.person.turn(), self.cx.now);
        let room = PLACES_MAX.saturating_sub(self.ledger.places()).min(CALLS_MAX);
        let mut calls = calls.into_iter();
        for ProviderCall { id, name, args } in calls.by_ref().take(room) {
            if self.ledger.knows(conversation, id.as_deref()) {
                self.cx.notice(Notice::DuplicateCall { id: id.unwrap_or_default(), name });
                continue;
            }
            let key = self.ledger.admit(response, id, args.clone(), self.cx.now);
            self.record(|record| record.calls += 1);
            self.cx.notice(Notice::CallArrived { call: key, name: name.clone(), args: args.clone() });
            match self.check(&name, &args) {
                Err((body, owes)) => self.ledger.fill(key, name, Told::ours(body, owes)),
                Ok((spec, prepared)) => {
                    let proposal = Proposal { key, name, spec, prepared, turn: self.person.turn() };
                    self.decide(response, proposal, true);
                }
            }
        }
        self.refuse_rest(conversation, calls);
    }

    /// Answers at once what the ledger has no room for, without looking at it.
    fn refuse_rest(&mut self, conversation: u64, mut rest: impl Iterator<Item = ProviderCall>) {
        let mut refused = Vec::new();
        for ProviderCall { id, name, .. } in rest.by_ref().take(REFUSED_MAX) {
            if self.ledger.knows(conversation, id.as_deref()) {
                continue;
            }
            let body = answers::too_many_calls();
            let call = self.ledger.refuse(id.as_deref());
            self.answered += 1;
            self.cx.notice(Notice::CallAnswered {
                call,
                name: name.clone(),
                status: answer::status_of(&body).to_owned(),
                body: body.clone(),
                follow_up: FollowUp::Silent,
                latency: Duration::ZERO,
                coalesced: false,
            });
            refused.push(Answer { call, id, name, body, follow_up: FollowUp::Silent });
        }
        if !refused.is_empty() {
            self.cx.emit(Output::Send(Intent::Answer(refused)));
        }
        if let Some(ProviderCall { name, .. }) = rest.next() {
            let why = "too many calls at once: it and all that came after it are dropped";
            self.cx.notice(Notice::CallClosed { call: self.ledger.next_key(), name, why });
        }
    }

    /// Everything about a call that can be decided from itself.
    fn check(&mut self, name: &str, args: &Value) -> Result<(ToolSpec, Prepared), (Value, Owes)> {
        if matches!(self.run, Run::Ending(_)) {
            return Err((answers::session_ending(), Owes::Silence));
        }
        if self.ledger.len() >= CALLS_MAX {
            return Err((answers::too_many_calls(), Owes::Speech));
        }
        if self.are_follow_ups_spent() {
            if !std::mem::replace(&mut self.tally.told_spent, true) {
                self.cx.notice(Notice::FollowUpsSpent { turn: self.person.turn() });
            }
            return Err((answers::no_more_tools(), self.owed_past_the_cap()));
        }
        let Some(spec) = self.visible(name) else {
            return Err((answers::unknown_tool(name, self.view.clone()), Owes::Speech));
        };
        if spec.effect != Effect::Read && self.reply.is_cut() {
            // It belongs to a reply that the person did not want to hear the end of.
            return Err((answers::cancelled(), Owes::Silence));
        }
        if self.tally.empty(&spec.name) >= self.cx.config.sweeps_max {
            return Err((answers::nothing_there(), Owes::Speech));
        }
        match self.catalog.prepare(&spec.name, args) {
            Ok(prepared) => Ok((spec, prepared)),
            Err(_) if self.tally.invalid(&spec.name) >= self.cx.config.invalid_max => {
                Err((answers::ask_the_person(), Owes::Speech))
            }
            Err(detail) => Err((answers::invalid_arguments(&detail), Owes::Speech)),
        }
    }

    /// The tool of this name, if the model may see it in this turn.
    fn visible(&self, name: &str) -> Option<ToolSpec> {
        let shown = |wanted: &str| self.view.iter().any(|shown| shown == wanted);
        if name == END_CALL && !shown(name) {
            return self
                .view
                .iter()
                .filter_map(|shown| self.catalog.spec(shown))
                .find(|spec| spec.ends_session);
        }
        shown(name).then(|| self.catalog.spec(name))?
    }

    /// From here on the model sees what the catalog shows at this moment.
    pub(crate) fn take_view(&mut self) {
        self.view = self.catalog.view();
    }

    fn owed_past_the_cap(&mut self) -> Owes {
        let refusals_end = self.cx.config.max_follow_ups.saturating_add(REFUSALS_SPOKEN);
        if self.tally.follow_ups < refusals_end {
            return Owes::Speech;
        }
        if self.tally.follow_ups == refusals_end {
            self.tally.follow_ups += 1;
            self.say_stuck();
        }
        Owes::Silence
    }

    /// Whether a checked call shares an answer, repeats one, runs, or is answered by the gate.
    fn decide(&mut self, response: u64, proposal: Proposal, patient: bool) {
        let key = proposal.key;
        let name = proposal.name.clone();
        let spec = proposal.spec.clone();
        let digest = proposal.prepared.digest;
        self.ledger.on_asked_again(&spec.name, &digest);
        if let Some(original) = self.ledger.equal_in_flight(&spec.name, &digest) {
            self.ledger.keep(key, Open { name, response, stage: Stage::Copy(original) });
            return;
        }
        if self.ledger.is_job(&spec.name, &digest) {
            self.ledger.fill(key, name, Told::ours(answers::running(), Owes::SpeechIfNone));
            return;
        }
        if let Some((body, owes)) = self.done_before(&spec, &digest, proposal.turn) {
            self.ledger.fill(key, name, Told::ours(body, owes));
            return;
        }
        if self.must_wait_for_link(&spec) && (!is_guarded(&spec) || self.gate.is_granted()) {
            // Before the gate is asked: an approval is not spent on it.
            self.ledger.fill(key, name, Told::ours(answers::link_leaving(), Owes::Speech));
            return;
        }
        match self.gate.judge(&mut self.cx, &self.person, proposal, patient) {
            Verdict::Run(permit) => {
                let settle = if waits_for_speech(&spec) { self.cx.config.settle } else { Duration::ZERO };
                let mark = if spec.run_when_heard { self.playout.mark() } else { None };
                let after = mark.map(|mark| (mark, self.cx.now + self.cx.config.patience.heard));
                let queued = Queued { permit, spec, settled_at: self.cx.now + settle, after, own: None };
                self.ledger.keep(key, Open { name, response, stage: Stage::Queued(Box::new(queued)) });
            }
            Verdict::Answer(body, owes) => self.ledger.fill(key, name, Told::ours(body, owes)),
            Verdict::Held(proposal) => {
                self.cx.after(Timer::HeldCall, self.cx.config.gate.evidence_grace);
                self.ledger.keep(key, Open { name, response, stage: Stage::Held(proposal) });
            }
        }
    }

    /// The answer to a call that equals one which did something, or may have, and that the model does not know of or has
    /// just been told.
    fn done_before(&mut self, spec: &ToolSpec, digest: &[u8; 32], turn: TurnId) -> Option<(Value, Owes)> {
        if spec.repeatable {
            return None;
        }
        if self.in_the_way(spec, digest) == Some(InTheWay::Begun) {
            return Some((answers::repeated(answers::outcome_unknown()), Owes::Speech));
        }
        let windows = (self.cx.config.repeat_window, self.cx.config.repeat_window_unread);
        let again = Again { spec, digest, turn, epoch: self.link.epoch() };
        let Recalled { mut body, unread } = self.ledger.finished.recall(self.cx.now, &again, windows)?;
        if unread {
            answers::instruct(&mut body, answers::NOT_AGAIN);
        }
        Some((answers::repeated(body), Owes::SpeechIfNone))
    }

    fn in_the_way(&self, spec: &ToolSpec, digest: &[u8; 32]) -> Option<InTheWay> {
        let spans = (self.cx.config.patience.stopped, self.cx.config.repeat_window_unread);
        self.ledger.in_the_way(self.cx.now, spec, digest, spans)
    }

    /// What acts on the world outside does not begin on a link that is about to be closed: how it went might not be told.
    fn must_wait_for_link(&self, spec: &ToolSpec) -> bool {
        spec.effect == Effect::Outbound && self.link.is_leaving()
    }

    /// Judges again what waited for a transcript.
    pub(crate) fn judge_held_calls(&mut self, patient: bool) {
        self.cx.timers.clear(Timer::HeldCall);
        for call in self.ledger.select(|open| matches!(open.stage, Stage::Held(_))) {
            if let Some(Open { response, stage: Stage::Held(proposal), .. }) = self.ledger.take(call) {
                self.decide(response, *proposal, patient);
            }
        }
    }
}

/// What cannot be undone by going on to talk does not run while the person may be going on.
fn waits_for_speech(spec: &ToolSpec) -> bool {
    spec.effect == Effect::Outbound || spec.ends_session
}
