// SPDX-License-Identifier: MIT OR Apache-2.0

//! A line whose level the kernel shows in a file: `/sys/class/gpio/gpio17/value`, or an attribute of a driver.

use std::fs::{self, File};
use std::io::{self, ErrorKind as IoKind, Read};
use std::path::{Path, PathBuf};

use crate::board::Button;
use crate::error::{ErrorKind, HalError};

/// More than such a file holds: a digit and the end of a line.
const BYTES_MAX: usize = 16;

/// The level at which a line says what it is there to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `0`
    Low,
    /// `1`
    High,
}

/// A line that is read, not waited for: unlike a key of an input device it is known where it stands when it is opened.
#[derive(Debug)]
pub struct LevelFile {
    path: PathBuf,
    active: Level,
}

impl LevelFile {
    /// The line of the file at `path`, down while it is at `active`. The file is opened anew for each reading.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, active: Level) -> Self {
        Self { path: path.into(), active }
    }

    fn fault(&self, kind: ErrorKind, cause: &str) -> HalError {
        HalError::new(kind, &format!("{}: {cause}", self.path.display()))
    }
}

impl Button for LevelFile {
    fn is_down(&mut self) -> Result<bool, HalError> {
        let mut bytes = [0; BYTES_MAX];
        let read = open(&self.path).and_then(|mut file| file.read(&mut bytes)).map_err(|cause| {
            let is_denied = cause.kind() == IoKind::PermissionDenied;
            self.fault(if is_denied { ErrorKind::Denied } else { ErrorKind::Unplugged }, &cause.to_string())
        })?;
        let level = match bytes.get(..read).unwrap_or_default().trim_ascii() {
            b"0" => Level::Low,
            b"1" => Level::High,
            _ => return Err(self.fault(ErrorKind::Corrupt, "it holds neither 0 nor 1")),
        };
        Ok(level == self.active)
    }
}

/// Opens a regular file, as an attribute of the kernel is one too. Anything else may block for ever.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    Err(io::Error::new(IoKind::InvalidInput, "it is no file that holds a level"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

    use super::*;

    #[test]
    fn the_level_is_read_each_time_and_anything_else_is_a_fault() {
        let path = std::env::temp_dir().join(format!("hal-level-{}", std::process::id()));
        let (mut high, mut low) = (LevelFile::new(&path, Level::High), LevelFile::new(&path, Level::Low));
        assert_eq!(high.is_down().unwrap_err().kind, ErrorKind::Unplugged);
        for (text, is_high) in [("1\n", true), ("0\n", false), ("1", true)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!((high.is_down().unwrap(), low.is_down().unwrap()), (is_high, !is_high), "{text:?}");
        }
        for odd in ["", "2\n", "11", "on\n"] {
            std::fs::write(&path, odd).unwrap();
            assert_eq!(high.is_down().unwrap_err().kind, ErrorKind::Corrupt, "{odd:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(
            LevelFile::new("/dev/zero", Level::High).is_down().unwrap_err().to_string().contains("no file")
        );
    }
}
