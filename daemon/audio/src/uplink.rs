// SPDX-License-Identifier: MIT OR Apache-2.0

//! The uplink gate: which microphone audio may leave, and the preroll that goes before it.
//!
//! Pure. While the gate is closed the newest audio is kept, as much as the preroll may need, and nothing leaves. Opening
//! lets the asked part of it out first. No frame leaves twice: what left is not kept.

use std::collections::VecDeque;
use std::time::Duration;

use units::Hz;

use crate::api::CHUNK_FRAMES;
use crate::rt::Sample as _;

/// The gate and what waits behind it, 16 kHz mono.
#[derive(Debug)]
pub(crate) struct Uplink {
    gate: Gate,
    /// Behind a closed gate the newest audio; behind an open one what does not fill a chunk.
    kept: VecDeque<i16>,
    kept_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Closed,
    Open,
}

impl Uplink {
    /// A closed gate that can give `preroll_max` of audio from before its opening.
    pub(crate) fn new(preroll_max: Duration) -> Self {
        let kept_max = frames(preroll_max);
        Self { gate: Gate::Closed, kept: VecDeque::with_capacity(kept_max + CHUNK_FRAMES), kept_max }
    }

    /// Opens the gate and keeps the last `preroll` for going out first. An open gate stays as it is.
    pub(crate) fn open(&mut self, preroll: Duration) {
        if self.gate == Gate::Open {
            return;
        }
        self.gate = Gate::Open;
        self.trim(frames(preroll));
    }

    /// Closes the gate; what does not fill a chunk is dropped.
    pub(crate) fn close(&mut self) {
        if self.gate == Gate::Open {
            self.forget();
        }
        self.gate = Gate::Closed;
    }

    /// Drops everything kept.
    pub(crate) fn forget(&mut self) {
        self.kept.clear();
    }

    /// Takes samples, nominal ±1.0.
    pub(crate) fn push(&mut self, samples: &[f32]) {
        self.kept.extend(samples.iter().map(|sample| i16::from_f32(*sample)));
        match self.gate {
            Gate::Closed => self.trim(self.kept_max),
            Gate::Open => {}
        }
    }

    /// The next chunk that may leave. Drain it after every `open` and `push`.
    pub(crate) fn poll(&mut self) -> Option<[i16; CHUNK_FRAMES]> {
        if self.gate == Gate::Closed || self.kept.len() < CHUNK_FRAMES {
            return None;
        }
        let mut chunk = [0; CHUNK_FRAMES];
        chunk.iter_mut().zip(self.kept.drain(..CHUNK_FRAMES)).for_each(|(to, from)| *to = from);
        Some(chunk)
    }

    fn trim(&mut self, keep: usize) {
        let excess = self.kept.len().saturating_sub(keep);
        self.kept.drain(..excess);
    }
}

fn frames(span: Duration) -> usize {
    usize::try_from(Hz::K16.frames_in(span).0).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// `count` samples that count up from `from`, one 16-bit step each.
    fn counting(from: u16, count: u16) -> Vec<f32> {
        (from..from + count).map(|n| f32::from(n) / 32_768.0).collect()
    }

    fn drained(uplink: &mut Uplink) -> Vec<i16> {
        std::iter::from_fn(|| uplink.poll()).flatten().collect()
    }

    #[test]
    fn nothing_leaves_a_closed_gate() {
        let mut uplink = Uplink::new(MS(100));
        uplink.push(&counting(0, 3_200));
        assert_eq!(uplink.poll(), None);
        assert_eq!(uplink.kept.len(), 1_600);
    }

    #[test]
    fn the_newest_preroll_goes_first_and_the_rest_follows_without_a_gap() {
        let mut uplink = Uplink::new(MS(3_000));
        uplink.push(&counting(0, 3_200));
        uplink.open(MS(50));
        uplink.push(&counting(3_200, 160));
        let out = drained(&mut uplink);
        assert_eq!(out, (2_400..3_360).collect::<Vec<i16>>());
    }

    #[test]
    fn asking_for_more_than_is_kept_gives_what_is_kept() {
        let mut uplink = Uplink::new(MS(20));
        uplink.push(&counting(0, 1_000));
        uplink.open(MS(3_000));
        assert_eq!(drained(&mut uplink), (680..1_000).collect::<Vec<i16>>());
    }

    #[test]
    fn no_frame_leaves_twice() {
        let mut uplink = Uplink::new(MS(3_000));
        uplink.open(MS(0));
        uplink.push(&counting(0, 330));
        assert_eq!(drained(&mut uplink).len(), 320);
        uplink.open(MS(3_000));
        assert_eq!(uplink.poll(), None, "a gate that is open has no preroll");
        uplink.close();
        uplink.open(MS(3_000));
        uplink.push(&counting(330, 320));
        assert_eq!(drained(&mut uplink), (330..650).collect::<Vec<i16>>());
    }

    #[test]
    fn what_is_forgotten_does_not_leave() {
        let mut uplink = Uplink::new(MS(3_000));
        uplink.push(&counting(0, 1_600));
        uplink.forget();
        uplink.open(MS(3_000));
        assert_eq!(uplink.poll(), None);
    }
}
