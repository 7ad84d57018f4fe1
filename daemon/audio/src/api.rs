// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the worker is told and what it tells.

use std::time::Duration;

use units::{Db, Frames, Pcm, UtteranceId};

/// Frames in one uplink chunk: 20 ms at 16 kHz, what both providers recommend as the smallest message.
pub const CHUNK_FRAMES: usize = 320;

/// Where an utterance stands in the playout queue. Earlier variants play first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A short sound of the device's own that says nothing: it may be played in the middle of any other, which then goes on
    /// where it was.
    Earcon,
    /// Something is wrong.
    Alert,
    /// The question of the confirmation gate.
    ReadBack,
    /// The line before a slow tool.
    PreCall,
    /// The model's speech.
    Reply,
    /// A queued clip; plays after the reply it belongs to.
    Clip,
}

/// The pace of audio that is played as it came, in percent: that of every worker at its start.
pub const RATE_OWN: u16 = 100;

/// What the driver tells the worker. None of it waits.
#[derive(Clone, Debug)]
pub enum Command {
    /// Append audio to an utterance, creating it at the end of its priority class. 24 kHz is the rate playout runs
    /// at; audio of another rate is converted whole before it is queued, so a long clip is better converted by the
    /// sender with [`convert`](crate::convert). Dropped and counted: audio beyond 180 s queued, audio for an
    /// utterance that was flushed or finished.
    Append {
        /// Which.
        utterance: UtteranceId,
        /// Its class; that of the first append counts.
        priority: Priority,
        /// The audio.
        pcm: Pcm,
    },
    /// Nothing more will be appended to this utterance. An utterance without it never finishes by itself.
    Finish {
        /// Which.
        utterance: UtteranceId,
    },
    /// Drop everything queued and playing, with a 10 ms fade. Each dropped utterance is reported as cut.
    Flush,
    /// Lower playout by this much, whatever its sign, ramped over 10 ms. `Db(0.0)` undoes it.
    Duck(Db),
    /// Play at this level, ramped over 10 ms, and duck from it; limited to -100..=12 dB. The level of the start is that of
    /// [`Config`](crate::Config).
    Volume(Db),
    /// Play replies, [`Priority::Reply`], at this pace from the next 10 ms of them on: percent of their own, 50 ..= 150,
    /// beyond is limited. Their pitch stays; at 100, where the worker starts, so does every sample. What the device says
    /// of its own and clips are played as they are. What was *heard* of a reply counts its frames as they came, at any
    /// pace. It holds until the next such command, through a [`Command::Flush`] too.
    Rate(u16),
    /// Let 20 ms chunks out, this much audio from before first.
    UplinkOpen {
        /// Audio from before the opening; bounded by the preroll the worker was started with.
        preroll: Duration,
    },
    /// Let no audio out. A partial chunk is dropped.
    UplinkClose,
    /// Zero the microphone before anything sees it, and let nothing of it out, until it is switched on again.
    Mute(bool),
    /// A switch of the hardware wants the microphone off, or no longer does. While it does, nothing else switches it on.
    MuteLine(bool),
}

/// What the worker tells the driver.
#[expect(clippy::large_enum_variant, reason = "copying 640 bytes every 20 ms is cheaper than an allocation")]
#[derive(Clone, Debug)]
pub enum Event {
    /// 20 ms of microphone audio, 16 kHz mono. Only while the uplink is open.
    Mic([i16; CHUNK_FRAMES]),
    /// Near-end speech has begun.
    SpeechStarted {
        /// How long ago.
        onset_ago: Duration,
    },
    /// Near-end speech has ended, hangover included.
    SpeechEnded {
        /// How much of it was voiced.
        voiced: Duration,
    },
    /// The first frame of this utterance has left the loudspeaker.
    Started {
        /// Which.
        utterance: UtteranceId,
    },
    /// The last frame of this utterance that will ever play has left the loudspeaker.
    Finished {
        /// Which.
        utterance: UtteranceId,
        /// Frames of it that were heard, at 24 kHz.
        heard: Frames,
        /// Not all of it was heard.
        cut: bool,
    },
    /// Levels of the last 100 ms.
    Levels {
        /// RMS of the microphone after channel mapping.
        input: Db,
        /// RMS of what was given to the loudspeaker.
        output: Db,
    },
    /// A [`Command::Rate`] holds: replies play at this many percent of their own pace, 50 ..= 150, from here on. It may be
    /// nearer to 100 than what was ordered.
    Rate(u16),
    /// A [`Command::Mute`] came; what holds is told by the [`Event::Muted`] behind it.
    MuteAsked(bool),
    /// A [`Command::Mute`] or [`Command::MuteLine`] holds: the microphone is off, or on, from here on. It comes after the last
    /// audio from before. Also told at the start, if the microphone is off then.
    Muted(bool),
    /// A recording for diagnosis has begun, or ended because it cannot go on.
    Recording(bool),
    /// What is done about echo has changed, or cannot do what it should.
    Echo {
        /// For a technician: what was measured, what is done, and where that is bad news what to do.
        text: String,
    },
    /// A device was opened.
    DeviceUp {
        /// Capture or playback.
        direction: Direction,
        /// Name, rate, channels and buffer, in plain words.
        text: String,
    },
    /// A device failed or could not be opened. The worker keeps trying by itself.
    DeviceDown {
        /// Capture or playback.
        direction: Direction,
        /// One line for a technician: the device, what is wrong, what to do.
        text: String,
    },
    /// A device moves frames and is not well: what it delivers is no sound of a room, its clock is wrong, or a sound server
    /// has moved it. Said once for each cause; the device goes on.
    DeviceFault {
        /// Capture or playback.
        direction: Direction,
        /// One line for a technician: the device, what is wrong, what to do.
        text: String,
    },
    /// What a [`Event::DeviceFault`] told of is over. A device that is opened afresh has no faults, and nothing is said.
    DeviceWell {
        /// Capture or playback.
        direction: Direction,
        /// The device and what is over.
        text: String,
    },
}

/// Which way a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the microphone.
    Capture,
    /// To the loudspeaker.
    Playback,
}

/// Where the worker puts its events. Called on the worker's thread, some 60 times a second, and must not wait.
pub trait EventSink: Send {
    /// Takes the event, or returns `false` because there is no room. A refused event is offered again a hop later;
    /// when 256 are waiting, the oldest [`Event::Mic`] is dropped and counted.
    fn try_send(&mut self, event: Event) -> bool;
}

impl<F: FnMut(Event) -> bool + Send> EventSink for F {
    fn try_send(&mut self, event: Event) -> bool {
        self(event)
    }
}
