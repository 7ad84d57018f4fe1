// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the person agrees with beside their voice: a screen, and a button.

use std::time::Duration;

use session::{Input, Sheet, SheetAnswer};
use units::{Instant, Nonce, PendingId};

use crate::world::Driver;

/// What a screen takes to draw a sheet.
const DRAWN: Duration = Duration::from_millis(100);

/// What a person takes to read a sheet.
const READ: Duration = Duration::from_secs(2);

/// A screen, as far as a test needs one.
#[derive(Default)]
pub(crate) struct Panel {
    standing: Vec<Standing>,
    /// The button is down.
    pub(crate) pressed: bool,
}

struct Standing {
    sheet: Sheet,
    asked_at: Instant,
    /// When it was seen, once that was reported.
    seen_at: Option<Instant>,
}

impl Panel {
    pub(crate) fn show(&mut self, now: Instant, sheet: Sheet) {
        self.standing.push(Standing { sheet, asked_at: now, seen_at: None });
    }

    pub(crate) fn close(&mut self, pending: PendingId) {
        self.standing.retain(|standing| standing.sheet.pending != pending);
    }

    pub(crate) fn clear(&mut self) {
        self.standing.clear();
    }

    /// When a sheet will be seen.
    pub(crate) fn due(&self) -> Option<Instant> {
        let unseen = self.standing.iter().filter(|standing| standing.seen_at.is_none());
        unseen.map(|standing| standing.asked_at + DRAWN).min()
    }

    /// What is to be reported by `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Input> {
        let due = |standing: &&mut Standing| standing.seen_at.is_none() && standing.asked_at + DRAWN <= now;
        let standing = self.standing.iter_mut().find(due)?;
        standing.seen_at = Some(now);
        Some(Input::SheetShown { pending: standing.sheet.pending })
    }
}

impl Driver {
    /// A screen is there from here on.
    pub async fn screen(&mut self) {
        self.feed(Input::Screen { there: true });
        self.settle().await;
    }

    /// The screen is gone, with what stood on it.
    pub async fn screen_goes(&mut self) {
        self.panel.clear();
        self.feed(Input::Screen { there: false });
        self.settle().await;
    }

    /// What stands on the screen, oldest first.
    #[must_use]
    pub fn sheets(&self) -> Vec<Sheet> {
        self.panel.standing.iter().map(|standing| standing.sheet.clone()).collect()
    }

    /// The person reads the last sheet and taps the place that agrees, or the one that does not. With a nonce: somebody says
    /// that they did, whatever stands on the screen.
    ///
    /// # Panics
    /// If nothing stands there and no nonce is given.
    pub async fn tap(&mut self, nonce: impl Into<Option<Nonce>>, yes: bool) {
        let answer = if yes { SheetAnswer::Confirm } else { SheetAnswer::Decline };
        match nonce.into() {
            Some(nonce) => self.feed(Input::SheetAnswered { nonce, answer, shown_for: READ }),
            None => self.answer_sheet(READ, answer).await,
        }
        self.settle().await;
    }

    /// The person taps the place that agrees, on the last sheet, this long after it is seen.
    ///
    /// # Panics
    /// If nothing stands there, or it was seen longer ago.
    pub async fn tap_after(&mut self, span: Duration) {
        self.answer_sheet(span, SheetAnswer::Confirm).await;
        self.settle().await;
    }

    /// The person puts the last sheet away.
    ///
    /// # Panics
    /// If nothing stands there.
    pub async fn dismiss(&mut self) {
        self.answer_sheet(READ, SheetAnswer::Dismiss).await;
        self.settle().await;
    }

    /// The person presses the button and holds it for this long.
    pub async fn button(&mut self, held: Duration) {
        self.button_goes(true).await;
        self.advance(held).await;
        self.button_goes(false).await;
    }

    /// The button goes down, or up, and stays there.
    pub async fn button_goes(&mut self, down: bool) {
        self.panel.pressed = down;
        self.feed(Input::Button { down });
        self.settle().await;
    }

    /// Another person stands at the device.
    pub async fn person_changes(&mut self) {
        self.feed(Input::PersonChanged);
        self.settle().await;
    }

    /// Answers the last sheet `span` after it was seen, or at once if that is past.
    async fn answer_sheet(&mut self, span: Duration, answer: SheetAnswer) {
        let last = self.panel.standing.last().expect("a sheet stands on the screen");
        let nonce = last.sheet.nonce;
        let seen_at = last.seen_at.unwrap_or(last.asked_at + DRAWN);
        let now = self.now();
        self.advance((seen_at + span).max(now) - now).await;
        let shown_for = self.now() - seen_at;
        self.feed(Input::SheetAnswered { nonce, answer, shown_for });
    }
}
