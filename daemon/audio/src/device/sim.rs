// SPDX-License-Identifier: MIT OR Apache-2.0

//! A microphone and a loudspeaker in memory, with faults, for tests and rehearsals.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use units::{Frames, Hz, Pcm};

pub use super::air::Path;
pub use super::voice::voice;

use super::air::Air;
use super::pump::{Cadence, Pump};
use super::{Answer, DeviceError, Fault as Reported, Opened, Opener, Stream, at_once};
use crate::dsp::resample::convert;
use crate::rt::{Capture, CaptureLine, Playback, PlaybackLine, capture, playback};

/// How a simulated device behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fault {
    /// As it should.
    #[default]
    None,
    /// Open, but no callback comes. It can be opened again, and stalls again.
    Stalled,
    /// It reports an error and cannot be opened.
    Gone,
}

/// A microphone in memory. Clones are the same microphone.
#[derive(Clone, Debug)]
pub struct Microphone {
    rate: Hz,
    channels: u16,
    room: Arc<Mutex<Room>>,
}

#[derive(Debug, Default)]
struct Room {
    script: VecDeque<Sound>,
    fault: Fault,
    /// How much faster its clock is than the stepper's, in ppm.
    skew: i32,
    /// The air to the loudspeaker that is heard.
    air: Option<Arc<Mutex<Air>>>,
}

/// A piece of the script, at the microphone's rate.
#[derive(Debug)]
enum Sound {
    Audio { pcm: Pcm, at: usize },
    Silence { left: usize },
}

impl Sound {
    fn left(&self) -> usize {
        match self {
            Self::Audio { pcm, at } => pcm.samples().len() - at,
            Self::Silence { left } => *left,
        }
    }

    /// Appends up to `frames` to `out` and says how many.
    fn play(&mut self, frames: usize, out: &mut Vec<i16>) -> usize {
        let played = frames.min(self.left());
        match self {
            Self::Audio { pcm, at } => {
                out.extend_from_slice(pcm.samples().get(*at..*at + played).unwrap_or(&[]));
                *at += played;
            }
            Self::Silence { left } => {
                out.resize(out.len() + played, 0);
                *left -= played;
            }
        }
        played
    }
}

impl Microphone {
    /// A microphone of this rate and channel count in a silent room. Every channel hears the same.
    #[must_use]
    pub fn new(rate: Hz, channels: u16) -> Self {
        Self { rate, channels: channels.max(1), room: Arc::default() }
    }

    /// Says `pcm`, of any rate, after whatever is still to be said. Starts at the next hop when there is nothing.
    pub fn say(&self, pcm: &Pcm) {
        let pcm = convert(pcm, self.rate);
        lock(&self.room).script.push_back(Sound::Audio { pcm, at: 0 });
    }

    /// Is silent for this long after whatever is still to be said.
    pub fn pause(&self, span: Duration) {
        let left = usize::try_from(self.rate.frames_in(span).0).unwrap_or(usize::MAX);
        lock(&self.room).script.push_back(Sound::Silence { left });
    }

    /// How much is still to be said, pauses included.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let left: usize = lock(&self.room).script.iter().map(Sound::left).sum();
        Frames(left as u64).span(self.rate)
    }

    /// Says nothing of what was still to be said.
    pub fn hush(&self) {
        lock(&self.room).script.clear();
    }

    /// Hears this loudspeaker, which must have its rate, from the next hop on. Another path replaces the first.
    pub fn hears(&self, speaker: &Speaker, path: Path) {
        let air = Arc::new(Mutex::new(Air::new(path, self.rate)));
        lock(&speaker.tape).air = Some(Arc::clone(&air));
        lock(&self.room).air = Some(air);
    }

    /// Delivers this many ppm more frames a second than its rate says, from the next time it is opened on.
    pub fn skew(&self, ppm: i32) {
        lock(&self.room).skew = ppm;
    }

    /// Behaves like this from the next hop on. What is to be said waits while the microphone does not work.
    pub fn fault(&self, fault: Fault) {
        lock(&self.room).fault = fault;
    }
}

impl Opener for Microphone {
    type Line = CaptureLine;

    fn device(&self) -> String {
        "the simulated microphone".into()
    }

    fn open(&mut self) -> Receiver<Answer<CaptureLine>> {
        if lock(&self.room).fault == Fault::Gone {
            return at_once(Err(DeviceError::Missing { device: self.device() }));
        }
        let (device, line) = capture(self.rate, self.channels);
        let ear = Ear {
            device,
            channels: usize::from(self.channels),
            cadence: Cadence::skewed(self.rate, lock(&self.room).skew),
            room: Arc::clone(&self.room),
            mono: Vec::new(),
            interleaved: Vec::new(),
        };
        if let Some(air) = &lock(&self.room).air {
            lock(air).begin();
        }
        let text = format!("simulated microphone: {}, {} channels", self.rate, self.channels);
        at_once(Ok(Opened { line, stream: Stream::Pumped(Box::new(ear)), text }))
    }
}

struct Ear {
    device: Capture,
    channels: usize,
    cadence: Cadence,
    room: Arc<Mutex<Room>>,
    mono: Vec<i16>,
    interleaved: Vec<i16>,
}

impl Pump for Ear {
    fn pump(&mut self) {
        let mut room = lock(&self.room);
        match room.fault {
            Fault::None => {}
            Fault::Stalled => return,
            Fault::Gone => {
                self.device.shared().health.fault.store(Reported::Gone.code(), Relaxed);
                return;
            }
        }
        let frames = self.cadence.next();
        self.mono.clear();
        while self.mono.len() < frames {
            let Some(sound) = room.script.front_mut() else {
                break;
            };
            sound.play(frames - self.mono.len(), &mut self.mono);
            if sound.left() == 0 {
                room.script.pop_front();
            }
        }
        let (air, skew) = (room.air.clone(), room.skew);
        drop(room);
        self.mono.resize(frames, 0);
        if let Some(air) = air {
            lock(&air).hear(&mut self.mono, skew);
        }
        self.interleaved.clear();
        for sample in &self.mono {
            self.interleaved.resize(self.interleaved.len() + self.channels, *sample);
        }
        self.device.push(&self.interleaved);
    }
}

/// A loudspeaker in memory that remembers the last 10 minutes. Clones are the same loudspeaker.
#[derive(Clone, Debug)]
pub struct Speaker {
    rate: Hz,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Debug, Default)]
struct Tape {
    samples: VecDeque<i16>,
    fault: Fault,
    /// The air to the microphone that hears it.
    air: Option<Arc<Mutex<Air>>>,
}

/// What a [`Speaker`] remembers.
const REMEMBERED: Duration = Duration::from_secs(600);

impl Tape {
    fn record(&mut self, samples: &[i16], rate: Hz) {
        let keep = usize::try_from(rate.frames_in(REMEMBERED).0).unwrap_or(usize::MAX);
        self.samples.extend(samples);
        if let Some(air) = &self.air {
            lock(air).send(samples);
        }
        let excess = self.samples.len().saturating_sub(keep);
        self.samples.drain(..excess);
    }
}

impl Speaker {
    /// A mono loudspeaker of this rate.
    #[must_use]
    pub fn new(rate: Hz) -> Self {
        Self { rate, tape: Arc::default() }
    }

    /// Everything it has played, at its rate: under a stepper, within the first 10 minutes and as long as nothing was
    /// taken, sample `n` left it at `n / rate` on the stepper's clock. Time without a working device is silence.
    #[must_use]
    pub fn recorded(&self) -> Pcm {
        let samples: Vec<i16> = lock(&self.tape).samples.iter().copied().collect();
        Pcm::new(self.rate, samples)
    }

    /// What was recorded since the last `take`; recording starts afresh.
    #[must_use]
    pub fn take(&self) -> Pcm {
        let samples = std::mem::take(&mut lock(&self.tape).samples);
        Pcm::new(self.rate, Vec::from(samples))
    }

    /// Behaves like this from the next hop on.
    pub fn fault(&self, fault: Fault) {
        lock(&self.tape).fault = fault;
    }
}

impl Opener for Speaker {
    type Line = PlaybackLine;

    fn device(&self) -> String {
        "the simulated loudspeaker".into()
    }

    fn open(&mut self) -> Receiver<Answer<PlaybackLine>> {
        if lock(&self.tape).fault == Fault::Gone {
            return at_once(Err(DeviceError::Missing { device: self.device() }));
        }
        let period = usize::try_from(self.rate.get().div_ceil(100)).unwrap_or(480);
        let (device, line) = playback(self.rate, 1, period);
        let cone = Cone {
            device,
            rate: self.rate,
            cadence: Cadence::new(self.rate),
            tape: Arc::clone(&self.tape),
            buffer: Vec::new(),
        };
        let text = format!("simulated loudspeaker: {}, mono", self.rate);
        at_once(Ok(Opened { line, stream: Stream::Pumped(Box::new(cone)), text }))
    }

    fn idle(&mut self) {
        let frames = usize::try_from(self.rate.get() / 100).unwrap_or(480);
        lock(&self.tape).record(&vec![0; frames], self.rate);
    }
}

struct Cone {
    device: Playback,
    rate: Hz,
    cadence: Cadence,
    tape: Arc<Mutex<Tape>>,
    buffer: Vec<i16>,
}

impl Pump for Cone {
    fn pump(&mut self) {
        let mut tape = lock(&self.tape);
        self.buffer.clear();
        self.buffer.resize(self.cadence.next(), 0);
        match tape.fault {
            Fault::None => self.device.fill(&mut self.buffer, None),
            Fault::Stalled => {}
            Fault::Gone => self.device.shared().health.fault.store(Reported::Gone.code(), Relaxed),
        }
        tape.record(&self.buffer, self.rate);
    }
}

/// A panic elsewhere leaves the data whole: every change to it is a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
