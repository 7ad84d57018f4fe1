// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a server or the library wrote, as words for a log, a terminal and a person.

use std::error::Error;

use reqwest::Error as HttpError;
use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::shape::shortened;

/// Longest cause that is told, in characters.
const CAUSE_CHARS_MAX: usize = 200;

/// `text` without anything that a terminal acts on, and at most `chars` characters of it. Line breaks are spaces: no
/// line of a log may look as if somebody else had written it.
pub(super) fn clean(text: &str, chars: usize) -> String {
    // One more than is kept, so that what is longer is still seen to be.
    let head = text.trim().chars().take(chars + 1);
    shortened(&head.map(|char| if acts(char) { ' ' } else { char }).collect::<String>(), chars)
}

/// Whether a terminal does something at this character rather than show it: controls, line and paragraph separators,
/// and those that turn the direction of what follows.
pub(super) fn acts(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The innermost cause on one line: the library's own texts hold types of ours and whole messages of the server.
pub(super) fn brief(cause: &(dyn Error + 'static)) -> String {
    clean(&innermost(cause), CAUSE_CHARS_MAX)
}

fn innermost(cause: &(dyn Error + 'static)) -> String {
    let unexpected = || "it answered something else".to_owned();
    let says = |message: &str| format!("it says: {message}");
    match cause.downcast_ref::<ClientInitializeError>() {
        Some(ClientInitializeError::TransportError { error, .. }) => return innermost(error.error.as_ref()),
        Some(
            ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_),
        ) => return unexpected(),
        Some(ClientInitializeError::ConnectionClosed(_)) => return "the connection was closed".to_owned(),
        Some(ClientInitializeError::JsonRpcError(error)) => return says(&error.message),
        Some(_) | None => {}
    }
    match cause.downcast_ref::<ServiceError>() {
        Some(ServiceError::McpError(error)) => return says(&error.message),
        Some(ServiceError::UnexpectedResponse) => return unexpected(),
        Some(_) | None => {}
    }
    if let Some(StreamableHttpError::Client(cause)) = cause.downcast_ref::<StreamableHttpError<HttpError>>() {
        return innermost(cause);
    }
    cause.source().map_or_else(|| cause.to_string(), innermost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_somebody_else_is_one_line_that_no_terminal_acts_on() {
        assert_eq!(clean("a\nb\u{1b}[2J\u{202e}c\u{2028}d\u{9b}e", 80), "a b [2J c d e");
        assert_eq!(clean(&"x".repeat(1_000_000), 80).chars().count(), 80);
        assert_eq!(clean("Wägezelle", 80), "Wägezelle");
    }
}
