// SPDX-License-Identifier: MIT OR Apache-2.0

//! A microphone and a loudspeaker in memory, with faults, for tests and rehearsals.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use units::{Frames, Hz, Pcm};

pub use super::air::Path;
pub use super::voice::voice;

use super::air::Air;
use super::pump::{Cadence, Pump};
use super::route::{Place, Watch};
use super::{Answer, DeviceError, Fault as Reported, Opened, Opener, Stream, at_once};
use crate::api::Direction;
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
    /// Another program has it: it cannot be opened this many times, then it can. It goes on if it is open.
    Busy(u32),
    /// Opening it takes until the fault is another; open, it is stalled.
    Hung,
}

impl Fault {
    /// Why it cannot be opened, if it cannot. Counts the attempt.
    fn refusal(&mut self, device: impl Fn() -> String) -> Result<(), DeviceError> {
        match self {
            Self::Gone => Err(DeviceError::Missing { device: device() }),
            Self::Busy(left @ 1..) => {
                *left -= 1;
                Err(DeviceError::Busy { device: device() })
            }
            Self::None | Self::Stalled | Self::Busy(0) | Self::Hung => Ok(()),
        }
    }
}

/// A sound server that has a device, or none.
#[derive(Debug, Default)]
struct Server {
    place: Option<Place>,
    told: Option<SyncSender<Place>>,
}

impl Server {
    fn put(&mut self, place: Place) {
        if let Some(told) = &self.told {
            // The device may be closed.
            let _ = told.try_send(place.clone());
        }
        self.place = Some(place);
    }

    fn watch(
        &mut self,
        direction: Direction,
        monitor_allowed: bool,
        device: impl Fn() -> String,
    ) -> Result<Option<Watch>, DeviceError> {
        let Some(place) = self.place.clone() else {
            return Ok(None);
        };
        let (watch, told) = Watch::begin(direction, monitor_allowed, place, device)?;
        self.told = Some(told);
        Ok(Some(watch))
    }
}

/// A microphone in memory. Clones are the same microphone.
#[derive(Clone, Debug)]
pub struct Microphone {
    rate: Hz,
    channels: u16,
    /// The one that hears; `None` is all of them.
    ear: Option<u16>,
    clock_ppm: i32,
    is_judged: bool,
    monitor_allowed: bool,
    room: Arc<Mutex<Room>>,
}

#[derive(Default)]
struct Room {
    script: VecDeque<Sound>,
    fault: Fault,
    /// Who waits for a device that hangs.
    waiting: Option<(SyncSender<Answer<CaptureLine>>, Microphone)>,
    server: Server,
    /// The air to the loudspeaker that is heard.
    air: Option<Arc<Mutex<Air>>>,
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room")
            .field("script", &self.script)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
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
        Self {
            rate,
            channels: channels.max(1),
            ear: None,
            clock_ppm: 0,
            is_judged: false,
            monitor_allowed: false,
            room: Arc::default(),
        }
    }

    /// One whose channel `channel`, counted from 0, hears, and whose others hear nothing.
    #[must_use]
    pub fn hearing_in(self, channel: u16) -> Self {
        Self { ear: Some(channel), ..self }
    }

    /// One whose clock is off by this many millionths.
    #[must_use]
    pub fn off_by(self, clock_ppm: i32) -> Self {
        Self { clock_ppm, ..self }
    }

    /// One whose signal is judged as that of a real microphone is: silence is a fault. Others are not, as a simulated room
    /// has no noise.
    #[must_use]
    pub fn judged(self) -> Self {
        Self { is_judged: true, ..self }
    }

    pub(super) fn allowing_monitor(self, monitor_allowed: bool) -> Self {
        Self { monitor_allowed, ..self }
    }

    /// A sound server has it, and puts its stream here.
    pub fn put(&self, name: &str, is_monitor: bool) {
        lock(&self.room).server.put(Place { name: name.to_owned(), is_monitor });
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

    /// Behaves like this from the next hop on. What is to be said waits while the microphone does not work.
    pub fn fault(&self, fault: Fault) {
        let mut room = lock(&self.room);
        room.fault = fault;
        let waiting = if fault == Fault::Hung { None } else { room.waiting.take() };
        drop(room);
        if let Some((answer, microphone)) = waiting {
            // Whoever waited may have gone.
            let _ = answer.send(microphone.opened());
        }
    }

    fn opened(&self) -> Answer<CaptureLine> {
        let device = || self.device();
        let mut room = lock(&self.room);
        room.fault.refusal(device)?;
        let route = room.server.watch(Direction::Capture, self.monitor_allowed, device)?;
        if let Some(air) = &room.air {
            lock(air).begin();
        }
        drop(room);
        let (callback, mut line) = capture(self.rate, self.channels);
        line.is_judged = self.is_judged;
        let ear = Ear {
            device: callback,
            channels: usize::from(self.channels),
            ear: self.ear.map(usize::from),
            cadence: Cadence::off(self.rate, self.clock_ppm),
            clock_ppm: self.clock_ppm,
            room: Arc::clone(&self.room),
            mono: Vec::new(),
            interleaved: Vec::new(),
        };
        let text = format!("simulated microphone: {}, {} channels", self.rate, self.channels);
        Ok(Opened { route, ..Opened::fixed(line, Stream::Pumped(Box::new(ear)), text) })
    }
}

impl Opener for Microphone {
    type Line = CaptureLine;

    fn device(&self) -> String {
        "the simulated microphone".into()
    }

    fn open(&mut self) -> Receiver<Answer<CaptureLine>> {
        if lock(&self.room).fault != Fault::Hung {
            return at_once(self.opened());
        }
        let (sender, receiver) = sync_channel(1);
        lock(&self.room).waiting = Some((sender, self.clone()));
        receiver
    }
}

struct Ear {
    device: Capture,
    channels: usize,
    ear: Option<usize>,
    cadence: Cadence,
    clock_ppm: i32,
    room: Arc<Mutex<Room>>,
    mono: Vec<i16>,
    interleaved: Vec<i16>,
}

impl Pump for Ear {
    fn pump(&mut self) {
        let mut room = lock(&self.room);
        match room.fault {
            Fault::None | Fault::Busy(_) => {}
            Fault::Stalled | Fault::Hung => return,
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
        let air = room.air.clone();
        drop(room);
        self.mono.resize(frames, 0);
        if let Some(air) = air {
            lock(&air).hear(&mut self.mono, self.clock_ppm);
        }
        self.interleaved.clear();
        for sample in &self.mono {
            for channel in 0..self.channels {
                self.interleaved.push(if self.ear.is_none_or(|ear| ear == channel) { *sample } else { 0 });
            }
        }
        self.device.push(&self.interleaved);
    }
}

/// A loudspeaker in memory that remembers the last 10 minutes. Clones are the same loudspeaker.
#[derive(Clone, Debug)]
pub struct Speaker {
    rate: Hz,
    clock_ppm: i32,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Debug, Default)]
struct Tape {
    samples: VecDeque<i16>,
    fault: Fault,
    server: Server,
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
        Self { rate, clock_ppm: 0, tape: Arc::default() }
    }

    /// One whose clock is off by this many millionths.
    #[must_use]
    pub fn off_by(self, clock_ppm: i32) -> Self {
        Self { clock_ppm, ..self }
    }

    /// A sound server has it, and puts its stream here.
    pub fn put(&self, name: &str) {
        lock(&self.tape).server.put(Place { name: name.to_owned(), is_monitor: false });
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
        let name = self.device();
        let device = || name.clone();
        let mut tape = lock(&self.tape);
        let may = tape.fault.refusal(device);
        let route = may.and_then(|()| tape.server.watch(Direction::Playback, false, device));
        let hangs = tape.fault == Fault::Hung;
        drop(tape);
        let route = match route {
            Ok(route) => route,
            Err(error) => return at_once(Err(error)),
        };
        if hangs {
            return at_once(Err(DeviceError::Hung { device: name, waited: Duration::ZERO }));
        }
        let period = usize::try_from(self.rate.get().div_ceil(100)).unwrap_or(480);
        let (device, line) = playback(self.rate, 1, period);
        let cone = Cone {
            device,
            rate: self.rate,
            cadence: Cadence::off(self.rate, self.clock_ppm),
            tape: Arc::clone(&self.tape),
            buffer: Vec::new(),
        };
        let text = format!("simulated loudspeaker: {}, mono", self.rate);
        at_once(Ok(Opened { route, ..Opened::fixed(line, Stream::Pumped(Box::new(cone)), text) }))
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
            Fault::None | Fault::Busy(_) => self.device.fill(&mut self.buffer, None),
            Fault::Stalled | Fault::Hung => {}
            Fault::Gone => self.device.shared().health.fault.store(Reported::Gone.code(), Relaxed),
        }
        tape.record(&self.buffer, self.rate);
    }
}

/// A panic elsewhere leaves the data whole: every change to it is a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
