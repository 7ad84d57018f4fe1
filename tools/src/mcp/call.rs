// SPDX-License-Identifier: MIT OR Apache-2.0

//! One call of a server's tool, and what of its answer may be read.

use std::future::pending;
use std::io;
use std::sync::Arc;

use reqwest::Error as HttpError;
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, RequestMetaObject, Tool,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::{Map, Value, json};

use super::lines::Lost;
use super::server::Server;
use super::template::Template;
use super::words::brief;
use crate::cx::{Cancelled, Cx};
use crate::result::{RawOutcome, ToolError, ToolResult};
use crate::secret::masked;
use crate::shape::shortened;

/// Longest plain text of a server that is looked at, in characters.
const TEXT_CHARS_MAX: usize = 2000;

/// Most data of a server that is cut along its structure; more is taken for plain text. Cutting takes time that a
/// conversation does not have.
const DATA_BYTES_MAX: usize = 64 * 1024;

/// Longest name of an event.
const NAME_CHARS_MAX: usize = 64;

/// Longest name or URL of a clip.
const CLIP_CHARS_MAX: usize = 1000;

/// What is called.
pub(super) struct Call {
    pub(super) server: Arc<Server>,
    /// The tool as it was when it was offered.
    pub(super) tool: Arc<Tool>,
    /// It does more than look.
    pub(super) acts: bool,
    /// Nobody waits for it; how far it is, is noted.
    pub(super) job: bool,
    pub(super) schema: Value,
    pub(super) confirm: Option<Template>,
}

/// Runs one call. Its deadline is kept by whoever polls this: dropping it tells the server.
pub(super) async fn call(what: Arc<Call>, args: Value, cx: Cx) -> RawOutcome {
    let name = what.server.name();
    let Some(up) = what.server.up().filter(|up| !up.peer.is_transport_closed()) else {
        return Err(ToolError::public(format!("the {name} server is not running")));
    };
    match up.tools.iter().find(|tool| tool.name == what.tool.name) {
        None => return Err(ToolError::public(format!("the {name} server does not have this tool any more"))),
        // A person agreed to, and a model filled in, what was shown.
        Some(tool)
            if tool.input_schema != what.tool.input_schema || tool.annotations != what.tool.annotations =>
        {
            return Err(ToolError::public(format!(
                "the {name} server has changed this tool; it can be used in the next conversation"
            )));
        }
        Some(_) => {}
    }
    let mut params = CallToolRequestParams::new(what.tool.name.clone()).with_arguments(complete(&what, args));
    let listener = what.job.then(|| up.progress.listen());
    let mut meta = facts(&cx);
    if let Some(listener) = &listener {
        listener.mark(&mut meta);
    }
    params.meta = Some(meta);
    let noted = async {
        match listener {
            Some(listener) => listener.note(&what.server, &cx).await,
            None => pending().await,
        }
    };
    if what.acts {
        cx.begin_effect()?;
    }
    let answer = tokio::select! {
        biased;
        answer = up.peer.call_tool_once(params) => answer,
        // Only a call that has not begun its effect can be cancelled; dropping the request tells the server.
        () = cx.cancelled() => return Err(Cancelled.into()),
        what_is_wrong = lost(up.lost.clone()) => {
            return Err(failed(&cx, format!("the answer of the {name} server {what_is_wrong}")));
        }
        never = noted => match never {},
    };
    match answer {
        Ok(CallToolResponse::Complete(result)) => Ok(read(&what.server, result)),
        // Both would go on without the person and the model knowing.
        Ok(_) => Err(failed(&cx, format!("the {name} server asked back instead of answering"))),
        Err(ServiceError::McpError(error)) => {
            let told = json!({"code": error.code.0, "message": error.message});
            Ok(ToolResult::error(format!("the {name} server refused the call"))
                .data(masked(told, what.server.secrets())))
        }
        Err(cause @ (ServiceError::TransportSend(_) | ServiceError::TransportClosed)) => {
            what.server.mark_broken();
            let text = format!("the {name} server is not running");
            Err(if never_sent(&cause) { ToolError::public(text) } else { failed(&cx, text) }
                .because(brief(&cause)))
        }
        Err(cause) => {
            Err(failed(&cx, format!("the {name} server gave no usable answer")).because(brief(&cause)))
        }
    }
}

/// Once its effect has begun, what became of a call without an answer is not known.
fn failed(cx: &Cx, text: String) -> ToolError {
    if cx.has_begun() { ToolError::unknown().because(text) } else { ToolError::public(text) }
}

/// The arguments, with the defaults that the person was told in the sentence.
fn complete(what: &Call, args: Value) -> Map<String, Value> {
    let Value::Object(mut args) = args else { return Map::new() };
    for place in what.confirm.iter().flat_map(Template::places) {
        let default = what.schema.get("properties").and_then(|known| known.get(place)?.get("default"));
        if let (false, Some(default)) = (args.contains_key(place), default) {
            args.insert(place.to_owned(), default.clone());
        }
    }
    args
}

/// What a server may know of a call.
fn facts(cx: &Cx) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    if let Some(key) = cx.idempotency_key() {
        meta.insert("idempotencyKey".to_owned(), key.into());
    }
    meta.insert("session".to_owned(), cx.session().into());
    meta.insert("turn".to_owned(), cx.turn().0.into());
    meta
}

/// Comes back when an answer was dropped, with what was wrong with it. Whose it was is not known: a server's calls follow
/// each other.
pub(super) async fn lost(lost: Option<Lost>) -> &'static str {
    if let Some(mut lost) = lost {
        lost.mark_unchanged();
        if lost.changed().await.is_ok() {
            return lost.borrow().1;
        }
    }
    pending().await
}

/// Whether the cause proves that the server has not seen the call.
fn never_sent(cause: &ServiceError) -> bool {
    let ServiceError::TransportSend(cause) = cause else { return false };
    let cause = cause.error.as_ref();
    if let Some(error) = cause.downcast_ref::<StreamableHttpError<HttpError>>() {
        // A server that was started again does not know us, and says so instead of doing anything.
        let refused = matches!(error, StreamableHttpError::Client(error) if error.is_connect());
        return refused || matches!(error, StreamableHttpError::SessionExpired);
    }
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotConnected)
}

/// An answer as the model may read it: whatever the server wrote is below `result`, and of what it was given in confidence
/// nothing is in it.
fn read(server: &Server, answer: CallToolResult) -> ToolResult {
    let (name, secrets, trusted) = (server.name(), server.secrets(), server.config.trusted);
    let value = match answer.structured_content {
        Some(value) => value,
        None => joined(answer.content),
    };
    let value = bounded(masked(value, secrets));
    let mut result = if answer.is_error == Some(true) {
        ToolResult::error(format!("the {name} server says that it did not work")).data(value)
    } else {
        ToolResult::plain(value)
    };
    let Some(voice) = answer.meta.and_then(|mut meta| meta.remove("voice")) else { return result };
    let mut voice = masked(voice, secrets);
    if !trusted {
        tracing::debug!(server = name, "it is not trusted: its instruction, event or clip is ignored");
        return result;
    }
    if let Some(instruction) = voice.get("instruction").and_then(Value::as_str) {
        result = result.then_say(instruction);
    }
    if let Some(clip) =
        voice.get("clip").and_then(Value::as_str).filter(|clip| is_named(clip, CLIP_CHARS_MAX))
    {
        result = result.clip_after(clip);
    }
    if let Some(event) = voice.get_mut("event") {
        let payload = event.get_mut("payload").map_or(Value::Null, Value::take);
        if let Some(name) =
            event.get("name").and_then(Value::as_str).filter(|name| is_named(name, NAME_CHARS_MAX))
        {
            result = result.event(name, bounded(payload));
        }
    }
    result
}

fn is_named(name: &str, chars_max: usize) -> bool {
    !name.is_empty() && name.chars().count() <= chars_max && !name.contains(char::is_control)
}

/// Text as one, read as JSON if it is, and a marker for each thing that cannot be spoken.
fn joined(content: Vec<ContentBlock>) -> Value {
    let mut texts = Vec::new();
    let mut omitted = Vec::new();
    for block in content {
        let kind = match block {
            ContentBlock::Text(text) => {
                texts.push(text.text);
                continue;
            }
            ContentBlock::Image(_) => "image",
            ContentBlock::Audio(_) => "audio",
            ContentBlock::Resource(_) | ContentBlock::ResourceLink(_) => "resource",
            _ => "something",
        };
        omitted.push(json!({"omitted": kind}));
    }
    let text = texts.join("\n");
    let text = (!texts.is_empty()).then(|| parsed(text));
    match (text, omitted.len()) {
        (text, 0) => text.unwrap_or(Value::Null),
        (None, 1) => omitted.remove(0),
        (text, _) => text.into_iter().chain(omitted).collect(),
    }
}

fn parsed(text: String) -> Value {
    let json = if text.len() <= DATA_BYTES_MAX { serde_json::from_str(&text).ok() } else { None };
    json.unwrap_or_else(|| Value::String(shortened(&text, TEXT_CHARS_MAX)))
}

fn bounded(value: Value) -> Value {
    match &value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(_) | Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() <= DATA_BYTES_MAX { value } else { Value::String(shortened(&text, TEXT_CHARS_MAX)) }
        }
    }
}
