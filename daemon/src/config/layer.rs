// SPDX-License-Identifier: MIT OR Apache-2.0

//! One layer of configuration: text in, known keys with rightly typed values out, and a fault for everything else.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use config::{ConfigError, Map, Source, ValueKind};
use toml::Value;
use toml::de::{DeTable, DeValue};

use super::fault::{Fault, Origin, Problem};
use super::locate::{nearest, position};
use super::schema::{Kind, NAME_RULE, Schema, Slot, dotted};
use super::{Entry, http_tool, mcp, show};
use crate::file;

/// What a variable of the environment begins with to be a key; sections are separated by `__` too.
pub(super) const ENV_PREFIX: &str = "VOICED__";

/// Largest file read: a configuration is a few kilobytes, and a device file named by mistake is endless.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The keys that one layer sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    entries: Vec<(String, Entry)>,
    /// Its `[[tool]]` tables.
    pub tools: Vec<http_tool::Draft>,
    /// Its `[[mcp]]` tables.
    pub servers: Vec<mcp::Declared>,
}

/// Reads layers against a schema and keeps every fault.
pub(super) struct Reading<'a> {
    pub schema: &'a Schema,
    pub faults: &'a mut Vec<Fault>,
}

impl Layer {
    /// The shipped defaults.
    pub(super) fn defaults(schema: &Schema) -> Self {
        let entry = |value| Entry { value, origin: Origin::Default };
        let entries = schema.leaves().into_iter().map(|(key, value)| (key, entry(value))).collect();
        Self { entries, tools: Vec::new(), servers: Vec::new() }
    }

    /// Its keys and values.
    pub(super) fn into_entries(self) -> Vec<(String, Entry)> {
        self.entries
    }

    fn push(&mut self, path: &[String], value: Value, origin: Origin) {
        self.entries.push((path.join("."), Entry { value, origin }));
    }
}

/// The `config` crate merges layers key by key; what it is given has passed the schema.
impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, config::Value>, ConfigError> {
        Ok(self
            .entries
            .iter()
            .map(|(key, entry)| {
                let origin = entry.origin.to_string();
                (key.clone(), config::Value::new(Some(&origin), kind_of(&entry.value)))
            })
            .collect())
    }
}

fn kind_of(value: &Value) -> ValueKind {
    match value {
        Value::String(text) => ValueKind::String(text.clone()),
        Value::Integer(number) => ValueKind::I64(*number),
        Value::Float(number) => ValueKind::Float(*number),
        Value::Boolean(switch) => ValueKind::Boolean(*switch),
        Value::Array(items) => {
            ValueKind::Array(items.iter().map(|item| config::Value::new(None, kind_of(item))).collect())
        }
        // The schema has no dates, and tables were taken apart into their keys.
        Value::Datetime(_) | Value::Table(_) => ValueKind::Nil,
    }
}

impl Reading<'_> {
    /// The layer of a file. `None` if it does not exist.
    pub(super) fn file(&mut self, path: &Path) -> Option<Layer> {
        match read(path) {
            Ok(text) => Some(self.text(path, &text)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => None,
            Err(cause) => {
                let remedy = if cause.kind() == ErrorKind::PermissionDenied {
                    "; check its owner and mode"
                } else {
                    ""
                };
                let reason = format!("cannot be read: {cause}{remedy}");
                self.faults.push(Fault::Unreadable { path: path.to_owned(), reason });
                Some(Layer::default())
            }
        }
    }

    /// A file that had to be there is not.
    pub(super) fn missing(&mut self, path: &Path) {
        let reason = "no such file; create it, or leave out --config".to_owned();
        self.faults.push(Fault::Unreadable { path: path.to_owned(), reason });
    }

    /// The drop-ins of a folder, in the order of their names. A missing folder has none.
    pub(super) fn drop_ins(&mut self, folder: &Path) -> Vec<(PathBuf, Layer)> {
        let mut unreadable = |cause: std::io::Error| {
            let reason = format!("drop-in folder cannot be read: {cause}");
            self.faults.push(Fault::Unreadable { path: folder.to_owned(), reason });
        };
        let listing = match fs::read_dir(folder) {
            Ok(listing) => listing,
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Vec::new(),
            Err(cause) => {
                unreadable(cause);
                return Vec::new();
            }
        };
        let mut paths = Vec::new();
        for item in listing {
            match item {
                Ok(item) => paths.push(item.path()),
                Err(cause) => unreadable(cause),
            }
        }
        // Names that begin with a dot are editors' own.
        let hidden =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        paths.retain(|path| path.extension().is_some_and(|ext| ext == "toml") && !hidden(path));
        paths.sort();
        paths.into_iter().filter_map(|path| self.file(&path).map(|layer| (path, layer))).collect()
    }

    /// The layer of a text under the name `path`. A text that is not TOML sets nothing: what could be saved of it may
    /// not be what its author meant.
    pub(super) fn text(&mut self, path: &Path, text: &str) -> Layer {
        let mut layer = Layer::default();
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let at = position(text, error.span().map_or(text.len(), |span| span.start));
            let message = error.message().to_owned();
            self.faults.push(Fault::Syntax { path: path.to_owned(), at, message });
        }
        if errors.is_empty() {
            self.table(table.get_ref(), &mut Vec::new(), &File { path, text }, &mut layer);
        }
        layer
    }

    fn table(&mut self, table: &DeTable<'_>, above: &mut Vec<String>, file: &File<'_>, layer: &mut Layer) {
        for (key, value) in table {
            if above.is_empty() && key.get_ref() == http_tool::KEY {
                layer.tools.extend(http_tool::read(key.span().start, value, file, self.faults));
                continue;
            }
            if above.is_empty() && key.get_ref() == mcp::KEY {
                layer.servers.extend(mcp::read(key.span().start, value, file, self.faults));
                continue;
            }
            above.push(key.get_ref().clone().into_owned());
            let origin = file.origin(key.span().start);
            match (self.schema.slot(above), value.get_ref()) {
                (Slot::Unknown, _) => self.unknown(above, origin),
                (Slot::BadName, _) => self.wrong(above, origin, file.shown(value.span()), NAME_RULE),
                (Slot::Table, DeValue::Table(inner)) => {
                    if let Some(keys) = self.schema.chosen_entry(above).filter(|_| inner.is_empty()) {
                        self.wrong(
                            above,
                            origin,
                            "{}".to_owned(),
                            &format!("at least one of {}", keys.join(", ")),
                        );
                    }
                    self.table(inner, above, file, layer);
                }
                (Slot::Table, _) => self.wrong(above, origin, file.shown(value.span()), "a table"),
                (Slot::Leaf(kind), value_read) => match convert(value_read, kind) {
                    Some(value) => layer.push(above, value, origin),
                    None => self.wrong(above, origin, file.shown(value.span()), kind.expected()),
                },
            }
            above.pop();
        }
    }

    /// The layer of the environment.
    pub(super) fn env(&mut self, vars: &[(String, String)]) -> Layer {
        let mut layer = Layer::default();
        for (name, value) in vars {
            if let Some(key) = name.strip_prefix(ENV_PREFIX) {
                let path: Vec<String> = key.split("__").map(str::to_ascii_lowercase).collect();
                self.plain(&path, value, Origin::Env { name: name.clone() }, &mut layer);
            }
        }
        layer
    }

    /// The layer of `--set` arguments.
    pub(super) fn set(&mut self, arguments: &[String]) -> Layer {
        let mut layer = Layer::default();
        for argument in arguments {
            match argument.split_once('=') {
                Some((key, value)) if !key.trim().is_empty() => {
                    let path: Vec<String> = key.trim().split('.').map(str::to_owned).collect();
                    self.plain(&path, value.trim(), Origin::Flag, &mut layer);
                }
                Some(_) | None => self.faults.push(Fault::Argument { given: argument.clone() }),
            }
        }
        layer
    }

    /// One value given as bare text: what it means is decided by what the key takes, so text needs no quotes.
    fn plain(&mut self, path: &[String], text: &str, origin: Origin, layer: &mut Layer) {
        match self.schema.slot(path) {
            Slot::Unknown => self.unknown(path, origin),
            Slot::BadName => self.wrong(path, origin, show::shortened(text), NAME_RULE),
            Slot::Table => {
                self.wrong(path, origin, show::shortened(text), "a key of this section, not the section")
            }
            Slot::Leaf(kind) => match interpret(text, kind) {
                Some(value) => layer.push(path, value, origin),
                None => self.wrong(path, origin, show::shortened(text), kind.expected()),
            },
        }
    }

    fn unknown(&mut self, path: &[String], origin: Origin) {
        let key = path.iter().fold(String::new(), |above, part| dotted(&above, &quoted(part)));
        let candidates = self.schema.candidates(path);
        let nearest = nearest(&key, candidates.iter().map(String::as_str)).map(str::to_owned);
        self.faults.push(Fault::Key { origin, key, problem: Problem::Unknown { nearest } });
    }

    fn wrong(&mut self, path: &[String], origin: Origin, value: String, expected: &str) {
        let key = path.iter().fold(String::new(), |above, part| dotted(&above, &quoted(part)));
        let value = show::masked_text(&key, value);
        self.faults.push(Fault::Key {
            origin,
            key,
            problem: Problem::Value { value, expected: expected.to_owned() },
        });
    }
}

/// A text and its name.
pub(super) struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    pub(super) fn origin(&self, offset: usize) -> Origin {
        Origin::File { path: self.path.to_owned(), line: position(self.text, offset).line }
    }

    /// A value as it stands in the text.
    pub(super) fn shown(&self, span: std::ops::Range<usize>) -> String {
        show::shortened(self.text.get(span).unwrap_or_default())
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    file::read_text(path, MAX_FILE_BYTES)
}

/// A key part as it must be written in TOML.
pub(super) fn quoted(part: &str) -> String {
    let bare = !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { part.to_owned() } else { format!("{part:?}") }
}

/// A value of the kind the key takes, or nothing. A whole number is a number; nothing else changes its kind.
pub(super) fn convert(value: &DeValue<'_>, kind: Kind) -> Option<Value> {
    match (kind, value) {
        (Kind::Text | Kind::WholeOrText, DeValue::String(text)) => {
            Some(Value::String(text.clone().into_owned()))
        }
        (Kind::Whole | Kind::WholeOrText, DeValue::Integer(number)) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok().map(Value::Integer)
        }
        (Kind::Number, DeValue::Integer(number)) if number.radix() == 10 => {
            number.as_str().parse().ok().map(Value::Float)
        }
        (Kind::Number, DeValue::Float(number)) => number.as_str().parse().ok().map(Value::Float),
        (Kind::Switch, DeValue::Boolean(switch)) => Some(Value::Boolean(*switch)),
        (Kind::List, DeValue::Array(items)) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Some(Value::String(text.clone().into_owned())),
                DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(Value::Array),
        (
            Kind::Text | Kind::Whole | Kind::Number | Kind::Switch | Kind::List | Kind::WholeOrText,
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_),
        ) => None,
    }
}

/// As [`convert`], from bare text.
fn interpret(text: &str, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Text => Some(Value::String(text.to_owned())),
        Kind::Whole => text.parse().ok().map(Value::Integer),
        Kind::Number => text.parse().ok().map(Value::Float),
        Kind::Switch => text.parse().ok().map(Value::Boolean),
        Kind::List => convert(DeValue::parse(text).ok()?.get_ref(), kind),
        Kind::WholeOrText => {
            Some(text.parse().map_or_else(|_| Value::String(text.to_owned()), Value::Integer))
        }
    }
}
