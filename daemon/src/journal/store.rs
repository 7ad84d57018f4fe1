// SPDX-License-Identifier: MIT OR Apache-2.0

//! The calls of a journal and what is on the disk of them. Everything here blocks.

use std::io;

use tracing::warn;

use super::disk::Disk;
use super::format::{Entry, SLOT_BYTES, State, read};

/// Slots after which the file is written anew without what is over: 256 KiB.
pub(super) const SLOTS_MAX: usize = 1024;

/// Calls of earlier runs that are kept to be told; the oldest give way.
pub(super) const UNTOLD_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Store {
    /// What is not over, in the order it came.
    calls: Vec<Entry>,
    /// In the file.
    slots: usize,
    /// The file does not say what `calls` does: it is written anew before anything else is.
    is_stale: bool,
}

/// What a journal says of earlier runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// Begun and not ended: the owner is to be told.
    pub(super) begun: Vec<Entry>,
    /// The owner was told, the model is to be.
    pub(super) untold: Vec<Entry>,
}

impl Store {
    /// Reads what is there. What was only intended is forgotten: nothing has happened.
    pub(super) fn open(disk: &mut dyn Disk, path: &str) -> io::Result<(Self, Left)> {
        let contents = read(&disk.load()?);
        if !contents.damaged.is_empty() {
            warn!(
                "{path}: {} of its records cannot be read, the first is number {}; what they said is lost, what the others \
                 say is not; check the disk",
                contents.damaged.len(),
                contents.damaged[0] + 1
            );
        }
        if contents.torn_bytes > 0 {
            warn!(
                "{path}: its last record was being written when the daemon ended; nothing was done because of it"
            );
        }
        let mut calls = contents.calls;
        calls.retain(|call| !call.state.is_over() && call.state != State::Intended);
        let too_many = calls.len().saturating_sub(UNTOLD_MAX);
        for call in calls.drain(..too_many) {
            warn!(
                tool = call.tool,
                key = call.key8(),
                "too many calls are waiting to be told: this one is not"
            );
        }
        let of = |state| calls.iter().filter(|call| call.state == state).cloned().collect();
        let left = Left { begun: of(State::Begun), untold: of(State::Unknown) };
        let mut store = Self { calls, slots: 0, is_stale: true };
        store.compact(disk)?;
        Ok((store, left))
    }

    /// Writes an entry. After an error nothing of it counts, but for an end, which is known for as long as the daemon runs.
    pub(super) fn put(&mut self, disk: &mut dyn Disk, entry: Entry) -> io::Result<()> {
        let before = self.calls.clone();
        let slot = entry.encode();
        let is_over = entry.state.is_over();
        self.calls.retain(|call| call.key != entry.key);
        if !is_over {
            self.calls.push(entry);
        }
        let written = if self.is_stale || self.slots >= SLOTS_MAX {
            self.compact(disk)
        } else {
            self.is_stale = true;
            disk.append(&slot).inspect(|()| {
                self.slots += 1;
                self.is_stale = false;
            })
        };
        if written.is_err() {
            if !is_over {
                self.calls = before;
            }
            // Half a record may be there, or one that nobody acts on: not for longer than it must.
            let _ = self.compact(disk);
        }
        written
    }

    /// Writes the file anew, with what is not over.
    fn compact(&mut self, disk: &mut dyn Disk) -> io::Result<()> {
        self.is_stale = true;
        let bytes: Vec<u8> = self.calls.iter().flat_map(Entry::encode).collect();
        disk.replace(&bytes)?;
        self.slots = bytes.len() / SLOT_BYTES;
        self.is_stale = false;
        Ok(())
    }
}
