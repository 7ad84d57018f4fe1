// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a person agreed to and the device has begun, on disk before it is done: one approval, at most one effect, also across a
//! crash.
//!
//! Only calls that spent an approval are written here: that a call is intended, that its tool is about to be entered, how it ended.
//! Each of the first two is on the disk before the next step is taken; a call whose record cannot be written is not made. A call
//! that had begun and has no end when the daemon starts is one of which nobody knows: its owner is told in the log and in the
//! gate log, the model by one note, and nothing makes it again. No arguments are kept here.
//!
//! The disk is waited for on a thread of its own; a call waits for that thread, and nobody else does.

mod disk;
mod format;
mod store;
#[cfg(test)]
mod tests;
mod worker;

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};
use std::thread;
use std::time::Duration;

use session::Intent;
use tokio::sync::oneshot;

pub use disk::{Disk, FileDisk, JOURNAL_FILE};
pub use format::{Contents, Entry, State, read};
use worker::{Order, Worker};

/// How long a call waits for one record to be on the disk.
pub const WRITE_LIMIT: Duration = Duration::from_secs(2);

/// Records that may wait for the disk. Calls that act are asked about one at a time, so more are never meant.
const QUEUE: usize = 64;

/// How long the last records may take when the daemon ends.
const STOP: Duration = Duration::from_millis(300);

/// Told of each call of an earlier run that had begun and has no end. True once that is kept where its owner finds it: the call
/// is told of until then at every start.
pub type Report = Box<dyn Fn(&Entry) -> bool + Send>;

/// Why a record is not on the disk. The call that needs it must not be made.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk does not take it.
    #[error("{}: cannot be written; {}", path.display(), remedy(cause))]
    Disk {
        /// The journal.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The disk takes its time.
    #[error("{}: the disk did not take a record within {} s; check it, it may be failing", path.display(), WRITE_LIMIT.as_secs())]
    Slow {
        /// The journal.
        path: PathBuf,
    },
}

fn remedy(cause: &io::Error) -> &'static str {
    let remedies: [(&[io::ErrorKind], &str); 4] = [
        (&[io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded], "free some space there"),
        (
            &[io::ErrorKind::ReadOnlyFilesystem],
            "mount it for writing, or set state.dir to a folder that can be written",
        ),
        (&[io::ErrorKind::PermissionDenied], "give the folder to the daemon's user"),
        (&[io::ErrorKind::ResourceBusy], "end the other daemon"),
    ];
    let of_kind = remedies.iter().find(|(kinds, _)| kinds.contains(&cause.kind()));
    of_kind.map_or("check the disk, or set state.dir to a folder that can be written", |(_, remedy)| remedy)
}

/// The journal of one state folder.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    way: Way,
    left: Mutex<Told>,
}

#[derive(Debug)]
enum Way {
    /// To the thread that waits for the disk.
    Thread { orders: Option<SyncSender<Order>>, ended: Mutex<Receiver<()>> },
    /// On the caller's.
    Inline(Mutex<Worker>),
}

/// What the model is to be told of earlier runs.
#[derive(Debug)]
enum Told {
    /// It is being read.
    Coming(oneshot::Receiver<Vec<Entry>>),
    /// It is in a note that is still to be sent.
    Noted {
        note: String,
        calls: Vec<Entry>,
    },
    Nothing,
}

impl Journal {
    /// Keeps the journal of `run` in `folder`, on a thread of its own. What the disk has against it is said when it is used.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(folder: &Path, run: &str, report: Report) -> io::Result<Self> {
        Self::on_disk(folder.join(JOURNAL_FILE), Box::new(FileDisk::new(folder)), run, report)
    }

    /// The same on a disk of the caller's, which is called `path` in what is said of it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn on_disk(path: PathBuf, disk: Box<dyn Disk>, run: &str, report: Report) -> io::Result<Self> {
        let (orders, queue) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        let (tell, left) = oneshot::channel();
        let mut worker = Worker::new(path.clone(), disk, run, report, tell);
        thread::Builder::new().name("journal".into()).spawn(move || {
            worker.open();
            while let Ok(order) = queue.recv() {
                worker.carry_out(order);
            }
            drop(worker);
            // Nobody may be waiting: that is fine.
            let _ = end.try_send(());
        })?;
        let way = Way::Thread { orders: Some(orders), ended: Mutex::new(ended) };
        Ok(Self { path, way, left: Mutex::new(Told::Coming(left)) })
    }

    /// The same on the caller's thread: for a paused clock, which would run away while another thread works.
    #[must_use]
    pub fn inline(folder: &Path, run: &str, report: Report) -> Self {
        let path = folder.join(JOURNAL_FILE);
        let (tell, left) = oneshot::channel();
        let mut worker = Worker::new(path.clone(), Box::new(FileDisk::new(folder)), run, report, tell);
        worker.open();
        Self { path, way: Way::Inline(Mutex::new(worker)), left: Mutex::new(Told::Coming(left)) }
    }

    /// Has it on disk that the call of this key is to run.
    ///
    /// # Errors
    /// See [`JournalError`]. Do not make the call.
    pub async fn intend(&self, key: &str, tool: &str) -> Result<(), JournalError> {
        self.write(key, tool, State::Intended).await
    }

    /// Has it on disk that its tool is about to be entered.
    ///
    /// # Errors
    /// See [`JournalError`]. Do not enter it.
    pub async fn begin(&self, key: &str, tool: &str) -> Result<(), JournalError> {
        self.write(key, tool, State::Begun).await
    }

    /// It has ended so. Waits for nobody: where this is lost, nobody knows how the call ended.
    pub fn end(&self, key: &str, tool: &str, state: State) {
        let order = Order::Put { state, key: key.to_owned(), tool: tool.to_owned(), done: None };
        if !self.give(order) {
            tracing::warn!(
                "{}: too much waits for the disk; the next start will not know how {tool} ended",
                self.path.display()
            );
        }
    }

    /// Waits, but not for longer than `limit`, until everything is on disk that was given before.
    pub async fn flush(&self, limit: Duration) {
        let (done, flushed) = oneshot::channel();
        if self.give(Order::Flush(done)) && tokio::time::timeout(limit, flushed).await.is_err() {
            tracing::warn!("{}: the disk is too slow; the last records are left behind", self.path.display());
        }
    }

    /// What the model is to be told of calls before the restart, once; never comes back if there is nothing. Safe to drop.
    pub async fn note(&self) -> String {
        poll_fn(|task| {
            let mut left = self.left();
            let Told::Coming(coming) = &mut *left else { return Poll::Pending };
            let calls = ready!(Pin::new(coming).poll(task)).unwrap_or_default();
            let Some(note) = note(&calls) else {
                *left = Told::Nothing;
                return Poll::Pending;
            };
            *left = Told::Noted { note: note.clone(), calls };
            Poll::Ready(note)
        })
        .await
    }

    /// `intent` is handed to the link: if it holds the note, that has been told.
    pub fn on_sent(&self, intent: &Intent) {
        let text = match intent {
            Intent::Note(text) | Intent::Ask(text) | Intent::AskInWords(text) => text,
            Intent::Answer(_) | Intent::Earlier(_) | Intent::AudioStreamEnd => return,
        };
        let mut left = self.left();
        match std::mem::replace(&mut *left, Told::Nothing) {
            Told::Noted { note, calls } if text.contains(&note) => {
                for call in calls {
                    self.end(&call.key, &call.tool, State::Told);
                }
            }
            other @ (Told::Coming(_) | Told::Noted { .. } | Told::Nothing) => *left = other,
        }
    }

    fn left(&self) -> MutexGuard<'_, Told> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, key: &str, tool: &str, state: State) -> Result<(), JournalError> {
        let (done, written) = oneshot::channel();
        let order = Order::Put { state, key: key.to_owned(), tool: tool.to_owned(), done: Some(done) };
        let slow = || JournalError::Slow { path: self.path.clone() };
        if !self.give(order) {
            return Err(slow());
        }
        match tokio::time::timeout(WRITE_LIMIT, written).await {
            Ok(Ok(written)) => written.map_err(|cause| JournalError::Disk { path: self.path.clone(), cause }),
            // The thread is gone, or waits for the disk.
            Ok(Err(_)) | Err(_) => Err(slow()),
        }
    }

    /// False if too much waits already.
    fn give(&self, order: Order) -> bool {
        match &self.way {
            Way::Thread { orders, .. } => {
                orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
            }
            Way::Inline(worker) => {
                worker.lock().unwrap_or_else(PoisonError::into_inner).carry_out(order);
                true
            }
        }
    }
}

impl Drop for Journal {
    /// Waits a moment for what was given, after which another may keep the same folder.
    fn drop(&mut self) {
        if let Way::Thread { orders, ended } = &mut self.way {
            *orders = None;
            let ended = ended.get_mut().unwrap_or_else(PoisonError::into_inner);
            if ended.recv_timeout(STOP).is_err() {
                tracing::warn!("{}: the disk is too slow; it is left behind", self.path.display());
            }
        }
    }
}

/// What the model is told of calls of which nobody knows how they ended.
fn note(calls: &[Entry]) -> Option<String> {
    let mut names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    names.dedup();
    let text = match names.as_slice() {
        [] => return None,
        [name] if calls.len() == 1 => {
            format!(
                "{name} was started; whether it finished is not known. Do not repeat it unless the person asks."
            )
        }
        names => format!(
            "these were started: {}; whether they finished is not known. Do not repeat them unless the person asks.",
            names.join(", ")
        ),
    };
    Some(format!("[Before the restart, {text}]"))
}
