//! What a tool's schema says and its lowered form cannot: the model is not told, so it may call in ways that are refused.

use serde_json::{Map, Value};

use super::Declaration;
use super::schema::{MAX_DEPTH, choices, is_parameter_name};

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

/// Places named for one tool; the rest is counted.
const NAMED_MAX: usize = 4;

/// One line for each tool of whose schema the model is not told everything.
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
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "tool {}: the provider has no words for {}{more} of its arguments; its calls are checked all the same, but the \
         model learns it only from the description",
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
                    let at = format!("{at}/properties/{name}");
                    if is_parameter_name(name) {
                        walk(property, &at, depth + 1, places);
                    } else {
                        places.push(at);
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

fn is_lost(key: &str, value: &Value, schema: &Map<String, Value>) -> bool {
    match key {
        "uniqueItems" => value == &Value::Bool(true),
        "enum" => value.as_array().is_some_and(|values| choices(values).is_none()),
        "const" => !value.is_null() && choices(std::slice::from_ref(value)).is_none(),
        "allOf" => value.as_array().is_some_and(|all| all.len() > 1),
        // Beside a type a choice is left out, unless it is one of constants.
        "anyOf" | "oneOf" => {
            let constant = |variant: &Value| variant.get("const").is_some_and(Value::is_string);
            let variants = value.as_array().map(Vec::as_slice).unwrap_or_default();
            schema.contains_key("type") && variants.len() > 1 && !variants.iter().all(constant)
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
            "level niveau": {"type": "string"},
            "stages": {"type": "array", "uniqueItems": true, "items": {"not": {"type": "string"}}},
            "step": {"type": "integer", "multipleOf": 5, "minimum": 0, "format": "uint8"},
            "unit": {"oneOf": [{"const": "bar"}, {"const": "psi"}], "type": "string"},
        }});
        assert_eq!(
            told(schema),
            [
                "tool set_valve: the provider has no words for /properties/code/enum, /properties/level niveau, \
                 /properties/stages/items/not, /properties/stages/uniqueItems and 1 more of its arguments; its calls are \
                 checked all the same, but the model learns it only from the description"
            ]
        );
    }

    #[test]
    fn t15_a_schema_that_is_told_in_full_is_not_cautioned_about() {
        let schema = json!({"$schema": "x", "type": "object", "required": ["on"], "properties": {
            "on": {"type": "boolean", "description": "Whether.", "default": true},
            "name": {"type": ["string", "null"], "enum": ["a", "b", null], "uniqueItems": false},
            "kind": {"anyOf": [{"const": "x"}, {"type": "null"}]},
            "rows": {"type": "array", "minItems": 1, "items": {"type": "number", "maximum": 2}},
        }});
        assert_eq!(told(schema), Vec::<String>::new());
    }
}
