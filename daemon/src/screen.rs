// SPDX-License-Identifier: MIT OR Apache-2.0

//! The way to a screen on which a person is asked: from the driver's task to whoever draws, and back. Neither waits for the
//! other.
//!
//! What stands on the screen is kept here, not what was sent to it: a screen that is slow, or looks late, is told what there
//! is then. So nothing piles up, however long nobody looks.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use session::{Input, Sheet, SheetAnswer};
use tokio::sync::Notify;
use tracing::{info, warn};
use units::{Nonce, PendingId};

/// Reports of a screen that may wait for the driver, which takes them in microseconds: several for each sheet that can stand
/// there.
const REPORTS_MAX: usize = 32;

/// Where a screen comes and goes. Clones are one.
#[derive(Clone, Default)]
pub struct Screens(Arc<Hub>);

/// The screen that is there. Dropping it says that it is gone: what stood on it cannot be answered any more.
pub struct Screen {
    hub: Arc<Hub>,
    id: u64,
    came: Arc<Notify>,
}

/// What happens to a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// This is to be shown: what will be done, its pieces one by one, and one place each to agree and to decline. Say
    /// [`Screen::shown`] when it is seen.
    Sheet(Sheet),
    /// The sheet of this question is over and must be taken away.
    Closed(PendingId),
}

#[derive(Default)]
struct Hub {
    state: Mutex<State>,
    reported: Notify,
}

#[derive(Default)]
struct State {
    /// The last screen that came.
    last: u64,
    /// The one that is there.
    there: Option<(u64, Arc<Notify>)>,
    /// The one that the driver was told of.
    told: Option<u64>,
    /// What should stand on it.
    open: Vec<Sheet>,
    /// What it was told to show.
    given: BTreeSet<PendingId>,
    /// What it reports.
    reports: VecDeque<Input>,
}

impl Screens {
    /// A screen is there. It takes the place of the one before, which is told nothing from here on.
    #[must_use]
    pub fn attach(&self) -> Screen {
        let came = Arc::new(Notify::new());
        let mut state = self.0.lock();
        state.last += 1;
        let id = state.last;
        state.come(Some((id, Arc::clone(&came))));
        drop(state);
        self.0.reported.notify_one();
        info!("a screen is there to ask on");
        Screen { hub: Arc::clone(&self.0), id, came }
    }

    /// What a screen reports, as soon as it does. Safe to drop: nothing is lost.
    pub(crate) async fn report(&self) -> Input {
        loop {
            let report = self.0.lock().report();
            match report {
                Some(report) => return report,
                None => self.0.reported.notified().await,
            }
        }
    }

    /// This is to be shown.
    pub(crate) fn show(&self, sheet: Sheet) {
        let mut state = self.0.lock();
        state.open.retain(|open| open.pending != sheet.pending);
        state.open.push(sheet);
        state.wake();
    }

    /// The sheet of this question is over.
    pub(crate) fn close(&self, pending: PendingId) {
        let mut state = self.0.lock();
        state.open.retain(|open| open.pending != pending);
        state.wake();
    }
}

impl Screen {
    /// What happens next; `None` once another screen has taken the place of this one. Safe to drop: nothing is lost.
    pub async fn next(&mut self) -> Option<ScreenEvent> {
        loop {
            {
                let mut state = self.hub.lock();
                if !state.is_there(self.id) {
                    return None;
                }
                if let Some(event) = state.next() {
                    return Some(event);
                }
            }
            self.came.notified().await;
        }
    }

    /// The sheet of this question is seen. Before that no tap on it counts.
    pub fn shown(&self, pending: PendingId) {
        self.say(Input::SheetShown { pending });
    }

    /// A person answered the sheet of this nonce, `shown_for` after it was seen, by the clock of the screen.
    pub fn answer(&self, nonce: Nonce, answer: SheetAnswer, shown_for: Duration) {
        self.say(Input::SheetAnswered { nonce, answer, shown_for });
    }

    fn say(&self, report: Input) {
        let mut state = self.hub.lock();
        if !state.is_there(self.id) {
            return;
        }
        if state.reports.len() >= REPORTS_MAX {
            drop(state);
            warn!("the screen reports more than is taken: a report is dropped");
            return;
        }
        state.reports.push_back(report);
        drop(state);
        self.hub.reported.notify_one();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        if state.is_there(self.id) {
            state.come(None);
            drop(state);
            self.hub.reported.notify_one();
            info!("the screen to ask on is gone");
        }
    }
}

impl Hub {
    /// Nobody who holds it panics halfway through a change.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_there(&self, id: u64) -> bool {
        self.there.as_ref().is_some_and(|(there, _)| *there == id)
    }

    /// Another screen, or none: nothing that was said of the one before is of this one.
    fn come(&mut self, screen: Option<(u64, Arc<Notify>)>) {
        self.wake();
        self.there = screen;
        self.given.clear();
        self.reports.clear();
    }

    fn wake(&self) {
        if let Some((_, came)) = &self.there {
            came.notify_one();
        }
    }

    /// What the driver is told next: that a screen went, that one came, what it reports.
    fn report(&mut self) -> Option<Input> {
        let there = self.there.as_ref().map(|(id, _)| *id);
        if self.told == there {
            return self.reports.pop_front();
        }
        // What stands on one is not what another is asked.
        self.told = if self.told.is_some() { None } else { there };
        Some(Input::Screen { there: self.told.is_some() })
    }

    /// What the screen is told next: what is over, then what is to be shown.
    fn next(&mut self) -> Option<ScreenEvent> {
        let over =
            self.given.iter().find(|given| !self.open.iter().any(|open| open.pending == **given)).copied();
        if let Some(over) = over {
            self.given.remove(&over);
            return Some(ScreenEvent::Closed(over));
        }
        let sheet = self.open.iter().find(|open| !self.given.contains(&open.pending))?.clone();
        self.given.insert(sheet.pending);
        Some(ScreenEvent::Sheet(sheet))
    }
}

impl fmt::Debug for Screens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screens").field("there", &self.0.lock().there.is_some()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const SECRET: u128 = 0xfeed_beef;

    fn sheet(id: u64) -> Sheet {
        Sheet {
            pending: PendingId(id),
            nonce: Nonce::new(u128::from(id) + SECRET),
            summary: format!("Do number {id}."),
            slots: Vec::new(),
        }
    }

    fn reported(screens: &Screens) -> Option<Input> {
        screens.report().now_or_never()
    }

    fn told(screen: &mut Screen) -> Option<ScreenEvent> {
        screen.next().now_or_never().flatten()
    }

    fn there(there: bool) -> Option<Input> {
        Some(Input::Screen { there })
    }

    #[test]
    fn a_screen_is_told_what_stands_on_it_and_the_driver_what_it_reports() {
        let screens = Screens::default();
        assert_eq!(reported(&screens), None);
        let mut screen = screens.attach();
        assert_eq!(reported(&screens), there(true));
        screens.show(sheet(1));
        assert_eq!(told(&mut screen), Some(ScreenEvent::Sheet(sheet(1))));
        assert_eq!(told(&mut screen), None);
        screen.shown(PendingId(1));
        screen.answer(Nonce::new(1), SheetAnswer::Confirm, Duration::from_secs(1));
        assert_eq!(reported(&screens), Some(Input::SheetShown { pending: PendingId(1) }));
        let (nonce, answer, shown_for) = (Nonce::new(1), SheetAnswer::Confirm, Duration::from_secs(1));
        assert_eq!(reported(&screens), Some(Input::SheetAnswered { nonce, answer, shown_for }));
        screens.close(PendingId(1));
        assert_eq!(told(&mut screen), Some(ScreenEvent::Closed(PendingId(1))));
        drop(screen);
        assert_eq!((reported(&screens), reported(&screens)), (there(false), None));
    }

    #[tokio::test]
    async fn whoever_waits_is_woken() {
        let screens = Screens::default();
        let mut screen = screens.attach();
        assert_eq!(reported(&screens), there(true));
        let (event, ()) = tokio::join!(screen.next(), async { screens.show(sheet(1)) });
        assert_eq!(event, Some(ScreenEvent::Sheet(sheet(1))));
        let (report, ()) = tokio::join!(screens.report(), async { screen.shown(PendingId(1)) });
        assert_eq!(report, Input::SheetShown { pending: PendingId(1) });
        let (event, _other) = tokio::join!(screen.next(), async { screens.attach() });
        assert_eq!(event, None, "another took its place");
        assert_eq!(reported(&screens), there(false));
    }

    #[test]
    fn another_screen_takes_the_place_of_the_first_and_what_that_said_is_void() {
        let screens = Screens::default();
        let first = screens.attach();
        assert_eq!(reported(&screens), there(true));
        first.shown(PendingId(1));
        let mut second = screens.attach();
        first.shown(PendingId(2));
        screens.show(sheet(3));
        assert_eq!(told(&mut second), Some(ScreenEvent::Sheet(sheet(3))));
        second.shown(PendingId(3));
        drop(first);
        let reports = [reported(&screens), reported(&screens), reported(&screens), reported(&screens)];
        assert_eq!(
            reports,
            [there(false), there(true), Some(Input::SheetShown { pending: PendingId(3) }), None]
        );
    }

    #[test]
    fn what_nobody_looks_at_and_nobody_takes_is_bounded() {
        let screens = Screens::default();
        let mut screen = screens.attach();
        for id in 0..1000 {
            screens.show(sheet(id));
            screens.close(PendingId(id));
            screen.shown(PendingId(id));
        }
        screens.show(sheet(1000));
        assert_eq!(told(&mut screen), Some(ScreenEvent::Sheet(sheet(1000))), "what is over was never shown");
        assert_eq!(told(&mut screen), None);
        let reports = std::iter::from_fn(|| reported(&screens)).count();
        assert_eq!(reports, 1 + REPORTS_MAX);
    }

    #[test]
    fn nothing_that_is_printed_tells_a_nonce() {
        let screens = Screens::default();
        let screen = screens.attach();
        let mut told = format!("{screens:?} {screen:?} {:?}", ScreenEvent::Sheet(sheet(0)));
        told += &format!(
            "{:?}",
            Input::SheetAnswered {
                nonce: Nonce::new(SECRET),
                answer: SheetAnswer::Confirm,
                shown_for: Duration::ZERO,
            }
        );
        let written = [format!("{SECRET:x}"), SECRET.to_string(), Nonce::new(SECRET).reveal()];
        assert!(!written.iter().any(|nonce| told.contains(nonce)), "{told}");
    }
}
