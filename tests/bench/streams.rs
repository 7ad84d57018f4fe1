// SPDX-License-Identifier: MIT OR Apache-2.0

//! The harness's own streams on the virtual card: an ear that knows when each frame was there, and a mouth.
//!
//! They are also the floor: what any program pays that uses cpal on this card.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{BufferSize, Device, DeviceId, StreamConfig};
use units::{Frames, Hz};

/// What the harness asks for: the pulse plugin makes callbacks of 160 frames (3.3 ms) of it, its finest.
const EAR_FRAMES: u32 = 240;

/// What the daemon asks for, so that the floor has the daemon's device buffer in it.
pub const DEVICE_FRAMES: u32 = 480;

/// How far around a frame the earliest delivery is looked for: many periods, and too short for clocks to part.
const NEAR: Duration = Duration::from_secs(1);

/// Cpal stops calling back when this long has passed without a frame; only then.
const POLL: Option<Duration> = Some(Duration::from_millis(500));

/// What the sound server takes at most to set a stream up.
const SET_UP: Duration = Duration::from_millis(50);

fn config(frames: u32) -> StreamConfig {
    StreamConfig { channels: 1, sample_rate: Hz::K48.get(), buffer_size: BufferSize::Fixed(frames) }
}

/// A device of the virtual card by its ALSA name.
///
/// # Panics
/// If this machine has no such device: the virtual card has gone.
fn device(name: &str) -> Device {
    let host = cpal::default_host();
    let id = DeviceId::new(host.id(), name);
    host.device_by_id(&id)
        .unwrap_or_else(|| panic!("there is no device {id}: is ALSA_CONFIG_PATH that of the rig?"))
}

/// Starts a stream. A stream of the pulse plugin that is started at once reports errors for some milliseconds.
///
/// # Panics
/// If it does not start.
fn begin(stream: &cpal::Stream) {
    std::thread::sleep(SET_UP);
    stream.play().unwrap_or_else(|error| panic!("a stream of the virtual card does not start: {error}"));
}

/// A capture stream that keeps everything it hears, 48 kHz mono.
pub struct Ear {
    stream: cpal::Stream,
    heard: Arc<Mutex<Heard>>,
}

/// What an ear has heard.
#[derive(Clone, Default)]
pub struct Heard {
    /// Every frame.
    pub samples: Vec<f32>,
    /// For each callback: when it came, and how many frames had come by then.
    deliveries: Vec<(Instant, usize)>,
    faults: Vec<String>,
}

impl Ear {
    /// Opens `name` and listens.
    ///
    /// # Panics
    /// If it cannot be opened.
    #[must_use]
    pub fn open(name: &str, room_for: Duration) -> Self {
        let frames = usize::try_from(Hz::K48.frames_in(room_for).0).expect("a recording fits into memory");
        let heard = Arc::new(Mutex::new(Heard {
            samples: Vec::with_capacity(frames),
            deliveries: Vec::with_capacity(frames / 100),
            faults: Vec::new(),
        }));
        let (ear, fault) = (Arc::clone(&heard), Arc::clone(&heard));
        let stream = device(name).build_input_stream::<f32, _, _>(
            config(EAR_FRAMES),
            move |data, _| {
                let now = Instant::now();
                let mut heard = ear.lock().unwrap_or_else(PoisonError::into_inner);
                heard.samples.extend_from_slice(data);
                let frames = heard.samples.len();
                heard.deliveries.push((now, frames));
            },
            move |error| note(&fault, &error),
            POLL,
        );
        let stream = stream.unwrap_or_else(|error| panic!("{name} cannot be opened for capture: {error}"));
        begin(&stream);
        Self { stream, heard }
    }

    /// Stops and gives what was heard.
    ///
    /// # Panics
    /// If the stream reported a fault: frames are missing, so times would be wrong.
    #[must_use]
    pub fn stop(self) -> Heard {
        drop(self.stream);
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(heard.faults.is_empty(), "the harness's capture failed, measure again: {:?}", heard.faults);
        heard
    }
}

/// A dead ALSA stream reports errors as fast as it can, so a few are kept and the rest slowed down.
fn note(heard: &Mutex<Heard>, error: &cpal::Error) {
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    if error.kind() == cpal::ErrorKind::RealtimeDenied {
        return;
    }
    if heard.faults.len() < 4 {
        heard.faults.push(error.to_string());
    } else {
        drop(heard);
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Heard {
    /// When the frame at `position` could first be had by any client: the line through the earliest deliveries near
    /// it. Late deliveries of the sound server thus count against whoever is measured, not for it.
    ///
    /// # Panics
    /// If nothing was delivered near it.
    #[must_use]
    pub fn time_of(&self, position: Duration) -> Instant {
        let span = |frames: usize| Frames(frames as u64).span(Hz::K48);
        let near = self.deliveries.iter().filter(|(_, frames)| span(*frames).abs_diff(position) <= NEAR);
        let earliest =
            near.filter_map(|(at, frames)| (*at + NEAR * 2 + position).checked_sub(span(*frames))).min();
        earliest.expect("the recording has deliveries all along") - NEAR * 2
    }

    /// The frame that is delivered at `at`, or the nearest there is.
    #[must_use]
    pub fn frame_at(&self, at: Instant) -> usize {
        let next = self.deliveries.partition_point(|(time, _)| *time < at);
        self.deliveries.get(next).or(self.deliveries.last()).map_or(0, |(_, frames)| *frames)
    }
}

/// Plays one click each time it is asked to, and tells when it was handed to the device.
pub struct Mouth {
    _stream: cpal::Stream,
    ask: std::sync::mpsc::Sender<()>,
    handed: std::sync::mpsc::Receiver<Instant>,
}

impl Mouth {
    /// Opens `name`, with the buffer the daemon has, and plays silence.
    ///
    /// # Panics
    /// If it cannot be opened.
    #[must_use]
    pub fn open(name: &str) -> Self {
        let (ask, asked) = std::sync::mpsc::channel::<()>();
        let (hand, handed) = std::sync::mpsc::channel();
        let click = crate::signal::click(Hz::K48);
        let mut rest: &'static [f32] = &[];
        let click: &'static [f32] = click.leak();
        let stream = device(name).build_output_stream::<f32, _, _>(
            config(DEVICE_FRAMES),
            move |out, _| {
                if asked.try_recv().is_ok() {
                    rest = click;
                    // The receiver lives as long as the stream.
                    let _ = hand.send(Instant::now());
                }
                let ready = rest.len().min(out.len());
                out[..ready].copy_from_slice(&rest[..ready]);
                out[ready..].fill(0.0);
                rest = &rest[ready..];
            },
            |_| std::thread::sleep(Duration::from_millis(10)),
            POLL,
        );
        let stream = stream.unwrap_or_else(|error| panic!("{name} cannot be opened for playback: {error}"));
        begin(&stream);
        Self { _stream: stream, ask, handed }
    }

    /// Plays a click and gives the time at which its first frame was handed to the device.
    ///
    /// # Panics
    /// If the device takes no frame for 5 s.
    #[must_use]
    pub fn click(&self) -> Instant {
        self.ask.send(()).expect("the stream holds the other end");
        self.handed.recv_timeout(Duration::from_secs(5)).expect("the virtual card takes frames all the time")
    }
}

/// Both directions with the daemon's buffers and nothing in between, until `end` returns: what the sound backend costs
/// anybody.
///
/// # Panics
/// If a device cannot be opened.
pub fn idle_both_ways(capture: &str, playback: &str, end: impl FnOnce()) {
    let mut peak = 0.0_f32;
    let input = device(capture).build_input_stream::<f32, _, _>(
        config(DEVICE_FRAMES),
        move |data, _| peak = data.iter().fold(peak, |peak, sample| peak.max(sample.abs())),
        |_| std::thread::sleep(Duration::from_millis(10)),
        POLL,
    );
    let input = input.unwrap_or_else(|error| panic!("{capture} cannot be opened for capture: {error}"));
    let output = device(playback).build_output_stream::<f32, _, _>(
        config(DEVICE_FRAMES),
        |out, _| out.fill(0.0),
        |_| std::thread::sleep(Duration::from_millis(10)),
        POLL,
    );
    let output = output.unwrap_or_else(|error| panic!("{playback} cannot be opened for playback: {error}"));
    for stream in [&input, &output] {
        begin(stream);
    }
    end();
}
