// SPDX-License-Identifier: MIT OR Apache-2.0

//! A loopback HTTP server that stands for whatever an outbound tool talks to: it keeps what it is sent.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Largest body kept.
const MAX_BODY: usize = 64 * 1024;

/// One request as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The `Idempotency-Key` header, if there was one.
    pub key: Option<String>,
    /// The body.
    pub body: Value,
}

/// A running sink. Its task ends with the runtime it was started on.
#[derive(Clone, Debug)]
pub struct Sink {
    address: SocketAddr,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
}

impl Sink {
    /// Starts a sink on a free loopback port.
    ///
    /// # Errors
    /// When no loopback port can be had.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let sink = Self { address: listener.local_addr()?, deliveries: Arc::default() };
        tokio::spawn(serve(listener, sink.clone()));
        Ok(sink)
    }

    /// Where it takes messages.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/messages", self.address)
    }

    /// Everything delivered, in order.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn take(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let key =
            request.headers().get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
        let Ok(body) = Limited::new(request.into_body(), MAX_BODY).collect().await else {
            return Ok(answer(StatusCode::PAYLOAD_TOO_LARGE, &json!({"error": "body too large"})));
        };
        let Ok(body) = serde_json::from_slice(&body.to_bytes()) else {
            return Ok(answer(StatusCode::BAD_REQUEST, &json!({"error": "body is not JSON"})));
        };
        let mut deliveries = self.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        deliveries.push(Delivery { key, body });
        Ok(answer(StatusCode::OK, &json!({"id": deliveries.len(), "queued": true})))
    }
}

fn answer(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    response
}

async fn serve(listener: TcpListener, sink: Sink) {
    while let Ok((stream, _)) = listener.accept().await {
        let sink = sink.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| sink.take(request));
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(cause) = served.await {
                tracing::debug!(%cause, "sink connection ended");
            }
        });
    }
}
