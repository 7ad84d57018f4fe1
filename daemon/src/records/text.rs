// SPDX-License-Identifier: MIT OR Apache-2.0

//! A call in the words of a transcript: as Python would write it, which is what readers of such transcripts expect.

use std::fmt::Write as _;

use serde_json::Value;

use super::CHARS_MAX;

/// `name({'argument': 'value', 'count': 3, 'urgent': True})`, at most [`CHARS_MAX`] characters.
pub(super) fn of_call(name: &str, args: &Value) -> String {
    let mut text = format!("{name}(");
    write_value(&mut text, args);
    text.push(')');
    if let Some((end, _)) = text.char_indices().nth(CHARS_MAX) {
        text.truncate(end);
    }
    text
}

fn write_value(to: &mut String, value: &Value) {
    match value {
        Value::Null => to.push_str("None"),
        Value::Bool(true) => to.push_str("True"),
        Value::Bool(false) => to.push_str("False"),
        Value::Number(number) => to.push_str(&number.to_string()),
        Value::String(text) => write_text(to, text),
        Value::Array(items) => {
            to.push('[');
            for (n, item) in items.iter().enumerate() {
                to.push_str(if n > 0 { ", " } else { "" });
                write_value(to, item);
            }
            to.push(']');
        }
        Value::Object(fields) => {
            to.push('{');
            for (n, (key, field)) in fields.iter().enumerate() {
                to.push_str(if n > 0 { ", " } else { "" });
                write_text(to, key);
                to.push_str(": ");
                write_value(to, field);
            }
            to.push('}');
        }
    }
}

fn write_text(to: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    to.push(quote);
    for char in text.chars() {
        match char {
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            char if char == quote => {
                to.push('\\');
                to.push(char);
            }
            char if char.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(to, "\\x{:02x}", u32::from(char));
            }
            char => to.push(char),
        }
    }
    to.push(quote);
}
