// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes records of moments.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use session::{END_CALL, Notice, Outcome, OutcomeStatus};
use units::{CallKey, Instant, TurnId};

use super::steps::Requests;
use super::{Kept, Level, Record, Said, Step, text};
use crate::config::Config;
use crate::tooling::Tooling;
use crate::watch::Moment;

/// Calls that are remembered: more than the session keeps open at once. What is past them is the oldest, which nobody
/// waits for.
const CALLS_MAX: usize = 512;

/// Follows each call from its arrival to its result, and each request to the model.
#[derive(Debug)]
pub struct Keeper {
    tooling: Tooling,
    urls: BTreeMap<String, String>,
    calls: BTreeMap<CallKey, Call>,
    requests: Requests,
}

#[derive(Debug)]
struct Call {
    name: String,
    /// The person's turn it came in.
    turn: Option<TurnId>,
    arrived: Instant,
    /// When it was sent to its tool.
    run: Option<Instant>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing has come of it.
    Open,
    /// Its result is recorded; the answer that follows says the same.
    Recorded,
    /// It was answered without its tool, which may still come back.
    GivenUp,
}

impl Keeper {
    /// Of calls of these tools.
    #[must_use]
    pub fn new(tooling: Tooling, config: &Config) -> Self {
        let urls = config.http_tools.iter().map(|declared| {
            let mut url = declared.tool.target.url().clone();
            // A query may hold what a service calls a key.
            url.set_query(None);
            url.set_fragment(None);
            (declared.tool.name.clone(), url.to_string())
        });
        Self { tooling, urls: urls.collect(), calls: BTreeMap::new(), requests: Requests::default() }
    }

    /// The records that this moment makes, in order.
    pub(crate) fn records(&mut self, at: Instant, moment: &Moment<'_>) -> Vec<Record> {
        match moment {
            Moment::Notice(notice) => {
                let mut records = self.of_notice(at, notice);
                records.extend(self.requests.on_notice(at, notice).map(Record::Step));
                if let Notice::Turn(turn) = notice {
                    records.push(Record::Turn(turn.clone()));
                } else if let Notice::Ended { by } = notice {
                    records.push(Record::Ended { by });
                }
                records
            }
            Moment::Outcome { call, outcome } => self.of_outcome(at, *call, outcome),
            Moment::Event(_)
            | Moment::Audio(_)
            | Moment::Line { .. }
            | Moment::Anomaly(_)
            | Moment::Record(_) => Vec::new(),
        }
    }

    fn of_notice(&mut self, at: Instant, notice: &Notice) -> Vec<Record> {
        if let Notice::CallArrived { call, name, args } | Notice::CallMade { call, name, args, .. } = notice {
            return self.arrived(at, *call, name, args).into();
        }
        if let Notice::CallRun { call, .. } = notice {
            if let Some(known) = self.calls.get_mut(call) {
                known.run = Some(at);
            }
        } else if let Notice::CallAnswered { call, name, body, coalesced, .. } = notice {
            return self.answered(at, *call, name, body, *coalesced);
        } else if let Notice::CallClosed { call, name, why } = notice {
            let body = json!({"status": "closed", "message": why});
            return self.answered(at, *call, name, &body, false);
        } else if let Notice::UserSaid { turn, text } = notice {
            return vec![Record::Said(Said::Person { turn: *turn, text: text.clone() })];
        } else if let Notice::ModelSaid { text, cut } = notice {
            return vec![Record::Said(Said::Model { text: text.clone(), cut: *cut })];
        }
        Vec::new()
    }

    fn arrived(&mut self, at: Instant, call: CallKey, name: &str, args: &Value) -> [Record; 2] {
        if self.calls.len() >= CALLS_MAX {
            self.calls.pop_first();
        }
        self.calls.insert(call, self.call(at, name));
        let kept = Kept::of(args);
        let name = name.to_owned();
        let text = text::of_call(&name, args);
        let url = self.urls.get(&name).cloned();
        [
            Record::Call { call, name: name.clone(), args: kept.clone(), url },
            Record::Said(Said::Tool { call, name, args: kept, text }),
        ]
    }

    fn call(&self, at: Instant, name: &str) -> Call {
        Call { name: name.to_owned(), turn: self.requests.turn(), arrived: at, run: None, stage: Stage::Open }
    }

    /// The model has its answer, or will never have one.
    fn answered(
        &mut self,
        at: Instant,
        call: CallKey,
        name: &str,
        body: &Value,
        coalesced: bool,
    ) -> Vec<Record> {
        // One of a flood is answered without having been looked at.
        let known = self.calls.remove(&call).unwrap_or_else(|| self.call(at, name));
        match known.stage {
            Stage::Recorded => return Vec::new(),
            Stage::Open | Stage::GivenUp => {}
        }
        let mut records = self.result(at, call, &known, Value::Null, body, coalesced);
        if known.run.is_some() {
            self.calls.insert(call, Call { stage: Stage::GivenUp, ..known });
        } else if body["error_type"] == "unknown_tool" {
            let available = body["available_tools"].clone();
            records.push(Record::UnknownTool { call, name: known.name, available });
        }
        records
    }

    fn of_outcome(&mut self, at: Instant, call: CallKey, outcome: &Outcome) -> Vec<Record> {
        let Some(known) = self.calls.remove(&call) else { return Vec::new() };
        let word = match outcome.status {
            OutcomeStatus::Success => "success",
            OutcomeStatus::Error => "error",
            OutcomeStatus::Unknown => "unknown",
            // It did nothing: what the model is told of the call is all there is to record.
            OutcomeStatus::Cancelled => {
                if known.stage != Stage::GivenUp {
                    self.calls.insert(call, known);
                }
                return Vec::new();
            }
        };
        let records = match known.stage {
            Stage::Recorded => Vec::new(),
            Stage::Open | Stage::GivenUp => self.result(at, call, &known, word.into(), &outcome.body, false),
        };
        if known.stage != Stage::GivenUp {
            self.calls.insert(call, Call { stage: Stage::Recorded, ..known });
        }
        records
    }

    /// `word` stands in where the body names no status.
    fn result(
        &self,
        at: Instant,
        call: CallKey,
        known: &Call,
        word: Value,
        body: &Value,
        coalesced: bool,
    ) -> Vec<Record> {
        if self.ends_session(&known.name) {
            return Vec::new();
        }
        let status = body.get("status").cloned().unwrap_or(word);
        let latency = at - known.run.unwrap_or(known.arrived);
        let (turn, name) = (known.turn, known.name.clone());
        let step = Step::Tool { turn, call, name: name.clone(), status: status.clone(), took: latency };
        let level = level(&status);
        let late = known.stage == Stage::GivenUp;
        let result = Kept::of(body);
        vec![
            Record::Result { call, name, status, result, latency, level, late, coalesced },
            Record::Step(step),
        ]
    }

    fn ends_session(&self, name: &str) -> bool {
        let tools = self.tooling.current();
        tools.find(name).map_or(name == END_CALL, tools::ErasedTool::ends_session)
    }
}

/// A call that waits for a person, goes on by itself or was stopped in time is no failure, though nothing was done yet.
fn level(status: &Value) -> Level {
    let word = matches!(status.as_str(), Some("success" | "pending_confirmation" | "running" | "cancelled"));
    if word || status.as_u64().is_some_and(|code| (200..=299).contains(&code)) {
        Level::Info
    } else {
        Level::Warning
    }
}
