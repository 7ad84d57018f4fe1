// SPDX-License-Identifier: MIT OR Apache-2.0

//! `[[mcp]]`: servers whose tools the model may call. Unlike every other section there may be any number of them, so they
//! are read here, with the same kinds of faults.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};
use tools::mcp::{Marks, Reach, ServerConfig, Template};
use tools::{Agreement, Effect};

use super::fault::{Fault, Origin, Problem};
use super::layer::{File, convert, quoted};
use super::locate::nearest;
use super::schema::{Kind, name_ok};
use super::{Entry, check, http_tool, show};
use crate::speech;

/// The key of the tables.
pub(super) const KEY: &str = "mcp";

/// Keys of a server and of one of its tools.
const SERVER_KEYS: [&str; 7] = ["name", "command", "url", "env", "timeout_seconds", "trusted", "tools"];
const TOOL_KEYS: [&str; 10] = [
    "effect",
    "needs_result_now",
    "budget_ms",
    "job",
    "confirm",
    "consent",
    "high_risk",
    "repeat_last",
    "ungated",
    "enabled",
];

/// Those that say what it takes to agree.
const ASKING_KEYS: [&str; 3] = ["consent", "high_risk", "repeat_last"];

/// [`tools::REPEATED_DIGITS`], as a file writes them.
const REPEATED_RANGE: std::ops::RangeInclusive<i64> = 1..=10;

const NAME_RULE: &str = "a name of 1..=24 characters: a-z first, then a-z, 0-9, - and _";

/// One table, checked. It is only good if no fault was added.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    /// Everything but its time, which stands for none.
    config: ServerConfig,
    /// `None` is that of every tool.
    timeout: Option<Duration>,
    origin: Origin,
    entries: Vec<(String, Entry)>,
}

/// Every table of one file.
pub(super) fn read(
    key_at: usize,
    value: &Spanned<DeValue<'_>>,
    file: &File<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<Declared> {
    let DeValue::Array(items) = value.get_ref() else {
        let mut reader = Reader { path: KEY.to_owned(), file, faults, entries: Vec::new() };
        reader.wrong(
            "",
            file.origin(key_at),
            file.shown(value.span()),
            "a table for each server, under [[mcp]]",
        );
        return Vec::new();
    };
    let mut servers = Vec::new();
    for item in items {
        // A table that is left open begins where its first key does; its head is what a person looks for.
        let origin = file.origin(item.span().start);
        let mut reader = Reader { path: KEY.to_owned(), file, faults, entries: Vec::new() };
        match item.get_ref() {
            DeValue::Table(table) => {
                let (config, timeout) = reader.server(table, &origin);
                servers.push(Declared { config, timeout, origin, entries: reader.entries });
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => reader.wrong("", origin, file.shown(item.span()), "a table"),
        }
    }
    servers
}

/// The servers of all files, with `timeout` where one sets none. Two whose tools would have the same names are a fault of both.
pub(super) fn collected(
    declared: Vec<Declared>,
    timeout: Duration,
    origins: &mut BTreeMap<String, Entry>,
    faults: &mut Vec<Fault>,
) -> Vec<ServerConfig> {
    let mut seen: BTreeMap<String, (String, Origin)> = BTreeMap::new();
    let mut servers = Vec::new();
    for Declared { config, timeout: own, origin, entries } in declared {
        let prefix = config.name.replace('-', "_");
        if let Some((first, at)) = seen.get(&prefix).filter(|_| !prefix.is_empty()) {
            let problem = Problem::Value {
                value: format!("{:?}", config.name),
                expected: format!(
                    "another name than that of {first:?} ({at}): their tools would have the same names"
                ),
            };
            faults.push(Fault::Key { origin: origin.clone(), key: format!("{KEY}.name"), problem });
        }
        seen.entry(prefix).or_insert((config.name.clone(), origin));
        origins.extend(entries);
        servers.push(ServerConfig { timeout: own.unwrap_or(timeout), ..config });
    }
    servers
}

/// Reads one server and keeps every fault.
struct Reader<'a> {
    /// The key of the server.
    path: String,
    file: &'a File<'a>,
    faults: &'a mut Vec<Fault>,
    entries: Vec<(String, Entry)>,
}

/// The command with its program where the file says, if it is a path; a name is searched for.
fn placed(head: &Origin, mut command: Vec<String>) -> Vec<String> {
    if let Some(program) = command.first_mut().filter(|program| program.contains('/'))
        && let Some(path) = head.beside(program).to_str()
    {
        path.clone_into(program);
    }
    command
}

type Place<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn server(&mut self, table: &DeTable<'_>, head: &Origin) -> (ServerConfig, Option<Duration>) {
        let value =
            |key: &str| table.iter().find(|(known, _)| known.get_ref() == key).map(|(_, value)| value);
        let name = value("name").and_then(|name| name.get_ref().as_str()).unwrap_or_default().to_owned();
        if value("name").is_none() {
            self.wrong("name", head.clone(), "\"\"".to_owned(), NAME_RULE);
        }
        if !name.is_empty() {
            self.path = format!("{KEY}.{}", quoted(&name));
        }
        let mut timeout = None;
        let (mut command, mut url, mut env, mut trusted) = (None, None, Vec::new(), false);
        let mut tools = BTreeMap::new();
        for (key, value) in table {
            let at = key.span().start;
            match key.get_ref().as_ref() {
                "name" => {
                    if self.text("name", at, value).is_some() && !name_ok(&name.replace('-', "_")) {
                        self.refuse("name", at, value, NAME_RULE);
                    }
                }
                "command" => command = self.list("command", at, value),
                "url" => url = self.text("url", at, value),
                "env" => env = self.env(at, value),
                "timeout_seconds" => {
                    timeout = self.whole("timeout_seconds", at, value, 1..=30);
                }
                "trusted" => trusted = self.switch("trusted", at, value).unwrap_or(trusted),
                "tools" => tools = self.tools(at, value),
                other => self.unknown("", other, at, &SERVER_KEYS),
            }
        }
        if let (Some(url), Some(place)) = (&url, value("url")) {
            self.check_url(url, place);
        }
        let reach = match (command, url) {
            (Some(command), None) => {
                if command.first().is_none_or(String::is_empty) {
                    self.wrong("command", head.clone(), "[]".to_owned(), "a program and its arguments");
                }
                Reach::Child { command: placed(head, command), env }
            }
            (None, Some(url)) => {
                if let Some(place) = value("env").filter(|_| !env.is_empty()) {
                    self.refuse(
                        "env",
                        place.span().start,
                        place,
                        "no variables with `url`: there is no child to pass them to",
                    );
                }
                Reach::Http { url }
            }
            (command, url) => {
                // A value of the wrong kind has been told of already.
                if command.is_some() || (value("command").is_none() && value("url").is_none()) {
                    let given = if command.is_some() { "both" } else { "neither" };
                    self.wrong("command", head.clone(), format!("{given} command and url"), "one of the two");
                }
                Reach::Http { url: url.unwrap_or_default() }
            }
        };
        let timeout = timeout.map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
        (ServerConfig { name, reach, timeout: Duration::ZERO, trusted, tools }, timeout)
    }

    fn env(&mut self, at: usize, value: &Place<'_>) -> Vec<String> {
        let names = self.list("env", at, value).unwrap_or_default();
        let is_name = |name: &String| {
            !name.is_empty()
                && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
                && !name.starts_with(|char: char| char.is_ascii_digit())
        };
        if !names.iter().all(is_name) {
            // What stands behind an `=` may be a secret.
            let expected = "names of environment variables, not their values";
            self.wrong("env", self.file.origin(at), "[***]".to_owned(), expected);
        }
        names
    }

    fn check_url(&mut self, url: &str, place: &Place<'_>) {
        let good =
            check::parts(url).is_some_and(|(scheme, host)| scheme == "http" && check::is_loopback(&host));
        if !good {
            let expected = "an http:// URL of this machine, such as http://127.0.0.1:8100/mcp";
            let value = show::masked("url", &Value::String(url.to_owned()));
            self.wrong("url", self.file.origin(place.span().start), value, expected);
        }
    }

    fn tools(&mut self, at: usize, value: &Place<'_>) -> BTreeMap<String, Marks> {
        let mut tools = BTreeMap::new();
        let DeValue::Table(table) = value.get_ref() else {
            self.refuse("tools", at, value, "a table for each tool, under [mcp.tools.NAME]");
            return tools;
        };
        for (name, value) in table {
            let path = format!("tools.{}", quoted(name.get_ref()));
            match value.get_ref() {
                DeValue::Table(marks) => {
                    let marks = self.marks(&path, marks);
                    tools.insert(name.get_ref().to_string(), marks);
                }
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_) => self.refuse(&path, name.span().start, value, "a table"),
            }
        }
        tools
    }

    fn marks(&mut self, path: &str, table: &DeTable<'_>) -> Marks {
        let mut marks = Marks::default();
        for (key, value) in table {
            let at = key.span().start;
            let name = key.get_ref().as_ref();
            let path_of = format!("{path}.{}", quoted(name));
            match name {
                "effect" => {
                    let effects =
                        [("read", Effect::Read), ("local", Effect::Local), ("outbound", Effect::Outbound)];
                    let said = self.text(&path_of, at, value);
                    match said.and_then(|said| effects.iter().find(|(word, _)| *word == said)) {
                        Some((_, effect)) => marks.effect = *effect,
                        None if value.get_ref().is_str() => {
                            self.refuse(&path_of, at, value, "\"read\" or \"local\" or \"outbound\"");
                        }
                        None => {}
                    }
                }
                "needs_result_now" => {
                    marks.needs_result_now = self.switch(&path_of, at, value).unwrap_or_default();
                }
                "budget_ms" => {
                    let budget = self.whole(&path_of, at, value, 1..=30_000);
                    marks.budget = budget.map(|budget| Duration::from_millis(budget.unsigned_abs()));
                }
                "job" => marks.job = self.switch(&path_of, at, value).unwrap_or_default(),
                "confirm" => marks.confirm = self.confirm(&path_of, at, value),
                "consent" => {
                    let word = self.text(&path_of, at, value);
                    match word.as_deref().and_then(Agreement::parse) {
                        Some(by) => marks.asking.by = by,
                        None if word.is_some() => {
                            self.refuse(&path_of, at, value, &http_tool::ways_to_agree());
                        }
                        None => {}
                    }
                }
                "high_risk" => marks.asking.high_risk = self.switch(&path_of, at, value).unwrap_or_default(),
                "repeat_last" => {
                    let digits = self.whole(&path_of, at, value, REPEATED_RANGE);
                    marks.asking.repeat_last = digits.and_then(|digits| usize::try_from(digits).ok());
                }
                "ungated" => {
                    marks.ungated = self.text(&path_of, at, value);
                    if marks.ungated.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
                        self.refuse(&path_of, at, value, "why nobody need be asked");
                    }
                }
                "enabled" => marks.enabled = self.switch(&path_of, at, value).unwrap_or(true),
                other => self.unknown(path, other, at, &TOOL_KEYS),
            }
            if name == "ungated"
                && marks.ungated.is_some()
                && table.iter().any(|(key, _)| key.get_ref() == "confirm")
            {
                self.refuse(&path_of, at, value, "one of `confirm` and `ungated`, not both");
            }
        }
        let has = |name: &str| table.iter().any(|(key, _)| key.get_ref() == name);
        for (key, value) in table.iter().filter(|_| !has("confirm")) {
            if ASKING_KEYS.contains(&key.get_ref().as_ref()) {
                let expected = "`confirm` with it: nobody is asked without a sentence";
                self.refuse(&format!("{path}.{}", key.get_ref()), key.span().start, value, expected);
            }
        }
        let budget = table.iter().find(|(key, _)| key.get_ref() == "budget_ms");
        if let Some((key, value)) = budget.filter(|_| marks.job) {
            let expected = "no budget with `job`: nobody waits for it";
            self.refuse(&format!("{path}.budget_ms"), key.span().start, value, expected);
        }
        marks
    }

    fn confirm(&mut self, key: &str, at: usize, value: &Place<'_>) -> Option<Template> {
        let text = self.text(key, at, value)?;
        let template = match Template::parse(&text) {
            Ok(template) => template,
            Err(fault) => {
                self.refuse(key, at, value, &fault.to_string());
                return None;
            }
        };
        let unspeakable = template.words().find_map(speech::unspeakable);
        if let Some(char) = unspeakable {
            self.refuse(key, at, value, &format!("no {char:?}, which cannot be read aloud"));
            return None;
        }
        Some(template)
    }

    // One value.

    fn text(&mut self, key: &str, at: usize, value: &Place<'_>) -> Option<String> {
        self.take(key, at, value, Kind::Text).and_then(|value| value.as_str().map(str::to_owned))
    }

    fn list(&mut self, key: &str, at: usize, value: &Place<'_>) -> Option<Vec<String>> {
        let items = self.take(key, at, value, Kind::List)?;
        Some(items.as_array()?.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
    }

    fn switch(&mut self, key: &str, at: usize, value: &Place<'_>) -> Option<bool> {
        self.take(key, at, value, Kind::Switch)?.as_bool()
    }

    fn whole(
        &mut self,
        key: &str,
        at: usize,
        value: &Place<'_>,
        range: std::ops::RangeInclusive<i64>,
    ) -> Option<i64> {
        let number = self.take(key, at, value, Kind::Whole)?.as_integer()?;
        if !range.contains(&number) {
            self.refuse(key, at, value, &format!("{}..={}", range.start(), range.end()));
        }
        Some(number)
    }

    /// A value of the right kind, noted with its place; a fault otherwise.
    fn take(&mut self, key: &str, at: usize, value: &Place<'_>, kind: Kind) -> Option<Value> {
        let taken = convert(value.get_ref(), kind);
        match &taken {
            Some(value) => {
                let entry = Entry { value: value.clone(), origin: self.file.origin(at) };
                self.entries.push((format!("{}.{key}", self.path), entry));
            }
            None => self.refuse(key, at, value, kind.expected()),
        }
        taken
    }

    fn refuse(&mut self, key: &str, at: usize, value: &Place<'_>, expected: &str) {
        let shown = show::masked_text(key, self.file.shown(value.span()));
        self.wrong(key, self.file.origin(at), shown, expected);
    }

    fn wrong(&mut self, key: &str, origin: Origin, value: String, expected: &str) {
        let key = if key.is_empty() { self.path.clone() } else { format!("{}.{key}", self.path) };
        self.faults.push(Fault::Key {
            origin,
            key,
            problem: Problem::Value { value, expected: expected.to_owned() },
        });
    }

    fn unknown(&mut self, above: &str, key: &str, at: usize, known: &[&str]) {
        let above = if above.is_empty() { self.path.clone() } else { format!("{}.{above}", self.path) };
        let nearest = nearest(key, known.iter().copied()).map(|known| format!("{above}.{known}"));
        let problem = Problem::Unknown { nearest };
        self.faults.push(Fault::Key {
            origin: self.file.origin(at),
            key: format!("{above}.{}", quoted(key)),
            problem,
        });
    }
}
