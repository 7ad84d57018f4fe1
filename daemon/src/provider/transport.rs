// SPDX-License-Identifier: MIT OR Apache-2.0

//! One connection: from the byte stream to the last close message.
//!
//! One task owns the connection. Inside it a reader, a writer and a watchdog run side by side, so a peer that takes
//! nothing cannot keep us from hearing why, and a peer that says nothing cannot keep us from leaving.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use session::{Intent, LinkFailure, ProviderEvent};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout, timeout_at};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, error::ProtocolError};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use units::CallKey;

use super::close::{self, Stage};
use super::connect::{ByteStream, Connect};
use super::handshake::{Watched, upgrade};
use super::map::{Heard, Reader};
use super::mask::masked;
use super::queue::{Ending, LinkHandle, Shared, Waiting};
use super::wirelog::{HalfLog, WireLog};
use super::{GeminiConfig, Secret, outbound};

/// From the first byte to the upgraded connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// From the set-up to `setupComplete`; 0.25 to 2.4 s have been measured. The session may give up earlier.
const SETUP_TIMEOUT: Duration = Duration::from_secs(15);

/// Between two pings of ours. The service sends none itself.
const PING_EVERY: Duration = Duration::from_secs(5);

/// A peer that sends no byte for so long, pongs included, is gone. Pongs have been measured to come 8 to 30 s late.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a peer may take over its half of the goodbye.
const FAREWELL: Duration = Duration::from_secs(1);

/// Events that may wait for the driver: many times what a 60 s reply makes, which arrives in one burst.
const EVENTS: usize = 4096;

/// Bytes of messages whose events may wait for the driver: 10 minutes of reply audio, at 64 kB a second. More than the
/// biggest message, and what a small device can spare.
const UNREAD_BYTES: usize = 600 * 64_000;

/// Bigger messages are refused; a second of reply audio is 64 kB.
const MESSAGE_BYTES: usize = 16 << 20;

/// Bytes that wait for a peer that reads nothing, its own pings' answers above all: more than the biggest set-up.
const UNSENT_BYTES: usize = 16 << 20;

/// Values in one message: objects, arrays and what they hold. A reply is a few of them however long it is; each costs
/// up to thirty times what it takes on the wire.
const VALUES_MAX: usize = 100_000;

/// Oddities of one connection that are told; a peer that has so many has them all the time.
const ANOMALIES: usize = 100;

type Socket = WebSocketStream<MaybeTlsStream<Watched<Box<dyn ByteStream>>>>;
type Sending = SplitSink<Socket, Message>;
type Receiving = SplitStream<Socket>;

/// Something that happened on a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkEvent {
    /// The connection is open and the set-up was sent.
    Opened,
    /// The provider said something.
    Provider(ProviderEvent),
    /// The answers to these calls were written to the connection, and taken by the system.
    Delivered(Vec<CallKey>),
    /// The provider said something that was ignored. One line for a log.
    Anomaly(String),
    /// The connection ended, or could not be made. The last event.
    Closed(LinkFailure),
}

/// The events of one connection, in order.
#[derive(Debug)]
pub struct LinkEvents {
    events: mpsc::Receiver<Unread>,
}

/// An event that waits for the driver. The first of a message holds the message's share of [`UNREAD_BYTES`] until it is
/// taken.
#[derive(Debug)]
struct Unread {
    event: LinkEvent,
    _share: Option<OwnedSemaphorePermit>,
}

impl LinkEvents {
    /// The next event; `None` after [`LinkEvent::Closed`]. Cancel safe: a dropped call loses no event.
    pub async fn recv(&mut self) -> Option<LinkEvent> {
        self.events.recv().await.map(|unread| unread.event)
    }
}

/// One connection attempt and its life.
#[derive(Debug)]
pub struct Link;

impl Link {
    /// Starts a connection attempt on the current tokio runtime and returns at once. `resume` is a handle of an earlier
    /// connection; `wirelog`, where messages are recorded.
    ///
    /// Dropping either of the two ends the connection.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open(
        config: Arc<GeminiConfig>,
        resume: Option<String>,
        connector: Arc<dyn Connect>,
        wirelog: Option<WireLog>,
    ) -> (LinkHandle, LinkEvents) {
        let shared = Arc::new(Shared::new());
        let (events, receiver) = mpsc::channel(EVENTS + 1);
        let closing = Closing::new(config.clone(), &events);
        let room = Arc::new(Semaphore::new(UNREAD_BYTES));
        let key = config.api_key.clone();
        let link = Running { config, resume, connector, shared: shared.clone(), events, room };
        let log = wirelog.as_ref().map(WireLog::connection).unwrap_or_default();
        tokio::spawn(async move {
            let failure = link.run(log.halves(&key)).await;
            closing.send(failure);
        });
        (LinkHandle::new(shared), LinkEvents { events: receiver })
    }
}

/// The place of the last event. It is reserved from the start, so `Closed` comes even when the events are full, and on
/// drop, so it comes even if the task ends in a way nobody foresaw.
struct Closing {
    config: Arc<GeminiConfig>,
    place: Option<mpsc::OwnedPermit<Unread>>,
}

impl Closing {
    fn new(config: Arc<GeminiConfig>, events: &mpsc::Sender<Unread>) -> Self {
        Self { config, place: events.clone().try_reserve_owned().ok() }
    }

    fn send(mut self, failure: LinkFailure) {
        self.close(failure);
    }

    fn close(&mut self, failure: LinkFailure) {
        if let Some(place) = self.place.take() {
            let text = self.config.api_key.redact(&failure.text);
            place.send(Unread { event: LinkEvent::Closed(LinkFailure { text, ..failure }), _share: None });
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.close(close::transient("the link's task was stopped".into()));
    }
}

/// Who ended the connection.
enum End {
    /// The peer, or the network: nothing is left to say.
    Theirs(LinkFailure),
    /// We: the peer should be told, because it refuses a resume while it believes that this connection lives.
    Ours(LinkFailure),
}

struct Running {
    config: Arc<GeminiConfig>,
    resume: Option<String>,
    connector: Arc<dyn Connect>,
    shared: Arc<Shared>,
    events: mpsc::Sender<Unread>,
    /// What is left of [`UNREAD_BYTES`].
    room: Arc<Semaphore>,
}

impl Running {
    async fn run(&self, (client_log, server_log): (HalfLog, HalfLog)) -> LinkFailure {
        let opening = timeout(CONNECT_TIMEOUT, self.connect());
        let socket = tokio::select! {
            biased;
            (ending, _) = self.shared.ended() => return ending.failure(),
            opened = opening => match opened {
                Ok(Ok(socket)) => socket,
                Ok(Err(failure)) => return failure,
                Err(_) => return self.unreachable("no connection within 10 s"),
            },
        };
        let (mut sink, mut stream) = socket.split();
        let set_up_sent = Notify::new();
        let end = tokio::select! {
            biased;
            end = self.grace() => end,
            end = self.write(&mut sink, &set_up_sent, client_log) => end,
            end = self.read(&mut stream, &set_up_sent, server_log) => end,
            end = self.watch() => end,
        };
        self.farewell(end, sink, stream).await
    }

    async fn connect(&self) -> Result<Socket, LinkFailure> {
        let stream = self.connector.connect(&self.config.endpoint).await;
        let stream = stream.map_err(|error| self.unreachable(&error.to_string()))?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES))
            .max_frame_size(Some(MESSAGE_BYTES))
            .max_write_buffer_size(UNSENT_BYTES);
        upgrade(&self.config, Watched::new(stream, self.shared.clone()), limits).await
    }

    fn unreachable(&self, cause: &str) -> LinkFailure {
        let endpoint = &self.config.endpoint;
        close::transient(format!(
            "provider at {}:{} cannot be reached ({cause}): check network and endpoint",
            endpoint.host(),
            endpoint.port()
        ))
    }

    /// Sends the set-up, then whatever is queued, and pings.
    async fn write(&self, sink: &mut Sending, set_up_sent: &Notify, mut log: HalfLog) -> End {
        let set_up = outbound::setup(&self.config, self.resume.as_deref());
        let sent = self.say(sink, &mut log, set_up).await;
        set_up_sent.notify_one();
        if let Err(error) = sent {
            return self.write_failed(&error).await;
        }
        if let Err(end) = self.tell(LinkEvent::Opened) {
            return end;
        }
        let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            while let Some(waiting) = self.shared.next() {
                let message = match self.encode(&waiting) {
                    Ok(message) => message,
                    Err(end) => return end,
                };
                let Some(message) = message else { continue };
                if let Err(error) = self.say(sink, &mut log, message).await {
                    return self.write_failed(&error).await;
                }
                if let Waiting::Intent(Intent::Answer(answers)) = waiting {
                    let calls = answers.iter().map(|answer| answer.call).collect();
                    if let Err(end) = self.tell(LinkEvent::Delivered(calls)) {
                        return end;
                    }
                }
            }
            if let Some((ending, _)) = self.shared.ending() {
                return End::Ours(ending.failure());
            }
            let ping = tokio::select! {
                biased;
                () = self.shared.woken() => None,
                _ = pings.tick() => Some(Message::Ping(Default::default())),
            };
            if let Some(ping) = ping
                && let Err(error) = hand_over(sink, ping).await
            {
                return self.write_failed(&error).await;
            }
        }
    }

    fn encode(&self, waiting: &Waiting) -> Result<Option<String>, End> {
        match waiting {
            Waiting::Mic(samples) => Ok(Some(outbound::mic(samples))),
            Waiting::Intent(intent) => {
                let message = outbound::intent(&self.config, intent);
                if message.is_none() {
                    let model = &self.config.model;
                    self.tell(LinkEvent::Anomaly(format!(
                        "model `{model}` takes no such message: not sent"
                    )))?;
                }
                Ok(message)
            }
        }
    }

    async fn say(&self, sink: &mut Sending, log: &mut HalfLog, message: String) -> Result<(), Error> {
        log.record(message.as_bytes());
        self.shared.count_sent();
        hand_over(sink, Message::text(message)).await
    }

    /// A failed write says that the connection is gone, but not why: the reader gets a moment to find the close message.
    async fn write_failed(&self, error: &Error) -> End {
        sleep(FAREWELL).await;
        End::Theirs(close::transient(format!("connection to the provider lost ({error}): check the network")))
    }

    async fn read(&self, stream: &mut Receiving, set_up_sent: &Notify, mut log: HalfLog) -> End {
        set_up_sent.notified().await;
        let resuming = self.resume.is_some();
        let key = &self.config.api_key;
        let mut reader = Reader::new(resuming, outbound::capabilities(&self.config), key.clone());
        let mut anomalies = 0;
        loop {
            let stage = if reader.is_ready() { Stage::Established } else { Stage::SettingUp { resuming } };
            let message = match stream.next().await {
                Some(Ok(message)) => message,
                Some(Err(error)) => return broken(&error),
                None => return End::Theirs(close::lost(None)),
            };
            let payload = match &message {
                Message::Text(text) => text.as_bytes(),
                Message::Binary(bytes) => bytes,
                Message::Close(frame) => return End::Theirs(closed(frame.as_ref(), stage, key)),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
            };
            let payload = masked(payload, key);
            log.record(&payload);
            self.shared.count_received();
            if self.shared.ending().is_some() {
                continue;
            }
            let mut share = match self.share(payload.len()) {
                Ok(share) => Some(share),
                Err(end) => return end,
            };
            // One of fewer bytes, as nearly all are, need not be counted.
            if payload.len() > VALUES_MAX && values(&payload) > VALUES_MAX {
                return End::Ours(close::protocol(format!(
                    "provider sent a message of more than {VALUES_MAX} values: connection dropped"
                )));
            }
            for heard in reader.read(&payload) {
                let event = match heard {
                    Heard::Event(event) => LinkEvent::Provider(event),
                    Heard::Anomaly(text) => {
                        anomalies += 1;
                        match anomalies {
                            0..ANOMALIES => LinkEvent::Anomaly(text),
                            ANOMALIES => {
                                LinkEvent::Anomaly(format!("{text}; no more are told of this connection"))
                            }
                            _ => continue,
                        }
                    }
                };
                if let Err(end) = self.deliver(Unread { event, _share: share.take() }) {
                    return end;
                }
            }
            if reader.is_ready() && !self.shared.is_ready() {
                self.shared.set_ready();
            }
        }
    }

    /// Ends the connection when the peer is too slow to set it up, or gone.
    async fn watch(&self) -> End {
        let set_up_by = Instant::now() + SETUP_TIMEOUT;
        loop {
            let silent_at = self.shared.silent_at(SILENCE);
            let due = if self.shared.is_ready() { silent_at } else { silent_at.min(set_up_by) };
            if Instant::now() < due {
                sleep_until(due).await;
            } else if due == silent_at {
                return End::Ours(close::transient(
                    "no life sign from the provider for 30 s: connection dropped, check the network".into(),
                ));
            } else {
                return End::Ours(close::transient("provider did not accept the set-up within 15 s".into()));
            }
        }
    }

    /// Ends the wait for a peer that takes nothing while we want to leave.
    async fn grace(&self) -> End {
        let (ending, since) = self.shared.ended().await;
        sleep_until(since + FAREWELL).await;
        End::Ours(ending.failure())
    }

    /// Closes what is still open. Every way out comes here, so that no socket stays open at the provider.
    async fn farewell(&self, end: End, mut sink: Sending, stream: Receiving) -> LinkFailure {
        let ending = self.shared.ending();
        let since = ending.map_or_else(Instant::now, |(_, since)| since);
        let failure = match end {
            End::Theirs(failure) => {
                // Flushes the echo of their close message. What becomes of it changes nothing.
                drop(timeout_at(since + FAREWELL, sink.close()).await);
                failure
            }
            End::Ours(failure) => {
                let goodbye = async {
                    let frame = CloseFrame { code: CloseCode::Normal, reason: Default::default() };
                    if sink.send(Message::Close(Some(frame))).await.is_ok() {
                        // What is under way is read and dropped until their close message; a flood is not waited out.
                        let mut under_way = stream.take(EVENTS);
                        while let Some(Ok(_)) = under_way.next().await {}
                    }
                };
                drop(timeout_at(since + FAREWELL, goodbye).await);
                failure
            }
        };
        if matches!(ending, Some((Ending::Requested, _))) { close::requested() } else { failure }
    }

    /// Room for the events of a message of `bytes`, until the first of them is taken.
    fn share(&self, bytes: usize) -> Result<OwnedSemaphorePermit, End> {
        // No message is longer than MESSAGE_BYTES; one that were would not fit either.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.room.clone().try_acquire_many_owned(bytes).map_err(|_| {
            End::Ours(close::protocol(format!(
                "{} MB of messages wait unread: the provider sends faster than any conversation needs, connection dropped",
                UNREAD_BYTES / 1_000_000
            )))
        })
    }

    /// Delivers an event of our own.
    fn tell(&self, event: LinkEvent) -> Result<(), End> {
        self.deliver(Unread { event, _share: None })
    }

    fn deliver(&self, unread: Unread) -> Result<(), End> {
        self.events.try_send(unread).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => End::Ours(close::protocol(format!(
                "{EVENTS} events wait unread: the provider sends faster than any conversation needs, connection dropped"
            ))),
            // Nobody listens any more.
            mpsc::error::TrySendError::Closed(_) => End::Ours(close::requested()),
        })
    }
}

fn closed(frame: Option<&CloseFrame>, stage: Stage, key: &Secret) -> LinkFailure {
    match frame {
        Some(frame) => close::closed(frame.code.into(), frame.reason.as_str(), stage, key),
        // 1005 stands for a close message without a code (RFC 6455, section 7.1.5).
        None => close::closed(1005, "", stage, key),
    }
}

/// A peer that says something and takes nothing is gone all the same.
async fn hand_over(sink: &mut Sending, message: Message) -> Result<(), Error> {
    let stuck =
        |_| Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "nothing was taken for 30 s"));
    timeout(SILENCE, sink.send(message)).await.map_err(stuck).flatten()
}

/// About how many values a message has, before it is read: text counts for some as well.
fn values(message: &[u8]) -> usize {
    message.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count()
}

fn broken(error: &Error) -> End {
    match error {
        Error::Io(error) => End::Theirs(close::lost(Some(error))),
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Theirs(close::lost(None)),
        Error::Capacity(size) => End::Ours(close::protocol(format!(
            "provider sent a message of more than 16 MiB ({size}): connection dropped"
        ))),
        Error::Protocol(_)
        | Error::Utf8(_)
        | Error::Tls(_)
        | Error::WriteBufferFull(_)
        | Error::AttackAttempt
        | Error::Url(_)
        | Error::Http(_)
        | Error::HttpFormat(_) => End::Ours(close::protocol(format!(
            "provider broke the WebSocket protocol ({error}): connection dropped"
        ))),
    }
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
