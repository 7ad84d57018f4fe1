// SPDX-License-Identifier: MIT OR Apache-2.0

//! The two device callbacks, as plain functions over a ring and some counters.
//!
//! Everything here but `priority` is real-time safe: no allocation, free, lock, log, clock, system call or panic. A callback moves
//! what there is and counts the rest; what that means is for the worker to say. The memory of a ring is freed by
//! whichever end goes last, and both ends are dropped off the callback thread.

pub(crate) mod priority;
mod sample;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rtrb::{Consumer, Producer, RingBuffer};
use units::{Frames, Hz};

pub use sample::Sample;

/// Microphone audio the ring holds before the callback must drop: the longest the worker may be late.
pub const CAPTURE_RING: Duration = Duration::from_millis(200);

/// Playout the ring holds at most. Small, because what is in it cannot be recalled.
pub const PLAYBACK_RING: Duration = Duration::from_millis(60);

/// How a stream is doing. Written by its callbacks, read by the worker.
#[derive(Debug, Default)]
pub struct Health {
    /// Frames moved, whatever became of them. A stream is alive while this grows.
    pub frames: AtomicU64,
    /// What the stream has reported: 0 for nothing, else a code its device understands, the worst the highest.
    pub fault: AtomicU32,
    /// The first report in words. Set before `fault`, never from a data callback.
    pub report: OnceLock<String>,
}

/// What the capture callback counts and is told.
#[derive(Debug, Default)]
pub struct CaptureShared {
    /// Frames delivered by the device, and its fault.
    pub health: Arc<Health>,
    /// Frames dropped because the ring was full.
    pub overrun: AtomicU64,
    /// Samples at full scale.
    pub clipped: AtomicU64,
    /// While set, zeros go into the ring.
    pub muted: AtomicBool,
}

/// What the playback callback counts.
#[derive(Debug, Default)]
pub struct PlaybackShared {
    /// Frames taken by the device, and its fault.
    pub health: Arc<Health>,
    /// Frames taken from the ring.
    pub consumed: AtomicU64,
    /// Frames of silence made up while an utterance played.
    pub underrun: AtomicU64,
    /// Whether an utterance plays; a ring that runs dry at other times is not heard.
    pub playing: AtomicBool,
    /// Of the frames taken from the ring, how many had yet to leave the loudspeaker when the callback returned.
    pub delay_frames: AtomicU64,
}

/// The device's end of a capture stream.
#[derive(Debug)]
pub struct Capture {
    ring: Producer<f32>,
    channels: usize,
    shared: Arc<CaptureShared>,
}

/// The worker's end of a capture stream.
#[derive(Debug)]
pub struct CaptureLine {
    /// Interleaved, whole frames, nominal ±1.0.
    pub ring: Consumer<f32>,
    /// The device's rate.
    pub rate: Hz,
    /// Channels; never 0.
    pub channels: u16,
    /// Its signal is judged: it hears a room, which is never without any noise. A file may be.
    pub is_judged: bool,
    /// The callback's counters.
    pub shared: Arc<CaptureShared>,
}

/// Both ends of a capture stream with a ring of [`CAPTURE_RING`]. No channels counts as one.
#[must_use]
pub fn capture(rate: Hz, channels: u16) -> (Capture, CaptureLine) {
    let channels = channels.max(1);
    let (producer, consumer) = RingBuffer::new(frames(rate, CAPTURE_RING) * usize::from(channels));
    let shared = Arc::new(CaptureShared::default());
    let device = Capture { ring: producer, channels: usize::from(channels), shared: Arc::clone(&shared) };
    (device, CaptureLine { ring: consumer, rate, channels, is_judged: false, shared })
}

impl Capture {
    /// Takes one period of interleaved samples. What does not fit is dropped, newest first, and counted; so is half a
    /// frame at the end. Real-time.
    pub fn push<S: Sample>(&mut self, interleaved: &[S]) {
        let offered = interleaved.len() / self.channels;
        let taken = offered.min(self.ring.slots() / self.channels);
        let muted = self.shared.muted.load(Relaxed);
        let mut clipped = 0;
        if let Ok(mut chunk) = self.ring.write_chunk(taken * self.channels) {
            let (head, tail) = chunk.as_mut_slices();
            for (to, from) in head.iter_mut().chain(tail).zip(interleaved) {
                let sample = from.to_f32();
                clipped += u64::from(sample.abs() >= FULL_SCALE);
                *to = if muted || !sample.is_finite() { 0.0 } else { sample };
            }
            chunk.commit_all();
        }
        self.shared.clipped.fetch_add(clipped, Relaxed);
        self.shared.overrun.fetch_add((offered - taken) as u64, Relaxed);
        self.shared.health.frames.fetch_add(offered as u64, Relaxed);
    }

    /// The counters, for the device's error callback.
    #[must_use]
    pub fn shared(&self) -> Arc<CaptureShared> {
        Arc::clone(&self.shared)
    }
}

/// A sample at or above this is counted as clipped: the largest 16-bit value.
const FULL_SCALE: f32 = 32_767.0 / 32_768.0;

/// The device's end of a playback stream.
#[derive(Debug)]
pub struct Playback {
    ring: Consumer<f32>,
    channels: usize,
    shared: Arc<PlaybackShared>,
}

/// The worker's end of a playback stream.
#[derive(Debug)]
pub struct PlaybackLine {
    /// Mono, nominal ±1.0.
    pub ring: Producer<f32>,
    /// The device's rate.
    pub rate: Hz,
    /// Frames the device takes at a time.
    pub period: usize,
    /// The callback's counters.
    pub shared: Arc<PlaybackShared>,
}

/// Both ends of a playback stream with a ring of [`PLAYBACK_RING`] or three periods, whichever is longer. No channels
/// counts as one. Every channel plays the same.
#[must_use]
pub fn playback(rate: Hz, channels: u16, period: usize) -> (Playback, PlaybackLine) {
    let (producer, consumer) = RingBuffer::new(frames(rate, PLAYBACK_RING).max(period.saturating_mul(3)));
    let shared = Arc::new(PlaybackShared::default());
    let channels = usize::from(channels.max(1));
    let device = Playback { ring: consumer, channels, shared: Arc::clone(&shared) };
    (device, PlaybackLine { ring: producer, rate, period, shared })
}

impl Playback {
    /// Fills one period of interleaved samples, all of it: with what is in the ring, then with silence. `delay` is how
    /// long after this call the first frame of `out` leaves the loudspeaker, `None` when the device plays what it has
    /// taken by the time it asks again. Real-time.
    pub fn fill<S: Sample>(&mut self, out: &mut [S], delay: Option<Frames>) {
        let wanted = out.len() / self.channels;
        let ready = wanted.min(self.ring.slots());
        let (audio, silence) = out.split_at_mut(ready * self.channels);
        if let Ok(chunk) = self.ring.read_chunk(ready) {
            let (head, tail) = chunk.as_slices();
            for (frame, sample) in audio.chunks_exact_mut(self.channels).zip(head.iter().chain(tail)) {
                frame.fill(S::from_f32(*sample));
            }
            chunk.commit_all();
        }
        silence.fill(S::from_f32(0.0));
        if self.shared.playing.load(Relaxed) {
            self.shared.underrun.fetch_add((wanted - ready) as u64, Relaxed);
        }
        if let Some(Frames(first)) = delay {
            self.shared.delay_frames.store(first + wanted as u64, Relaxed);
        }
        self.shared.consumed.fetch_add(ready as u64, Relaxed);
        self.shared.health.frames.fetch_add(wanted as u64, Relaxed);
    }

    /// The counters, for the device's error callback.
    #[must_use]
    pub fn shared(&self) -> Arc<PlaybackShared> {
        Arc::clone(&self.shared)
    }
}

fn frames(rate: Hz, span: Duration) -> usize {
    usize::try_from(rate.frames_in(span).0).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use super::*;

    /// A rate at which the capture ring holds 20 frames and the playback ring 6.
    fn slow() -> Hz {
        Hz::new(100).unwrap()
    }

    #[test]
    fn what_is_pushed_comes_out_in_order_across_the_wrap() {
        let (mut device, mut line) = capture(slow(), 2);
        let mut next: i16 = 0;
        let mut expected: i16 = 0;
        for _ in 0..7 {
            let period: Vec<i16> = (0..26).map(|n| next + n).collect();
            next += 26;
            device.push(&period);
            while let Ok(sample) = line.ring.pop() {
                assert_eq!(sample, f32::from(expected) / 32_768.0);
                expected += 1;
            }
        }
        assert_eq!(expected, next);
        assert_eq!(line.shared.health.frames.load(Relaxed), 7 * 13);
        assert_eq!(line.shared.overrun.load(Relaxed), 0);
    }

    #[test]
    fn a_full_ring_drops_the_newest_whole_frames_and_counts_them() {
        let (mut device, mut line) = capture(slow(), 3);
        device.push(&[0.25f32; 18 * 3]);
        device.push(&[0.5f32; 5 * 3]);
        assert_eq!(line.ring.slots(), 20 * 3);
        assert_eq!(line.shared.overrun.load(Relaxed), 3);
        assert_eq!(line.shared.health.frames.load(Relaxed), 23);
        let last = line.ring.read_chunk(60).unwrap().into_iter().last();
        assert_eq!(last, Some(0.5));
    }

    #[test]
    fn muted_and_broken_samples_become_zero_and_clipping_is_counted() {
        let (mut device, mut line) = capture(slow(), 1);
        device.push(&[f32::NAN, f32::INFINITY, 1.0, 0.5]);
        line.shared.muted.store(true, Relaxed);
        device.push(&[0.5f32; 2]);
        let seen: Vec<f32> = line.ring.read_chunk(6).unwrap().into_iter().collect();
        assert_eq!(seen, [0.0, 0.0, 1.0, 0.5, 0.0, 0.0]);
        assert_eq!(line.shared.clipped.load(Relaxed), 2);
    }

    #[test]
    fn fill_always_fills_and_counts_what_it_made_up() {
        let (mut device, mut line) = playback(slow(), 2, 1);
        let mut out = [9i16; 8];
        device.fill(&mut out, None);
        assert_eq!(out, [0; 8]);
        assert_eq!(line.shared.underrun.load(Relaxed), 0, "no utterance plays");
        line.shared.playing.store(true, Relaxed);

        line.ring.push_entire_slice(&[0.5, -1.0, 2.0]).unwrap();
        let mut out = [9i16; 8];
        device.fill(&mut out, Some(Frames(100)));
        assert_eq!(out, [16_384, 16_384, -32_768, -32_768, 32_767, 32_767, 0, 0]);
        assert_eq!(line.shared.underrun.load(Relaxed), 1);
        assert_eq!(line.shared.consumed.load(Relaxed), 3);
        assert_eq!(line.shared.health.frames.load(Relaxed), 8);
        assert_eq!(line.shared.delay_frames.load(Relaxed), 104);
    }

    #[test]
    fn a_period_that_is_not_whole_frames_is_filled_too() {
        let (mut device, mut line) = playback(slow(), 4, 1);
        line.ring.push_entire_slice(&[1.0, 1.0]).unwrap();
        let mut out = [9.0f32; 6];
        device.fill(&mut out, None);
        assert_eq!(out, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn the_ring_crosses_threads_without_losing_a_frame() {
        let (mut device, mut line) = capture(slow(), 1);
        let thread = std::thread::spawn(move || {
            for n in 0..200u8 {
                while device.ring.slots() == 0 {
                    std::thread::yield_now();
                }
                device.push(&[f32::from(n)]);
            }
        });
        let mut expected = 0u8;
        while expected < 200 {
            match line.ring.pop() {
                Ok(sample) => {
                    assert_eq!(sample, f32::from(expected));
                    expected += 1;
                }
                Err(_) => std::thread::yield_now(),
            }
        }
        thread.join().unwrap();
    }
}
