// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the provider is.

use std::net::IpAddr;

use tokio_tungstenite::tungstenite::http::Uri;

/// The Gemini Developer API. Version `v1beta` is the one that serves Live; the key goes into a header.
const DEVELOPER_API: &str = "wss://generativelanguage.googleapis.com";

/// The method that speaks the Live protocol, as the Developer API spells it.
const METHOD: &str = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

/// A checked WebSocket address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    url: String,
    host: String,
    port: u16,
    secure: bool,
}

/// Why a text is not an endpoint. Fix the configuration; nothing else helps.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It does not parse as an absolute URL with a host.
    #[error("endpoint `{0}` is not a URL such as wss://host or ws://127.0.0.1:port")]
    NotAUrl(String),
    /// The scheme is neither `ws` nor `wss`.
    #[error("endpoint `{url}` has scheme `{scheme}`: expected wss, or ws for a server on this machine")]
    Scheme {
        /// The whole text.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// The API key would cross a network in clear text.
    #[error(
        "endpoint `{0}` is not encrypted and not on this machine: use wss, the API key must not be readable"
    )]
    ClearText(String),
    /// Addresses end up in logs; a key in one would too.
    #[error(
        "endpoint for host `{0}` carries a query or a user name: remove it, the API key is sent as a header"
    )]
    Credentials(String),
}

impl Endpoint {
    /// Google's own, for API keys.
    #[must_use]
    pub fn developer_api() -> Self {
        Self {
            url: format!("{DEVELOPER_API}{METHOD}"),
            host: DEVELOPER_API.trim_start_matches("wss://").to_owned(),
            port: 443,
            secure: true,
        }
    }

    /// Checks `text`. Without a path, the path of the Live method is added; a full path is taken as it is, so another
    /// API version is written out in full.
    ///
    /// # Errors
    /// Not a URL; neither `ws` nor `wss`; `ws` to a host other than this machine; a query or user name in it.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let endpoint = Self::parse_any(text)?;
        if endpoint.secure || is_this_machine(&endpoint.host) {
            Ok(endpoint)
        } else {
            Err(EndpointError::ClearText(text.to_owned()))
        }
    }

    /// The same, with `ws` to any host: for whoever has decided that the key may travel in clear text.
    ///
    /// # Errors
    /// Not a URL; neither `ws` nor `wss`; a query or user name in it.
    pub fn parse_any(text: &str) -> Result<Self, EndpointError> {
        // What may be a key is not repeated.
        let not_a_url =
            || EndpointError::NotAUrl(text.split(['?', '@']).next().unwrap_or_default().to_owned());
        let uri: Uri = text.parse().map_err(|_| not_a_url())?;
        let scheme = uri.scheme_str().ok_or_else(not_a_url)?;
        let authority = uri.authority().ok_or_else(not_a_url)?;
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        // A port that is no port is not an error to the parser: it is left in the text.
        let has_port_text =
            authority.as_str().rsplit_once(authority.host()).is_some_and(|(_, rest)| !rest.is_empty());
        if host.is_empty() || has_port_text && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(not_a_url());
        }
        if uri.query().is_some() || authority.as_str().contains('@') {
            return Err(EndpointError::Credentials(host));
        }
        let secure = match scheme {
            "wss" => true,
            "ws" => false,
            other => {
                return Err(EndpointError::Scheme { url: text.to_owned(), scheme: other.to_owned() });
            }
        };
        let path = if matches!(uri.path(), "" | "/") { METHOD } else { uri.path() };
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { url: format!("{scheme}://{authority}{path}"), host, port, secure })
    }

    /// The whole address. Holds no secret.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Host name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// TCP port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.secure
    }
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::developer_api()
    }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    #[test]
    fn the_default_parses_to_itself() {
        assert_eq!(Endpoint::parse(Endpoint::default().url()), Ok(Endpoint::default()));
        assert_eq!(Endpoint::parse("wss://generativelanguage.googleapis.com"), Ok(Endpoint::default()));
    }

    #[test]
    fn a_local_server_needs_no_tls_and_keeps_its_port() {
        let local = Endpoint::parse("ws://127.0.0.1:8123").unwrap();
        assert_eq!((local.host(), local.port(), local.is_secure()), ("127.0.0.1", 8123, false));
        assert!(
            local
                .url()
                .ends_with("/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent")
        );
        let v6 = Endpoint::parse("ws://[::1]:9/other/path").unwrap();
        assert_eq!((v6.host(), v6.url()), ("::1", "ws://[::1]:9/other/path"));
    }

    #[test]
    fn what_would_leak_the_key_is_refused() {
        assert!(matches!(Endpoint::parse("ws://example.com"), Err(EndpointError::ClearText(_))));
        assert!(matches!(
            Endpoint::parse("wss://example.com/x?key=AIza"),
            Err(EndpointError::Credentials(_))
        ));
        let told = Endpoint::parse("wss://me:AIza@example.com/").unwrap_err().to_string();
        assert!(!told.contains("AIza"), "{told}");
    }

    #[test]
    fn nonsense_is_named() {
        for text in [
            "",
            "host",
            "/path",
            "wss://",
            "wss:///x",
            "ws://127.0.0.1:999999",
            "ws://[::1]:x",
            "ws://h:0",
            "wss://a b",
        ] {
            assert!(matches!(Endpoint::parse(text), Err(EndpointError::NotAUrl(_))), "{text:?}");
        }
        assert!(matches!(Endpoint::parse("https://example.com"), Err(EndpointError::Scheme { .. })));
    }
}
