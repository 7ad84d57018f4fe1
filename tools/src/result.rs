// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a tool returns: what may be said, what is shown, and what only the log keeps.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use units::Clip;

use crate::cx::Cancelled;
use crate::shape::{Fault, Status, to_json};

/// What a run of a tool gives, before it is shaped for the model.
pub type RawOutcome = Result<ToolResult, ToolError>;

/// What a tool brings back.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a result that is not returned is not told to anybody"]
pub struct ToolResult {
    pub(crate) content: Content,
    pub(crate) instruction: Option<String>,
    pub(crate) events: Vec<(String, Value)>,
    pub(crate) clip_after: Option<Clip>,
    pub(crate) silent_ok: bool,
    /// The first value that JSON could not carry: the result is an error then.
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// `ok`, `running`: a status and what to say about it.
    Said { status: Said, message: String, data: Option<Value> },
    /// `error`: what went wrong, fit to be said.
    Failed { error: String, data: Option<Value> },
    /// A value without words of its own.
    Plain(Value),
    /// What a service answered: its own status, passed through, and what it sent below `result`.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only a tool that speaks HTTP makes one"))]
    Answered { ended: Status, body: Map<String, Value> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Success,
    Running,
}

impl ToolResult {
    fn with(content: Content) -> Self {
        Self {
            content,
            instruction: None,
            events: Vec::new(),
            clip_after: None,
            silent_ok: false,
            fault: None,
        }
    }

    /// It worked. `text` is what the model may say about it, in plain words; may be empty.
    pub fn ok(text: impl Into<String>) -> Self {
        Self::with(Content::Said { status: Said::Success, message: text.into(), data: None })
    }

    /// It did not work, and `text` says why in words fit for the person.
    pub fn error(text: impl Into<String>) -> Self {
        Self::with(Content::Failed { error: text.into(), data: None })
    }

    /// It has been started and goes on; `text` says so.
    pub fn running(text: impl Into<String>) -> Self {
        Self::with(Content::Said { status: Said::Running, message: text.into(), data: None })
    }

    /// A value without words of its own.
    pub(crate) fn plain(value: impl Serialize) -> Self {
        match to_json(&value) {
            Ok(value) => Self::with(Content::Plain(value)),
            Err(fault) => Self { fault: Some(fault), ..Self::with(Content::Plain(Value::Null)) },
        }
    }

    /// What a service answered, or that it did not. `body` is what the model reads; what comes from outside stands below
    /// its `result`.
    #[cfg(feature = "http")]
    pub(crate) fn answered(ended: Status, body: Map<String, Value>) -> Self {
        Self::with(Content::Answered { ended, body })
    }

    /// The same without the fields that are not for the model, wherever they stand in its data.
    pub(crate) fn without(mut self, hidden: &BTreeSet<String>) -> Self {
        match &mut self.content {
            Content::Said { data, .. } | Content::Failed { data, .. } => {
                if let Some(data) = data {
                    strip(data, hidden);
                }
            }
            Content::Plain(value) => {
                let whole = value.clone();
                strip(value, hidden);
                // What is left may look like a search that found nothing, which it was not.
                if *value != whole {
                    let data = Some(std::mem::take(value));
                    self.content = Content::Said { status: Said::Success, message: String::new(), data };
                }
            }
            Content::Answered { body, .. } => {
                if let Some(data) = body.get_mut("result") {
                    strip(data, hidden);
                }
            }
        }
        self
    }

    /// Structured data for the model, under `result`. Keep it small: the model reads all of it.
    pub fn data(mut self, data: impl Serialize) -> Self {
        match to_json(&data) {
            Ok(value) => match &mut self.content {
                Content::Said { data, .. } | Content::Failed { data, .. } => *data = Some(value),
                Content::Plain(plain) => *plain = value,
                Content::Answered { body, .. } => drop(body.insert("result".to_owned(), value)),
            },
            Err(fault) => self.fault = self.fault.or(Some(fault)),
        }
        self
    }

    /// A just-in-time instruction: how the model should speak about this result, this once.
    pub fn then_say(mut self, instruction: impl Into<String>) -> Self {
        self.instruction = Some(instruction.into());
        self
    }

    /// An event for the device's screen, shown before the model gets its answer. Events keep their order.
    pub fn event(mut self, name: &str, payload: impl Serialize) -> Self {
        match to_json(&payload) {
            Ok(value) => self.events.push((name.to_owned(), value)),
            Err(fault) => self.fault = self.fault.or(Some(fault)),
        }
        self
    }

    /// A clip that plays after the speech this result provokes: one of the configuration by name, or an `https://` URL on a
    /// host that tools may call. It is dropped when the person speaks before, unless it is [`Clip::kept`].
    pub fn clip_after(mut self, clip: impl Into<Clip>) -> Self {
        self.clip_after = Some(clip.into());
        self
    }

    /// Nothing need be said about it: silence after it is not a fault.
    pub fn silent_ok(mut self) -> Self {
        self.silent_ok = true;
        self
    }
}

fn strip(value: &mut Value, hidden: &BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !hidden.contains(name));
            fields.values_mut().for_each(|field| strip(field, hidden));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, hidden)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Why a tool did not work. One half may be spoken, the other is for the log.
///
/// Every `std::error::Error` becomes one through `?`, as private detail: the model reads only that the tool failed.
/// A [`hal::HalError`] keeps its plain sentence. It does not implement `Error` itself, since that would make the
/// conversion ambiguous.
pub struct ToolError {
    pub(crate) kind: ErrorKind,
    pub(crate) cause: Option<Box<dyn Error + Send + Sync>>,
    pub(crate) instruction: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// Words fit for the person.
    Public(String),
    /// Only that it failed.
    Private,
    /// The arguments did not parse; the text names the fault for the model.
    InvalidArguments(String),
    /// The effect was begun and nobody knows whether it happened.
    Unknown,
    /// Stopped before it did anything.
    Cancelled,
}

impl ToolError {
    fn with(kind: ErrorKind) -> Self {
        Self { kind, cause: None, instruction: None }
    }

    /// A failure whose reason may be spoken.
    #[must_use]
    pub fn public(text: impl Into<String>) -> Self {
        Self::with(ErrorKind::Public(text.into()))
    }

    /// The effect was begun and it cannot be known whether it happened: the person is told just that.
    #[must_use]
    pub fn unknown() -> Self {
        Self::with(ErrorKind::Unknown)
    }

    pub(crate) fn invalid_arguments(detail: impl Into<String>) -> Self {
        Self::with(ErrorKind::InvalidArguments(detail.into()))
    }

    pub(crate) fn private() -> Self {
        Self::with(ErrorKind::Private)
    }

    pub(crate) fn cancelled() -> Self {
        Self::with(ErrorKind::Cancelled)
    }

    /// Adds the cause, for the log only.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// A just-in-time instruction: what the model should do about this failure, this once.
    #[must_use]
    pub fn then_say(mut self, instruction: impl Into<String>) -> Self {
        self.instruction = Some(instruction.into());
        self
    }

    /// Cause and causes of the cause, for the log; what the model is told where there is none.
    pub(crate) fn chain(&self) -> String {
        match (&self.cause, &self.kind) {
            (Some(cause), _) => chain(cause.as_ref()),
            (None, ErrorKind::Public(text)) => text.clone(),
            (None, _) => String::new(),
        }
    }
}

/// The error with its causes.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError").field("kind", &self.kind).field("cause", &self.chain()).finish()
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let known: &(dyn Error + 'static) = &error;
        let kind = match known.downcast_ref::<hal::HalError>() {
            Some(hardware) => ErrorKind::Public(hardware.public()),
            None => ErrorKind::Private,
        };
        Self { kind, cause: Some(Box::new(error)), instruction: None }
    }
}

impl From<Cancelled> for ToolError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::cancelled()
    }
}

/// What a tool function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something a tool can return",
    label = "not a tool result",
    note = "return `ToolResult`, `&str`, `String`, `()`, `Json<T>` with `T: Serialize`, or a `Result` of one of them \
            whose error converts into `ToolError`"
)]
pub trait IntoResult {
    /// The outcome it stands for.
    ///
    /// # Errors
    /// If it stands for a failure.
    fn into_result(self) -> RawOutcome;
}

/// A plain value of your own type, as the model should read it.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(
    /// The value.
    pub T,
);

impl IntoResult for ToolResult {
    fn into_result(self) -> RawOutcome {
        Ok(self)
    }
}

impl IntoResult for () {
    fn into_result(self) -> RawOutcome {
        Ok(ToolResult::plain(()))
    }
}

impl IntoResult for &str {
    fn into_result(self) -> RawOutcome {
        Ok(ToolResult::plain(self))
    }
}

impl IntoResult for String {
    fn into_result(self) -> RawOutcome {
        Ok(ToolResult::plain(self))
    }
}

impl<T: Serialize> IntoResult for Json<T> {
    fn into_result(self) -> RawOutcome {
        Ok(ToolResult::plain(self.0))
    }
}

impl<T: IntoResult, E: Into<ToolError>> IntoResult for Result<T, E> {
    fn into_result(self) -> RawOutcome {
        self.map_err(Into::into)?.into_result()
    }
}
