// SPDX-License-Identifier: MIT OR Apache-2.0

//! One bus: one OS thread, one call at a time, and callers that never wait past their deadline.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::{fmt, io, thread};

use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::breaker::Breaker;
use crate::error::{ErrorKind, HalError};
use crate::{BoxFuture, lock};

/// Calls that may wait for one lane. A full queue answers `Busy` at once. At 100 ms a call it is under a second.
pub const QUEUE: usize = 8;

/// How a lane or one of its drivers is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Calls go through.
    Ready,
    /// A call is past this deadline and still inside the driver.
    NotResponding {
        /// The deadline it missed.
        since: Instant,
    },
    /// The driver fails again and again; the next call goes through at this time.
    Resting {
        /// When.
        until: Instant,
    },
    /// A driver on this lane panicked. It stays so until the daemon restarts.
    Failed,
}

/// One bus. Clones share it; its thread ends when the last clone and handle are gone.
#[derive(Clone)]
pub struct Lane {
    shared: Arc<Shared>,
    executor: Executor,
}

#[derive(Clone)]
enum Executor {
    Thread(SyncSender<Arc<Slot>>),
    Inline(Arc<InlineBus>),
}

/// Where calls run that have no thread: one at a time, in order, [`QUEUE`] waiting.
struct InlineBus {
    places: Semaphore,
    turn: tokio::sync::Mutex<()>,
}

struct Shared {
    name: String,
    inline: bool,
    state: Mutex<State>,
    /// Wakes the thread, and inline calls, when a stall ends.
    resumed: Condvar,
    resumed_inline: Notify,
}

#[derive(Default)]
struct State {
    /// Deadline of the call that is inside a driver.
    running: Option<Instant>,
    stalls: usize,
    failed: bool,
}

/// A call in the queue. Whoever takes the contents owns the call: the thread to run it, its caller to withdraw it.
type Slot = Mutex<Option<Queued>>;

struct Queued {
    deadline: Instant,
    job: Box<dyn FnOnce() + Send>,
}

impl Lane {
    /// A lane with its own OS thread, for drivers that block.
    ///
    /// # Errors
    /// The system refused a thread; nothing can be done but to report it.
    pub fn spawn(name: &str) -> io::Result<Self> {
        let shared = Shared::named(name, false);
        let (queue, calls) = sync_channel(QUEUE);
        let worker = Arc::clone(&shared);
        thread::Builder::new().name(format!("lane-{name}")).spawn(move || serve(&worker, &calls))?;
        Ok(Self { shared, executor: Executor::Thread(queue) })
    }

    /// A lane without a thread: calls run inside the caller's poll, so on virtual time they take no time at all. Its
    /// drivers must not block.
    #[must_use]
    pub fn inline(name: &str) -> Self {
        let bus = InlineBus { places: Semaphore::new(QUEUE + 1), turn: tokio::sync::Mutex::new(()) };
        Self { shared: Shared::named(name, true), executor: Executor::Inline(Arc::new(bus)) }
    }

    /// Puts a driver on this lane.
    #[must_use]
    pub fn attach<D: ?Sized + Send + 'static>(&self, driver: Box<D>) -> Handle<D> {
        Handle {
            lane: self.clone(),
            driver: Arc::new(Mutex::new(driver)),
            breaker: Arc::new(Mutex::new(Breaker::new())),
        }
    }

    /// Holds the bus as a hung device does: the call that runs next stays inside it until the guard is dropped. For
    /// rehearsing what the daemon does then.
    #[must_use]
    pub fn stall(&self) -> Stall {
        lock(&self.shared.state).stalls += 1;
        Stall(Arc::clone(&self.shared))
    }

    /// How the lane is doing at this moment. Must be called inside a tokio runtime if its clock may be paused.
    #[must_use]
    pub fn health(&self) -> Health {
        self.shared.health(Instant::now())
    }

    /// The name it was made with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lane").field(&self.shared.name).finish()
    }
}

/// Keeps a lane stalled; see [`Lane::stall`].
pub struct Stall(Arc<Shared>);

impl fmt::Debug for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stall").field(&self.0.name).finish()
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.stalls -= 1;
        if state.stalls == 0 {
            if self.0.inline {
                // A call whose caller has left is inside no driver: it ends with the stall.
                state.running = None;
            }
            self.0.resumed.notify_all();
            self.0.resumed_inline.notify_waiters();
        }
    }
}

impl Shared {
    fn named(name: &str, inline: bool) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            inline,
            state: Mutex::default(),
            resumed: Condvar::new(),
            resumed_inline: Notify::new(),
        })
    }

    fn health(&self, now: Instant) -> Health {
        let state = lock(&self.state);
        match state.running {
            _ if state.failed => Health::Failed,
            Some(deadline) if deadline <= now => Health::NotResponding { since: deadline },
            Some(_) | None => Health::Ready,
        }
    }

    fn admit(&self, now: Instant) -> Result<(), HalError> {
        match self.health(now) {
            Health::Ready | Health::Resting { .. } => Ok(()),
            Health::NotResponding { .. } => Err(HalError::new(
                ErrorKind::Timeout,
                "an earlier call is still inside the driver; nothing was done",
            )),
            Health::Failed => Err(self.failed()),
        }
    }

    fn failed(&self) -> HalError {
        HalError::new(
            ErrorKind::Bus,
            &format!("a driver on lane `{}` panicked; restart the daemon", self.name),
        )
    }

    /// Runs `work` on the driver; a panic fails the lane for good, since the bus may be left in any state.
    fn run<D: ?Sized, R>(
        &self,
        driver: &Mutex<Box<D>>,
        work: impl FnOnce(&mut D) -> Result<R, HalError>,
    ) -> Result<R, HalError> {
        if lock(&self.state).failed {
            return Err(self.failed());
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut lock(driver))));
        result.unwrap_or_else(|payload| {
            lock(&self.state).failed = true;
            let text = payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("no message");
            tracing::error!(lane = %self.name, panic = text, "driver panicked; the lane is out of order");
            Err(self.failed())
        })
    }
}

/// The lane's thread.
fn serve(shared: &Shared, calls: &Receiver<Arc<Slot>>) {
    while let Ok(slot) = calls.recv() {
        let Some(Queued { deadline, job }) = lock(&slot).take() else {
            continue;
        };
        if deadline <= Instant::now() {
            continue;
        }
        let mut state = lock(&shared.state);
        state.running = Some(deadline);
        while state.stalls > 0 {
            state = shared.resumed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(state);
        job();
        lock(&shared.state).running = None;
    }
}

/// Reaches one driver on its lane. Clones reach the same driver.
pub struct Handle<D: ?Sized> {
    lane: Lane,
    /// Locked on the lane only, one call at a time: never contended.
    driver: Arc<Mutex<Box<D>>>,
    breaker: Arc<Mutex<Breaker>>,
}

impl<D: ?Sized> Clone for Handle<D> {
    fn clone(&self) -> Self {
        Self { lane: self.lane.clone(), driver: Arc::clone(&self.driver), breaker: Arc::clone(&self.breaker) }
    }
}

impl<D: ?Sized> fmt::Debug for Handle<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("lane", &self.lane.shared.name).finish_non_exhaustive()
    }
}

impl<D: ?Sized + Send + 'static> Handle<D> {
    /// Runs `work` on the driver, on its lane, and answers by `deadline` whatever the driver does. Dropping the
    /// future withdraws a call that still waits; one inside the driver runs to its end, unheard.
    ///
    /// # Errors
    /// Those of the driver, and of the lane: `Busy` (queue full, or its turn never came: nothing was done),
    /// `Timeout` (no answer by the deadline: a write may have happened), `Bus` (a driver panicked).
    pub fn call<R: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&mut D) -> Result<R, HalError> + Send + 'static,
    ) -> BoxFuture<Result<R, HalError>> {
        let handle = self.clone();
        Box::pin(async move {
            let now = Instant::now();
            if deadline <= now {
                return Err(HalError::new(
                    ErrorKind::Cancelled,
                    "its deadline had passed before it was asked",
                ));
            }
            handle.lane.shared.admit(now)?;
            lock(&handle.breaker).admit(now)?;
            let ended = match &handle.lane.executor {
                Executor::Thread(queue) => handle.on_thread(queue, deadline, work).await,
                Executor::Inline(bus) => handle.in_place(bus, deadline, work).await,
            };
            match ended {
                Ended::Asked(result) => {
                    lock(&handle.breaker).settle(Instant::now(), result.as_ref().err());
                    result
                }
                Ended::NotAsked(error) => Err(error),
            }
        })
    }

    /// How the driver and its lane are doing.
    #[must_use]
    pub fn health(&self) -> Health {
        let now = Instant::now();
        match self.lane.shared.health(now) {
            Health::Ready => lock(&self.breaker)
                .resting_until(now)
                .map_or(Health::Ready, |until| Health::Resting { until }),
            other @ (Health::NotResponding { .. } | Health::Resting { .. } | Health::Failed) => other,
        }
    }

    async fn on_thread<R: Send + 'static>(
        &self,
        queue: &SyncSender<Arc<Slot>>,
        deadline: Instant,
        work: impl FnOnce(&mut D) -> Result<R, HalError> + Send + 'static,
    ) -> Ended<R> {
        let (answer, answered) = oneshot::channel();
        let (shared, driver) = (Arc::clone(&self.lane.shared), Arc::clone(&self.driver));
        let job = Box::new(move || {
            // A caller that is gone does not want the answer.
            let _ = answer.send(shared.run(&driver, work));
        });
        let claim = Claim(Arc::new(Mutex::new(Some(Queued { deadline, job }))));
        match queue.try_send(Arc::clone(&claim.0)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Ended::NotAsked(queue_full()),
            Err(TrySendError::Disconnected(_)) => return Ended::NotAsked(self.lane.shared.failed()),
        }
        match timeout_at(deadline, answered).await {
            Ok(Ok(result)) => Ended::Asked(result),
            // The thread found it expired.
            Ok(Err(_)) => Ended::NotAsked(never_its_turn()),
            Err(_) if claim.withdraw() => Ended::NotAsked(never_its_turn()),
            Err(_) => Ended::Asked(Err(no_answer())),
        }
    }

    async fn in_place<R>(
        &self,
        bus: &InlineBus,
        deadline: Instant,
        work: impl FnOnce(&mut D) -> Result<R, HalError>,
    ) -> Ended<R> {
        let Ok(_place) = bus.places.try_acquire() else {
            return Ended::NotAsked(queue_full());
        };
        let Ok(_turn) = timeout_at(deadline, bus.turn.lock()).await else {
            return Ended::NotAsked(never_its_turn());
        };
        let shared = &self.lane.shared;
        lock(&shared.state).running = Some(deadline);
        let resumed = async {
            loop {
                let resumed = shared.resumed_inline.notified();
                if lock(&shared.state).stalls == 0 {
                    break;
                }
                resumed.await;
            }
        };
        if timeout_at(deadline, resumed).await.is_err() {
            return Ended::Asked(Err(no_answer()));
        }
        let result = shared.run(&self.driver, work);
        lock(&shared.state).running = None;
        Ended::Asked(result)
    }
}

/// Whether the driver was asked at all. Only then does the result speak for or against it.
enum Ended<R> {
    Asked(Result<R, HalError>),
    NotAsked(HalError),
}

fn queue_full() -> HalError {
    HalError::new(ErrorKind::Busy, &format!("{QUEUE} calls wait already; nothing was done"))
}

fn never_its_turn() -> HalError {
    HalError::new(ErrorKind::Busy, "its turn on the bus did not come in time; nothing was done")
}

fn no_answer() -> HalError {
    HalError::new(ErrorKind::Timeout, "no answer by the deadline")
}

/// A caller's hold on its queued call: withdrawn when the caller goes away.
struct Claim(Arc<Slot>);

impl Claim {
    /// Takes the call back. True if it had not been started.
    fn withdraw(&self) -> bool {
        lock(&self.0).take().is_some()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.withdraw();
    }
}
