// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lines that each name the hash of the one before, and whether they still do.
//!
//! A line that was changed, removed or added shows at the next one. What a chain cannot show is that its end is missing, or that all
//! of it was written anew by somebody who may write the file: whoever must know that keeps the last hash elsewhere.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::identity::hex;

/// Stands for the hash of the line before the first.
pub(super) const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The event with which each run begins. Only before it may a line be torn: the daemon ended while it was written.
pub(super) const OPENED: &str = "log.opened";

/// The hash of a line, without its line break.
pub(super) fn hash(line: &[u8]) -> String {
    hex(&Sha256::digest(line))
}

/// One record as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When, as RFC 3339 writes it.
    pub at: String,
    /// Its number, from 1 on, over all files and runs.
    pub seq: u64,
    /// What happened.
    pub event: String,
    /// All that it says, these among them.
    pub fields: Map<String, Value>,
    prev: String,
}

impl Record {
    /// The record of a line, if it is one.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let seq = fields.get("seq").and_then(Value::as_u64)?;
        Some(Self { at: text("at")?, seq, event: text("event")?, prev: text("prev")?, fields })
    }
}

/// Where the chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// In which of the files, counted from 0.
    pub file: usize,
    /// In which line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// What a chain is like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Its records, in order.
    pub records: Vec<Record>,
    /// Where it is broken.
    pub breaks: Vec<Break>,
    /// Lines that were being written when the daemon ended: file and line.
    pub torn: Vec<(usize, usize)>,
    /// What is before the first record was not given.
    pub is_continued: bool,
}

/// Follows the chain through files, the oldest first.
#[must_use]
pub fn verify(files: &[Vec<u8>]) -> Verdict {
    let mut walk = Walk::default();
    let count = files.len();
    for (file, bytes) in files.iter().enumerate() {
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let is_open = lines.last().is_some_and(|last| !last.is_empty());
        if !is_open {
            lines.pop();
        }
        let last = lines.len();
        for (line, number) in lines.into_iter().zip(1..) {
            let may_be_torn = is_open && number == last && file + 1 == count;
            walk.step(file, number, line, may_be_torn);
        }
    }
    if let Some((file, line)) = walk.doubtful {
        walk.broken(file, line, "it is no record");
    }
    walk.verdict
}

#[derive(Default)]
struct Walk {
    verdict: Verdict,
    /// The hash of the line before.
    prev: Option<String>,
    seq: u64,
    /// A line that is no record: whether it was torn or changed shows at the next.
    doubtful: Option<(usize, usize)>,
}

impl Walk {
    fn step(&mut self, file: usize, line: usize, text: &[u8], may_be_torn: bool) {
        let Some(record) = Record::parse(text) else {
            if may_be_torn {
                self.verdict.torn.push((file, line));
            } else {
                if let Some((file, line)) = self.doubtful.replace((file, line)) {
                    self.broken(file, line, "it is no record");
                }
                self.prev = Some(hash(text));
            }
            return;
        };
        let follows = self.prev.as_ref().is_none_or(|prev| *prev == record.prev);
        let doubtful = self.doubtful.take();
        if self.prev.is_none() {
            self.verdict.is_continued = record.prev != FIRST;
        } else if let Some((file, line)) = doubtful {
            if follows && record.event == OPENED {
                self.verdict.torn.push((file, line));
            } else {
                self.broken(file, line, "it is no record: it was changed, or the file is damaged");
            }
        } else if !follows {
            let missing = record.seq.saturating_sub(self.seq + 1);
            let what = if missing > 0 {
                format!("it does not follow the line before it: {missing} records between are missing")
            } else {
                "it does not follow the line before it: that was changed, or lines were added or removed"
                    .to_owned()
            };
            self.broken(file, line, &what);
        }
        let is_first = self.verdict.records.is_empty();
        if follows && !is_first && record.seq != self.seq + 1 {
            self.broken(file, line, &format!("its number is {}, and {} is next", record.seq, self.seq + 1));
        }
        self.seq = record.seq;
        self.prev = Some(hash(text));
        self.verdict.records.push(record);
    }

    fn broken(&mut self, file: usize, line: usize, what: &str) {
        self.verdict.breaks.push(Break { file, line, what: what.to_owned() });
    }
}
