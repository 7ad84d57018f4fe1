// SPDX-License-Identifier: MIT OR Apache-2.0

//! Resampling between fixed rates.

use rubato::audioadapter_buffers::direct::SequentialSlice;
use rubato::{
    Async, Fft, FixedAsync, FixedSync, SincInterpolationParameters, SincInterpolationType, WindowFunction,
};
use units::{Hz, Pcm};

use crate::rt::Sample as _;

/// Any number of mono frames in, as many as are ready out. Allocates only while its buffers grow to their working
/// size.
pub(crate) struct Resampler {
    kind: Kind,
    waiting: Vec<f32>,
}

enum Kind {
    Same,
    Converting { engine: Box<dyn rubato::Resampler<f32>>, block: Vec<f32> },
}

impl Resampler {
    /// A converter from one rate to another, 10 ms at a time or the next longer block the two rates share.
    pub(crate) fn new(from: Hz, to: Hz) -> Self {
        let kind = if from == to { Kind::Same } else { Kind::converting(engine(from, to)) };
        Self { kind, waiting: Vec::new() }
    }

    /// Takes `samples` and appends what they complete to `out`, nominal ±1.0 in, the same or a little over out.
    pub(crate) fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) {
        let Kind::Converting { engine, block } = &mut self.kind else {
            out.extend_from_slice(samples);
            return;
        };
        self.waiting.extend_from_slice(samples);
        let mut used = 0;
        loop {
            let need = engine.input_frames_next();
            let Some(input) = self.waiting.get(used..used + need) else {
                break;
            };
            used += need;
            out.extend_from_slice(process(engine.as_mut(), input, block));
        }
        self.waiting.drain(..used);
    }

    /// Frames at the input rate that do not fill a block yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many frames at the output rate the filter delays the signal.
    pub(crate) fn delay(&self) -> u64 {
        match &self.kind {
            Kind::Same => 0,
            Kind::Converting { engine, .. } => engine.output_delay() as u64,
        }
    }

    /// Forgets everything it was given.
    pub(crate) fn reset(&mut self) {
        self.waiting.clear();
        match &mut self.kind {
            Kind::Same => {}
            Kind::Converting { engine, .. } => engine.reset(),
        }
    }
}

impl Kind {
    fn converting(engine: Box<dyn rubato::Resampler<f32>>) -> Self {
        let block = vec![0.0; engine.output_frames_max()];
        Self::Converting { engine, block }
    }
}

fn process<'a>(engine: &mut dyn rubato::Resampler<f32>, input: &[f32], block: &'a mut [f32]) -> &'a [f32] {
    let frames = block.len();
    let adapters =
        SequentialSlice::new(input, 1, input.len()).ok().zip(SequentialSlice::new_mut(block, 1, frames).ok());
    let made =
        adapters.and_then(|(input, mut output)| engine.process_into_buffer(&input, &mut output, None).ok());
    // Both buffers have the size the engine asked for, so it never refuses them.
    debug_assert!(made.is_some());
    block.get(..made.map_or(0, |(_, made)| made)).unwrap_or(&[])
}

/// Longest block the FFT engine may work in, in seconds of input: 1/40, so 25 ms. Rates that share no shorter block,
/// such as 44,100 and 47,999, go through the sinc engine, which works in blocks of any length.
const BLOCKS_PER_SECOND_MIN: u32 = 40;

fn engine(from: Hz, to: Hz) -> Box<dyn rubato::Resampler<f32>> {
    let (input, output) = (from.get(), to.get());
    let hop = from.get().div_ceil(100) as usize;
    if gcd(input, output) >= BLOCKS_PER_SECOND_MIN {
        // The Hann window is flat to 0.95 of the lower Nyquist frequency; the default one loses 29 dB at 7.6 kHz
        // (measured 2026-11, 48 to 16 kHz).
        let fft = Fft::new_custom(
            input as usize,
            output as usize,
            hop,
            1,
            1,
            WindowFunction::Hann,
            FixedSync::Both,
        );
        return Box::new(fft.expect("rates are above zero and the block is not empty"));
    }
    let ratio = f64::from(output) / f64::from(input);
    Box::new(sinc(ratio, 1.0, hop))
}

/// A resampler whose ratio may be moved by `adjustable`, at least 1, up and down, for blocks of `hop` frames. 1.3 ms of delay at
/// 24 kHz and 5 us a hop of 10 ms (measured 2026-11).
///
/// # Panics
/// If the ratio is not above zero or the block is empty.
pub(crate) fn sinc(ratio: f64, adjustable: f64, hop: usize) -> Async<f32> {
    let parameters = SincInterpolationParameters {
        sinc_len: 128,
        f_cutoff: None,
        oversampling_factor: 256,
        interpolation: SincInterpolationType::Linear,
        window: WindowFunction::Blackman,
    };
    Async::new_sinc(ratio, adjustable, &parameters, hop, 1, FixedAsync::Input)
        .expect("the ratio is above zero and the block is not empty")
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Converts a whole piece of audio to another rate with the filter's delay removed: the result lasts as long as `pcm`,
/// to the frame above, and is aligned with it. For rates of 4 to 384 kHz. Costs about 0.05 % of the audio's length on
/// a desktop core.
#[must_use]
pub fn convert(pcm: &Pcm, to: Hz) -> Pcm {
    if pcm.rate() == to || pcm.is_empty() {
        return Pcm::new(to, pcm.samples());
    }
    let length = (u128::from(pcm.frames().0) * u128::from(to.get())).div_ceil(u128::from(pcm.rate().get()));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut resampler = Resampler::new(pcm.rate(), to);
    let skip = usize::try_from(resampler.delay()).unwrap_or(usize::MAX);
    let input: Vec<f32> = pcm.samples().iter().map(|sample| sample.to_f32()).collect();
    let mut output = Vec::with_capacity(length + skip);
    resampler.push(&input, &mut output);
    let silence = vec![0.0; input.len().min(1_024)];
    while output.len() < skip + length {
        resampler.push(&silence, &mut output);
    }
    let samples: Vec<i16> =
        output.iter().skip(skip).take(length).map(|sample| i16::from_f32(*sample)).collect();
    Pcm::new(to, samples)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use std::f32::consts::TAU;

    use super::*;

    const RATES: [u32; 9] = [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 47_999, 48_000, 96_000];

    fn hz(rate: u32) -> Hz {
        Hz::new(rate).unwrap()
    }

    fn tone(rate: u32, frequency: f32, frames: usize) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "a test signal of seconds")]
        (0..frames).map(|n| 0.5 * (TAU * frequency * n as f32 / rate as f32).sin()).collect()
    }

    fn streamed(from: u32, to: u32, input: &[f32], piece: usize) -> (Vec<f32>, usize) {
        let mut resampler = Resampler::new(hz(from), hz(to));
        let mut output = Vec::new();
        for samples in input.chunks(piece) {
            resampler.push(samples, &mut output);
        }
        (output, usize::try_from(resampler.delay()).unwrap())
    }

    /// How far a tone of amplitude 0.5 may be off: 0.01, and one frame of the lower rate where the delay is not a
    /// whole number of frames and was rounded.
    fn allowed(from: u32, to: u32, frequency: f32) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "rates are small")]
        let frame = 0.5 * TAU * frequency / from.min(to) as f32;
        if from.is_multiple_of(8_000) && to.is_multiple_of(8_000) { 0.01 } else { 0.01 + frame }
    }

    /// The largest difference between two signals.
    fn apart(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn a_tone_comes_out_of_every_pair_of_rates_at_its_level_and_delay() {
        for from in RATES {
            for to in RATES {
                let input = tone(from, 1_000.0, from as usize);
                let (output, delay) = streamed(from, to, &input, 333);
                let expected = tone(to, 1_000.0, to as usize);
                // The first and last 100 ms hold the edges of the tone.
                let edge = to as usize / 10;
                let steady = &output[edge + delay..output.len() - edge];
                let off = apart(steady, &expected[edge..]);
                assert!(off < allowed(from, to, 1_000.0), "{from} to {to}: {off}");
                assert!(delay * 100 <= to as usize * 2, "{from} to {to}: {delay} frames of delay");
                assert!(
                    output.len() + to as usize / 20 > to as usize,
                    "{from} to {to}: {} frames",
                    output.len()
                );
            }
        }
    }

    #[test]
    fn how_the_input_is_cut_changes_nothing() {
        let input = tone(44_100, 700.0, 44_100);
        assert_eq!(streamed(44_100, 16_000, &input, 441), streamed(44_100, 16_000, &input, 7));
    }

    #[test]
    fn what_the_lower_rate_cannot_hold_is_filtered_out() {
        let input = tone(48_000, 10_000.0, 48_000);
        let (output, _) = streamed(48_000, 16_000, &input, 480);
        assert!(apart(&output[1_600..14_400], &[0.0; 12_800]) < 0.001);
        let (speech, delay) = streamed(48_000, 16_000, &tone(48_000, 7_600.0, 48_000), 480);
        let expected = tone(16_000, 7_600.0, 16_000);
        assert!(apart(&speech[1_600 + delay..14_400], &expected[1_600..]) < 0.02, "7.6 kHz passes");
    }

    #[test]
    fn a_reset_forgets() {
        let mut resampler = Resampler::new(hz(44_100), hz(16_000));
        let mut output = Vec::new();
        resampler.push(&tone(44_100, 500.0, 1_000), &mut output);
        resampler.reset();
        output.clear();
        resampler.push(&[0.0; 4_410], &mut output);
        assert!(output.iter().all(|sample| *sample == 0.0));
    }

    #[test]
    fn a_whole_piece_keeps_its_length_and_place() {
        for from in RATES {
            for to in RATES {
                let source: Vec<i16> = tone(from, 440.0, from as usize / 3)
                    .iter()
                    .map(|sample| i16::from_f32(*sample))
                    .collect();
                let converted = convert(&Pcm::new(hz(from), source.clone()), hz(to));
                assert_eq!(converted.rate(), hz(to));
                let exact = source.len() as u64 * u64::from(to);
                assert_eq!(converted.frames().0, exact.div_ceil(u64::from(from)), "{from} to {to}");
                let got: Vec<f32> = converted.samples().iter().map(|sample| sample.to_f32()).collect();
                let expected = tone(to, 440.0, got.len());
                let edge = to as usize / 50;
                let off = apart(&got[edge..got.len() - edge], &expected[edge..]);
                assert!(off < allowed(from, to, 440.0), "{from} to {to}: {off}");
            }
        }
    }

    #[test]
    fn the_shortest_pieces_convert_too() {
        assert!(convert(&Pcm::new(hz(8_000), vec![]), Hz::K48).is_empty());
        let converted = convert(&Pcm::new(hz(8_000), vec![20_000; 1]), Hz::K48);
        assert_eq!(converted.frames().0, 6);
        assert!(converted.samples()[0] > 10_000);
    }
}
