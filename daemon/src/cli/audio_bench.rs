// SPDX-License-Identifier: MIT OR Apache-2.0

//! The daemon's own audio path, run for as long as a measurement takes: the devices, channels and levels of the configuration.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use audio::{Command, Direction, Engine, Event, Handle, Priority, StartError};
use hal::{Button as _, LevelFile};
use units::{Db, Hz, Pcm, UtteranceId};

use crate::assembly::audio_config;
use crate::config::{Config, Device, ProcessEnv};
use crate::mute;

/// How long a device may take to open: a sound server under load takes a second.
const OPEN_LIMIT: Duration = Duration::from_secs(5);

/// How long devices may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// How much later than it should a sound may be over.
const PLAY_LIMIT: Duration = Duration::from_secs(3);

/// Which ends of the path a measurement needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Microphone,
    Loudspeaker,
    Both,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub(super) enum BenchError {
    #[error(transparent)]
    Start(#[from] StartError),
    /// What the device said when it was opened, with what to do.
    #[error("{0}")]
    Device(String),
    #[error("the {what} did not open within {} s", OPEN_LIMIT.as_secs())]
    Late { what: &'static str },
    #[error("the microphone is switched off, so nothing can be measured: switch it on first")]
    Muted,
    #[error("the microphone is held off by hal.mute.file, so nothing can be measured: {0}")]
    Held(String),
    #[error(
        "audio.{key} = \"none\", so there is nothing to measure: name a device, as `voiced audio list` does"
    )]
    NoDevice { key: &'static str },
}

/// A running audio path.
pub(super) struct Bench {
    handle: Handle,
    events: Receiver<Event>,
    /// What the devices are, once they are open.
    pub(super) devices: Vec<String>,
    next: u64,
}

/// What came of a sound that was played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Played {
    /// How much of it left the loudspeaker.
    pub(super) heard: Duration,
    /// All of it did.
    pub(super) whole: bool,
    /// From the order to its first sample at the loudspeaker.
    pub(super) began_after: Option<Duration>,
}

impl Bench {
    /// Opens `ends` as the configuration says and waits until they are open.
    ///
    /// # Errors
    /// [`BenchError`].
    pub(super) fn open(config: &Config, ends: Ends) -> Result<Self, BenchError> {
        let mut settings = audio_config(config);
        // What is measured is what the microphone gives, whatever would be done about it.
        settings.echo = audio::Echo::Off;
        if ends != Ends::Loudspeaker {
            may_listen(config)?;
            if config.audio.capture == Device::None {
                return Err(BenchError::NoDevice { key: "capture" });
            }
        }
        if ends != Ends::Microphone && config.audio.playback == Device::None {
            return Err(BenchError::NoDevice { key: "playback" });
        }
        match ends {
            Ends::Microphone => settings.playback = audio::Sink::Null,
            Ends::Loudspeaker => settings.capture = audio::Source::Silence,
            Ends::Both => {}
        }
        let (sink, events) = channel();
        let handle = Engine::start(settings, move |event| sink.send(event).is_ok())?;
        let mut bench = Self { handle, events, devices: Vec::new(), next: 1 };
        let wanted: &[(Direction, &'static str)] = match ends {
            Ends::Microphone => &[(Direction::Capture, "microphone")],
            Ends::Loudspeaker => &[(Direction::Playback, "loudspeaker")],
            Ends::Both => &[(Direction::Capture, "microphone"), (Direction::Playback, "loudspeaker")],
        };
        bench.wait_open(wanted)?;
        Ok(bench)
    }

    fn wait_open(&mut self, wanted: &[(Direction, &'static str)]) -> Result<(), BenchError> {
        let mut left = wanted.to_vec();
        let until = Instant::now() + OPEN_LIMIT;
        while let Some((_, missing)) = left.first() {
            let rest = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(rest) {
                Ok(Event::DeviceUp { direction, text }) => {
                    if left.iter().any(|(wanted, _)| *wanted == direction) {
                        self.devices.push(text);
                    }
                    left.retain(|(wanted, _)| *wanted != direction);
                }
                Ok(Event::DeviceDown { direction, text })
                    if left.iter().any(|(wanted, _)| *wanted == direction) =>
                {
                    return Err(BenchError::Device(text));
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(BenchError::Late { what: missing });
                }
            }
        }
        Ok(())
    }

    /// Gives `seen` every event of the next `span`.
    pub(super) fn watch(&self, span: Duration, mut seen: impl FnMut(Event)) {
        let until = Instant::now() + span;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(rest) {
                Ok(event) => seen(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Lets microphone audio through, none of it from before.
    pub(super) fn listen(&self) {
        let _ = self.handle.command(Command::UplinkOpen { preroll: Duration::ZERO });
    }

    /// Plays `pcm` and waits until it is over, giving `seen` what comes meanwhile.
    pub(super) fn play(&mut self, pcm: Pcm, mut seen: impl FnMut(&Event)) -> Played {
        let id = UtteranceId(self.next);
        self.next += 1;
        let (began, until) = (Instant::now(), Instant::now() + pcm.span() + PLAY_LIMIT);
        let _ = self.handle.command(Command::Append { utterance: id, priority: Priority::Alert, pcm });
        let _ = self.handle.command(Command::Finish { utterance: id });
        let mut began_after = None;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            let Ok(event) = self.events.recv_timeout(rest) else {
                return Played { heard: Duration::ZERO, whole: false, began_after };
            };
            seen(&event);
            if matches!(event, Event::Started { utterance } if utterance == id) {
                began_after = Some(began.elapsed());
            }
            if let Event::Finished { utterance, heard, cut } = event
                && utterance == id
            {
                return Played { heard: heard.span(Hz::K24), whole: !cut, began_after };
            }
        }
    }

    pub(super) fn counters(&self) -> audio::Counters {
        self.handle.counters()
    }

    /// Closes the devices.
    pub(super) fn close(self) {
        // What does not close in time is left to the end of the process.
        let _ = self.handle.stop(CLOSE_LIMIT);
    }
}

/// Whether the daemon would start with its microphone on.
fn may_listen(config: &Config) -> Result<(), BenchError> {
    let state: Option<PathBuf> = config.state_dir(&ProcessEnv).ok();
    if state.is_some_and(|folder| mute::was_off(&folder)) {
        return Err(BenchError::Muted);
    }
    let line = config.hal.mute.as_ref().map(|line| LevelFile::new(&line.file, line.muted).is_down());
    match line {
        None | Some(Ok(false)) => Ok(()),
        Some(Ok(true)) => Err(BenchError::Held("turn the switch".to_owned())),
        Some(Err(fault)) => Err(BenchError::Held(format!("it cannot be read: {fault}"))),
    }
}

/// Shows a level on the terminal, over the one before. Nothing if nobody looks.
pub(super) fn show_bar(name: &str, level: Db) {
    let mut out = std::io::stderr().lock();
    if out.is_terminal() {
        let _ = write!(out, "\r{name} {} {:>6.1} dBFS ", bar(level), level.0.max(-99.9));
    }
}

/// Ends the line of a bar.
pub(super) fn end_bar() {
    let mut out = std::io::stderr().lock();
    if out.is_terminal() {
        let _ = writeln!(out);
    }
}

/// 30 places for -60..=0 dBFS.
pub(super) fn bar(level: Db) -> String {
    let full = (0..30u8).take_while(|place| level.0 > f32::from(*place) * 2.0 - 60.0).count();
    format!("[{}{}]", "#".repeat(full), "-".repeat(30 - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_the_sound_is_loud() {
        let full = |db: f32| bar(Db(db)).matches('#').count();
        assert_eq!([full(-200.0), full(-60.0), full(-59.0), full(-30.0), full(0.0)], [0, 0, 1, 15, 30]);
        assert_eq!(bar(Db(-30.0)).len(), 32);
    }
}
