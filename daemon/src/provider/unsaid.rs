// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a tool's schema says and its lowered form cannot: the model is not told, so it may call in ways that are refused.

use serde_json::{Map, Value};

use super::Declaration;
use super::schema::{MAX_DEPTH, choices, constant_strings, is_null, is_parameter_name, types};

/// Limits that the dialect has no word for. Annotations are not among them, and neither is `additionalProperties`: a model
/// fills in what it is shown.
const LIMITS: [&str; 16] = [
    "$ref",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "maxContains",
    "minContains",
    "multipleOf",
    "not",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Places named for one tool, so that the line stays readable; the rest is counted.
const NAMED_MAX: usize = 4;

/// Characters of a name that others wrote.
const NAME_CHARS_MAX: usize = 64;

/// One line for each tool of whose schema the model is not told everything. The start looks at the device's own tools,
/// `voiced check` also at those of servers.
#[must_use]
pub fn schema_cautions(tools: &[Declaration]) -> Vec<String> {
    tools.iter().filter_map(caution).collect()
}

fn caution(tool: &Declaration) -> Option<String> {
    let mut places = Vec::new();
    walk(&tool.schema, "", 0, &mut places);
    if places.is_empty() {
        return None;
    }
    let more = places.len().saturating_sub(NAMED_MAX);
    places.truncate(NAMED_MAX);
    let more = match more {
        0 => String::new(),
        1 => " and 1 other limit".to_owned(),
        _ => format!(" and {more} other limits"),
    };
    Some(format!(
        "tool {}: the provider cannot be told {}{more}; calls are checked against it all the same, but the model knows it \
         only from the description",
        tool.name,
        places.join(", ")
    ))
}

/// Every limit in `schema` that is left out, as a JSON pointer.
fn walk(schema: &Value, at: &str, depth: usize, places: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else { return };
    if depth >= MAX_DEPTH {
        places.push(at.to_owned());
        return;
    }
    for (key, value) in schema {
        if is_lost(key, value, schema) {
            places.push(format!("{at}/{key}"));
            continue;
        }
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    if is_parameter_name(name) {
                        walk(property, &format!("{at}/properties/{name}"), depth + 1, places);
                    } else {
                        places.push(format!("{at}/properties/{}", shown(name)));
                    }
                }
            }
            ("items", items) => walk(items, &format!("{at}/items"), depth + 1, places),
            ("anyOf" | "oneOf" | "allOf", Value::Array(variants)) => {
                for (n, variant) in variants.iter().enumerate() {
                    walk(variant, &format!("{at}/{key}/{n}"), depth + 1, places);
                }
            }
            _ => {}
        }
    }
}

/// A name that others wrote: escaped as in a JSON pointer, cut, and without what a terminal acts on.
fn shown(name: &str) -> String {
    let name: String = name.chars().take(NAME_CHARS_MAX).flat_map(char::escape_debug).collect();
    name.replace('~', "~0").replace('/', "~1")
}

fn is_lost(key: &str, value: &Value, schema: &Map<String, Value>) -> bool {
    match key {
        "uniqueItems" => value == &Value::Bool(true),
        "enum" => value.as_array().is_some_and(|values| choices(values).is_none()),
        "const" => !value.is_null() && choices(std::slice::from_ref(value)).is_none(),
        "allOf" => value.as_array().is_some_and(|all| all.len() > 1),
        // As `schema` keeps choices: alone, as one `enum`, or where one is left.
        "anyOf" | "oneOf" => {
            let variants: Vec<&Value> =
                value.as_array().into_iter().flatten().filter(|variant| !is_null(variant)).collect();
            let is_second = key == "oneOf" && schema.contains_key("anyOf");
            let is_beside_a_type = variants.len() > 1 && !types(schema).0.is_empty();
            is_second || (is_beside_a_type && constant_strings(&variants).is_none())
        }
        _ => LIMITS.contains(&key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(schema: Value) -> Vec<String> {
        let name = "set_valve".to_owned();
        schema_cautions(&[Declaration { name, description: String::new(), schema, blocking: false }])
    }

    #[test]
    fn t15_each_limit_that_the_model_is_not_told_of_is_named() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "code": {"enum": [1, 2]},
            "either": {"properties": {}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "level/\u{1b}[2J": {"type": "string"},
            "one": {"anyOf": [{"type": "string"}, {"type": "number"}], "oneOf": [{"minimum": 1}]},
            "stages": {"type": "array", "uniqueItems": true, "items": {"not": {"type": "string"}}},
            "step": {"type": "integer", "multipleOf": 5, "minimum": 0, "format": "uint8"},
        }});
        assert_eq!(
            told(schema),
            ["tool set_valve: the provider cannot be told /properties/code/enum, /properties/either/anyOf, \
                 /properties/level~1\\u{1b}[2J, /properties/one/oneOf and 3 other limits; calls are checked against it all \
                 the same, but the model knows it only from the description"]
        );
        let schema = json!({"type": "object", "properties": {"n": {"not": {}}, "o": {"multipleOf": 2},
            "s": {"uniqueItems": true, "items": {"prefixItems": []}}, "z": {"const": 4}, "zz": {"if": {}}}});
        let line = told(schema).concat();
        let places = "/properties/n/not, /properties/o/multipleOf, /properties/s/items/prefixItems, \
                      /properties/s/uniqueItems and 2 other limits";
        assert!(line.contains(places), "{line}");
    }

    #[test]
    fn t15_a_schema_that_is_told_in_full_is_not_cautioned_about() {
        let schema = json!({"$schema": "x", "type": "object", "required": ["on"], "properties": {
            "on": {"type": "boolean", "description": "Whether.", "default": true},
            "name": {"type": ["string", "null"], "enum": ["a", "b", null], "uniqueItems": false},
            "kind": {"anyOf": [{"const": "x"}, {"type": "null"}]},
            "unit": {"oneOf": [{"const": "bar"}, {"enum": ["psi"]}, {"type": "null"}], "type": "string"},
            "size": {"type": "number", "anyOf": [{"minimum": 1}, {"type": "null"}]},
            "rows": {"type": "array", "minItems": 1, "items": {"type": "number", "maximum": 2}},
        }});
        assert_eq!(told(schema), Vec::<String>::new());
    }
}
