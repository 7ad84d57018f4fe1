// SPDX-License-Identifier: MIT OR Apache-2.0

//! A link against a scripted server, over an in-memory stream and on a paused clock.
//!
//! With `VOICED_WIRE_LOG` naming a directory, every conversation is recorded there, for a checker of the protocol.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::io;
use std::sync::Mutex;

use serde_json::{Value, json};
use session::{Answer, FailureCause, FollowUp, Intent};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::tungstenite::Bytes;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{accept_async, accept_hdr_async};

use super::*;
use crate::provider::{Connecting, Declaration, Endpoint, Secret};

const KEY: &str = "AIza-secret-key";

/// Hands out one end of an in-memory stream, once.
struct Wire(Mutex<Option<DuplexStream>>);

impl Connect for Wire {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> Connecting<'a> {
        Box::pin(async move {
            let stream = self.0.lock().unwrap().take();
            stream
                .map(|stream| Box::new(stream) as Box<dyn ByteStream>)
                .ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))
        })
    }
}

fn config(model: &str) -> GeminiConfig {
    let mut config = GeminiConfig::new(model, Secret::new(KEY));
    config.endpoint = Endpoint::parse("ws://localhost").unwrap();
    config.instruction = "You run a loading dock.".into();
    config.tools = vec![Declaration {
        name: "read_scale".into(),
        description: "Reads the scale.".into(),
        schema: json!({"type": "object", "properties": {"unit": {"type": "string"}}}),
        blocking: false,
    }];
    config
}

fn open(config: GeminiConfig, resume: Option<&str>, wire: DuplexStream) -> (LinkHandle, LinkEvents) {
    let log = std::env::var_os("VOICED_WIRE_LOG").map(|dir| WireLog::new(dir).unwrap());
    Link::open(Arc::new(config), resume.map(str::to_owned), Arc::new(Wire(Mutex::new(Some(wire)))), log)
}

/// The server's end.
struct Server(WebSocketStream<DuplexStream>);

impl Server {
    async fn say(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message of the protocol; `None` when the client has closed.
    async fn hear(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await?.ok()? {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) => {}
                other @ (Message::Binary(_) | Message::Frame(_)) => {
                    panic!("the client never sends {other:?}")
                }
            }
        }
    }

    async fn close(&mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        self.0.send(Message::Close(Some(frame))).await.unwrap();
        while let Some(Ok(_)) = self.0.next().await {}
    }
}

/// An open connection whose set-up was sent and, as `Opened`, heard of. Also returns the set-up.
async fn opened(config: GeminiConfig, resume: Option<&str>) -> (LinkHandle, LinkEvents, Server, Value) {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (handle, mut events) = open(config, resume, ours);
    let mut server = Server(accept_async(theirs).await.unwrap());
    let set_up = server.hear().await.unwrap();
    assert_eq!(events.recv().await, Some(LinkEvent::Opened));
    (handle, events, server, set_up)
}

/// A connection that is set up.
async fn ready(config: GeminiConfig) -> (LinkHandle, LinkEvents, Server) {
    let (handle, mut events, mut server, _) = opened(config, None).await;
    server.say(json!({"setupComplete": {}})).await;
    assert!(matches!(event(&mut events).await, ProviderEvent::Ready { resumed: false, .. }));
    (handle, events, server)
}

async fn event(events: &mut LinkEvents) -> ProviderEvent {
    match events.recv().await {
        Some(LinkEvent::Provider(event)) => event,
        other => panic!("expected an event of the provider, got {other:?}"),
    }
}

/// Reads up to the end: everything before `Closed`, and why. Checks that nothing follows.
async fn ended(mut events: LinkEvents) -> (Vec<LinkEvent>, LinkFailure) {
    let mut before = Vec::new();
    loop {
        match events.recv().await.unwrap() {
            LinkEvent::Closed(failure) => {
                assert_eq!(events.recv().await, None, "nothing follows Closed");
                return (before, failure);
            }
            event @ (LinkEvent::Opened
            | LinkEvent::Provider(_)
            | LinkEvent::Delivered(_)
            | LinkEvent::Anomaly(_)) => before.push(event),
        }
    }
}

fn answer(name: &str) -> Intent {
    Intent::Answer(vec![Answer {
        call: CallKey(1),
        id: Some("call-1".into()),
        name: name.into(),
        body: json!({"kg": 12.5}),
        follow_up: FollowUp::WhenIdle,
    }])
}

#[tokio::test(start_paused = true)]
async fn a_conversation_with_every_family() {
    for model in [
        "gemini-3.8-live",
        "gemini-3.8-live-extended-thinking",
        "gemini-3.1-flash-live-preview",
        "gemini-2.5-flash-native-audio-preview-12-2025",
        "gemini-9.9-live",
    ] {
        let (handle, mut events, mut server) = ready(config(model)).await;
        for _ in 0..3 {
            handle.mic(&[7; 320]);
        }
        handle.send(Intent::AudioStreamEnd);
        for _ in 0..3 {
            assert_eq!(
                server.hear().await.unwrap()["realtimeInput"]["audio"]["mimeType"],
                "audio/pcm;rate=16000"
            );
        }
        assert_eq!(server.hear().await.unwrap(), json!({"realtimeInput": {"audioStreamEnd": true}}));

        let audio = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AQACAA=="}});
        server.say(json!({"serverContent": {"modelTurn": {"parts": [audio]}}})).await;
        let ProviderEvent::ReplyAudio(pcm) = event(&mut events).await else { panic!("no audio") };
        assert_eq!((pcm.rate().get(), pcm.samples()), (24_000, &[1, 2][..]));

        server.say(json!({"toolCall": {"functionCalls": [{"id": "call-1", "name": "read_scale"}]}})).await;
        assert!(
            matches!(event(&mut events).await, ProviderEvent::Calls(calls) if calls[0].name == "read_scale")
        );
        handle.send(answer("read_scale"));
        let response = server.hear().await.unwrap()["toolResponse"]["functionResponses"][0].clone();
        assert_eq!((&response["id"], &response["response"]["kg"]), (&json!("call-1"), &json!(12.5)));
        assert_eq!(events.recv().await, Some(LinkEvent::Delivered(vec![CallKey(1)])));

        handle.send(Intent::Note("the door is open".into()));
        if outbound::capabilities(&config(model)).takes_notes {
            assert!(server.hear().await.unwrap().get("clientContent").is_some());
        } else {
            assert!(matches!(events.recv().await, Some(LinkEvent::Anomaly(text)) if text.contains(model)));
        }

        handle.close();
        assert_eq!(server.hear().await, None);
        drop(server);
        let (before, failure) = ended(events).await;
        assert_eq!((before, failure.cause), (vec![], FailureCause::Requested));
        let counters = handle.counters();
        assert_eq!((counters.mic_sent, counters.mic_dropped, counters.received_messages), (3, 0, 3));
        assert!(counters.sent_bytes > 3 * 640 && counters.received_bytes > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_key_goes_into_the_header_and_nowhere_else() {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (_handle, _events) = open(config("gemini-3.8-live"), None, ours);
    let mut seen = None;
    #[expect(clippy::result_large_err, reason = "the signature is the library's")]
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        seen = Some((request.uri().to_string(), request.headers().get("x-goog-api-key").cloned()));
        Ok(response)
    };
    let server = accept_hdr_async(theirs, look).await.unwrap();
    let (uri, key) = seen.unwrap();
    assert!(uri.ends_with("v1beta.GenerativeService.BidiGenerateContent") && !uri.contains('?'), "{uri}");
    assert_eq!(key.unwrap(), KEY);
    let set_up = Server(server).hear().await.unwrap();
    assert!(!set_up.to_string().contains(KEY));
}

/// Everything a peer can write the key into, plain and in the escapes of JSON.
#[tokio::test(start_paused = true)]
async fn a_key_that_the_peer_echoes_reaches_neither_an_event_nor_a_record() {
    let dir = std::env::temp_dir().join(format!("voiced-key-echo-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&dir));
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let connector = Arc::new(Wire(Mutex::new(Some(ours))));
    let log = WireLog::new(&dir).unwrap();
    let (handle, events) = Link::open(Arc::new(config("gemini-3.8-live")), None, connector, Some(log));
    let mut server = Server(accept_async(theirs).await.unwrap());
    server.hear().await.unwrap();
    server.say(json!({"setupComplete": {}})).await;
    let call = json!({"id": KEY, "name": KEY, "args": {KEY: [KEY, format!("a{KEY}{KEY}b")]}});
    let echo = json!({
        "serverContent": {"inputTranscription": {"text": KEY}, "outputTranscription": {"text": KEY}},
        "toolCall": {"functionCalls": [call]},
        "toolCallCancellation": {"ids": [KEY]},
        "sessionResumptionUpdate": {"newHandle": KEY, "resumable": true},
    })
    .to_string();
    let unknown = json!({format!("{}{KEY}", "x".repeat(155)): 1}).to_string();
    for message in [&echo, &unknown] {
        for spelled in [KEY.to_owned(), KEY.replace('A', "\\u0041"), KEY.replace('z', "\\u007A")] {
            server.0.send(Message::text(message.replace(KEY, &spelled))).await.unwrap();
        }
    }
    handle.send(answer(KEY));
    assert!(server.hear().await.unwrap().get("toolResponse").is_some());
    handle.close();
    while server.hear().await.is_some() {}
    drop(server);
    let (before, _) = ended(events).await;
    let delivered = LinkEvent::Delivered(vec![CallKey(1)]);
    assert_eq!(before.iter().filter(|event| **event == delivered).count(), 1);
    assert_eq!(before.len(), 2 + 3 * 5 + 3 + 1, "{before:?}");
    let client = std::fs::read_to_string(dir.join("client-1.jsonl")).unwrap();
    let server = std::fs::read_to_string(dir.join("server-1.jsonl")).unwrap();
    for told in [format!("{before:?}"), client, server] {
        assert!(told.contains("***") && !told.contains("secret-key") && !told.contains("Iza"), "{told}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_the_set_up_is_accepted() {
    let (handle, mut events, mut server, _) = opened(config("gemini-3.8-live"), None).await;
    handle.mic(&[1; 320]);
    handle.send(Intent::AudioStreamEnd);
    assert!(timeout(Duration::from_secs(3), server.hear()).await.is_err());
    server.0.send(Message::Binary(Bytes::from_static(b"{\n  \"setupComplete\": {}\n}\n"))).await.unwrap();
    assert!(matches!(event(&mut events).await, ProviderEvent::Ready { .. }));
    assert!(server.hear().await.unwrap()["realtimeInput"].get("audio").is_some());
    assert!(server.hear().await.unwrap()["realtimeInput"].get("audioStreamEnd").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_handle_resumes_and_a_refused_one_says_so() {
    let (_handle, mut events, mut server, set_up) = opened(config("gemini-3.8-live"), Some("handle-1")).await;
    assert_eq!(set_up["setup"]["sessionResumption"], json!({"handle": "handle-1"}));
    server.say(json!({"setupComplete": {}})).await;
    assert!(matches!(event(&mut events).await, ProviderEvent::Ready { resumed: true, .. }));

    let (_handle, events, mut server, _) = opened(config("gemini-3.8-live"), Some("stale")).await;
    server.close(1007, "Request contains an invalid argument.").await;
    assert_eq!(ended(events).await.1.cause, FailureCause::HandleRefused);
}

#[tokio::test(start_paused = true)]
async fn nonsense_is_told_and_survived() {
    let (_handle, mut events, mut server) = ready(config("gemini-3.8-live")).await;
    for nonsense in ["<html>", "{\"hello\":1}", "[]", "", "{}"] {
        server.0.send(Message::text(nonsense)).await.unwrap();
    }
    server.0.send(Message::Binary(Bytes::from_static(b"\xff"))).await.unwrap();
    server.say(json!({"goAway": {"timeLeft": "2s"}})).await;
    for told in ["not JSON", "unknown kind", "no object", "not JSON"] {
        assert!(
            matches!(events.recv().await, Some(LinkEvent::Anomaly(text)) if text.contains(told)),
            "{told}"
        );
    }
    assert_eq!(event(&mut events).await, ProviderEvent::GoAway { left: Some(Duration::from_secs(2)) });
}

#[path = "transport_endings_tests.rs"]
mod endings;
