//! Keeps one device open: opens it under a deadline, watches that it makes progress, and opens it again for ever.
//!
//! Progress decides, not error callbacks: a sound server that hangs or re-routes reports nothing. Nothing here waits
//! for a device: opening and closing happen on threads of their own, and one that hangs is left behind.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::pump::Pacer;
use super::{Answer, DeviceError, Fault, Opened, Opener, Stream};
use crate::rt::Health;

/// How long a device may take to open. A hanging sound server never answers (measured 2026-11: longer than 4 s).
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an open device may move no frame. The longest healthy gap seen is a few periods.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);

/// How long it may take to its first frame. A sound server that has been idle takes up to 2 s (measured 2026-11).
const FIRST_TIMEOUT: Duration = Duration::from_secs(3);

/// Pauses before opening again: doubled from the first to the last. The last keeps a device that is plugged in again
/// within its 2 s.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LAST: Duration = Duration::from_millis(1_500);

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
}

/// One device and what it is doing.
pub(crate) struct Supervisor<L> {
    opener: Box<dyn Opener<Line = L>>,
    pacing: Pacing,
    state: State<L>,
    pause: Duration,
}

enum State<L> {
    Closed {
        retry_at: Duration,
    },
    Opening {
        since: Duration,
        answer: Receiver<Answer<L>>,
    },
    Open {
        since: Duration,
        health: Arc<Health>,
        frames: u64,
        moved_at: Duration,
        stream: Stream,
    },
}

impl<L: super::Line> Supervisor<L> {
    pub(crate) fn new(opener: Box<dyn Opener<Line = L>>, pacing: Pacing) -> Self {
        let state = State::Closed {
            retry_at: Duration::ZERO,
        };
        Self {
            opener,
            pacing,
            state,
            pause: RETRY_FIRST,
        }
    }

    /// Looks at the device. Call it every turn until it returns `None`.
    pub(crate) fn poll(&mut self, now: Duration) -> Option<Change<L>> {
        match &mut self.state {
            State::Closed { retry_at } => {
                if now < *retry_at {
                    return None;
                }
                self.state = State::Opening {
                    since: now,
                    answer: self.opener.open(),
                };
                self.poll(now)
            }
            State::Opening { since, answer } => match answer.try_recv() {
                Ok(Ok(opened)) => self.up(now, opened),
                Ok(Err(error)) => Some(self.down(now, error)),
                Err(TryRecvError::Empty) => {
                    let waited = now.saturating_sub(*since);
                    if waited < OPEN_TIMEOUT {
                        return None;
                    }
                    let device = self.opener.device();
                    Some(self.down(now, DeviceError::Hung { device, waited }))
                }
                Err(TryRecvError::Disconnected) => {
                    let message = "it could not be opened: the thread that opens it ended".into();
                    let error = DeviceError::Failed {
                        device: self.opener.device(),
                        message,
                    };
                    Some(self.down(now, error))
                }
            },
            State::Open {
                health,
                frames,
                moved_at,
                ..
            } => {
                let moved = health.frames.load(Relaxed);
                if moved != *frames {
                    *frames = moved;
                    *moved_at = now;
                }
                let waited = now.saturating_sub(*moved_at);
                let timeout = if *frames == 0 {
                    FIRST_TIMEOUT
                } else {
                    STALL_TIMEOUT
                };
                let device = || self.opener.device();
                let error = match Fault::from_code(health.fault.load(Acquire)) {
                    Some(Fault::Gone) => DeviceError::Gone { device: device() },
                    Some(Fault::Broken) => {
                        let message = health.report.get().map_or("it gave no reason", String::as_str);
                        DeviceError::Failed {
                            device: device(),
                            message: message.to_owned(),
                        }
                    }
                    None if waited >= timeout => DeviceError::Stalled {
                        device: device(),
                        waited,
                    },
                    None => return None,
                };
                Some(self.down(now, error))
            }
        }
    }

    fn up(&mut self, now: Duration, opened: Opened<L>) -> Option<Change<L>> {
        let Opened { line, stream, text } = opened;
        let stream = match (stream, self.pacing) {
            (Stream::Pumped(device), Pacing::Threads) => match Pacer::start(device) {
                Ok(pacer) => Stream::Driven(Box::new(pacer)),
                Err(error) => {
                    let error = DeviceError::Failed {
                        device: self.opener.device(),
                        message: error.to_string(),
                    };
                    return Some(self.down(now, error));
                }
            },
            (stream, Pacing::Threads | Pacing::Stepped) => stream,
        };
        let health = line.health();
        self.state = State::Open {
            since: now,
            health,
            frames: 0,
            moved_at: now,
            stream,
        };
        Some(Change::Up { line, text })
    }

    fn down(&mut self, now: Duration, error: DeviceError) -> Change<L> {
        let before = std::mem::replace(&mut self.state, State::Closed { retry_at: now });
        self.pause = match before {
            State::Open { since, stream, .. } => {
                retire(stream);
                let was_steady = now.saturating_sub(since) >= STEADY;
                if was_steady { RETRY_FIRST } else { self.pause }
            }
            State::Opening { answer, .. } => {
                // The device may be opened after all, and must be closed then.
                retire_answer(answer);
                self.pause
            }
            State::Closed { .. } => self.pause,
        };
        self.state = State::Closed {
            retry_at: now + self.pause,
        };
        self.pause = (self.pause * 2).min(RETRY_LAST);
        Change::Down { error }
    }

    /// On virtual time: moves the device by 10 ms.
    pub(crate) fn pump(&mut self) {
        match &mut self.state {
            State::Open {
                stream: Stream::Pumped(device),
                ..
            } => device.pump(),
            State::Open {
                stream: Stream::Driven(_),
                ..
            } => {}
            State::Closed { .. } | State::Opening { .. } => self.opener.idle(),
        }
    }

    /// Closes the device, and waits for that until `deadline`.
    pub(crate) fn close(&mut self, deadline: Instant) {
        let before = std::mem::replace(
            &mut self.state,
            State::Closed {
                retry_at: Duration::MAX,
            },
        );
        let closed = match before {
            State::Open { stream, .. } => retire(stream),
            State::Opening { answer, .. } => retire_answer(answer),
            State::Closed { .. } => return,
        };
        match closed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!(
                    device = self.opener.device(),
                    "did not close in time and is left behind"
                );
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
