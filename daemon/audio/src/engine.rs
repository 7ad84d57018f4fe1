// SPDX-License-Identifier: MIT OR Apache-2.0

//! Starting, driving and stopping the worker.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use crate::api::{Command, EventSink};
use crate::config::{Config, Echo};
use crate::counters::{Counters, Live};
use crate::hearing::EchoState;
use crate::worker::{Pacing, VOLUME_MAX_DB, VOLUME_MIN_DB, Worker};

/// Commands that can wait for the worker: 20 s of reply audio in 20 ms pieces arriving within one hop, and room.
pub const COMMANDS_MAX: usize = 2_048;

/// How often the worker looks at the rings. Callbacks may not make the system call that would wake it.
const POLL: Duration = Duration::from_millis(4);

/// How long the worker gives devices to close before it leaves them behind.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// The audio engine could not be started. Every variant but `Thread` is a fault of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting is out of range. Correct it.
    #[error("audio setting `{setting}` is {value}: expected {range}")]
    Setting {
        /// Its name in [`Config`].
        setting: &'static str,
        /// What it was.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// The operating system gave no thread. Try again later.
    #[error("cannot start the audio thread")]
    Thread(#[source] io::Error),
}

/// The worker did not end by the deadline; it has been left behind. Exit without waiting for it.
#[derive(Debug, thiserror::Error)]
#[error("the audio thread did not end within {} ms: exit without it", waited.as_millis())]
pub struct Unstopped {
    /// How long it was given.
    pub waited: Duration,
}

/// Starts the worker, with a thread of its own or without.
#[derive(Debug)]
pub struct Engine;

impl Engine {
    /// Starts the worker on a thread named `audio`. Returns at once; whether the devices could be opened comes as
    /// [`Event::DeviceUp`](crate::Event::DeviceUp) and [`Event::DeviceDown`](crate::Event::DeviceDown). `events` is
    /// dropped when the worker has ended, for whatever reason: a channel behind it closes.
    ///
    /// # Errors
    /// [`StartError`] when a setting is out of range or there is no thread to be had.
    pub fn start(config: Config, events: impl EventSink + 'static) -> Result<Handle, StartError> {
        check(&config)?;
        let (shared, commands) = Shared::new();
        let handle = Handle { shared: Arc::clone(&shared) };
        let (ended, done) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name("audio".into())
            .spawn(move || {
                tracing::info!("{}", crate::rt::priority::ask());
                // Made here: a canceller of echo does not change threads.
                let mut worker = Worker::new(config, Pacing::Threads, Box::new(events));
                run(&mut worker, &shared, &commands);
                // Whoever has waited for the end finds no command taken after it, and no event sent.
                drop((worker, commands));
                // Nobody may be waiting: that is fine.
                let _ = ended.try_send(());
            })
            .map_err(StartError::Thread)?;
        if let Ok(mut slot) = handle.shared.done.lock() {
            *slot = Some(done);
        }
        Ok(handle)
    }

    /// A worker without a thread: it moves when [`Stepper::hop`] is called, and its clock moves 10 ms with it. File
    /// and sim devices move exactly 10 ms a hop; devices of this machine keep their own time.
    ///
    /// # Errors
    /// [`StartError::Setting`] when a setting is out of range.
    pub fn stepped(
        config: Config,
        events: impl EventSink + 'static,
    ) -> Result<(Stepper, Handle), StartError> {
        check(&config)?;
        let (shared, commands) = Shared::new();
        let handle = Handle { shared: Arc::clone(&shared) };
        let worker = Worker::new(config, Pacing::Stepped, Box::new(events));
        Ok((Stepper { worker, shared, commands, now: Duration::ZERO }, handle))
    }
}

fn run(worker: &mut Worker, shared: &Shared, commands: &Receiver<Command>) {
    let start = Instant::now();
    while !shared.stop.load(Relaxed) {
        turn(worker, shared, commands, start.elapsed());
        thread::sleep(POLL);
    }
    worker.close(CLOSE_TIMEOUT);
}

fn turn(worker: &mut Worker, shared: &Shared, commands: &Receiver<Command>, now: Duration) {
    for command in commands.try_iter() {
        worker.command(command);
    }
    worker.turn(now);
    shared.is_muted.store(worker.is_muted(), Relaxed);
    shared.live.store(worker.counters());
    // Whoever reads it holds it for a copy; the next turn brings the next state.
    if let Ok(mut echo) = shared.echo.try_lock() {
        *echo = worker.echo();
    }
}

struct Shared {
    commands: SyncSender<Command>,
    live: Live,
    echo: std::sync::Mutex<EchoState>,
    is_muted: AtomicBool,
    stop: AtomicBool,
    /// Where the thread says that it has ended; `None` when there is no thread, or it has been waited for.
    done: std::sync::Mutex<Option<Receiver<()>>>,
}

impl Shared {
    fn new() -> (Arc<Self>, Receiver<Command>) {
        let (sender, receiver) = mpsc::sync_channel(COMMANDS_MAX);
        let shared = Self {
            commands: sender,
            live: Live::default(),
            echo: std::sync::Mutex::default(),
            is_muted: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            done: std::sync::Mutex::new(None),
        };
        (Arc::new(shared), receiver)
    }
}

/// The caller's end of a running worker. Clones speak to the same worker.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    /// Queues a command for the worker's next turn. Never waits.
    ///
    /// # Errors
    /// The command itself when [`COMMANDS_MAX`] are waiting or the worker has ended. Offer it again 10 ms later.
    pub fn command(&self, command: Command) -> Result<(), Command> {
        self.shared.commands.try_send(command).map_err(|error| match error {
            TrySendError::Full(command) | TrySendError::Disconnected(command) => command,
        })
    }

    /// What has been counted so far. Never waits.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.live.load()
    }

    /// The echo as it was measured last; nothing where it is not measured. Waits for a copy at most.
    #[must_use]
    pub fn echo(&self) -> EchoState {
        self.shared.echo.lock().map_or_else(|_| EchoState::default(), |echo| *echo)
    }

    /// Whether the microphone is off, as of the worker's last turn. Never waits.
    #[must_use]
    pub fn is_muted(&self) -> bool {
        self.shared.is_muted.load(Relaxed)
    }

    /// Ends the worker: devices are closed, files completed. Blocks for `timeout` at most; a hanging device costs
    /// 500 ms of it and is left behind. A stepped worker only stops moving; its files are complete once the
    /// [`Stepper`] is dropped. A second call does nothing.
    ///
    /// # Errors
    /// [`Unstopped`] when the thread is still there after `timeout`.
    pub fn stop(&self, timeout: Duration) -> Result<(), Unstopped> {
        self.shared.stop.store(true, Relaxed);
        let done = self.shared.done.lock().ok().and_then(|mut done| done.take());
        match done.map(|done| done.recv_timeout(timeout)) {
            Some(Err(mpsc::RecvTimeoutError::Timeout)) => Err(Unstopped { waited: timeout }),
            Some(Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected)) | None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

/// A worker on virtual time.
pub struct Stepper {
    worker: Worker,
    shared: Arc<Shared>,
    commands: Receiver<Command>,
    now: Duration,
}

impl Stepper {
    /// Moves everything by 10 ms: the microphone delivers, the worker runs, the loudspeaker takes. Does nothing after
    /// [`Handle::stop`].
    pub fn hop(&mut self) {
        if self.shared.stop.load(Relaxed) {
            return;
        }
        self.now += crate::dsp::HOP;
        self.worker.pump_capture();
        turn(&mut self.worker, &self.shared, &self.commands, self.now);
        self.worker.pump_playback();
    }

    /// Virtual time since the start: 10 ms a hop.
    #[must_use]
    pub const fn now(&self) -> Duration {
        self.now
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        self.worker.close(CLOSE_TIMEOUT);
    }
}

impl std::fmt::Debug for Stepper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stepper").field("now", &self.now).finish_non_exhaustive()
    }
}

fn check(config: &Config) -> Result<(), StartError> {
    let ms = Duration::from_millis;
    let vad = &config.vad;
    span("vad.onset", vad.onset, ms(16), ms(1_000), "16..=1000 ms")?;
    span("vad.hangover", vad.hangover, ms(10), ms(3_000), "10..=3000 ms")?;
    number("vad.threshold", vad.threshold, 0.05, 0.95, "0.05..=0.95")?;
    number("vad.floor", vad.floor.0, -100.0, 0.0, "-100..=0 dBFS")?;
    number("volume", config.volume.0, VOLUME_MIN_DB, VOLUME_MAX_DB, "-100..=12 dB")?;
    span("preroll_max", config.preroll_max, Duration::ZERO, ms(3_000), "0..=3000 ms")?;
    match config.echo {
        Echo::Off | Echo::Software | Echo::Hardware => Ok(()),
        Echo::Auto { tail } | Echo::HalfDuplex { tail } => {
            span("echo.tail", tail, Duration::ZERO, ms(2_000), "0..=2000 ms")
        }
    }
}

fn span(
    setting: &'static str,
    value: Duration,
    min: Duration,
    max: Duration,
    range: &'static str,
) -> Result<(), StartError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(StartError::Setting { setting, value: format!("{} ms", value.as_millis()), range })
}

fn number(
    setting: &'static str,
    value: f32,
    min: f32,
    max: f32,
    range: &'static str,
) -> Result<(), StartError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(StartError::Setting { setting, value: value.to_string(), range })
}
