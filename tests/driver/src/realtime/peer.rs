// SPDX-License-Identifier: MIT OR Apache-2.0

//! The other end of the wire: what it says by itself, and what it answers. It holds to the rules of the protocol.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Item, Said};

/// The provider, for one connection.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    active: bool,
    /// The calls of the active response.
    calls: Vec<Item>,
    /// Ids of calls that have no output yet.
    unanswered: BTreeSet<String>,
}

impl Peer {
    /// A response is active.
    pub(crate) const fn is_active(&self) -> bool {
        self.active
    }

    /// A message of ours: what it says to that.
    ///
    /// # Errors
    /// It takes no such message: why not.
    pub(crate) fn take(&mut self, message: &Value) -> Result<Vec<Said>, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match message["type"].as_str() {
            Some("session.update") => Ok(Vec::new()),
            Some("conversation.item.create") => {
                let item = &message["item"];
                if item["type"] == "function_call" {
                    self.unanswered.insert(text(&item["call_id"]));
                }
                if item["type"] == "function_call_output" && !self.unanswered.remove(&text(&item["call_id"]))
                {
                    return Err(format!("an output for a call that waits for none: {item}"));
                }
                Ok(vec![Said::Added { item: text(&item["id"]) }])
            }
            Some("response.create") => {
                let request = text(&message["event_id"]);
                Ok(vec![if std::mem::replace(&mut self.active, true) {
                    Said::Refused { request }
                } else {
                    Said::Created { request: Some(request) }
                }])
            }
            _ => Err(format!("no such message: {message}")),
        }
    }

    /// It begins a response by itself, unless one is active.
    pub(crate) fn begin(&mut self) -> Option<Said> {
        let begun = !std::mem::replace(&mut self.active, true);
        begun.then_some(Said::Created { request: None })
    }

    /// A call appears in the active response.
    pub(crate) fn add(&mut self, item: Item) {
        self.calls.push(item);
    }

    /// The next piece of a call that is not over.
    pub(crate) fn write(&mut self, id: &str, text: &str) -> Option<Said> {
        let item = self.calls.iter_mut().find(|item| item.id == id && !item.whole)?;
        item.arguments.get_or_insert_default().push_str(text);
        Some(Said::Piece { item: id.to_owned(), text: text.to_owned() })
    }

    /// A call is written to its end.
    pub(crate) fn finish(&mut self, id: &str) -> Option<Said> {
        let item = self.calls.iter_mut().find(|item| item.id == id && !item.whole)?;
        item.whole = true;
        self.unanswered.insert(item.call_id.clone().unwrap_or_else(|| item.id.clone()));
        Some(Said::Called(item.clone()))
    }

    /// The active response is over: it has said all, or was cut.
    pub(crate) fn end(&mut self) -> Option<Said> {
        let calls = std::mem::take(&mut self.calls);
        std::mem::take(&mut self.active).then_some(Said::Done { calls })
    }
}
