// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads the documents of a folder, and no more of them than is allowed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{KbError, KbLimits};

const EXTENSIONS: [&str; 3] = ["md", "markdown", "txt"];

/// Folders inside folders that are looked into; deeper ones are nobody's documents.
const DEPTH_MAX: usize = 8;

/// The documents below `folder`, by their path below it, in the order of the paths.
pub(super) fn texts(folder: &Path, limits: KbLimits) -> Result<Vec<(String, String)>, KbError> {
    let mut paths = Vec::new();
    collect(folder, DEPTH_MAX, &mut |path| {
        paths.push(path);
        if paths.len() > limits.files_max {
            return Err(KbError::Files { path: folder.to_owned(), files_max: limits.files_max });
        }
        Ok(())
    })?;
    paths.sort_unstable();
    let mut bytes = 0;
    let mut texts = Vec::new();
    for path in paths {
        let text = text(&path, limits.file_bytes_max)?;
        bytes += text.len() as u64;
        if bytes > limits.bytes_max {
            return Err(KbError::Size { path: folder.to_owned(), bytes_max: limits.bytes_max });
        }
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        texts.push((name, text));
    }
    Ok(texts)
}

fn collect(
    folder: &Path,
    depth: usize,
    found: &mut impl FnMut(PathBuf) -> Result<(), KbError>,
) -> Result<(), KbError> {
    let unreadable = |cause| KbError::Read { path: folder.to_owned(), cause };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // The kind of the entry itself: a link is neither, so a loop of links is not walked.
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, found)?;
        } else if kind.is_file() && is_document(&path) {
            found(path)?;
        }
    }
    Ok(())
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

fn text(path: &Path, bytes_max: u64) -> Result<String, KbError> {
    let unreadable = |cause: io::Error| KbError::Read { path: path.to_owned(), cause };
    let file = fs::File::open(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    let mut raw = Vec::new();
    // One byte more than allowed shows that a file has grown while it was looked at.
    file.take(bytes_max + 1).read_to_end(&mut raw).map_err(unreadable)?;
    if raw.len() as u64 > bytes_max {
        return Err(KbError::FileSize { path: path.to_owned(), bytes, bytes_max });
    }
    String::from_utf8(raw).map_err(|_| KbError::NotText { path: path.to_owned() })
}
