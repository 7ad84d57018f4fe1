// SPDX-License-Identifier: MIT OR Apache-2.0

//! A web service on loopback that says what it is told to say, and keeps what it heard.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// One request as it arrived.
#[derive(Debug)]
pub struct Heard {
    /// Method, path with query, version.
    pub line: String,
    /// The headers, in lower case.
    pub headers: String,
    pub body: String,
}

pub struct Service {
    pub url: String,
    heard: mpsc::UnboundedReceiver<Heard>,
}

impl Service {
    /// Answers every request with these bytes, then hangs up.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        Self::start(answer.into(), true).await
    }

    /// Answers every request with these bytes and then goes on holding the line.
    pub async fn holding(answer: impl Into<Vec<u8>>) -> Self {
        Self::start(answer.into(), false).await
    }

    async fn start(answer: Vec<u8>, ends: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/free", listener.local_addr().unwrap());
        let (sink, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut held = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let Some(request) = read(&mut stream).await else { continue };
                // A test that has heard enough has dropped its end.
                let _ = sink.send(request);
                // A client that has read enough may hang up on the rest.
                let _ = stream.write_all(&answer).await;
                if !ends {
                    held.push(stream);
                }
            }
        });
        Self { url, heard }
    }

    /// The next request.
    pub async fn heard(&mut self) -> Heard {
        self.heard.recv().await.unwrap()
    }

    /// How many requests have come that nobody has looked at.
    pub fn unread(&self) -> usize {
        self.heard.len()
    }
}

/// `None` if the client hung up before it had asked for anything.
async fn read(stream: &mut TcpStream) -> Option<Heard> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let (line, headers) = head.split_once("\r\n").unwrap();
        let headers = headers.to_lowercase();
        let length = headers.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if body.len() == length.map_or(0, |length| length.parse::<usize>().unwrap()) {
            return Some(Heard { line: line.to_owned(), headers, body: body.to_owned() });
        }
    }
}

/// An answer with this status line, type and body.
pub fn answer(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub fn json_answer(status: &str, body: &str) -> Vec<u8> {
    answer(status, "application/json", body.as_bytes())
}
