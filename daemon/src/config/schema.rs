// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which keys there are and what kind of value each takes: read off the mirror's own defaults, so that the two cannot
//! disagree.

use toml::{Table, Value};

use super::raw::Raw;

/// Tables whose keys are names that the person chooses.
const MAPS: [&[&str]; 3] = [&["tools", "warehouse", "zones"], &["clips"], &["hal", "sim", "zones"]];

/// Keys that take a number as well as the text that is their default.
const NUMBER_OR_TEXT: [&[&str]; 1] = [&["audio", "capture_channel"]];

/// What a chosen name may be: it becomes part of a key, of a channel id and of a spoken sentence.
pub(super) const NAME_RULE: &str = "a name of 1..=24 characters: a-z first, then a-z, 0-9 and _";

/// What kind of value a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Number,
    Switch,
    List,
    WholeOrText,
}

impl Kind {
    /// In words, for a fault.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Text => "text in quotes",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Switch => "true or false",
            Self::List => "a list of texts",
            Self::WholeOrText => "a whole number or text in quotes",
        }
    }
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A value.
    Leaf(Kind),
    /// A table.
    Table,
    /// An entry of a map under a name that breaks [`NAME_RULE`].
    BadName,
    /// Nothing.
    Unknown,
}

/// The tree of known keys.
#[derive(Debug)]
pub(super) struct Schema {
    defaults: Table,
}

impl Schema {
    /// # Panics
    /// If the mirror cannot be written as TOML: it holds tables, text, numbers and lists of text only.
    pub(super) fn new() -> Self {
        Self { defaults: Table::try_from(Raw::default()).expect("the mirror holds only what TOML can") }
    }

    /// What stands at `path`.
    pub(super) fn slot(&self, path: &[String]) -> Slot {
        match self.walk(path) {
            None => Slot::Unknown,
            Some(Step::Leaf(_)) if has(&NUMBER_OR_TEXT, path) => Slot::Leaf(Kind::WholeOrText),
            Some(Step::Leaf(value)) => Slot::Leaf(kind(value)),
            Some(Step::Table(_)) => Slot::Table,
            Some(Step::BadName) => Slot::BadName,
        }
    }

    /// Every known key with its default, in the order of the keys.
    pub(super) fn leaves(&self) -> Vec<(String, Value)> {
        let mut leaves = Vec::new();
        collect(&self.defaults, "", &mut leaves);
        leaves
    }

    /// Everything that could have been meant by the unknown `path`: the neighbours under the same table, then every
    /// key and section.
    pub(super) fn candidates(&self, path: &[String]) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        if let Some((_, above)) = path.split_last()
            && let Some(Step::Table(table)) = self.walk(above)
        {
            let above = above.join(".");
            known.extend(table.keys().map(|key| dotted(&above, key)));
        }
        for (key, _) in self.leaves() {
            known.extend(key.match_indices('.').map(|(at, _)| key[..at].to_owned()));
            known.push(key);
        }
        known.sort();
        known.dedup();
        known
    }

    /// The keys that the table at `path` may hold, if its name was chosen: one that no default has.
    pub(super) fn chosen_entry(&self, path: &[String]) -> Option<Vec<&str>> {
        let (name, above) = path.split_last()?;
        match (self.walk(above)?, self.walk(path)?) {
            (Step::Table(map), Step::Table(entry)) if !map.contains_key(name) => {
                Some(entry.keys().map(String::as_str).collect())
            }
            (
                Step::Leaf(_) | Step::Table(_) | Step::BadName,
                Step::Leaf(_) | Step::Table(_) | Step::BadName,
            ) => None,
        }
    }

    fn walk(&self, path: &[String]) -> Option<Step<'_>> {
        let mut at = Step::Table(&self.defaults);
        for (n, part) in path.iter().enumerate() {
            let Step::Table(table) = at else { return None };
            let value = if !has(&MAPS, &path[..n]) {
                table.get(part)?
            } else if name_ok(part) {
                // Every entry of a map has the shape of the one that is shipped.
                table.values().next()?
            } else {
                return Some(Step::BadName);
            };
            at = if let Value::Table(inner) = value { Step::Table(inner) } else { Step::Leaf(value) };
        }
        Some(at)
    }
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Leaf(&'a Value),
    Table(&'a Table),
    BadName,
}

/// Joins a table's key and a key in it.
pub(super) fn dotted(above: &str, key: &str) -> String {
    if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") }
}

fn has(paths: &[&[&str]], path: &[String]) -> bool {
    paths.iter().any(|known| known.iter().copied().eq(path.iter().map(String::as_str)))
}

pub(super) fn name_ok(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.len() <= 24
}

fn kind(default: &Value) -> Kind {
    match default {
        Value::Integer(_) => Kind::Whole,
        Value::Float(_) => Kind::Number,
        Value::Boolean(_) => Kind::Switch,
        Value::Array(_) => Kind::List,
        Value::String(_) | Value::Datetime(_) | Value::Table(_) => Kind::Text,
    }
}

fn collect(table: &Table, above: &str, leaves: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let key = dotted(above, key);
        if let Value::Table(inner) = value {
            collect(inner, &key, leaves);
        } else {
            leaves.push((key, value.clone()));
        }
    }
}
