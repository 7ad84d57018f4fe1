//! A server's schema as a tool of this process has it: one object, no references.

use serde_json::{Map, Value};

/// Deepest nesting that is followed. Deeper ones would be refused anyway, and a reference to itself never ends.
const DEPTH_MAX: usize = 32;

/// Most nodes that references may unfold into.
const NODES_MAX: usize = 4000;

/// Keys that hold schemas by names of the server's choice.
const BY_NAME: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// Keys that hold plain values.
const VALUES: [&str; 4] = ["default", "const", "enum", "examples"];

/// Words about the schema itself, and definitions that have been put in their places.
const LEFT_OUT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];

/// The schema with every reference replaced by what it names.
///
/// # Errors
/// For the integrator: the schema cannot be written without references.
pub(super) fn inlined(schema: &Map<String, Value>) -> Result<Value, String> {
    let root = Value::Object(schema.clone());
    let mut nodes = 0;
    let mut flat = flattened(&root, &root, 0, &mut nodes)?;
    if let Value::Object(fields) = &mut flat {
        fields.remove("title");
        // An argument-free tool may leave both out.
        fields.entry("type").or_insert_with(|| "object".into());
        fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    Ok(flat)
}

fn flattened(node: &Value, root: &Value, depth: usize, nodes: &mut usize) -> Result<Value, String> {
    *nodes += 1;
    if depth > DEPTH_MAX || *nodes > NODES_MAX {
        return Err("the schema refers to itself or is too large".to_owned());
    }
    match node {
        Value::Object(fields) => {
            let mut flat = Map::new();
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let target = reference
                    .strip_prefix('#')
                    .and_then(|pointer| root.pointer(pointer))
                    .ok_or_else(|| format!("the schema refers to `{reference}`, which is not in it"))?;
                if let Value::Object(target) = flattened(target, root, depth + 1, nodes)? {
                    flat = target;
                }
            }
            for (key, field) in fields {
                let key = key.as_str();
                if key == "$ref" || LEFT_OUT.contains(&key) {
                    continue;
                }
                let field = if let (Value::Object(named), true) = (field, BY_NAME.contains(&key)) {
                    named
                        .iter()
                        .map(|(name, schema)| Ok((name.clone(), flattened(schema, root, depth + 1, nodes)?)))
                        .collect::<Result<Map<_, _>, String>>()
                        .map(Value::Object)?
                } else if VALUES.contains(&key) {
                    field.clone()
                } else {
                    flattened(field, root, depth + 1, nodes)?
                };
                // What stands beside a reference adds to it: mostly a description of this very use.
                flat.insert(key.to_owned(), field);
            }
            Ok(Value::Object(flat))
        }
        Value::Array(items) => items
            .iter()
            .map(|item| flattened(item, root, depth + 1, nodes))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(node.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;
    use serde_json::json;

    fn flat(schema: Value) -> Result<Value, String> {
        inlined(schema.as_object().unwrap())
    }

    #[test]
    fn references_are_put_in_their_places() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "title": "Args", "type": "object",
            "properties": {"bay": {"$ref": "#/$defs/Bay", "description": "where to"}, "n": {"type": "integer"}},
            "$defs": {"Bay": {"enum": ["a", "b"], "description": "a bay"}},
        });
        let expected = json!({
            "type": "object",
            "properties": {"bay": {"enum": ["a", "b"], "description": "where to"}, "n": {"type": "integer"}},
        });
        assert_eq!(flat(schema).unwrap(), expected);
        assert_eq!(flat(json!({})).unwrap(), json!({"type": "object", "properties": {}}));
    }

    #[test]
    fn names_and_values_of_the_server_are_not_taken_for_keywords() {
        let schema = json!({
            "type": "object",
            "properties": {"definitions": {"type": "string"}, "$ref": {"const": {"$ref": "#/nowhere"}}},
        });
        assert_eq!(flat(schema.clone()).unwrap(), schema);
    }

    #[test]
    fn what_has_no_end_or_no_target_is_refused() {
        let endless = json!({"properties": {"a": {"$ref": "#"}}});
        assert!(flat(endless).unwrap_err().contains("refers to itself"));
        let lost = json!({"properties": {"a": {"$ref": "http://example.org/x"}}});
        assert!(flat(lost).unwrap_err().contains("`http://example.org/x`, which is not in it"));
        // Each level doubles: small to send, huge to unfold.
        let mut defs = Map::new();
        for level in 0..30 {
            let next = format!("#/$defs/d{}", level + 1);
            defs.insert(
                format!("d{level}"),
                json!({"properties": {"a": {"$ref": next}, "b": {"$ref": next}}}),
            );
        }
        defs.insert("d30".to_owned(), json!({"type": "string"}));
        assert!(flat(json!({"$ref": "#/$defs/d0", "$defs": defs})).is_err());
    }
}
