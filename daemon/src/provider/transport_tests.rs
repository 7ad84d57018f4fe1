//! A link against a scripted server, over an in-memory stream and on a paused clock.
//!
//! With `VOICED_WIRE_LOG` naming a directory, every conversation is recorded there, for a checker of the protocol.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::future::pending;
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

/// Never connects.
struct Blackhole;

impl Connect for Blackhole {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> Connecting<'a> {
        Box::pin(pending())
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
    Link::open(
        Arc::new(config),
        resume.map(str::to_owned),
        Arc::new(Wire(Mutex::new(Some(wire)))),
        log,
    )
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
        let frame = CloseFrame {
            code: code.into(),
            reason: reason.into(),
        };
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
    assert!(matches!(
        event(&mut events).await,
        ProviderEvent::Ready { resumed: false, .. }
    ));
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
            event @ (LinkEvent::Opened | LinkEvent::Provider(_) | LinkEvent::Anomaly(_)) => {
                before.push(event)
            }
        }
    }
}

fn answer(name: &str) -> Intent {
    Intent::Answer(vec![Answer {
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
        assert_eq!(
            server.hear().await.unwrap(),
            json!({"realtimeInput": {"audioStreamEnd": true}})
        );

        let audio = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AQACAA=="}});
        server
            .say(json!({"serverContent": {"modelTurn": {"parts": [audio]}}}))
            .await;
        let ProviderEvent::ReplyAudio(pcm) = event(&mut events).await else {
            panic!("no audio")
        };
        assert_eq!((pcm.rate().get(), pcm.samples()), (24_000, &[1, 2][..]));

        server
            .say(json!({"toolCall": {"functionCalls": [{"id": "call-1", "name": "read_scale"}]}}))
            .await;
        assert!(
            matches!(event(&mut events).await, ProviderEvent::Calls(calls) if calls[0].name == "read_scale")
        );
        handle.send(answer("read_scale"));
        let response = server.hear().await.unwrap()["toolResponse"]["functionResponses"][0].clone();
        assert_eq!(
            (&response["id"], &response["response"]["kg"]),
            (&json!("call-1"), &json!(12.5))
        );

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
        assert_eq!(
            (
                counters.mic_sent,
                counters.mic_dropped,
                counters.received_messages
            ),
            (3, 0, 3)
        );
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
        seen = Some((
            request.uri().to_string(),
            request.headers().get("x-goog-api-key").cloned(),
        ));
        Ok(response)
    };
    let server = accept_hdr_async(theirs, look).await.unwrap();
    let (uri, key) = seen.unwrap();
    assert!(
        uri.ends_with("v1beta.GenerativeService.BidiGenerateContent") && !uri.contains('?'),
        "{uri}"
    );
    assert_eq!(key.unwrap(), KEY);
    let set_up = Server(server).hear().await.unwrap();
    assert!(!set_up.to_string().contains(KEY));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_the_set_up_is_accepted() {
    let (handle, mut events, mut server, _) = opened(config("gemini-3.8-live"), None).await;
    handle.mic(&[1; 320]);
    handle.send(Intent::AudioStreamEnd);
    assert!(timeout(Duration::from_secs(3), server.hear()).await.is_err());
    server
        .0
        .send(Message::Binary(Bytes::from_static(
            b"{\n  \"setupComplete\": {}\n}\n",
        )))
        .await
        .unwrap();
    assert!(matches!(event(&mut events).await, ProviderEvent::Ready { .. }));
    assert!(
        server.hear().await.unwrap()["realtimeInput"]
            .get("audio")
            .is_some()
    );
    assert!(
        server.hear().await.unwrap()["realtimeInput"]
            .get("audioStreamEnd")
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn a_handle_resumes_and_a_refused_one_says_so() {
    let (_handle, mut events, mut server, set_up) = opened(config("gemini-3.8-live"), Some("handle-1")).await;
    assert_eq!(
        set_up["setup"]["sessionResumption"],
        json!({"handle": "handle-1"})
    );
    server.say(json!({"setupComplete": {}})).await;
    assert!(matches!(
        event(&mut events).await,
        ProviderEvent::Ready { resumed: true, .. }
    ));

    let (_handle, events, mut server, _) = opened(config("gemini-3.8-live"), Some("stale")).await;
    server.close(1007, "Request contains an invalid argument.").await;
    assert_eq!(ended(events).await.1.cause, FailureCause::HandleRefused);
}

#[tokio::test(start_paused = true)]
async fn the_peers_close_message_is_the_reason_even_while_we_write() {
    let (handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    for _ in 0..100 {
        handle.mic(&[1; 320]);
    }
    server
        .close(
            1011,
            "You exceeded your current quota, please check your plan and billing details.",
        )
        .await;
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Quota);
    assert!(
        failure.text.contains("1011") && failure.text.contains("billing"),
        "{}",
        failure.text
    );
}

#[tokio::test(start_paused = true)]
async fn a_reason_that_echoes_the_key_is_masked() {
    let (_handle, events, mut server, _) = opened(config("gemini-3.8-live"), None).await;
    server.say(json!({"AIza-secret-key": 1})).await;
    server.close(1007, "API key not valid: AIza-secret-key").await;
    let (before, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Credentials);
    assert!(
        !format!("{before:?}{failure:?}").contains(KEY),
        "{before:?} {failure:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_vanished_stream_is_transient() {
    let (_handle, events, server) = ready(config("gemini-3.8-live")).await;
    drop(server);
    let (before, failure) = ended(events).await;
    assert_eq!((before.len(), failure.cause), (0, FailureCause::Transient));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_made_is_transient() {
    for (connector, told) in [
        (
            Arc::new(Wire(Mutex::new(None))) as Arc<dyn Connect>,
            "connection refused",
        ),
        (Arc::new(Blackhole), "no connection within 10 s"),
    ] {
        let start = Instant::now();
        let (_handle, events) = Link::open(Arc::new(config("gemini-3.8-live")), None, connector, None);
        let (before, failure) = ended(events).await;
        assert_eq!((before.len(), failure.cause), (0, FailureCause::Transient));
        assert!(
            failure.text.contains(told) && failure.text.contains("localhost:80"),
            "{}",
            failure.text
        );
        assert!(start.elapsed() <= Duration::from_secs(10));
    }
}

#[tokio::test(start_paused = true)]
async fn an_http_answer_instead_of_an_upgrade_is_classified() {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (_handle, events) = open(config("gemini-3.8-live"), None, ours);
    #[expect(clippy::result_large_err, reason = "the signature is the library's")]
    let refuse = |_: &Request, _: Response| -> Result<Response, ErrorResponse> {
        let mut response = ErrorResponse::new(Some("no such path".into()));
        *response.status_mut() = tokio_tungstenite::tungstenite::http::StatusCode::NOT_FOUND;
        Err(response)
    };
    assert!(accept_hdr_async(theirs, refuse).await.is_err());
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Refused);
    assert!(failure.text.contains("404"), "{}", failure.text);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tls_at_a_tls_endpoint_is_told_apart() {
    let mut config = config("gemini-3.8-live");
    config.endpoint = Endpoint::parse("wss://example.com").unwrap();
    let (ours, mut theirs) = tokio::io::duplex(64 << 10);
    let (_handle, events) = open(config, None, ours);
    theirs
        .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        .await
        .unwrap();
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Transient);
    assert!(
        failure.text.starts_with("TLS with example.com failed"),
        "{}",
        failure.text
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_speaks_something_else_is_told_apart() {
    let (ours, mut theirs) = tokio::io::duplex(64 << 10);
    let (_handle, events) = open(config("gemini-3.8-live"), None, ours);
    theirs.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n").await.unwrap();
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Protocol);
    assert!(failure.text.contains("check the endpoint"), "{}", failure.text);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_fits_no_header_is_told_without_showing_it() {
    let mut config = config("gemini-3.8-live");
    config.api_key = Secret::new("AIza\nbroken");
    let (ours, _theirs) = tokio::io::duplex(64);
    let (_handle, events) = open(config, None, ours);
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Credentials);
    assert!(!failure.text.contains("AIza"), "{}", failure.text);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_accepts_the_set_up_is_left_after_15_s() {
    let (_handle, events, mut server, _) = opened(config("gemini-3.8-live"), None).await;
    let start = Instant::now();
    let server = tokio::spawn(async move { server.hear().await });
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Transient);
    assert!(failure.text.contains("15 s"), "{}", failure.text);
    assert_eq!(start.elapsed().as_secs(), 15);
    assert_eq!(server.await.unwrap(), None, "the server is told");
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_left_after_30_s_and_a_pong_is_enough() {
    let (_handle, mut events, mut server) = ready(config("gemini-3.8-live")).await;
    // The server answers pings for as long as it is read from.
    assert!(timeout(Duration::from_secs(600), server.hear()).await.is_err());
    assert!(
        timeout(Duration::from_secs(1), events.recv()).await.is_err(),
        "pongs keep the link alive"
    );
    let start = Instant::now();
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Transient);
    assert!(failure.text.contains("no life sign"), "{}", failure.text);
    assert!(
        (25..=31).contains(&start.elapsed().as_secs()),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_nothing_cannot_keep_us() {
    let (handle, events, server) = ready(config("gemini-3.8-live")).await;
    for _ in 0..200 {
        handle.mic(&[1; 320]);
    }
    tokio::task::yield_now().await;
    handle.send(answer("read_scale"));
    let start = Instant::now();
    handle.close();
    assert_eq!(ended(events).await.1.cause, FailureCause::Requested);
    assert_eq!(start.elapsed().as_secs(), 1);
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn closing_sends_what_waits_then_1000() {
    let (handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    handle.send(answer("read_scale"));
    handle.close();
    assert!(server.hear().await.unwrap().get("toolResponse").is_some());
    let Some(Ok(Message::Close(Some(frame)))) = server.0.next().await else {
        panic!("no close message")
    };
    assert_eq!(u16::from(frame.code), 1000);
    server.0.send(Message::text("{\"goAway\":{}}")).await.unwrap_err();
    drop(server);
    assert_eq!(ended(events).await, (vec![], close::requested()));
}

#[tokio::test(start_paused = true)]
async fn dropping_either_end_closes_the_connection() {
    let (handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    drop(handle);
    assert_eq!(server.hear().await, None);
    drop(server);
    assert_eq!(ended(events).await.1.cause, FailureCause::Requested);

    let (_handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    drop(events);
    server.say(json!({"goAway": {}})).await;
    assert_eq!(server.hear().await, None);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_an_attempt_at_once() {
    let (handle, events) = Link::open(
        Arc::new(config("gemini-3.8-live")),
        None,
        Arc::new(Blackhole),
        None,
    );
    let start = Instant::now();
    handle.close();
    assert_eq!(ended(events).await, (vec![], close::requested()));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn nonsense_is_told_and_survived() {
    let (_handle, mut events, mut server) = ready(config("gemini-3.8-live")).await;
    for nonsense in ["<html>", "{\"hello\":1}", "[]", "", "{}"] {
        server.0.send(Message::text(nonsense)).await.unwrap();
    }
    server
        .0
        .send(Message::Binary(Bytes::from_static(b"\xff")))
        .await
        .unwrap();
    server.say(json!({"goAway": {"timeLeft": "2s"}})).await;
    for told in ["not JSON", "unknown kind", "no object", "not JSON"] {
        assert!(
            matches!(events.recv().await, Some(LinkEvent::Anomaly(text)) if text.contains(told)),
            "{told}"
        );
    }
    assert_eq!(
        event(&mut events).await,
        ProviderEvent::GoAway {
            left: Some(Duration::from_secs(2))
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_huge_message_ends_the_link_with_a_clear_text() {
    let (_handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    let huge = Message::Binary(Bytes::from(vec![b' '; MESSAGE_BYTES + 1]));
    let server = tokio::spawn(async move {
        drop(server.0.send(huge).await);
    });
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Protocol);
    assert!(failure.text.contains("16 MiB"), "{}", failure.text);
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_long_reply_fits_unread_and_a_flood_ends_the_link() {
    let (_handle, mut events, mut server) = ready(config("gemini-3.8-live")).await;
    // 60 s of speech in pieces of 40 ms, all before the first is read.
    for _ in 0..1500 {
        server
            .say(json!({"serverContent": {"outputTranscription": {"text": "la"}}}))
            .await;
    }
    for _ in 0..1500 {
        assert_eq!(event(&mut events).await, ProviderEvent::ReplyText("la".into()));
    }
    let flood = tokio::spawn(async move {
        let message = json!({"serverContent": {"outputTranscription": {"text": "la"}}}).to_string();
        while server.0.send(Message::text(message.clone())).await.is_ok() {}
    });
    flood.await.unwrap();
    let (before, failure) = ended(events).await;
    assert_eq!((before.len(), failure.cause), (EVENTS, FailureCause::Protocol));
    assert!(failure.text.contains("4096"), "{}", failure.text);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_task_still_says_closed() {
    let (sender, receiver) = mpsc::channel(1);
    drop(Closing::new(Arc::new(config("gemini-3.8-live")), &sender));
    drop(sender);
    assert_eq!(
        ended(LinkEvents { events: receiver }).await.1.cause,
        FailureCause::Transient
    );
}
