// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is kept of a conversation: each call, what came of it, what was said, and what it all took.
//!
//! Records are made of the moments that everybody who watches sees, and are moments themselves; [`RecordFile`] is one who
//! watches and writes them down. Fields that a tool hides are masked in them. [`Record::Step`] and [`Record::Turn`] hold
//! figures only.

mod file;
mod keeper;
mod steps;
mod text;

use std::time::Duration;

use serde_json::{Map, Value, json};
use session::TurnRecord;
use units::{CallKey, TurnId};

use crate::clock::millis;

pub use file::{Bounds, RecordFile};
pub use keeper::Keeper;
pub use steps::Step;

/// Longest arguments, result or text of a call in a record, in characters.
pub const CHARS_MAX: usize = 3000;

/// One thing worth keeping.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The model asked for a call, or the device made one of its own to undo another.
    Call {
        /// Which.
        call: CallKey,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The arguments, as the model wrote them, hidden ones masked.
        args: Kept,
        /// Who carries it out, without what a query may hold. Tools of the configuration only.
        url: Option<String>,
    },
    /// What came of it. A tool that ends the session has none.
    Result {
        /// Of which call.
        call: CallKey,
        /// The tool's name.
        name: String,
        /// A word or an HTTP status, as the model reads it.
        status: Value,
        /// What the model reads.
        result: Kept,
        /// From dispatch to result, or to the answer where no tool ran.
        latency: Duration,
        /// Whether somebody should look.
        level: Level,
        /// It came after the call had been answered without it.
        late: bool,
        /// The call equalled one that had not ended, and shares its result.
        coalesced: bool,
    },
    /// The model asked for a tool that there is not.
    UnknownTool {
        /// In which call.
        call: CallKey,
        /// The name it wrote.
        name: String,
        /// The names it was given to choose from.
        available: Value,
    },
    /// An entry of the transcript.
    Said(Said),
    /// What one request to the model or one run of a tool took.
    Step(Step),
    /// What a turn of the person took, once it is over.
    Turn(TurnRecord),
    /// The session has ended: by the agent, or by the daemon, which was asked to stop.
    Ended {
        /// `agent` or `daemon`.
        by: &'static str,
    },
}

/// An entry of the transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// What a person said, as the provider heard it. A later entry of the same turn replaces it.
    Person {
        /// In which turn, if anybody was heard to speak.
        turn: Option<TurnId>,
        /// Their words.
        text: String,
    },
    /// What the model said.
    Model {
        /// Its words.
        text: String,
        /// Not all of it was heard.
        cut: bool,
    },
    /// A call, written like one.
    Tool {
        /// Which.
        call: CallKey,
        /// The tool's name.
        name: String,
        /// The arguments as JSON.
        args: Kept,
        /// `name({'argument': 'value'})`.
        text: String,
    },
}

/// How much a record asks for attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Info,
    /// Somebody should look.
    Warning,
}

impl Level {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
        }
    }
}

/// A value that fits: JSON, or where that is too long the beginning of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    value: Value,
    truncated: bool,
}

impl Kept {
    /// `value`, if its text has at most [`CHARS_MAX`] characters.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        let text = value.to_string();
        match text.char_indices().nth(CHARS_MAX) {
            None => Self { value: value.clone(), truncated: false },
            Some((end, _)) => Self { value: text[..end].into(), truncated: true },
        }
    }
}

impl Record {
    /// What kind it is, by the name of its line.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Call { .. } => "tool.call",
            Self::Result { .. } => "tool.result",
            Self::UnknownTool { .. } => "error",
            Self::Said(_) => "transcript",
            Self::Step(_) => "step",
            Self::Turn(_) => "turn",
            Self::Ended { .. } => "session.ended",
        }
    }

    /// Its fields, but for the kind.
    #[must_use]
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Fields::default();
        match self {
            Self::Call { call, name, args, url } => {
                fields.put("call", call.0).put("name", name.as_str()).keep("args", "args_truncated", args);
                if let Some(url) = url {
                    fields.put("url", url.as_str());
                }
            }
            Self::Result { call, name, status, result, latency, level, late, coalesced } => {
                fields.put("call", call.0).put("name", name.as_str()).put("status", status.clone());
                fields.keep("result", "truncated", result).put("latency_ms", millis(*latency));
                fields.put("level", level.as_str()).put_if("late", *late).put_if("coalesced", *coalesced);
            }
            Self::UnknownTool { call, name, available } => {
                fields.put("call", call.0).put("name", name.as_str()).put("error", "unknown tool");
                fields.put("available_tools", available.clone()).put("level", "error");
            }
            Self::Said(Said::Person { turn, text }) => {
                fields.put("role", "person").put("text", text.as_str());
                fields.put("turn", turn.map(|turn| turn.0));
            }
            Self::Said(Said::Model { text, cut }) => {
                fields.put("role", "model").put("text", text.as_str()).put_if("cut", *cut);
            }
            Self::Said(Said::Tool { call, name, args, text }) => {
                fields.put("role", "tool").put("text", text.as_str()).put("call", call.0);
                fields.put("name", name.as_str()).keep("args", "args_truncated", args);
            }
            Self::Step(step) => return step.fields(),
            Self::Turn(turn) => {
                fields.put("turn", turn.turn.0).put("hops", turn.hops).put("calls", turn.calls);
                fields.put("awaited", turn.awaited).put("speechless", turn.speechless);
                fields.put("open_ms", turn.open.map(millis)).put("speak_ms", turn.speak.map(millis));
                fields.put("total_ms", millis(turn.total)).tokens(turn.input_tokens, turn.output_tokens);
            }
            Self::Ended { by } => {
                fields.put("hangup_by", *by).put("hangup_reason", reason(by));
            }
        }
        fields.0
    }
}

/// Why the session ended, in the words of hosted voice agents where they have some.
fn reason(by: &str) -> &'static str {
    if by == "agent" { "agent ended the call" } else { "the daemon was stopped" }
}

/// Whole milliseconds.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// A mark that stands only where it is true.
    fn put_if(&mut self, name: &str, is_so: bool) -> &mut Self {
        if is_so { self.put(name, true) } else { self }
    }

    fn keep(&mut self, name: &str, mark: &str, kept: &Kept) -> &mut Self {
        self.put(name, kept.value.clone()).put_if(mark, kept.truncated)
    }

    fn tokens(&mut self, input: u64, output: u64) -> &mut Self {
        self.put("tokens", json!({"input": input, "output": output}))
    }
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod tests;
