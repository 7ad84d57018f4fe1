// SPDX-License-Identifier: MIT OR Apache-2.0

//! Shapes whatever a tool gave into the one answer that the model reads: bounded, plain, and never mistaken for trusted
//! text.
//!
//! Only code of this process can set `status`, `message`, `error` or `instruction`; every value a tool brought from
//! elsewhere is nested below `result`, so a foreign `instruction` is data there.

use serde::Serialize;
use serde_json::{Map, Value};
use units::Clip;

use crate::result::{Content, ErrorKind, RawOutcome, Said, ToolResult};

mod cut;
mod strict;

pub use cut::RESULT_CHARS_MAX;
pub(crate) use cut::shortened;
pub use strict::Fault;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what it says.
    Success,
    /// It was started and goes on by itself.
    Running,
    /// It failed before or without an effect, or says so itself.
    Error,
    /// It began its effect and did not come back: nobody knows.
    Unknown,
    /// It was stopped before it did anything.
    Cancelled,
}

impl Status {
    /// The word the model reads.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Running => "running",
            Self::Error => "error",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A result as it leaves this crate.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaped {
    /// How the call ended.
    pub status: Status,
    /// What the model reads: a JSON object of at most [`RESULT_CHARS_MAX`] characters.
    pub body: Value,
    /// Events for the screen, in order, to be shown before the model gets its answer.
    pub events: Vec<(String, Value)>,
    /// A clip to play after the speech this result provokes.
    pub clip_after: Option<Clip>,
    /// Nothing need be said about it.
    pub silent_ok: bool,
}

/// What the model reads when the effect of a call is in doubt.
const UNKNOWN: &str = "It was started; whether it finished is not known. Say so. Do not repeat it.";

/// Names the call, not its subject: a bare "cancelled" has been read aloud as "your order was cancelled".
const CANCELLED: &str = "this tool call was stopped before it did anything";

/// What the model reads where a result has nothing in it.
const NOTHING: &str = "Done; there is nothing to report.";
const NO_RECORDS: &str = "No matching records found.";

/// Serialises without loss: what JSON cannot carry is a fault, not a `null`.
///
/// # Errors
/// The first number that is not finite, key that is not a string, or byte string.
pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<Value, Fault> {
    strict::check(value)?;
    serde_json::to_value(value).map_err(|error| Fault::from_text(error.to_string()))
}

/// Shapes the outcome of the tool called `name`. `on_failure` goes with every error that brings no instruction itself.
#[must_use]
pub fn shape(name: &str, outcome: RawOutcome, on_failure: Option<&str>) -> Shaped {
    match outcome {
        Ok(ToolResult { fault: Some(fault), .. }) => {
            tracing::error!(tool = name, %fault, "the result cannot be written as JSON");
            failed(name, ErrorKind::Private, None, on_failure)
        }
        Ok(result) => finished(result, on_failure),
        Err(error) => {
            let cause = error.chain();
            match &error.kind {
                ErrorKind::Cancelled | ErrorKind::InvalidArguments(_) => {
                    tracing::debug!(tool = name, cause, "call not carried out");
                }
                ErrorKind::Public(_) | ErrorKind::Private | ErrorKind::Unknown => {
                    tracing::warn!(tool = name, cause, "tool failed");
                }
            }
            failed(name, error.kind, error.instruction, on_failure)
        }
    }
}

fn finished(result: ToolResult, on_failure: Option<&str>) -> Shaped {
    let ToolResult { content, instruction, events, clip_after, silent_ok, fault: _ } = result;
    let mut body = Map::new();
    let status = match content {
        Content::Said { status, message, data } => {
            let status = match status {
                Said::Success => Status::Success,
                Said::Running => Status::Running,
            };
            body.insert("status".to_owned(), status.word().into());
            if !message.is_empty() {
                body.insert("message".to_owned(), message.into());
            }
            if let Some(data) = data {
                body.insert("result".to_owned(), data);
            }
            status
        }
        Content::Failed { error, data } => {
            body.insert("status".to_owned(), Status::Error.word().into());
            body.insert("error".to_owned(), error.into());
            if let Some(data) = data {
                body.insert("result".to_owned(), data);
            }
            Status::Error
        }
        Content::Plain(value) => {
            plain(&mut body, value);
            Status::Success
        }
        Content::Answered { ended, body: answered } => {
            body = answered;
            ended
        }
    };
    let instruction = match status {
        // Of these, only a service that did not answer ends in doubt; its integrator wrote for that too.
        Status::Error | Status::Unknown => instruction.or_else(|| on_failure.map(str::to_owned)),
        Status::Success | Status::Running | Status::Cancelled => instruction,
    };
    if let Some(instruction) = instruction {
        body.insert("instruction".to_owned(), instruction.into());
    }
    Shaped { status, body: cut::bounded(body), events, clip_after, silent_ok }
}

/// A bare value. An empty one gets words, or a model takes it for a failure and asks again.
fn plain(body: &mut Map<String, Value>, value: Value) {
    body.insert("status".to_owned(), Status::Success.word().into());
    match value {
        Value::Array(ref items) if items.is_empty() => {
            body.insert("results".to_owned(), value);
            body.insert("count".to_owned(), 0.into());
            body.insert("message".to_owned(), NO_RECORDS.into());
            body.insert("retryable".to_owned(), false.into());
        }
        Value::Object(ref fields) if fields.is_empty() => {
            body.insert("results".to_owned(), value);
            body.insert("message".to_owned(), NO_RECORDS.into());
            body.insert("retryable".to_owned(), false.into());
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            let falsy = match &value {
                Value::Null => true,
                Value::Bool(flag) => !flag,
                Value::Number(number) => number.as_f64() == Some(0.0),
                Value::String(text) => text.is_empty(),
                Value::Array(_) | Value::Object(_) => false,
            };
            body.insert("result".to_owned(), value);
            if falsy {
                body.insert("message".to_owned(), NOTHING.into());
            }
        }
    }
}

fn failed(name: &str, kind: ErrorKind, instruction: Option<String>, on_failure: Option<&str>) -> Shaped {
    let mut body = Map::new();
    let mut say = |status: Status, key: &str, text: String| {
        body.insert("status".to_owned(), status.word().into());
        body.insert(key.to_owned(), text.into());
        status
    };
    let status = match kind {
        ErrorKind::Public(text) => say(Status::Error, "error", text),
        ErrorKind::Private => say(Status::Error, "error", format!("the {name} tool failed")),
        ErrorKind::InvalidArguments(detail) => {
            let status = say(Status::Error, "error", "invalid arguments".to_owned());
            body.insert("detail".to_owned(), detail.into());
            status
        }
        ErrorKind::Unknown => say(Status::Unknown, "message", UNKNOWN.to_owned()),
        ErrorKind::Cancelled => say(Status::Cancelled, "message", CANCELLED.to_owned()),
    };
    let fallback = match status {
        Status::Error => on_failure.map(str::to_owned),
        Status::Success | Status::Running | Status::Unknown | Status::Cancelled => None,
    };
    if let Some(instruction) = instruction.or(fallback) {
        body.insert("instruction".to_owned(), instruction.into());
    }
    Shaped { status, body: cut::bounded(body), events: Vec::new(), clip_after: None, silent_ok: false }
}
