// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a sound server has put a stream.
//!
//! A server whose microphone is unplugged moves the stream that captured it to another source without a word to the
//! program: to the copy of what the loudspeaker plays, where there is no other. No frame is missed, and the device hears
//! itself. So the server is asked where the stream is, and asked again whenever something changes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use super::DeviceError;
use super::note::Note;
use crate::api::Direction;

/// A source or sink of a sound server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name, as the server lists it.
    pub name: String,
    /// The source is the copy of what a sink plays.
    pub is_monitor: bool,
}

/// Changes not yet taken by the worker. When it is full, the place is sent with the next change.
const PLACES_MAX: usize = 16;

/// Judges where one stream is.
#[derive(Debug)]
pub(crate) struct Judge {
    direction: Direction,
    monitor_allowed: bool,
    /// Where it was first.
    home: Option<String>,
    is_away: bool,
}

/// What there is to say about a place.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Fine,
    /// Something has begun, or is over; the stream goes on.
    Say(Note),
    /// The stream must not be used.
    Unfit(DeviceError),
}

impl Judge {
    /// `monitor_allowed`: the configuration asks for the copy of what a loudspeaker plays.
    pub(crate) const fn new(direction: Direction, monitor_allowed: bool) -> Self {
        Self { direction, monitor_allowed, home: None, is_away: false }
    }

    /// The stream of `device` is at `place`.
    pub(crate) fn at(&mut self, place: Place, device: impl Fn() -> String) -> Verdict {
        let Place { name, is_monitor } = place;
        let is_heard = self.direction == Direction::Capture && is_monitor;
        let Some(home) = &self.home else {
            if is_heard && !self.monitor_allowed {
                return Verdict::Unfit(DeviceError::Monitor { device: device(), source_name: name });
            }
            self.home = Some(name);
            return Verdict::Fine;
        };
        let is_away = *home != name;
        // One monitor was asked for, and no other.
        if is_heard && is_away {
            return Verdict::Unfit(DeviceError::Monitor { device: device(), source_name: name });
        }
        if is_away == std::mem::replace(&mut self.is_away, is_away) {
            return Verdict::Fine;
        }
        Verdict::Say(if is_away {
            Note::Fault(format!(
                "the sound server moved it from `{home}` to `{name}`: plug the device in again"
            ))
        } else {
            Note::Well(format!("it is at `{home}` again"))
        })
    }
}

/// Hears where a stream is, as long as it is kept.
pub(crate) struct Watch {
    judge: Judge,
    places: Receiver<Place>,
    /// Whoever looks stops when this is gone.
    pub(crate) kept: Arc<()>,
}

impl Watch {
    /// That of a stream which is at `place`, and where to say that it is elsewhere.
    ///
    /// # Errors
    /// A place that is not fit.
    pub(crate) fn begin(
        direction: Direction,
        monitor_allowed: bool,
        place: Place,
        device: impl Fn() -> String,
    ) -> Result<(Self, SyncSender<Place>), DeviceError> {
        let mut judge = Judge::new(direction, monitor_allowed);
        if let Verdict::Unfit(error) = judge.at(place, device) {
            return Err(error);
        }
        let (told, places) = sync_channel(PLACES_MAX);
        Ok((Self { judge, places, kept: Arc::default() }, told))
    }

    /// What has changed since the last call. Never waits.
    pub(crate) fn poll(&mut self, device: impl Fn() -> String) -> Verdict {
        match self.places.try_recv() {
            Ok(place) => self.judge.at(place, device),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Verdict::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(judge: &mut Judge, name: &str) -> String {
        let place = Place { name: name.into(), is_monitor: name.ends_with(".monitor") };
        match judge.at(place, || "it".into()) {
            Verdict::Fine => "fine".into(),
            Verdict::Say(Note::Fault(text)) => format!("fault: {text}"),
            Verdict::Say(Note::Well(text)) => format!("well: {text}"),
            Verdict::Unfit(error) => format!("unfit: {}", error.line()),
        }
    }

    #[test]
    fn b06_a_monitor_is_no_microphone_unless_it_was_asked_for() {
        let mut judge = Judge::new(Direction::Capture, false);
        assert!(at(&mut judge, "spk.monitor").starts_with("unfit: it hears what the loudspeaker plays"));
        let mut judge = Judge::new(Direction::Capture, true);
        assert_eq!(at(&mut judge, "spk.monitor"), "fine");
        assert_eq!(at(&mut judge, "spk.monitor"), "fine");
        assert!(at(&mut judge, "other.monitor").starts_with("unfit"), "one was asked for, not every one");
        let mut judge = Judge::new(Direction::Playback, false);
        assert_eq!(at(&mut judge, "spk"), "fine");
    }

    #[test]
    fn b07_a_stream_that_is_moved_is_spoken_of_once_each_way_and_lost_when_it_hears_ourselves() {
        let mut judge = Judge::new(Direction::Playback, false);
        assert_eq!(at(&mut judge, "spk"), "fine");
        assert!(at(&mut judge, "hdmi").starts_with("fault: the sound server moved it from `spk` to `hdmi`"));
        assert_eq!(at(&mut judge, "hdmi"), "fine");
        assert_eq!(at(&mut judge, "spk"), "well: it is at `spk` again");
        let mut judge = Judge::new(Direction::Capture, false);
        assert_eq!(at(&mut judge, "mic"), "fine");
        assert!(at(&mut judge, "headset").starts_with("fault"));
        assert!(at(&mut judge, "spk.monitor").starts_with("unfit"));
    }
}
