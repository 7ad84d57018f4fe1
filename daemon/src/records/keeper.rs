//! Makes records of moments.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use session::{Notice, Outcome, OutcomeStatus};
use units::{CallKey, Instant};

use super::{Kept, Level, Record, Said, text};
use crate::config::Config;
use crate::tooling::Tooling;
use crate::watch::Moment;

/// Calls that are remembered: more than the session keeps open at once. What is past them is the oldest, which nobody
/// waits for.
const CALLS_MAX: usize = 512;

/// Follows each call from its arrival to its result.
#[derive(Debug)]
pub struct Keeper {
    tooling: Tooling,
    urls: BTreeMap<String, String>,
    calls: BTreeMap<CallKey, Call>,
}

#[derive(Debug)]
struct Call {
    name: String,
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
        Self { tooling, urls: urls.collect(), calls: BTreeMap::new() }
    }

    /// The records that this moment makes, in order.
    pub(crate) fn records(&mut self, at: Instant, moment: &Moment<'_>) -> Vec<Record> {
        match moment {
            Moment::Notice(notice) => self.of_notice(at, notice),
            Moment::Outcome { call, outcome } => self.of_outcome(at, *call, outcome).into_iter().collect(),
            Moment::Event(_)
            | Moment::Audio(_)
            | Moment::Line { .. }
            | Moment::Anomaly(_)
            | Moment::Record(_) => Vec::new(),
        }
    }

    fn of_notice(&mut self, at: Instant, notice: &Notice) -> Vec<Record> {
        if let Notice::CallArrived { call, name, args } = notice {
            return self.arrived(at, *call, name, args).into();
        }
        if let Notice::CallRun { call, .. } = notice {
            if let Some(known) = self.calls.get_mut(call) {
                known.run = Some(at);
            }
        } else if let Notice::CallAnswered { call, name, body, .. } = notice {
            return self.answered(at, *call, name, body);
        } else if let Notice::CallClosed { call, name, why } = notice {
            let body = json!({"status": "closed", "message": why});
            return self.answered(at, *call, name, &body);
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
        let open = Call { name: name.to_owned(), arrived: at, run: None, stage: Stage::Open };
        self.calls.insert(call, open);
        let kept = Kept::of(args);
        let name = name.to_owned();
        let text = text::of_call(&name, args);
        let url = self.urls.get(&name).cloned();
        [
            Record::Call { call, name: name.clone(), args: kept.clone(), url },
            Record::Said(Said::Tool { call, name, args: kept, text }),
        ]
    }

    /// The model has its answer, or will never have one.
    fn answered(&mut self, at: Instant, call: CallKey, name: &str, body: &Value) -> Vec<Record> {
        let known = self.calls.remove(&call);
        let run = known.as_ref().and_then(|known| known.run);
        match known.as_ref().map(|known| known.stage) {
            Some(Stage::Recorded) => return Vec::new(),
            Some(Stage::Open | Stage::GivenUp) | None => {}
        }
        let since = run.or_else(|| known.as_ref().map(|known| known.arrived)).unwrap_or(at);
        let mut records: Vec<Record> =
            self.result(call, name, Value::Null, body, at - since, false).into_iter().collect();
        if run.is_none() && body["error_type"] == "unknown_tool" {
            let available = body["available_tools"].clone();
            records.push(Record::UnknownTool { call, name: name.to_owned(), available });
        }
        if let Some(known) = known.filter(|_| run.is_some()) {
            self.calls.insert(call, Call { stage: Stage::GivenUp, ..known });
        }
        records
    }

    fn of_outcome(&mut self, at: Instant, call: CallKey, outcome: &Outcome) -> Option<Record> {
        let known = self.calls.get_mut(&call)?;
        let (name, stage) = (known.name.clone(), known.stage);
        let latency = at - known.run.unwrap_or(known.arrived);
        let word = match outcome.status {
            OutcomeStatus::Success => "success",
            OutcomeStatus::Error => "error",
            OutcomeStatus::Unknown => "unknown",
            // It did nothing: what the model is told of the call is all there is to record.
            OutcomeStatus::Cancelled => {
                if stage == Stage::GivenUp {
                    self.calls.remove(&call);
                }
                return None;
            }
        };
        match stage {
            Stage::Open => known.stage = Stage::Recorded,
            Stage::GivenUp => drop(self.calls.remove(&call)),
            Stage::Recorded => return None,
        }
        self.result(call, &name, word.into(), &outcome.body, latency, stage == Stage::GivenUp)
    }

    /// `word` stands in where the body names no status.
    fn result(
        &self,
        call: CallKey,
        name: &str,
        word: Value,
        body: &Value,
        latency: Duration,
        late: bool,
    ) -> Option<Record> {
        if self.tooling.current().find(name).is_some_and(tools::ErasedTool::ends_session) {
            return None;
        }
        let status = body.get("status").cloned().unwrap_or(word);
        let level = level(&status);
        Some(Record::Result {
            call,
            name: name.to_owned(),
            status,
            result: Kept::of(body),
            latency,
            level,
            late,
        })
    }
}

/// A question that is being asked is no failure, though nothing was done yet.
fn level(status: &Value) -> Level {
    let word = matches!(status.as_str(), Some("success" | "pending_confirmation"));
    if word || status.as_u64().is_some_and(|code| (200..=299).contains(&code)) {
        Level::Info
    } else {
        Level::Warning
    }
}
