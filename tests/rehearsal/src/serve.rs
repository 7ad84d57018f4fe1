// SPDX-License-Identifier: MIT OR Apache-2.0

//! The shell: sockets, the clock and logs around the sans-IO parts.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use crate::conversation::{Conversation, Out};
use crate::scenario::{FrameKind, Opening};
use crate::stage::Stage;
use crate::validate::Backend;
use crate::wirelog::WireLog;
use crate::{Report, Scenario, ScenarioError, Voices};

/// How long the closing handshake may take, and a client that was told to go may linger.
const CLOSING: Duration = Duration::from_secs(2);

/// How long a half-open stream is held.
const HALF_OPEN: Duration = Duration::from_secs(3600);

/// Every so many messages one is written over several lines, as the live service has been seen to do.
const PRETTY_EVERY: u64 = 5;

/// What the method's name is in every path of the live service, whichever version or host.
const METHOD: &str = "BidiGenerateContent";

/// A scripted live model. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Rehearsal {
    stage: Arc<Mutex<Stage>>,
    wire_log: Option<PathBuf>,
}

impl Rehearsal {
    /// A rehearsal of `scenario` with these voices.
    ///
    /// # Errors
    /// [`ScenarioError::Voice`] if the scenario says something that is not recorded.
    pub fn new(scenario: Scenario, voices: Voices) -> Result<Self, ScenarioError> {
        if let Some(voice) = scenario.voice_ids().into_iter().find(|id| voices.find(id).is_none()) {
            return Err(ScenarioError::Voice {
                scenario: scenario.name().to_owned(),
                voice: voice.to_owned(),
                known: voices.ids().collect::<Vec<_>>().join(", "),
            });
        }
        Ok(Self { stage: Arc::new(Mutex::new(Stage::new(scenario, voices))), wire_log: None })
    }

    /// Also writes every message to `client-<n>.jsonl` and `server-<n>.jsonl` in this directory, one per line, `n`
    /// counting connections from 1. The directory must exist. A file that cannot be written is logged once.
    #[must_use]
    pub fn with_wire_log(mut self, directory: impl Into<PathBuf>) -> Self {
        self.wire_log = Some(directory.into());
        self
    }

    /// Serves one WebSocket connection on `stream` until it ends. Run it beside the client: the upgrade needs both
    /// sides.
    pub async fn serve_stream<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (number, plan) = self.stage().begin_connection();
        let refuse = match plan.opening {
            Opening::Upgrade(status) => StatusCode::from_u16(status).ok(),
            Opening::Confirm | Opening::Silent | Opening::Close(_) => None,
        };
        let mut caller = Caller::default();
        #[expect(clippy::result_large_err, reason = "the type of the error is the WebSocket library's")]
        let upgrade = |request: &Request, response: Response| match refuse {
            Some(status) => Err(refusal(status, "the scenario refuses this connection")),
            None if !request.uri().path().contains(METHOD) => {
                Err(refusal(StatusCode::NOT_FOUND, "the path names no BidiGenerateContent method"))
            }
            None => {
                caller = Caller::of(request);
                Ok(response)
            }
        };
        let socket = match tokio_tungstenite::accept_hdr_async(stream, upgrade).await {
            Ok(socket) => socket,
            Err(error) => return tracing::info!(number, "no upgrade: {error}"),
        };
        let mut conversation = Conversation::new(number, plan, caller.backend);
        {
            let mut stage = self.stage();
            stage.report.connections += 1;
            if caller.key_in_query {
                stage
                    .report
                    .notes
                    .push(format!("connection {number}: the key is in the query, which ends up in logs"));
            }
            if stage.scenario.wire.expect_key.as_ref().is_some_and(|key| Some(key) != caller.key.as_ref()) {
                conversation.refuse_key();
            }
        }
        let log = self.wire_log.as_ref().map(|directory| WireLog::open(directory, number));
        let (sink, source) = socket.split();
        let style = Style::of(&self.stage().scenario);
        let connection = Connection {
            rehearsal: self.clone(),
            conversation,
            sink,
            outbox: Outbox { style, log: log.unwrap_or_default(), ..Outbox::default() },
        };
        connection.run(source).await;
    }

    /// Listens on a TCP address (port 0 picks one) and serves every connection. Returns the address and the task,
    /// which runs until it is aborted.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> io::Result<(SocketAddr, JoinHandle<()>)> {
        let listener = TcpListener::bind(address).await?;
        let local = listener.local_addr()?;
        let rehearsal = self.clone();
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, peer)) => {
                        tracing::info!(%peer, "connection");
                        let rehearsal = rehearsal.clone();
                        tokio::spawn(async move { rehearsal.serve_stream(stream).await });
                    }
                    Err(error) => {
                        tracing::warn!("accepting a connection failed: {error}");
                        sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        });
        Ok((local, task))
    }

    /// What has happened so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.stage().report.clone()
    }

    /// A panic while the lock was held leaves nothing half-done that matters to a test.
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the upgrade request says about the client.
struct Caller {
    backend: Backend,
    key: Option<String>,
    key_in_query: bool,
}

impl Default for Caller {
    fn default() -> Self {
        Self { backend: Backend::Developer, key: None, key_in_query: false }
    }
}

impl Caller {
    fn of(request: &Request) -> Self {
        let header = request.headers().get("x-goog-api-key").and_then(|value| value.to_str().ok());
        let query = request.uri().query().unwrap_or_default();
        let query = query.split('&').find_map(|pair| pair.strip_prefix("key="));
        let platform = request.uri().path().contains("LlmBidiService");
        Self {
            backend: if platform { Backend::Platform } else { Backend::Developer },
            key: header.or(query).map(str::to_owned),
            key_in_query: query.is_some(),
        }
    }
}

fn refusal(status: StatusCode, text: &str) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(text.to_owned()));
    *response.status_mut() = status;
    response
}

/// How messages are written.
#[derive(Clone, Copy)]
struct Style {
    frames: FrameKind,
    pretty: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { frames: FrameKind::Binary, pretty: false }
    }
}

impl Style {
    fn of(scenario: &Scenario) -> Self {
        Self { frames: scenario.wire.frames, pretty: scenario.wire.pretty }
    }
}

/// What is to be written, in order. It is as large as the longest reply, which the scenario bounds.
#[derive(Default)]
struct Outbox {
    queue: VecDeque<Out>,
    style: Style,
    log: WireLog,
    written: u64,
}

impl Outbox {
    /// The next frame; `Err` for an output that is not one.
    fn next(&mut self) -> Option<Result<Message, Out>> {
        let message = match self.queue.pop_front()? {
            Out::Message(value) => {
                self.log.server(&value);
                self.written += 1;
                let text = self.render(&value);
                match self.style.frames {
                    FrameKind::Binary => Message::binary(text),
                    FrameKind::Text => Message::text(text),
                }
            }
            Out::Text(text) => Message::text(text),
            Out::Bytes(bytes) => Message::binary(bytes),
            last @ (Out::Close(_) | Out::Drop | Out::HalfOpen) => return Some(Err(last)),
        };
        Some(Ok(message))
    }

    fn render(&self, value: &Value) -> String {
        if self.style.pretty && self.written.is_multiple_of(PRETTY_EVERY) {
            return format!("{value:#}\n");
        }
        value.to_string()
    }
}

/// What woke a connection.
enum Event {
    Received(Option<Result<Message, WsError>>),
    Timeout,
    /// A frame may be written.
    Ready(Result<(), WsError>),
    /// Everything written has left.
    Flushed(Result<(), WsError>),
}

/// One connection: reads, writes and waits at once, so that neither side can hold up the other.
struct Connection<S> {
    rehearsal: Rehearsal,
    conversation: Conversation,
    sink: SplitSink<WebSocketStream<S>, Message>,
    outbox: Outbox,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run(mut self, mut source: SplitStream<WebSocketStream<S>>) {
        let last = self.converse(&mut source).await;
        self.conversation.on_end(&mut self.rehearsal.stage());
        match last {
            Some(Out::Close(close)) => {
                tracing::info!(code = close.code, "closing: {}", close.reason);
                let frame = CloseFrame { code: close.code.into(), reason: close.reason.into() };
                let goodbye = async {
                    if self.sink.send(Message::Close(Some(frame))).await.is_ok() {
                        while let Some(Ok(_)) = source.next().await {}
                    }
                };
                if timeout(CLOSING, goodbye).await.is_err() {
                    tracing::info!("the client did not finish the closing handshake");
                }
            }
            Some(Out::HalfOpen) => sleep(HALF_OPEN).await,
            Some(Out::Drop | Out::Message(_) | Out::Text(_) | Out::Bytes(_)) | None => {}
        }
    }

    /// Runs until the client has gone (`None`) or the scenario has had enough: the output says how it ends.
    async fn converse(&mut self, source: &mut SplitStream<WebSocketStream<S>>) -> Option<Out> {
        let mut unflushed = false;
        // The frame at the head of the outbox.
        let mut head: Option<Message> = None;
        loop {
            while let Some(out) = self.conversation.poll() {
                self.outbox.queue.push_back(out);
            }
            if head.is_none() {
                match self.outbox.next() {
                    Some(Ok(message)) => head = Some(message),
                    Some(Err(last)) => return Some(last),
                    None => {}
                }
            }
            let deadline = self.conversation.deadline();
            let full = head.is_some();
            let event = tokio::select! {
                biased;
                received = source.next() => Event::Received(received),
                written = write(&mut self.sink, full), if full || unflushed => written,
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Event::Timeout,
            };
            let now = Instant::now();
            match event {
                Event::Ready(Ok(())) => {
                    if let Some(Err(error)) = head.take().map(|message| self.sink.start_send_unpin(message)) {
                        tracing::info!("writing failed: {error}");
                        return None;
                    }
                    unflushed = true;
                }
                Event::Flushed(Ok(())) => unflushed = false,
                Event::Timeout => self.conversation.on_timeout(&mut self.rehearsal.stage(), now),
                Event::Received(Some(Ok(message))) => self.on_message(now, &message),
                Event::Received(Some(Err(error))) | Event::Ready(Err(error)) | Event::Flushed(Err(error)) => {
                    tracing::info!("the connection ended: {error}");
                    return None;
                }
                Event::Received(None) => return None,
            }
        }
    }

    fn on_message(&mut self, now: Instant, message: &Message) {
        match message {
            Message::Text(text) => self.on_text(now, text.as_str()),
            // The service takes them too; what is not UTF-8 is not JSON either.
            Message::Binary(bytes) => self.on_text(now, &String::from_utf8_lossy(bytes)),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {}
        }
    }

    fn on_text(&mut self, now: Instant, text: &str) {
        self.outbox.log.client(text);
        self.conversation.on_text(&mut self.rehearsal.stage(), now, text);
    }
}

/// Waits until a frame may be written or, if there is none, until everything written has left. Giving up on it loses
/// nothing.
async fn write<S>(sink: &mut SplitSink<WebSocketStream<S>, Message>, full: bool) -> Event
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    poll_fn(|cx| {
        let sink = Pin::new(&mut *sink);
        if full { sink.poll_ready(cx).map(Event::Ready) } else { sink.poll_flush(cx).map(Event::Flushed) }
    })
    .await
}
