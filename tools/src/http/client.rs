// SPDX-License-Identifier: MIT OR Apache-2.0

//! The one way this crate speaks HTTP: no redirect, no retry, no proxy, TLS by the provider of the process.

use std::net::IpAddr;

use reqwest::{Client, Url, redirect, retry};

/// Whose certificates are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those of the machine.
    System,
    /// Nobody's: for clear text to this machine only, where a small image may have no root certificates.
    Nobody,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The process has no TLS provider: install one before any client is made.
    #[error("no TLS provider is installed in this process")]
    NoTlsProvider,
    /// TLS could not be set up, for instance because the machine has no root certificates.
    #[error("TLS cannot be set up; check that ca-certificates is installed")]
    Tls(#[source] reqwest::Error),
}

/// Sends each request once, to where it says and nowhere else. Clones share it.
#[derive(Clone, Debug)]
pub struct HttpClient(Client);

impl HttpClient {
    /// A client.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn new(trust: Trust) -> Result<Self, ClientError> {
        // Without this check the client's constructor panics.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            return Err(ClientError::NoTlsProvider);
        }
        let mut client = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // A kept connection may have been closed by the peer meanwhile; whether a post on it arrived is unknown.
            .pool_max_idle_per_host(0)
            .no_proxy();
        match trust {
            Trust::System => {}
            Trust::Nobody => client = client.tls_certs_only([]),
        }
        client.build().map(Self).map_err(ClientError::Tls)
    }

    pub(crate) fn inner(&self) -> &Client {
        &self.0
    }
}

/// Whether `url` leads to this machine whatever a name server says.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The error with its causes, without the URL, whose query holds what a person said.
pub(crate) fn chain(error: reqwest::Error) -> String {
    crate::result::chain(&error.without_url())
}
