// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a person watching the daemon would want to see, as values.

mod mask;

use session::{ClientEvent, LineKind, Notice, Outcome};
use units::{CallKey, Instant};

use crate::records::{Keeper, Record};
use crate::tooling::Tooling;
use mask::Mask;

/// Something worth showing. Facts only: nothing acts on a moment. What a tool hides is masked in all of them but
/// [`Moment::Event`]: a tool shows on the screen what it wants seen there.
#[derive(Debug)]
pub enum Moment<'a> {
    /// The session decided or learnt something.
    Notice(&'a Notice),
    /// A tool ended its run. What the model reads of it is a notice, once its whole response is answered.
    Outcome {
        /// Of which call.
        call: CallKey,
        /// What it brought.
        outcome: &'a Outcome,
    },
    /// An event for the device's screen.
    Event(&'a ClientEvent),
    /// The audio path reported something; never microphone audio.
    Audio(&'a audio::Event),
    /// The device speaks a line of its own.
    Line {
        /// The words.
        text: &'a str,
        /// What it is for.
        kind: LineKind,
    },
    /// The provider sent something that was ignored.
    Anomaly(&'a str),
    /// What is kept of the moment before.
    Record(&'a Record),
}

/// Watches. Called on the driver's task: it must not block for longer than a terminal or a disk takes for one line.
pub trait Observer {
    /// Something happened at `at`.
    fn observe(&mut self, at: Instant, moment: &Moment<'_>);
}

/// Everybody who watches.
pub struct Watchers {
    observers: Vec<Box<dyn Observer>>,
    mask: Mask,
    keeper: Keeper,
}

impl Watchers {
    /// Shows moments to `observers`, without what the tools of `tooling` hide.
    #[must_use]
    pub fn new(observers: Vec<Box<dyn Observer>>, tooling: Tooling, keeper: Keeper) -> Self {
        Self { observers, mask: Mask::new(tooling), keeper }
    }

    /// The notice as it may be logged and shown.
    #[must_use]
    pub fn masked(&mut self, notice: Notice) -> Notice {
        self.mask.notice(notice)
    }

    /// Shows a moment, and the records it makes. A notice must have been masked.
    pub fn show(&mut self, at: Instant, moment: &Moment<'_>) {
        if self.observers.is_empty() {
            return;
        }
        if let Moment::Line { text, kind } = moment {
            let text = self.mask.text(text);
            self.tell(at, &Moment::Line { text: &text, kind: *kind });
        } else {
            self.tell(at, moment);
        }
        for record in self.keeper.records(at, moment) {
            self.tell(at, &Moment::Record(&record));
        }
    }

    fn tell(&mut self, at: Instant, moment: &Moment<'_>) {
        for observer in &mut self.observers {
            observer.observe(at, moment);
        }
    }
}

impl std::fmt::Debug for Watchers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watchers").field("observers", &self.observers.len()).finish_non_exhaustive()
    }
}
