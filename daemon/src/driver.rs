// SPDX-License-Identifier: MIT OR Apache-2.0

//! The loop between the pure core and the world: wait for one event, give the session one input, act on what it says.
//!
//! It runs as one task on one current-thread runtime. It never decides: what an event means is the session's work, and
//! how a thing is done is that of the audio worker, the link and the toolbox, none of which it ever waits for.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use audio::{Command, Priority};
use session::{FailureCause, Input, LinkFailure, Output, ProviderEvent, Session};
use tokio::sync::mpsc;
use tracing::{info, warn};
use units::{Db, Hz, Instant};

use crate::button::Presses;
use crate::clip::earcon::{Earcon, Earcons};
use crate::clip::store::Store;
use crate::clock::Clock;
use crate::dial::Dialer;
use crate::gate_log::GateLog;
use crate::journal::Journal;
use crate::mute::{Line, Memory};
use crate::provider::{LinkEvent, LinkEvents, LinkHandle};
use crate::screen::Screens;
use crate::speech::Speech;
use crate::supervise::{self, Watchdog};
use crate::switch::{Flips, Switch};
use crate::toolbox::{Told, Toolbox};
use crate::watch::{Moment, Watchers};

mod cues;
mod log;
mod sounds;

use cues::{Cues, is_earcon};
use sounds::{DUCK, Ready, Sounds};

/// Events of the audio worker that may wait for the driver: 5 s of microphone chunks.
pub const AUDIO_EVENTS: usize = 256;

/// How long the audio worker may take to close its devices.
const AUDIO_STOP: Duration = Duration::from_secs(1);

/// How long speech engines may take to be ended.
const SPEECH_STOP: Duration = Duration::from_millis(500);

/// How long the journal may take for the ends of the last calls.
const JOURNAL_STOP: Duration = Duration::from_millis(500);

/// How long the last word about the microphone may take to be kept.
const MUTE_STOP: Duration = Duration::from_millis(500);

/// How long a closing link may take before it is dropped.
const LINK_STOP: Duration = Duration::from_millis(1500);

/// Everything the driver holds.
pub struct Driver {
    /// Where the time comes from.
    pub clock: Clock,
    /// The core.
    pub session: Session,
    /// The audio worker.
    pub audio: audio::Handle,
    /// What it reports.
    pub audio_events: mpsc::Receiver<audio::Event>,
    /// How a link is made.
    pub dialer: Dialer,
    /// Where calls run.
    pub toolbox: Toolbox,
    /// What is written ahead of calls that a person agreed to; `None` where there is no folder for it.
    pub journal: Option<Arc<Journal>>,
    /// What is kept of questions and approvals; `None` where there is no folder for it.
    pub gate_log: Option<GateLog>,
    /// The device's own voice.
    pub speech: Arc<Speech>,
    /// Clips by name and by URL.
    pub clips: Store,
    /// Sounds that tell how the device stands.
    pub earcons: Earcons,
    /// Where it is kept that the microphone is off; `None` where there is no folder for it.
    pub mute_memory: Option<Memory>,
    /// The switch of the hardware that holds the microphone off, if the device has one.
    pub mute_line: Option<Arc<hal::PushButton>>,
    /// The owner's switch of the microphone.
    pub switch: Switch,
    /// Where a screen may come on which a person is asked.
    pub screens: Screens,
    /// The button that a person agrees with, if the device has one.
    pub button: Option<Arc<hal::PushButton>>,
    /// Who watches.
    pub watchers: Watchers,
    /// End when the session has ended, as the demo does; a daemon goes on.
    pub end_with_session: bool,
}

/// Why the driver came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to stop.
    Stopped,
    /// The session ended and nothing was to follow.
    Session,
}

/// What cannot be cured by going on.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The audio worker is gone: the daemon is deaf and mute, and a restart is better.
    #[error("the audio worker ended by itself; its panic is logged above")]
    AudioEnded,
}

#[expect(
    clippy::large_enum_variant,
    reason = "a microphone chunk by value: moved once, where a box would be made 50 times a second"
)]
enum Wake {
    Stop,
    Audio(Option<audio::Event>),
    Link(Option<LinkEvent>),
    Tool(Told),
    Sound(Ready),
    Switch(bool),
    /// What the model should know of calls before the restart.
    Left(String),
    Screen(Input),
    Press(bool),
    MuteLine(bool),
    Recorded,
    Deadline,
    Beat,
}

struct Running {
    driver: Driver,
    link: Option<(LinkHandle, LinkEvents)>,
    /// A connection that waits for the old one to be gone: two of ours at once would be refused.
    dial_next: Option<Option<String>>,
    sounds: Sounds,
    flips: Flips,
    presses: Presses,
    line: Line,
    cues: Cues,
    inputs: VecDeque<Input>,
    watchdog: Watchdog,
    status: String,
    /// What last kept the link down, as it was logged.
    trouble: String,
    ended: bool,
}

impl Driver {
    /// Runs until `stop` completes or, if so set, the session ends.
    ///
    /// # Errors
    /// [`DriverError`] when going on makes no sense; everything is closed all the same.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<Ended, DriverError> {
        let mut running = Running {
            flips: self.switch.flips(),
            presses: Presses::of(self.button.clone()),
            line: Line::of(self.mute_line.clone()),
            cues: Cues::default(),
            driver: self,
            link: None,
            dial_next: None,
            sounds: Sounds::default(),
            inputs: VecDeque::new(),
            watchdog: Watchdog::from_env(),
            status: String::new(),
            trouble: String::new(),
            ended: false,
        };
        let result = running.serve(stop).await;
        running.close().await;
        result
    }
}

impl Running {
    async fn serve(&mut self, stop: impl Future<Output = ()>) -> Result<Ended, DriverError> {
        tokio::pin!(stop);
        if let Err(missing) = self.driver.dialer.check() {
            warn!("no link: {missing}");
            self.trouble = missing;
        }
        // A session that is begun at once would otherwise be without the tools of every server.
        tokio::select! {
            biased;
            () = self.driver.toolbox.tooling().settle() => {}
            () = stop.as_mut() => return Ok(Ended::Stopped),
        }
        self.feed(Input::Start);
        supervise::ready(&self.status);
        loop {
            if self.ended && self.driver.end_with_session {
                return Ok(Ended::Session);
            }
            match self.wake(stop.as_mut()).await {
                Wake::Stop => return Ok(Ended::Stopped),
                Wake::Audio(Some(event)) => self.on_audio(event),
                Wake::Audio(None) => return Err(DriverError::AudioEnded),
                Wake::Link(event) => self.on_link(event),
                Wake::Tool(told) => self.on_tool(told),
                Wake::Switch(on) => self.command(Command::Mute(!on)),
                Wake::MuteLine(off) => self.on_mute_line(off),
                Wake::Recorded => self.cue(Earcon::Recording),
                Wake::Screen(report) => self.feed(report),
                Wake::Press(down) => self.feed(Input::Button { down }),
                Wake::Sound(ready) => self.on_sound(ready),
                Wake::Left(text) => self.feed(Input::Note { text }),
                Wake::Deadline => self.feed(Input::Timeout),
                Wake::Beat => {
                    self.watchdog.beat(self.driver.audio.counters().turns);
                }
            }
        }
    }

    /// Waits for one event. Every branch is safe to drop: what is not taken is there the next time.
    async fn wake<F: Future<Output = ()>>(&mut self, stop: std::pin::Pin<&mut F>) -> Wake {
        let deadline = self.driver.session.deadline();
        let left = async {
            match &self.driver.journal {
                Some(journal) => journal.note().await,
                None => std::future::pending().await,
            }
        };
        let link = async {
            match self.link.as_mut() {
                Some((_, events)) => events.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop => Wake::Stop,
            off = self.line.next() => Wake::MuteLine(off),
            on = self.flips.next() => Wake::Switch(on),
            event = self.driver.audio_events.recv() => Wake::Audio(event),
            event = link => Wake::Link(event),
            finished = self.driver.toolbox.told() => Wake::Tool(finished),
            down = self.presses.next() => Wake::Press(down),
            report = self.driver.screens.report() => Wake::Screen(report),
            ready = self.sounds.ready(&self.driver.clock) => Wake::Sound(ready),
            text = left => Wake::Left(text),
            () = self.driver.clock.sleep_until(deadline) => Wake::Deadline,
            () = self.cues.recorded() => Wake::Recorded,
            () = self.watchdog.due() => Wake::Beat,
        }
    }

    fn feed(&mut self, input: Input) {
        // After a suspend the clock has jumped: what has expired meanwhile expires before anything else is looked at.
        let now = self.driver.clock.now();
        if self.driver.session.deadline().is_some_and(|deadline| deadline <= now) {
            self.inputs.push_back(Input::Timeout);
        }
        self.inputs.push_back(input);
        self.pump();
    }

    /// Gives the session what is waiting, one input at a time, each drained before the next.
    fn pump(&mut self) {
        let now = self.driver.clock.now();
        while let Some(input) = self.inputs.pop_front() {
            self.driver.session.handle(now, input);
            while let Some(output) = self.driver.session.poll() {
                self.act(now, output);
            }
        }
        self.tell_status();
    }

    fn act(&mut self, now: Instant, output: Output) {
        match output {
            Output::Connect { resume } => self.connect(resume),
            Output::Disconnect => self.disconnect(),
            Output::Send(intent) => {
                if let Some((link, _)) = &self.link {
                    self.driver.toolbox.on_sent(&intent);
                    if let Some(journal) = &self.driver.journal {
                        journal.on_sent(&intent);
                    }
                    link.send(intent);
                }
            }
            Output::UplinkOpen { preroll } => self.command(Command::UplinkOpen { preroll }),
            Output::UplinkClose => self.command(Command::UplinkClose),
            Output::Play { utterance, pcm } => {
                self.command(Command::Append { utterance, priority: Priority::Reply, pcm });
            }
            Output::PlayEnd { utterance } => self.command(Command::Finish { utterance }),
            Output::Speak { utterance, text, kind } => self.speak(now, utterance, text, kind),
            Output::PlayClip { utterance, clip } => self.play_clip(utterance, clip),
            Output::Duck => self.command(Command::Duck(DUCK)),
            Output::Unduck => self.command(Command::Duck(Db(0.0))),
            Output::Flush => self.flush(),
            Output::Run(permit) => self.driver.toolbox.dispatch(permit),
            Output::Cancel { call } => self.driver.toolbox.cancel(call),
            Output::Sheet(sheet) => self.driver.screens.show(sheet),
            Output::SheetClosed { pending } => self.driver.screens.close(pending),
            Output::Event(event) => self.show(now, &Moment::Event(&event)),
            Output::Notice(notice) => {
                if let Some(log) = &mut self.driver.gate_log {
                    log.on_notice(&notice);
                }
                let notice = self.driver.watchers.masked(notice);
                self.log(&notice);
                self.cue_for(&notice);
                self.show(now, &Moment::Notice(&notice));
            }
            Output::Ended { by } => {
                info!(by, "session ended");
                self.ended = true;
                // A goodbye ends a conversation, not the daemon.
                if by == "agent" && !self.driver.end_with_session {
                    self.ended = false;
                    self.inputs.push_back(Input::Start);
                }
            }
        }
    }

    fn show(&mut self, now: Instant, moment: &Moment<'_>) {
        self.driver.watchers.show(now, moment);
    }

    fn connect(&mut self, resume: Option<String>) {
        if self.link.is_some() {
            self.dial_next = Some(resume);
            return;
        }
        match self.driver.dialer.dial(resume) {
            Ok(link) => self.link = Some(link),
            Err(failure) => self.inputs.push_back(Input::LinkClosed(failure)),
        }
    }

    fn disconnect(&mut self) {
        if self.dial_next.take().is_some() {
            // It was never dialled; what the session asked for has ended all the same.
            let text = "closed by us before it was opened".to_owned();
            self.inputs.push_back(Input::LinkClosed(LinkFailure { cause: FailureCause::Requested, text }));
        }
        if let Some((link, _)) = &self.link {
            link.close();
        }
    }

    fn on_audio(&mut self, event: audio::Event) {
        self.settle_commands();
        if let audio::Event::Mic(chunk) = &event {
            if let Some((link, _)) = &self.link {
                link.mic(chunk);
            }
            return;
        }
        let now = self.driver.clock.now();
        self.show(now, &Moment::Audio(&event));
        match event {
            audio::Event::SpeechStarted { onset_ago } => self.feed(Input::SpeechStarted { onset_ago }),
            audio::Event::SpeechEnded { voiced } => self.feed(Input::SpeechEnded { voiced }),
            // The session knows nothing of it.
            audio::Event::Started { utterance } | audio::Event::Finished { utterance, .. }
                if is_earcon(utterance) =>
            {
                self.sounds.on_over(now, utterance);
            }
            audio::Event::Started { utterance } => self.feed(Input::PlayoutStarted { utterance }),
            audio::Event::Finished { utterance, heard, cut } => {
                self.sounds.on_over(now, utterance);
                self.feed(Input::PlayoutFinished { utterance, heard, cut });
            }
            audio::Event::Rate(percent) => self.feed(Input::Pace { percent }),
            audio::Event::Recording(on) => self.on_recording(on),
            audio::Event::MuteAsked(off) => self.on_mute_asked(off),
            audio::Event::Muted(muted) => {
                self.on_muted(muted);
                self.feed(Input::Muted { muted });
            }
            audio::Event::DeviceUp { text, .. }
            | audio::Event::DeviceWell { text, .. }
            | audio::Event::Echo { text } => info!("{text}"),
            audio::Event::DeviceDown { text, .. } | audio::Event::DeviceFault { text, .. } => warn!("{text}"),
            audio::Event::Mic(_) | audio::Event::Levels { .. } => {}
        }
    }

    fn on_tool(&mut self, told: Told) {
        let now = self.driver.clock.now();
        match told {
            Told::Begun(call) => self.feed(Input::EffectBegun { call }),
            Told::Job(call) => self.feed(Input::BecameJob { call }),
            Told::Line(call, text) => self.feed(Input::CallLine { call, text }),
            Told::Note(call, text) => self.feed(Input::CallNote { call, text }),
            Told::Event(event) => self.show(now, &Moment::Event(&event)),
            Told::Superseded(call, summary) => self.feed(Input::Superseded { call, summary }),
            Told::Done(call, mut outcome) => {
                if let Some(log) = &mut self.driver.gate_log {
                    log.on_outcome(call, &outcome);
                }
                outcome.clip_after = outcome.clip_after.filter(|clip| self.begin_clip(clip));
                self.show(now, &Moment::Outcome { call, outcome: &outcome });
                self.feed(Input::Outcome { call, outcome });
            }
        }
    }

    fn on_link(&mut self, event: Option<LinkEvent>) {
        match event {
            Some(LinkEvent::Opened) => self.feed(Input::LinkOpened),
            Some(LinkEvent::Provider(ProviderEvent::ReplyAudio(pcm))) => {
                // Playout runs at 24 kHz, which is what providers send; anything else is converted piece by piece.
                let pcm = if pcm.rate() == Hz::K24 { pcm } else { audio::convert(&pcm, Hz::K24) };
                self.feed(Input::Provider(ProviderEvent::ReplyAudio(pcm)));
            }
            Some(LinkEvent::Provider(event)) => self.feed(Input::Provider(event)),
            Some(LinkEvent::Delivered(calls)) => self.driver.toolbox.on_delivered(&calls),
            Some(LinkEvent::Anomaly(text)) => {
                warn!("{text}");
                let now = self.driver.clock.now();
                self.show(now, &Moment::Anomaly(&text));
            }
            Some(LinkEvent::Closed(failure)) => self.on_closed(failure),
            None => self.on_closed(LinkFailure {
                cause: FailureCause::Transient,
                text: "the link ended without a word".to_owned(),
            }),
        }
    }

    fn on_closed(&mut self, failure: LinkFailure) {
        self.link = None;
        self.driver.toolbox.on_link_lost();
        self.feed(Input::LinkClosed(failure));
        if let (None, Some(resume)) = (&self.link, self.dial_next.take()) {
            self.connect(resume);
            self.pump();
        }
    }

    fn tell_status(&mut self) {
        let mut status = supervise::status_line(&self.driver.session.snapshot());
        if self.driver.audio.is_muted() {
            status += "; microphone off";
        }
        if self.cues.is_recording() {
            status += "; recording for diagnosis";
        }
        if status != self.status {
            supervise::status(&status);
            self.status = status;
        }
    }

    /// Ends politely, each step under a deadline.
    async fn close(mut self) {
        if !self.ended {
            self.feed(Input::Stop);
        }
        if let Some(journal) = &self.driver.journal {
            journal.flush(JOURNAL_STOP).await;
        }
        self.driver.speech.stop();
        if let Some((link, mut events)) = self.link.take() {
            link.close();
            let closed = async { while !matches!(events.recv().await, None | Some(LinkEvent::Closed(_))) {} };
            if tokio::time::timeout(LINK_STOP, closed).await.is_err() {
                warn!("the link did not close in time and was dropped");
            }
        }
        let rendered = self.sounds.rendered();
        if tokio::time::timeout(SPEECH_STOP, rendered).await.is_err() {
            warn!("a speech engine did not end in time and was left behind");
        }
        let audio = self.driver.audio.clone();
        let stopped = tokio::task::spawn_blocking(move || audio.stop(AUDIO_STOP)).await;
        if let Ok(Err(fault)) = stopped {
            warn!("{fault}");
        }
        if let Some(memory) = self.driver.mute_memory {
            let _ = tokio::task::spawn_blocking(move || memory.close(MUTE_STOP)).await;
        }
    }
}
