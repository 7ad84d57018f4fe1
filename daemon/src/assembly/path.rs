// SPDX-License-Identifier: MIT OR Apache-2.0

//! The audio path of a configuration: its ends, its figures, and whether it starts with the microphone off.

use std::sync::Arc;

use hal::{LevelFile, PushButton};

use super::{Assembly, AssemblyError, Bus};
use crate::config::{CaptureChannel, Config, Device, EchoMode};
use crate::mute;

impl Assembly<'_> {
    pub(super) fn audio(&self) -> audio::Config {
        let mut audio = audio_config(&self.config);
        if let Some((capture, playback)) = self.devices.clone() {
            (audio.capture, audio.playback) = (capture, playback);
        }
        audio.muted = self.state().ok().flatten().is_some_and(|folder| mute::was_off(&folder));
        audio.recording = self.config.audio.recording.clone();
        audio.mute_line = self.config.hal.mute.is_some();
        audio
    }
}

/// What the audio worker is started with, its microphone on.
pub(crate) fn audio_config(config: &Config) -> audio::Config {
    audio::Config {
        channels: match config.audio.capture_channel {
            CaptureChannel::Mix => audio::Channels::Average,
            CaptureChannel::Index(channel) => audio::Channels::Only(channel),
        },
        vad: audio::Vad {
            onset: config.vad.onset,
            hangover: config.vad.hangover,
            threshold: config.vad.threshold,
            floor: config.vad.level_floor,
        },
        echo: match config.audio.echo.mode {
            EchoMode::Auto => audio::Echo::Auto { tail: config.audio.echo.tail },
            EchoMode::Software => audio::Echo::Software,
            EchoMode::Hardware => audio::Echo::Hardware,
            EchoMode::Off => audio::Echo::Off,
            EchoMode::HalfDuplex => audio::Echo::HalfDuplex { tail: config.audio.echo.tail },
        },
        cleaning: audio::Cleaning {
            noise_suppression: config.audio.echo.noise_suppression,
            gain_control: config.audio.echo.gain_control,
            ..audio::Cleaning::default()
        },
        volume: config.audio.volume,
        monitor_allowed: config.audio.allow_monitor,
        preroll_max: config.engage.preroll,
        ..audio::Config::new(source(config), sink(config))
    }
}

fn source(config: &Config) -> audio::Source {
    match &config.audio.capture {
        Device::Default => audio::Source::Cpal { id: None },
        Device::Named(id) => audio::Source::Cpal { id: Some(id.clone()) },
        Device::File(path) => audio::Source::File { path: path.clone() },
        Device::None => audio::Source::Silence,
    }
}

fn sink(config: &Config) -> audio::Sink {
    match &config.audio.playback {
        Device::Default => audio::Sink::Cpal { id: None },
        Device::Named(id) => audio::Sink::Cpal { id: Some(id.clone()) },
        Device::File(path) => audio::Sink::File { path: path.clone() },
        Device::None => audio::Sink::Null,
    }
}

/// The switch that holds the microphone off, on a lane of its own.
pub(super) fn mute_line(config: &Config, bus: Bus) -> Result<Option<Arc<PushButton>>, AssemblyError> {
    let Some(line) = &config.hal.mute else { return Ok(None) };
    let driver = LevelFile::new(&line.file, line.muted);
    Ok(Some(Arc::new(PushButton::attach(&bus.lane("mute")?, Box::new(driver)))))
}
