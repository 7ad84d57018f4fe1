// SPDX-License-Identifier: MIT OR Apache-2.0

//! The worker's two ends: from an open microphone to hops of 16 kHz, and from hops of 24 kHz to an open loudspeaker.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use units::{Frames, Hz};

use crate::config::Channels;
use crate::counters::Counters;
use crate::device::note::Note;
use crate::device::signal::Signal;
use crate::dsp::resample::Resampler;
use crate::dsp::{HOP, HOP_16K, HOP_24K, channels};
use crate::far::Clock;
use crate::playout::Playout;
use crate::rt::{CaptureLine, PlaybackLine};

/// Microphone audio older than this is stale: it would reach the provider as a burst after a stall.
const STALE: Duration = Duration::from_millis(100);

/// An open microphone.
pub(crate) struct Intake {
    line: CaptureLine,
    map: Channels,
    resampler: Resampler,
    interleaved: Vec<f32>,
    mono: Vec<f32>,
    /// 16 kHz, less than a hop once [`Intake::hop`] has returned `None`.
    ready: Vec<f32>,
    signal: Option<Signal>,
    stale: u64,
    frames: Seen,
    overrun: Seen,
    clipped: Seen,
}

impl Intake {
    pub(crate) fn new(line: CaptureLine, map: Channels) -> Self {
        let resampler = Resampler::new(line.rate, Hz::K16);
        let signal = line.is_judged.then(|| Signal::new(line.rate));
        Self {
            line,
            map,
            resampler,
            interleaved: Vec::new(),
            mono: Vec::new(),
            ready: Vec::new(),
            signal,
            stale: 0,
            frames: Seen::default(),
            overrun: Seen::default(),
            clipped: Seen::default(),
        }
    }

    /// Takes in what the device has delivered. After a stall only the newest hop of it. `say` is given what begins or ends
    /// to be wrong with it.
    pub(crate) fn read(&mut self, say: impl FnMut(Note)) {
        let channels = usize::from(self.line.channels);
        let mut frames = self.line.ring.slots() / channels;
        if frames as u64 > self.line.rate.frames_in(STALE).0 {
            let keep = usize::try_from(self.line.rate.frames_in(HOP).0).unwrap_or(frames);
            let stale = frames.saturating_sub(keep);
            if let Ok(chunk) = self.line.ring.read_chunk(stale * channels) {
                chunk.commit_all();
            }
            self.stale += stale as u64;
            frames -= stale;
            self.forget();
        }
        self.interleaved.clear();
        if let Ok(chunk) = self.line.ring.read_chunk(frames * channels) {
            let (head, tail) = chunk.as_slices();
            self.interleaved.extend_from_slice(head);
            self.interleaved.extend_from_slice(tail);
            chunk.commit_all();
        }
        self.mono.clear();
        channels::mix(&self.interleaved, self.line.channels, self.map, &mut self.mono);
        if let Some(signal) = &mut self.signal {
            if self.line.shared.muted.load(Relaxed) {
                signal.interrupt();
            } else {
                signal.add(&self.mono, say);
            }
        }
        self.resampler.push(&self.mono, &mut self.ready);
    }

    /// The next 10 ms, 16 kHz mono, if all of it is there.
    pub(crate) fn hop(&mut self) -> Option<[f32; HOP_16K]> {
        let hop = <[f32; HOP_16K]>::try_from(self.ready.get(..HOP_16K)?).ok()?;
        self.ready.drain(..HOP_16K);
        Some(hop)
    }

    /// What the device has delivered beyond the last hop, in frames at 16 kHz.
    pub(crate) fn unheard(&self) -> f64 {
        let frames = self.line.ring.slots() / usize::from(self.line.channels) + self.resampler.waiting();
        frames as f64 * 16_000.0 / f64::from(self.line.rate.get()) + self.ready.len() as f64
    }

    /// Drops everything on its way through.
    pub(crate) fn forget(&mut self) {
        if let Some(signal) = &mut self.signal {
            signal.interrupt();
        }
        self.resampler.reset();
        self.ready.clear();
    }

    /// Tells the callback to deliver zeros, or not to.
    pub(crate) fn mute(&self, muted: bool) {
        self.line.shared.muted.store(muted, Relaxed);
    }

    /// Adds what has been counted since the last call.
    pub(crate) fn count(&mut self, counters: &mut Counters) {
        let shared = &self.line.shared;
        self.frames.add(shared.health.frames.load(Relaxed), &mut counters.capture_frames);
        self.overrun.add(shared.overrun.load(Relaxed), &mut counters.capture_overrun);
        self.clipped.add(shared.clipped.load(Relaxed), &mut counters.capture_clipped);
        counters.capture_stale += std::mem::take(&mut self.stale);
    }
}

/// A counter that starts at zero with each stream, added to one that does not.
#[derive(Debug, Default)]
struct Seen(u64);

impl Seen {
    fn add(&mut self, reading: u64, total: &mut u64) {
        *total += reading - std::mem::replace(&mut self.0, reading);
    }
}

/// What the loudspeaker is doing. Between utterances the ring is kept shorter: what comes next is heard sooner, and a
/// ring that runs dry is not heard at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// An utterance plays, or is about to.
    Playing,
    /// Silence.
    Idle,
}

/// An open loudspeaker.
pub(crate) struct Outlet {
    line: PlaybackLine,
    resampler: Resampler,
    /// At the device's rate, rendered but not yet in the ring: empty between turns, since the ring's room above the
    /// target is longer than any block of the resampler.
    ready: Vec<f32>,
    /// Position in the rendered stream at which this device took over.
    base: u64,
    /// The ring is kept this full while an utterance plays, and this full while none does.
    playing: usize,
    idle: usize,
    frames: Seen,
    underrun: Seen,
}

impl Outlet {
    /// Takes over at position `base` of the rendered stream.
    pub(crate) fn new(line: PlaybackLine, base: u64) -> Self {
        let hop = usize::try_from(line.rate.frames_in(HOP).0).unwrap_or(480);
        let capacity = line.ring.buffer().capacity();
        let playing = (2 * hop).max(line.period + hop).min(capacity);
        let idle = (line.period + hop / 2).min(playing);
        let resampler = Resampler::new(Hz::K24, line.rate);
        let (frames, underrun) = (Seen::default(), Seen::default());
        Self { line, resampler, ready: Vec::new(), base, playing, idle, frames, underrun }
    }

    /// Whether the ring is less full than it should be.
    pub(crate) fn is_hungry(&self, load: Load) -> bool {
        let queued = self.line.ring.buffer().capacity() - self.line.ring.slots();
        let target = match load {
            Load::Playing => self.playing,
            Load::Idle => self.idle,
        };
        queued + self.ready.len() < target
    }

    /// Tells the callback whether silence it has to make up would be heard.
    pub(crate) fn mark(&self, load: Load) {
        self.line.shared.playing.store(load == Load::Playing, Relaxed);
    }

    /// Takes one rendered hop, gain applied, ±1.0.
    pub(crate) fn push(&mut self, hop: &[f32; HOP_24K]) {
        self.resampler.push(hop, &mut self.ready);
        let fits = self.ready.len().min(self.line.ring.slots());
        if self.line.ring.push_entire_slice(self.ready.get(..fits).unwrap_or(&[])).is_ok() {
            self.ready.drain(..fits);
        }
    }

    /// Position in the rendered stream up to which everything has left the loudspeaker. Never ahead of the truth, at
    /// most a period behind it.
    pub(crate) fn heard(&self) -> u64 {
        let shared = &self.line.shared;
        let unheard = shared.delay_frames.load(Relaxed) + self.resampler.delay();
        let out = Frames(shared.consumed.load(Relaxed).saturating_sub(unheard));
        self.base + Hz::K24.frames_in(out.span(self.line.rate)).0
    }

    /// What the device has done so far.
    pub(crate) fn clock(&self) -> Clock {
        let shared = &self.line.shared;
        let taken = shared.consumed.load(Relaxed);
        let moved = shared.health.frames.load(Relaxed);
        Clock { moved, made_up: moved.saturating_sub(taken), rate: self.line.rate }
    }

    /// Adds what has been counted since the last call.
    pub(crate) fn count(&mut self, counters: &mut Counters) {
        let shared = &self.line.shared;
        self.frames.add(shared.health.frames.load(Relaxed), &mut counters.playback_frames);
        self.underrun.add(shared.underrun.load(Relaxed), &mut counters.playback_underrun);
    }
}

/// Lets time pass where a loudspeaker should be: everything due is rendered and lost.
#[derive(Debug)]
pub(crate) struct Void {
    /// Up to when it has been rendered.
    until: Duration,
}

impl Void {
    pub(crate) const fn new(now: Duration) -> Self {
        Self { until: now }
    }

    /// Hops due by `now`.
    pub(crate) fn due(&mut self, now: Duration) -> usize {
        // A worker that was stopped for longer than this does not make up for it.
        self.until = self.until.max(now.saturating_sub(HOP * 10));
        let mut hops = 0;
        while self.until + HOP <= now {
            self.until += HOP;
            hops += 1;
        }
        hops
    }

    /// Loses a hop.
    pub(crate) fn lose(playout: &mut Playout) {
        playout.advance(playout.rendered(), crate::playout::Audible::No);
    }
}
