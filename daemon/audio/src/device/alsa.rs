// SPDX-License-Identifier: MIT OR Apache-2.0

//! The devices of this machine, through ALSA or from a sound server.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use ::alsa::Output;
use cpal::traits::{DeviceTrait as _, HostTrait as _, StreamTrait as _};
use cpal::{
    BufferSize, Device, DeviceId, ErrorKind, Host, HostId, InputCallbackInfo, OutputCallbackInfo,
    SampleFormat, Stream as CpalStream, StreamConfig, SupportedBufferSize, SupportedStreamConfigRange,
};
use units::{Frames, Hz};

use super::name::{DEFAULT, Name};
use super::{Answer, DeviceError, Fault, Opened, Opener, Stream, describe};
use crate::api::Direction;
use crate::config::Channels;
use crate::rt::priority::raise_callbacks;
use crate::rt::{Capture, CaptureLine, Health, Playback, PlaybackLine, Sample, capture, playback};

/// The rate devices run at unless they cannot: what hardware does natively, and where the sound servers' plugin does
/// not burn a core (measured 2026-11 at 16 kHz: it does).
const RATE: u32 = 48_000;

/// The period asked for, 10 ms. What comes is up to the device; the pulse plugin makes 320 frames of it.
const PERIOD: u32 = 480;

/// The period asked of a sound server, 20 ms. With less it runs at its smallest latency and delivers 24 frames at a time, at
/// half a core; with its own default 2 s of output lie in its buffer (measured 2026-11).
#[cfg(feature = "pulseaudio")]
const PERIOD_OF_SERVER: u32 = 960;

/// The pause a stream's own thread is made to take at an error after which no frame has moved. A dead sound server
/// reports 500,000 errors a second (measured 2026-11); a live stream must not lose more than part of a period.
const STORM_PAUSE: Duration = Duration::from_millis(2);

/// How long the device's thread sleeps before it looks for trouble that no wake-up announced.
const LOOK: Duration = Duration::from_millis(500);

/// How long a thread may take to give itself its name.
const NAMED: Duration = Duration::from_millis(20);

/// A capture device.
pub(crate) struct Microphone {
    id: Option<String>,
    channels: Channels,
    monitor_allowed: bool,
}

impl Microphone {
    pub(crate) fn new(id: Option<String>, channels: Channels, monitor_allowed: bool) -> Self {
        let monitor_allowed = monitor_allowed || Name::of(id.as_deref()).is_monitor();
        Self { id, channels, monitor_allowed }
    }
}

impl Opener for Microphone {
    type Line = CaptureLine;

    fn device(&self) -> String {
        describe(Direction::Capture, Name::of(self.id.as_deref()).text())
    }

    fn open(&mut self) -> Receiver<Answer<CaptureLine>> {
        let (id, channels, monitor_allowed) = (self.id.clone(), self.channels, self.monitor_allowed);
        elsewhere(self.device(), move || open_capture(Name::of(id.as_deref()), channels, monitor_allowed))
    }
}

/// A playback device.
pub(crate) struct Loudspeaker {
    id: Option<String>,
}

impl Loudspeaker {
    pub(crate) const fn new(id: Option<String>) -> Self {
        Self { id }
    }
}

impl Opener for Loudspeaker {
    type Line = PlaybackLine;

    fn device(&self) -> String {
        describe(Direction::Playback, Name::of(self.id.as_deref()).text())
    }

    fn open(&mut self) -> Receiver<Answer<PlaybackLine>> {
        let id = self.id.clone();
        elsewhere(self.device(), move || open_playback(Name::of(id.as_deref())))
    }
}

/// Opens where a hanging sound server holds up nobody.
fn elsewhere<L: Send + 'static>(
    device: String,
    open: impl FnOnce() -> Answer<L> + Send + 'static,
) -> Receiver<Answer<L>> {
    let (sender, receiver) = sync_channel(1);
    let fallback: SyncSender<Answer<L>> = sender.clone();
    let started = thread::Builder::new().name("audio-open".into()).spawn(move || {
        // Nobody may be waiting any more: the device is closed again, here.
        drop(sender.send(hushed(open)));
    });
    if let Err(error) = started {
        // The receiver is right here, so sending cannot fail.
        let _ = fallback.send(Err(DeviceError::Failed { device, message: error.to_string() }));
    }
    receiver
}

/// Runs `open` with what libasound would print on standard error, ten lines a failure, in the log in its place.
pub(super) fn hushed<T>(open: impl FnOnce() -> T) -> T {
    let hush = Output::local_error_handler();
    let result = open();
    if let Ok(said) = hush {
        said.borrow().buffer_string(|bytes| {
            for line in String::from_utf8_lossy(bytes).lines() {
                tracing::debug!("libasound: {line}");
            }
        });
    }
    result
}

pub(super) fn host() -> Result<Host, cpal::Error> {
    cpal::host_from_id(HostId::Alsa)
}

/// The sound server. Connects to it, and gives up after 2 s.
#[cfg(feature = "pulseaudio")]
pub(super) fn server() -> Result<Host, cpal::Error> {
    cpal::host_from_id(HostId::PulseAudio)
}

fn find(direction: Direction, name: Name<'_>) -> Result<Device, DeviceError> {
    let device = || describe(direction, name.text());
    let host = match name {
        Name::Alsa(_) => host(),
        #[cfg(feature = "pulseaudio")]
        Name::Pulse(_) => server(),
        #[cfg(not(feature = "pulseaudio"))]
        Name::Pulse(_) => {
            let message = "this program was built without feature `pulseaudio`: name a device of ALSA".into();
            return Err(DeviceError::Failed { device: device(), message });
        }
    };
    let host = host.map_err(|error| explain(device(), &error))?;
    let found = match (name.text(), direction) {
        (DEFAULT, Direction::Capture) => host.default_input_device(),
        (DEFAULT, Direction::Playback) => host.default_output_device(),
        (name, _) => host.device_by_id(&DeviceId::new(host.id(), name)),
    };
    found.ok_or_else(|| DeviceError::Missing { device: device() })
}

/// Where a sound server has put the stream that was just opened.
fn route(
    direction: Direction,
    name: Name<'_>,
    monitor_allowed: bool,
) -> Result<Option<super::route::Watch>, DeviceError> {
    #[cfg(feature = "pulseaudio")]
    return super::pulse::watch(direction, name.text(), monitor_allowed);
    #[cfg(not(feature = "pulseaudio"))]
    return {
        let _unknown = (direction, name, monitor_allowed);
        Ok(None)
    };
}

/// Turns what the sound system says into what a technician can act on.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "another crate's enum, which grows; the rest has one remedy"
)]
pub(super) fn explain(device: String, error: &cpal::Error) -> DeviceError {
    match error.kind() {
        ErrorKind::DeviceNotAvailable | ErrorKind::HostUnavailable => DeviceError::Missing { device },
        ErrorKind::DeviceBusy => DeviceError::Busy { device },
        ErrorKind::PermissionDenied => DeviceError::Denied { device },
        ErrorKind::UnsupportedConfig => DeviceError::Format { device, offered: error.to_string() },
        _ => DeviceError::Failed {
            device,
            message: format!("{error} (is the sound server running, and does this user reach it?)"),
        },
    }
}

/// What a device is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    rate: u32,
    channels: u16,
    format: SampleFormat,
    period: BufferSize,
}

impl Choice {
    fn config(self, buffer_size: BufferSize) -> StreamConfig {
        StreamConfig { channels: self.channels, sample_rate: self.rate, buffer_size }
    }
}

/// Sample formats this crate can do, the best first.
const FORMATS: [SampleFormat; 3] = [SampleFormat::F32, SampleFormat::I32, SampleFormat::I16];

/// The preference for a channel count that will not do.
const UNFIT: u16 = u16::MAX;

/// Picks the format nearest to 48 kHz, then the channel count `prefer` ranks lowest, then floats, then the longest
/// integers. What is [`UNFIT`] is picked only when there is nothing else.
fn choose(offers: &[SupportedStreamConfigRange], period: u32, prefer: impl Fn(u16) -> u16) -> Option<Choice> {
    let rank = |format| FORMATS.iter().position(|known| *known == format);
    offers
        .iter()
        .filter(|offer| offer.channels() > 0)
        .filter_map(|offer| Some((rank(offer.sample_format())?, offer)))
        .map(|(rank, offer)| {
            let rate = RATE.clamp(offer.min_sample_rate(), offer.max_sample_rate());
            let period = match offer.buffer_size() {
                SupportedBufferSize::Range { min, max } => {
                    BufferSize::Fixed(period.clamp(*min, (*max).max(*min)))
                }
                SupportedBufferSize::Unknown => BufferSize::Fixed(period),
            };
            let (channels, format) = (offer.channels(), offer.sample_format());
            let choice = Choice { rate, channels, format, period };
            let preference = prefer(channels);
            ((preference == UNFIT, rate.abs_diff(RATE), preference, rank), choice)
        })
        .min_by_key(|(order, _)| *order)
        .map(|(_, choice)| choice)
}

/// The period to ask a device of this name for.
const fn asked(name: Name<'_>) -> u32 {
    match name {
        Name::Alsa(_) => PERIOD,
        #[cfg(feature = "pulseaudio")]
        Name::Pulse(_) => PERIOD_OF_SERVER,
        #[cfg(not(feature = "pulseaudio"))]
        Name::Pulse(_) => PERIOD,
    }
}

fn offered(offers: &[SupportedStreamConfigRange]) -> String {
    if offers.is_empty() {
        return "it offers none at all".into();
    }
    let texts: Vec<String> = offers
        .iter()
        .take(4)
        .map(|offer| {
            let (min, max) = (offer.min_sample_rate(), offer.max_sample_rate());
            format!("{} channels {min}..={max} Hz {}", offer.channels(), offer.sample_format())
        })
        .collect();
    texts.join(", ")
}

fn open_capture(name: Name<'_>, map: Channels, monitor_allowed: bool) -> Answer<CaptureLine> {
    let text = describe(Direction::Capture, name.text());
    let device = find(Direction::Capture, name)?;
    let offers: Vec<_> =
        device.supported_input_configs().map_err(|error| explain(text.clone(), &error))?.collect();
    // As few channels as hold the one that is wanted.
    let wanted = match map {
        Channels::Average => 1,
        Channels::Only(channel) => channel.saturating_add(1),
    };
    let prefer = |channels| if channels < wanted { UNFIT } else { channels };
    let choice = choose(&offers, asked(name), prefer)
        .ok_or_else(|| DeviceError::Format { device: text.clone(), offered: offered(&offers) })?;
    if choice.channels < wanted {
        return Err(DeviceError::Channel { device: text, channels: choice.channels, asked: wanted - 1 });
    }
    let rate = rate(choice, &text)?;
    let (mut line, stream) = start(choice, &text, |config| {
        let (end, line) = capture(rate, choice.channels);
        // `choose` gives nothing but these.
        let stream = if choice.format == SampleFormat::F32 {
            input::<f32>(&device, config, end)
        } else if choice.format == SampleFormat::I32 {
            input::<i32>(&device, config, end)
        } else {
            input::<i16>(&device, config, end)
        };
        stream.map(|stream| (line, stream))
    })?;
    line.is_judged = true;
    let text = summary(&text, choice, period(&stream));
    let route = route(Direction::Capture, name, monitor_allowed)?;
    Ok(Opened { line, stream: Stream::Driven(Box::new(stream)), text, route })
}

fn open_playback(name: Name<'_>) -> Answer<PlaybackLine> {
    let text = describe(Direction::Playback, name.text());
    let device = find(Direction::Playback, name)?;
    let offers: Vec<_> =
        device.supported_output_configs().map_err(|error| explain(text.clone(), &error))?.collect();
    // Both loudspeakers of a stereo device play; more channels are asked for only when there is no other way.
    let prefer = |channels| if channels == 2 { 0 } else { channels };
    let choice = choose(&offers, asked(name), prefer)
        .ok_or_else(|| DeviceError::Format { device: text.clone(), offered: offered(&offers) })?;
    let rate = rate(choice, &text)?;
    let (mut line, stream) = start(choice, &text, |config| {
        let (end, line) = playback(rate, choice.channels, PERIOD_MAX);
        // `choose` gives nothing but these.
        let stream = if choice.format == SampleFormat::F32 {
            output::<f32>(&device, config, end, rate)
        } else if choice.format == SampleFormat::I32 {
            output::<i32>(&device, config, end, rate)
        } else {
            output::<i16>(&device, config, end, rate)
        };
        stream.map(|stream| (line, stream))
    })?;
    let period = period(&stream);
    line.period = usize::try_from(period).unwrap_or(0);
    let text = summary(&text, choice, period);
    let route = route(Direction::Playback, name, false)?;
    Ok(Opened { line, stream: Stream::Driven(Box::new(stream)), text, route })
}

/// The longest period the ring is made for, since what the device chooses is known only afterwards: 85 ms at 48 kHz.
const PERIOD_MAX: usize = 4_096;

fn rate(choice: Choice, device: &str) -> Result<Hz, DeviceError> {
    Hz::new(choice.rate)
        .ok_or_else(|| DeviceError::Format { device: device.into(), offered: "a rate of 0 Hz".into() })
}

/// Builds and starts a stream.
fn start<L>(
    choice: Choice,
    device: &str,
    build: impl FnMut(StreamConfig) -> Result<(L, CpalStream), cpal::Error>,
) -> Result<(L, CpalStream), DeviceError> {
    let (line, stream) = first_that_works(choice, device, build)?;
    stream.play().map_err(|error| explain(device.into(), &error))?;
    // Its threads have a name once they run.
    thread::sleep(NAMED);
    raise_callbacks();
    Ok((line, stream))
}

/// Builds with the period asked for, or else with the device's own.
fn first_that_works<T>(
    choice: Choice,
    device: &str,
    mut build: impl FnMut(StreamConfig) -> Result<T, cpal::Error>,
) -> Result<T, DeviceError> {
    let built = build(choice.config(choice.period)).or_else(|error| {
        let is_format = matches!(error.kind(), ErrorKind::UnsupportedConfig | ErrorKind::InvalidInput);
        if is_format { build(choice.config(BufferSize::Default)) } else { Err(error) }
    });
    built.map_err(|error| explain(device.into(), &error))
}

fn period(stream: &CpalStream) -> u32 {
    stream.buffer_size().unwrap_or(PERIOD)
}

fn summary(device: &str, choice: Choice, period: u32) -> String {
    let Choice { rate, channels, format, .. } = choice;
    format!("{device}: {rate} Hz, {channels} channels, {format}, {period} frames a period")
}

fn input<S: Sample + cpal::SizedSample>(
    device: &Device,
    config: StreamConfig,
    mut end: Capture,
) -> Result<CpalStream, cpal::Error> {
    let on_error = on_error(Arc::clone(&end.shared().health));
    let on_data = move |samples: &[S], _: &InputCallbackInfo| end.push(samples);
    device.build_input_stream(config, on_data, on_error, Some(LOOK))
}

fn output<S: Sample + cpal::SizedSample>(
    device: &Device,
    config: StreamConfig,
    mut end: Playback,
    rate: Hz,
) -> Result<CpalStream, cpal::Error> {
    let on_error = on_error(Arc::clone(&end.shared().health));
    let on_data = move |samples: &mut [S], info: &OutputCallbackInfo| {
        let times = info.timestamp();
        let delay: Frames = rate.frames_in(times.playback.saturating_duration_since(times.callback));
        end.fill(samples, Some(delay));
    };
    device.build_output_stream(config, on_data, on_error, Some(LOOK))
}

/// Notes that there is trouble and slows a storm of errors down; the supervisor judges, by whether frames still move.
/// Runs on the stream's own thread, between data callbacks: the one allocation is the report of the first error.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "another crate's enum, which grows; the rest has one remedy"
)]
fn on_error(health: Arc<Health>) -> impl FnMut(cpal::Error) + Send + 'static {
    let mut frames_before = None;
    move |error| {
        let fault = match error.kind() {
            // The stream goes on; lost frames are counted where they are missed.
            ErrorKind::Xrun | ErrorKind::RealtimeDenied | ErrorKind::DeviceChanged => return,
            ErrorKind::DeviceNotAvailable | ErrorKind::StreamInvalidated => Fault::Gone,
            _ => Fault::Broken,
        };
        health.report.get_or_init(|| error.to_string());
        health.fault.fetch_max(fault.code(), Release);
        let frames = Some(health.frames.load(Relaxed));
        if std::mem::replace(&mut frames_before, frames) == frames {
            thread::sleep(STORM_PAUSE);
        }
    }
}

#[cfg(test)]
#[path = "alsa_tests.rs"]
mod tests;
