// SPDX-License-Identifier: MIT OR Apache-2.0

//! The other end of the link: a server that speaks just enough of the Gemini Live wire to be measured against.
//!
//! It confirms the setup, notes when each piece of microphone audio arrives, and sends what it is told to. It judges
//! nothing: that is the work of `rehearsal`.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc as queue;
use tokio_tungstenite::tungstenite::Message;

/// A running server. It serves one connection after the other until the process ends.
pub struct Model {
    address: SocketAddr,
    heard: Arc<Shared>,
    send: queue::UnboundedSender<Order>,
}

/// Messages to send in one go, and where to tell when the first was handed to the socket.
struct Order {
    messages: Vec<Value>,
    sent: mpsc::SyncSender<Instant>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<Uplink>,
    changed: Condvar,
}

/// Microphone audio as it arrived, 16 kHz mono.
#[derive(Clone, Default)]
pub struct Uplink {
    /// Every frame.
    pub samples: Vec<f32>,
    /// For each message: when it had arrived, and how many frames had come by then.
    pub arrivals: Vec<(Instant, usize)>,
}

impl Model {
    /// Starts a server on a free port of this machine.
    ///
    /// # Panics
    /// If it cannot listen.
    #[must_use]
    pub fn start() -> Self {
        let heard = Arc::new(Shared::default());
        let (send, orders) = queue::unbounded_channel();
        let (tell, address) = mpsc::sync_channel(1);
        let uplink = Arc::clone(&heard);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
                let local = listener.local_addr().expect("it is bound");
                tell.send(local).expect("the caller waits for it");
                serve(&listener, orders, &uplink).await;
            });
        });
        let address = address.recv().expect("the thread tells it or panics");
        Self { address, heard, send }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the first microphone audio and gives the time it arrived.
    ///
    /// # Panics
    /// If none comes within 20 s: the daemon is not connected or its uplink is closed.
    #[must_use]
    pub fn first_audio(&self) -> Instant {
        let limit = Duration::from_secs(20);
        let state = self.heard.lock();
        let empty = |uplink: &mut Uplink| uplink.arrivals.is_empty();
        let waited = self.heard.changed.wait_timeout_while(state, limit, empty);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.arrivals.first().expect("the daemon sends microphone audio within 20 s").0
    }

    /// Everything the microphone sent since the last call.
    #[must_use]
    pub fn take_uplink(&self) -> Uplink {
        std::mem::take(&mut *self.heard.lock())
    }

    /// Sends a whole reply, 24 kHz mono, in one message, and its end. Gives the time it was handed to the socket.
    ///
    /// # Panics
    /// If there is no connection.
    pub fn reply(&self, samples: &[i16]) -> Instant {
        self.order(vec![
            audio(samples),
            json!({"serverContent": {"generationComplete": true}}),
            json!({"serverContent": {"turnComplete": true}}),
        ])
    }

    /// Begins a reply that has no end yet.
    ///
    /// # Panics
    /// If there is no connection.
    pub fn begin_reply(&self, samples: &[i16]) -> Instant {
        self.order(vec![audio(samples)])
    }

    /// Says that the person has interrupted, as the provider's own detector does.
    ///
    /// # Panics
    /// If there is no connection.
    pub fn interrupt(&self) -> Instant {
        self.order(vec![
            json!({"serverContent": {"interrupted": true}}),
            json!({"serverContent": {"turnComplete": true}}),
        ])
    }

    fn order(&self, messages: Vec<Value>) -> Instant {
        let (sent, at) = mpsc::sync_channel(1);
        self.send.send(Order { messages, sent }).expect("the server runs as long as the process");
        at.recv_timeout(Duration::from_secs(10)).expect("the daemon is connected and reads")
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Uplink> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, now: Instant, pcm: &[u8]) {
        let mut uplink = self.lock();
        let (pairs, _) = pcm.as_chunks::<2>();
        uplink.samples.extend(pairs.iter().map(|pair| f32::from(i16::from_le_bytes(*pair)) / 32_768.0));
        let frames = uplink.samples.len();
        uplink.arrivals.push((now, frames));
        drop(uplink);
        self.changed.notify_all();
    }
}

fn audio(samples: &[i16]) -> Value {
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let part = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": BASE64.encode(bytes)}});
    json!({"serverContent": {"modelTurn": {"role": "model", "parts": [part]}}})
}

/// One connection at a time; a connection that fails makes room for the next.
async fn serve(listener: &TcpListener, mut orders: queue::UnboundedReceiver<Order>, heard: &Shared) {
    while let Ok((stream, _)) = listener.accept().await {
        // Small messages must not wait for acknowledgements.
        drop(stream.set_nodelay(true));
        let Ok(socket) = tokio_tungstenite::accept_async(stream).await else {
            continue;
        };
        let (mut sink, mut source) = socket.split();
        loop {
            tokio::select! {
                message = source.next() => {
                    let Some(Ok(message)) = message else { break };
                    let now = Instant::now();
                    let Some(text) = text(&message) else { continue };
                    let Ok(message) = serde_json::from_slice::<Value>(text) else { continue };
                    if message.get("setup").is_some() {
                        let confirmed = send(&mut sink, &json!({"setupComplete": {}})).await;
                        if confirmed.is_err() { break; }
                    }
                    let data = message.pointer("/realtimeInput/audio/data").and_then(Value::as_str);
                    if let Some(pcm) = data.and_then(|data| BASE64.decode(data).ok()) {
                        heard.hear(now, &pcm);
                    }
                }
                order = orders.recv() => {
                    let Some(Order { messages, sent }) = order else { return };
                    let texts: Vec<String> = messages.iter().map(Value::to_string).collect();
                    // Whoever asked waits for this.
                    let _ = sent.send(Instant::now());
                    for text in texts {
                        if sink.send(Message::binary(text.into_bytes())).await.is_err() { break; }
                    }
                }
            }
        }
    }
}

async fn send<S>(sink: &mut S, message: &Value) -> Result<(), S::Error>
where
    S: futures_util::Sink<Message> + Unpin,
{
    sink.send(Message::binary(message.to_string().into_bytes())).await
}

fn text(message: &Message) -> Option<&[u8]> {
    match message {
        Message::Text(text) => Some(text.as_bytes()),
        Message::Binary(bytes) => Some(bytes),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => None,
    }
}
