// SPDX-License-Identifier: MIT OR Apache-2.0

//! Records in a file, one JSON object a line.
//!
//! The disk is waited for on a thread of its own. Nobody else waits for it: what finds the queue full, and what cannot be
//! written, is lost and counted, and the count is the next line that can be written.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tracing::{info, warn};
use units::Instant;

use super::Record;
use crate::clock::unix_ms;
use crate::file;
use crate::watch::{Moment, Observer};

/// Records that may wait for the disk: more than a minute of the busiest talk.
const QUEUE: usize = 256;

/// How long the last records may take when the daemon ends.
const STOP: Duration = Duration::from_millis(300);

/// How much disk the records may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// A file that would grow past this is put aside, and another begun.
    pub bytes_max: u64,
    /// Files put aside that are kept, as `FILE.1`, the newest, to `FILE.N`.
    pub keep: u32,
}

/// Writes records into a file. Dropped, it waits a moment for the last of them.
#[derive(Debug)]
pub struct RecordFile {
    lines: Option<SyncSender<String>>,
    /// Tells the records of two runs apart: both count their calls from the same number.
    run: String,
    path: PathBuf,
    lost: Arc<AtomicU64>,
    /// The queue was full, and the disk has not caught up since.
    is_behind: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl RecordFile {
    /// Writes the records of `run` into `path`, which is made if it is missing, readable by the daemon's user only. A
    /// disk that cannot be written is said in the log, and tried again with every record.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(path: PathBuf, bounds: Bounds, run: &str) -> io::Result<Self> {
        let (lines, queue) = sync_channel::<String>(QUEUE);
        let (end, ended) = sync_channel(1);
        let lost = Arc::new(AtomicU64::new(0));
        let is_behind = Arc::new(AtomicBool::new(false));
        let (mut writer, behind) =
            (Writer::new(path.clone(), bounds, Arc::clone(&lost)), Arc::clone(&is_behind));
        thread::Builder::new().name("records".into()).spawn(move || {
            writer.open();
            while let Some(line) = next(&queue, &behind) {
                writer.write(&line);
            }
            writer.settle();
            // Nobody may be waiting: that is fine.
            let _ = end.try_send(());
        })?;
        Ok(Self { lines: Some(lines), run: run.to_owned(), path, lost, is_behind, ended })
    }

    fn line(&self, record: &Record) -> String {
        let mut line = Map::new();
        line.insert("at_ms".to_owned(), unix_ms().into());
        line.insert("run".to_owned(), self.run.as_str().into());
        line.insert("kind".to_owned(), record.kind().into());
        line.extend(record.fields());
        format!("{}\n", Value::Object(line))
    }
}

/// The next line, waited for; `None` when no more come.
fn next(queue: &Receiver<String>, is_behind: &AtomicBool) -> Option<String> {
    match queue.try_recv() {
        Ok(line) => Some(line),
        Err(TryRecvError::Empty) => {
            is_behind.store(false, Ordering::Relaxed);
            queue.recv().ok()
        }
        Err(TryRecvError::Disconnected) => None,
    }
}

impl Observer for RecordFile {
    fn observe(&mut self, _: Instant, moment: &Moment<'_>) {
        let Moment::Record(record) = moment else { return };
        let line = self.line(record);
        let Some(lines) = &self.lines else { return };
        match lines.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                if !self.is_behind.swap(true, Ordering::Relaxed) {
                    let path = self.path.display();
                    warn!("log.records = {path}: the disk is too slow; records are lost and counted");
                }
            }
        }
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        self.lines = None;
        if self.ended.recv_timeout(STOP).is_err() {
            let path = self.path.display();
            warn!("log.records = {path}: the disk is too slow; the last records are left behind");
        }
    }
}

/// The end of the queue at the disk. Blocks.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    bounds: Bounds,
    file: Option<Open>,
    lost: Arc<AtomicU64>,
    /// Writing failed the last time.
    is_failing: bool,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
}

impl Writer {
    pub(super) const fn new(path: PathBuf, bounds: Bounds, lost: Arc<AtomicU64>) -> Self {
        Self { path, bounds, file: None, lost, is_failing: false }
    }

    /// Opens the file before the first line comes, so that a file that cannot be written is known from the start.
    pub(super) fn open(&mut self) {
        match open(&self.path) {
            Ok(open) => self.file = Some(open),
            Err(cause) => self.fail(&cause),
        }
    }

    fn fail(&mut self, cause: &io::Error) {
        if !std::mem::replace(&mut self.is_failing, true) {
            let path = self.path.display();
            warn!(
                "log.records = {path}: cannot be written, records are lost and counted; check path and disk: {cause}"
            );
        }
    }

    /// Writes a line, or counts it as lost. An outage is said once, and so is its end.
    pub(super) fn write(&mut self, line: &str) {
        let path = self.path.display().to_string();
        match self.settled().and_then(|()| self.put(line)) {
            Ok(()) if std::mem::take(&mut self.is_failing) => {
                info!("log.records = {path}: written again");
            }
            Ok(()) => {}
            Err(cause) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                self.fail(&cause);
            }
        }
    }

    /// Nothing more comes.
    fn settle(&mut self) {
        // What cannot be written was said already.
        let _ = self.settled();
    }

    /// Writes how many were lost, if any were.
    fn settled(&mut self) -> io::Result<()> {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost == 0 {
            return Ok(());
        }
        let line = json!({"at_ms": unix_ms(), "kind": "records.lost", "count": lost, "level": "warning"});
        self.put(&format!("{line}\n")).inspect_err(|_| {
            self.lost.fetch_add(lost, Ordering::Relaxed);
        })
    }

    fn put(&mut self, line: &str) -> io::Result<()> {
        let mut open = match self.file.take() {
            Some(open) => open,
            None => open(&self.path)?,
        };
        let bytes = line.len() as u64;
        if open.bytes > 0 && open.bytes + bytes > self.bounds.bytes_max {
            drop(open);
            file::put_aside(&self.path, self.bounds.keep)?;
            open = self::open(&self.path)?;
        }
        if let Err(cause) = open.file.write_all(line.as_bytes()) {
            // Half a line would spoil the next one. Where it cannot be taken back, the next opening ends it.
            let _ = open.file.set_len(open.bytes);
            return Err(cause);
        }
        open.bytes += bytes;
        self.file = Some(open);
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<Open> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut bytes = file.metadata()?.len();
    if bytes > 0 {
        // A power cut may have left half a line.
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            bytes += 1;
        }
    }
    Ok(Open { file, bytes })
}
