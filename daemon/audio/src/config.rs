// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the worker is started with.

use std::path::PathBuf;
use std::time::Duration;

use units::Db;

use crate::sim;

/// Where the microphone audio comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A device of this machine, through ALSA or, as `pulse:NAME`, a sound server. `None` or the word `default` is the system's default device; anything
    /// else is an id as [`devices`](crate::devices) lists it, with or without the `alsa:` in front.
    Cpal {
        /// Which.
        id: Option<String>,
    },
    /// A WAV file of any rate, channel count and PCM or float format; silence after its end, for ever.
    File {
        /// The file.
        path: PathBuf,
    },
    /// No microphone: no [`Event::Mic`](crate::Event::Mic), no speech, no input level.
    Silence,
    /// A microphone in memory.
    Sim(sim::Microphone),
}

/// Where playout goes.
#[derive(Clone, Debug)]
pub enum Sink {
    /// A device of this machine, through ALSA or, as `pulse:NAME`, a sound server; see [`Source::Cpal`].
    Cpal {
        /// Which.
        id: Option<String>,
    },
    /// A WAV file, 16-bit mono 48 kHz, replaced if it exists. Its header is right at most 500 ms behind, so that it
    /// can be read while it grows and after a crash.
    File {
        /// The file.
        path: PathBuf,
    },
    /// A loudspeaker that takes 48 kHz mono and lets nobody hear it.
    Null,
    /// A loudspeaker in memory.
    Sim(sim::Speaker),
}

/// How several microphone channels become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Channels {
    /// Their mean.
    #[default]
    Average,
    /// This one, counted from 0. A device with fewer channels is refused with [`DeviceError`](crate::DeviceError).
    Only(u16),
}

/// What is done about the loudspeaker being heard by the microphone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Echo {
    /// Nothing: headphones, or a device that cancels by itself.
    #[default]
    Off,
    /// What [`Echo::Software`] does as long as that works. Where the microphone hears nothing of the loudspeaker it is
    /// passed through; where the echo cannot be cancelled it is half duplex until it can. [`Event::Echo`] says what was
    /// measured and chosen, each time it changes.
    ///
    /// [`Event::Echo`]: crate::Event::Echo
    Auto {
        /// As in half duplex.
        tail: Duration,
    },
    /// The echo is cancelled. Until the canceller knows the room, for 3 s of loud reply at most, the microphone is zeroed
    /// while an utterance is audible; from then on barge-in works.
    Software,
    /// Nothing is done, as the device cancels its echo; [`Event::Echo`] says so if it does not.
    ///
    /// [`Event::Echo`]: crate::Event::Echo
    Hardware,
    /// While an utterance is audible, and this long after, the microphone is zeroed. Barge-in is impossible.
    HalfDuplex {
        /// How long the room rings on; 0 ..= 2 s. 300 ms suits a small room and 50 ms of device delay.
        tail: Duration,
    },
}

/// How the echo is cancelled, where it is, and what else is done there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleaning {
    /// Which canceller.
    pub canceller: Canceller,
    /// Steady noise is lowered by 12 dB behind it, which costs 6 ms and 15 us a hop.
    pub noise_suppression: bool,
    /// The level of speech is evened out behind that. Speech recognition needs none, and the residual is lifted too.
    pub gain_control: bool,
}

impl Default for Cleaning {
    fn default() -> Self {
        Self { canceller: Canceller::default(), noise_suppression: true, gain_control: false }
    }
}

/// Which canceller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Canceller {
    /// WebRTC's, with a filter of 160 ms.
    #[default]
    LongRoom,
    /// WebRTC's as it is, with a filter of 52 ms: to compare with.
    #[cfg(feature = "sonora")]
    Stock,
}

/// When near-end audio counts as speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vad {
    /// Voiced audio without a gap that opens speech; 16 ..= 1,000 ms, effective in steps of 16 ms.
    pub onset: Duration,
    /// Unvoiced audio that ends it; 10 ..= 3,000 ms, effective in steps of 16 ms.
    pub hangover: Duration,
    /// Score above which 16 ms are voiced; 0.05 ..= 0.95.
    pub threshold: f32,
    /// RMS below which nothing is voiced, whatever the score; -100 ..= 0 dBFS.
    pub floor: Db,
}

impl Default for Vad {
    /// 96 ms at score 0.5: 9 of 9 interruptions caught, none false, on echo-cancelled audio with this detector
    /// (measured 2026-11, synthetic rooms). -60 dBFS is 15 dB over the noise of a cheap USB microphone.
    fn default() -> Self {
        Self {
            onset: Duration::from_millis(96),
            hangover: Duration::from_millis(400),
            threshold: 0.5,
            floor: Db(-60.0),
        }
    }
}

/// A recording for diagnosis: of the microphone before and after the echo policy, and of what is played, as three 16-bit mono WAV
/// files a take, which only their owner reads. While the microphone is off it is zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Where the files are put; made if it is not there.
    pub folder: PathBuf,
    /// Longest take; at least a hop. The next one begins then.
    pub take_max: Duration,
    /// Takes that are kept, at least 1, those of earlier runs included.
    pub takes_max: u32,
}

/// What the worker is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The microphone.
    pub capture: Source,
    /// The loudspeaker.
    pub playback: Sink,
    /// How its channels become one.
    pub channels: Channels,
    /// The microphone may be the copy of what a loudspeaker plays. Otherwise it is refused, where a sound server tells.
    pub monitor_allowed: bool,
    /// When near-end audio counts as speech.
    pub vad: Vad,
    /// The echo policy.
    pub echo: Echo,
    /// How echo is cancelled.
    pub cleaning: Cleaning,
    /// Gain of playout; -100 ..= 12 dB.
    pub volume: Db,
    /// How much audio from before [`Command::UplinkOpen`](crate::Command::UplinkOpen) is kept in memory; 0 ..= 3 s.
    pub preroll_max: Duration,
    /// The microphone is off from before it opens, until [`Command::Mute`](crate::Command::Mute) switches it on.
    pub muted: bool,
    /// So it is until [`Command::MuteLine`](crate::Command::MuteLine) says that the hardware lets it be on.
    pub mute_line: bool,
    /// Whether all of it is recorded, for diagnosis.
    pub recording: Option<Recording>,
}

impl Config {
    /// These devices and the defaults for the rest: all channels averaged, no monitor, [`Vad::default`], no echo policy, 0 dB,
    /// 3 s of preroll, the microphone on, no recording.
    #[must_use]
    pub fn new(capture: Source, playback: Sink) -> Self {
        Self {
            capture,
            playback,
            channels: Channels::default(),
            monitor_allowed: false,
            vad: Vad::default(),
            echo: Echo::default(),
            cleaning: Cleaning::default(),
            volume: Db(0.0),
            preroll_max: Duration::from_secs(3),
            muted: false,
            mute_line: false,
            recording: None,
        }
    }
}
