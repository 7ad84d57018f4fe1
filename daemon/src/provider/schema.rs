// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lowers the JSON Schema of a tool's arguments to the dialect that `FunctionDeclaration.parameters` takes.
//!
//! The dialect is a subset of OpenAPI 3.0 with upper-case types; a keyword outside it closes the connection (1007), and
//! so does an `enum` on anything but a string. What the dialect cannot say is left out, so a lowered schema accepts
//! everything the full one accepts, and more: the full schema is enforced locally. Names and enum values never change.

use serde_json::{Map, Value, json};

/// Deeper parts of a schema are declared as "anything". Schemas may come from tool servers that others wrote.
pub(super) const MAX_DEPTH: usize = 24;

/// Keywords that both dialects share and that take a non-negative integer.
const COUNTS: [&str; 6] =
    ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

/// Formats the dialect knows; others are refused on strings and meaningless elsewhere.
const FORMATS: [&str; 5] = ["date-time", "int32", "int64", "float", "double"];

/// The `parameters` of a tool with this argument schema; `None` for a tool without arguments, which declares none.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let mut lowered = lower(schema, 0);
    let object = lowered.as_object_mut()?;
    if let Some(Value::Array(variants)) = object.remove("anyOf") {
        object.extend(union(&variants));
    }
    object.remove("nullable");
    object.insert("type".into(), json!("OBJECT"));
    let has_properties = object.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty());
    has_properties.then_some(lowered)
}

/// Arguments that take one of several shapes, as one shape: the top of `parameters` must be an object. A property that
/// differs between shapes keeps what they have in common; required is what every shape requires.
fn union(variants: &[Value]) -> Map<String, Value> {
    let mut properties = Map::new();
    for (name, property) in variants.iter().filter_map(|v| v.get("properties")?.as_object()).flatten() {
        match properties.get_mut(name) {
            Some(known) => widen(known, property),
            None => drop(properties.insert(name.clone(), property.clone())),
        }
    }
    let requires = |variant: &Value, name: &str| {
        variant.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == name))
    };
    let required: Vec<&String> =
        properties.keys().filter(|name| variants.iter().all(|variant| requires(variant, name))).collect();
    let mut out = Map::new();
    if !required.is_empty() {
        out.insert("required".into(), json!(required));
    }
    out.insert("properties".into(), Value::Object(properties));
    out
}

/// Makes `known` take whatever `other` takes: choices are joined, differing limits fall away.
fn widen(known: &mut Value, other: &Value) {
    let (Some(known), Some(other)) = (known.as_object_mut(), other.as_object()) else {
        return;
    };
    known.retain(|key, value| match (key.as_str(), value, other.get(key)) {
        ("title" | "description", _, _) => true,
        ("enum", Value::Array(choices), Some(Value::Array(more))) => {
            choices
                .extend(more.iter().filter(|choice| !choices.contains(choice)).cloned().collect::<Vec<_>>());
            true
        }
        (_, value, Some(theirs)) => value == theirs,
        (_, _, None) => false,
    });
    if other.get("nullable") == Some(&json!(true)) {
        known.insert("nullable".into(), json!(true));
    }
}

fn lower(schema: &Value, depth: usize) -> Value {
    let Some(schema) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
        // `true`, or too deep: anything.
        return json!({});
    };
    let mut out = Map::new();
    keep_texts(schema, &mut out);
    let (types, nullable) = types(schema);
    if nullable {
        out.insert("nullable".into(), json!(true));
    }
    match types.as_slice() {
        [] => {}
        [single] => {
            out.insert("type".into(), json!(single));
            keep_limits(single, schema, &mut out, depth);
        }
        several => {
            let variants: Vec<Value> = several.iter().map(|name| variant_of(name, schema, depth)).collect();
            out.insert("anyOf".into(), json!(variants));
        }
    }
    keep_choices(schema, &mut out, depth);
    Value::Object(out)
}

/// One of several types a value may have, with the limits that apply to it.
fn variant_of(name: &str, schema: &Map<String, Value>, depth: usize) -> Value {
    let mut variant = Map::new();
    variant.insert("type".into(), json!(name));
    keep_limits(name, schema, &mut variant, depth);
    Value::Object(variant)
}

fn keep_texts(schema: &Map<String, Value>, out: &mut Map<String, Value>) {
    for key in ["title", "description"] {
        if let Some(text) = schema.get(key).filter(|value| value.is_string()) {
            out.insert(key.into(), text.clone());
        }
    }
    if let Some(default) = schema.get("default").filter(|value| !value.is_null()) {
        out.insert("default".into(), default.clone());
    }
    if schema.get("nullable") == Some(&json!(true)) {
        out.insert("nullable".into(), json!(true));
    }
}

/// The types a value may have, in the dialect's spelling, and whether null is one more.
pub(super) fn types(schema: &Map<String, Value>) -> (Vec<&'static str>, bool) {
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => implied_types(schema),
    };
    let nullable = names.len() > 1 && names.contains(&"null");
    let mut types: Vec<&'static str> = Vec::new();
    for name in names {
        if let Some(known) =
            upper(name).filter(|known| !(types.contains(known) || nullable && *known == "NULL"))
        {
            types.push(known);
        }
    }
    (types, nullable)
}

/// What a schema without `type` is about, as far as its other keywords say.
fn implied_types(schema: &Map<String, Value>) -> Vec<&'static str> {
    if let Some(constant) = schema.get("const") {
        return vec![type_of(constant)];
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(type_of).collect();
    }
    if schema.contains_key("properties") {
        vec!["object"]
    } else if schema.contains_key("items") || schema.contains_key("prefixItems") {
        vec!["array"]
    } else {
        Vec::new()
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn upper(name: &str) -> Option<&'static str> {
    Some(match name {
        "string" => "STRING",
        "number" => "NUMBER",
        "integer" => "INTEGER",
        "boolean" => "BOOLEAN",
        "array" => "ARRAY",
        "object" => "OBJECT",
        "null" => "NULL",
        _ => return None,
    })
}

fn keep_limits(type_name: &str, schema: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
    for key in COUNTS {
        let applies = match type_name {
            "STRING" => key.ends_with("Length"),
            "ARRAY" => key.ends_with("Items"),
            "OBJECT" => key.ends_with("Properties"),
            _ => false,
        };
        if let Some(count) = schema.get(key).filter(|value| applies && value.is_u64()) {
            out.insert(key.into(), count.clone());
        }
    }
    if let Some(format) =
        schema.get("format").filter(|value| value.as_str().is_some_and(|f| FORMATS.contains(&f)))
    {
        let textual = format == &json!("date-time");
        if textual == (type_name == "STRING") {
            out.insert("format".into(), format.clone());
        }
    }
    match type_name {
        "STRING" => keep_string(schema, out),
        "NUMBER" | "INTEGER" => {
            for key in ["minimum", "maximum"] {
                if let Some(limit) = schema.get(key).filter(|value| value.is_number()) {
                    out.insert(key.into(), limit.clone());
                }
            }
        }
        "ARRAY" => {
            let items = schema.get("items").map_or_else(|| json!({}), |items| lower(items, depth + 1));
            out.insert("items".into(), items);
        }
        "OBJECT" => keep_properties(schema, out, depth),
        _ => {}
    }
}

fn keep_string(schema: &Map<String, Value>, out: &mut Map<String, Value>) {
    if let Some(pattern) = schema.get("pattern").filter(|value| value.is_string()) {
        out.insert("pattern".into(), pattern.clone());
    }
    let constant = schema.get("const").map(std::slice::from_ref);
    let values = constant.or_else(|| schema.get("enum").and_then(Value::as_array).map(Vec::as_slice));
    if let Some(values) = values.and_then(choices) {
        out.insert("enum".into(), json!(values));
    }
}

/// The strings of an `enum`, null aside, if the dialect can say them: all strings, none empty.
pub(super) fn choices(values: &[Value]) -> Option<Vec<&str>> {
    let texts: Option<Vec<&str>> = values
        .iter()
        .filter(|value| !value.is_null())
        .map(|value| value.as_str().filter(|text| !text.is_empty()))
        .collect();
    texts.filter(|texts| !texts.is_empty())
}

fn keep_properties(schema: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let kept: Map<String, Value> = properties
        .iter()
        .filter(|(name, _)| is_parameter_name(name))
        .map(|(name, property)| (name.clone(), lower(property, depth + 1)))
        .collect();
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| kept.contains_key(*name))
        .collect();
    if !required.is_empty() {
        out.insert("required".into(), json!(required));
    }
    out.insert("properties".into(), Value::Object(kept));
}

/// `[A-Za-z_][A-Za-z0-9_]{0,63}`; another name would close the connection, so the model never hears of it.
pub(super) fn is_parameter_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `anyOf`, `oneOf` and an `allOf` of one. Choices of constant strings become one `enum`.
fn keep_choices(schema: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
    if let Some([single]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        adopt(lower(single, depth + 1), out);
        return;
    }
    let Some(variants) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)).and_then(Value::as_array)
    else {
        return;
    };
    let (nulls, variants): (Vec<&Value>, Vec<&Value>) = variants.iter().partition(|variant| is_null(variant));
    if !nulls.is_empty() {
        out.insert("nullable".into(), json!(true));
    }
    if let Some(constants) = constant_strings(&variants) {
        out.insert("type".into(), json!("STRING"));
        out.insert("enum".into(), json!(constants));
    } else if let [single] = variants.as_slice() {
        adopt(lower(single, depth + 1), out);
    } else if !variants.is_empty() && !out.contains_key("anyOf") && !out.contains_key("type") {
        // Beside a type, a choice only narrows, and the service wants a choice to stand alone.
        let lowered: Vec<Value> = variants.iter().map(|variant| lower(variant, depth + 1)).collect();
        out.insert("anyOf".into(), json!(lowered));
    }
}

pub(super) fn is_null(variant: &Value) -> bool {
    variant.get("type") == Some(&json!("null")) || variant.get("const") == Some(&Value::Null)
}

/// Every variant's constants, if each variant is nothing but constant strings.
pub(super) fn constant_strings<'a>(variants: &[&'a Value]) -> Option<Vec<&'a str>> {
    let mut all = Vec::new();
    for variant in variants {
        let constant = variant.get("const").map(std::slice::from_ref);
        let values = constant.or_else(|| variant.get("enum").and_then(Value::as_array).map(Vec::as_slice))?;
        all.extend(choices(values)?);
    }
    (!all.is_empty()).then_some(all)
}

/// Takes over what `inner` says and the outer schema does not.
fn adopt(inner: Value, out: &mut Map<String, Value>) {
    if let Value::Object(inner) = inner {
        for (key, value) in inner {
            out.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
