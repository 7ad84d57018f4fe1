// SPDX-License-Identifier: MIT OR Apache-2.0

//! The scripted client: a person's microphone, and a device that answers calls.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use rehearsal::{Rehearsal, Scenario, Voices, demo, voices};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

pub const URL: &str =
    "ws://rehearsal/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

/// Bytes the in-memory stream holds; far less than a burst, so that both directions have to move at once.
const STREAM_BYTES: usize = 16 * 1024;

/// What the device answers to a call: `None` leaves it unanswered.
pub type Answer = fn(&Value) -> Option<Value>;

/// One protocol message as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    pub at: Instant,
    pub message: Value,
}

impl Received {
    /// The value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.message.pointer(pointer)
    }

    pub fn has(&self, pointer: &str) -> bool {
        self.at(pointer).is_some()
    }

    /// The audio in it, as bytes.
    pub fn audio(&self) -> Vec<u8> {
        let data = self.at("/serverContent/modelTurn/parts/0/inlineData/data").and_then(Value::as_str);
        data.map(|text| STANDARD.decode(text).unwrap()).unwrap_or_default()
    }
}

pub struct Client {
    socket: WebSocketStream<DuplexStream>,
    pub received: Vec<Received>,
    /// Frames that are not JSON objects.
    pub strange: Vec<Vec<u8>>,
    /// Frames by kind: binary, text.
    pub frames: (usize, usize),
    pub closed: Option<Option<CloseFrame>>,
    answer: Answer,
}

pub fn rehearse(name: &str, scenario: Scenario) -> Rehearsal {
    let rehearsal = Rehearsal::new(scenario, Voices::bundled().unwrap()).unwrap();
    match std::env::var_os("REHEARSAL_WIRE_LOG") {
        None => rehearsal,
        Some(root) => {
            let directory = std::path::Path::new(&root).join(name);
            std::fs::create_dir_all(&directory).unwrap();
            rehearsal.with_wire_log(directory)
        }
    }
}

pub fn bundled(name: &str) -> Rehearsal {
    rehearse(name, Scenario::bundled(name).unwrap())
}

pub fn written(name: &str, text: &str) -> Rehearsal {
    rehearse(name, Scenario::parse(text).unwrap())
}

pub fn setup() -> Value {
    json!({
        "model": "models/gemini-3.8-live",
        "generationConfig": { "responseModalities": ["AUDIO"] },
        "tools": [{ "functionDeclarations": [
            { "name": "read_warehouse_sensors", "behavior": "NON_BLOCKING" },
            { "name": "send_notification", "behavior": "NON_BLOCKING" },
            { "name": "weigh", "behavior": "BLOCKING" },
        ] }],
        "sessionResumption": {},
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
    })
}

/// A call answered at once: `success`, to be spoken about.
pub fn succeed(call: &Value) -> Option<Value> {
    Some(json!({
        "id": call["id"], "name": call["name"], "scheduling": "WHEN_IDLE", "response": { "status": "success" },
    }))
}

impl Client {
    /// Connects, up to and including the WebSocket upgrade.
    pub async fn dial(rehearsal: &Rehearsal, url: &str, key: Option<&str>) -> Result<Self, Error> {
        let (near, far) = tokio::io::duplex(STREAM_BYTES);
        let server = rehearsal.clone();
        tokio::spawn(async move { server.serve_stream(far).await });
        let mut request = url.into_client_request()?;
        if let Some(key) = key {
            request.headers_mut().insert("x-goog-api-key", key.parse().unwrap());
        }
        let (socket, _) = tokio_tungstenite::client_async(request, near).await?;
        let (received, strange) = (Vec::new(), Vec::new());
        Ok(Self { socket, received, strange, frames: (0, 0), closed: None, answer: succeed })
    }

    /// Connects and waits for `setupComplete`.
    pub async fn open(rehearsal: &Rehearsal, setup: Value) -> Self {
        let mut client = Self::dial(rehearsal, URL, None).await.unwrap();
        client.send(json!({ "setup": setup })).await;
        client.idle(300).await;
        assert!(client.received[0].has("/setupComplete"), "{:?}", client.received);
        client
    }

    pub fn answering(mut self, answer: Answer) -> Self {
        self.answer = answer;
        self
    }

    pub async fn send(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Lets time pass without a microphone.
    pub async fn idle(&mut self, ms: u64) {
        let until = Instant::now() + Duration::from_millis(ms);
        self.receive_until(until).await;
    }

    /// Streams a line of the person's, and then a quiet room for `room_ms`.
    pub async fn speak(&mut self, line: &'static str, room_ms: u64) {
        let line = demo::PersonLine { id: line, start_ms: 0 };
        let mic = demo::mix(&[line], Duration::from_millis(room_ms)).unwrap();
        self.stream(mic.samples()).await;
    }

    /// Streams a quiet room.
    pub async fn room(&mut self, ms: u64) {
        let mic = demo::mix(&[], Duration::from_millis(ms)).unwrap();
        self.stream(mic.samples()).await;
    }

    /// Streams 48 kHz audio as 20 ms chunks of 16 kHz, in real (virtual) time.
    async fn stream(&mut self, samples: &[i16]) {
        let mut due = Instant::now();
        for chunk in samples.chunks(960) {
            let bytes: Vec<u8> = chunk
                .chunks(3)
                .map(|three| three.iter().map(|sample| i32::from(*sample)).sum::<i32>() / 3)
                .flat_map(|mean| i16::try_from(mean).unwrap().to_le_bytes())
                .collect();
            let audio = json!({ "mimeType": "audio/pcm;rate=16000", "data": STANDARD.encode(bytes) });
            due += Duration::from_millis(20);
            self.receive_until(due).await;
            if self.closed.is_some() {
                return;
            }
            self.send(json!({ "realtimeInput": { "audio": audio } })).await;
        }
    }

    async fn receive_until(&mut self, until: Instant) {
        loop {
            let frame = tokio::select! {
                biased;
                frame = self.socket.next(), if self.closed.is_none() => frame,
                () = sleep_until(until) => return,
            };
            match frame {
                Some(Ok(Message::Close(frame))) => self.closed = Some(frame),
                Some(Ok(frame)) => self.on_frame(&frame).await,
                Some(Err(_)) | None => self.closed = Some(None),
            }
        }
    }

    async fn on_frame(&mut self, frame: &Message) {
        match frame {
            Message::Binary(_) => self.frames.0 += 1,
            Message::Text(_) => self.frames.1 += 1,
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => return,
        }
        let bytes = frame.clone().into_data();
        let Ok(message @ Value::Object(_)) = serde_json::from_slice(&bytes) else {
            return self.strange.push(bytes.to_vec());
        };
        let calls = message.pointer("/toolCall/functionCalls").and_then(Value::as_array).cloned();
        self.received.push(Received { at: Instant::now(), message });
        let answers: Vec<Value> = calls.iter().flatten().filter_map(self.answer).collect();
        if !answers.is_empty() {
            self.send(json!({ "toolResponse": { "functionResponses": answers } })).await;
        }
    }

    /// The close frame, once there is one.
    pub fn close_frame(&self) -> Option<(u16, &str)> {
        let frame = self.closed.as_ref()?.as_ref()?;
        Some((frame.code.into(), frame.reason.as_str()))
    }

    /// The messages that have this JSON pointer.
    pub fn with<'a>(&'a self, pointer: &'a str) -> impl Iterator<Item = &'a Received> {
        self.received.iter().filter(move |received| received.has(pointer))
    }

    pub fn count(&self, pointer: &str) -> usize {
        self.with(pointer).count()
    }

    /// The position of the first message that has this JSON pointer.
    pub fn first(&self, pointer: &str) -> usize {
        let found = self.received.iter().position(|received| received.has(pointer));
        found.unwrap_or_else(|| panic!("no {pointer} among {} messages", self.received.len()))
    }

    /// All reply audio, as samples.
    pub fn audio(&self) -> Vec<i16> {
        let bytes: Vec<u8> = self.received.iter().flat_map(Received::audio).collect();
        bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect()
    }

    /// All text at a JSON pointer, put together.
    pub fn text(&self, pointer: &str) -> String {
        self.with(pointer).filter_map(|received| received.at(pointer)?.as_str()).collect()
    }

    pub async fn hang_up(mut self) {
        self.socket.close(None).await.unwrap();
        let gone = async { while let Some(Ok(_)) = self.socket.next().await {} };
        timeout(Duration::from_secs(5), gone).await.unwrap();
    }
}

/// The person's words in a recording.
pub fn words(line: &str) -> String {
    voices::person(line).unwrap().text
}
