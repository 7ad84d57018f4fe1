// SPDX-License-Identifier: MIT OR Apache-2.0

//! Measures an echo and what became of it, from the levels of far-end, microphone and cleaned microphone.
//!
//! Per hop only three levels are kept. An echo shows in them as the far-end's ups and downs, later and lower, in the
//! microphone; what the canceller took away as the distance of the two others.

use std::time::Duration;

use units::Db;

use super::super::level::rms;
use crate::dsp::{HOP, HOP_16K};

/// Hops that are remembered: 3 s, some ten syllables.
const HOPS: usize = 300;

/// An echo is looked for up to 300 ms after its far-end.
const LAGS: usize = 30;

/// The far-end is loud enough to judge by above this. 15 dB below it would be a whisper.
const LOUD: f32 = -45.0;

/// Levels below this are taken for silence.
const FLOOR: f32 = -70.0;

/// How often the memory is looked through, in hops: 100 ms. A look costs 10,000 multiplications.
const LOOK: usize = 10;

/// Loud hops without which nothing is said of likeness: 600 ms of the 3 s.
const LOUD_MIN: usize = 60;

/// Loud hops the cancelled amount is the median of: 500 ms.
const ERLE_HOPS: usize = 50;

/// What is known of the echo. Correlations are of levels over 3 s, -1 ..= 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// How much loud far-end there has been.
    pub(crate) loud: Duration,
    /// How long after the far-end its echo comes, to 10 ms; meaningful where `likeness` is high.
    pub(crate) delay: Option<Duration>,
    /// How alike far-end and microphone are at that delay.
    pub(crate) likeness: Option<f32>,
    /// How alike far-end and what is left are.
    pub(crate) residual: Option<f32>,
    /// How far the microphone is below the far-end where that is loud.
    pub(crate) erl: Option<Db>,
    /// How far what is left is below the microphone there: the median, so that a word in between does not count.
    pub(crate) erle: Option<Db>,
}

/// Three rows of levels and what was read from them.
pub(crate) struct Gauge {
    far: Row,
    near: Row,
    out: Row,
    hops: usize,
    /// The delay in hops.
    lag: usize,
    sorted: Vec<f32>,
    reading: Reading,
}

type Row = [f32; HOPS];

impl Gauge {
    pub(crate) fn new() -> Self {
        Self {
            far: [FLOOR; HOPS],
            near: [FLOOR; HOPS],
            out: [FLOOR; HOPS],
            hops: 0,
            lag: 0,
            sorted: Vec::with_capacity(HOPS),
            reading: Reading::default(),
        }
    }

    /// Forgets everything: another device, another room.
    pub(crate) fn reset(&mut self) {
        self.far = [FLOOR; HOPS];
        self.near = [FLOOR; HOPS];
        self.out = [FLOOR; HOPS];
        self.hops = 0;
        self.lag = 0;
        self.reading = Reading::default();
    }

    /// Takes a hop of each. Says when there is something new to read, every 100 ms.
    pub(crate) fn push(&mut self, far: &[f32; HOP_16K], near: &[f32; HOP_16K], out: &[f32; HOP_16K]) -> bool {
        let at = self.hops % HOPS;
        for (row, hop) in [(&mut self.far, far), (&mut self.near, near), (&mut self.out, out)] {
            if let Some(level) = row.get_mut(at) {
                *level = rms(hop).0.max(FLOOR);
            }
        }
        if self.far.get(at).is_some_and(|level| *level > LOUD) {
            self.reading.loud += HOP;
        }
        self.hops += 1;
        let is_due = self.hops.is_multiple_of(LOOK);
        if is_due {
            self.look();
        }
        is_due
    }

    pub(crate) const fn reading(&self) -> Reading {
        self.reading
    }

    /// How far what is left is below the microphone, over the last 30 ms. High where an echo is all there is.
    pub(crate) fn just_taken(&self) -> f32 {
        let recent = |row: &Row| {
            let levels = (1..=3).filter_map(|back| row.get((self.hops + HOPS - back) % HOPS));
            levels.fold(FLOOR, |loudest, level| loudest.max(*level))
        };
        recent(&self.near) - recent(&self.out)
    }

    fn look(&mut self) {
        let known = self.hops.min(HOPS);
        let loud = self.far.iter().filter(|level| **level > LOUD).count();
        let reading = &mut self.reading;
        if loud >= LOUD_MIN && known > LAGS * 2 {
            let alike = |row: &Row, lag| correlation(&self.far, row, self.hops, known, lag);
            let best = (0..LAGS)
                .filter_map(|lag| Some((lag, alike(&self.near, lag)?)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            reading.likeness = best.map(|(_, likeness)| likeness);
            let lag = best.map_or(0, |(lag, _)| lag);
            reading.delay = Some(HOP * u32::try_from(lag).unwrap_or(0));
            self.lag = lag;
            // What is left comes up to two hops later: the canceller's own delay.
            reading.residual = (lag..lag + 3).filter_map(|lag| alike(&self.out, lag)).reduce(f32::max);
        } else {
            (reading.likeness, reading.residual) = (None, None);
        }
        self.distances(known, self.lag);
    }

    /// Reads how far the rows are apart where the far-end of `lag` hops before was loud.
    fn distances(&mut self, known: usize, lag: usize) {
        let at = |back: usize| (self.hops - 1 - back) % HOPS;
        let level = |row: &Row, back| row.get(at(back)).copied().unwrap_or(FLOOR);
        self.sorted.clear();
        let (mut far, mut near, mut count) = (0.0, 0.0, 0.0);
        for back in 0..known.saturating_sub(lag + 1) {
            if level(&self.far, back + lag) <= LOUD {
                continue;
            }
            if self.sorted.len() < ERLE_HOPS {
                self.sorted.push(level(&self.near, back) - level(&self.out, back));
            }
            far += level(&self.far, back + lag);
            near += level(&self.near, back);
            count += 1.0;
        }
        self.reading.erl = (count > 0.0).then(|| Db((far - near) / count));
        self.sorted.sort_unstable_by(f32::total_cmp);
        let enough = self.sorted.len() >= ERLE_HOPS;
        self.reading.erle = self.sorted.get(self.sorted.len() / 2).filter(|_| enough).map(|erle| Db(*erle));
    }
}

/// Pearson's correlation of `far` with `other` `lag` hops later, over the last `known` hops. `None` where one of them
/// hardly moves: a steady sound says nothing.
fn correlation(far: &Row, other: &Row, hops: usize, known: usize, lag: usize) -> Option<f32> {
    let pairs = || {
        (0..known - lag).filter_map(|back| {
            let newer = (hops - 1 - back) % HOPS;
            let older = (hops - 1 - back - lag) % HOPS;
            Some((far.get(older).copied()?, other.get(newer).copied()?))
        })
    };
    #[expect(clippy::cast_precision_loss, reason = "at most 300")]
    let count = (known - lag) as f32;
    let (sum_far, sum_other) = pairs().fold((0.0, 0.0), |(a, b), (far, other)| (a + far, b + other));
    let (mean_far, mean_other) = (sum_far / count, sum_other / count);
    let (mut both, mut of_far, mut of_other) = (0.0, 0.0, 0.0);
    for (far, other) in pairs() {
        let (far, other) = (far - mean_far, other - mean_other);
        both += far * other;
        of_far += far * far;
        of_other += other * other;
    }
    // 3 dB of spread.
    let moves = |power: f32| power / count > 9.0;
    if !moves(of_far) {
        return None;
    }
    Some(if of_other / count > 0.25 { both / (of_far * of_other).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use super::*;

    /// A hop of this level.
    fn hop(level: f32) -> [f32; HOP_16K] {
        [Db(level).amplitude(); HOP_16K]
    }

    /// Syllables: loud and quiet in no order.
    fn syllables(hops: usize, seed: u32) -> Vec<f32> {
        let mut seed = seed;
        let mut level = -20.0;
        (0..hops)
            .map(|n| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if n % 8 == 0 {
                    level = -15.0 - f32::from(u8::try_from(seed >> 26).unwrap());
                }
                level
            })
            .collect()
    }

    fn read(far: &[f32], near: impl Fn(usize) -> f32, out: impl Fn(usize) -> f32) -> Reading {
        let mut gauge = Gauge::new();
        for (n, level) in far.iter().enumerate() {
            gauge.push(&hop(*level), &hop(near(n)), &hop(out(n)));
        }
        gauge.reading()
    }

    #[test]
    fn an_echo_is_found_at_its_delay_with_its_loss_and_what_was_taken_of_it() {
        let far = syllables(400, 7);
        let echo = |n: usize| far[n.saturating_sub(12)] - 10.0;
        let reading = read(&far, echo, |n| echo(n) - 25.0);
        assert_eq!(reading.delay, Some(HOP * 12));
        assert!(reading.likeness.unwrap() > 0.95, "{reading:?}");
        assert!((reading.erl.unwrap().0 - 10.0).abs() < 1.5, "{reading:?}");
        assert!((reading.erle.unwrap().0 - 25.0).abs() < 6.0, "{reading:?}");
    }

    #[test]
    fn another_voice_is_not_an_echo_and_neither_is_noise() {
        let far = syllables(600, 7);
        let other = syllables(600, 99);
        let voice = read(&far, |n| other[n], |n| other[n]);
        assert!(voice.likeness.unwrap() < 0.45, "{voice:?}");
        assert!(voice.erle.unwrap().0.abs() < 1.0);
        let noise = read(&far, |_| -55.0, |_| -55.0);
        assert!(noise.likeness.unwrap() < 0.2, "{noise:?}");
    }

    #[test]
    fn without_far_end_nothing_is_said() {
        let reading = read(&[-90.0; 400], |_| -30.0, |_| -60.0);
        assert_eq!(reading, Reading::default());
    }
}
