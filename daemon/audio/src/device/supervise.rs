// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keeps one device open: opens it under a deadline, watches that it makes progress, and opens it again for ever.
//!
//! Progress decides, not error callbacks: a sound server that hangs or re-routes reports nothing. Nothing here waits
//! for a device: opening and closing happen on threads of their own, and one that hangs is left behind. At most one
//! attempt to open is under way.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::note::Note;
use super::pump::Pacer;
use super::route::{Verdict, Watch};
use super::{Answer, DeviceError, Fault, Opened, Opener, Stream};
use crate::rt::Health;

/// How long a device may take to open. A hanging sound server never answers (measured 2026-11: longer than 4 s).
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an open device may move no frame. The longest healthy gap seen is a few periods.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);

/// How long it may take to its first frame. A sound server that has been idle takes up to 2 s (measured 2026-11).
const FIRST_TIMEOUT: Duration = Duration::from_secs(3);

/// How long it may move no frame once it has reported an error.
const BROKEN_TIMEOUT: Duration = Duration::from_millis(300);

/// Pauses before opening again: doubled from the first to the last. The last keeps a device that is plugged in again
/// within its 2 s.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LAST: Duration = Duration::from_millis(1_500);

/// The last pause of a device that opens each time and then moves no frame, such as one that a sound server has suspended:
/// while it is open, ALSA's pulse plugin takes 60 % of a core in vain (measured 2026-12), 3 s in 27 with this.
const RETRY_STILL: Duration = Duration::from_secs(24);

/// A device that stayed open this long starts again at the shortest pause.
const STEADY: Duration = Duration::from_secs(10);

/// Who moves devices that do not move by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// A thread on the clock.
    Threads,
    /// The stepper.
    Stepped,
}

/// What the worker must know.
pub(crate) enum Change<L> {
    /// The device is open; the worker takes its line.
    Up { line: L, text: String },
    /// It failed, or could not be opened; its line is worthless.
    Down { error: DeviceError },
    /// Its line goes on; something about it has begun or is over.
    Note(Note),
}

/// One device and what it is doing.
pub(crate) struct Supervisor<L> {
    opener: Box<dyn Opener<Line = L>>,
    pacing: Pacing,
    state: State<L>,
    pause: Duration,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one a device, and it is moved when a device opens or fails"
)]
enum State<L> {
    Closed {
        retry_at: Duration,
    },
    Opening {
        since: Duration,
        answer: Receiver<Answer<L>>,
    },
    /// It did not open in time, which has been said. The one attempt goes on: another would hang beside it.
    Overdue {
        answer: Receiver<Answer<L>>,
    },
    Open {
        since: Duration,
        health: Arc<Health>,
        frames: u64,
        moved_at: Duration,
        /// `None` where the pace is our own.
        clock: Option<Clock>,
        route: Option<Watch>,
        stream: Stream,
    },
}

impl<L: super::Line> Supervisor<L> {
    pub(crate) fn new(opener: Box<dyn Opener<Line = L>>, pacing: Pacing) -> Self {
        let state = State::Closed { retry_at: Duration::ZERO };
        Self { opener, pacing, state, pause: RETRY_FIRST }
    }

    /// Direction and name.
    pub(crate) fn device(&self) -> String {
        self.opener.device()
    }

    /// Looks at the device. Call it every turn until it returns `None`.
    pub(crate) fn poll(&mut self, now: Duration) -> Option<Change<L>> {
        match &mut self.state {
            State::Closed { retry_at } => {
                if now < *retry_at {
                    return None;
                }
                self.state = State::Opening { since: now, answer: self.opener.open() };
                self.poll(now)
            }
            State::Opening { since, answer } => {
                let waited = now.saturating_sub(*since);
                match answer.try_recv() {
                    Err(TryRecvError::Empty) if waited < OPEN_TIMEOUT => None,
                    Err(TryRecvError::Empty) => Some(self.overdue(waited)),
                    Err(TryRecvError::Disconnected) => Some(self.abandoned(now)),
                    Ok(answer) => Some(self.answered(now, answer)),
                }
            }
            State::Overdue { answer } => match answer.try_recv() {
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(self.abandoned(now)),
                Ok(answer) => Some(self.answered(now, answer)),
            },
            State::Open { health, frames, moved_at, clock, route, .. } => {
                let moved = health.frames.load(Relaxed);
                let fault = Fault::from_code(health.fault.load(Acquire));
                if moved != *frames {
                    *frames = moved;
                    *moved_at = now;
                    if fault == Some(Fault::Broken) {
                        // It was not: frames move. Should it have broken since, that is reported again.
                        health.fault.store(0, Relaxed);
                        return None;
                    }
                }
                let waited = now.saturating_sub(*moved_at);
                let stall = if *frames == 0 { FIRST_TIMEOUT } else { STALL_TIMEOUT };
                let device = || self.opener.device();
                let error = match fault {
                    Some(Fault::Gone) => DeviceError::Gone { device: device() },
                    Some(Fault::Broken) if waited >= BROKEN_TIMEOUT => {
                        let message = health.report.get().map_or("it gave no reason", String::as_str);
                        DeviceError::Failed { device: device(), message: message.to_owned() }
                    }
                    None if waited >= stall => DeviceError::Stalled { device: device(), waited },
                    Some(Fault::Broken) | None => {
                        return match route.as_mut().map_or(Verdict::Fine, |route| route.poll(device)) {
                            Verdict::Unfit(error) => Some(self.down(now, error)),
                            Verdict::Say(note) => Some(Change::Note(note)),
                            Verdict::Fine => {
                                clock.as_mut().and_then(|clock| clock.look(now, moved)).map(Change::Note)
                            }
                        };
                    }
                };
                Some(self.down(now, error))
            }
        }
    }

    fn answered(&mut self, now: Duration, answer: Answer<L>) -> Change<L> {
        match answer {
            Ok(opened) => self.up(now, opened),
            Err(error) => self.down(now, error),
        }
    }

    fn abandoned(&mut self, now: Duration) -> Change<L> {
        let message = "the thread that opens it ended".into();
        self.down(now, DeviceError::Failed { device: self.opener.device(), message })
    }

    fn overdue(&mut self, waited: Duration) -> Change<L> {
        let device = self.opener.device();
        self.state = match std::mem::replace(&mut self.state, State::Closed { retry_at: Duration::ZERO }) {
            State::Opening { answer, .. } => State::Overdue { answer },
            other @ (State::Closed { .. } | State::Overdue { .. } | State::Open { .. }) => other,
        };
        Change::Down { error: DeviceError::Hung { device, waited } }
    }

    fn up(&mut self, now: Duration, opened: Opened<L>) -> Change<L> {
        let Opened { line, stream, text, route } = opened;
        let clock = match (&stream, self.pacing) {
            (Stream::Pumped(_), Pacing::Threads) => None,
            (Stream::Pumped(_), Pacing::Stepped) | (Stream::Driven(_), Pacing::Threads | Pacing::Stepped) => {
                Some(Clock::new(line.rate(), now))
            }
        };
        let stream = match (stream, self.pacing) {
            (Stream::Pumped(device), Pacing::Threads) => match Pacer::start(device) {
                Ok(pacer) => Stream::Driven(Box::new(pacer)),
                Err(error) => {
                    let (device, message) = (self.opener.device(), error.to_string());
                    return self.down(now, DeviceError::Failed { device, message });
                }
            },
            (stream, Pacing::Threads | Pacing::Stepped) => stream,
        };
        let health = line.health();
        self.state = State::Open { since: now, health, frames: 0, moved_at: now, clock, route, stream };
        Change::Up { line, text }
    }

    fn down(&mut self, now: Duration, error: DeviceError) -> Change<L> {
        let mut last = RETRY_LAST;
        match std::mem::replace(&mut self.state, State::Closed { retry_at: now }) {
            State::Open { since, stream, frames, .. } => {
                retire(stream);
                if frames == 0 && matches!(error, DeviceError::Stalled { .. }) {
                    last = RETRY_STILL;
                } else if now.saturating_sub(since) >= STEADY {
                    self.pause = RETRY_FIRST;
                }
            }
            State::Closed { .. } | State::Opening { .. } | State::Overdue { .. } => {}
        }
        self.pause = self.pause.min(last);
        self.state = State::Closed { retry_at: now + self.pause };
        self.pause = (self.pause * 2).min(last);
        Change::Down { error }
    }

    /// On virtual time: moves the device by 10 ms.
    pub(crate) fn pump(&mut self) {
        match &mut self.state {
            State::Open { stream: Stream::Pumped(device), .. } => device.pump(),
            State::Open { stream: Stream::Driven(_), .. } => {}
            State::Closed { .. } | State::Opening { .. } | State::Overdue { .. } => self.opener.idle(),
        }
    }

    /// Closes the device, and waits for that until `deadline`.
    pub(crate) fn close(&mut self, deadline: Instant) {
        let before = std::mem::replace(&mut self.state, State::Closed { retry_at: Duration::MAX });
        let closed = match before {
            State::Open { stream, .. } => retire(stream),
            State::Opening { answer, .. } | State::Overdue { answer } => retire_answer(answer),
            State::Closed { .. } => return,
        };
        match closed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!(device = self.opener.device(), "did not close in time and is left behind");
            }
        }
    }
}

/// Closes a stream where blocking hurts nobody. The receiver learns when it is done.
fn retire(stream: Stream) -> Receiver<()> {
    match stream {
        Stream::Pumped(device) => {
            drop(device);
            let (done, closed) = sync_channel(1);
            let _ = done.send(());
            closed
        }
        Stream::Driven(stream) => elsewhere(move || drop(stream)),
    }
}

fn retire_answer<L: Send + 'static>(answer: Receiver<Answer<L>>) -> Receiver<()> {
    elsewhere(move || drop(answer))
}

fn elsewhere(close: impl FnOnce() + Send + 'static) -> Receiver<()> {
    let (done, closed) = sync_channel(1);
    let started = thread::Builder::new().name("audio-close".into()).spawn(move || {
        close();
        // Nobody may be waiting: that is fine.
        let _ = done.send(());
    });
    if started.is_err() {
        tracing::warn!("no thread to close an audio device on; closed on the audio thread");
    }
    closed
}

#[cfg(test)]
#[path = "supervise_tests.rs"]
mod tests;
