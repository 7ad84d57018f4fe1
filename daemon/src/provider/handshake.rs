// SPDX-License-Identifier: MIT OR Apache-2.0

//! From a byte stream to a WebSocket: TLS where the endpoint asks for it, then the upgrade.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use session::{FailureCause, LinkFailure};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async_tls_with_config};

use super::GeminiConfig;
use super::close;
use super::connect::ByteStream;
use super::queue::Shared;

/// The header that carries the key. The query would carry it too, and into every log on the way.
const KEY_HEADER: &str = "x-goog-api-key";

/// Makes `stream` a WebSocket to the configured endpoint.
pub(super) async fn upgrade(
    config: &GeminiConfig,
    stream: Watched<Box<dyn ByteStream>>,
    limits: WebSocketConfig,
) -> Result<WebSocketStream<MaybeTlsStream<Watched<Box<dyn ByteStream>>>>, LinkFailure> {
    let url = config.endpoint.url();
    let mut request =
        url.into_client_request().map_err(|error| refused(format!("endpoint {url}: {error}")))?;
    if !config.api_key.is_empty() {
        let mut key = HeaderValue::from_str(config.api_key.expose()).map_err(|_| LinkFailure {
            cause: FailureCause::Credentials,
            text: "the API key holds characters that no key has: check for line breaks and quotes".into(),
        })?;
        key.set_sensitive(true);
        request.headers_mut().insert(KEY_HEADER, key);
    }
    if config.endpoint.is_secure() {
        // The process default is what TLS uses; ring is the only provider that is built in. It fails where one is
        // installed already, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    match client_async_tls_with_config(request, stream, Some(limits), None).await {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(failure(&error, config)),
    }
}

fn failure(error: &Error, config: &GeminiConfig) -> LinkFailure {
    let url = config.endpoint.url();
    match error {
        Error::Http(response) => {
            let body = response.body().as_deref().unwrap_or_default();
            close::refused(response.status().as_u16(), &String::from_utf8_lossy(body), url, &config.api_key)
        }
        Error::Io(error) if is_tls(error) => close::transient(format!(
            "TLS with {} failed ({error}): check the clock of this machine, and whether a proxy sits in between",
            config.endpoint.host()
        )),
        Error::Io(error) => close::lost(Some(error)),
        Error::Tls(_) | Error::Url(_) | Error::HttpFormat(_) => refused(format!("endpoint {url}: {error}")),
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Capacity(_)
        | Error::Protocol(_)
        | Error::WriteBufferFull(_)
        | Error::Utf8(_)
        | Error::AttackAttempt => close::protocol(format!(
            "{url} does not answer like a WebSocket server ({error}): check the endpoint"
        )),
    }
}

fn refused(text: String) -> LinkFailure {
    LinkFailure { cause: FailureCause::Refused, text }
}

fn is_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// A byte stream that counts what passes and notes when the peer last gave a sign of life. Any byte is one: a reply in
/// one slow big message is as alive as a pong.
pub(super) struct Watched<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> Watched<S> {
    pub const fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        let read = buf.filled().len() - before;
        if read > 0 {
            self.shared.count_read(read);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = polled {
            self.shared.count_written(written);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
