// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced tools import`: tools declared as JSON objects, by those who come from a hosted voice agent, as `[[tool]]` tables.
//!
//! What such an object does not say, what a tool does to the world above all, is not guessed: it is left to be written, and the
//! same check that reads a configuration says what that is. The hosts of its URLs are put on the list of those that may be
//! called, for whoever imports to read.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value as Json;
use tokio_tungstenite::tungstenite::http::Uri;
use toml::{Table, Value};

use super::{fail, note, print, shown};
use crate::config::{Config, FileSource, Sources};
use crate::file;

/// Largest file read: some hundred tools are less.
const MAX_BYTES: u64 = 1024 * 1024;

/// The name of the text in what is said about it.
const IMPORTED: &str = "imported.toml";

/// Tools of one list: more than any model chooses from, and few enough to be checked while somebody waits.
const TOOLS_MAX: usize = 256;

/// How much of a name is told.
const NAME_CHARS: usize = 64;

const HEAD: &str = "\
# The hosts that tools may call; any other is refused. A list in a later file takes the place of one in an earlier: join them.
";

/// Those that stand first, in this order.
const FIRST: [&str; 6] = ["name", "description", "method", "url", "pre_call_message", "timeout_seconds"];

/// Reads `path`, or standard input for `-`; prints the tables, and on standard error what is to be mended in them and which
/// tools cannot be written.
pub(super) fn import(path: &Path) -> ExitCode {
    let text = match read(path) {
        Ok(text) => text,
        Err(cause) => return fail(2, format_args!("`{}` cannot be read: {cause}", path.display())),
    };
    let Imported { text, left_out } = match convert(&text) {
        Ok(imported) => imported,
        Err(why) => return fail(2, format_args!("`{}`: {why}", path.display())),
    };
    for left in to_mend(&text) {
        note(format_args!("to be mended: {left}"));
    }
    for left in &left_out {
        note(format_args!("left out: {left}"));
    }
    let code = print(&text);
    if left_out.is_empty() { code } else { ExitCode::FAILURE }
}

/// What came of a list of tools.
#[derive(Debug)]
struct Imported {
    /// The tables.
    text: String,
    /// Those that TOML cannot hold, and why.
    left_out: Vec<String>,
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
fn convert(text: &str) -> Result<Imported, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
    if tools.len() > TOOLS_MAX {
        return Err(format!("it holds {} tools, and {TOOLS_MAX} are taken at once", tools.len()));
    }
    let mut hosts = BTreeSet::new();
    let (mut tables, mut left_out) = (Vec::new(), Vec::new());
    for (place, tool) in tools.into_iter().enumerate() {
        let name = shown(tool["name"].as_str().unwrap_or("without a name"), NAME_CHARS);
        match table(tool) {
            Ok((table, text)) => {
                hosts.extend(table.get("url").and_then(Value::as_str).and_then(host));
                tables.push(text);
            }
            Err(why) => left_out.push(format!("tool {} ({name}): {why}", place + 1)),
        }
    }
    let hosts: Vec<String> = hosts.into_iter().map(|host| format!("{host:?}")).collect();
    let text = format!("{HEAD}[tools.egress]\nallow = [{}]\n\n{}", hosts.join(", "), tables.join("\n"));
    Ok(Imported { text, left_out })
}

/// One tool, and how it is written.
fn table(tool: Json) -> Result<(Table, String), String> {
    let table =
        Value::try_from(without_nulls(tool)).map_err(|cause| format!("TOML cannot hold it: {cause}"))?;
    let Value::Table(table) = table else { return Err("an object belongs there".to_owned()) };
    let text = written(&table).map_err(|cause| cause.to_string())?;
    // Whatever stands in a tool must stay in it: a table of its own at the root would be another part of the configuration.
    let read: Table = toml::from_str(&text).map_err(|_| "it is nested too deeply for TOML".to_owned())?;
    let kept = Table::from_iter([("tool".to_owned(), Value::Array(vec![Value::Table(table.clone())]))]);
    if read == kept { Ok((table, text)) } else { Err("TOML cannot hold it as it is".to_owned()) }
}

/// One table: the short facts first, in the order people know, then what is a table of its own.
fn written(table: &Table) -> Result<String, toml::ser::Error> {
    let mut text = "[[tool]]\n".to_owned();
    let place = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut fields: Vec<(&String, &Value)> = table.iter().collect();
    fields.sort_by_key(|(key, _)| place(key));
    let (nested, facts): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, value)| is_nested(value));
    for (key, value) in facts {
        text.push_str(&toml::to_string(&Table::from_iter([(key.clone(), value.clone())]))?);
    }
    for (key, value) in nested {
        let below = Table::from_iter([(key.clone(), value.clone())]);
        text.push('\n');
        text.push_str(&toml::to_string(&Table::from_iter([("tool".to_owned(), Value::Table(below))]))?);
    }
    Ok(text)
}

/// It is written as tables of its own.
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Table(_) => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_table),
        Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
            false
        }
    }
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
    // A star would allow every host below.
    url.host().filter(|host| !host.contains('*')).map(str::to_owned)
}

/// What a configuration with these tables would be refused for, and headers that hold what was sent.
fn to_mend(text: &str) -> Vec<String> {
    let file = FileSource::Text(IMPORTED.into(), text.to_owned());
    let mut left = match Config::load(&Sources { file, ..Sources::default() }) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.to_string().lines().map(str::to_owned).collect(),
    };
    let headers = plain_headers(text);
    if !headers.is_empty() {
        left.push(format!(
            "headers stand there as they are sent: {}; keep what is secret of them as such and write `${{secret:NAME}}`",
            headers.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    left
}

/// Names of headers without a reference to a secret.
fn plain_headers(text: &str) -> BTreeSet<String> {
    let tables: Table = toml::from_str(text).unwrap_or_default();
    let tools = tables.get("tool").and_then(Value::as_array).into_iter().flatten();
    let headers = tools.filter_map(|tool| tool.get("headers")?.as_table()).flatten();
    let plain = headers.filter(|(_, value)| value.as_str().is_some_and(|text| !text.contains("${secret:")));
    plain.map(|(name, _)| name.clone()).collect()
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
        "headers": {"Authorization": "Bearer clinic_secret_token", "X-Key": "k", "X-Other": "${secret:CLINIC}"},
        "pre_call_message": "One moment, let me check.", "timeout_seconds": 8, "note": null
    }]}"#;

    #[test]
    fn row_60_the_same_objects_as_json_are_taken_field_for_field() {
        let Imported { text, left_out } = convert(AGENT).unwrap();
        assert_eq!(left_out, Vec::<String>::new());
        let left = to_mend(&text);
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].contains("imported.toml:5: tool.check_availability.effect"), "{left:?}");
        assert!(
            left[1].starts_with("headers stand there as they are sent: Authorization, X-Key;"),
            "{left:?}"
        );

        let mended = text.replace("[[tool]]", "[[tool]]\neffect = \"read\"");
        let file = FileSource::Text("t.toml".into(), mended.replace("Bearer clinic", "${secret:CLINIC} # "));
        let config = Config::load(&Sources { file, ..Sources::default() }).unwrap().config;
        let tool = &config.http_tools[0].tool;
        assert_eq!((tool.name.as_str(), tool.timeout.as_secs()), ("check_availability", 8));
        assert_eq!(tool.pre_call_message, "One moment, let me check.");
        assert_eq!(tool.target.url().as_str(), "https://clinic.example.com/voxa/availability?x=1");
        assert_eq!(tool.headers.len(), 3);
    }

    #[test]
    fn what_is_no_list_of_tools_is_refused_with_its_place() {
        for (text, said) in [("[", "it is not JSON"), ("{}", "a list of tools"), ("3", "a list of tools")] {
            assert!(convert(text).unwrap_err().starts_with(said), "{text}");
        }
        let many = format!("[{}{{}}]", "{},".repeat(TOOLS_MAX));
        assert!(convert(&many).unwrap_err().starts_with("it holds 257 tools"));
        let odd = r#"[{"name": "9", "descriptoin": "x", "timeout_seconds": 99, "url": "https://*.com/"}]"#;
        let Imported { text, .. } = convert(odd).unwrap();
        assert!(text.contains("allow = []"), "{text}");
        let left = to_mend(&text);
        let said = left.join("\n");
        for fault in ["description", "descriptoin", "tool.9.name", "timeout_seconds"] {
            assert!(said.contains(fault), "{fault}: {said}");
        }
    }

    #[test]
    fn whatever_a_tool_holds_stays_in_it_and_one_that_cannot_be_written_leaves_the_others() {
        let odd = r#"[
            {"name": "a", "mcp": [{"name": "evil", "command": ["sh"]}], "tool": [{"name": "b"}], "headers": [{"name": "X"}],
             "mixed": [1, {"a": 1}], "deep": {"x": [{"y": [{"z": 1}]}]}, "a.b\n[c]": "d", "ungated": "why"},
            {"name": "none", "parameters": {"enum": ["a", null]}}, 4, {"name": "big", "n": 18446744073709551615},
            {"name": "last"}]"#;
        let Imported { text, left_out } = convert(odd).unwrap();
        let read: Table = toml::from_str(&text).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["tool", "tools"], "{text}");
        let names: Vec<_> =
            read["tool"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "last"], "{text}");
        assert_eq!(read["tool"][0]["mcp"][0]["name"].as_str(), Some("evil"));
        assert!(to_mend(&text).iter().any(|left| left.contains("tool.a.mcp")), "{:?}", to_mend(&text));
        assert_eq!(left_out.len(), 3, "{left_out:?}");
        assert!(left_out[0].starts_with("tool 2 (none): TOML cannot hold it"), "{left_out:?}");
    }
}
