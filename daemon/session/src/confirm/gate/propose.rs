// SPDX-License-Identifier: MIT OR Apache-2.0

//! A call that asks to run and about which nobody has been asked: what is against asking, and where it is asked.

use units::{PendingId, TurnId};

use super::super::limits::Limit;
use super::super::question::Question;
use super::super::wording::{
    ENOUGH, NEEDS_SCREEN, NO_BUTTON, NO_SCREEN, SCREEN_FULL, asked_aloud, asked_for_button, on_screen,
    refused, to_be_said,
};
use super::preasked::Before;
use super::{Gate, GateEnd, Proposal, Proposals, State, Verdict};
use crate::config::ReadBack;
use crate::context::Context;
use crate::ledger::Owes;
use crate::notice::Notice;
use crate::person::Person;
use crate::timers::Timer;
use crate::tool::{Consent, ToolSpec};

/// Where a question is put.
enum Route {
    Aloud,
    Screen,
    Nowhere(&'static str),
}

impl Gate {
    /// Another question is asked aloud: this one can stand on the screen beside it, or not.
    pub(super) fn propose_beside(
        &mut self,
        cx: &mut Context,
        person: &Person,
        proposal: Proposal,
        patient: bool,
    ) -> Verdict {
        match self.route(cx, &proposal.spec) {
            Route::Screen => self.propose(cx, person, proposal, patient),
            Route::Aloud | Route::Nowhere(_) => {
                cx.notice(Notice::GateRefused { call: proposal.key, why: "another question is open" });
                Verdict::Answer(self.state.in_the_way(), Owes::Silence)
            }
        }
    }

    /// Opens a question, in the place of the open one of its tool if there is one.
    pub(super) fn propose(
        &mut self,
        cx: &mut Context,
        person: &Person,
        proposal: Proposal,
        patient: bool,
    ) -> Verdict {
        let turn = person.turn();
        let refuse = |cx: &mut Context, text: &str, owes, why| {
            cx.notice(Notice::GateRefused { call: proposal.key, why });
            Verdict::Answer(refused(text), owes)
        };
        self.settled.retain(|settled| settled.turn == turn);
        let digest = proposal.prepared.digest;
        if let Some(text) = self.settled.iter().find(|settled| settled.digest == digest).map(|it| it.text) {
            let verdict = refuse(cx, text, Owes::SpeechIfNone, "turned down in this turn");
            self.on_violation(cx, &proposal.spec.name);
            return verdict;
        }
        let Some(summary) = proposal.prepared.summary.clone() else {
            let text = "This cannot be put into words for a person to agree to.";
            return refuse(cx, text, Owes::Speech, "it cannot be put into words");
        };
        if self.proposals.turn != turn {
            self.proposals = Proposals::none_in(turn);
        }
        if self.proposals.made >= cx.config.gate.proposals_per_turn {
            cx.notice(Notice::GateRefused { call: proposal.key, why: "too many proposals in this turn" });
            // What the model says while a question is open would stand between it and its answer.
            let told = !self.is_clear() || std::mem::replace(&mut self.proposals.told, true);
            let owes = if told { Owes::Silence } else { Owes::Speech };
            return Verdict::Answer(self.state.in_the_way(), owes);
        }
        let mut route = self.route(cx, &proposal.spec);
        match self.limits.against(&cx.config.gate, cx.now, &proposal.spec.name) {
            Some(Limit::Proposals) => match proposal.spec.consent {
                Consent::Voice | Consent::VoiceOrTouch | Consent::Touch if self.has_screen => {
                    route = Route::Screen;
                }
                Consent::Voice
                | Consent::VoiceOrTouch
                | Consent::Touch
                | Consent::VoiceAndTouch
                | Consent::Button => {
                    return refuse(cx, NEEDS_SCREEN, Owes::Speech, "it was asked for too often");
                }
            },
            Some(Limit::Effects) => return refuse(cx, ENOUGH, Owes::Speech, "it was done too often"),
            None => {}
        }
        if cx.config.gate.accept_preasked && self.is_clear() && matches!(route, Route::Aloud) {
            match self.preasked(cx, person, &proposal, &summary, patient) {
                Before::Answered(permit) => return Verdict::Run(permit),
                Before::MayBe => return Verdict::Held(Box::new(proposal)),
                Before::No => {}
            }
        }
        if let Route::Nowhere(text) = route {
            return refuse(cx, text, Owes::Speech, "there is no way left to ask");
        }
        let replaced = self.sheets.iter().any(|sheet| sheet.is_of(&proposal.spec.name));
        if matches!(route, Route::Screen) && !replaced && !self.has_room(cx) {
            return refuse(cx, SCREEN_FULL, Owes::Speech, "the screen is full");
        }
        self.open(cx, turn, proposal, summary, &route)
    }

    fn open(
        &mut self,
        cx: &mut Context,
        turn: TurnId,
        proposal: Proposal,
        summary: String,
        route: &Route,
    ) -> Verdict {
        let Proposal { spec, prepared, .. } = proposal;
        self.proposals.made += 1;
        let replaces = self.supersede(cx, &spec.name, matches!(route, Route::Aloud));
        self.limits.on_proposed(&cx.config.gate, cx.now, &spec.name);
        self.last_pending = self.last_pending.next();
        let consent = if matches!(route, Route::Screen) { Consent::Touch } else { spec.consent };
        cx.notice(Notice::GatePending {
            pending: self.last_pending,
            tool: spec.name.clone(),
            summary: summary.clone(),
            consent,
            replaces,
        });
        let spec = ToolSpec { consent, ..spec };
        let read_back = cx.config.gate.read_back;
        let question = Question::new(self.last_pending, (spec, prepared), summary, turn, read_back);
        let replaced = replaces.is_some();
        if matches!(route, Route::Screen) {
            self.show(cx, question);
            return Verdict::Answer(on_screen(replaced), Owes::SpeechIfNone);
        }
        cx.after(Timer::GateDeadline, cx.config.gate.deadline);
        if self.has_screen && matches!(consent, Consent::VoiceOrTouch | Consent::VoiceAndTouch) {
            self.show_beside(cx, &question);
        }
        let (body, owes) = match question.read_back {
            ReadBack::Model { .. } => {
                let sentence = question.in_the_models_words(&cx.config.lines);
                self.state = State::Told { question, at: cx.now };
                return Verdict::Answer(to_be_said(&sentence, replaced), Owes::Speech);
            }
            ReadBack::Device if consent == Consent::Button => (asked_for_button(replaced), Owes::Silence),
            ReadBack::Device => (asked_aloud(replaced), Owes::Silence),
        };
        self.state = State::Proposed(question);
        Verdict::Answer(body, owes)
    }

    /// Closes the open question of `tool`, and whatever is asked aloud if another will be. The one that was replaced.
    fn supersede(&mut self, cx: &mut Context, tool: &str, aloud: bool) -> Option<PendingId> {
        let on_screen = self.sheets.iter().find(|sheet| sheet.is_own() && sheet.is_of(tool));
        let replaced = on_screen.map(|sheet| sheet.pending);
        if let Some(pending) = replaced {
            self.take_down(cx, pending);
            cx.notice(Notice::GateClosed { pending, how: GateEnd::Superseded });
        }
        let same = self.state.question().is_some_and(|open| open.spec.name == tool);
        if aloud || same {
            let open = self.state.question().map(|open| open.id);
            if let Some(question) = self.state.unheard() {
                // Nobody was bothered with it.
                self.limits.on_unheard(&question.spec.name);
            }
            self.close(cx, GateEnd::Superseded);
            return open.or(replaced);
        }
        replaced
    }

    fn route(&self, cx: &Context, spec: &ToolSpec) -> Route {
        let touch_only = self.limits.is_touch_only(&cx.config.gate, cx.now, &spec.name);
        match spec.consent {
            Consent::Voice | Consent::VoiceOrTouch if !touch_only => Route::Aloud,
            Consent::Voice | Consent::VoiceOrTouch if self.has_screen => Route::Screen,
            Consent::Voice | Consent::VoiceOrTouch => Route::Nowhere(NEEDS_SCREEN),
            Consent::Touch if self.has_screen => Route::Screen,
            Consent::VoiceAndTouch if self.has_screen => Route::Aloud,
            Consent::Touch | Consent::VoiceAndTouch => Route::Nowhere(NO_SCREEN),
            Consent::Button if cx.config.gate.button => Route::Aloud,
            Consent::Button => Route::Nowhere(NO_BUTTON),
        }
    }
}
