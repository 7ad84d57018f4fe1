// SPDX-License-Identifier: MIT OR Apache-2.0

//! The end of the gate log's queue at the disk. Blocks.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use tracing::{info, warn};

use super::chain::{self, FIRST, OPENED, Record};
use super::date::rfc3339;
use super::scribe::Event;
use crate::file;
use crate::records::Bounds;

/// What is read of the end of a file: more than its last lines.
const TAIL_BYTES: u64 = 256 * 1024;

/// The event of a call of an earlier run of which nobody knows how it ended.
pub(super) const UNFINISHED: &str = "call.unknown";

#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    bounds: Bounds,
    boot: String,
    run: String,
    open: Option<Open>,
    was_opened: bool,
    lost: Arc<AtomicU64>,
    /// Writing failed the last time.
    is_failing: bool,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
    end: End,
    is_synced: bool,
}

/// The end of a chain.
#[derive(Debug)]
struct End {
    seq: u64,
    hash: String,
    /// The last line has no end.
    is_torn: bool,
}

impl Writer {
    pub(super) fn new(path: PathBuf, bounds: Bounds, boot: &str, run: &str, lost: Arc<AtomicU64>) -> Self {
        let (boot, run) = (boot.to_owned(), run.to_owned());
        Self { path, bounds, boot, run, open: None, was_opened: false, lost, is_failing: false }
    }

    /// Begins this run, before anything has happened in it: what is wrong with the file is known from the start.
    pub(super) fn begin(&mut self) {
        if let Err(cause) = self.ready() {
            self.fail(&cause);
        }
    }

    /// Writes a record, or counts it as lost. An outage is said once, and so is its end.
    pub(super) fn write(&mut self, at_ms: u64, event: &Event) -> bool {
        match self.ready().and_then(|()| self.settled(at_ms)).and_then(|()| self.put(at_ms, event)) {
            Ok(()) => {
                if std::mem::take(&mut self.is_failing) {
                    info!("{}: written again", self.path.display());
                }
                true
            }
            Err(cause) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                self.fail(&cause);
                false
            }
        }
    }

    /// Writes that a call had begun in an earlier run and has no end, unless that is written: once, however often the daemon is
    /// ended on the way. True if it is on the disk.
    pub(super) fn write_once(&mut self, at_ms: u64, event: &Event) -> bool {
        let is_there = self.ready().and_then(|()| self.has(event));
        let is_there = is_there.unwrap_or_else(|cause| {
            self.fail(&cause);
            false
        });
        (is_there || self.write(at_ms, event)) && self.sync()
    }

    /// Has everything on the disk.
    pub(super) fn sync(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        if !open.is_synced {
            match open.file.sync_data() {
                Ok(()) => open.is_synced = true,
                Err(cause) => {
                    self.open = None;
                    self.fail(&cause);
                    return false;
                }
            }
        }
        true
    }

    fn fail(&mut self, cause: &io::Error) {
        if !std::mem::replace(&mut self.is_failing, true) {
            let path = self.path.display();
            warn!(
                "{path}: cannot be written, records of the gate are lost and counted; check path and disk: {cause}"
            );
        }
    }

    fn ready(&mut self) -> io::Result<()> {
        if self.open.is_none() {
            let open = self.opened()?;
            let was_torn = open.end.is_torn;
            self.open = Some(open);
            if !std::mem::replace(&mut self.was_opened, true) || was_torn {
                let mut fields = Map::from_iter([("version".to_owned(), env!("CARGO_PKG_VERSION").into())]);
                if was_torn {
                    fields.insert("torn".to_owned(), true.into());
                }
                self.put(crate::clock::unix_ms(), &Event { name: OPENED, fields })?;
            }
        }
        Ok(())
    }

    fn settled(&mut self, at_ms: u64) -> io::Result<()> {
        let count = self.lost.swap(0, Ordering::Relaxed);
        if count == 0 {
            return Ok(());
        }
        let fields = Map::from_iter([("count".to_owned(), count.into())]);
        self.put(at_ms, &Event { name: "log.lost", fields }).inspect_err(|_| {
            self.lost.fetch_add(count, Ordering::Relaxed);
        })
    }

    fn put(&mut self, at_ms: u64, event: &Event) -> io::Result<()> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.opened()?,
        };
        let mut line = event.fields.clone();
        line.retain(|_, value| !value.is_null());
        let own = json!({
            "at": rfc3339(at_ms), "boot": self.boot, "run": self.run, "seq": open.end.seq + 1, "prev": open.end.hash,
            "event": event.name,
        });
        if let Value::Object(own) = own {
            line.extend(own);
        }
        let mut line = Value::Object(line).to_string();
        let hash = chain::hash(line.as_bytes());
        line.push('\n');
        let bytes = line.len() as u64;
        if open.bytes > 0 && open.bytes + bytes > self.bounds.bytes_max {
            open.file.sync_data()?;
            file::put_aside(&self.path, self.bounds.keep)?;
            let end = open.end;
            open = self.created()?;
            open.end = end;
        }
        if let Err(cause) = open.file.write_all(line.as_bytes()) {
            // Half a line is none. Where it cannot be taken back, the next opening ends it.
            let _ = open.file.set_len(open.bytes);
            return Err(cause);
        }
        open.bytes += bytes;
        open.is_synced = false;
        open.end = End { seq: open.end.seq + 1, hash, is_torn: false };
        self.open = Some(open);
        Ok(())
    }

    /// The file with the end of its chain.
    fn opened(&self) -> io::Result<Open> {
        let mut open = self.created()?;
        if open.bytes == 0 {
            // It was put aside, and the daemon ended before the next was begun.
            match File::open(file::aside(&self.path, 1)) {
                Ok(mut before) => open.end = tail(&mut before)?,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(cause),
            }
            open.end.is_torn = false;
            return Ok(open);
        }
        open.end = tail(&mut open.file)?;
        if open.end.is_torn {
            open.file.write_all(b"\n")?;
            open.bytes += 1;
        }
        Ok(open)
    }

    fn created(&self) -> io::Result<Open> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another daemon writes it: give each a state.dir of its own"));
            }
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        let bytes = file.metadata()?.len();
        let end = End { seq: 0, hash: FIRST.to_owned(), is_torn: false };
        Ok(Open { file, bytes, end, is_synced: true })
    }

    /// Whether an event of this name and key is in the file or in the one before.
    fn has(&self, event: &Event) -> io::Result<bool> {
        let key = event.fields.get("key8");
        for path in [self.path.clone(), file::aside(&self.path, 1)] {
            let bytes = match file::read(&path, self.bounds.bytes_max.saturating_mul(2)) {
                Ok(bytes) => bytes,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                Err(cause) => return Err(cause),
            };
            let mut records = bytes.split(|byte| *byte == b'\n').filter_map(Record::parse);
            if records.any(|record| record.event == event.name && record.fields.get("key8") == key) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// How the chain of a file ends. Its position is at the end then.
fn tail(file: &mut File) -> io::Result<End> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES * 2).read_to_end(&mut bytes)?;
    let is_torn = bytes.last().is_some_and(|last| *last != b'\n');
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let mut lines = text.rsplit(|byte| *byte == b'\n').peekable();
    let hash = match lines.peek() {
        Some(last) if length > 0 => chain::hash(last),
        Some(_) | None => FIRST.to_owned(),
    };
    let seq = lines.find_map(Record::parse).map_or(0, |record| record.seq);
    Ok(End { seq, hash, is_torn })
}
