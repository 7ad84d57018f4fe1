// SPDX-License-Identifier: MIT OR Apache-2.0

//! `[[tool]]`: tools that a web service carries out. Unlike every other section there may be any number of them, so they
//! are read here, with the same kinds of faults. Whether a tool's host may be called is known only when every layer is
//! read, so that is said at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::Value;
use toml::de::{DeTable, DeValue};
use tools::http::{Confirm, Consent, Egress, Header, HttpTool, Method, Parameters, Target};
use tools::{Agreement, Asking, Effect, REPEATED_DIGITS, SAID_CHARS_MAX};

use super::Entry;
use super::fault::{Fault, Origin, Problem};
use super::layer::{File, quoted};
use crate::speech;

mod read;

use read::{Place, Reader, at_of, json};

/// The key of the tables.
pub(super) const KEY: &str = "tool";

const KEYS: [&str; 17] = [
    "name",
    "description",
    "parameters",
    "method",
    "url",
    "headers",
    "pre_call_message",
    "timeout_seconds",
    "effect",
    "confirm",
    "consent",
    "high_risk",
    "repeat_last",
    "ungated",
    "needs_result_now",
    "on_failure",
    "idempotent",
];

const NAME_RULE: &str = "a name of 1 to 64 letters, digits and _, not a digit first";
const NAME_LEN_MAX: usize = 64;
const DESCRIPTION_RULE: &str = "3 to 1000 characters that say what it does and when to use it";

/// Time for an answer that a tool may set.
const TIMEOUTS_S: std::ops::RangeInclusive<f64> = 1.0..=30.0;

/// Longest instruction that goes with a failure; the model reads no more of one.
const ON_FAILURE_CHARS_MAX: usize = 600;

/// One tool and where it is declared.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredTool {
    /// The tool.
    pub tool: HttpTool,
    /// Where its table begins.
    pub origin: Origin,
}

/// One table, checked but for its host. It is only good if no fault was added.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Everything but the target, which stands for none.
    fields: Fields,
    url: Option<(String, Origin)>,
    origin: Origin,
    /// No fault was found in it by itself.
    sound: bool,
    entries: Vec<(String, Entry)>,
}

#[derive(Clone, Debug, Default)]
struct Fields {
    name: String,
    description: String,
    parameters: Parameters,
    method: Method,
    headers: Vec<Header>,
    pre_call_message: String,
    /// `None` is that of every tool.
    timeout: Option<Duration>,
    effect: Effect,
    consent: Option<Consent>,
    asking: Asking,
    needs_result_now: bool,
    on_failure: Option<String>,
    idempotent: bool,
}

/// Every table of one file.
pub(super) fn read(key_at: usize, value: &Place<'_>, file: &File<'_>, faults: &mut Vec<Fault>) -> Vec<Draft> {
    let mut reader = Reader::new(file, faults);
    let DeValue::Array(items) = value.get_ref() else {
        reader.wrong(
            "",
            file.origin(key_at),
            file.shown(value.span()),
            "a table for each tool, under [[tool]]",
        );
        return Vec::new();
    };
    let mut drafts = Vec::new();
    for item in items {
        let origin = file.origin(item.span().start);
        let mut reader = Reader::new(file, faults);
        match item.get_ref() {
            DeValue::Table(table) => drafts.push(draft(reader, table, origin)),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => reader.wrong("", origin, file.shown(item.span()), "a table"),
        }
    }
    drafts
}

/// The tools of all files, with `timeout` where one sets none. Two of one name are a fault of the later one, and so is a host that is not on the list.
pub(super) fn collected(
    drafts: Vec<Draft>,
    egress: &Egress,
    timeout: Duration,
    origins: &mut BTreeMap<String, Entry>,
    faults: &mut Vec<Fault>,
) -> Vec<DeclaredTool> {
    let mut seen: BTreeMap<String, Origin> = BTreeMap::new();
    let mut tools = Vec::new();
    for Draft { fields, url, origin, sound, entries } in drafts {
        let path = path_of(&fields.name);
        if let Some(first) = seen.get(&fields.name).filter(|_| !fields.name.is_empty()) {
            let problem = Problem::Value {
                value: format!("{:?}", fields.name),
                expected: format!("another name than that of the tool at {first}"),
            };
            faults.push(Fault::Key { origin: origin.clone(), key: format!("{path}.name"), problem });
        }
        seen.entry(fields.name.clone()).or_insert_with(|| origin.clone());
        origins.extend(entries);
        let Some((url, at)) = url else { continue };
        match Target::parse(&url, egress) {
            Ok(target) => {
                let tool = fields.into_tool(target, timeout);
                // What one key has wrong would be told twice.
                let rules = if sound { tool.faults() } else { Vec::new() };
                faults.extend(rules.into_iter().map(|text| {
                    let problem = Problem::Rule { text };
                    Fault::Key { origin: origin.clone(), key: path.clone(), problem }
                }));
                tools.push(DeclaredTool { tool, origin });
            }
            Err(fault) => {
                let value = super::show::masked("url", &Value::String(url));
                let problem = Problem::Value { value, expected: fault.to_string() };
                faults.push(Fault::Key { origin: at, key: format!("{path}.url"), problem });
            }
        }
    }
    tools
}

fn path_of(name: &str) -> String {
    if name.is_empty() { KEY.to_owned() } else { format!("{KEY}.{}", quoted(name)) }
}

impl Fields {
    fn into_tool(self, target: Target, timeout: Duration) -> HttpTool {
        HttpTool {
            target,
            name: self.name,
            description: self.description,
            parameters: self.parameters,
            method: self.method,
            headers: self.headers,
            pre_call_message: self.pre_call_message,
            timeout: self.timeout.unwrap_or(timeout),
            effect: self.effect,
            // Where it is missing, a fault says so, and this is thrown away with the rest.
            consent: self.consent.unwrap_or(Consent::NotNeeded),
            asking: self.asking,
            needs_result_now: self.needs_result_now,
            on_failure: self.on_failure,
            idempotent: self.idempotent,
        }
    }
}

/// Reads one table. The arguments come first, as the sentence a person is asked with is about them.
fn draft(mut reader: Reader<'_>, table: &DeTable<'_>, origin: Origin) -> Draft {
    let before = reader.faults.len();
    let name = at_of(table, "name").and_then(|(_, name)| name.get_ref().as_str()).unwrap_or_default();
    reader.path = path_of(name);
    for (key, value) in table {
        if !KEYS.contains(&key.get_ref().as_ref()) {
            reader.unknown(key.get_ref(), key.span().start, &KEYS);
        }
        reader.keep(key.get_ref(), key.span().start, value);
    }
    for key in ["name", "description", "url"] {
        if at_of(table, key).is_none() {
            reader.wrong(key, origin.clone(), "\"\"".to_owned(), "a text: it cannot be left out");
        }
    }
    let parameters = parameters(&mut reader, table);
    let (effect, consent) = consent(&mut reader, table, &parameters, &origin);
    let fields = Fields {
        name: text(&mut reader, table, "name", NAME_RULE, is_name),
        description: text(&mut reader, table, "description", DESCRIPTION_RULE, |text| {
            (3..=1000).contains(&text.trim().chars().count())
        })
        .trim()
        .to_owned(),
        parameters,
        method: method(&mut reader, table),
        headers: headers(&mut reader, table),
        pre_call_message: text(
            &mut reader,
            table,
            "pre_call_message",
            &format!("at most {SAID_CHARS_MAX} characters, on one line"),
            |text| text.chars().count() <= SAID_CHARS_MAX && !text.contains(char::is_control),
        ),
        timeout: timeout(&mut reader, table),
        effect,
        consent,
        asking: asking(&mut reader, table),
        needs_result_now: reader.switch(table, "needs_result_now").unwrap_or(true),
        on_failure: Some(text(
            &mut reader,
            table,
            "on_failure",
            &format!("at most {ON_FAILURE_CHARS_MAX} characters"),
            |text| text.chars().count() <= ON_FAILURE_CHARS_MAX,
        ))
        .filter(|text| !text.trim().is_empty()),
        idempotent: reader.switch(table, "idempotent").unwrap_or(false),
    };
    let url = reader.text(table, "url").map(|(url, at)| (url, reader.file.origin(at)));
    let sound = reader.faults.len() == before;
    Draft { fields, url, origin, sound, entries: reader.entries }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|ch: char| ch.is_ascii_alphabetic() || ch == '_')
        && name.len() <= NAME_LEN_MAX
        && name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
}

/// A text that must be `good`, or nothing.
fn text(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    key: &str,
    expected: &str,
    good: impl Fn(&str) -> bool,
) -> String {
    let Some((text, _)) = reader.text(table, key) else { return String::new() };
    if !good(&text) {
        reader.refuse(table, key, expected);
    }
    text
}

fn method(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Method {
    let Some((name, _)) = reader.text(table, "method") else { return Method::default() };
    Method::parse(&name).unwrap_or_else(|| {
        reader.refuse(table, "method", "\"POST\" or \"GET\"");
        Method::default()
    })
}

fn timeout(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Duration> {
    let seconds = reader.number(table, "timeout_seconds")?;
    if TIMEOUTS_S.contains(&seconds) {
        return Some(Duration::from_secs_f64(seconds));
    }
    let expected = format!("{}..={}", TIMEOUTS_S.start(), TIMEOUTS_S.end());
    reader.refuse(table, "timeout_seconds", &expected);
    None
}

fn parameters(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Parameters {
    let Some((_, value)) = at_of(table, "parameters") else { return Parameters::default() };
    let Some(schema) = json(value.get_ref()).filter(serde_json::Value::is_object) else {
        reader.refuse(table, "parameters", "a table: the JSON schema of the arguments, without dates");
        return Parameters::default();
    };
    Parameters::new(&schema, written_order(value)).unwrap_or_else(|expected| {
        reader.refuse(table, "parameters", &expected);
        Parameters::default()
    })
}

/// The names of the properties in the order in which they stand in the file.
fn written_order(parameters: &Place<'_>) -> Vec<String> {
    let properties = parameters.get_ref().as_table().and_then(|table| at_of(table, "properties"));
    let Some(properties) = properties.and_then(|(_, value)| value.get_ref().as_table()) else {
        return Vec::new();
    };
    let mut names: Vec<(usize, String)> =
        properties.keys().map(|key| (key.span().start, key.get_ref().to_string())).collect();
    names.sort();
    names.into_iter().map(|(_, name)| name).collect()
}

fn headers(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Vec<Header> {
    let Some((at, value)) = at_of(table, "headers") else { return Vec::new() };
    let DeValue::Table(lines) = value.get_ref() else {
        let origin = reader.file.origin(at);
        reader.wrong("headers", origin, "***".to_owned(), "a table of texts");
        return Vec::new();
    };
    let mut headers: Vec<Header> = Vec::new();
    for (name, value) in lines {
        let key = format!("headers.{}", quoted(name.get_ref()));
        let origin = reader.file.origin(name.span().start);
        let header = match value.get_ref() {
            DeValue::String(text) => Header::parse(name.get_ref(), text).map_err(|fault| fault.to_string()),
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => Err("text in quotes".to_owned()),
        };
        let header =
            header.and_then(|header| match headers.iter().find(|known| known.name() == header.name()) {
                Some(known) => Err(format!("one header of a name; there is `{}` too", known.written_name())),
                None => Ok(header),
            });
        match header {
            Ok(header) => headers.push(header),
            Err(expected) => reader.wrong(&key, origin, "\"***\"".to_owned(), &expected),
        }
    }
    headers
}

/// What the tool does to the world, and why it may.
fn consent(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    parameters: &Parameters,
    head: &Origin,
) -> (Effect, Option<Consent>) {
    let effects = [("read", Effect::Read), ("local", Effect::Local), ("outbound", Effect::Outbound)];
    let mut effect = Effect::default();
    let mut effect_is_known = true;
    if let Some((said, _)) = reader.text(table, "effect") {
        match effects.iter().find(|(word, _)| *word == said) {
            Some((_, known)) => effect = *known,
            None => {
                effect_is_known = false;
                reader.refuse(table, "effect", "\"read\" or \"local\" or \"outbound\"");
            }
        }
    }
    let sentence = reader.text(table, "confirm").map(|(text, _)| text);
    let reason = reader.text(table, "ungated").map(|(text, _)| text);
    let outbound = matches!(effect, Effect::Outbound);
    let consent = match (sentence, reason) {
        (Some(_), Some(_)) => {
            reader.refuse(table, "ungated", "one of `confirm` and `ungated`, not both");
            None
        }
        (Some(sentence), None) => confirm(reader, table, &sentence, parameters).map(Consent::Ask),
        (None, Some(reason)) => {
            if reason.trim().is_empty() {
                reader.refuse(table, "ungated", "the reason why nobody need be asked");
            } else if !outbound && effect_is_known {
                reader.refuse(
                    table,
                    "ungated",
                    "`effect = \"outbound\"` with it: nobody is asked about any other",
                );
            }
            Some(Consent::Ungated(reason))
        }
        (None, None) => {
            let asked = at_of(table, "confirm").is_some() || at_of(table, "ungated").is_some();
            if outbound && effect_is_known && !asked {
                let origin =
                    at_of(table, "effect").map_or_else(|| head.clone(), |(at, _)| reader.file.origin(at));
                reader.wrong(
                    "effect",
                    origin,
                    "\"outbound\"".to_owned(),
                    "`confirm`, the sentence a person is asked with, or `ungated`, the reason why nobody is; or its \
                     true effect: \"read\" or \"local\"",
                );
            }
            Some(Consent::NotNeeded)
        }
    };
    (effect, consent)
}

/// What it takes to agree, where a person is asked.
fn asking(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Asking {
    for key in ["consent", "high_risk", "repeat_last"] {
        if at_of(table, "confirm").is_none() {
            reader.refuse(table, key, "`confirm` with it: nobody is asked without a sentence");
        }
    }
    let by = reader.text(table, "consent").and_then(|(word, _)| {
        let by = Agreement::parse(&word);
        if by.is_none() {
            reader.refuse(table, "consent", &ways_to_agree());
        }
        by
    });
    let repeat_last = reader.whole(table, "repeat_last").and_then(|digits| {
        let digits = usize::try_from(digits).ok().filter(|digits| REPEATED_DIGITS.contains(digits));
        if digits.is_none() {
            let expected = format!("{}..={}", REPEATED_DIGITS.start(), REPEATED_DIGITS.end());
            reader.refuse(table, "repeat_last", &expected);
        }
        digits
    });
    let high_risk = reader.switch(table, "high_risk").unwrap_or_default();
    Asking { by: by.unwrap_or_default(), high_risk, repeat_last }
}

/// Every word that `consent` may be.
pub(super) fn ways_to_agree() -> String {
    Agreement::ALL.map(|way| format!("{:?}", way.as_str())).join(" or ")
}

fn confirm(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    sentence: &str,
    parameters: &Parameters,
) -> Option<Confirm> {
    let confirm = match Confirm::parse(sentence, parameters) {
        Ok(confirm) => confirm,
        Err(expected) => {
            reader.refuse(table, "confirm", &expected);
            return None;
        }
    };
    if let Some(char) = speech::unspeakable(&confirm.fixed_text()) {
        reader.refuse(table, "confirm", &format!("no {char:?}, which cannot be read aloud"));
        return None;
    }
    Some(confirm)
}

#[cfg(test)]
mod tests;
