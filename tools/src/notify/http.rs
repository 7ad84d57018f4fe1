// SPDX-License-Identifier: MIT OR Apache-2.0

//! The outbox that posts to a URL.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Response, Url};
use serde_json::Value;

use super::{Outbox, Post, PostError, Reply};
use crate::BoxFuture;
use crate::apart::apart;
use crate::http::{ClientError, HttpClient, Trust, chain, is_loopback};
use crate::secret::Secret;

/// Longest answer that is read. The tool needs only the status; more is the service's own affair.
pub const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// Why an outbox cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// Not a URL that can be posted to.
    #[error("`{url}` is not an http or https URL with a host")]
    Url {
        /// As given, without user and password.
        url: String,
    },
    /// User or password in the URL, where they reach logs.
    #[error("the URL for `{host}` carries a user or password: give a token by credential")]
    Credentials {
        /// Its host.
        host: String,
    },
    /// A token that everybody on the way could read.
    #[error("the token for `{host}` would travel in clear text: use https, or a loopback address")]
    ClearText {
        /// Its host.
        host: String,
    },
    /// A token that cannot be a header.
    #[error("the token for `{host}` has characters that no HTTP header can carry")]
    Token {
        /// Its host.
        host: String,
    },
    /// There is no client.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Posts each message as JSON to one URL: once, without redirect, retry or proxy.
#[derive(Clone, Debug)]
pub struct HttpOutbox {
    client: HttpClient,
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
}

impl HttpOutbox {
    /// Posts to `url` with `token` as bearer token; each post ends after `timeout`.
    ///
    /// # Errors
    /// [`OutboxError`] says what to change in the configuration.
    pub fn new(url: &str, token: Option<&Secret>, timeout: Duration) -> Result<Self, OutboxError> {
        // What stands before an `@` may be a password.
        let wrong = || OutboxError::Url { url: url.rsplit('@').next().unwrap_or_default().to_owned() };
        let parsed = Url::parse(url).map_err(|_| wrong())?;
        let host = parsed.host_str().unwrap_or_default().to_owned();
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(OutboxError::Credentials { host });
        }
        let encrypted = match parsed.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong()),
        };
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            if !encrypted && !is_loopback(&parsed) {
                return Err(OutboxError::ClearText { host });
            }
            let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))
                .map_err(|_| OutboxError::Token { host })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = HttpClient::new(if encrypted { Trust::System } else { Trust::Nobody })?;
        Ok(Self { client, url: parsed, headers, timeout })
    }
}

impl Outbox for HttpOutbox {
    fn post(&self, post: Post) -> BoxFuture<'static, Result<Reply, PostError>> {
        let mut request = self
            .client
            .inner()
            .post(self.url.clone())
            .timeout(self.timeout)
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(post.body.to_string());
        if let Some(key) = post.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        Box::pin(async move {
            let answered = apart(exchange(request)).await;
            answered.unwrap_or_else(|cause| Err(PostError::Unknown(cause.to_string())))
        })
    }
}

async fn exchange(request: RequestBuilder) -> Result<Reply, PostError> {
    let response = request.send().await.map_err(classified)?;
    let status = response.status().as_u16();
    // The status is the verdict; a body that does not come or fit changes nothing about it.
    Ok(Reply { status, body: body(response).await })
}

/// Only a failure to connect proves that nothing arrived.
fn classified(error: reqwest::Error) -> PostError {
    let certain = error.is_connect() || error.is_builder();
    let text = chain(error);
    if certain { PostError::NotSent(text) } else { PostError::Unknown(text) }
}

async fn body(mut response: Response) -> Option<Value> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if bytes.len() + chunk.len() > RESPONSE_BYTES_MAX {
            return None;
        }
        bytes.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&bytes).ok()
}
