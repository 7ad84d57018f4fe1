// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arguments made up from a schema: the simplest that it takes.

use serde_json::{Map, Value, json};

/// An object with the fields that `schema` requires.
pub(super) fn of(schema: &Value) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = required.into_iter().map(|name| (name.to_owned(), value(&schema["properties"][name])));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn value(schema: &Value) -> Value {
    if let Some(given) = schema.get("default").or_else(|| schema.get("const")) {
        return given.clone();
    }
    for list in ["enum", "examples"] {
        if let Some(first) = schema[list].as_array().and_then(|list| list.first()) {
            return first.clone();
        }
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(first) = schema[choice].as_array().and_then(|list| list.first()) {
            return value(first);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("string");
    match kind {
        "object" => of(schema),
        "array" => {
            let least = schema["minItems"].as_u64().unwrap_or(0);
            Value::Array((0..least).map(|_| value(&schema["items"])).collect())
        }
        "boolean" => json!(false),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "null" => Value::Null,
        _ => text(schema),
    }
}

/// Long enough, and no longer than it may be.
fn text(schema: &Value) -> Value {
    match schema["format"].as_str() {
        Some("date") => return json!("2026-01-31"),
        Some("date-time") => return json!("2026-01-31T12:00:00Z"),
        Some("time") => return json!("12:00:00Z"),
        Some("uuid") => return json!("6b9a5f1c-2f6e-4a8e-9c7d-3f1f2b8a9d10"),
        Some("email") => return json!("somebody@example.com"),
        Some(_) | None => {}
    }
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap_or(0);
    let most = usize::try_from(schema["maxLength"].as_u64().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let length = "sample".len().clamp(least, most.max(least));
    json!("sample".chars().cycle().take(length).collect::<String>())
}
