// SPDX-License-Identifier: MIT OR Apache-2.0

//! The protocol over a child's standard input and output: one JSON text a line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::MESSAGE_BYTES_MAX;
use super::decode::{Line, decoded};
use super::pace::{LINE, Pace};
use super::words::clean;
use crate::secret::{Secret, redacted};

/// How long a child may leave a message to it unread. One that reads nothing for so long hangs.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// How much is shown of the first line that is no protocol, in characters.
const NOISE_CHARS: usize = 80;

/// Longest line that is decoded where the conversation runs; a longer one takes a blocking thread for the tens of
/// milliseconds that it needs on a small device.
const DECODED_HERE_BYTES: usize = 64 * 1024;

/// Answers that will not come: how many have been lost, and what was wrong with the last one.
pub(super) type Lost = watch::Receiver<(u64, &'static str)>;

/// Messages of a child, read no faster than its pace allows.
///
/// What is not a message is skipped and not answered: a child that prints to its standard output does not read our
/// complaints either, and two full pipes would hold each other up for ever.
#[derive(Debug)]
pub(super) struct Lines<R, W> {
    server: Arc<str>,
    secrets: Arc<[Secret]>,
    read: BufReader<R>,
    /// What has been read of the line that is on its way. Kept here, as `receive` may be dropped at any moment.
    line: Vec<u8>,
    /// The rest of the line is dropped: it is too long.
    skipping: bool,
    /// A long line that is being decoded. Kept here for the same reason.
    decoding: Option<JoinHandle<Line>>,
    pace: Pace,
    write: Arc<Mutex<Option<W>>>,
    lost: watch::Sender<(u64, &'static str)>,
    noisy: bool,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    /// What it prints is logged without copies of `secrets`.
    pub(super) fn new(server: &Arc<str>, secrets: &Arc<[Secret]>, read: R, write: W) -> Self {
        Self {
            server: Arc::clone(server),
            secrets: Arc::clone(secrets),
            read: BufReader::with_capacity(16 * 1024, read),
            line: Vec::new(),
            skipping: false,
            decoding: None,
            pace: Pace::new(),
            write: Arc::new(Mutex::new(Some(write))),
            lost: watch::Sender::new((0, "")),
            noisy: false,
        }
    }

    /// Tells of messages that were dropped and may have been answers.
    pub(super) fn lost(&self) -> Lost {
        self.lost.subscribe()
    }

    /// The next whole line into `self.line`. False at the end.
    async fn next_line(&mut self) -> bool {
        loop {
            self.pace.rest().await;
            let bytes = match self.read.fill_buf().await {
                Ok([]) | Err(_) => return false,
                Ok(bytes) => bytes,
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            let too_long = self.line.len() + taken > MESSAGE_BYTES_MAX;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            }
            self.read.consume(taken);
            self.pace.spend_bytes(taken);
            if too_long && !self.skipping {
                self.skipping = true;
                self.line = Vec::new();
                self.lose("was too long");
            }
            if end.is_some() {
                self.pace.spend(LINE);
                if !std::mem::take(&mut self.skipping) {
                    return true;
                }
            }
        }
    }

    /// The next line with anything in it. `None` at the end.
    async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(decoding) = &mut self.decoding {
                let line = decoding.await;
                self.decoding = None;
                // It is only cancelled with the whole runtime.
                return line.ok();
            }
            if !self.next_line().await {
                return None;
            }
            let line = std::mem::take(&mut self.line);
            if line.len() > DECODED_HERE_BYTES {
                self.decoding = Some(spawn_blocking(move || decoded(&line)));
            } else if !line.trim_ascii().is_empty() {
                return Some(decoded(&line));
            }
        }
    }

    fn lose(&self, why: &'static str) {
        // A server that sends such things in a loop is told of once.
        if self.lost.borrow().0 == 0 {
            tracing::warn!(server = &*self.server, "a message of it {why} and was dropped");
        }
        self.lost.send_modify(|lost| *lost = (lost.0 + 1, why));
    }

    fn on_noise(&mut self, head: &str) {
        if !std::mem::replace(&mut self.noisy, true) {
            let head = clean(&redacted(&self.secrets, head), NOISE_CHARS);
            tracing::warn!(
                server = &*self.server,
                "it writes other things than the protocol to its standard output, first: {head}"
            );
        }
    }
}

impl<R, W> Transport<RoleClient> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            let mut text = serde_json::to_vec(&item)?;
            text.push(b'\n');
            let mut write = write.lock().await;
            let closed = || io::Error::new(io::ErrorKind::NotConnected, "its standard input is closed");
            // Out of its place while it is written to: if that does not come to its end, half a message was sent, and
            // nothing that follows would be understood.
            let mut stdin = write.take().ok_or_else(closed)?;
            let written = timeout(WRITE_LIMIT, async {
                stdin.write_all(&text).await?;
                stdin.flush().await
            });
            written.await.map_err(|_| {
                io::Error::new(io::ErrorKind::TimedOut, "it does not read its standard input")
            })??;
            *write = Some(stdin);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.next().await? {
                Line::Message(message) => return Some(*message),
                Line::Useless(why) => self.lose(why),
                Line::Noise(head) => self.on_noise(&head),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A child that reads its input to the end ends by itself then.
        drop(self.write.lock().await.take());
        Ok(())
    }
}
