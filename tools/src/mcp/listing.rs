// SPDX-License-Identifier: MIT OR Apache-2.0

//! A list of tools of which something cannot be read: what can be is taken, and what cannot be is told of.

use std::sync::{Arc, Mutex};

use rmcp::model::{CustomResult, JsonRpcMessage, ListToolsResult, ServerJsonRpcMessage, ServerResult, Tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::offer::{NAME_CHARS_MAX, REASON_CHARS_MAX};
use super::server::TOOLS_MAX;
use super::words::clean;
use crate::lock;
use crate::secret::{Secret, redacted};

/// One that cannot be read; both texts are clean and short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Faulty {
    /// Its name, or its place where it has none.
    pub(super) name: String,
    pub(super) why: String,
}

/// What could not be read of the list that is being fetched. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    secrets: Arc<[Secret]>,
    /// At most [`TOOLS_MAX`].
    faulty: Arc<Mutex<Vec<Faulty>>>,
}

impl Unread {
    /// Nothing yet. What a server wrote is kept without copies of `secrets`.
    pub(super) fn new(secrets: &Arc<[Secret]>) -> Self {
        Self { secrets: Arc::clone(secrets), faulty: Arc::default() }
    }

    /// All of it; what follows is of another list.
    pub(super) fn take(&self) -> Vec<Faulty> {
        std::mem::take(&mut *lock(&self.faulty))
    }

    fn push(&self, name: &str, why: &str) {
        let mut faulty = lock(&self.faulty);
        if faulty.len() < TOOLS_MAX {
            let kept = |text, chars| clean(&redacted(&self.secrets, text), chars);
            faulty.push(Faulty { name: kept(name, NAME_CHARS_MAX), why: kept(why, REASON_CHARS_MAX) });
        }
    }
}

/// Whether this was meant to be a list, if it answers a request for one. A list with a single item that is no tool is taken
/// by the library for an answer of the server's own kind.
pub(super) fn is_broken_list(result: &ServerResult) -> bool {
    matches!(result, ServerResult::CustomResult(CustomResult(Value::Object(fields)))
        if fields.get("tools").is_some_and(Value::is_array))
}

/// The same message with a list of those items that are tools. Takes time with the length of the message.
pub(super) fn mended(mut message: ServerJsonRpcMessage, unread: &Unread) -> ServerJsonRpcMessage {
    if let JsonRpcMessage::Response(response) = &mut message
        && let ServerResult::CustomResult(CustomResult(Value::Object(fields))) = &mut response.result
    {
        response.result = ServerResult::ListToolsResult(list(fields, unread));
    }
    message
}

fn list(fields: &mut Map<String, Value>, unread: &Unread) -> ListToolsResult {
    let items = match fields.remove("tools") {
        Some(Value::Array(items)) => items,
        Some(_) | None => Vec::new(),
    };
    let mut tools = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match Tool::deserialize(item) {
            Ok(tool) => tools.push(tool),
            Err(cause) => {
                let place = format!("number {}", at + 1);
                let name = item.get("name").and_then(Value::as_str).unwrap_or(&place);
                unread.push(name, &fault(item).unwrap_or_else(|| cause.to_string()));
            }
        }
    }
    let mut list = ListToolsResult::with_all_items(tools);
    // An empty cursor is none: some servers end their lists with it.
    list.next_cursor = fields
        .get("nextCursor")
        .and_then(Value::as_str)
        .filter(|cursor| !cursor.is_empty())
        .map(str::to_owned);
    list
}

/// Which part of it is wrong, and how. `None` if no single one is: something is missing.
fn fault(item: &Value) -> Option<String> {
    let Value::Object(fields) = item else { return Some("it is no object".to_owned()) };
    fields.iter().find_map(|(key, value)| {
        let mut sound = json!({"name": "a", "inputSchema": {}});
        sound[key] = value.clone();
        Tool::deserialize(&sound).err().map(|cause| format!("its {key} cannot be read: {cause}"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    fn mend(result: Value, unread: &Unread) -> ServerResult {
        let text = json!({"jsonrpc": "2.0", "id": 2, "result": result}).to_string();
        let message: ServerJsonRpcMessage = serde_json::from_str(&text).unwrap();
        let JsonRpcMessage::Response(response) = &message else { panic!("it is an answer") };
        assert!(is_broken_list(&response.result), "{response:?}");
        let JsonRpcMessage::Response(response) = mended(message, unread) else { panic!("it is one still") };
        response.result
    }

    #[test]
    fn t108_what_is_no_tool_is_left_out_of_a_list_with_its_reason() {
        let key = "AIza-of-the-provider";
        let unread = Unread::new(&Arc::from([Secret::new(key)]));
        let sound = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let items = json!([
            sound("first"),
            {"name": "seven", "inputSchema": 7},
            {"name": "bare"},
            {"inputSchema": {}, "title": [key]},
            "word",
            {"name": format!("x\n{key}\u{1b}[2J"), "inputSchema": key, "description": {}},
            sound("last"),
        ]);
        let ServerResult::ListToolsResult(list) = mend(json!({"tools": items, "nextCursor": "2"}), &unread)
        else {
            panic!("it is a list")
        };
        let names: Vec<_> = list.tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["first", "last"]);
        assert_eq!(list.next_cursor.as_deref(), Some("2"));
        let told: Vec<_> =
            unread.take().into_iter().map(|faulty| format!("{}: {}", faulty.name, faulty.why)).collect();
        assert_eq!(
            told,
            [
                "seven: its inputSchema cannot be read: invalid type: integer `7`, expected a map",
                "bare: missing field `inputSchema`",
                "number 4: its title cannot be read: invalid type: sequence, expected a string",
                "number 5: it is no object",
                "x *** [2J: its description cannot be read: invalid type: map, expected a string",
            ]
        );
        assert!(unread.take().is_empty(), "another list begins with nothing");
    }

    #[test]
    fn a_list_of_nothing_but_faults_is_bounded() {
        let unread = Unread::default();
        let item = json!({"name": "n".repeat(10_000), "inputSchema": "s".repeat(10_000)});
        mend(json!({"tools": vec![item; 200]}), &unread);
        let faulty = unread.take();
        assert_eq!(faulty.len(), TOOLS_MAX);
        let longest = faulty.iter().map(|faulty| faulty.name.len() + faulty.why.len()).max().unwrap();
        assert!(longest < 1000, "{longest}");
    }
}
