// SPDX-License-Identifier: MIT OR Apache-2.0

//! A server over HTTP on this machine.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tools::mcp::{Marks, Reach, ServerConfig, Servers};
use tools::{Status, ToolSet};

use crate::handler::Fixture;
use crate::rig::{PATIENCE, Scratch, call, config, job, noted_call, read, run, tool, ungated, until, up};

/// A server and the tasks it lives in.
struct Site {
    address: SocketAddr,
    listening: JoinSet<()>,
    /// Dropped with it.
    _open: Arc<Mutex<JoinSet<()>>>,
    /// How many requests were answered.
    answered: Arc<AtomicUsize>,
}

impl Site {
    async fn open(address: &str, log: Option<std::path::PathBuf>) -> Self {
        // The client refuses to be made without one; a daemon has one. It was installed by another test if this fails.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = StreamableHttpService::new(
            move || Ok(Fixture::new(log.clone())),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let (mut listening, open) = (JoinSet::new(), Arc::new(Mutex::new(JoinSet::new())));
        let (connections, answered) = (Arc::clone(&open), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&answered);
        listening.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (service, count) = (TowerToHyperService::new(service.clone()), Arc::clone(&count));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (answer, count) = (service.call(request), Arc::clone(&count));
                    async move {
                        let answer = answer.await;
                        count.fetch_add(1, Ordering::Relaxed);
                        answer
                    }
                });
                connections.lock().unwrap().spawn(async move {
                    // A client that goes away is no fault of the server's.
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, listening, _open: open, answered }
    }

    fn config(&self, tools: &[(&str, Marks)]) -> ServerConfig {
        config(Reach::Http { url: format!("http://{}/mcp", self.address) }, tools)
    }

    /// Refuses every new connection. Those that are open stay, so that a client is told of nothing.
    async fn refuse(&mut self) {
        self.listening.shutdown().await;
    }
}

#[tokio::test]
async fn t105_a_server_over_http_is_listed_and_run_like_a_child() {
    let site = Site::open("127.0.0.1:0", None).await;
    let servers =
        up([site.config(&[("weigh", read()), ("photo", read()), ("ask", read()), ("echo-meta", read())])])
            .await;
    let shaped = run(&tool(&servers, "bench_weigh"), json!({"shelf": 4})).await;
    assert_eq!(shaped.body["result"], json!({"shelf": 4, "grams": 1500}));
    assert_eq!(
        run(&tool(&servers, "bench_photo"), json!({})).await.body["result"],
        json!({"omitted": "image"})
    );
    assert_eq!(run(&tool(&servers, "bench_echo_meta"), json!({})).await.body["result"]["session"], "s-1");
    let shaped = run(&tool(&servers, "bench_ask"), json!({})).await;
    assert_eq!(shaped.body["result"], json!(["refused", "refused", "refused"]));
}

#[tokio::test]
async fn t106_a_server_over_http_that_goes_away_is_an_error_at_once_and_comes_back() {
    let mut site = Site::open("127.0.0.1:0", None).await;
    let servers = up([site.config(&[("text", read()), ("fail", ungated())])]).await;
    let (text, fail) = (tool(&servers, "bench_text"), tool(&servers, "bench_fail"));
    // Two steps of the handshake, the list, the stream and the first ping; the next one is far away.
    until("the ping", || site.answered.load(Ordering::Relaxed) >= 5).await;
    site.refuse().await;
    // That nobody is there shows before anything is sent: the effect certainly did not happen.
    let shaped = run(&fail, json!({})).await;
    assert_eq!(shaped.body, json!({"status": "error", "error": "the bench server is not running"}));
    let shaped = run(&text, json!({})).await;
    assert_eq!(shaped.body["error"], "the bench server is not running");
    until("the end of the server", || servers.joined(&ToolSet::default()).tools.iter().len() == 0).await;

    let address = site.address.to_string();
    drop(site);
    let _site = Site::open(&address, None).await;
    until("the return of the server", || servers.joined(&ToolSet::default()).tools.iter().len() > 0).await;
    assert_eq!(run(&text, json!({})).await.body["result"], "plain words");
}

#[tokio::test]
async fn t108_a_server_over_http_announces_its_list_too() {
    let site = Site::open("127.0.0.1:0", None).await;
    let servers = up([site.config(&[("change", read()), ("added", read())])]).await;
    assert_eq!(run(&tool(&servers, "bench_change"), json!({})).await.body["result"], "changed");
    until("the new list", || servers.joined(&ToolSet::default()).tools.find("bench_added").is_some()).await;
}

#[tokio::test]
async fn a_call_over_http_that_is_cancelled_is_told_to_the_server() {
    let log = Scratch::new("http-cancel");
    let site = Site::open("127.0.0.1:0", Some(log.0.clone())).await;
    let servers = up([site.config(&[("hang", read())])]).await;
    let hang = tool(&servers, "bench_hang");
    let (cx, control) = call();
    let running = tokio::spawn(hang.run(json!({}), cx));
    until("the call", || log.text().contains("hanging")).await;
    assert!(control.cancel());
    assert_eq!(running.await.unwrap().status, Status::Cancelled);
    until("the note of the cancellation", || log.text().contains("told of the cancellation")).await;
}

#[tokio::test]
async fn a_server_over_http_that_is_not_there_is_named() {
    let mut site = Site::open("127.0.0.1:0", None).await;
    let config = site.config(&[]);
    site.refuse().await;
    let servers = Servers::start([config]);
    let missing = servers.settled(PATIENCE).await;
    let told = &missing[0];
    assert!(told.starts_with("mcp `bench` has no tools yet: it did not shake hands: "), "{told}");
    assert!(told.contains("Connection refused") && !told.contains("::") && !told.contains('['), "{told}");
}

/// Answers one request after the other on each connection: a list with what `tools` is, whatever else with a greeting.
async fn raw(listener: TcpListener, tools: &'static str) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(answered(stream, tools));
    }
}

async fn answered(stream: TcpStream, tools: &str) -> io::Result<()> {
    let mut stream = BufStream::new(stream);
    loop {
        let (mut line, mut is_post, mut length) = (String::new(), false, 0);
        while stream.read_line(&mut line).await? > 2 {
            let head = line.to_lowercase();
            is_post |= head.starts_with("post ");
            if let Some(said) = head.strip_prefix("content-length:") {
                length = said.trim().parse().unwrap();
            }
            line.clear();
        }
        if line.is_empty() {
            return Ok(());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match asked["method"].as_str() {
            Some("initialize") => {
                r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#
            }
            Some("tools/list") => tools,
            _ => "{}",
        };
        let (status, body) = match (is_post, asked.get("id")) {
            (true, Some(id)) => ("200 OK", format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)),
            (true, None) => ("202 Accepted", String::new()),
            (false, _) => ("405 Method Not Allowed", String::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
        stream.flush().await?;
    }
}

#[tokio::test]
async fn t108_a_tool_over_http_that_cannot_be_read_is_left_out_and_its_server_stays() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let _site = tokio::spawn(raw(
        listener,
        r#"{"tools":[{"name":"broken","inputSchema":7},{"name":"weigh","description":"Weighs.","inputSchema":{"type":"object"}}]}"#,
    ));
    let servers = up([config(Reach::Http { url }, &[("weigh", read())])]).await;
    let joined = servers.joined(&ToolSet::default());
    assert_eq!(joined.tools.names().collect::<Vec<_>>(), ["bench_weigh"]);
    let [left] = &joined.left_out[..] else { panic!("{:?}", joined.left_out) };
    assert!(left.to_string().contains("tool `broken`: left out: its inputSchema cannot be read"), "{left}");
}

#[tokio::test]
async fn progress_of_a_job_over_http_is_noted() {
    let site = Site::open("127.0.0.1:0", None).await;
    let servers = up([site.config(&[("bake", job())])]).await;
    let (cx, notes) = noted_call();
    let shaped = tool(&servers, "bench_bake").run(json!({}), cx).await;
    assert_eq!(shaped.body["result"], "baked", "{}", shaped.body);
    let notes = notes.lock().unwrap();
    assert!(notes.len() == 1 && notes[0].ends_with(" of 1000"), "{notes:?}");
}
