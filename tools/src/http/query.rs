// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arguments as a query: form encoding, in the order in which the schema names them.

use reqwest::Url;
use serde_json::Value;

/// `url` with `args` after whatever query it has. A list repeats its key, an object is JSON text, a null is left out.
pub(super) fn with(url: &Url, order: &[String], args: &Value) -> Url {
    let Value::Object(fields) = args else { return url.clone() };
    let strangers = fields.keys().filter(|key| !order.contains(key));
    let pairs: Vec<(&str, String)> = order
        .iter()
        .chain(strangers)
        .filter_map(|key| fields.get(key).map(|value| (key.as_str(), value)))
        .flat_map(|(key, value)| texts(value).into_iter().map(move |text| (key, text)))
        .collect();
    let mut url = url.clone();
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    url
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            text(value).into_iter().collect()
        }
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}
