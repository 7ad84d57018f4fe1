// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes the messages of a connection to files, for checkers and people.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

/// Two JSON-lines files of one connection: `client-<n>.jsonl` and `server-<n>.jsonl`.
#[derive(Debug, Default)]
pub(crate) struct WireLog {
    client: Option<File>,
    server: Option<File>,
}

impl WireLog {
    /// Starts both files. One that cannot be made is logged and left out.
    pub(crate) fn open(directory: &Path, connection: u32) -> Self {
        let open = |who: &str| {
            let path = directory.join(format!("{who}-{connection}.jsonl"));
            File::create(&path)
                .inspect_err(|error| {
                    tracing::error!("wire log {} cannot be written: {error}", path.display())
                })
                .ok()
        };
        Self { client: open("client"), server: open("server") }
    }

    /// A message as the client sent it; line breaks between its tokens are taken out.
    pub(crate) fn client(&mut self, text: &str) {
        let line = text.replace(['\n', '\r'], " ");
        write(&mut self.client, &line);
    }

    /// A protocol message of ours. What a scenario sends that is not one is left out.
    pub(crate) fn server(&mut self, message: &Value) {
        if self.server.is_some() {
            write(&mut self.server, &message.to_string());
        }
    }
}

/// Appends a line; the first failure ends the file.
fn write(file: &mut Option<File>, line: &str) {
    let Some(open) = file else { return };
    if let Err(error) = writeln!(open, "{line}") {
        tracing::error!("wire log ends here: {error}");
        *file = None;
    }
}
