// SPDX-License-Identifier: MIT OR Apache-2.0

//! A record of what went over the wire, one JSON message a line, for tests and for reports.
//!
//! It is off unless asked for: the server's half holds the person's words and the model's voice. Files are readable by
//! the daemon's user only. The API key is masked in both halves: it is in no message of ours, unless a tool or the peer
//! put it there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Secret;
use super::mask::masked;

/// More connections than this are not recorded; each makes two files.
const CONNECTIONS: u32 = 10_000;

/// A directory that takes `client-<n>.jsonl` and `server-<n>.jsonl` for the n-th connection, counted from 1. Numbers
/// that are taken by earlier runs are skipped. Clones count together.
#[derive(Clone, Debug)]
pub struct WireLog {
    dir: PathBuf,
    next: Arc<AtomicU32>,
}

impl WireLog {
    /// Records into `dir`, which is made if it is missing.
    ///
    /// # Errors
    /// `dir` cannot be made. Correct the path or its permissions.
    pub fn new(dir: impl Into<PathBuf>) -> io::Result<Self> {
        let dir = dir.into();
        fs::create_dir_all(&dir)?;
        Ok(Self { dir, next: Arc::new(AtomicU32::new(1)) })
    }

    /// The record of one more connection. Trouble is logged once and ends the record, not the connection.
    pub(super) fn connection(&self) -> ConnectionLog {
        self.open().unwrap_or_else(|error| {
            tracing::warn!(dir = %self.dir.display(), %error, "wire log cannot be opened: nothing is recorded");
            ConnectionLog::default()
        })
    }

    fn open(&self) -> io::Result<ConnectionLog> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number > CONNECTIONS {
                return Err(io::Error::other("too many wire logs: empty the directory"));
            }
            match create(&self.dir.join(format!("client-{number}.jsonl"))) {
                Ok(client) => {
                    let server = create(&self.dir.join(format!("server-{number}.jsonl")))?;
                    return Ok(ConnectionLog { client: Some(client), server: Some(server) });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// The record of one connection. Without files, it swallows everything.
#[derive(Debug, Default)]
pub(super) struct ConnectionLog {
    client: Option<File>,
    server: Option<File>,
}

impl ConnectionLog {
    /// Splits it into the client's half and the server's, both without `key`.
    pub fn halves(self, key: &Secret) -> (HalfLog, HalfLog) {
        let half = |file| HalfLog { file, key: key.clone() };
        (half(self.client), half(self.server))
    }
}

/// The record of one direction.
#[derive(Debug)]
pub(super) struct HalfLog {
    file: Option<File>,
    key: Secret,
}

impl HalfLog {
    /// Adds one message, with the key masked. Line breaks inside it are white space in JSON, so they become spaces.
    pub fn record(&mut self, message: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let mut line = masked(message, &self.key).into_owned();
        line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        line.push(b'\n');
        if let Err(error) = file.write_all(&line) {
            tracing::warn!(%error, "wire log cannot be written: the record of this connection ends here");
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("voiced-wirelog-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        dir
    }

    #[test]
    fn each_connection_has_its_own_pair_and_old_ones_are_kept() {
        let dir = scratch("pair");
        let log = WireLog::new(&dir).unwrap();
        let (mut client, mut server) = log.connection().halves(&Secret::new("AIza-secret-key"));
        client.record(b"{\"setup\":{}}");
        server.record(b"{\n  \"setupComplete\": {}\r\n}\n");
        let (mut second, _) =
            WireLog::new(&dir).unwrap().connection().halves(&Secret::new("AIza-secret-key"));
        second.record(b"{}");
        assert_eq!(fs::read_to_string(dir.join("client-1.jsonl")).unwrap(), "{\"setup\":{}}\n");
        let recorded = fs::read_to_string(dir.join("server-1.jsonl")).unwrap();
        assert_eq!(recorded.lines().count(), 1);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&recorded).unwrap()["setupComplete"],
            serde_json::json!({})
        );
        assert_eq!(fs::read_to_string(dir.join("client-2.jsonl")).unwrap(), "{}\n");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_lost_directory_costs_the_record_only() {
        let dir = scratch("lost");
        let log = WireLog::new(&dir).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let (mut client, _) = log.connection().halves(&Secret::new("AIza-secret-key"));
        client.record(b"{}");
        assert!(!dir.exists());
    }
}
