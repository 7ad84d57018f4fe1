// SPDX-License-Identifier: MIT OR Apache-2.0

//! A server that sends without end: how fast it is read, and what it makes us keep.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::json;
use tokio::io::{AsyncRead, ReadBuf, Sink, sink};
use tokio::time::Instant;

use super::MESSAGE_BYTES_MAX;
use super::lines::Lines;
use super::polite::{Heard, Polite};

/// Says the same again and again, without a pause, and notes how much was taken at one instant.
struct Flood {
    unit: Vec<u8>,
    at: usize,
    left: usize,
    instant: Instant,
    taken: usize,
    most: Arc<AtomicUsize>,
}

impl Flood {
    fn of(unit: &[u8], total: usize) -> (Self, Arc<AtomicUsize>) {
        let most = Arc::new(AtomicUsize::new(0));
        let unit = unit.to_vec();
        (Self { unit, at: 0, left: total, instant: Instant::now(), taken: 0, most: Arc::clone(&most) }, most)
    }
}

impl AsyncRead for Flood {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.instant != Instant::now() {
            self.instant = Instant::now();
            self.taken = 0;
        }
        while to.remaining() > 0 && self.left > 0 {
            let piece = (self.unit.len() - self.at).min(to.remaining()).min(self.left);
            to.put_slice(&self.unit[self.at..self.at + piece]);
            self.at = (self.at + piece) % self.unit.len();
            self.left -= piece;
            self.taken += piece;
        }
        self.most.fetch_max(self.taken, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

fn child(read: Flood) -> Polite<Lines<Flood, Sink>> {
    let server: Arc<str> = "flood".into();
    Polite::new(&server, Lines::new(&server, &Arc::from([]), read, sink()), &Heard::default())
}

/// How long it takes until this many bytes of it have been read to their end, and how much was taken at one instant.
async fn flooded(unit: &[u8], total: usize) -> (Duration, usize) {
    let (flood, most) = Flood::of(unit, total);
    let mut child = child(flood);
    let since = Instant::now();
    while child.receive().await.is_some() {}
    (since.elapsed(), most.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn whatever_is_sent_without_end_is_read_at_a_pace_and_with_pauses() {
    let line = |value: serde_json::Value| format!("{value}\n").into_bytes();
    let request = |method: &str| line(json!({"jsonrpc": "2.0", "id": 6, "method": method, "params": {}}));
    let notice = |method: &str| line(json!({"jsonrpc": "2.0", "method": method}));
    let progress = line(json!({
        "jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1},
    }));
    for (what, unit, per_s) in [
        ("answers to nothing", line(json!({"jsonrpc": "2.0", "id": 77777, "result": {}})), 2000),
        (
            "refusals of nothing",
            line(json!({"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": ""}})),
            2000,
        ),
        ("pings", request("ping"), 2000),
        ("requests", request("roots/list"), 2000),
        ("requests of its own", request("x/y"), 2000),
        ("news", notice("notifications/message"), 2000),
        ("news of tools", notice("notifications/tools/list_changed"), 2000),
        ("progress of nothing", progress, 2000),
        ("answers that cannot be read", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[\n".to_vec(), 8000),
        ("noise", b"Loading driver...\n".to_vec(), 8000),
        ("JSON that is no protocol", b"{\"level\": \"info\"}\n".to_vec(), 8000),
        ("line ends", b"\n".to_vec(), 8000),
    ] {
        const UNITS: u32 = 10_000;
        let (took, most) = flooded(&unit, unit.len() * UNITS as usize).await;
        // A burst goes at once, and what was read ahead of it.
        let least = Duration::from_secs(u64::from(UNITS)) / per_s - Duration::from_millis(20);
        assert!(took >= least, "{UNITS} {what} took {took:?}");
        assert!(took <= least * 2, "{UNITS} {what} took {took:?}: too slow for an honest server");
        assert!(most <= 32 * 1024, "{what}: {most} bytes in one go");
    }
    let big = line(json!({
        "jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "x".repeat(1_000_000)},
    }));
    let deep = line(json!({"jsonrpc": "2.0", "id": 1, "result": {"a": vec![0; 1_000_000]}}));
    for (what, unit) in [("big news", big), ("bytes without a line", vec![b'x'; 4096]), ("many values", deep)]
    {
        const TOTAL: usize = 16 * 1024 * 1024;
        let (took, most) = flooded(&unit, TOTAL).await;
        assert!((1900..4000).contains(&took.as_millis()), "16 MiB of {what} took {took:?}");
        assert!(most <= 160 * 1024, "{what}: {most} bytes in one go");
    }
}

#[tokio::test(start_paused = true)]
async fn an_honest_server_is_hardly_held_up() {
    let tool = json!({"name": "weigh", "description": "Weighs.", "inputSchema": {"type": "object"}});
    let list = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": vec![tool; 5000]}});
    let text = "x".repeat(MESSAGE_BYTES_MAX - 200);
    let long = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}});
    for message in [list, long] {
        let text = format!("{message}\n");
        let mut child = child(Flood::of(text.as_bytes(), text.len()).0);
        let since = Instant::now();
        assert!(matches!(child.receive().await, Some(JsonRpcMessage::Response(_))));
        assert!(since.elapsed() < Duration::from_millis(600), "{:?}", since.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_message_is_not_lost_when_nobody_waits_for_it_meanwhile() {
    let text = format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": 9, "result": {"content": [{"type": "text", "text": "x".repeat(2_000_000)}]}})
    );
    let mut child = child(Flood::of(text.as_bytes(), text.len()).0);
    let mut given_up = 0;
    let message = loop {
        match tokio::time::timeout(Duration::from_millis(3), child.receive()).await {
            Ok(message) => break message,
            Err(_) => given_up += 1,
        }
    };
    assert!(given_up > 10 && matches!(message, Some(JsonRpcMessage::Response(_))), "{given_up}");
}

/// Asks, and takes no answer.
struct Asker {
    questions: VecDeque<ServerJsonRpcMessage>,
    waiting: Arc<AtomicUsize>,
}

impl Transport<RoleClient> for Asker {
    type Error = io::Error;

    fn send(&mut self, _: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        std::future::pending()
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.questions.pop_front()
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_makes_us_write_is_bounded_while_nothing_is_read() {
    let sample = json!({"messages": [], "maxTokens": 5});
    for (method, params) in [
        ("ping", json!({})),
        ("sampling/createMessage", sample),
        (
            "elicitation/create",
            json!({"message": "PIN?", "requestedSchema": {"type": "object", "properties": {}}}),
        ),
        ("roots/list", json!({})),
        ("of/its/own", json!({})),
    ] {
        let ask = |id: u32| {
            let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            serde_json::from_value::<ServerJsonRpcMessage>(text).unwrap()
        };
        let waiting = Arc::new(AtomicUsize::new(0));
        let asker = Asker { questions: (0..1000).map(ask).collect(), waiting: Arc::clone(&waiting) };
        let mut polite = Polite::new(&"asker".into(), asker, &Heard::default());
        assert!(polite.receive().await.is_none(), "{method} was passed on, to be answered without a bound");
        assert_eq!(waiting.load(Ordering::Relaxed), 16, "{method}");
    }
}
