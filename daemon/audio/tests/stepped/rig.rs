// SPDX-License-Identifier: MIT OR Apache-2.0

//! A worker on virtual time, and what tests do with it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use audio::{Command, Config, Engine, Event, Handle, Priority, Stepper, convert, sim};
use units::{Frames, Hz, Pcm, UtteranceId};

/// A stepped worker and everything it said, with the virtual time at which it said it.
pub struct Rig {
    pub stepper: Stepper,
    pub handle: Handle,
    events: Arc<Mutex<VecDeque<Event>>>,
    is_blocked: Arc<AtomicBool>,
    pub seen: Vec<(Duration, Event)>,
}

impl Rig {
    pub fn new(config: Config) -> Self {
        let events = Arc::new(Mutex::new(VecDeque::new()));
        let is_blocked = Arc::new(AtomicBool::new(false));
        let (sink, is_full) = (Arc::clone(&events), Arc::clone(&is_blocked));
        let push = move |event| {
            if is_full.load(Relaxed) {
                return false;
            }
            sink.lock().unwrap().push_back(event);
            true
        };
        let (stepper, handle) = Engine::stepped(config, push).unwrap();
        Self { stepper, handle, events, is_blocked, seen: Vec::new() }
    }

    /// Takes no events until [`Rig::unblock`].
    pub fn block(&self) {
        self.is_blocked.store(true, Relaxed);
    }

    pub fn unblock(&self) {
        self.is_blocked.store(false, Relaxed);
    }

    pub fn tell(&self, command: Command) {
        self.handle.command(command).unwrap();
    }

    pub fn play(&self, utterance: UtteranceId, pcm: Pcm) {
        self.tell(Command::Append { utterance, priority: Priority::Reply, pcm });
        self.tell(Command::Finish { utterance });
    }

    pub fn run(&mut self, span: Duration) {
        let until = self.stepper.now() + span;
        while self.stepper.now() < until {
            self.stepper.hop();
            let now = self.stepper.now();
            self.seen.extend(self.events.lock().unwrap().drain(..).map(|event| (now, event)));
        }
    }

    /// When something first happened.
    pub fn when(&self, wanted: impl Fn(&Event) -> bool) -> Option<Duration> {
        self.seen.iter().find(|(_, event)| wanted(event)).map(|(at, _)| *at)
    }

    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.seen.iter().filter(|(_, event)| wanted(event)).count()
    }

    pub fn microphone(&self) -> Vec<i16> {
        self.seen
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Mic(samples) => Some(samples.to_vec()),
                _ => None,
            })
            .flatten()
            .collect()
    }

    pub fn finished(&self, wanted: UtteranceId) -> Option<(Frames, bool)> {
        self.seen.iter().find_map(|(_, event)| match event {
            Event::Finished { utterance, heard, cut } if *utterance == wanted => Some((*heard, *cut)),
            _ => None,
        })
    }
}

pub fn started(event: &Event) -> bool {
    matches!(event, Event::SpeechStarted { .. })
}

pub fn ended(event: &Event) -> bool {
    matches!(event, Event::SpeechEnded { .. })
}

pub fn down(event: &Event) -> bool {
    matches!(event, Event::DeviceDown { .. })
}

pub fn up(event: &Event) -> bool {
    matches!(event, Event::DeviceUp { .. })
}

pub fn level(pcm: &[i16]) -> f64 {
    let energy: f64 = pcm.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    (energy / pcm.len().max(1) as f64).sqrt()
}

/// The best match of `part` in `whole`: where, and how much alike, 1 being the same but for the gain.
pub fn find(part: &[i16], whole: &[i16]) -> (usize, f64) {
    let dot = |a: &[i16], b: &[i16]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let own = dot(part, part).sqrt();
    (0..=whole.len().saturating_sub(part.len()))
        .map(|at| {
            let window = &whole[at..at + part.len()];
            (at, dot(part, window) / (own * dot(window, window).sqrt()).max(1.0))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap()
}

pub fn voice(span: Duration, rate: Hz) -> Pcm {
    convert(&sim::voice(span), rate)
}

pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("audio-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The folder at `path`, removed with this.
    pub fn at(path: &std::path::Path) -> Self {
        Self(path.to_owned())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn write_wav(path: &PathBuf, spec: hound::WavSpec, mono: &[i16]) {
    let mut writer = hound::WavWriter::create(path, spec).unwrap();
    for sample in mono {
        for _ in 0..spec.channels {
            match (spec.sample_format, spec.bits_per_sample) {
                (hound::SampleFormat::Float, _) => {
                    writer.write_sample(f32::from(*sample) / 32_768.0).unwrap();
                }
                (hound::SampleFormat::Int, bits) => {
                    writer.write_sample(i32::from(*sample) << (bits - 16)).unwrap();
                }
            }
        }
    }
    writer.finalize().unwrap();
}

/// What was said of faults of devices that are open, faults and their ends, as `fault: …` and `well: …`.
pub fn notes(rig: &Rig) -> Vec<String> {
    rig.seen
        .iter()
        .filter_map(|(_, event)| match event {
            Event::DeviceFault { text, .. } => Some(format!("fault: {text}")),
            Event::DeviceWell { text, .. } => Some(format!("well: {text}")),
            _ => None,
        })
        .collect()
}

/// What was said of devices that failed.
pub fn losses(rig: &Rig) -> Vec<String> {
    rig.seen
        .iter()
        .filter_map(|(_, event)| match event {
            Event::DeviceDown { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect()
}
