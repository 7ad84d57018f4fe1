// SPDX-License-Identifier: MIT OR Apache-2.0

//! The arguments of a tool of the configuration: a schema that somebody wrote by hand, or copied from a model's
//! documentation.

use serde_json::{Value, json};

use crate::import::import_schema;

/// The key under which a service is told of the call; no argument may have its name.
pub const CALL_KEY: &str = "_call";

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
    /// Takes a schema as JSON Schema or as Gemini spells it. `order` is the order in which the properties were written,
    /// which JSON does not keep.
    ///
    /// # Errors
    /// What was expected.
    pub fn new(schema: &Value, order: Vec<String>) -> Result<Self, String> {
        let schema = import_schema(schema).map_err(|fault| format!("a JSON schema; {fault}"))?;
        let properties = match (schema.get("type").and_then(Value::as_str), schema.get("properties")) {
            (Some("object"), Some(Value::Object(properties))) => properties,
            (Some("object"), _) => return Err("`properties` to be a table of schemas".to_owned()),
            _ => return Err("`type = \"object\"` at its root".to_owned()),
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
