// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks a model's arguments against the full schema, whatever was lowered for the provider.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::secret::MASK;
use crate::shape::shortened;

/// Longest text about wrong arguments that a model is given.
const FAULTS_CHARS_MAX: usize = 600;

/// Longest text about one fault: enough to correct it, too short for the whole message to be one quoted value.
const FAULT_CHARS_MAX: usize = 160;

/// Stands for the empty JSON pointer, which a model would overlook.
pub(crate) const ROOT: &str = "arguments";

/// What happens to a field the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It is left out.
    Drop,
    /// It is a fault: a person is asked about exactly what was sent.
    Refuse,
}

/// JSON text with sorted keys and no spaces: equal values give equal text, whatever order they came in.
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            let fields: Vec<String> = sorted
                .into_iter()
                .map(|(key, field)| format!("{}:{}", Value::String(key.clone()), canonical(field)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The arguments of a call as the text some providers send them in. No text at all and `null` are no arguments.
///
/// # Errors
/// For the model: it is not a JSON object.
pub fn parse_arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(NO_OBJECT.to_owned())
        }
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    }
}

const NO_OBJECT: &str = "the arguments must be a JSON object";

/// What the arguments of one tool are checked against.
pub(crate) struct Checks<'a> {
    pub(crate) validator: &'a Validator,
    pub(crate) schema: &'a Value,
    pub(crate) unknown: Unknown,
    /// Name of the tool, for the log.
    pub(crate) tool: &'a str,
    /// Some arguments are hidden: no text about a fault may quote a value.
    pub(crate) secretive: bool,
}

impl Checks<'_> {
    /// The checked arguments: unknown fields treated as said, whole numbers as integers where an integer is meant.
    /// Nothing else is coerced. `null` is no arguments.
    ///
    /// # Errors
    /// One text for the model that names every fault by JSON pointer, at most 600 characters.
    pub(crate) fn checked(&self, args: &Value) -> Result<Value, String> {
        let mut args = match args {
            Value::Null => Value::Object(Map::new()),
            Value::Object(_) => args.clone(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(NO_OBJECT.to_owned());
            }
        };
        let mut faults = Vec::new();
        self.tidy(self.schema, &mut args, "", &mut faults);
        faults.extend(self.validator.iter_errors(&args).map(|error| {
            let at = error.instance_path().as_str();
            let text = if self.secretive { error.masked().to_string() } else { error.to_string() };
            (if at.is_empty() { ROOT } else { at }.to_owned(), text)
        }));
        if faults.is_empty() { Ok(args) } else { Err(told(&faults)) }
    }

    /// What is told about a fault that only parsing found.
    pub(crate) fn at_root(&self, fault: String) -> String {
        let fault = if self.secretive { "they do not fit this tool".to_owned() } else { fault };
        told(&[(ROOT.to_owned(), fault)])
    }

    fn tidy(&self, schema: &Value, value: &mut Value, at: &str, faults: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) => {
                let Some(Value::Object(known)) = schema.get("properties") else {
                    return;
                };
                if is_closed(schema) {
                    self.close(known, fields, at, faults);
                }
                for (key, field) in fields.iter_mut() {
                    if let Some(schema) = known.get(key) {
                        self.tidy(schema, field, &format!("{at}/{}", escaped(key)), faults);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    for (index, item) in items.iter_mut().enumerate() {
                        self.tidy(schema, item, &format!("{at}/{index}"), faults);
                    }
                }
            }
            Value::Number(number) if means_integer(schema) => {
                if let Some(whole) = number.as_f64().filter(|_| number.is_f64()).and_then(whole) {
                    *value = whole.into();
                }
            }
            Value::Number(_) | Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    fn close(
        &self,
        known: &Map<String, Value>,
        fields: &mut Map<String, Value>,
        at: &str,
        faults: &mut Vec<(String, String)>,
    ) {
        let strangers: Vec<String> = fields.keys().filter(|key| !known.contains_key(*key)).cloned().collect();
        // A name the model made up, so it is as long as the model likes, and so are they many; a value is nobody's business.
        if let (Unknown::Drop, Some(first)) = (&self.unknown, strangers.first()) {
            let field = shortened(&format!("{at}/{}", escaped(first)), FAULT_CHARS_MAX);
            tracing::warn!(tool = self.tool, field, all = strangers.len(), "unknown arguments left out");
        }
        for key in strangers {
            fields.remove(&key);
            match self.unknown {
                Unknown::Drop => {}
                Unknown::Refuse => {
                    faults.push((format!("{at}/{}", escaped(&key)), "there is no such argument".to_owned()));
                }
            }
        }
    }
}

/// All faults in one text.
pub(crate) fn told(faults: &[(String, String)]) -> String {
    let faults: Vec<String> =
        faults.iter().map(|(at, text)| format!("{at}: {}", shortened(text, FAULT_CHARS_MAX))).collect();
    shortened(&faults.join("; "), FAULTS_CHARS_MAX)
}

/// Masks the value of every field of these names, at any depth.
pub(crate) fn mask(value: &mut Value, hidden: &BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if hidden.contains(name) { *field = MASK.into() } else { mask(field, hidden) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, hidden)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether the properties a schema names are all there are. One that says otherwise, or takes its properties from
/// elsewhere, is left to the validator.
fn is_closed(schema: &Value) -> bool {
    const OPEN: [&str; 7] =
        ["patternProperties", "anyOf", "oneOf", "allOf", "if", "dependentSchemas", "unevaluatedProperties"];
    let extra = schema.get("additionalProperties");
    extra.is_none_or(|extra| *extra == Value::Bool(false)) && OPEN.iter().all(|key| schema.get(key).is_none())
}

fn means_integer(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == "integer",
        Some(Value::Array(several)) => {
            several.iter().any(|one| one == "integer") && several.iter().all(|one| one != "number")
        }
        _ => false,
    }
}

/// The integer a float stands for, if it stands for one that a float can hold exactly.
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() > EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 2^53")]
    Some(number as i64)
}

/// One segment of a JSON pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
