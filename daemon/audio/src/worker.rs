// SPDX-License-Identifier: MIT OR Apache-2.0

//! The worker: joins the devices' rings, the DSP, the uplink gate and playout.
//!
//! It never waits. [`Worker::turn`] looks at everything once and does what is due; who calls it, a thread on the clock
//! or a stepper on virtual time, it cannot tell.

use std::time::{Duration, Instant};

use units::Db;

use crate::api::{Command, Direction, Event, EventSink};
use crate::config::{Channels, Config};
use crate::counters::Counters;
use crate::device;
use crate::device::note::Note;
use crate::device::supervise::{Change as DeviceChange, Supervisor};
use crate::dsp::fade::Ramp;
use crate::dsp::level::Meter;
use crate::dsp::limit::{LOOK_AHEAD, Limiter};
use crate::dsp::vad::{Change as SpeechChange, Vad};
use crate::dsp::{HOP_16K, HOP_24K};
use crate::hearing::{EchoState, Hearing};
use crate::line::{Intake, Load, Outlet, Void};
use crate::mute::Mute;
use crate::outbox::Outbox;
use crate::playout::{Audible, Change as PlayoutChange, Playout};
use crate::record::{Tape, Track};
use crate::rt::{CaptureLine, PlaybackLine};
use crate::uplink::Uplink;

pub(crate) use crate::device::supervise::Pacing;

/// How often [`Event::Levels`] is sent.
const LEVELS_EVERY: Duration = Duration::from_millis(100);

/// What a volume may be, as at the start.
pub(crate) const VOLUME_MIN_DB: f32 = -100.0;
pub(crate) const VOLUME_MAX_DB: f32 = 12.0;

/// Everything between the devices and the driver.
pub(crate) struct Worker {
    microphone: Microphone,
    loudspeaker: Loudspeaker,
    hearing: Hearing,
    levels_at: Duration,
    tape: Option<Tape>,
    outbox: Outbox,
    counters: Counters,
}

struct Microphone {
    device: Option<Supervisor<CaptureLine>>,
    intake: Option<Intake>,
    channels: Channels,
    mute: Mute,
    vad: Vad,
    uplink: Uplink,
    meter: Meter,
    trouble: Trouble,
}

struct Loudspeaker {
    device: Supervisor<PlaybackLine>,
    output: Output,
    playout: Playout,
    volume: Db,
    /// How far below the volume playout is; never negative.
    ducked: Db,
    gain: Ramp,
    limiter: Limiter,
    meter: Meter,
    trouble: Trouble,
}

enum Output {
    /// The first attempt to open the device has no result yet; playout holds.
    Pending,
    Open(Outlet),
    /// There is no loudspeaker. Playout goes on unheard, so that nothing waits for a device that may never come.
    Gone(Void),
}

/// What was last said about a device, so that an outage is reported when it begins and when its reason changes, not at
/// every attempt to end it.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    /// `text`, unless it is what was said last.
    fn news(&mut self, text: String) -> Option<String> {
        let is_news = self.0.as_ref() != Some(&text);
        self.0 = Some(text.clone());
        is_news.then_some(text)
    }

    fn over(&mut self) {
        self.0 = None;
    }
}

impl Worker {
    /// A worker whose devices open at its first turn. `config` has been checked.
    pub(crate) fn new(config: Config, pacing: Pacing, events: Box<dyn EventSink>) -> Self {
        let capture = device::capture(config.capture, config.channels, config.monitor_allowed);
        let mute = Mute { asked: config.muted, line: config.mute_line };
        let mut outbox = Outbox::new(events);
        if mute.holds() {
            outbox.push(Event::Muted(true));
        }
        let tape = config.recording.and_then(Tape::start);
        if tape.is_some() {
            outbox.push(Event::Recording(true));
        }
        Self {
            microphone: Microphone {
                device: capture.map(|opener| Supervisor::new(opener, pacing)),
                intake: None,
                channels: config.channels,
                mute,
                vad: Vad::new(config.vad),
                uplink: Uplink::new(config.preroll_max),
                meter: Meter::default(),
                trouble: Trouble::default(),
            },
            loudspeaker: Loudspeaker {
                device: Supervisor::new(device::playback(config.playback), pacing),
                output: Output::Pending,
                playout: Playout::default(),
                volume: config.volume,
                ducked: Db(0.0),
                gain: Ramp::new(config.volume.amplitude()),
                limiter: Limiter::default(),
                meter: Meter::default(),
                trouble: Trouble::default(),
            },
            hearing: Hearing::new(config.echo, config.cleaning),
            levels_at: LEVELS_EVERY,
            tape,
            outbox,
            counters: Counters::default(),
        }
    }

    /// Obeys. What it causes is seen at the next turn.
    pub(crate) fn command(&mut self, command: Command) {
        let (microphone, loudspeaker) = (&mut self.microphone, &mut self.loudspeaker);
        match command {
            Command::Append { utterance, priority, pcm } => {
                loudspeaker.playout.append(utterance, priority, &pcm);
            }
            Command::Finish { utterance } => loudspeaker.playout.finish(utterance),
            Command::Flush => loudspeaker.playout.flush(),
            Command::Duck(by) => {
                loudspeaker.ducked = Db(by.0.abs());
                loudspeaker.set_gain();
            }
            Command::Volume(volume) => {
                // What is no number is no reason to be loud.
                let db = if volume.0.is_nan() { VOLUME_MIN_DB } else { volume.0 };
                loudspeaker.volume = Db(db.clamp(VOLUME_MIN_DB, VOLUME_MAX_DB));
                loudspeaker.set_gain();
            }
            Command::Rate(percent) => {
                let percent = loudspeaker.playout.pace(percent);
                self.outbox.push(Event::Rate(percent));
            }
            Command::UplinkOpen { preroll } => microphone.uplink.open(preroll),
            Command::UplinkClose => microphone.uplink.close(),
            Command::Mute(asked) => {
                self.outbox.push(Event::MuteAsked(asked));
                self.mute(Mute { asked, ..self.microphone.mute });
            }
            Command::MuteLine(line) => self.mute(Mute { line, ..self.microphone.mute }),
        }
    }

    fn mute(&mut self, mute: Mute) {
        if let Some(change) = self.microphone.set_mute(mute) {
            self.outbox.push(speech(change));
        }
        self.outbox.push(Event::Muted(mute.holds()));
    }

    /// Does everything that is due at `now`, counted from the start.
    pub(crate) fn turn(&mut self, now: Duration) {
        self.supervise(now);
        self.report_heard(now);
        self.listen(now);
        self.feed(now);
        self.send_levels(now);
        self.outbox.flush();
        self.count();
    }

    /// On virtual time: the microphone delivers 10 ms.
    pub(crate) fn pump_capture(&mut self) {
        if let Some(device) = &mut self.microphone.device {
            device.pump();
        }
    }

    /// On virtual time: the loudspeaker takes 10 ms.
    pub(crate) fn pump_playback(&mut self) {
        self.loudspeaker.device.pump();
    }

    /// Closes the devices, and waits `timeout` in all for them.
    pub(crate) fn close(&mut self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        self.loudspeaker.device.close(deadline);
        if let Some(device) = &mut self.microphone.device {
            device.close(deadline);
        }
        if let Some(tape) = self.tape.take() {
            tape.close(deadline);
        }
    }

    pub(crate) const fn is_muted(&self) -> bool {
        self.microphone.mute.holds()
    }

    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn echo(&self) -> EchoState {
        self.hearing.state()
    }

    fn supervise(&mut self, now: Duration) {
        while let Some(change) = self.microphone.device.as_mut().and_then(|device| device.poll(now)) {
            self.microphone_changed(change);
        }
        while let Some(change) = self.loudspeaker.device.poll(now) {
            self.loudspeaker_changed(now, change);
        }
    }

    fn microphone_changed(&mut self, change: DeviceChange<CaptureLine>) {
        let direction = Direction::Capture;
        let microphone = &mut self.microphone;
        match change {
            DeviceChange::Up { line, text } => {
                self.hearing.capture_changed();
                let intake = Intake::new(line, microphone.channels);
                intake.mute(microphone.mute.holds());
                microphone.intake = Some(intake);
                microphone.trouble.over();
                self.counters.device_ups += 1;
                self.outbox.push(Event::DeviceUp { direction, text });
            }
            DeviceChange::Down { error } => {
                self.hearing.capture_changed();
                if let Some(mut intake) = microphone.intake.take() {
                    intake.count(&mut self.counters);
                }
                self.counters.device_downs += 1;
                if let Some(change) = microphone.vad.reset() {
                    self.outbox.push(speech(change));
                }
                if let Some(text) = microphone.trouble.news(error.line()) {
                    self.outbox.push(Event::DeviceDown { direction, text });
                }
            }
            DeviceChange::Note(note) => {
                let device = microphone.device.as_ref().map_or_else(String::new, Supervisor::device);
                self.outbox.push(noted(direction, &device, note));
            }
        }
    }

    fn loudspeaker_changed(&mut self, now: Duration, change: DeviceChange<PlaybackLine>) {
        let direction = Direction::Playback;
        let loudspeaker = &mut self.loudspeaker;
        match change {
            DeviceChange::Up { line, text } => {
                self.hearing.playback_changed();
                let base = loudspeaker.playout.rendered();
                loudspeaker.output = Output::Open(Outlet::new(line, base));
                loudspeaker.trouble.over();
                self.counters.device_ups += 1;
                self.outbox.push(Event::DeviceUp { direction, text });
            }
            DeviceChange::Down { error } => {
                self.hearing.playback_changed();
                match std::mem::replace(&mut loudspeaker.output, Output::Gone(Void::new(now))) {
                    Output::Open(mut outlet) => {
                        loudspeaker.playout.advance(heard(&outlet), Audible::Yes);
                        // What was in the ring is lost with it.
                        loudspeaker.playout.advance(loudspeaker.playout.rendered(), Audible::No);
                        outlet.count(&mut self.counters);
                    }
                    Output::Gone(void) => loudspeaker.output = Output::Gone(void),
                    Output::Pending => {}
                }
                self.counters.device_downs += 1;
                if let Some(text) = loudspeaker.trouble.news(error.line()) {
                    self.outbox.push(Event::DeviceDown { direction, text });
                }
            }
            DeviceChange::Note(note) => {
                self.outbox.push(noted(direction, &loudspeaker.device.device(), note));
            }
        }
    }

    fn report_heard(&mut self, now: Duration) {
        let playout = &mut self.loudspeaker.playout;
        if let Output::Open(outlet) = &self.loudspeaker.output {
            playout.advance(heard(outlet), Audible::Yes);
        }
        while let Some(change) = playout.poll() {
            self.outbox.push(match change {
                PlayoutChange::Started(utterance) => Event::Started { utterance },
                PlayoutChange::Finished { utterance, heard, cut } => {
                    Event::Finished { utterance, heard, cut }
                }
            });
        }
        if playout.is_audible() {
            self.hearing.audible(now);
        }
    }

    fn listen(&mut self, now: Duration) {
        let microphone = &mut self.microphone;
        // The preroll of a gate that has just been opened leaves whether or not there is a microphone.
        microphone.drain(&mut self.outbox, &mut self.counters);
        let Some(intake) = &mut microphone.intake else {
            return;
        };
        let device = &microphone.device;
        intake.read(|note| {
            let device = device.as_ref().map_or_else(String::new, Supervisor::device);
            self.outbox.push(noted(Direction::Capture, &device, note));
        });
        if let Output::Open(outlet) = &self.loudspeaker.output {
            self.hearing.sync(outlet.clock());
        }
        while let Some(mut hop) = microphone.intake.as_mut().and_then(Intake::hop) {
            let is_muted = microphone.mute.holds();
            if is_muted {
                hop.fill(0.0);
            }
            record(&mut self.tape, Track::Raw, &hop);
            let found = self.hearing.hop(now, is_muted, &mut hop);
            if let Some(text) = found.news {
                self.outbox.push(Event::Echo { text });
            }
            record(&mut self.tape, Track::Cleaned, &hop);
            self.counters.capture_hops += 1;
            microphone.hop(&hop, found.is_echo, &mut self.outbox, &mut self.counters);
        }
        let unheard = microphone.intake.as_ref().map_or(0.0, Intake::unheard);
        self.hearing.steer(now, unheard);
    }

    fn feed(&mut self, now: Duration) {
        let loudspeaker = &mut self.loudspeaker;
        match &mut loudspeaker.output {
            Output::Pending => {}
            Output::Open(outlet) => {
                while outlet.is_hungry(load(&loudspeaker.playout)) {
                    let mut hop = [0.0; HOP_24K];
                    loudspeaker.playout.render(&mut hop);
                    loudspeaker.gain.apply(&mut hop);
                    self.counters.playback_clipped += loudspeaker.limiter.apply(&mut hop);
                    loudspeaker.meter.add(&hop);
                    record(&mut self.tape, Track::FarEnd, &hop);
                    outlet.push(&hop);
                    self.hearing.played(&hop);
                }
                outlet.mark(load(&loudspeaker.playout));
            }
            Output::Gone(void) => {
                for _ in 0..void.due(now) {
                    loudspeaker.playout.render(&mut [0.0; HOP_24K]);
                    Void::lose(&mut loudspeaker.playout);
                }
            }
        }
    }

    fn send_levels(&mut self, now: Duration) {
        if now < self.levels_at {
            return;
        }
        self.levels_at += LEVELS_EVERY;
        if self.levels_at <= now {
            // After a stall the rhythm starts afresh.
            self.levels_at = now + LEVELS_EVERY;
        }
        let input = self.microphone.meter.take();
        let output = self.loudspeaker.meter.take();
        self.outbox.push(Event::Levels { input, output });
    }

    fn count(&mut self) {
        let counters = &mut self.counters;
        if let Some(intake) = &mut self.microphone.intake {
            intake.count(counters);
        }
        if let Output::Open(outlet) = &mut self.loudspeaker.output {
            outlet.count(counters);
        }
        if let Some(tape) = &self.tape {
            counters.recording_dropped = tape.dropped();
            if tape.is_over() {
                self.tape = None;
                self.outbox.push(Event::Recording(false));
            }
        }
        self.hearing.count(counters);
        counters.turns += 1;
        counters.playback_lost = self.loudspeaker.playout.lost();
        counters.playout_refused = self.loudspeaker.playout.refused();
        counters.mic_chunks = self.outbox.mic_sent;
        counters.mic_dropped = self.outbox.mic_dropped;
        counters.events_dropped = self.outbox.events_dropped;
    }
}

impl Loudspeaker {
    fn set_gain(&mut self) {
        self.gain.to(Db(self.volume.0 - self.ducked.0).amplitude());
    }
}

impl Microphone {
    /// Whoever speaks is cut off by it.
    fn set_mute(&mut self, mute: Mute) -> Option<SpeechChange> {
        let was_muted = self.mute.holds();
        self.mute = mute;
        let is_muted = mute.holds();
        if was_muted == is_muted {
            return None;
        }
        // Both ends are told: the callback, so that nothing said while muted is in the ring when it ends; the worker,
        // because the ring still holds what was said before it began.
        if let Some(intake) = &mut self.intake {
            intake.mute(is_muted);
            intake.forget();
        }
        if !is_muted {
            return None;
        }
        self.uplink.forget();
        self.vad.reset()
    }

    /// Takes a hop; where it `is_echo`, nobody speaks in it.
    fn hop(&mut self, hop: &[f32; HOP_16K], is_echo: bool, outbox: &mut Outbox, counters: &mut Counters) {
        self.meter.add(hop);
        if let Some(change) = self.vad.push(if is_echo { &[0.0; HOP_16K] } else { hop }) {
            outbox.push(speech(change));
        }
        if !self.mute.holds() {
            self.uplink.push(hop);
        }
        self.drain(outbox, counters);
    }

    fn drain(&mut self, outbox: &mut Outbox, counters: &mut Counters) {
        while let Some(chunk) = self.uplink.poll() {
            if self.mute.holds() {
                counters.muted_leak += chunk.iter().filter(|sample| **sample != 0).count() as u64;
            }
            outbox.push(Event::Mic(chunk));
        }
    }
}

fn load(playout: &Playout) -> Load {
    if playout.is_playing() { Load::Playing } else { Load::Idle }
}

fn noted(direction: Direction, device: &str, note: Note) -> Event {
    match note {
        Note::Fault(text) => Event::DeviceFault { direction, text: format!("{device}: {text}") },
        Note::Well(text) => Event::DeviceWell { direction, text: format!("{device}: {text}") },
    }
}

fn speech(change: SpeechChange) -> Event {
    match change {
        SpeechChange::Started { onset_ago } => Event::SpeechStarted { onset_ago },
        SpeechChange::Ended { voiced } => Event::SpeechEnded { voiced },
    }
}

fn record(tape: &mut Option<Tape>, track: Track, hop: &[f32]) {
    if let Some(tape) = tape {
        tape.put(track, hop);
    }
}

/// Position in the rendered stream up to which everything has left the loudspeaker, through the limiter too.
fn heard(outlet: &Outlet) -> u64 {
    outlet.heard().saturating_sub(LOOK_AHEAD as u64)
}
