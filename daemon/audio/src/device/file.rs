// SPDX-License-Identifier: MIT OR Apache-2.0

//! WAV files as microphone and loudspeaker.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use units::Hz;

use super::pump::{Cadence, Pump};
use super::{Answer, DeviceError, Fault, Opened, Opener, Stream, at_once};
use crate::config::Channels;
use crate::rt::{Capture, CaptureLine, Playback, PlaybackLine, Sample as _, capture, playback};

/// Rates a file may have; what is outside is a broken header.
const RATES: std::ops::RangeInclusive<u32> = 4_000..=384_000;

/// Pumps between two flushes of a recording: 500 ms.
const FLUSH_EVERY: u32 = 50;

/// A WAV file that is played into the microphone's place.
pub(crate) struct Player {
    path: PathBuf,
    channels: Channels,
}

impl Player {
    pub(crate) const fn new(path: PathBuf, channels: Channels) -> Self {
        Self { path, channels }
    }

    fn start(&self) -> Answer<CaptureLine> {
        let failed = |cause| DeviceError::File { path: self.path.clone(), direction: "microphone", cause };
        let reader = WavReader::open(&self.path).map_err(failed)?;
        let spec = reader.spec();
        let rate = Hz::new(spec.sample_rate).filter(|rate| RATES.contains(&rate.get()));
        let Some(rate) = rate.filter(|_| spec.channels > 0) else {
            let offered = format!("{} Hz, {} channels", spec.sample_rate, spec.channels);
            return Err(DeviceError::Format { device: self.device(), offered });
        };
        match self.channels {
            Channels::Only(asked) if asked >= spec.channels => {
                let device = self.device();
                return Err(DeviceError::Channel { device, channels: spec.channels, asked });
            }
            Channels::Only(_) | Channels::Average => {}
        }
        let (device, line) = capture(rate, spec.channels);
        let text = format!("{}: {rate}, {} channels", self.path.display(), spec.channels);
        let tape = Tape { reader, spec, device, cadence: Cadence::new(rate), buffer: Vec::new() };
        Ok(Opened::fixed(line, Stream::Pumped(Box::new(tape)), text))
    }
}

impl Opener for Player {
    type Line = CaptureLine;

    fn device(&self) -> String {
        format!("microphone file {}", self.path.display())
    }

    fn open(&mut self) -> Receiver<Answer<CaptureLine>> {
        at_once(self.start())
    }
}

struct Tape {
    reader: WavReader<BufReader<File>>,
    spec: WavSpec,
    device: Capture,
    cadence: Cadence,
    buffer: Vec<f32>,
}

impl Pump for Tape {
    fn pump(&mut self) {
        let samples = self.cadence.next() * usize::from(self.spec.channels);
        self.buffer.clear();
        read(&mut self.reader, self.spec, samples, &mut self.buffer);
        // After the end of the file, or where it is damaged, the room is silent.
        self.buffer.resize(samples, 0.0);
        self.device.push(&self.buffer);
    }
}

fn read(reader: &mut WavReader<BufReader<File>>, spec: WavSpec, samples: usize, out: &mut Vec<f32>) {
    match spec.sample_format {
        SampleFormat::Float => out.extend(reader.samples::<f32>().map_while(Result::ok).take(samples)),
        SampleFormat::Int => {
            let shift = 32_u32.saturating_sub(u32::from(spec.bits_per_sample));
            let ints = reader.samples::<i32>().map_while(Result::ok).take(samples);
            out.extend(ints.map(|sample| sample.wrapping_shl(shift).to_f32()));
        }
    }
}

/// A WAV file in the loudspeaker's place.
pub(crate) struct Recorder {
    path: PathBuf,
    take: Take,
}

/// Whether this process has written to the file before.
#[derive(Clone, Copy)]
enum Take {
    First,
    Later,
}

const SPEC: WavSpec =
    WavSpec { channels: 1, sample_rate: 48_000, bits_per_sample: 16, sample_format: SampleFormat::Int };

impl Recorder {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path, take: Take::First }
    }

    fn start(&mut self) -> Answer<PlaybackLine> {
        let writer = self.writer().map_err(|cause| DeviceError::File {
            path: self.path.clone(),
            direction: "loudspeaker",
            cause,
        })?;
        self.take = Take::Later;
        let (device, line) = playback(Hz::K48, 1, 480);
        let text = format!("{}: {}, mono", self.path.display(), Hz::K48);
        let reel = Reel { writer, device, cadence: Cadence::new(Hz::K48), buffer: Vec::new(), pumps: 0 };
        Ok(Opened::fixed(line, Stream::Pumped(Box::new(reel)), text))
    }

    /// A recording that was interrupted, by a full disk say, goes on where it ended.
    fn writer(&self) -> hound::Result<WavWriter<BufWriter<File>>> {
        match self.take {
            Take::First => create(&self.path),
            Take::Later => WavWriter::append(&self.path).or_else(|_| create(&self.path)),
        }
    }
}

fn create(path: &Path) -> hound::Result<WavWriter<BufWriter<File>>> {
    let mut writer = WavWriter::create(path, SPEC)?;
    writer.flush()?;
    Ok(writer)
}

impl Opener for Recorder {
    type Line = PlaybackLine;

    fn device(&self) -> String {
        format!("loudspeaker file {}", self.path.display())
    }

    fn open(&mut self) -> Receiver<Answer<PlaybackLine>> {
        at_once(self.start())
    }
}

struct Reel {
    writer: WavWriter<BufWriter<File>>,
    device: Playback,
    cadence: Cadence,
    buffer: Vec<i16>,
    pumps: u32,
}

/// What a recording may hold: 12 h. A WAV file cannot count beyond 4 GiB.
const SAMPLES_MAX: u32 = 12 * 3_600 * 48_000;

impl Reel {
    fn write(&mut self) -> hound::Result<()> {
        if self.writer.len() >= SAMPLES_MAX {
            return Ok(());
        }
        for sample in &self.buffer {
            self.writer.write_sample(*sample)?;
        }
        self.pumps += 1;
        if self.pumps.is_multiple_of(FLUSH_EVERY) {
            self.writer.flush()?;
        }
        Ok(())
    }
}

impl Pump for Reel {
    fn pump(&mut self) {
        self.buffer.resize(self.cadence.next(), 0);
        self.device.fill(&mut self.buffer, None);
        if let Err(error) = self.write() {
            let health = &self.device.shared().health;
            // Only the first report counts.
            let _ = health.report.set(error.to_string());
            health.fault.store(Fault::Broken.code(), Release);
        }
    }
}
