// SPDX-License-Identifier: MIT OR Apache-2.0

//! Questions on the screen. The sheet is drawn by the device from the arguments that will run; only who has seen it knows
//! its nonce, and a tap that agrees makes the call at once.

use std::time::Duration;

use units::{Instant, Nonce, PendingId, TurnId};

use super::super::question::{Approval, Half, Question};
use super::super::wording::{LAPSED, SAID_NO, news};
use super::{Gate, GateEnd, Proposal, State};
use crate::context::Context;
use crate::notice::{Channel, Notice, Presenter};
use crate::timers::Timer;
use crate::tool::Consent;
use crate::{Output, SheetAnswer};

/// A sheet.
pub(super) struct OnScreen {
    pub(super) pending: PendingId,
    nonce: Nonce,
    /// When it was seen; nobody can answer it before.
    shown_at: Option<Instant>,
    /// When it lapses.
    until: Instant,
    what: What,
}

enum What {
    /// A question that is asked here only.
    Own(Box<Question>),
    /// The one that is asked aloud too.
    Spoken,
}

impl OnScreen {
    pub(super) fn is_own(&self) -> bool {
        matches!(self.what, What::Own(_))
    }

    /// It asks about a call of `tool`, and only here.
    pub(super) fn is_of(&self, tool: &str) -> bool {
        self.own().is_some_and(|question| question.spec.name == tool)
    }

    /// It asks, and only here, about this very call.
    pub(super) fn is_about(&self, proposal: &Proposal) -> bool {
        self.own().is_some_and(|question| {
            question.spec.name == proposal.spec.name && question.is_about(&proposal.prepared)
        })
    }

    fn own(&self) -> Option<&Question> {
        match &self.what {
            What::Own(question) => Some(question),
            What::Spoken => None,
        }
    }
}

impl Gate {
    /// A screen is there, or is not any more: what stood on it cannot be answered then.
    pub(crate) fn on_screen_there(&mut self, cx: &mut Context, turn: TurnId, there: bool) {
        self.has_screen = there;
        if !there {
            for pending in self.on_screen() {
                self.dismiss(cx, turn, pending, GateEnd::Dropped, LAPSED);
            }
            // Without its tap it can never be agreed to.
            if self.state.question().is_some_and(|question| question.spec.consent == Consent::VoiceAndTouch) {
                self.settle(cx, turn, GateEnd::Dropped, LAPSED);
            }
        }
    }

    /// Puts `question` on the screen, and nowhere else.
    pub(super) fn show(&mut self, cx: &mut Context, mut question: Question) {
        question.spec.consent = Consent::Touch;
        self.put_up(cx, &question);
        let sheet = self.sheet(cx, &question, What::Spoken);
        self.sheets.push(OnScreen { what: What::Own(Box::new(question)), ..sheet });
        self.watch(cx);
    }

    /// There is room for one more question of its own.
    pub(super) fn has_room(&self, cx: &Context) -> bool {
        self.sheets.iter().filter(|sheet| sheet.is_own()).count() < cx.config.gate.sheets
    }

    /// A question is not asked aloud any more: its sheet stays, or it gets one.
    pub(super) fn leave_on_screen(&mut self, cx: &mut Context, mut question: Question) {
        let until = cx.now + cx.config.gate.deadline;
        let Some(sheet) = self.sheets.iter_mut().find(|sheet| sheet.pending == question.id) else {
            self.show(cx, question);
            return;
        };
        question.spec.consent = Consent::Touch;
        sheet.until = until;
        sheet.what = What::Own(Box::new(question));
        self.watch(cx);
    }

    /// The sheet of a question that is asked aloud has its full time again.
    pub(super) fn renew(&mut self, cx: &Context, pending: PendingId) {
        let until = cx.now + cx.config.gate.deadline;
        if let Some(sheet) = self.sheets.iter_mut().find(|sheet| sheet.pending == pending) {
            sheet.until = until;
        }
    }

    /// Puts the question that is asked aloud on the screen too.
    pub(super) fn show_beside(&mut self, cx: &mut Context, question: &Question) {
        self.put_up(cx, question);
        self.sheets.push(self.sheet(cx, question, What::Spoken));
    }

    fn put_up(&self, cx: &mut Context, question: &Question) {
        cx.emit(Output::Sheet(question.sheet()));
    }

    fn sheet(&self, cx: &Context, question: &Question, what: What) -> OnScreen {
        let until = cx.now + cx.config.gate.deadline;
        OnScreen { pending: question.id, nonce: question.nonce(), shown_at: None, until, what }
    }

    /// Takes a sheet from the screen, if there is one of this question. What it asked about.
    pub(super) fn take_down(&mut self, cx: &mut Context, pending: PendingId) -> Option<Question> {
        let place = self.sheets.iter().position(|sheet| sheet.pending == pending)?;
        let sheet = self.sheets.remove(place);
        cx.emit(Output::SheetClosed { pending });
        self.watch(cx);
        match sheet.what {
            What::Own(question) => Some(*question),
            What::Spoken => None,
        }
    }

    /// A sheet is seen: from here on it can be answered, for its full time.
    pub(crate) fn on_sheet_shown(&mut self, cx: &mut Context, pending: PendingId) {
        let until = cx.now + cx.config.gate.deadline;
        let sheet = self.sheets.iter_mut().find(|sheet| sheet.pending == pending && sheet.shown_at.is_none());
        let Some(sheet) = sheet else { return };
        (sheet.shown_at, sheet.until) = (Some(cx.now), until);
        cx.notice(Notice::GatePresented { pending, by: Presenter::Screen });
        self.watch(cx);
    }

    /// Somebody answers a sheet. The approval, if that makes a call.
    pub(crate) fn on_sheet_answered(
        &mut self,
        cx: &mut Context,
        turn: TurnId,
        nonce: Nonce,
        (answer, shown_for): (SheetAnswer, Duration),
    ) -> Option<Approval> {
        let Some(sheet) = self.sheets.iter().find(|sheet| sheet.nonce == nonce) else {
            cx.notice(Notice::GateBadNonce);
            return None;
        };
        let pending = sheet.pending;
        let seen_for = sheet.shown_at.map_or(Duration::ZERO, |at| (cx.now - at).min(shown_for));
        match answer {
            // A finger that was on its way to something else, or a tap on what nobody has seen.
            SheetAnswer::Confirm | SheetAnswer::Decline if seen_for < cx.config.gate.arming => None,
            SheetAnswer::Confirm if cx.now > sheet.until => None,
            SheetAnswer::Confirm => self.on_tap(cx, pending),
            SheetAnswer::Decline | SheetAnswer::Dismiss => {
                self.dismiss(cx, turn, pending, GateEnd::Declined, SAID_NO);
                None
            }
        }
    }

    fn on_tap(&mut self, cx: &mut Context, pending: PendingId) -> Option<Approval> {
        if let Some(question) = self.take_down(cx, pending) {
            return Some(self.commit(cx, question, Channel::Touch));
        }
        match std::mem::replace(&mut self.state, State::Clear) {
            // The yes was first; the tap makes the call, under the same approval.
            State::Granted { question, grant, .. } => {
                cx.timers.clear(Timer::GrantLapses);
                Some(self.make(cx, question, grant))
            }
            State::Proposed(question)
            | State::Presented { question, .. }
            | State::Told { question, .. }
            | State::Waiting { question, .. }
                if question.spec.consent == Consent::VoiceOrTouch || question.half != Half::Nothing =>
            {
                cx.timers.clear(Timer::GateDeadline);
                let both = question.spec.consent == Consent::VoiceAndTouch;
                Some(self.commit(cx, question, if both { Channel::VoiceAndTouch } else { Channel::Touch }))
            }
            State::Proposed(mut question) => {
                question.half = Half::Tapped;
                self.state = State::Proposed(question);
                None
            }
            State::Presented { mut question, utterance } => {
                question.half = Half::Tapped;
                self.state = State::Presented { question, utterance };
                None
            }
            State::Told { mut question, at } => {
                question.half = Half::Tapped;
                self.state = State::Told { question, at };
                None
            }
            State::Waiting { mut question, heard_at, overtaken } => {
                question.half = Half::Tapped;
                self.state = State::Waiting { question, heard_at, overtaken };
                None
            }
            State::Clear => None,
        }
    }

    /// [`Timer::Sheet`] has come.
    pub(crate) fn on_sheets_lapsed(&mut self, cx: &mut Context, turn: TurnId) {
        let due = |sheet: &&OnScreen| sheet.is_own() && sheet.until <= cx.now;
        let due: Vec<PendingId> = self.sheets.iter().filter(due).map(|sheet| sheet.pending).collect();
        for pending in due {
            self.dismiss(cx, turn, pending, GateEnd::Expired, LAPSED);
        }
        self.watch(cx);
    }

    /// A question on the screen is over without an effect. The model is told, as it waits for what they chose.
    fn dismiss(
        &mut self,
        cx: &mut Context,
        turn: TurnId,
        pending: PendingId,
        how: GateEnd,
        text: &'static str,
    ) {
        if let Some(question) = self.take_down(cx, pending) {
            cx.notice(Notice::GateClosed { pending, how });
            self.news.push(news(&question.summary, text));
            self.remember(cx, turn, question.prepared.digest, &question.spec.name, how, text);
        } else if how == GateEnd::Declined
            && let Some(question) = self.state.question().filter(|question| question.id == pending)
        {
            self.news.push(news(&question.summary, text));
            self.settle(cx, turn, how, text);
        }
    }

    /// Sets the timer of the sheet that lapses first. That of the question that is asked aloud lapses with it.
    fn watch(&self, cx: &mut Context) {
        match self.sheets.iter().filter(|sheet| sheet.is_own()).map(|sheet| sheet.until).min() {
            Some(until) => cx.timers.set(Timer::Sheet, until),
            None => cx.timers.clear(Timer::Sheet),
        }
    }
}
