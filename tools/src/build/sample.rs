// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tries a gate on arguments made from the tool's schema: a sentence that cannot be rendered would otherwise first fail in
//! front of a person.

use serde_json::{Map, Value, json};

use crate::set::ErasedTool;

/// Longest sentence a person is asked to agree to, in characters: a longer one is not listened to.
pub const SENTENCE_CHARS_MAX: usize = 160;

/// Texts that an argument may be of which the schema says no more than that it is one: a word, a number that somebody may
/// have, a day, a time, an amount.
const TEXTS: [&str; 6] = ["sample", "98765 43210", "A-12", "2026-03-14", "10:30", "12.50"];

/// Items and characters that are made up at most where a schema asks for that many.
const MADE_UP_MAX: u64 = 100;

/// The sentence for a sample of the arguments. `None` if there is no gate, or no sample fits the tool: what it takes cannot
/// be guessed then.
pub(crate) fn sentence(tool: &ErasedTool) -> Option<String> {
    tool.summary(&asked_about(tool)?)?.ok()
}

fn asked_about(tool: &ErasedTool) -> Option<Value> {
    if tool.is_gated() { arguments(tool) } else { None }
}

/// Arguments that fit the tool, if such can be made up.
pub(super) fn arguments(tool: &ErasedTool) -> Option<Value> {
    TEXTS.iter().find_map(|text| tool.prepare(&sample(tool.schema(), text)).ok())
}

/// What is wrong with the sentence that a person would be asked with, as far as a sample shows it.
pub(super) fn fault(tool: &ErasedTool) -> Option<String> {
    let args = asked_about(tool)?;
    let sentence = match tool.summary(&args)? {
        Ok(sentence) => sentence,
        Err(fault) => {
            return Some(format!("the sentence to be agreed to cannot be rendered for {args}: {fault}"));
        }
    };
    let chars = sentence.chars().count();
    if chars > SENTENCE_CHARS_MAX {
        return Some(format!(
            "the sentence to be agreed to has {chars} characters for {args}: expected at most {SENTENCE_CHARS_MAX}"
        ));
    }
    let slots = match tool.slots(&args) {
        Ok(slots) => slots,
        Err(fault) => {
            return Some(format!("the slots of the sentence cannot be rendered for {args}: {fault}"));
        }
    };
    let heard = bare(&sentence);
    if let Some(missing) = slots.iter().find(|slot| !heard.contains(&bare(slot))) {
        return Some(format!("the slot {missing:?} is not in the sentence to be agreed to: {sentence:?}"));
    }
    let wanted = tool.asking()?.repeat_last?;
    let has_digits =
        |args: Value| tool.slots(&args).is_ok_and(|slots| slots.iter().any(|slot| has_digit(slot)));
    let fitting = TEXTS.iter().filter_map(|text| tool.prepare(&sample(tool.schema(), text)).ok());
    (!fitting.into_iter().any(has_digits)).then(|| {
        format!("the last {wanted} digits are to be repeated, and no slot has any: name the number in `.slots(..)`")
    })
}

fn has_digit(text: &str) -> bool {
    text.contains(|ch: char| ch.is_ascii_digit())
}

/// Letters and digits only: a number may be grouped, or said digit by digit.
fn bare(text: &str) -> String {
    text.chars().filter(|ch| ch.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A value that `schema` describes, every property there, its free texts made of `text`.
fn sample(schema: &Value, text: &str) -> Value {
    let listed = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|values| values.first());
    if let Some(value) = schema
        .get("const")
        .or_else(|| listed("enum"))
        .or_else(|| listed("examples"))
        .or(schema.get("default"))
    {
        return value.clone();
    }
    if let Some(one) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| listed(key)) {
        return sample(one, text);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("object") => object(schema, text),
        Some("array") => {
            let wanted = limit(schema, "minItems").unwrap_or(1).clamp(1, MADE_UP_MAX);
            let item = schema.get("items").map_or_else(|| json!(text), |items| sample(items, text));
            (0..wanted).map(|_| item.clone()).collect()
        }
        Some("integer") => integer(schema).into(),
        Some("number") => number(schema).into(),
        Some("boolean") => true.into(),
        Some("null") => Value::Null,
        Some(_) | None => string(schema, text).into(),
    }
}

fn object(schema: &Value, text: &str) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields =
        properties.into_iter().flatten().map(|(name, property)| (name.clone(), sample(property, text)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

/// The smallest whole number that is allowed, or 3, which has a plural.
fn integer(schema: &Value) -> i64 {
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    let low = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|above| above.saturating_add(1)));
    let high = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|below| below.saturating_sub(1)));
    let step = bound("multipleOf").filter(|step| *step > 0).unwrap_or(1);
    let wanted = 3.max(low.unwrap_or(i64::MIN)).min(high.unwrap_or(i64::MAX));
    // Upwards to the next multiple, which is past the upper end only where none is allowed at all, or only smaller ones.
    let over = wanted.rem_euclid(step);
    if over == 0 { wanted } else { wanted.saturating_add(step - over) }
}

fn number(schema: &Value) -> f64 {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let low = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|above| above + 0.5));
    let high = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|below| below - 0.5));
    2.5_f64.max(low.unwrap_or(f64::MIN)).min(high.unwrap_or(f64::MAX))
}

fn string(schema: &Value, text: &str) -> String {
    let of_format = schema.get("format").and_then(Value::as_str).and_then(|format| match format {
        "date" => Some("2026-03-14"),
        "time" => Some("10:30:00Z"),
        "date-time" => Some("2026-03-14T10:30:00Z"),
        "duration" => Some("PT30M"),
        "email" => Some("somebody@example.org"),
        "uri" | "iri" => Some("https://example.org/"),
        "uuid" => Some("67e55044-10b1-426f-9247-bb680e5fe0c8"),
        "ipv4" => Some("192.0.2.1"),
        _ => None,
    });
    if let Some(made) = of_format {
        return made.to_owned();
    }
    let shortest = limit(schema, "minLength").unwrap_or(0).min(MADE_UP_MAX);
    let longest = limit(schema, "maxLength").unwrap_or(MADE_UP_MAX);
    let mut made = String::new();
    for (at, ch) in (0_u64..longest).zip(text.chars().cycle()) {
        if at >= shortest && made.len() >= text.len() {
            break;
        }
        made.push(ch);
    }
    made
}

fn limit(schema: &Value, key: &str) -> Option<u64> {
    schema.get(key).and_then(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_keeps_to_its_schema() {
        let schema = json!({"type": "object", "properties": {
            "mode": {"enum": ["fast", "slow"]},
            "day": {"type": "string", "format": "date"},
            "count": {"type": "integer", "minimum": 10, "maximum": 40, "multipleOf": 4},
            "few": {"type": "integer", "maximum": 2},
            "warm": {"type": "number", "exclusiveMinimum": 20},
            "short": {"type": "string", "maxLength": 4},
            "long": {"type": "string", "minLength": 8},
            "maybe": {"type": ["null", "string"]},
            "either": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "labels": {"type": "array", "minItems": 2, "items": {"type": "string"}},
            "said": {"type": "string", "default": "usual"},
            "inner": {"type": "object", "properties": {"one": {"const": 1}}},
        }});
        let made = sample(&schema, "sample");
        assert_eq!(
            made,
            json!({
                "mode": "fast", "day": "2026-03-14", "count": 12, "few": 2, "warm": 20.5, "short": "samp",
                "long": "samplesa", "maybe": "sample", "either": true, "labels": ["sample", "sample"], "said": "usual",
                "inner": {"one": 1},
            })
        );
        assert!(jsonschema::is_valid(&schema, &made));
    }

    #[test]
    fn a_text_of_a_format_is_of_it() {
        let formats =
            ["date", "time", "date-time", "duration", "email", "uri", "iri", "uuid", "ipv4"].into_iter();
        for format in formats {
            let schema = json!({"type": "string", "format": format});
            let checked =
                jsonschema::options().should_validate_formats(true).build(&schema).expect("it is one");
            let made = sample(&schema, "sample");
            assert!(checked.is_valid(&made), "{format}: {made}");
        }
    }
}
