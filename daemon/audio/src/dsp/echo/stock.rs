// SPDX-License-Identifier: MIT OR Apache-2.0

//! The canceller of WebRTC as it is, in the crate `sonora`: what the other one is measured beside.

use std::time::Duration;

use sonora::config::{EchoCanceller, GainController2, NoiseSuppression};
use sonora::{AudioProcessing, Config, StreamConfig};

use super::Canceller;
use crate::config::Cleaning;
use crate::dsp::HOP_16K;

pub(super) struct Stock {
    cleaning: Cleaning,
    processing: AudioProcessing,
}

impl Stock {
    /// A canceller that knows no room yet.
    pub(super) fn new(cleaning: Cleaning) -> Self {
        Self { cleaning, processing: processing(cleaning) }
    }
}

fn processing(cleaning: Cleaning) -> AudioProcessing {
    let config = Config {
        echo_canceller: Some(EchoCanceller::default()),
        noise_suppression: cleaning.noise_suppression.then(NoiseSuppression::default),
        gain_controller2: cleaning.gain_control.then(GainController2::default),
        ..Config::default()
    };
    let format = StreamConfig::new(16_000, 1);
    AudioProcessing::builder().config(config).capture_config(format).render_config(format).build()
}

impl Canceller for Stock {
    fn render(&mut self, far: &[f32; HOP_16K]) {
        let mut unused = [0.0; HOP_16K];
        let taken = self.processing.process_render_f32(&[far], &mut [&mut unused]);
        // A hop has the length the library was built for, so it never refuses one.
        debug_assert!(taken.is_ok());
    }

    fn capture(&mut self, near: &[f32; HOP_16K], out: &mut [f32; HOP_16K]) {
        if self.processing.process_capture_f32(&[near], &mut [out]).is_err() {
            out.fill(0.0);
        }
    }

    fn reset(&mut self) {
        self.processing = processing(self.cleaning);
    }

    fn delay(&mut self) -> Option<Duration> {
        let delay = u64::try_from(self.processing.statistics().delay_ms?).ok()?;
        (delay > 0).then(|| Duration::from_millis(delay))
    }
}
