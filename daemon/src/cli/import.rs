// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced tools import`: tools declared as JSON objects, by those who come from a hosted voice agent, as `[[tool]]` tables.
//!
//! Nothing is guessed: what such an object does not say, what a tool does to the world above all, is left to be written, and
//! the same check that reads a configuration says what that is.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value as Json;
use tokio_tungstenite::tungstenite::http::Uri;
use toml::{Table, Value};

use super::{fail, note, print};
use crate::config::{Config, FileSource, Sources};
use crate::file;

/// Largest file read: some hundred tools are less.
const MAX_BYTES: u64 = 1024 * 1024;

/// The name of the text in what is said about it.
const IMPORTED: &str = "imported.toml";

/// Those that stand first, in this order.
const FIRST: [&str; 6] = ["name", "description", "method", "url", "pre_call_message", "timeout_seconds"];

/// Reads `path`, or standard input for `-`; prints the tables, and on standard error what is to be mended in them.
pub(super) fn import(path: &Path) -> ExitCode {
    let text = match read(path) {
        Ok(text) => text,
        Err(cause) => return fail(2, format_args!("`{}` cannot be read: {cause}", path.display())),
    };
    let text = match convert(&text) {
        Ok(text) => text,
        Err(why) => return fail(2, format_args!("`{}`: {why}", path.display())),
    };
    for left in to_mend(&text) {
        note(format_args!("to be mended: {left}"));
    }
    print(&text)
}

fn read(path: &Path) -> io::Result<String> {
    if path != Path::new("-") {
        return file::read_text(path, MAX_BYTES);
    }
    let mut text = String::new();
    io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than the {MAX_BYTES} bytes that belong there")));
    }
    Ok(text)
}

/// The tables as text. They may have any fault that a configuration can have.
fn convert(text: &str) -> Result<String, String> {
    let mut json: Json = serde_json::from_str(text).map_err(|cause| format!("it is not JSON: {cause}"))?;
    let tools = match json.as_object_mut() {
        Some(agent) => agent.remove("tools").unwrap_or_default(),
        None => json,
    };
    let Json::Array(tools) = tools else {
        return Err(
            "a list of tools, or an object with such a list under \"tools\", belongs there".to_owned()
        );
    };
    let mut hosts = BTreeSet::new();
    let mut tables = Vec::new();
    for (place, tool) in tools.into_iter().enumerate() {
        let Json::Object(tool) = tool else { return Err(format!("tool {place}: an object belongs there")) };
        let table = Value::try_from(without_nulls(Json::Object(tool)));
        let table = table.map_err(|cause| format!("tool {place}: {cause}"))?;
        let Value::Table(table) = table else { return Err(format!("tool {place}: an object belongs there")) };
        hosts.extend(table.get("url").and_then(Value::as_str).and_then(host));
        tables.push(written(table).map_err(|cause| format!("tool {place}: {cause}"))?);
    }
    let hosts: Vec<String> = hosts.into_iter().map(|host| format!("{host:?}")).collect();
    let head = "# The hosts that tools may call; any other is refused.";
    Ok(format!("{head}\n[tools.egress]\nallow = [{}]\n\n{}", hosts.join(", "), tables.join("\n")))
}

/// One table: the short facts first, in the order people know, then what is a table of its own.
fn written(table: Table) -> Result<String, toml::ser::Error> {
    let mut text = "[[tool]]\n".to_owned();
    let place = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut fields: Vec<_> = table.into_iter().collect();
    fields.sort_by_key(|(key, _)| place(key));
    let (tables, facts): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, value)| value.is_table());
    let facts = facts.into_iter().map(|fact| toml::to_string(&Table::from_iter([fact])));
    text.extend(facts.collect::<Result<Vec<_>, _>>()?);
    for (key, value) in tables {
        if value.as_table().is_some_and(Table::is_empty) {
            continue;
        }
        let below = Table::from_iter([(key, value)]);
        text.push('\n');
        text.push_str(&toml::to_string(&Table::from_iter([("tool".to_owned(), Value::Table(below))]))?);
    }
    Ok(text)
}

/// A null says what a missing key says, and TOML has none.
fn without_nulls(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let there = fields.into_iter().filter(|(_, field)| !field.is_null());
            Json::Object(there.map(|(key, field)| (key, without_nulls(field))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(without_nulls).collect()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value,
    }
}

fn host(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    url.host().map(str::to_owned)
}

/// What a configuration with these tables would be refused for, and secrets that stand in them.
fn to_mend(text: &str) -> Vec<String> {
    let file = FileSource::Text(IMPORTED.into(), text.to_owned());
    let mut left = match Config::load(&Sources { file, ..Sources::default() }) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.to_string().lines().map(str::to_owned).collect(),
    };
    let is_secret =
        |line: &&str| line.to_lowercase().starts_with("authorization") && !line.contains("${secret:");
    if text.lines().any(|line| is_secret(&line)) {
        left.push(
            "a header `Authorization` stands there as it was sent: keep what it holds as a secret and write \
             `${secret:NAME}`"
                .to_owned(),
        );
    }
    left
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use super::*;

    const AGENT: &str = r#"{"agent": "front desk", "tools": [{
        "name": "check_availability",
        "description": "Check which slots are free for a doctor on a date. Use before offering any time.",
        "parameters": {"type": "object", "required": ["doctor"], "properties": {
            "doctor": {"type": "string", "description": "The doctor's \"name\""}, "date": {"type": "string"}}},
        "method": "POST", "url": "https://clinic.example.com/voxa/availability?x=1",
        "headers": {"Authorization": "Bearer clinic_secret_token"},
        "pre_call_message": "One moment, let me check.", "timeout_seconds": 8, "note": null
    }]}"#;

    #[test]
    fn row_60_the_same_objects_as_json_are_taken_field_for_field() {
        let text = convert(AGENT).unwrap();
        let left = to_mend(&text);
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].contains("imported.toml:5: tool.check_availability.effect"), "{left:?}");
        assert!(left[1].contains("Authorization"), "{left:?}");

        let mended = text.replace("[[tool]]", "[[tool]]\neffect = \"read\"");
        let file = FileSource::Text("t.toml".into(), mended.replace("Bearer clinic", "${secret:CLINIC} # "));
        let config = Config::load(&Sources { file, ..Sources::default() }).unwrap().config;
        let tool = &config.http_tools[0].tool;
        assert_eq!((tool.name.as_str(), tool.timeout.as_secs()), ("check_availability", 8));
        assert_eq!(tool.pre_call_message, "One moment, let me check.");
        assert_eq!(tool.target.url().as_str(), "https://clinic.example.com/voxa/availability?x=1");
        assert_eq!(tool.headers.len(), 1);
    }

    #[test]
    fn what_is_no_list_of_tools_is_refused_with_its_place() {
        for (text, said) in [
            ("[", "it is not JSON"),
            ("{}", "a list of tools"),
            ("3", "a list of tools"),
            ("[{}, 4]", "tool 1: an object belongs there"),
        ] {
            assert!(convert(text).unwrap_err().starts_with(said), "{text}");
        }
        let left =
            to_mend(&convert(r#"[{"name": "9", "descriptoin": "x", "timeout_seconds": 99}]"#).unwrap());
        let said = left.join("\n");
        for fault in ["description", "descriptoin", "tool.9.name", "timeout_seconds"] {
            assert!(said.contains(fault), "{fault}: {said}");
        }
    }
}
