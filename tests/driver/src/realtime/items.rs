// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls that come in pieces.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use session::ProviderCall;
use tools::parse_arguments;

/// A call as it stands in a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) id: String,
    /// Absent at some servers: the item's own id stands for it.
    pub(crate) call_id: Option<String>,
    pub(crate) name: String,
    /// All of the text, where the provider says it once more.
    pub(crate) arguments: Option<String>,
    /// The model has written all of it. If not, the response was cut and the call means nothing.
    pub(crate) whole: bool,
}

/// The calls of the response that goes on.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pieces: BTreeMap<String, String>,
    /// Items that are over: each is shown up to three times.
    over: BTreeSet<String>,
    whole: Vec<ProviderCall>,
}

impl Items {
    pub(crate) fn on_piece(&mut self, item: &str, text: &str) {
        self.pieces.entry(item.to_owned()).or_default().push_str(text);
    }

    pub(crate) fn on_called(&mut self, item: Item) {
        let Item { id, call_id, name, arguments, whole } = item;
        if !self.over.insert(id.clone()) {
            return;
        }
        let text = arguments.or_else(|| self.pieces.remove(&id)).unwrap_or_default();
        if whole {
            // What is no object is told to the model as what it wrote.
            let args = parse_arguments(&text).unwrap_or(Value::String(text));
            self.whole.push(ProviderCall { id: Some(call_id.unwrap_or(id)), name, args });
        }
    }

    /// The response is over. `listed` are all of its calls, those included that were not shown before.
    pub(crate) fn on_done(&mut self, listed: Vec<Item>) -> Vec<ProviderCall> {
        for item in listed {
            self.on_called(item);
        }
        self.pieces.clear();
        self.over.clear();
        std::mem::take(&mut self.whole)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(id: &str, arguments: Option<&str>) -> Item {
        let arguments = arguments.map(str::to_owned);
        Item { id: id.to_owned(), call_id: None, name: "weigh".to_owned(), arguments, whole: true }
    }

    #[test]
    fn pieces_are_one_call_and_every_showing_of_it_is_the_same() {
        let mut items = Items::default();
        items.on_piece("a", r#"{"n""#);
        items.on_piece("b", r#"{"n":2}"#);
        items.on_piece("a", ":1}");
        items.on_called(item("a", None));
        items.on_called(item("a", Some("{}")));
        let calls = items.on_done(vec![item("a", None), item("b", None), item("c", Some(r#"{"n":3}"#))]);
        let args: Vec<_> = calls.iter().map(|call| call.args.clone()).collect();
        assert_eq!(args, [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]);
        assert_eq!(calls[0].id.as_deref(), Some("a"));
        assert_eq!(items.on_done(Vec::new()), []);
    }

    #[test]
    fn what_was_cut_off_is_no_call() {
        let mut items = Items::default();
        items.on_piece("a", r#"{"n":"#);
        let cut = Item { whole: false, ..item("a", None) };
        assert_eq!(items.on_done(vec![cut]), []);
    }
}
