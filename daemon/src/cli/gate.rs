// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced gate`: what is kept of the confirmation gate.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use super::{fail, load, note, print};
use crate::config::{ProcessEnv, Sources};
use crate::gate_log::{Record, Verdict, files, path_in, time_before, time_from, verify};

/// What can be looked at.
#[derive(Debug, Subcommand)]
pub(super) enum GateCommand {
    /// Who agreed to what, worded how, and what was done
    Log {
        /// Only questions asked since then: 2026-11-30, 2026-11-30T21:30 (UTC), or 90m, 12h, 7d ago
        #[arg(long, value_name = "TIME", value_parser = since)]
        since: Option<String>,
        /// One JSON array instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Tell whether a record was changed, added or removed, but for the last ones; ends with 1 if so, with 2 if there is none
    Verify {
        /// Files of the log, the oldest first; left out, all that the device has
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// Does what `command` says.
pub(super) fn run(command: GateCommand, sources: &Sources) -> ExitCode {
    match command {
        GateCommand::Verify { files } => with(files, sources, |files, verdict| {
            let code = print(&told(files, &verdict));
            if !verdict.breaks.is_empty() {
                return ExitCode::from(1);
            }
            if verdict.records.is_empty() { ExitCode::from(2) } else { code }
        }),
        GateCommand::Log { since, json } => with(Vec::new(), sources, |_, verdict| {
            if !verdict.breaks.is_empty() {
                note("caution: records were changed, added or removed; `voiced gate verify` tells where");
            }
            let mut questions = questions(&verdict.records);
            questions.retain(|question| since.as_ref().is_none_or(|since| question.at >= *since));
            if json {
                let questions: Vec<Value> = questions.iter().map(Question::json).collect();
                return print(&Value::Array(questions).to_string());
            }
            print(&table(&questions))
        }),
    }
}

/// Reads the files that were named, or those of the device.
fn with(
    named: Vec<PathBuf>,
    sources: &Sources,
    look: impl FnOnce(&[PathBuf], Verdict) -> ExitCode,
) -> ExitCode {
    let paths = if named.is_empty() {
        let state = match load(sources) {
            Ok(loaded) => loaded.config.state_dir(&ProcessEnv),
            Err(code) => return code,
        };
        match state.map(|state| path_in(&state)) {
            Ok(path) => {
                let paths = files(&path);
                if paths.is_empty() {
                    return fail(2, format_args!("there is no `{}`: nothing was recorded", path.display()));
                }
                paths
            }
            Err(fault) => return fail(2, fault),
        }
    } else {
        named
    };
    let mut contents = Vec::new();
    for path in &paths {
        match fs::read(path) {
            Ok(bytes) => contents.push(bytes),
            Err(cause) => return fail(2, format_args!("`{}` cannot be read: {cause}", path.display())),
        }
    }
    look(&paths, verify(&contents))
}

fn since(text: &str) -> Result<String, String> {
    let ago = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let number: u64 = number.parse().ok()?;
        let seconds = match unit {
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        Some(time_before(Duration::from_secs(number.checked_mul(seconds)?)))
    };
    ago()
        .or_else(|| time_from(text))
        .ok_or_else(|| "expected a time like 2026-11-30 or 2026-11-30T21:30, or 90m, 12h, 7d".to_owned())
}

fn told(files: &[PathBuf], verdict: &Verdict) -> String {
    let mut text = String::new();
    let at = |file: usize, line: usize| {
        let file = files.get(file).map(|file| file.display().to_string()).unwrap_or_default();
        format!("{file}:{line}")
    };
    for broken in &verdict.breaks {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}", at(broken.file, broken.line), broken.what);
    }
    for (file, line) in &verdict.torn {
        let _ = writeln!(
            text,
            "{}: torn: it was being written when the daemon or the power went",
            at(*file, *line)
        );
    }
    let (Some(first), Some(last)) = (verdict.records.first(), verdict.records.last()) else {
        return text + "no record";
    };
    if verdict.is_continued {
        let _ = writeln!(text, "it continues records before {} that are not here", first.seq);
    }
    let breaks = verdict.breaks.len();
    let _ = write!(
        text,
        "{} records from {} to {}: {}",
        verdict.records.len(),
        clean(&first.at),
        clean(&last.at),
        match breaks {
            0 => "no break".to_owned(),
            1 => "1 break".to_owned(),
            _ => format!("{breaks} breaks"),
        }
    );
    text
}

/// One question and all that came of it.
#[derive(Debug, Default)]
struct Question {
    at: String,
    run: String,
    id: u64,
    tool: String,
    /// The sentence, with its fields as far as they are shown.
    words: String,
    args: Value,
    /// How it was answered, and by which way.
    answer: String,
    grant: Option<u64>,
    call: Option<u64>,
    key8: String,
    outcome: String,
}

impl Question {
    fn json(&self) -> Value {
        json!({
            "at": self.at, "run": self.run, "id": self.id, "tool": self.tool, "summary": self.words, "args": self.args,
            "answer": self.answer, "grant": self.grant, "call": self.call, "key8": self.key8, "outcome": self.outcome,
        })
    }
}

fn questions(records: &[Record]) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for record in records {
        let text =
            |name: &str| record.fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |name: &str| record.fields.get(name).and_then(Value::as_u64);
        let run = text("run");
        let of_run = questions.iter_mut().rev().filter(|question| question.run == run);
        match record.event.as_str() {
            "gate.pending" => questions.push(Question {
                at: record.at.clone(),
                run,
                id: number("id").unwrap_or_default(),
                tool: text("tool"),
                words: text("summary"),
                args: record.fields.get("args").cloned().unwrap_or_default(),
                answer: "none".to_owned(),
                ..Question::default()
            }),
            "call.unknown" => {
                let key8 = text("key8");
                let outcome = "unknown: the daemon ended meanwhile".to_owned();
                match questions.iter_mut().rev().find(|question| question.key8 == key8) {
                    Some(question) => question.outcome = outcome,
                    None => questions.push(Question {
                        at: text("begun_at"),
                        run: text("of_run"),
                        tool: text("tool"),
                        answer: "not recorded".to_owned(),
                        key8,
                        outcome,
                        ..Question::default()
                    }),
                }
            }
            event => {
                let (id, grant, call) = (number("id"), number("grant"), number("call"));
                let is_it = |question: &&mut Question| {
                    id.is_some_and(|id| question.id == id)
                        || (id.is_none() && grant.is_some() && question.grant == grant)
                };
                let Some(question) = of_run.into_iter().find(is_it) else { continue };
                match event {
                    "gate.granted" => {
                        question.grant = grant;
                        question.answer = format!("yes, by {}", text("channel"));
                    }
                    "gate.spent" | "call.run" => {
                        question.call = call;
                        question.key8 = text("key8");
                        question.outcome = "no end is recorded".to_owned();
                    }
                    "call.ended" => question.outcome = text("status"),
                    _ => {
                        let end = event.strip_prefix("gate.").filter(|end| {
                            ["declined", "amended", "expired", "superseded", "dropped"].contains(end)
                        });
                        if let Some(end) = end {
                            let taken_back = question.grant.is_some();
                            question.answer =
                                if taken_back { format!("yes, then {end}") } else { end.to_owned() };
                        }
                    }
                }
            }
        }
    }
    questions
}

fn table(questions: &[Question]) -> String {
    let head = ["asked at", "tool", "answer", "outcome", "words"].map(str::to_owned);
    let rows = questions.iter().map(|question| {
        let outcome = if question.outcome.is_empty() { "not done" } else { &question.outcome };
        let words = if question.words.is_empty() { "(not shown)" } else { &question.words };
        [&question.at, &question.tool, &question.answer, outcome, words].map(clean)
    });
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 5]| {
        let mut line = String::new();
        for (text, width) in row.iter().zip(widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{text:width$}  ");
        }
        line + &row[4]
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What the file says, without anything that a terminal acts on.
fn clean(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '?' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_ago_and_a_time_of_day_are_times() {
        assert!(since("90m").expect("it is a span") > since("2d").expect("it is a span"));
        assert_eq!(since("2026-11-30").as_deref(), Ok("2026-11-30T00:00:00.000Z"));
        for wrong in ["", "m", "7w", "x9h", "99999999999999999999d", "ü"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
