// SPDX-License-Identifier: MIT OR Apache-2.0

//! The journal's file. Everything here blocks.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the journal in the state folder.
pub const JOURNAL_FILE: &str = "journal";

/// Held by the daemon that writes the journal.
const LOCK_FILE: &str = "journal.lock";

/// What is read at once. Where the disk gives it no more, zeros stand for it.
const SECTOR_BYTES: usize = 512;

/// More than a journal ever grows to; a larger file is none.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Where a journal is kept.
pub trait Disk: Send {
    /// Everything that is there. What cannot be read any more is zeros.
    ///
    /// # Errors
    /// Nothing can be read, or somebody else writes it.
    fn load(&mut self) -> io::Result<Vec<u8>>;

    /// Adds `bytes` at the end. They are on the disk when it returns.
    ///
    /// # Errors
    /// Those of the system. What is there then is not known.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Puts `bytes` in the place of all that is there: either the one or the other is there, whenever the power goes.
    ///
    /// # Errors
    /// Those of the system.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// A file in the state folder.
#[derive(Debug)]
pub struct FileDisk {
    folder: PathBuf,
    lock: Option<File>,
    file: Option<File>,
}

impl FileDisk {
    /// The journal of `folder`. Nothing is touched before it is loaded.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), lock: None, file: None }
    }

    fn lock(&mut self) -> io::Result<()> {
        if self.lock.is_none() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let lock = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(self.folder.join(LOCK_FILE))?;
            match lock.try_lock() {
                Ok(()) => self.lock = Some(lock),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        ErrorKind::ResourceBusy,
                        "another daemon writes it: give each a state.dir of its own",
                    ));
                }
                Err(TryLockError::Error(cause)) => return Err(cause),
            }
        }
        Ok(())
    }
}

impl Disk for FileDisk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        self.lock()?;
        let file = match File::open(self.folder.join(JOURNAL_FILE)) {
            Ok(file) => file,
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(cause),
        };
        let length = file.metadata()?.len();
        if length > BYTES_MAX {
            return Err(io::Error::other(format!("it has {length} bytes and is no journal: remove it")));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        for (sector, at) in bytes.chunks_mut(SECTOR_BYTES).zip((0..).step_by(SECTOR_BYTES)) {
            if file.read_exact_at(sector, at).is_err() {
                sector.fill(0);
            }
        }
        Ok(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lock()?;
        let mut file = match self.file.take() {
            Some(file) => file,
            None => OpenOptions::new().append(true).open(self.folder.join(JOURNAL_FILE))?,
        };
        file.write_all(bytes)?;
        file.sync_data()?;
        self.file = Some(file);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lock()?;
        self.file = None;
        let (path, aside) =
            (self.folder.join(JOURNAL_FILE), self.folder.join(format!("{JOURNAL_FILE}.aside")));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&aside, &path)?;
        // The name is on disk once its folder is.
        File::open(&self.folder)?.sync_all()?;
        self.file = Some(OpenOptions::new().append(true).open(&path)?);
        Ok(())
    }
}
