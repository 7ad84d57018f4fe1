// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sentence a person is asked to agree to, with the arguments in their places.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::build::sample::SENTENCE_CHARS_MAX;

/// Shortest and longest sentence, in characters, places not filled in. A longer one is not listened to.
const CHARS: RangeInclusive<usize> = 3..=SENTENCE_CHARS_MAX;

/// A sentence such as `Print {copies} labels.`. Its places are names of arguments of the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Words(String),
    Place(String),
}

/// Why a text is no sentence to ask with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Too short or too long.
    #[error("a sentence of 3..=160 characters")]
    Length,
    /// A brace without its partner, or no name between two.
    #[error("each `{{` to be followed by the name of an argument and `}}`")]
    Braces,
    /// Nothing but places: the person would not be told what is done.
    #[error("words beside the arguments, that say what is done")]
    Wordless,
}

impl Template {
    /// Reads a sentence.
    ///
    /// # Errors
    /// [`TemplateError`] says what was expected.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let source = source.trim();
        if !CHARS.contains(&source.chars().count()) {
            return Err(TemplateError::Length);
        }
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some(open) = rest.find(['{', '}']) {
            let (words, after) = rest.split_at(open);
            let (name, after) = after
                .strip_prefix('{')
                .and_then(|inner| inner.split_once('}'))
                .ok_or(TemplateError::Braces)?;
            let name = name.trim();
            if name.is_empty() || name.contains('{') {
                return Err(TemplateError::Braces);
            }
            parts.extend((!words.is_empty()).then(|| Part::Words(words.to_owned())));
            parts.push(Part::Place(name.to_owned()));
            rest = after;
        }
        parts.extend((!rest.is_empty()).then(|| Part::Words(rest.to_owned())));
        let worded = parts.iter().any(|part| match part {
            Part::Words(words) => words.chars().any(char::is_alphabetic),
            Part::Place(_) => false,
        });
        if worded { Ok(Self { source: source.to_owned(), parts }) } else { Err(TemplateError::Wordless) }
    }

    /// The words between the places.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Words(words) => Some(words.as_str()),
            Part::Place(_) => None,
        })
    }

    /// The names of the places, in order.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Place(name) => Some(name.as_str()),
            Part::Words(_) => None,
        })
    }

    /// The sentence for these arguments. `None` if one that it names is not there or is no simple value: half a sentence
    /// is nothing to agree to.
    pub(super) fn render(&self, args: &Value, schema: &Value) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Words(words) => text.push_str(words),
                Part::Place(name) => text.push_str(&value(args, schema, name)?),
            }
        }
        Some(text)
    }

    /// What stands in the places for these arguments.
    pub(super) fn filled(&self, args: &Value, schema: &Value) -> Vec<String> {
        self.places().filter_map(|name| value(args, schema, name)).collect()
    }
}

impl fmt::Display for Template {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// What is said for one argument: its value, or else the default of the schema, which is what the server will take.
fn value(args: &Value, schema: &Value, name: &str) -> Option<String> {
    let given = args.get(name).or_else(|| schema.get("properties")?.get(name)?.get("default"))?;
    spoken(given)
}

fn spoken(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            (!line.is_empty()).then_some(line)
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Array(items) if !items.is_empty() => {
            let items: Option<Vec<String>> = items
                .iter()
                .map(|item| match item {
                    Value::String(_) | Value::Number(_) | Value::Bool(_) => spoken(item),
                    Value::Null | Value::Array(_) | Value::Object(_) => None,
                })
                .collect();
            Some(items?.join(", "))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_sentence_names_its_places() {
        let template = Template::parse("Print {copies} labels for {bay}.").unwrap();
        assert_eq!(template.places().collect::<Vec<_>>(), ["copies", "bay"]);
        assert_eq!(template.words().collect::<Vec<_>>(), ["Print ", " labels for ", "."]);
        assert_eq!(template.to_string(), "Print {copies} labels for {bay}.");
    }

    #[test]
    fn what_is_no_sentence_is_refused() {
        for (text, expected) in [
            ("", TemplateError::Length),
            ("{a} {b}!", TemplateError::Wordless),
            ("Print {", TemplateError::Braces),
            ("Print } {a}", TemplateError::Braces),
            ("Print {}", TemplateError::Braces),
            ("Print {a{b}}", TemplateError::Braces),
        ] {
            assert_eq!(Template::parse(text), Err(expected), "{text}");
        }
        assert_eq!(Template::parse(&"a".repeat(161)), Err(TemplateError::Length));
    }

    #[test]
    fn a_sentence_is_whole_or_not_there() {
        let template = Template::parse("Print {copies} labels: {texts}.").unwrap();
        let schema = json!({"properties": {"copies": {"default": 1}}});
        let render = |args: Value| template.render(&args, &schema);
        assert_eq!(render(json!({"copies": 3, "texts": ["a", "b\nc"]})).unwrap(), "Print 3 labels: a, b c.");
        assert_eq!(render(json!({"texts": "x"})).unwrap(), "Print 1 labels: x.");
        for args in [
            json!({}),
            json!({"texts": {}}),
            json!({"texts": null}),
            json!({"texts": " "}),
            json!({"texts": [[1]]}),
        ] {
            assert_eq!(render(args.clone()), None, "{args}");
        }
        assert_eq!(template.filled(&json!({"texts": "x"}), &schema), ["1", "x"]);
    }
}
