// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which hosts tools of the configuration may call: none, unless the device's owner names it.
//!
//! Names are compared, not addresses: a name on the list may well lead to an address of the site's own network, which is
//! what most devices want to reach. A name that is not on the list is refused before anything is looked up.

use std::fmt;
use std::net::Ipv6Addr;

use reqwest::Url;

use super::client::is_loopback;

/// The hosts that may be called. The default allows none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// Exactly this host.
    Host(String),
    /// Every host whose name ends in this; it begins with a dot.
    Under(String),
}

/// An entry that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("host names, addresses, or `*.SUFFIX`, without scheme, port or path; `{entry}` is none")]
pub struct EgressError {
    /// The entry.
    pub entry: String,
}

impl Egress {
    /// Reads a list of hosts, addresses and `*.SUFFIX`. A suffix stands for every name below it, not for itself.
    ///
    /// # Errors
    /// The first entry that is none of them.
    pub fn parse(entries: &[String]) -> Result<Self, EgressError> {
        entries
            .iter()
            .map(|entry| rule(entry).ok_or_else(|| EgressError { entry: entry.clone() }))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn allows(&self, host: &str) -> bool {
        self.0.iter().any(|rule| match rule {
            Rule::Host(known) => host == known,
            Rule::Under(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
        })
    }
}

fn rule(entry: &str) -> Option<Rule> {
    match entry.strip_prefix("*.") {
        Some(suffix) => host(suffix).map(|suffix| Rule::Under(format!(".{suffix}"))),
        None => host(entry).map(Rule::Host),
    }
}

/// The host as a URL spells it: lower case, international names encoded, IPv6 in brackets.
fn host(text: &str) -> Option<String> {
    let text = if text.parse::<Ipv6Addr>().is_ok() { format!("[{text}]") } else { text.to_owned() };
    let address = text.starts_with('[');
    if text.is_empty() || text.contains(['/', '?', '#', '@', '*', '\\']) || (text.contains(':') && !address) {
        return None;
    }
    let url = Url::parse(&format!("https://{text}/")).ok().filter(|url| url.port().is_none())?;
    url.host_str().map(str::to_owned)
}

/// Where requests of one tool go.
#[derive(Clone, PartialEq, Eq)]
pub struct Target(Url);

/// Why requests may not go there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Not a URL of the web.
    #[error("an absolute URL: https://HOST, or http:// to this machine")]
    Url,
    /// A secret in the URL, where it reaches logs of every machine on the way.
    #[error("a URL without user, password or `${{secret:…}}`: give a secret by a header")]
    Secret,
    /// What a person said would be readable by everyone on the way.
    #[error("https://, as http:// goes to this machine only")]
    ClearText,
    /// The host is not on the list.
    #[error("a host that `tools.egress.allow` names: add \"{host}\" there if tools may call it")]
    NotAllowed {
        /// The host.
        host: String,
    },
}

impl Target {
    /// Checks a URL as it is written.
    ///
    /// # Errors
    /// See [`TargetError`].
    pub fn parse(text: &str, egress: &Egress) -> Result<Self, TargetError> {
        if text.contains("${") {
            return Err(TargetError::Secret);
        }
        let url = Url::parse(text).map_err(|_| TargetError::Url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::Secret);
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            "http" => return Err(TargetError::ClearText),
            _ => return Err(TargetError::Url),
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(TargetError::Url)?;
        if !egress.allows(host) {
            return Err(TargetError::NotAllowed { host: host.to_owned() });
        }
        Ok(Self(url))
    }

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Whether it is reached by TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl fmt::Debug for Target {
    /// Without its query, which may hold what a service calls a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = if self.0.query().is_some() { "?***" } else { "" };
        write!(f, "{}{}{query}", self.0.origin().ascii_serialization(), self.0.path())
    }
}
