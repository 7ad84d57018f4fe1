// SPDX-License-Identifier: MIT OR Apache-2.0

//! A service on this machine that counts what it is asked to do, by the key that comes with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

/// What the service was asked to do, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its `Idempotency-Key`; empty if there was none.
    pub key: String,
    /// The order of its body.
    pub order: String,
}

/// What follows what it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It says so.
    Answer,
    /// The connection ends without a word.
    Drop,
    /// Nothing, for as long as the other end waits.
    Hold,
}

/// The service. It goes on until the process ends.
#[derive(Debug)]
pub struct Counter {
    address: SocketAddr,
    done: Arc<Mutex<Vec<Done>>>,
}

impl Counter {
    /// Starts it. `reply` is asked about each request, counted from 0, once what it asks for is done.
    ///
    /// # Panics
    /// If there is no port.
    #[must_use]
    pub fn start(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound");
        let done = Arc::<Mutex<Vec<Done>>>::default();
        let (kept, reply) = (Arc::clone(&done), Arc::new(reply));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, reply) = (Arc::clone(&kept), Arc::clone(&reply));
                thread::spawn(move || serve(stream, &kept, &*reply));
            }
        });
        Self { address, done }
    }

    /// Where it is.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What it has done, in order.
    #[must_use]
    pub fn done(&self) -> Vec<Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One request. A client that goes away before it has sent all of it has asked for nothing.
fn serve(mut stream: TcpStream, kept: &Mutex<Vec<Done>>, reply: &dyn Fn(usize) -> Reply) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut key, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => value.trim().clone_into(&mut key),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let order = body["order"].as_str().unwrap_or_default().to_owned();
    let number = {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Done { key, order });
        kept.len() - 1
    };
    match reply(number) {
        Reply::Answer => {
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\
                          Connection: close\r\n\r\n{\"printed\":true}";
            stream.write_all(answer.as_bytes()).ok()?;
        }
        Reply::Drop => {}
        // Ends when the other end does.
        Reply::Hold => drop(reader.read_to_end(&mut Vec::new())),
    }
    Some(())
}
