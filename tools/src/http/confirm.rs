// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sentence that a person is asked to agree to: written in the configuration, with the arguments in their places.

use serde_json::Value;

use super::parameters::Parameters;

/// A run of digits this long is a code, not an amount: every digit is said by itself.
const CODE_DIGITS_MIN: usize = 5;

/// So is a shorter one that begins with a zero, as its zeros would be lost.
const ZERO_CODE_DIGITS_MIN: usize = 3;

/// A sentence with places for arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirm(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Argument(String),
}

impl Confirm {
    /// Reads a sentence in which `{name}` stands for an argument of `parameters`.
    ///
    /// # Errors
    /// What was expected of it.
    pub fn parse(sentence: &str, parameters: &Parameters) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = sentence.trim();
        if rest.is_empty() {
            return Err("a sentence that says what will be done, such as \"Book {date}.\"".to_owned());
        }
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) =
                after.split_once('}').ok_or("a `}` after each `{`: braces hold the name of an argument")?;
            pieces.push(text(before)?);
            pieces.push(argument(name.trim(), parameters)?);
            rest = behind;
        }
        pieces.push(text(rest)?);
        Ok(Self(pieces))
    }

    /// The sentence without its arguments: what is spoken whatever they are.
    #[must_use]
    pub fn fixed_text(&self) -> String {
        let texts = self.0.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Argument(_) => None,
        });
        texts.collect()
    }

    /// The sentence for these arguments. Empty if one of them is missing: then nobody can be asked.
    pub(super) fn sentence(&self, args: &Value) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Argument(name) => args.get(name).map(spoken),
        });
        pieces.collect::<Option<String>>().unwrap_or_default()
    }

    /// The arguments of the sentence as they are sent.
    pub(super) fn slots(&self, args: &Value) -> Vec<String> {
        let names = self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name),
            Piece::Text(_) => None,
        });
        names.filter_map(|name| args.get(name)).map(|value| joined(value, str::to_owned)).collect()
    }
}

fn text(text: &str) -> Result<Piece, String> {
    if text.contains('}') {
        return Err("a `{` before each `}`: braces hold the name of an argument".to_owned());
    }
    Ok(Piece::Text(text.to_owned()))
}

fn argument(name: &str, parameters: &Parameters) -> Result<Piece, String> {
    let Some(schema) = parameters.argument(name) else {
        let known = parameters.order().join(", ");
        let known = if known.is_empty() { "there are none".to_owned() } else { format!("there are {known}") };
        return Err(format!("arguments of the tool in braces; `{name}` is none, {known}"));
    };
    if !parameters.requires(name) {
        return Err(format!(
            "required arguments in braces; add \"{name}\" to `required`, or its place may stay empty"
        ));
    }
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        return Err(format!("arguments that can be read aloud in braces; `{name}` is an object"));
    }
    Ok(Piece::Argument(name.to_owned()))
}

fn spoken(value: &Value) -> String {
    joined(value, digit_by_digit)
}

/// A value in words: texts by `say`, a list with commas.
fn joined(value: &Value, say: fn(&str) -> String) -> String {
    match value {
        Value::String(text) => say(&text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Value::Array(items) => items.iter().map(|item| joined(item, say)).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// `text` with the digits of every code apart: an engine would say a long run as one number of millions.
fn digit_by_digit(text: &str) -> String {
    let mut said = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = rest.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(rest.len());
        let at = digits.max(first.len_utf8());
        let (run, behind) = rest.split_at(at);
        let is_code = digits >= CODE_DIGITS_MIN || (digits >= ZERO_CODE_DIGITS_MIN && run.starts_with('0'));
        if is_code {
            said.push_str(&run.chars().map(String::from).collect::<Vec<_>>().join(" "));
        } else {
            said.push_str(run);
        }
        rest = behind;
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_said_digit_by_digit_and_amounts_are_not() {
        for (text, said) in [
            ("98765", "9 8 7 6 5"),
            ("9876", "9876"),
            ("007", "0 0 7"),
            ("P-10420 and 12", "P-1 0 4 2 0 and 12"),
            ("2026-10-02", "2026-10-02"),
            ("Größe 123456", "Größe 1 2 3 4 5 6"),
            ("", ""),
        ] {
            assert_eq!(digit_by_digit(text), said);
        }
    }
}
