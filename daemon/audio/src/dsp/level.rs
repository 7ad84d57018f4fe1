// SPDX-License-Identifier: MIT OR Apache-2.0

//! Levels.

use units::Db;

/// Gathers the level of what passes, RMS, until it is read.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    energy: f64,
    samples: u32,
}

impl Meter {
    /// Counts `samples` in; any number, nominal ±1.0.
    pub(crate) fn add(&mut self, samples: &[f32]) {
        self.energy += samples.iter().map(|sample| f64::from(sample * sample)).sum::<f64>();
        self.samples = self.samples.saturating_add(u32::try_from(samples.len()).unwrap_or(u32::MAX));
    }

    /// RMS since the last reading; silence when nothing has passed.
    pub(crate) fn take(&mut self) -> Db {
        let Self { energy, samples } = std::mem::take(self);
        if samples == 0 { Db::SILENCE } else { amplitude((energy / f64::from(samples)).sqrt()) }
    }
}

/// RMS of `samples`; silence when there are none.
pub(crate) fn rms(samples: &[f32]) -> Db {
    let mut meter = Meter::default();
    meter.add(samples);
    meter.take()
}

#[expect(clippy::cast_possible_truncation, reason = "a level needs no more precision")]
fn amplitude(rms: f64) -> Db {
    Db::from_amplitude(rms as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_wave_has_the_level_of_its_amplitude() {
        let mut meter = Meter::default();
        meter.add(&[0.5, -0.5, 0.5]);
        meter.add(&[-0.5]);
        assert!((meter.take().0 + 6.02).abs() < 0.01);
        assert_eq!(meter.take(), Db::SILENCE, "a reading starts afresh");
        assert_eq!(rms(&[]), Db::SILENCE);
    }
}
