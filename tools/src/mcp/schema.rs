// SPDX-License-Identifier: MIT OR Apache-2.0

//! A server's schema as a tool of this process has it: one object, no references.

use serde_json::{Map, Value};

/// Deepest nesting that is followed. Deeper ones would be refused anyway, and a reference to itself never ends.
const DEPTH_MAX: usize = 32;

/// Most that a schema may weigh once its references are unfolded: a few lines can refer to one large thing a thousand
/// times. All declarations together should take a tenth of this.
const BYTES_MAX: usize = 64 * 1024;

/// What a value weighs beside its text. None is free, so this bounds their number too.
const NODE_BYTES: usize = 16;

/// Keys that hold schemas by names of the server's choice.
const BY_NAME: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// Keys that hold plain values.
const VALUES: [&str; 4] = ["default", "const", "enum", "examples"];

/// Words about the schema itself, and definitions that have been put in their places.
const LEFT_OUT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];

/// The schema with every reference replaced by what it names.
///
/// # Errors
/// For the integrator: the schema cannot be written without references, or is too large to be shown to a model.
pub(super) fn inlined(schema: &Map<String, Value>) -> Result<Value, String> {
    let mut flat = Unfolding { root: schema, bytes: 0 }.object(schema, 0)?;
    flat.remove("title");
    // An argument-free tool may leave both out.
    flat.entry("type").or_insert_with(|| "object".into());
    flat.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Ok(Value::Object(flat))
}

/// What has been made so far of one schema.
struct Unfolding<'a> {
    root: &'a Map<String, Value>,
    bytes: usize,
}

impl<'a> Unfolding<'a> {
    /// Counts what is about to be copied, before it is.
    fn weigh(&mut self, text: &str) -> Result<(), String> {
        self.bytes += NODE_BYTES + text.len();
        if self.bytes > BYTES_MAX {
            return Err(format!(
                "the schema refers to itself or takes more than {} KiB with its references in their places",
                BYTES_MAX / 1024
            ));
        }
        Ok(())
    }

    fn value(&mut self, node: &'a Value, depth: usize) -> Result<Value, String> {
        match node {
            Value::Object(fields) => self.object(fields, depth).map(Value::Object),
            Value::Array(items) => {
                self.weigh("")?;
                self.deeper(depth)?;
                items
                    .iter()
                    .map(|item| self.value(item, depth + 1))
                    .collect::<Result<_, _>>()
                    .map(Value::Array)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.plain(node),
        }
    }

    fn deeper(&self, depth: usize) -> Result<(), String> {
        if depth < DEPTH_MAX {
            return Ok(());
        }
        Err(format!("the schema refers to itself or is nested deeper than {DEPTH_MAX}"))
    }

    fn object(&mut self, fields: &'a Map<String, Value>, depth: usize) -> Result<Map<String, Value>, String> {
        self.weigh("")?;
        self.deeper(depth)?;
        let mut flat = match fields.get("$ref") {
            Some(Value::String(reference)) => self.target(reference, depth)?,
            _ => Map::new(),
        };
        for (key, field) in fields {
            let key = key.as_str();
            if key == "$ref" || LEFT_OUT.contains(&key) {
                continue;
            }
            self.weigh(key)?;
            let field = if let (Value::Object(named), true) = (field, BY_NAME.contains(&key)) {
                let mut schemas = Map::new();
                for (name, schema) in named {
                    self.weigh(name)?;
                    schemas.insert(name.clone(), self.value(schema, depth + 1)?);
                }
                Value::Object(schemas)
            } else if VALUES.contains(&key) {
                self.plain(field)?
            } else {
                self.value(field, depth + 1)?
            };
            // What stands beside a reference adds to it: mostly a description of this very use.
            flat.insert(key.to_owned(), field);
        }
        Ok(flat)
    }

    /// What a reference names, unfolded. What is no object says nothing about a value.
    fn target(&mut self, reference: &str, depth: usize) -> Result<Map<String, Value>, String> {
        let pointer = reference.strip_prefix('#');
        if pointer == Some("") {
            return self.object(self.root, depth + 1);
        }
        let root = self.root;
        let target = pointer
            .and_then(|pointer| pointer.strip_prefix('/'))
            .and_then(|path| {
                let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
                root.get(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
            })
            .ok_or_else(|| format!("the schema refers to `{reference}`, which is not in it"))?;
        match self.value(target, depth + 1)? {
            Value::Object(target) => Ok(target),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Ok(Map::new())
            }
        }
    }

    /// A value that holds no schema, as it is.
    fn plain(&mut self, value: &Value) -> Result<Value, String> {
        self.weigh_all(value)?;
        Ok(value.clone())
    }

    fn weigh_all(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.weigh(""),
            Value::String(text) => self.weigh(text),
            Value::Array(items) => {
                self.weigh("")?;
                items.iter().try_for_each(|item| self.weigh_all(item))
            }
            Value::Object(fields) => {
                self.weigh("")?;
                fields.iter().try_for_each(|(key, field)| {
                    self.weigh(key)?;
                    self.weigh_all(field)
                })
            }
        }
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

    #[test]
    fn whatever_a_reference_copies_is_counted() {
        let many = |of: Value| {
            let uses: Map<_, _> =
                (0..400).map(|at| (format!("a{at}"), json!({"$ref": "#/$defs/E"}))).collect();
            json!({"properties": uses, "$defs": {"E": of}})
        };
        let long = "d".repeat(1000);
        for bomb in [
            json!({"enum": vec![0; 100]}),
            json!({"default": vec![Value::Null; 100]}),
            json!({"const": {"a": {"b": [long]}}}),
            json!({"examples": [vec!["x"; 100]]}),
            json!({"const": {long.as_str(): 1}}),
            json!({"description": long}),
            json!({"pattern": long}),
            json!({"x-of-the-server": [[[[long]]]]}),
            json!({"properties": {long.as_str(): {}}}),
            json!({long.as_str(): true}),
            json!({"required": vec!["x"; 100]}),
        ] {
            let told = flat(many(bomb.clone())).unwrap_err();
            assert!(told.contains("more than 64 KiB"), "{told}: {}", &bomb.to_string()[..40]);
        }
        assert!(flat(many(json!({"type": "string"}))).is_ok(), "many uses of something small");
        // Two uses of any of them are fine, and so is a long list.
        let twice = json!({
            "properties": {"a": {"$ref": "#/$defs/E"}, "b": {"$ref": "#/$defs/E"}},
            "$defs": {"E": {"enum": vec!["x"; 100], "description": long}},
        });
        assert!(flat(twice).is_ok());
        assert!(flat(json!({"properties": {"a": {"enum": (0..2000).collect::<Vec<_>>()}}})).is_ok());
    }

    #[test]
    fn what_comes_out_is_no_larger_than_was_counted() {
        let fits = |bytes: usize| flat(json!({"description": "d".repeat(bytes)}));
        assert!(fits(BYTES_MAX - 200).unwrap().to_string().len() <= BYTES_MAX);
        assert!(fits(BYTES_MAX).is_err(), "a large schema without any reference is counted too");
    }

    #[test]
    fn a_reference_finds_names_that_have_to_be_escaped() {
        let schema =
            json!({"properties": {"a": {"$ref": "#/$defs/x~1y~0z"}}, "$defs": {"x/y~z": {"type": "null"}}});
        assert_eq!(flat(schema).unwrap()["properties"]["a"], json!({"type": "null"}));
    }
}
