// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::super::decode::tests::{silent_flac, wav};
use super::*;

/// What a service does with each request.
type Serve = fn(&mut TcpStream);

/// A web service on loopback, and how often it was asked.
struct Service {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Service {
    fn new(serve: Serve) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/bell.wav?key=canary", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut buffer) {
                        Ok(read @ 1..) => request.extend_from_slice(&buffer[..read]),
                        Ok(0) | Err(_) => break,
                    }
                }
                count.fetch_add(1, Ordering::SeqCst);
                serve(&mut stream);
            }
        });
        Self { url, asked }
    }
}

fn answer(stream: &mut TcpStream, status: &str, more: &str, body: &[u8]) {
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{more}\r\n", body.len());
    // A client that has read enough may hang up on the rest.
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

fn good(stream: &mut TcpStream) {
    answer(stream, "200 OK", "content-type: audio/wav\r\n", &wav(24_000, 1, 2_400));
}

fn store(fetch: impl Fetch + 'static, clips: Clips) -> Store {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let egress = Egress::parse(&["127.0.0.1".to_owned(), "sounds.example".to_owned()]).unwrap();
    Store::new(clips, egress, Arc::new(fetch))
}

/// With bounds that a test has the time to reach.
fn web() -> Web {
    Web { bytes_max: 100_000, limit: Duration::from_millis(2_000) }
}

async fn get(store: &mut Store, source: &str) -> Result<Pcm, String> {
    match store.find(&source.into()) {
        Ok(Found::Here(pcm)) => Ok(pcm),
        Ok(Found::Coming(coming)) => coming.arrived().await.map_err(|fault| crate::fault::chain(&*fault)),
        Err(fault) => Err(crate::fault::chain(&fault)),
    }
}

fn is_here(store: &mut Store, source: &str) -> bool {
    matches!(store.find(&source.into()), Ok(Found::Here(_)))
}

#[tokio::test]
async fn row_112_a_clip_is_fetched_once_by_url_or_by_name_and_is_then_here() {
    let service = Service::new(good);
    let target = Target::parse(&service.url, &Egress::parse(&["127.0.0.1".to_owned()]).unwrap()).unwrap();
    let clips = Clips::load([("alarm", "builtin:alarm")]).unwrap();
    let mut store = store(web(), clips.with_fetched([("bell".to_owned(), target)].into()));
    assert!(is_here(&mut store, "alarm"));
    // Both before it is there.
    assert!(matches!(store.find(&service.url.as_str().into()), Ok(Found::Coming(_))));
    let pcm = get(&mut store, "bell").await.unwrap();
    assert_eq!((pcm.rate(), pcm.span()), (Hz::K24, Duration::from_millis(100)));
    assert!(is_here(&mut store, &service.url) && is_here(&mut store, "bell"));
    assert_eq!(service.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn row_112_every_format_is_decoded_whatever_its_type_says() {
    let cases: [(Serve, u64); 2] = [
        (|stream| answer(stream, "200 OK", "content-type: text/html\r\n", &silent_flac(32_768)), 4_096),
        (
            |stream| {
                let hello = include_bytes!("../../../tests/rehearsal/voices/model-hello.ogg");
                answer(stream, "200 OK", "", hello);
            },
            500,
        ),
    ];
    for (serve, ms_min) in cases {
        let service = Service::new(serve);
        let pcm = get(&mut store(web(), Clips::default()), &service.url).await.unwrap();
        assert!(pcm.span() >= Duration::from_millis(ms_min), "{:?}", pcm.span());
    }
}

#[tokio::test]
async fn row_112_what_is_no_whole_clip_within_bounds_is_refused_and_says_why() {
    let cases: [(Serve, &str); 9] = [
        (
            |stream| answer(stream, "404 Not Found", "", b"no"),
            "could not be fetched: its service answered with status 404",
        ),
        (
            |stream| answer(stream, "302 Found", "location: http://127.0.0.1:1/\r\n", b""),
            "its service answered with status 302",
        ),
        (
            |stream| answer(stream, "200 OK", "", b"<html><body>Please log in.</body></html>"),
            "is not WAV, FLAC",
        ),
        (|stream| answer(stream, "200 OK", "", b""), "is not WAV, FLAC"),
        (|stream| answer(stream, "200 OK", "", &wav(24_000, 1, 60_000)), "it is larger than 100000 bytes"),
        (
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
                // It ends when the client hangs up.
                while stream.write_all(&[7; 4096]).is_ok() {}
            },
            "it is larger than 100000 bytes",
        ),
        (
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n");
                let _ = stream.write_all(&wav(24_000, 1, 1_000));
            },
            "it did not arrive: ",
        ),
        (
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\nRIFF");
                // Until the client hangs up.
                let _ = stream.read(&mut [0; 1]);
            },
            "it did not arrive whole within 2000 ms",
        ),
        (|stream| answer(stream, "200 OK", "", &silent_flac(8_000 * 121)), "is longer than 120 s"),
    ];
    for (serve, expected) in cases {
        let service = Service::new(serve);
        let mut store = store(web(), Clips::default());
        let fault = get(&mut store, &service.url).await.unwrap_err();
        assert!(fault.contains(expected), "{fault} for {expected}");
        assert!(!fault.contains("canary") && fault.contains("/bell.wav?***`"), "{fault}");
        // Whoever plays it after that is told the same, and nobody is asked again.
        assert_eq!(get(&mut store, &service.url).await.unwrap_err(), fault);
        assert_eq!(service.asked.load(Ordering::SeqCst), 1, "{expected}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fault = get(&mut store(web(), Clips::default()), &format!("http://{nobody}/a")).await.unwrap_err();
    assert!(fault.contains("it did not arrive: "), "{fault}");
}

/// A host on a paused clock that counts who asks at once.
#[derive(Clone, Default)]
struct Host {
    /// How long the clip is, of 8 kHz.
    frames: usize,
    at_once: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    is_down: bool,
}

impl Fetch for Host {
    fn fetch(&self, _: Target) -> BoxFuture<'static, Result<Vec<u8>, DownloadError>> {
        let host = self.clone();
        Box::pin(async move {
            host.asked.fetch_add(1, Ordering::SeqCst);
            let at_once = host.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            host.most.fetch_max(at_once, Ordering::SeqCst);
            tokio::time::sleep(if host.is_down { Duration::ZERO } else { Duration::from_secs(1) }).await;
            host.at_once.fetch_sub(1, Ordering::SeqCst);
            if host.is_down {
                return Err(DownloadError::Status { status: 503 });
            }
            Ok(wav(8_000, 1, host.frames))
        })
    }
}

fn numbered(n: usize) -> String {
    format!("https://sounds.example/{n}.wav")
}

#[tokio::test(start_paused = true)]
async fn row_112_few_clips_are_fetched_at_once_and_too_many_are_refused() {
    let host = Host { frames: 800, ..Host::default() };
    let mut store = store(host.clone(), Clips::default());
    for n in 0..COMING_MAX {
        assert!(store.find(&numbered(n).into()).is_ok());
    }
    let refused = store.find(&numbered(99).into()).unwrap_err();
    assert!(refused.to_string().ends_with("is not fetched, as 8 others are"), "{refused}");
    assert!(store.find(&numbered(0).into()).is_ok(), "it is one of them");
    for n in 0..COMING_MAX {
        get(&mut store, &numbered(n)).await.unwrap();
    }
    assert_eq!(
        (host.asked.load(Ordering::SeqCst), host.most.load(Ordering::SeqCst)),
        (COMING_MAX, FETCHES_MAX)
    );
    get(&mut store, &numbered(99)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn row_112_what_was_fetched_is_kept_within_a_bound_of_bytes_and_of_time() {
    // 90 s are 4.3 MB at 24 kHz.
    let host = Host { frames: 8_000 * 90, ..Host::default() };
    let mut store = store(host.clone(), Clips::default());
    for n in [1, 2] {
        get(&mut store, &numbered(n)).await.unwrap();
    }
    assert!(is_here(&mut store, &numbered(2)));
    assert!(!is_here(&mut store, &numbered(1)), "there is room for one of them");
    get(&mut store, &numbered(1)).await.unwrap();
    assert_eq!(host.asked.load(Ordering::SeqCst), 3);
    assert!(is_here(&mut store, &numbered(1)));
    tokio::time::advance(KEPT_FOR).await;
    assert!(!is_here(&mut store, &numbered(1)), "it may be another by now");
}

#[tokio::test(start_paused = true)]
async fn row_112_a_clip_that_could_not_be_fetched_is_asked_for_again_a_while_later() {
    let host = Host { is_down: true, ..Host::default() };
    let mut store = store(host.clone(), Clips::default());
    for _ in 0..3 {
        let fault = get(&mut store, &numbered(1)).await.unwrap_err();
        assert!(fault.ends_with("could not be fetched: its service answered with status 503"), "{fault}");
    }
    assert_eq!(host.asked.load(Ordering::SeqCst), 1);
    tokio::time::advance(FAILED_FOR).await;
    get(&mut store, &numbered(1)).await.unwrap_err();
    assert_eq!(host.asked.load(Ordering::SeqCst), 2);
    for n in 0..FAILURES_MAX + 9 {
        get(&mut store, &numbered(n)).await.unwrap_err();
    }
    store.prune();
    assert_eq!(store.fetched.len(), FAILURES_MAX);
}

#[test]
fn row_112_nobody_is_asked_who_may_not_be() {
    let mut store = store(Host::default(), Clips::default());
    for (source, expected) in [
        (
            "https://elsewhere.example/a.wav?k=canary",
            "takes a host that `tools.egress.allow` names: add \"elsewhere",
        ),
        ("http://sounds.example/a.wav", "takes https://, as http:// goes to this machine only"),
        ("https://me:canary@sounds.example/a.wav", "takes a URL without user, password"),
        ("https://sounds.example/${secret:canary}", "takes a URL without user, password or `${secret:…}`"),
        ("ftp://sounds.example/a.wav", "takes an absolute URL"),
        ("gong", "there is no clip `gong` under [clips]"),
    ] {
        // Without a runtime nothing could be begun.
        let fault = store.find(&source.into()).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}");
        assert!(!fault.split("takes").next().unwrap().contains("canary") || source.contains("${"), "{fault}");
    }
}
