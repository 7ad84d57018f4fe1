// SPDX-License-Identifier: MIT OR Apache-2.0

//! What class of failure an ended connection is, and what a technician should do about it.
//!
//! Google's close codes do not tell causes apart: 1007 stands for a bad key, a bad set-up, a stale handle and a full
//! context; 1011 for overload, quota and a planned end. So code, text and the moment decide together. Source: Google's
//! Live API guides and closes reported by users of other clients, collected in 2026.

use std::io;

use session::{FailureCause, LinkFailure};

use super::Secret;
use super::mask::masked;

/// How far the connection had come when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No `setupComplete` yet.
    SettingUp {
        /// The set-up carried a handle.
        resuming: bool,
    },
    /// Set up.
    Established,
}

/// Longest piece of a peer's text that is repeated in ours. A close reason is at most 123 bytes long.
const EXCERPT_CHARS: usize = 160;

pub(super) fn requested() -> LinkFailure {
    LinkFailure { cause: FailureCause::Requested, text: "closed by us".into() }
}

pub(super) fn transient(text: String) -> LinkFailure {
    LinkFailure { cause: FailureCause::Transient, text }
}

pub(super) fn protocol(text: String) -> LinkFailure {
    LinkFailure { cause: FailureCause::Protocol, text }
}

/// The peer closed the connection with `code` and `reason`.
pub(super) fn closed(code: u16, reason: &str, stage: Stage, key: &Secret) -> LinkFailure {
    let (cause, remedy) = verdict(code, &reason.to_lowercase(), stage);
    let told = if reason.is_empty() { String::new() } else { format!(" \"{}\"", excerpt(reason, key)) };
    LinkFailure { cause, text: format!("provider closed the connection with {code}{told}: {remedy}") }
}

/// The connection ended without a close message.
pub(super) fn lost(error: Option<&io::Error>) -> LinkFailure {
    let cause = error.map_or_else(String::new, |error| format!(" ({error})"));
    transient(format!("connection to the provider lost{cause}: check the network"))
}

/// The peer answered the request for a WebSocket with an HTTP `status` of its own.
pub(super) fn refused(status: u16, body: &str, url: &str, key: &Secret) -> LinkFailure {
    let (cause, remedy) = match status {
        401 | 403 => (FailureCause::Credentials, "check the API key and what it may be used for"),
        407 => (FailureCause::Refused, "a proxy wants a login"),
        429 => (FailureCause::Quota, "out of quota, or too many connections"),
        408 | 500..=599 => (FailureCause::Transient, "the provider or a proxy has trouble"),
        _ => (FailureCause::Refused, "check the endpoint"),
    };
    let told = if body.trim().is_empty() { String::new() } else { format!(" \"{}\"", excerpt(body, key)) };
    LinkFailure { cause, text: format!("{url} answered HTTP {status}{told}: {remedy}") }
}

fn verdict(code: u16, reason: &str, stage: Stage) -> (FailureCause, &'static str) {
    let says = |needles: &[&str]| needles.iter().any(|needle| reason.contains(needle));
    // Causes that name themselves, under whatever code they come.
    if says(&["api key", "api_key", "unregistered callers", "permission", "unauthenticated", "access token"])
    {
        return (FailureCause::Credentials, "check the API key");
    }
    if says(&["quota", "resource_exhausted", "resource exhausted", "concurrent sessions", "billing"]) {
        return (
            FailureCause::Quota,
            "out of quota: check plan and billing, and that no other device uses the key",
        );
    }
    if says(&["user location"]) {
        return (FailureCause::Refused, "the provider does not serve this country");
    }
    match code {
        1000 => (FailureCause::Transient, "the provider ended it in order"),
        1007 => invalid(&says, stage),
        1008 => policy(&says, stage),
        1009 => (FailureCause::Protocol, "a message of ours was too big for the provider"),
        1002 | 1003 | 1010 => (FailureCause::Protocol, "the provider and we do not speak the same protocol"),
        1011 if says(&["deadline expired"]) => {
            (FailureCause::Transient, "the connection had reached its longest life")
        }
        1011 => {
            (FailureCause::Transient, "trouble at the provider, or an earlier connection is still held there")
        }
        _ => (FailureCause::Transient, "the provider or a proxy went away"),
    }
}

/// 1007: something sent was not valid.
fn invalid(says: &dyn Fn(&[&str]) -> bool, stage: Stage) -> (FailureCause, &'static str) {
    if says(&["content_type_audio"]) {
        return (FailureCause::Transient, "microphone audio met an open call");
    }
    match stage {
        Stage::SettingUp { resuming: true } => (FailureCause::HandleRefused, "the session cannot be resumed"),
        Stage::SettingUp { resuming: false } => (
            FailureCause::Refused,
            "the set-up was refused: check model, voice, instruction and tool schemas",
        ),
        // The set-up was good, so what the session has gathered since is not: a full context, or a message.
        Stage::Established => (FailureCause::HandleRefused, "the session went bad: start a fresh one"),
    }
}

/// 1008: not allowed, or not there.
fn policy(says: &dyn Fn(&[&str]) -> bool, stage: Stage) -> (FailureCause, &'static str) {
    if says(&["for api version", "not supported for bidigeneratecontent", "publisher model"]) {
        return (FailureCause::Refused, "no such model here: check the model id");
    }
    if says(&["operation was aborted", "operation is not implemented"]) {
        return (
            FailureCause::Transient,
            "a known fault around calls: if it keeps coming, use another model",
        );
    }
    match stage {
        Stage::SettingUp { resuming: true } => (FailureCause::HandleRefused, "the session cannot be resumed"),
        Stage::SettingUp { resuming: false } => {
            (FailureCause::Refused, "refused: check model id and endpoint")
        }
        Stage::Established if says(&["not found"]) => {
            (FailureCause::HandleRefused, "the session or a call in it is gone: start a fresh one")
        }
        Stage::Established => (FailureCause::Transient, "refused in the middle of the session"),
    }
}

/// The start of a peer's text, on one line. The key is masked before the cut: half a key is not recognized.
pub(super) fn excerpt(text: &str, key: &Secret) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = masked(line.as_bytes(), key);
    let line = String::from_utf8_lossy(&line);
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureCause::{Credentials, HandleRefused, Protocol, Quota, Refused, Transient};

    const FRESH: Stage = Stage::SettingUp { resuming: false };
    const RESUMING: Stage = Stage::SettingUp { resuming: true };
    const LIVE: Stage = Stage::Established;

    fn key() -> Secret {
        Secret::new("AIza-secret-key")
    }

    #[test]
    fn code_text_and_moment_decide() {
        let table = [
            (1000, "", LIVE, Transient),
            (1001, "", LIVE, Transient),
            (1006, "", LIVE, Transient),
            (1012, "", FRESH, Transient),
            (1013, "", FRESH, Transient),
            (1007, "API key not valid. Please pass a valid API key.", FRESH, Credentials),
            (1007, "API key not valid. Please pass a valid API key.", RESUMING, Credentials),
            (1007, "Request contains an invalid argument.", FRESH, Refused),
            (1007, "Request contains an invalid argument.", RESUMING, HandleRefused),
            (1007, "Request contains an invalid argument.", LIVE, HandleRefused),
            (1007, "Invalid JSON payload received. Unknown name \"const\"", FRESH, Refused),
            (1007, "Precondition check failed.", FRESH, Refused),
            (1007, "User location is not supported for the API use.", RESUMING, Refused),
            (1007, "CONTENT_TYPE_AUDIO is not supported", LIVE, Transient),
            (1008, "models/x is not found for API version v1beta, or is not supported for", FRESH, Refused),
            (
                1008,
                "models/x is not found for API version v1beta, or is not supported for",
                RESUMING,
                Refused,
            ),
            (1008, "Publisher model was not found", FRESH, Refused),
            (1008, "Operation is not implemented, or supported, or enabled.", LIVE, Transient),
            (1008, "The operation was aborted.", LIVE, Transient),
            (1008, "Requested entity was not found.", LIVE, HandleRefused),
            (1008, "BidiGenerateContent session not found", RESUMING, HandleRefused),
            (1008, "Method doesn't allow unregistered callers", FRESH, Credentials),
            (1008, "The caller does not have permission", FRESH, Credentials),
            (1011, "Internal error encountered.", RESUMING, Transient),
            (1011, "The service is currently unavailable.", FRESH, Transient),
            (1011, "You exceeded your current quota, please check your plan and billing", FRESH, Quota),
            (1011, "RESOURCE_EXHAUSTED: maximum concurrent sessions", FRESH, Quota),
            (1011, "Deadline expired before operation could complete.", LIVE, Transient),
            (1009, "", LIVE, Protocol),
            (1002, "", LIVE, Protocol),
            (4242, "", LIVE, Transient),
        ];
        for (code, reason, stage, cause) in table {
            let failure = closed(code, reason, stage, &key());
            assert_eq!(failure.cause, cause, "{code} {reason:?} {stage:?}: {}", failure.text);
            assert!(
                failure.text.contains(&code.to_string()) && failure.text.contains(reason),
                "{}",
                failure.text
            );
        }
    }

    #[test]
    fn an_http_answer_is_classified_too() {
        let table = [
            (400, Refused),
            (401, Credentials),
            (403, Credentials),
            (404, Refused),
            (407, Refused),
            (429, Quota),
            (503, Transient),
        ];
        for (status, cause) in table {
            assert_eq!(refused(status, "<html>", "wss://host/path", &key()).cause, cause, "{status}");
        }
    }

    #[test]
    fn a_peers_text_stays_short_and_on_one_line() {
        let text = excerpt(&format!("a\nb{}", "x".repeat(500)), &key());
        assert!(text.starts_with("a b") && text.ends_with('…') && text.chars().count() == EXCERPT_CHARS + 1);
    }

    #[test]
    fn the_key_is_masked_wherever_the_cut_falls() {
        for lead in EXCERPT_CHARS - 20..EXCERPT_CHARS + 5 {
            let told = format!("{}AIza-secret-key is not valid", "x".repeat(lead));
            for failure in [closed(1007, &told, FRESH, &key()), refused(403, &told, "wss://host", &key())] {
                assert!(
                    failure.text.contains("xxx") && !failure.text.contains("AI"),
                    "{lead}: {}",
                    failure.text
                );
            }
        }
    }
}
