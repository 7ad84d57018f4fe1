// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which clip: what a tool asks to be played, and what the session hands on.

use std::fmt;

/// A clip by the name it has in the configuration, or by the URL it is fetched from.
///
/// Shown anywhere, a URL is shown without its query, which may hold what a service calls a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Clip {
    source: String,
    kept: bool,
}

impl Clip {
    /// The clip of this name, or at this URL.
    #[must_use]
    pub fn named(source: impl Into<String>) -> Self {
        Self { source: source.into(), kept: false }
    }

    /// The same, to outlive an interruption: if the person speaks before it has begun, it plays when it is quiet again. One
    /// that plays is stopped all the same.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.kept = true;
        self
    }

    /// The name or the URL, whole: to find the clip with, not to be shown.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it outlives an interruption.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.kept
    }

    /// Whether it is fetched from a URL of its own. No name has a colon.
    #[must_use]
    pub fn is_url(&self) -> bool {
        self.source.contains("://")
    }
}

impl From<&str> for Clip {
    fn from(source: &str) -> Self {
        Self::named(source)
    }
}

impl From<String> for Clip {
    fn from(source: String) -> Self {
        Self::named(source)
    }
}

impl fmt::Display for Clip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.source.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = shown.split_once("://").unwrap_or(("", shown));
        // A user and a password are refused, and may hold any sign; the line that says so must not show them.
        match rest.rfind('@').filter(|_| self.is_url()) {
            Some(at) => write!(f, "{scheme}://***{}", &rest[at..])?,
            None => f.write_str(shown)?,
        }
        if shown.len() < self.source.len() { f.write_str("?***") } else { Ok(()) }
    }
}

impl fmt::Debug for Clip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{}", if self.kept { " (kept)" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_shows_neither_the_query_nor_the_user_of_its_url() {
        let shown = |source: &str| Clip::named(source).to_string();
        assert_eq!(shown("chime"), "chime");
        assert_eq!(shown("https://a.example/b.wav"), "https://a.example/b.wav");
        assert_eq!(shown("https://a.example/b.wav?key=1#x"), "https://a.example/b.wav?***");
        assert_eq!(shown("https://me:pass@a.example/b.wav"), "https://***@a.example/b.wav");
        assert_eq!(shown("https://me:pa/ss@a.example/b.wav"), "https://***@a.example/b.wav");
        assert_eq!(
            format!("{:?}", Clip::named("https://a.example/?k=1").kept()),
            "https://a.example/?*** (kept)"
        );
    }
}
