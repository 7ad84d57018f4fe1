// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of an argument the gate log shows.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::identity::Identity;

/// Longest value and longest sentence of a record, in characters.
const VALUE_CHARS_MAX: usize = 200;
const SENTENCE_CHARS_MAX: usize = 500;

/// Digits in a row that may be somebody's number, wherever they come from.
const NUMBER_DIGITS: usize = 5;

/// Of something shorter, the last four would be most of it.
const LAST4_CHARS_MIN: usize = 8;

/// How much of an argument is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All of it.
    Plain,
    /// Its last four letters and digits, if it has eight or more.
    Last4,
    /// What stands for it: the same for the same value, on this device.
    Hash,
}

impl FromStr for Policy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "plain" => Ok(Self::Plain),
            "last4" => Ok(Self::Last4),
            "hash" => Ok(Self::Hash),
            _ => Err(()),
        }
    }
}

/// Policies by tool and field.
pub type Policies = BTreeMap<(String, String), Policy>;

/// The call that a person is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) tool: &'a str,
    pub(super) args: &'a Value,
    pub(super) summary: &'a str,
    /// Pieces that must be heard exactly.
    pub(super) slots: &'a [String],
    /// Fields that are shown nowhere.
    pub(super) hidden: &'a [String],
}

/// What is shown of it: the arguments by the path of their fields, and the sentence.
pub(super) fn shown(policies: &Policies, identity: &Identity, asked: &Asked<'_>) -> (Value, String) {
    let mut fields = Map::new();
    let mut leaves = Vec::new();
    flatten(asked.args, "", &mut leaves);
    let (mut masked, mut plain) = (Vec::new(), Vec::new());
    for (path, value) in leaves {
        let text = if let Value::String(text) = value { text.clone() } else { value.to_string() };
        let policy = policy(policies, asked, &path, &text);
        let stand_in = match policy {
            Policy::Plain => {
                plain.push(text.clone());
                cut(&text, VALUE_CHARS_MAX)
            }
            Policy::Last4 => last4(&text).unwrap_or_else(|| stand_in(identity, &text)),
            Policy::Hash => stand_in(identity, &text),
        };
        if policy != Policy::Plain && (value.is_string() || value.is_number()) {
            masked.push((text, stand_in.clone()));
        }
        fields.insert(path, stand_in.into());
    }
    (Value::Object(fields), cut(&sentence(asked.summary, masked, &plain), SENTENCE_CHARS_MAX))
}

fn policy(policies: &Policies, asked: &Asked<'_>, path: &str, text: &str) -> Policy {
    let top = path.split('.').next().unwrap_or(path);
    if asked.hidden.iter().any(|hidden| hidden == top || hidden == path) {
        return Policy::Hash;
    }
    let set = |field: &str| policies.get(&(asked.tool.to_owned(), field.to_owned())).copied();
    let is_slot = || {
        let own = digits(text);
        !own.is_empty() && asked.slots.iter().any(|slot| digits(slot).contains(&own))
    };
    set(path).or_else(|| set(top)).unwrap_or_else(|| if is_slot() { Policy::Last4 } else { Policy::Hash })
}

fn flatten<'a>(value: &'a Value, path: &str, leaves: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(value, &path, leaves);
            }
        }
        Value::Array(items) => {
            for (item, number) in items.iter().zip(0..) {
                flatten(item, &format!("{path}.{number}"), leaves);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            leaves.push((path.to_owned(), value));
        }
    }
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn stand_in(identity: &Identity, text: &str) -> String {
    format!("#{}", identity.pseudonym(text))
}

fn last4(text: &str) -> Option<String> {
    let chars: Vec<char> = text.chars().filter(|char| char.is_alphanumeric()).collect();
    let start = chars.len().checked_sub(4).filter(|_| chars.len() >= LAST4_CHARS_MIN)?;
    Some(format!("…{}", chars[start..].iter().collect::<String>()))
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The sentence without what is masked, in whatever way it was put into it.
fn sentence(summary: &str, mut masked: Vec<(String, String)>, plain: &[String]) -> String {
    masked.retain(|(text, _)| !text.trim().is_empty());
    masked.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    // What is put in is marked, so that nothing is found in it.
    let mut pieces = vec![Piece::Words(summary.to_owned())];
    let mut put_otherwise = Vec::new();
    for (text, stand_in) in &masked {
        let before = pieces.len();
        pieces = pieces.into_iter().flat_map(|piece| piece.without(text, stand_in)).collect();
        if pieces.len() == before {
            put_otherwise.push(text.to_lowercase());
        }
    }
    let words = |piece: Piece| match piece {
        Piece::Words(words) => without_words(&without_numbers(&words, plain), &put_otherwise, plain),
        Piece::StandIn(text) => text,
    };
    pieces.into_iter().map(words).collect()
}

enum Piece {
    Words(String),
    StandIn(String),
}

impl Piece {
    fn without(self, text: &str, stand_in: &str) -> Vec<Self> {
        let Self::Words(words) = self else { return vec![self] };
        let mut pieces = Vec::new();
        let mut rest = words.as_str();
        while let Some(at) = find(rest, text) {
            pieces.push(Self::Words(rest[..at].to_owned()));
            pieces.push(Self::StandIn(stand_in.to_owned()));
            rest = &rest[at + text.len()..];
        }
        pieces.push(Self::Words(rest.to_owned()));
        pieces
    }
}

/// Where `text` is in `words`; a short one only as a word of its own.
fn find(words: &str, text: &str) -> Option<usize> {
    words.match_indices(text).map(|(at, _)| at).find(|at| {
        let is_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
        text.chars().count() >= 4
            || !(is_word(words[..*at].chars().next_back())
                || is_word(words[at + text.len()..].chars().next()))
    })
}

/// Masks what may be a number of somebody's: digits with what people write between them.
fn without_numbers(words: &str, plain: &[String]) -> String {
    let mut text = String::new();
    let mut rest = words;
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let run = from.find(|char: char| !char.is_ascii_digit() && !" -./,()".contains(char));
        let run = from[..run.unwrap_or(from.len())].trim_end_matches(|char: char| !char.is_ascii_digit());
        let own = digits(run);
        text.push_str(before);
        if own.len() >= NUMBER_DIGITS && !plain.iter().any(|plain| digits(plain).contains(&own)) {
            text.push_str(&last4(run).unwrap_or_else(|| "…".to_owned()));
        } else {
            text.push_str(run);
        }
        rest = &from[run.len()..];
    }
    text + rest
}

/// Masks the words of values that are not in it as they are.
fn without_words(words: &str, values: &[String], plain: &[String]) -> String {
    let is_of_a_value = |word: &str| {
        let word = word.to_lowercase();
        word.chars().count() >= 3
            && values
                .iter()
                .any(|value| value.split(|char: char| !char.is_alphanumeric()).any(|own| own == word))
            && !plain.iter().any(|plain| plain.to_lowercase().contains(&word))
    };
    words
        .split_inclusive(|char: char| !char.is_alphanumeric())
        .map(|piece| {
            let word = piece.trim_end_matches(|char: char| !char.is_alphanumeric());
            if is_of_a_value(word) { format!("…{}", &piece[word.len()..]) } else { piece.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(policies: &Policies, args: &Value, summary: &str, slots: &[&str]) -> (Value, String) {
        let slots: Vec<String> = slots.iter().map(|slot| (*slot).to_owned()).collect();
        let asked = Asked { tool: "send_text", args, summary, slots: &slots, hidden: &["pin".to_owned()] };
        shown(policies, &Identity::fixed(), &asked)
    }

    fn set(field: &str, policy: Policy) -> Policies {
        Policies::from([(("send_text".to_owned(), field.to_owned()), policy)])
    }

    #[test]
    fn g60_of_a_number_the_last_four_are_shown_and_of_everything_else_what_stands_for_it() {
        let args = json!({"phone": "98765 43210", "text": "the code is 4711"});
        let said = "Send 'the code is 4711' to 98765 43210.";
        let (fields, summary) = seen(&Policies::new(), &args, said, &["98765 43210"]);
        assert_eq!(fields["phone"], "…3210");
        let text = fields["text"].as_str().expect("it is text");
        assert!(text.starts_with('#') && text.len() == 17, "{text}");
        assert_eq!(summary, format!("Send '{text}' to …3210."));
    }

    #[test]
    fn g60_a_number_that_is_put_otherwise_is_not_shown_either() {
        let args = json!({"phone": "9876543210", "name": "Ann Smith", "amount": 1200000});
        for summary in [
            "Call ANN at 98765 43210.",
            "Call Mrs. Smith at 9-8-7-6-5-4-3-2-1-0.",
            "Pay 1,200,000 to Ann, (987) 654.3210.",
        ] {
            let (_, shown) = seen(&Policies::new(), &args, summary, &["9876543210"]);
            let shown = shown.to_lowercase();
            let digits = digits(&shown);
            assert!(!digits.contains("98765") && !digits.contains("1200"), "{shown}");
            assert!(!shown.contains("ann") && !shown.contains("smith"), "{shown}");
        }
    }

    #[test]
    fn policies_are_kept_and_what_a_tool_hides_is_never_plain() {
        let args = json!({"phone": "98765 43210", "pin": "123456", "to": {"city": "Rome"}, "n": 2});
        let said = "Unlock 2 doors in Rome with 123456 for 98765 43210.";
        let (fields, summary) = seen(&set("phone", Policy::Plain), &args, said, &[]);
        assert_eq!(fields["phone"], "98765 43210");
        assert!(summary.ends_with("for 98765 43210."), "{summary}");
        assert!(!summary.contains("Rome") && !summary.contains("123456"), "{summary}");
        let (fields, summary) = seen(&set("pin", Policy::Plain), &args, said, &[]);
        assert!(fields["pin"].as_str().is_some_and(|pin| pin.starts_with('#')), "{fields}");
        assert!(!summary.contains("123456"), "{summary}");
        let (fields, summary) = seen(&set("to", Policy::Plain), &args, said, &[]);
        assert_eq!(fields["to.city"], "Rome");
        assert!(summary.contains("doors in Rome"), "{summary}");
        let (fields, _) = seen(&set("to.city", Policy::Last4), &args, said, &[]);
        assert!(fields["to.city"].as_str().is_some_and(|city| city.starts_with('#')), "four are all of it");
    }
}
