// SPDX-License-Identifier: MIT OR Apache-2.0

//! Devices: what opens a microphone or a loudspeaker, and what keeps it open.
//!
//! Every device gives the worker the same thing, a line: one end of a ring whose other end its callback holds. The
//! devices of the machine call back on their own threads; files, the null loudspeaker and the simulated devices are
//! *pumped*, 10 ms at a time, by a thread on the clock or by the stepper.

mod air;
#[cfg(feature = "cpal")]
mod alsa;
mod clock;
mod file;
pub(crate) mod list;
mod name;
pub(crate) mod note;
mod null;
#[cfg(feature = "pulseaudio")]
mod pulse;
mod pump;
pub(crate) mod route;
pub(crate) mod signal;
pub mod sim;
pub(crate) mod supervise;
mod voice;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::api::Direction;
use crate::config::{Channels, Sink, Source};
use crate::rt::{CaptureLine, Health, PlaybackLine};

pub(crate) use pump::Pump;

/// A device could not be opened or has failed. The worker goes on trying by itself, so the text is for a technician:
/// the device, what is wrong, what to do.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no such device.
    #[error("there is no {device}: plug it in, or name one that `voiced audio list` shows")]
    Missing {
        /// Direction and name.
        device: String,
    },
    /// Another program has it.
    #[error(
        "{device} is in use by another program: close it, or use a device that shares, such as `default`"
    )]
    Busy {
        /// Direction and name.
        device: String,
    },
    /// The user of this process may not open it.
    #[error(
        "no permission to open {device}: add the user to group `audio` (usermod -aG audio USER) and start again"
    )]
    Denied {
        /// Direction and name.
        device: String,
    },
    /// It cannot do any format this crate can.
    #[error(
        "{device} offers no usable format ({offered}): use its `plughw:` name, which converts, or `default`"
    )]
    Format {
        /// Direction and name.
        device: String,
        /// What it offers.
        offered: String,
    },
    /// The configuration asks for a channel it does not have.
    #[error(
        "{device} has {channels} channels and channel {asked} was asked for: count from 0, or average them all"
    )]
    Channel {
        /// Direction and name.
        device: String,
        /// What it has.
        channels: u16,
        /// What was asked for.
        asked: u16,
    },
    /// It did not answer in time.
    #[error("{device} did not answer within {} s: the sound server may be hanging, restart it", waited.as_secs())]
    Hung {
        /// Direction and name.
        device: String,
        /// How long it was given.
        waited: Duration,
    },
    /// It was open and stopped moving frames.
    #[error("{device} has moved no frame for {} ms: check its cable or its sound server", waited.as_millis())]
    Stalled {
        /// Direction and name.
        device: String,
        /// How long it was watched.
        waited: Duration,
    },
    /// A sound server has made it capture what a loudspeaker plays.
    #[error(
        "{device} hears what the loudspeaker plays (`{source_name}`), not the room: plug the microphone in, choose it as the \
         sound server's default source, or set `audio.allow_monitor = true`"
    )]
    Monitor {
        /// Direction and name.
        device: String,
        /// What the server calls what is captured.
        source_name: String,
    },
    /// It was open and reported that it is gone.
    #[error("{device} is gone: plug it in again, or restart the sound server")]
    Gone {
        /// Direction and name.
        device: String,
    },
    /// A file could not be used.
    #[error("cannot use {} as {direction}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// `microphone` or `loudspeaker`.
        direction: &'static str,
        /// Why.
        #[source]
        cause: hound::Error,
    },
    /// Anything else the sound system said.
    #[error("{device} failed: {message}")]
    Failed {
        /// Direction and name.
        device: String,
        /// What it said.
        message: String,
    },
}

impl DeviceError {
    /// The error and its causes in one line.
    pub(crate) fn line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            line = format!("{line}: {error}");
            cause = error.source();
        }
        line
    }
}

/// Names a device in an error or an event.
pub(crate) fn describe(direction: Direction, name: &str) -> String {
    match direction {
        Direction::Capture => format!("capture device `{name}`"),
        Direction::Playback => format!("playback device `{name}`"),
    }
}

/// What a stream has reported through [`Health::fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Something went wrong. The stream is lost unless frames go on moving: the pulse plugin reports an I/O error
    /// each time it has no timing figures yet.
    Broken,
    /// The device is gone, or its server.
    Gone,
}

impl Fault {
    pub(crate) const fn code(self) -> u32 {
        match self {
            Self::Broken => 1,
            Self::Gone => 2,
        }
    }

    pub(crate) const fn from_code(code: u32) -> Option<Self> {
        match code {
            0 => None,
            1 => Some(Self::Broken),
            _ => Some(Self::Gone),
        }
    }
}

/// Opens one device, again and again.
pub(crate) trait Opener: Send {
    /// The worker's end.
    type Line: Line;

    /// Direction and name, for errors.
    fn device(&self) -> String;

    /// Begins to open the device. Never waits; the answer comes when it comes, or never.
    fn open(&mut self) -> Receiver<Answer<Self::Line>>;

    /// On virtual time only: 10 ms have passed in which the device was not open.
    fn idle(&mut self) {}
}

/// What comes of opening.
pub(crate) type Answer<L> = Result<Opened<L>, DeviceError>;

/// An open device.
pub(crate) struct Opened<L> {
    /// For the worker.
    pub(crate) line: L,
    /// For the supervisor.
    pub(crate) stream: Stream,
    /// Name, rate, channels and period, in plain words.
    pub(crate) text: String,
    /// Tells where a sound server has put it.
    pub(crate) route: Option<route::Watch>,
}

impl<L> Opened<L> {
    /// A device that no sound server moves about.
    pub(crate) const fn fixed(line: L, stream: Stream, text: String) -> Self {
        Self { line, stream, text, route: None }
    }
}

/// What keeps a device open; dropping it closes the device.
pub(crate) enum Stream {
    /// Moves by itself. Dropping it may block.
    Driven(Box<dyn Send>),
    /// Must be pumped.
    Pumped(Box<dyn Pump>),
}

/// The worker's end of a stream.
pub(crate) trait Line: Send + 'static {
    /// How the stream is doing.
    fn health(&self) -> std::sync::Arc<Health>;

    /// The rate the device says it has.
    fn rate(&self) -> units::Hz;
}

impl Line for CaptureLine {
    fn health(&self) -> std::sync::Arc<Health> {
        std::sync::Arc::clone(&self.shared.health)
    }

    fn rate(&self) -> units::Hz {
        self.rate
    }
}

impl Line for PlaybackLine {
    fn health(&self) -> std::sync::Arc<Health> {
        std::sync::Arc::clone(&self.shared.health)
    }

    fn rate(&self) -> units::Hz {
        self.rate
    }
}

/// An answer that is there at once.
fn at_once<L>(answer: Answer<L>) -> Receiver<Answer<L>> {
    let (sender, receiver) = sync_channel(1);
    // The receiver is right here, so sending cannot fail.
    let _ = sender.send(answer);
    receiver
}

/// What opens `source`; `None` when there is nothing to open. `monitor_allowed`: it may be what a loudspeaker plays.
pub(crate) fn capture(
    source: Source,
    channels: Channels,
    monitor_allowed: bool,
) -> Option<Box<dyn Opener<Line = CaptureLine>>> {
    match source {
        #[cfg(feature = "cpal")]
        Source::Cpal { id } => Some(Box::new(alsa::Microphone::new(id, channels, monitor_allowed))),
        #[cfg(not(feature = "cpal"))]
        Source::Cpal { id } => Some(Box::new(null::Unbuilt::new(Direction::Capture, id))),
        Source::File { path } => Some(Box::new(file::Player::new(path, channels))),
        Source::Silence => None,
        Source::Sim(microphone) => Some(Box::new(microphone.allowing_monitor(monitor_allowed))),
    }
}

/// What opens `sink`.
pub(crate) fn playback(sink: Sink) -> Box<dyn Opener<Line = PlaybackLine>> {
    match sink {
        #[cfg(feature = "cpal")]
        Sink::Cpal { id } => Box::new(alsa::Loudspeaker::new(id)),
        #[cfg(not(feature = "cpal"))]
        Sink::Cpal { id } => Box::new(null::Unbuilt::new(Direction::Playback, id)),
        Sink::File { path } => Box::new(file::Recorder::new(path)),
        Sink::Null => Box::new(null::Null),
        Sink::Sim(speaker) => Box::new(speaker),
    }
}
