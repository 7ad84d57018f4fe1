// SPDX-License-Identifier: MIT OR Apache-2.0

//! Who approved what, worded how, and what ran: one JSON object a line, each with the hash of the line before.
//!
//! Records are made of what the session notices about the confirmation gate, of the calls that an approval let run and of their
//! ends. What was said is in none of them; of an argument, and of the sentence that was read back, each shows what [`Policy`]
//! says. The disk is waited for on a thread of its own; what it does not take is lost, counted, and said.

mod chain;
mod date;
mod fields;
mod scribe;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};
use session::{Notice, Outcome};
use tracing::warn;
use units::CallKey;

use crate::clock::unix_ms;
use crate::file;
use crate::identity::Identity;
use crate::journal::{Entry, Report};
use crate::records::Bounds;
use crate::toolbox::Toolbox;

pub use chain::{Break, Record, Verdict, verify};
pub use fields::{Policies, Policy};
use scribe::{Event, Scribe};
use writer::{UNFINISHED, Writer};

/// Name of the log in the state folder.
pub const GATE_LOG_FILE: &str = "gate.log";

/// Records that may wait for the disk: a person agrees to one thing at a time.
const QUEUE: usize = 256;

/// How long the last records may take when the daemon ends.
const STOP: Duration = Duration::from_millis(300);

/// How long the disk may take for a record that must not be lost.
const KEPT_LIMIT: Duration = Duration::from_secs(2);

/// How much is written, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How much disk it may take.
    pub bounds: Bounds,
    /// How much of an argument is shown, by tool and field.
    pub fields: Policies,
}

/// The file of the gate log in this state folder.
#[must_use]
pub fn path_in(state: &Path) -> PathBuf {
    state.join(GATE_LOG_FILE)
}

/// That file and those put aside, as far as there are any, the oldest first.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        (1..).map(|n| file::aside(path, n)).take_while(|path| path.exists()).collect();
    files.reverse();
    files.extend(path.exists().then(|| path.to_owned()));
    files
}

/// The beginning of an RFC 3339 time as a whole one, which sorts as [`Record::at`] does. `None` if it is none.
#[must_use]
pub fn time_from(text: &str) -> Option<String> {
    date::from(text)
}

/// The moment `span` before the present one, as [`Record::at`] writes it.
#[must_use]
pub fn time_before(span: Duration) -> String {
    date::rfc3339(unix_ms().saturating_sub(crate::clock::millis(span)))
}

/// Writes the gate log. Dropped, it waits a moment for the last records: drop the journal that reports to it first.
#[derive(Debug)]
pub struct GateLog {
    scribe: Scribe,
    pen: Option<Pen>,
    ended: Receiver<()>,
}

/// The way to the thread that writes. Clones are one.
#[derive(Clone, Debug)]
struct Pen {
    orders: SyncSender<Order>,
    path: PathBuf,
    lost: Arc<AtomicU64>,
    /// The queue was full, and the disk has not caught up since.
    is_behind: Arc<AtomicBool>,
}

enum Order {
    Write(u64, Event),
    /// Write it unless it is written, and tell whether it is on the disk.
    WriteOnce(u64, Event, SyncSender<bool>),
    Flush(SyncSender<()>),
}

impl GateLog {
    /// The log in the state folder `state`, of calls that `toolbox` runs. What the disk has against it is said, and tried again
    /// with every record.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        state: &Path,
        settings: Settings,
        toolbox: &Toolbox,
        identity: &Identity,
    ) -> io::Result<Self> {
        let path = path_in(state);
        let (orders, queue) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        let (lost, is_behind) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let mut writer =
            Writer::new(path.clone(), settings.bounds, identity.boot(), identity.run(), Arc::clone(&lost));
        let behind = Arc::clone(&is_behind);
        thread::Builder::new().name("gate-log".into()).spawn(move || {
            writer.begin();
            while let Some(order) = next(&queue, &mut writer, &behind) {
                match order {
                    Order::Write(at_ms, event) => drop(writer.write(at_ms, &event)),
                    // Whoever asked may have given up.
                    Order::WriteOnce(at_ms, event, done) => {
                        let _ = done.try_send(writer.write_once(at_ms, &event));
                    }
                    Order::Flush(done) => {
                        writer.sync();
                        let _ = done.try_send(());
                    }
                }
            }
            drop(writer);
            // Nobody may be waiting: that is fine.
            let _ = end.try_send(());
        })?;
        let scribe =
            Scribe::new(toolbox.catalog(), toolbox.tooling().clone(), identity.clone(), settings.fields);
        Ok(Self { scribe, pen: Some(Pen { orders, path, lost, is_behind }), ended })
    }

    /// The session noticed something. Not masked: what may be shown is decided here.
    pub fn on_notice(&mut self, notice: &Notice) {
        if let (Some(event), Some(pen)) = (self.scribe.on_notice(notice), &self.pen) {
            pen.write(event);
        }
    }

    /// A call has ended.
    pub fn on_outcome(&mut self, call: CallKey, outcome: &Outcome) {
        if let (Some(event), Some(pen)) = (self.scribe.on_outcome(call, outcome), &self.pen) {
            pen.write(event);
        }
    }

    /// For the journal, which waits for it: keeps a record of each call of an earlier run that had begun and has no end.
    #[must_use]
    pub fn report(&self) -> Report {
        let pen = self.pen.clone();
        Box::new(move |call| pen.as_ref().is_some_and(|pen| pen.write_once(unfinished(call))))
    }
}

impl Drop for GateLog {
    fn drop(&mut self) {
        let Some(pen) = self.pen.take() else { return };
        let (done, flushed) = sync_channel(1);
        let is_given = pen.orders.try_send(Order::Flush(done)).is_ok();
        if !is_given || flushed.recv_timeout(STOP).is_err() {
            warn!(
                "{}: the disk is too slow; the last records of the gate are left behind",
                pen.path.display()
            );
            return;
        }
        drop(pen);
        // Another may keep the same file then. While the journal still has a way to it, nobody does.
        let _ = self.ended.recv_timeout(STOP);
    }
}

impl Pen {
    fn write(&self, event: Event) {
        if self.orders.try_send(Order::Write(unix_ms(), event)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            if !self.is_behind.swap(true, Ordering::Relaxed) {
                let path = self.path.display();
                warn!("{path}: the disk is too slow; records of the gate are lost and counted");
            }
        }
    }

    fn write_once(&self, event: Event) -> bool {
        let (done, written) = sync_channel(1);
        self.orders.try_send(Order::WriteOnce(unix_ms(), event, done)).is_ok()
            && written.recv_timeout(KEPT_LIMIT).unwrap_or(false)
    }
}

/// The next order, waited for; what is written is on the disk before that. `None` when no more come.
fn next(queue: &Receiver<Order>, writer: &mut Writer, is_behind: &AtomicBool) -> Option<Order> {
    match queue.try_recv() {
        Ok(order) => Some(order),
        Err(TryRecvError::Empty) => {
            is_behind.store(false, Ordering::Relaxed);
            writer.sync();
            queue.recv().ok()
        }
        Err(TryRecvError::Disconnected) => None,
    }
}

fn unfinished(call: &Entry) -> Event {
    let fields = json!({
        "tool": call.tool, "key8": call.key8(), "of_run": call.run, "begun_at": date::rfc3339(call.at_ms),
    });
    let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
    Event { name: UNFINISHED, fields }
}
