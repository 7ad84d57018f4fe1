//! What a person watching the daemon would want to see, as values.

use session::{ClientEvent, LineKind, Notice};
use units::Instant;

/// Something worth showing. Facts only: nothing acts on a moment.
#[derive(Debug)]
pub enum Moment<'a> {
    /// The session decided or learnt something.
    Notice(&'a Notice),
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
}

/// Watches. Called on the driver's task: it must not block for longer than a terminal or a disk takes for one line.
pub trait Observer {
    /// Something happened at `at`.
    fn observe(&mut self, at: Instant, moment: &Moment<'_>);
}
