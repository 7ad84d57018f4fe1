// SPDX-License-Identifier: MIT OR Apache-2.0

//! Cuts an answer to size along its structure, so that what is left is still JSON and says that it was cut.

use serde_json::{Map, Value};

/// Longest answer, in characters of its JSON text. Live models slow down, and then repeat the call, on longer ones.
pub const RESULT_CHARS_MAX: usize = 4000;

/// Longest text written by trusted code: `message`, `error`, `instruction`, `detail`.
const TEXT_CHARS_MAX: usize = 600;

/// Room for `"truncated":true,"omitted":n`.
const MARKER_CHARS: usize = 50;

/// Strings are not cut shorter than this; if that is still too much, the value is left out altogether.
const STRING_CHARS_MIN: usize = 16;

/// Cleans every text of control characters and cuts `body` to [`RESULT_CHARS_MAX`].
pub(super) fn bounded(mut body: Map<String, Value>) -> Value {
    for (key, value) in &mut body {
        if key != "result"
            && let Value::String(text) = value
        {
            *text = shortened(text, TEXT_CHARS_MAX);
        }
    }
    let mut body = Value::Object(body);
    scrub(&mut body);
    if chars(&body) <= RESULT_CHARS_MAX {
        return body;
    }
    if let Value::Object(fields) = &mut body {
        let data = fields.remove("result").unwrap_or(Value::Null);
        // The text parts are bounded by construction; the doubled length is what escaping can make of them.
        let rest = chars(&Value::Object(fields.clone())) + MARKER_CHARS;
        let (kept, omitted) = fitted(data, RESULT_CHARS_MAX.saturating_sub(rest));
        fields.insert("result".to_owned(), kept);
        fields.insert("truncated".to_owned(), true.into());
        fields.insert("omitted".to_owned(), omitted.into());
    }
    body
}

/// Cuts `value` to `budget` characters: arrays lose their tail first, then long strings their end. Gives what is left
/// and how many elements were left out or shortened.
fn fitted(value: Value, budget: usize) -> (Value, usize) {
    let whole = usize::MAX;
    if let Some(items) = largest(&value, budget, longest_array(&value), |items| (items, whole), 1) {
        return cut(&value, items, whole);
    }
    if let Some(string) =
        largest(&value, budget, longest_string(&value), |string| (1, string), STRING_CHARS_MIN)
    {
        return cut(&value, 1, string);
    }
    (Value::Null, 1)
}

/// The largest limit in `least..=most` with which `value` fits. Size grows with the limit, so halving finds it.
fn largest(
    value: &Value,
    budget: usize,
    most: usize,
    limits: impl Fn(usize) -> (usize, usize),
    least: usize,
) -> Option<usize> {
    let fits = |limit: usize| {
        let (items, string) = limits(limit);
        chars(&cut(value, items, string).0) <= budget
    };
    if most < least || !fits(least) {
        return fits(least).then_some(least);
    }
    let (mut good, mut bad) = (least, most + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) { good = middle } else { bad = middle }
    }
    Some(good)
}

/// A copy with at most `items` elements in every array and `string` characters in every string.
fn cut(value: &Value, items: usize, string: usize) -> (Value, usize) {
    match value {
        Value::Array(all) => {
            let mut omitted = all.len().saturating_sub(items);
            let kept = all
                .iter()
                .take(items)
                .map(|item| {
                    let (kept, inner) = cut(item, items, string);
                    omitted += inner;
                    kept
                })
                .collect();
            (Value::Array(kept), omitted)
        }
        Value::Object(fields) => {
            let mut omitted = 0;
            let kept = fields
                .iter()
                .map(|(key, field)| {
                    let (kept, inner) = cut(field, items, string);
                    omitted += inner;
                    (key.clone(), kept)
                })
                .collect();
            (Value::Object(kept), omitted)
        }
        Value::String(text) if text.chars().count() > string => (shortened(text, string).into(), 1),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => (value.clone(), 0),
    }
}

/// At most `limit` characters, ending before a word if there is a gap in the last half, and showing that it was cut.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let head: String = text.chars().take(limit.saturating_sub(1)).collect();
    let gap = head.rfind(char::is_whitespace).filter(|at| *at >= head.len() / 2);
    let kept = gap.map_or(head.as_str(), |at| head[..at].trim_end());
    format!("{kept}…")
}

/// Control characters become spaces: no terminal, log or speech engine downstream has to survive them.
fn scrub(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(char::is_control) => *text = scrubbed(text),
        Value::Array(items) => items.iter_mut().for_each(scrub),
        Value::Object(fields) => {
            if fields.keys().any(|key| key.contains(char::is_control)) {
                let dirty = std::mem::take(fields);
                *fields = dirty.into_iter().map(|(key, field)| (scrubbed(&key), field)).collect();
            }
            fields.values_mut().for_each(scrub);
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn scrubbed(text: &str) -> String {
    text.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect()
}

fn chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

fn longest_array(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest_array).max().unwrap_or(0).max(items.len()),
        Value::Object(fields) => fields.values().map(longest_array).max().unwrap_or(0),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn longest_string(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.iter().map(longest_string).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(longest_string).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
