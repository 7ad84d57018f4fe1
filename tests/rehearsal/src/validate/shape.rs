// SPDX-License-Identifier: MIT OR Apache-2.0

//! The shape of a client message, as data: `client.shapes` names every field, type and enum value.

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::Finding;
use super::json::type_name;

const SOURCE: &str = include_str!("client.shapes");

/// The five kinds of message, exactly one of which each message is.
const KINDS: [&str; 5] = ["setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate"];

/// What a value may be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    Boolean,
    Integer,
    Number,
    Text,
    Bytes,
    Array(Box<Kind>),
    Map(Box<Kind>),
    Named(&'static str),
}

/// What a name in `client.shapes` stands for.
#[derive(Debug)]
enum Shape {
    Type(HashMap<&'static str, Kind>),
    Enum(Vec<&'static str>),
}

static SHAPES: LazyLock<HashMap<&'static str, Shape>> = LazyLock::new(|| {
    let mut shapes = HashMap::new();
    let mut tokens =
        SOURCE.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).peekable();
    while let Some(keyword) = tokens.next() {
        let Some(name) = tokens.next() else { break };
        let mut body = Vec::new();
        while let Some(token) = tokens.next_if(|token| !matches!(*token, "type" | "enum")) {
            body.push(token);
        }
        let shape = if keyword == "enum" {
            Shape::Enum(body)
        } else {
            let fields = body.into_iter().filter_map(|token| token.split_once(':'));
            Shape::Type(fields.map(|(field, kind)| (field, kind_of(kind))).collect())
        };
        shapes.insert(name, shape);
    }
    shapes
});

fn kind_of(text: &'static str) -> Kind {
    let within = |open, close| text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
    if let Some(inner) = within('[', ']') {
        return Kind::Array(Box::new(kind_of(inner)));
    }
    if let Some(inner) = within('{', '}') {
        return Kind::Map(Box::new(kind_of(inner)));
    }
    match text {
        "any" => Kind::Any,
        "boolean" => Kind::Boolean,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "string" => Kind::Text,
        "bytes" => Kind::Bytes,
        name => Kind::Named(name),
    }
}

/// Checks a whole message: exactly one kind, and every field below it.
pub(super) fn check_client_message(message: &Map<String, Value>, found: &mut Vec<Finding>) {
    let kinds = message.keys().filter(|key| KINDS.contains(&key.as_str())).count();
    if kinds != 1 {
        let got = message.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        found.push(Finding::violation(
            "",
            format!("expected exactly one of {}, got [{got}]", KINDS.join("/")),
        ));
    }
    object(message, "LiveClientMessage", "", found);
}

fn object(value: &Map<String, Value>, type_name: &'static str, path: &str, found: &mut Vec<Finding>) {
    let Some(Shape::Type(fields)) = SHAPES.get(type_name) else {
        return;
    };
    for (key, item) in value {
        let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let Some(kind) = fields.get(key.as_str()) {
            check(item, kind, &here, found);
        } else if fields.contains_key(camel(key).as_str()) {
            found
                .push(Finding::violation(here, format!("snake_case key; the wire name is `{}`", camel(key))));
        } else {
            found.push(Finding::violation(here, format!("unknown field of {type_name}")));
        }
    }
}

fn check(value: &Value, kind: &Kind, path: &str, found: &mut Vec<Finding>) {
    let mut wrong = |text: String| found.push(Finding::violation(path, text));
    let expected = |what: &str| format!("expected {what}, got {}", type_name(value));
    if value.is_null() && *kind != Kind::Any {
        return wrong("null; leave the field out".to_owned());
    }
    match kind {
        Kind::Any => {}
        Kind::Boolean if !value.is_boolean() => wrong(expected("true or false")),
        Kind::Integer if !(value.is_i64() || value.is_u64()) => wrong(expected("an integer")),
        Kind::Number if !value.is_number() => wrong(expected("a number")),
        Kind::Text if !value.is_string() => wrong(expected("a string")),
        Kind::Boolean | Kind::Integer | Kind::Number | Kind::Text => {}
        Kind::Bytes => match value.as_str().map(|text| STANDARD.decode(text)) {
            None => wrong(expected("base64 text")),
            Some(Err(error)) => wrong(format!("not standard padded base64: {error}")),
            Some(Ok(_)) => {}
        },
        Kind::Array(inner) => match value.as_array() {
            None => wrong(expected("an array")),
            Some(items) => {
                for (index, item) in items.iter().enumerate() {
                    check(item, inner, &format!("{path}[{index}]"), found);
                }
            }
        },
        Kind::Map(inner) => match value.as_object() {
            None => wrong(expected("an object")),
            Some(items) => {
                for (key, item) in items {
                    check(item, inner, &format!("{path}.{key}"), found);
                }
            }
        },
        Kind::Named(name) => match (SHAPES.get(name), value) {
            (Some(Shape::Type(_)), Value::Object(fields)) => object(fields, name, path, found),
            (Some(Shape::Type(_)), _) => wrong(expected(&format!("an object ({name})"))),
            (Some(Shape::Enum(allowed)), _) => {
                let text = value.as_str().unwrap_or_default();
                if !allowed.contains(&text) {
                    let near = allowed.iter().find(|name| name.eq_ignore_ascii_case(text));
                    let hint = near.map_or_else(|| allowed.join(", "), |near| format!("`{near}`"));
                    wrong(format!("{value} is not a value of {name}: expected {hint}"));
                }
            }
            (None, _) => {}
        },
    }
}

/// `snake_case` as the wire would spell it.
fn camel(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut chars = key.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '_' && next.is_ascii_alphanumeric() => {
                out.push(next.to_ascii_uppercase());
                chars.next();
            }
            Some(_) | None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_shapes_is_defined() {
        fn names(kind: &Kind, out: &mut Vec<&'static str>) {
            match kind {
                Kind::Array(inner) | Kind::Map(inner) => names(inner, out),
                Kind::Named(name) => out.push(name),
                Kind::Any | Kind::Boolean | Kind::Integer | Kind::Number | Kind::Text | Kind::Bytes => {}
            }
        }
        let mut used = Vec::new();
        for shape in SHAPES.values() {
            match shape {
                Shape::Type(fields) => fields.values().for_each(|kind| names(kind, &mut used)),
                Shape::Enum(values) => assert!(!values.is_empty()),
            }
        }
        let missing: Vec<_> = used.into_iter().filter(|name| !SHAPES.contains_key(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert!(SHAPES.len() > 130, "{} shapes were read", SHAPES.len());
    }

    #[test]
    fn snake_case_is_recognised() {
        assert_eq!(camel("mime_type"), "mimeType");
        assert_eq!(camel("_"), "_");
        assert_eq!(camel("alreadyCamel"), "alreadyCamel");
    }
}
