// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every way a link ends, and what is said about it.

use std::future::pending;

use super::*;

/// Never connects.
struct Blackhole;

impl Connect for Blackhole {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> Connecting<'a> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn the_peers_close_message_is_the_reason_even_while_we_write() {
    let (handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    for _ in 0..100 {
        handle.mic(&[1; 320]);
    }
    server.close(1011, "You exceeded your current quota, please check your plan and billing details.").await;
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Quota);
    assert!(failure.text.contains("1011") && failure.text.contains("billing"), "{}", failure.text);
}

#[tokio::test(start_paused = true)]
async fn a_reason_that_echoes_the_key_is_masked() {
    let (_handle, events, mut server, _) = opened(config("gemini-3.8-live"), None).await;
    server.say(json!({"AIza-secret-key": 1})).await;
    server.close(1007, "API key not valid: AIza-secret-key").await;
    let (before, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Credentials);
    assert!(!format!("{before:?}{failure:?}").contains(KEY), "{before:?} {failure:?}");
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
        (Arc::new(Wire(Mutex::new(None))) as Arc<dyn Connect>, "connection refused"),
        (Arc::new(Blackhole), "no connection within 10 s"),
    ] {
        let start = Instant::now();
        let (_handle, events) = Link::open(Arc::new(config("gemini-3.8-live")), None, connector, None);
        let (before, failure) = ended(events).await;
        assert_eq!((before.len(), failure.cause), (0, FailureCause::Transient));
        assert!(failure.text.contains(told) && failure.text.contains("localhost:80"), "{}", failure.text);
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
async fn an_http_answer_that_echoes_the_key_is_masked_before_it_is_cut() {
    for spelled in [KEY.to_owned(), KEY.replace('A', "\\u0041")] {
        for lead in 130..180 {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let (_handle, events) = open(config("gemini-3.8-live"), None, ours);
            #[expect(clippy::result_large_err, reason = "the signature is the library's")]
            let refuse = |_: &Request, _: Response| -> Result<Response, ErrorResponse> {
                let mut response =
                    ErrorResponse::new(Some(format!("{}{spelled} is no key", "x".repeat(lead))));
                *response.status_mut() = tokio_tungstenite::tungstenite::http::StatusCode::FORBIDDEN;
                Err(response)
            };
            assert!(accept_hdr_async(theirs, refuse).await.is_err());
            let (_, failure) = ended(events).await;
            assert_eq!(failure.cause, FailureCause::Credentials);
            assert!(failure.text.contains("xxx") && !failure.text.contains("Iz"), "{lead}: {}", failure.text);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tls_at_a_tls_endpoint_is_told_apart() {
    let mut config = config("gemini-3.8-live");
    config.endpoint = Endpoint::parse("wss://example.com").unwrap();
    let (ours, mut theirs) = tokio::io::duplex(64 << 10);
    let (_handle, events) = open(config, None, ours);
    theirs.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Transient);
    assert!(failure.text.starts_with("TLS with example.com failed"), "{}", failure.text);
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
    assert!(timeout(Duration::from_secs(1), events.recv()).await.is_err(), "pongs keep the link alive");
    let start = Instant::now();
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Transient);
    assert!(failure.text.contains("no life sign"), "{}", failure.text);
    assert!((25..=31).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
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
    let (before, failure) = ended(events).await;
    assert_eq!((before, failure.cause), (vec![], FailureCause::Requested), "nothing was delivered");
    assert_eq!(start.elapsed().as_secs(), 1);
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn closing_sends_what_waits_then_1000() {
    let (handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    handle.send(answer("read_scale"));
    handle.close();
    assert!(server.hear().await.unwrap().get("toolResponse").is_some());
    let Some(Ok(Message::Close(Some(frame)))) = server.0.next().await else { panic!("no close message") };
    assert_eq!(u16::from(frame.code), 1000);
    server.0.send(Message::text("{\"goAway\":{}}")).await.unwrap_err();
    drop(server);
    let delivered = LinkEvent::Delivered(vec![CallKey(1)]);
    assert_eq!(ended(events).await, (vec![delivered], close::requested()));
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
    let (handle, events) = Link::open(Arc::new(config("gemini-3.8-live")), None, Arc::new(Blackhole), None);
    let start = Instant::now();
    handle.close();
    assert_eq!(ended(events).await, (vec![], close::requested()));
    assert_eq!(start.elapsed(), Duration::ZERO);
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
async fn a_message_of_too_many_values_ends_the_link_before_it_is_read() {
    let (_handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    for parts in [VALUES_MAX - 10, VALUES_MAX] {
        let many = json!({"serverContent": {"modelTurn": {"parts": vec![0; parts]}}});
        server.say(many).await;
    }
    drop(server);
    let (before, failure) = ended(events).await;
    assert!(failure.text.contains("more than 100000 values"), "{before:?} {}", failure.text);
    assert_eq!((before.len(), failure.cause), (1, FailureCause::Protocol), "the first one is looked at");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_pings_and_reads_nothing_is_gone_all_the_same() {
    let (handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    for _ in 0..200 {
        handle.mic(&[1; 320]);
    }
    let pings = tokio::spawn(async move {
        while server.0.send(Message::Ping(Bytes::from_static(b"here"))).await.is_ok() {
            sleep(Duration::from_secs(5)).await;
        }
    });
    let start = Instant::now();
    let (_, failure) = ended(events).await;
    assert_eq!(failure.cause, FailureCause::Transient);
    assert!(failure.text.contains("nothing was taken for 30 s"), "{}", failure.text);
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    pings.abort();
}

#[tokio::test(start_paused = true)]
async fn oddities_are_told_until_it_is_clear_that_there_are_many() {
    let (_handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    for number in 0..3 * ANOMALIES {
        server.say(json!({"weather": number})).await;
    }
    server.close(1000, "").await;
    let (before, _) = ended(events).await;
    assert_eq!(before.len(), ANOMALIES);
    let last = format!("{:?}", before.last());
    assert!(last.contains("no more are told of this connection"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_long_reply_fits_unread_and_a_flood_ends_the_link() {
    let (_handle, mut events, mut server) = ready(config("gemini-3.8-live")).await;
    // 60 s of speech in pieces of 40 ms, all before the first is read.
    for _ in 0..1500 {
        server.say(json!({"serverContent": {"outputTranscription": {"text": "la"}}})).await;
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

/// One message with `seconds` of reply audio, all silence, at 24 kHz.
fn long_reply(seconds: usize) -> String {
    let audio = json!({"mimeType": "audio/pcm;rate=24000", "data": "A".repeat(seconds * 64_000)});
    json!({"serverContent": {"modelTurn": {"parts": [{"inlineData": audio}]}}}).to_string()
}

#[tokio::test(start_paused = true)]
async fn audio_that_nobody_takes_ends_the_link_before_it_fills_the_memory() {
    let (_handle, events, mut server) = ready(config("gemini-3.8-live")).await;
    let message = Bytes::from(long_reply(60));
    let mut sent = 0;
    while sent < 100 && server.0.send(Message::Binary(message.clone())).await.is_ok() {
        sent += 1;
    }
    drop(server);
    let (before, failure) = ended(events).await;
    assert_eq!((before.len(), failure.cause), (9, FailureCause::Protocol), "{}", failure.text);
    assert!(failure.text.contains("wait unread") && failure.text.contains("38 MB"), "{}", failure.text);
}

#[tokio::test(start_paused = true)]
async fn audio_that_is_taken_may_go_on_for_ever() {
    let (_handle, mut events, mut server) = ready(config("gemini-3.8-live")).await;
    let message = Bytes::from(long_reply(60));
    for _ in 0..12 {
        server.0.send(Message::Binary(message.clone())).await.unwrap();
        assert!(matches!(event(&mut events).await, ProviderEvent::ReplyAudio(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_task_still_says_closed() {
    let (sender, receiver) = mpsc::channel(1);
    drop(Closing::new(Arc::new(config("gemini-3.8-live")), &sender));
    drop(sender);
    assert_eq!(ended(LinkEvents { events: receiver }).await.1.cause, FailureCause::Transient);
}
