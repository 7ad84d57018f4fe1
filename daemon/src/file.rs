// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading whole files that somebody else names: a pipe is not waited for, a device is not read for ever, and nothing
//! larger than what belongs there is taken into memory. And putting files of our own aside that have grown large.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The `n`th of the files that were put aside for `path`; 1 is the last.
pub(crate) fn aside(path: &Path, n: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{n}"));
    name.into()
}

/// Puts `path` aside and keeps `keep` of those that were; with none to be kept it is removed.
///
/// # Errors
/// Those of the system; some files may have moved up by then.
pub(crate) fn put_aside(path: &Path, keep: u32) -> io::Result<()> {
    if keep == 0 {
        return fs::remove_file(path);
    }
    for n in (1..keep).rev() {
        match fs::rename(aside(path, n), aside(path, n + 1)) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(cause),
            Ok(()) | Err(_) => {}
        }
    }
    fs::rename(path, aside(path, 1))
}

/// A regular file, to be read.
///
/// # Errors
/// Those of the system, and one for what is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // Asked before it is opened: to open a pipe is to wait for its writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

/// The bytes of a regular file of at most `max` bytes.
///
/// # Errors
/// Those of the system, and one each for what is no regular file and what is too large.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // By what is read, not by what the file says of itself: files of `/proc` say 0, and one may grow meanwhile.
    open(path)?.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than the {max} bytes that belong there"),
        ));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path, max: u64) -> io::Result<String> {
    String::from_utf8(read(path, max)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use super::*;

    #[test]
    fn only_a_regular_file_of_a_fitting_size_is_read() {
        let folder = std::env::temp_dir().join(format!("voiced-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (fits, latin, pipe) = (folder.join("fits"), folder.join("latin"), folder.join("pipe"));
        fs::write(&fits, "four").unwrap();
        fs::write(&latin, b"caf\xe9").unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());

        let read_text = |path: &Path, max| read_text(path, max).map_err(|fault| fault.to_string());
        assert_eq!(read_text(&fits, 4).unwrap(), "four");
        assert_eq!(read_text(&fits, 3).unwrap_err(), "it is larger than the 3 bytes that belong there");
        assert_eq!(read_text(&latin, 9).unwrap_err(), "it is not UTF-8 text");
        for odd in [&pipe, &folder, Path::new("/dev/zero")] {
            assert_eq!(read_text(odd, 9).unwrap_err(), "it is not a regular file", "{}", odd.display());
        }
        assert!(read_text(&folder.join("none"), 9).unwrap_err().contains("No such file"));
        assert!(!read_text(Path::new("/proc/self/status"), 1 << 20).unwrap().is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }
}
