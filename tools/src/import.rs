// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes over a schema that was written for a live provider's own dialect, with types in capitals.

use serde_json::{Map, Value, json};

/// Types of JSON Schema.
const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];

/// Keywords whose value is one schema, a list of schemas, and schemas by name.
const ONE: [&str; 8] =
    ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];
const SEVERAL: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Counts, which the dialect may write as texts since its integers have 64 bits.
const COUNTS: [&str; 6] =
    ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

/// Why a schema cannot be taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {fault}")]
pub struct ImportError {
    /// Where, as a JSON pointer into the schema with `#` for its root.
    pub at: String,
    /// Thing, value and remedy.
    pub fault: String,
}

/// Rewrites a schema of either spelling, `OBJECT` or `object`, as JSON Schema. No schema at all is an object without
/// arguments.
///
/// # Errors
/// It is not a schema, or names a type that JSON does not have.
pub fn import_schema(schema: &Value) -> Result<Value, ImportError> {
    let mut schema = schema.clone();
    if schema.is_null() {
        schema = json!({});
    }
    rewrite(&mut schema, "#")?;
    let Value::Object(root) = &mut schema else {
        return Err(fault("#", "expected a JSON object"));
    };
    root.remove("$schema");
    let kind = root.entry("type").or_insert_with(|| "object".into()).clone();
    if kind == "object" {
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    Ok(schema)
}

fn fault(at: &str, fault: impl Into<String>) -> ImportError {
    ImportError { at: at.to_owned(), fault: fault.into() }
}

fn rewrite(node: &mut Value, at: &str) -> Result<(), ImportError> {
    let fields = match node {
        Value::Object(fields) => fields,
        Value::Bool(_) => return Ok(()),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(fault(at, "expected a JSON object"));
        }
    };
    types(fields, at)?;
    counts(fields, at)?;
    // An order of speech in which the dialect's model fills in fields; JSON Schema has no word for it.
    fields.remove("propertyOrdering");
    if let Some(example) = fields.remove("example") {
        fields.entry("examples").or_insert_with(|| json!([example]));
    }
    for (key, value) in fields {
        let at = format!("{at}/{key}");
        if ONE.contains(&key.as_str()) && !value.is_array() {
            rewrite(value, &at)?;
        } else if let (true, Value::Array(all)) =
            (SEVERAL.contains(&key.as_str()) || key == "items", &mut *value)
        {
            for (index, one) in all.iter_mut().enumerate() {
                rewrite(one, &format!("{at}/{index}"))?;
            }
        } else if let (true, Value::Object(all)) = (NAMED.contains(&key.as_str()), &mut *value) {
            for (name, one) in all {
                rewrite(one, &format!("{at}/{name}"))?;
            }
        }
    }
    Ok(())
}

fn types(fields: &mut Map<String, Value>, at: &str) -> Result<(), ImportError> {
    let nullable = fields.remove("nullable") == Some(Value::Bool(true));
    let mut kinds = match fields.get("type") {
        None => return Ok(()),
        Some(Value::String(one)) => vec![known(one, at)?],
        Some(Value::Array(several)) => {
            let words =
                several.iter().map(|one| one.as_str().ok_or_else(|| fault(at, "a type is not a text")));
            words.map(|word| known(word?, at)).collect::<Result<_, _>>()?
        }
        Some(other) => return Err(fault(at, format!("the type is {other}: expected a text"))),
    };
    if nullable && !kinds.contains(&"null") {
        kinds.push("null");
        if let Some(Value::Array(allowed)) = fields.get_mut("enum") {
            allowed.push(Value::Null);
        }
    }
    let kind = match kinds.as_slice() {
        [one] => (*one).into(),
        several => several.into(),
    };
    fields.insert("type".to_owned(), kind);
    Ok(())
}

fn known(word: &str, at: &str) -> Result<&'static str, ImportError> {
    let found = TYPES.into_iter().find(|kind| kind.eq_ignore_ascii_case(word));
    found.ok_or_else(|| fault(at, format!("there is no type `{word}`: expected one of {}", TYPES.join(", "))))
}

fn counts(fields: &mut Map<String, Value>, at: &str) -> Result<(), ImportError> {
    for key in COUNTS {
        if let Some(Value::String(text)) = fields.get(key) {
            let count: u64 =
                text.parse().map_err(|_| fault(at, format!("`{key}` is `{text}`: expected a number")))?;
            fields.insert(key.to_owned(), count.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_may_be_called_like_a_keyword() {
        let schema =
            json!({"type": "OBJECT", "properties": {"type": {"type": "STRING", "enum": ["OBJECT"]}}});
        let taken = json!({"type": "object", "properties": {"type": {"type": "string", "enum": ["OBJECT"]}}});
        assert_eq!(import_schema(&schema), Ok(taken));
    }

    #[test]
    fn a_schema_that_is_none_is_refused_with_its_place() {
        let at = |schema: Value| import_schema(&schema).map_err(|error| error.to_string());
        assert!(at(json!([])).is_err());
        assert_eq!(
            at(json!({"properties": {"a": {"items": {"type": "INT"}}}})),
            Err("#/properties/a/items: there is no type `INT`: expected one of object, array, string, integer, number, \
                 boolean, null"
                .to_owned())
        );
        assert_eq!(
            at(json!({"properties": {"a": {"maxItems": "many"}}})),
            Err("#/properties/a: `maxItems` is `many`: expected a number".to_owned())
        );
    }
}
