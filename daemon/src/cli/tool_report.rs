// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced tools report`: what the records of a device say about its tools, and which marks look wrong.
//!
//! Two mistakes can be heard and not seen. A slow tool that is marked `needs_result_now` makes the person wait. One that is
//! not marked, and should be, leaves them without an answer: they ask again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use tools::ToolSet;

use super::{fail, note, print, shown};
use crate::file;

/// A wait for a marked tool that a person notices, for one call in twenty.
const SLOW_MS: u64 = 1000;

/// Calls of a tool from which something is concluded: fewer are somebody trying it.
const CALLS_MIN: usize = 5;

/// Share of its turns, in percent, that the next one repeats: once in a while a question is not heard, and asked again.
const REPEATED_PERCENT: usize = 20;

/// Share of their words, in percent, that two questions have in common if one repeats the other: a word or two of a short
/// question may differ.
const ALIKE_PERCENT: usize = 60;

/// Longest line that is looked at, in bytes: records are cut far below. What is longer is no record, piece by piece.
const LINE_BYTES_MAX: u64 = 256 * 1024;

/// How much of a name is shown: a model may call what it likes.
const NAME_CHARS: usize = 40;

/// What is known of one tool.
#[derive(Debug, Default)]
struct Figures {
    latencies_ms: Vec<u64>,
    failed: usize,
    /// Calls that were answered with a question to the person, and did nothing.
    asked: usize,
    /// Turns in which it was called and that the next turn repeats.
    repeated: usize,
    /// Turns in which it was called.
    turns: usize,
}

/// One turn of the person: what was called in it, and what they said.
#[derive(Debug, Default)]
struct Turn {
    called: BTreeSet<String>,
    said: Option<String>,
}

/// The records of one run, read in order.
#[derive(Debug, Default)]
struct Run {
    before: Turn,
    called: BTreeSet<String>,
    said: BTreeMap<u64, String>,
}

#[derive(Debug, Default)]
struct Report {
    tools: BTreeMap<String, Figures>,
    runs: BTreeMap<String, Run>,
    unread: usize,
}

/// Reads `files`, as `log.records` writes them, oldest first, and prints what they say of `tools`.
pub(super) fn report(files: &[PathBuf], tools: &ToolSet, as_json: bool) -> ExitCode {
    let mut report = Report::default();
    for path in files {
        if let Err(cause) = report.read_file(path) {
            return fail(2, format_args!("the records `{}` cannot be read: {cause}", path.display()));
        }
    }
    if report.unread > 0 {
        note(format_args!("caution: {} lines are no records and are passed over", report.unread));
    }
    if as_json {
        return print(&report.as_value(tools).to_string());
    }
    if report.tools.is_empty() {
        return print("no call of a tool is recorded");
    }
    print(&report.as_text(tools))
}

impl Report {
    fn read_file(&mut self, path: &Path) -> io::Result<()> {
        let mut file = BufReader::new(file::open(path)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = file.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            match std::str::from_utf8(&line) {
                Ok(line) => self.read(line),
                Err(_) => self.unread += 1,
            }
        }
    }

    fn read(&mut self, line: &str) {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        let (Some(run), Some(kind)) = (record["run"].as_str(), record["kind"].as_str()) else {
            self.unread += usize::from(!line.trim().is_empty());
            return;
        };
        let run = self.runs.entry(run.to_owned()).or_default();
        let name = record["name"].as_str().map(|name| shown(name, NAME_CHARS));
        let name = name.as_deref();
        match (kind, name) {
            ("tool.call", Some(name)) => {
                run.called.insert(name.to_owned());
            }
            ("tool.result", Some(name)) => {
                let figures = self.tools.entry(name.to_owned()).or_default();
                if record["status"] == "pending_confirmation" {
                    figures.asked += 1;
                    return;
                }
                figures.latencies_ms.extend(record["latency_ms"].as_u64());
                figures.failed += usize::from(record["level"] != "info");
            }
            ("transcript", None) => {
                if let (Some(turn), Some(text)) = (record["turn"].as_u64(), record["text"].as_str()) {
                    // The last one of a turn has all of it, and older turns are over.
                    run.said = run.said.split_off(&turn.saturating_sub(1));
                    run.said.insert(turn, text.to_owned());
                }
            }
            ("turn", _) => {
                let said = record["turn"].as_u64().and_then(|turn| run.said.remove(&turn));
                let turn = Turn { called: std::mem::take(&mut run.called), said };
                let again = run.before.is_repeated_by(&turn);
                for name in std::mem::replace(&mut run.before, turn).called {
                    let figures = self.tools.entry(name).or_default();
                    figures.turns += 1;
                    figures.repeated += usize::from(again);
                }
            }
            _ => {}
        }
    }

    fn as_text(&self, tools: &ToolSet) -> String {
        let mut lines = vec![format!(
            "{:<26} {:>6} {:>6} {:>6} {:>8} {:>8}  mark",
            "tool", "asked", "calls", "failed", "p50 ms", "p95 ms"
        )];
        for (name, figures) in &self.tools {
            let [p50, p95] = [50, 95].map(|percent| {
                figures.latency_ms(percent).map_or_else(|| "-".to_owned(), |ms| ms.to_string())
            });
            let (asked, calls, failed) = (figures.asked, figures.latencies_ms.len(), figures.failed);
            let mark = mark(tools, name);
            lines.push(format!("{name:<26} {asked:>6} {calls:>6} {failed:>6} {p50:>8} {p95:>8}  {mark}"));
        }
        lines.extend(self.cautions(tools).into_iter().map(|caution| format!("caution: {caution}")));
        lines.join("\n")
    }

    fn as_value(&self, tools: &ToolSet) -> Value {
        let rows = self.tools.iter().map(|(name, figures)| {
            json!({
                "name": name, "asked": figures.asked, "calls": figures.latencies_ms.len(), "failed": figures.failed,
                "p50_ms": figures.latency_ms(50), "p95_ms": figures.latency_ms(95),
                "turns": figures.turns, "asked_again": figures.repeated, "mark": mark(tools, name),
            })
        });
        json!({"tools": rows.collect::<Vec<_>>(), "cautions": self.cautions(tools)})
    }

    /// The marks that look wrong.
    fn cautions(&self, tools: &ToolSet) -> Vec<String> {
        let mut cautions = Vec::new();
        for (name, figures) in &self.tools {
            let Some(tool) = tools.find(name) else { continue };
            let enough = figures.latencies_ms.len() >= CALLS_MIN;
            if tool.needs_result_now()
                && let Some(ms) = figures.latency_ms(95).filter(|ms| enough && *ms > SLOW_MS)
            {
                cautions.push(format!(
                    "`{name}` needs its result now, and one call in twenty takes {ms} ms or more: the person waits in \
                     silence; give it a line before it runs, make it a job, or take the mark away"
                ));
            }
            let often = figures.repeated * 100 >= figures.turns * REPEATED_PERCENT;
            if !tool.needs_result_now() && figures.turns >= CALLS_MIN && figures.repeated > 0 && often {
                cautions.push(format!(
                    "`{name}` is not marked `needs_result_now`, and after {} of {} turns with it the person asked the \
                     same again: mark it if what it brings is what they asked for",
                    figures.repeated, figures.turns
                ));
            }
        }
        cautions
    }
}

impl Turn {
    /// Whether the person says the same once more in `next`.
    fn is_repeated_by(&self, next: &Self) -> bool {
        let (Some(said), Some(again)) = (&self.said, &next.said) else { return false };
        let (said, again) = (words(said), words(again));
        let common = said.intersection(&again).count();
        let all = said.union(&again).count();
        // A word alone ("yes", "thanks") is said often and repeats nothing.
        common > 1 && common * 100 >= all * ALIKE_PERCENT
    }
}

impl Figures {
    /// The shortest time within which `percent` of the calls had their result.
    fn latency_ms(&self, percent: usize) -> Option<u64> {
        let mut sorted = self.latencies_ms.clone();
        sorted.sort_unstable();
        let place = (sorted.len() * percent).div_ceil(100).checked_sub(1)?;
        sorted.get(place).copied()
    }
}

fn mark(tools: &ToolSet, name: &str) -> &'static str {
    match tools.find(name) {
        None => "(no such tool now)",
        Some(tool) if tool.needs_result_now() => "needs_result_now",
        Some(_) => "",
    }
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use tools::{Cx, Effect, ErasedTool, ToolBuilder, ToolResult};

    use super::*;

    fn tool(name: &str) -> ToolBuilder<Value> {
        let schema = json!({"type": "object", "properties": {}});
        let told = |_: Value, _: Cx| async { ToolResult::ok("It is so.") };
        ErasedTool::dynamic(name, "Says how it is. Use it when asked.", schema, told).effect(Effect::Read)
    }

    fn shop() -> ToolSet {
        let tools = ToolSet::builder().tool(tool("slow").needs_result_now()).tool(tool("quiet"));
        tools.tool(tool("quick").needs_result_now()).build().unwrap()
    }

    /// One turn of the person in which `name` is called and takes so long.
    fn turn(report: &mut Report, turn: u64, said: &str, name: &str, latency_ms: u64) {
        let run = "r1";
        for record in [
            json!({"run": run, "kind": "tool.call", "call": turn, "name": name, "args": {}}),
            json!({"run": run, "kind": "transcript", "role": "tool", "name": name, "text": "x()"}),
            json!({"run": run, "kind": "tool.result", "name": name, "latency_ms": latency_ms, "level": "info"}),
            json!({"run": run, "kind": "transcript", "role": "person", "turn": turn, "text": said}),
            json!({"run": run, "kind": "transcript", "role": "model", "text": "Well."}),
            json!({"run": run, "kind": "turn", "turn": turn, "calls": 1}),
        ] {
            report.read(&record.to_string());
        }
    }

    #[test]
    fn row_28_a_slow_marked_tool_and_an_unmarked_one_that_is_asked_again_are_told() {
        let mut report = Report::default();
        for n in 0..20 {
            turn(&mut report, n, &format!("is bay {n} free"), "slow", if n < 18 { 400 } else { 1400 });
            turn(&mut report, n + 100, &format!("how warm is zone {n}"), "quick", 1000);
        }
        for n in 200..205 {
            turn(&mut report, n, "Is the lamp on?", "quiet", 5);
        }
        turn(&mut report, 205, "thank you", "quiet", 5);
        let told = report.cautions(&shop());
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].starts_with("`quiet` is not marked `needs_result_now`, and after 4 of 5 turns"),
            "{told:?}"
        );
        assert!(
            told[1].starts_with("`slow` needs its result now, and one call in twenty takes 1400 ms or more")
        );
        let value = report.as_value(&shop());
        assert_eq!(value["tools"][2]["p50_ms"], 400);
    }

    #[test]
    fn what_is_no_repetition_and_what_is_too_little_is_not_told() {
        let mut report = Report::default();
        for n in 0..9 {
            turn(&mut report, n, "Thanks.", "quiet", 5);
        }
        for n in 20..24 {
            turn(&mut report, n, &format!("bay {n}"), "slow", 5000);
        }
        let asked = json!({"run": "r1", "kind": "tool.result", "name": "quick", "status": "pending_confirmation", "latency_ms": 0});
        report.read(&asked.to_string());
        assert_eq!((report.tools["quick"].asked, report.tools["quick"].latencies_ms.len()), (1, 0));
        report.read("half a li");
        report.read("");
        assert_eq!(report.cautions(&shop()), Vec::<String>::new());
        assert_eq!(report.unread, 1);
        let gone =
            json!({"run": "r1", "kind": "tool.result", "name": "gone", "latency_ms": 1, "level": "warning"});
        report.read(&gone.to_string());
        let text = report.as_text(&shop());
        assert!(text.contains("gone") && text.contains("(no such tool now)"), "{text}");
        let forged =
            json!({"run": "r1", "kind": "tool.result", "name": "\u{1b}[31m\nquick 9 9", "level": "info"});
        report.read(&forged.to_string());
        assert!(
            !report.as_text(&shop()).contains('\u{1b}') && !report.as_text(&shop()).contains("\nquick 9")
        );
    }
}
