// SPDX-License-Identifier: MIT OR Apache-2.0

//! The canceller of the crate `aec3`, with a filter long enough for a room.
//!
//! The library's blocks are joined here in the order of its own pipeline, which would copy every hop six times.

use std::time::Duration;

use aec3::api::config::EchoCanceller3Config;
use aec3::api::control::EchoControl as _;
use aec3::audio_processing::aec3::echo_canceller3::EchoCanceller3;
use aec3::audio_processing::agc2::input_volume_controller::Config as InputVolume;
use aec3::audio_processing::audio_buffer::AudioBuffer;
use aec3::audio_processing::gain_controller2::{GainController2, GainController2Config};
use aec3::audio_processing::high_pass_filter::HighPassFilter;
use aec3::audio_processing::ns::NsConfig;
use aec3::audio_processing::ns::noise_suppressor::NoiseSuppressor;
use aec3::audio_processing::stream_config::StreamConfig;

use super::Canceller;
use crate::config::Cleaning;
use crate::dsp::HOP_16K;

/// The filter's length in blocks of 4 ms: 160 ms of room, where the library's own 13 model 52 ms. Figures of both:
/// `tests/bench/README.md`.
const ROOM_BLOCKS: usize = 40;

/// Its length until it has first converged: what is shorter converges faster.
const FIRST_BLOCKS: usize = 24;

/// How well the suppressor may believe the filter to do below and above 2 kHz, as powers. The library's own 4 and 1.5
/// take the interrupting words away with the residual: half the ESTOI of these (`tests/bench/README.md`).
const ERLE_MAX_LOW: f32 = 30.0;
const ERLE_MAX_HIGH: f32 = 15.0;

const RATE: usize = 16_000;

pub(super) struct Aec {
    cleaning: Cleaning,
    stages: Stages,
    format: StreamConfig,
    far: AudioBuffer,
    near: AudioBuffer,
    /// One channel.
    scratch: Vec<Vec<f32>>,
}

/// What knows the room.
struct Stages {
    high_pass: HighPassFilter,
    echo: EchoCanceller3,
    noise: Option<NoiseSuppressor>,
    gain: Option<GainController2>,
}

impl Stages {
    fn new(cleaning: Cleaning) -> Self {
        let mut config = EchoCanceller3Config::default();
        config.filter.main.length_blocks = ROOM_BLOCKS;
        config.filter.shadow.length_blocks = ROOM_BLOCKS;
        config.filter.main_initial.length_blocks = FIRST_BLOCKS;
        config.filter.shadow_initial.length_blocks = FIRST_BLOCKS;
        config.erle.max_l = ERLE_MAX_LOW;
        config.erle.max_h = ERLE_MAX_HIGH;
        let gain = || {
            let mut config = GainController2Config::default();
            // There is no volume of a microphone to control.
            config.input_volume_controller.enabled = false;
            GainController2::new(config, InputVolume::default(), RATE, 1, true)
        };
        Self {
            high_pass: HighPassFilter::new(16_000, 1),
            echo: EchoCanceller3::new(config, 16_000, 1, 1),
            noise: cleaning.noise_suppression.then(|| NoiseSuppressor::new(NsConfig::default(), RATE, 1)),
            gain: cleaning.gain_control.then(gain),
        }
    }
}

impl Aec {
    /// A canceller that knows no room yet.
    pub(super) fn new(cleaning: Cleaning) -> Self {
        let buffer = || AudioBuffer::from_sample_rates(RATE, 1, RATE, 1, RATE);
        Self {
            cleaning,
            stages: Stages::new(cleaning),
            format: StreamConfig::new(RATE, 1, false),
            far: buffer(),
            near: buffer(),
            scratch: vec![vec![0.0; HOP_16K]],
        }
    }
}

impl Canceller for Aec {
    fn render(&mut self, far: &[f32; HOP_16K]) {
        self.far.copy_from(&[far], &self.format);
        self.stages.echo.analyze_render(&mut self.far);
    }

    fn capture(&mut self, near: &[f32; HOP_16K], out: &mut [f32; HOP_16K]) {
        let stages = &mut self.stages;
        self.near.copy_from(&[near], &self.format);
        if let Some(scratch) = self.scratch.first_mut() {
            scratch.copy_from_slice(self.near.channel(0));
        }
        stages.high_pass.process(&mut self.scratch);
        if let Some(scratch) = self.scratch.first() {
            self.near.channel_mut(0).copy_from_slice(scratch);
        }
        stages.echo.analyze_capture(&mut self.near);
        stages.echo.process_capture(&mut self.near, false);
        if let Some(noise) = &mut stages.noise {
            noise.analyze(&self.near);
            noise.process(&mut self.near);
        }
        if let Some(gain) = &mut stages.gain {
            gain.process(false, &mut self.near);
        }
        self.near.copy_to_stream(&self.format, &mut [out]);
    }

    fn reset(&mut self) {
        self.stages = Stages::new(self.cleaning);
    }

    fn delay(&mut self) -> Option<Duration> {
        let delay = u64::try_from(self.stages.echo.metrics().delay_ms).ok()?;
        (delay > 0).then(|| Duration::from_millis(delay))
    }
}
