// SPDX-License-Identifier: MIT OR Apache-2.0

//! One value of a `[[tool]]` table at a time, with its place.

use std::borrow::Cow;

use serde_json::Map;
use toml::Spanned;
use toml::Value;
use toml::de::{DeTable, DeValue};

use super::super::fault::{Fault, Origin, Problem};
use super::super::layer::{File, convert, quoted};
use super::super::locate::nearest;
use super::super::schema::Kind;
use super::super::{Entry, show};
use super::KEY;

/// A value and where it stands.
pub(in super::super) type Place<'a> = Spanned<DeValue<'a>>;

/// Reads one table and keeps every fault.
pub(super) struct Reader<'a> {
    /// The key of the tool.
    pub(super) path: String,
    pub(super) file: &'a File<'a>,
    pub(super) faults: &'a mut Vec<Fault>,
    /// Each value as it is shown.
    pub(super) entries: Vec<(String, Entry)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a File<'a>, faults: &'a mut Vec<Fault>) -> Self {
        Self { path: KEY.to_owned(), file, faults, entries: Vec::new() }
    }

    /// Keeps a value to be shown later. Of a header nobody is shown more than its name.
    pub(super) fn keep(&mut self, key: &str, at: usize, value: &Place<'_>) {
        if let ("headers", DeValue::Table(lines)) = (key, value.get_ref()) {
            for name in lines.keys() {
                let key = format!("{}.headers.{}", self.path, quoted(name.get_ref()));
                let origin = self.file.origin(name.span().start);
                self.entries.push((key, Entry { value: Value::String("***".to_owned()), origin }));
            }
        } else if let Some(shown) = json(value.get_ref()).and_then(|value| Value::try_from(value).ok()) {
            let key = format!("{}.{}", self.path, quoted(key));
            self.entries.push((key, Entry { value: shown, origin: self.file.origin(at) }));
        }
    }

    /// The text of `key` and its place, if it is there and a text.
    pub(super) fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<(String, usize)> {
        let (at, _) = at_of(table, key)?;
        let value = self.take(table, key, Kind::Text)?;
        value.as_str().map(|text| (text.to_owned(), at))
    }

    pub(super) fn switch(&mut self, table: &DeTable<'_>, key: &str) -> Option<bool> {
        self.take(table, key, Kind::Switch)?.as_bool()
    }

    pub(super) fn whole(&mut self, table: &DeTable<'_>, key: &str) -> Option<i64> {
        self.take(table, key, Kind::Whole)?.as_integer()
    }

    pub(super) fn number(&mut self, table: &DeTable<'_>, key: &str) -> Option<f64> {
        self.take(table, key, Kind::Number)?.as_float()
    }

    fn take(&mut self, table: &DeTable<'_>, key: &str, kind: Kind) -> Option<Value> {
        let (_, value) = at_of(table, key)?;
        let taken = convert(value.get_ref(), kind);
        if taken.is_none() {
            self.refuse(table, key, kind.expected());
        }
        taken
    }

    /// The value of `key` is not what was expected.
    pub(super) fn refuse(&mut self, table: &DeTable<'_>, key: &str, expected: &str) {
        if let Some((at, value)) = at_of(table, key) {
            let shown = self.file.shown(value.span());
            self.wrong(key, self.file.origin(at), show::masked_text(key, shown), expected);
        }
    }

    pub(super) fn wrong(&mut self, key: &str, origin: Origin, value: String, expected: &str) {
        let key = if key.is_empty() { self.path.clone() } else { format!("{}.{key}", self.path) };
        let problem = Problem::Value { value, expected: expected.to_owned() };
        self.faults.push(Fault::Key { origin, key, problem });
    }

    pub(super) fn unknown(&mut self, key: &str, at: usize, known: &[&str]) {
        let nearest = nearest(key, known.iter().copied()).map(|known| format!("{}.{known}", self.path));
        let key = format!("{}.{}", self.path, quoted(key));
        let problem = Problem::Unknown { nearest };
        self.faults.push(Fault::Key { origin: self.file.origin(at), key, problem });
    }
}

/// The value of `key` and where the key stands.
pub(super) fn at_of<'a, 'b>(table: &'b DeTable<'a>, key: &str) -> Option<(usize, &'b Place<'a>)> {
    let (found, value) = table.iter().find(|(known, _)| known.get_ref() == key)?;
    Some((found.span().start, value))
}

/// The value as JSON, which has no dates and no numbers without end.
pub(super) fn json(value: &DeValue<'_>) -> Option<serde_json::Value> {
    use serde_json::Value as Json;
    Some(match value {
        DeValue::String(text) => Json::String(text.clone().into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok()?.into(),
        DeValue::Float(number) => serde_json::Number::from_f64(number.as_str().parse().ok()?)?.into(),
        DeValue::Boolean(switch) => Json::Bool(*switch),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect::<Option<_>>()?,
        DeValue::Table(fields) => {
            let fields = fields
                .iter()
                .map(|(key, field)| Some((Cow::clone(key.get_ref()).into_owned(), json(field.get_ref())?)));
            Json::Object(fields.collect::<Option<Map<_, _>>>()?)
        }
        DeValue::Datetime(_) => return None,
    })
}
