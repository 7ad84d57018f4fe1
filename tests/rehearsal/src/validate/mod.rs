// SPDX-License-Identifier: MIT OR Apache-2.0

//! Judges what the client sends, message by message, as strictly as the live service and its documentation allow.
//!
//! Three layers, in this order: the text is strict JSON; its shape is that of a client message (exact camelCase
//! names, JSON types, enum values, padded base64); and the rules of use hold that types cannot express (order,
//! activity brackets, what each model takes). The first layer that finds something ends the judgement, because what
//! follows from a malformed message means nothing.

mod json;
mod rules;
mod shape;
mod tools;

use std::fmt;

use serde_json::{Map, Value};

use rules::Rules;

/// One thing that is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Where, as `setup.tools[0].functionDeclarations[1].name`; empty for the message as a whole.
    pub path: String,
    pub text: String,
    pub weight: Weight,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The protocol forbids it; the connection is closed.
    Violation,
    /// Allowed but doubtful; it is noted.
    Note,
}

impl Finding {
    pub(crate) fn violation(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), weight: Weight::Violation }
    }

    pub(crate) fn note(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), weight: Weight::Note }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "$" } else { &self.path };
        write!(f, "{path}: {}", self.text)
    }
}

/// Which service the client takes the rehearsal for; told from the path it connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// The developer API: keys, `models/...`, call ids always there.
    Developer,
    /// The agent platform: bearer tokens, `projects/...`, call ids may be absent.
    Platform,
}

/// A message that passed: its kind and the object under it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClientMessage {
    Setup(Map<String, Value>),
    ClientContent(Map<String, Value>),
    RealtimeInput(Map<String, Value>),
    ToolResponse(Map<String, Value>),
    ContextUpdate,
}

/// Judges the messages of one connection, in order.
#[derive(Debug)]
pub(crate) struct Validator {
    rules: Rules,
}

impl Validator {
    pub(crate) fn new(backend: Backend) -> Self {
        Self { rules: Rules::new(backend) }
    }

    /// The message, if nothing in it is a violation, and everything that was found.
    pub(crate) fn check(&mut self, text: &str) -> (Option<ClientMessage>, Vec<Finding>) {
        let message = match json::parse_object(text) {
            Ok(message) => message,
            Err(fault) => return (None, vec![Finding::violation("", fault)]),
        };
        let mut found = Vec::new();
        shape::check_client_message(&message, &mut found);
        if found.is_empty() {
            self.rules.feed(&message, &mut found);
        }
        let bad = found.iter().any(|finding| finding.weight == Weight::Violation);
        (if bad { None } else { kind_of(message) }, found)
    }

    /// The setup was confirmed: other messages may follow.
    pub(crate) fn confirm(&mut self) {
        self.rules.confirm();
    }

    /// Whether the client asked to mark activity itself.
    pub(crate) fn manual_activity(&self) -> bool {
        self.rules.manual_activity()
    }

    /// Whether `turnComplete` carries `interactionStatus`.
    pub(crate) fn reports_status(&self) -> bool {
        self.rules.reports_status()
    }

    /// Whether a call of this function blocks the model until it is answered.
    pub(crate) fn blocks(&self, function: &str) -> bool {
        self.rules.blocks(function)
    }
}

/// The rate of microphone audio with this media type, which a validator has passed.
pub(crate) fn microphone_rate(mime: &str) -> u32 {
    match rules::pcm_rate(mime) {
        Some(rules::PcmRate::Declared(rate)) => rate,
        Some(rules::PcmRate::Assumed) | None => rules::DEFAULT_RATE,
    }
}

fn kind_of(message: Map<String, Value>) -> Option<ClientMessage> {
    let (kind, body) = message.into_iter().next()?;
    let Value::Object(body) = body else { return None };
    match kind.as_str() {
        "setup" => Some(ClientMessage::Setup(body)),
        "clientContent" => Some(ClientMessage::ClientContent(body)),
        "realtimeInput" => Some(ClientMessage::RealtimeInput(body)),
        "toolResponse" => Some(ClientMessage::ToolResponse(body)),
        "contextUpdate" => Some(ClientMessage::ContextUpdate),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
