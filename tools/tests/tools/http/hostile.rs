// SPDX-License-Identifier: MIT OR Apache-2.0

//! A service that goes on and on before it answers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tokio::time::Instant;
use tools::{CallInfo, Cx};
use units::{CallKey, TurnId};

use super::{asking, built, did_not_answer};

/// Processor time of this thread, which is the one that a conversation would run on.
fn used() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

#[tokio::test]
async fn t68_interim_answers_without_end_cost_the_conversation_nothing() {
    for piece in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let flood = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let bytes = piece.repeat(500);
            // It ends when the client hangs up.
            while stream.write_all(bytes.as_bytes()).is_ok() {}
        });
        let info = CallInfo {
            call: CallKey(4),
            turn: TurnId(2),
            session: "s".to_owned(),
            idempotency_key: None,
            deadline: Instant::now() + Duration::from_millis(1500),
        };
        let tool = built(&asking(&url));
        let before = used();
        let shaped = tool.run(json!({}), Cx::new(info, |_| {}).0).await;
        let took = used() - before;
        assert_eq!(shaped.body, did_not_answer());
        assert!(took < Duration::from_millis(250), "{piece:?} held the conversation's thread for {took:?}");
        flood.join().unwrap();
    }
}
