//! The arguments of a tool of the configuration: a JSON Schema that somebody wrote by hand, or copied from a model's
//! documentation.

use serde_json::{Map, Value, json};

/// The key under which a service is told of the call; no argument may have its name.
pub const CALL_KEY: &str = "_call";

/// Schemas below these keys are named by whoever wrote them, or stand in a list.
const NAMED: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
const LISTED: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const SINGLE: [&str; 8] =
    ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];

/// Checked arguments: a schema whose root is an object, and the order in which it names its properties.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    schema: Value,
    order: Vec<String>,
}

impl Default for Parameters {
    /// No arguments.
    fn default() -> Self {
        Self { schema: json!({"type": "object", "properties": {}}), order: Vec::new() }
    }
}

impl Parameters {
    /// Takes a schema with types in lower case, or in capitals as Gemini writes them. `order` is the order in which the
    /// properties were written, which JSON does not keep.
    ///
    /// # Errors
    /// What was expected.
    pub fn new(mut schema: Value, order: Vec<String>) -> Result<Self, String> {
        normalise(&mut schema);
        let Value::Object(root) = &mut schema else {
            return Err("a JSON schema: a table with `type = \"object\"`".to_owned());
        };
        if root.get("type").and_then(Value::as_str) != Some("object") {
            return Err("`type = \"object\"` at its root".to_owned());
        }
        let properties = root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(properties) = properties else {
            return Err("`properties` to be a table of schemas".to_owned());
        };
        if properties.contains_key(CALL_KEY) {
            return Err(format!("no argument `{CALL_KEY}`: the service is told of the call under this name"));
        }
        let mut order: Vec<String> = order.into_iter().filter(|name| properties.contains_key(name)).collect();
        let unordered: Vec<String> =
            properties.keys().filter(|name| !order.contains(name)).cloned().collect();
        order.extend(unordered);
        Ok(Self { schema, order })
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The names of the arguments, in the order in which they were written.
    #[must_use]
    pub fn order(&self) -> &[String] {
        &self.order
    }

    /// The schema of the argument called `name`.
    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        self.schema.get("properties")?.get(name)
    }

    /// Whether no call comes without the argument called `name`.
    pub(super) fn requires(&self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|known| known == name))
    }
}

/// Writes types as JSON Schema does, wherever a schema stands; what is no schema (a choice, a default) is left alone.
fn normalise(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if fields.get("nullable") == Some(&Value::Bool(true))
        && let Some(Value::String(only)) = fields.get("type").cloned()
    {
        fields.remove("nullable");
        fields.insert("type".to_owned(), json!([only, "null"]));
        if let Some(Value::Array(choices)) = fields.get_mut("enum")
            && !choices.contains(&Value::Null)
        {
            choices.push(Value::Null);
        }
    }
    match fields.get_mut("type") {
        Some(Value::String(name)) => lower(name),
        Some(Value::Array(names)) => names.iter_mut().for_each(|name| {
            if let Value::String(name) = name {
                lower(name);
            }
        }),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
    }
    for (key, value) in fields.iter_mut() {
        match value {
            Value::Object(named) if NAMED.contains(&key.as_str()) => named.values_mut().for_each(normalise),
            Value::Array(listed) if LISTED.contains(&key.as_str()) => listed.iter_mut().for_each(normalise),
            Value::Object(_) if SINGLE.contains(&key.as_str()) => normalise(value),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
    }
}

fn lower(name: &mut String) {
    const CAPITALS: [&str; 7] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
    if CAPITALS.contains(&name.as_str()) {
        name.make_ascii_lowercase();
    }
}
