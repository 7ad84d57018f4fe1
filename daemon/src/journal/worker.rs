// SPDX-License-Identifier: MIT OR Apache-2.0

//! The end of the journal's queue at the disk. Everything here blocks.

use std::io;
use std::path::PathBuf;

use tokio::sync::oneshot;
use tracing::warn;

use super::disk::Disk;
use super::format::{Entry, State};
use super::store::Store;
use super::{Report, remedy};
use crate::clock::unix_ms;

/// What the journal is to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Write how far a call has come, and tell `done` once it is on the disk.
    Put { state: State, key: String, tool: String, done: Option<oneshot::Sender<io::Result<()>>> },
    /// Tell when everything before is done.
    Flush(oneshot::Sender<()>),
}

pub(super) struct Worker {
    path: PathBuf,
    run: String,
    report: Report,
    disk: Box<dyn Disk>,
    /// `None` until the disk has given what is there.
    store: Option<Store>,
    /// Who waits for what earlier runs have left.
    left: Option<oneshot::Sender<Vec<Entry>>>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Worker {
    /// `left` is told once what the model should know of earlier runs.
    pub(super) fn new(
        path: PathBuf,
        disk: Box<dyn Disk>,
        run: &str,
        report: Report,
        left: oneshot::Sender<Vec<Entry>>,
    ) -> Self {
        Self { path, run: run.to_owned(), report, disk, store: None, left: Some(left) }
    }

    /// Reads what there is, before anybody asks.
    pub(super) fn open(&mut self) {
        if let Err(cause) = self.opened() {
            warn!(
                "{}: {cause}; {}; until then nothing is done that a person must agree to",
                self.path.display(),
                remedy(&cause)
            );
        }
    }

    pub(super) fn carry_out(&mut self, order: Order) {
        match order {
            Order::Put { state, key, tool, done } => {
                let entry = Entry { state, at_ms: unix_ms(), key, tool, run: self.run.clone() };
                let tool = entry.tool.clone();
                let written = self.put(entry);
                match (done, written) {
                    // Who waited may have given up; the end of its call comes behind this.
                    (Some(done), written) => drop(done.send(written)),
                    (None, Ok(())) => {}
                    (None, Err(cause)) => warn!(
                        "{}: how {tool} ended cannot be written, so the next start may not know it; {}: {cause}",
                        self.path.display(),
                        remedy(&cause)
                    ),
                }
            }
            // Who asked may have gone.
            Order::Flush(done) => drop(done.send(())),
        }
    }

    fn put(&mut self, entry: Entry) -> io::Result<()> {
        self.opened()?;
        match &mut self.store {
            Some(store) => store.put(&mut *self.disk, entry),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Has the journal read, and its owner told of what an earlier run had begun.
    fn opened(&mut self) -> io::Result<()> {
        if self.store.is_some() {
            return Ok(());
        }
        let (mut store, left) = Store::open(&mut *self.disk, &self.path.display().to_string())?;
        for call in &left.begun {
            warn!(
                tool = call.tool,
                key = call.key8(),
                at_ms = call.at_ms,
                "had begun when the daemon ended, and nobody knows whether it finished: it is not repeated; see who it was for"
            );
            if (self.report)(call) {
                let known = Entry { state: State::Unknown, ..call.clone() };
                if let Err(cause) = store.put(&mut *self.disk, known) {
                    warn!("{}: {cause}; the next start will tell of this again", self.path.display());
                }
            }
        }
        self.store = Some(store);
        if let Some(tell) = self.left.take() {
            // Nobody waits for it where the daemon ends at once.
            let _ = tell.send(left.untold.into_iter().chain(left.begun).collect());
        }
        Ok(())
    }
}
