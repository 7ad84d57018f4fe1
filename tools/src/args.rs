//! Checks a model's arguments against the full schema, whatever was lowered for the provider.

use jsonschema::Validator;
use serde_json::{Map, Value};

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

/// The checked arguments: unknown fields treated as said, whole numbers as integers where an integer is meant. Nothing
/// else is coerced.
///
/// # Errors
/// One text for the model that names every fault by JSON pointer, at most 600 characters.
pub(crate) fn checked(
    validator: &Validator,
    schema: &Value,
    args: &Value,
    unknown: Unknown,
) -> Result<Value, String> {
    let Value::Object(_) = args else {
        return Err("the arguments must be a JSON object".to_owned());
    };
    let mut args = args.clone();
    let mut faults = Vec::new();
    tidy(schema, &mut args, "", unknown, &mut faults);
    faults.extend(validator.iter_errors(&args).map(|error| {
        let at = error.instance_path().as_str();
        (if at.is_empty() { ROOT } else { at }.to_owned(), error.to_string())
    }));
    if faults.is_empty() { Ok(args) } else { Err(told(&faults)) }
}

/// All faults in one text.
pub(crate) fn told(faults: &[(String, String)]) -> String {
    let faults: Vec<String> =
        faults.iter().map(|(at, text)| format!("{at}: {}", shortened(text, FAULT_CHARS_MAX))).collect();
    shortened(&faults.join("; "), FAULTS_CHARS_MAX)
}

fn tidy(schema: &Value, value: &mut Value, at: &str, unknown: Unknown, faults: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            let Some(Value::Object(known)) = schema.get("properties") else {
                return;
            };
            if is_closed(schema) {
                close(known, fields, at, unknown, faults);
            }
            for (key, field) in fields.iter_mut() {
                if let Some(schema) = known.get(key) {
                    tidy(schema, field, &format!("{at}/{}", escaped(key)), unknown, faults);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter_mut().enumerate() {
                    tidy(schema, item, &format!("{at}/{index}"), unknown, faults);
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

/// Whether the properties a schema names are all there are. One that says otherwise, or takes its properties from
/// elsewhere, is left to the validator.
fn is_closed(schema: &Value) -> bool {
    const OPEN: [&str; 7] =
        ["patternProperties", "anyOf", "oneOf", "allOf", "if", "dependentSchemas", "unevaluatedProperties"];
    let extra = schema.get("additionalProperties");
    extra.is_none_or(|extra| *extra == Value::Bool(false)) && OPEN.iter().all(|key| schema.get(key).is_none())
}

fn close(
    known: &Map<String, Value>,
    fields: &mut Map<String, Value>,
    at: &str,
    unknown: Unknown,
    faults: &mut Vec<(String, String)>,
) {
    let strangers: Vec<String> = fields.keys().filter(|key| !known.contains_key(*key)).cloned().collect();
    for key in strangers {
        fields.remove(&key);
        match unknown {
            Unknown::Drop => tracing::debug!(field = %format!("{at}/{key}"), "unknown argument left out"),
            Unknown::Refuse => {
                faults.push((format!("{at}/{}", escaped(&key)), "there is no such argument".to_owned()));
            }
        }
    }
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
