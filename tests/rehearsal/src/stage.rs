// SPDX-License-Identifier: MIT OR Apache-2.0

//! What outlives a connection: the scenario's progress, the calls and handles that were issued, and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::conversation::Script;
use crate::report::{Answered, Called};
use crate::scenario::{Connection, Trigger};
use crate::{Report, Scenario, Voices};

/// How long after a cancellation its call may still be answered: the two messages may have crossed on the way.
const CROSSING: Duration = Duration::from_millis(250);

/// Shared by all connections of one rehearsal.
pub(crate) struct Stage {
    pub scenario: Arc<Scenario>,
    pub voices: Arc<Voices>,
    pub report: Report,
    /// A script that waited for an answer when its connection was lost; a resumed connection goes on with it.
    pub suspended: Option<Script>,
    /// The connection whose setup was confirmed last; older ones are over.
    pub current: u32,
    attempts: u32,
    /// Which turns of the scenario were started.
    used: Vec<bool>,
    handles: BTreeSet<String>,
    calls: BTreeMap<String, Call>,
    calls_made: u32,
    /// Counts sessions that resumed nothing. A call is known only in the session it was made in.
    session: u32,
}

#[derive(Debug)]
struct Call {
    session: u32,
    state: CallState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    Open,
    Answered,
    Cancelled(Instant),
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It answers an open call.
    Taken,
    /// It crossed a cancellation and is ignored.
    Crossed,
    /// No call of this session has the id.
    Unknown,
    /// The call has its answer.
    Twice,
    /// The call was cancelled long enough ago to know.
    Cancelled,
}

impl Stage {
    pub(crate) fn new(scenario: Scenario, voices: Voices) -> Self {
        let report = Report { turns_total: scenario.turns.len(), ..Report::default() };
        Self {
            used: vec![false; scenario.turns.len()],
            scenario: Arc::new(scenario),
            voices: Arc::new(voices),
            report,
            suspended: None,
            current: 0,
            attempts: 0,
            handles: BTreeSet::new(),
            calls: BTreeMap::new(),
            calls_made: 0,
            session: 0,
        }
    }

    /// The number of the connection that starts here, from 1, and what the scenario plans for it.
    pub(crate) fn begin_connection(&mut self) -> (u32, Connection) {
        self.attempts += 1;
        let index = usize::try_from(self.attempts - 1).unwrap_or(usize::MAX);
        (self.attempts, self.scenario.connections.get(index).cloned().unwrap_or_default())
    }

    /// A setup without a handle was taken: whatever was known before is not known any more.
    pub(crate) fn begin_session(&mut self) {
        self.session += 1;
        self.suspended = None;
    }

    pub(crate) fn issue_handle(&mut self, connection: u32) -> String {
        let handle = format!("rehearsal-handle-{connection}");
        self.handles.insert(handle.clone());
        handle
    }

    pub(crate) fn knows_handle(&self, handle: &str) -> bool {
        self.handles.contains(handle)
    }

    /// Takes the next turn that this trigger starts.
    pub(crate) fn next_turn(&mut self, trigger: Trigger) -> Option<usize> {
        let used = &mut self.used;
        let index =
            self.scenario.turns.iter().enumerate().position(|(i, turn)| turn.on == trigger && !used[i])?;
        used[index] = true;
        self.report.turns_started += 1;
        Some(index)
    }

    /// Opens a call and returns its id. An id that was used before is left as it stands.
    pub(crate) fn open_call(&mut self, id: Option<&str>, name: &str, args: Value, now: Instant) -> String {
        self.calls_made += 1;
        let id = id.map_or_else(|| format!("rehearsal-call-{}", self.calls_made), str::to_owned);
        if !self.calls.contains_key(&id) {
            self.calls.insert(id.clone(), Call { session: self.session, state: CallState::Open });
            let called = Called { id: id.clone(), name: name.to_owned(), args, at: now, cancelled: false };
            self.report.calls.push(called);
        }
        id
    }

    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|call| call.state == CallState::Open && call.session == self.session)
    }

    /// Cancels those of the calls that are open and returns their ids.
    pub(crate) fn cancel(&mut self, ids: &[String], now: Instant) -> Vec<String> {
        let open: Vec<String> = ids.iter().filter(|id| self.is_open(id)).cloned().collect();
        for id in &open {
            if let Some(call) = self.calls.get_mut(id) {
                call.state = CallState::Cancelled(now);
            }
            if let Some(called) = self.report.calls.iter_mut().find(|called| called.id == *id) {
                called.cancelled = true;
            }
        }
        open
    }

    /// Files an answer and says what it means. An interim answer (`willContinue`) leaves the call open.
    pub(crate) fn answer(&mut self, answered: &Answered, interim: bool) -> Standing {
        self.report.answers.push(answered.clone());
        let session = self.session;
        let Some(call) = self.calls.get_mut(&answered.id).filter(|call| call.session == session) else {
            return Standing::Unknown;
        };
        match call.state {
            CallState::Open => {
                if !interim {
                    call.state = CallState::Answered;
                }
                Standing::Taken
            }
            CallState::Answered => Standing::Twice,
            CallState::Cancelled(at) if answered.at.duration_since(at) <= CROSSING => Standing::Crossed,
            CallState::Cancelled(_) => Standing::Cancelled,
        }
    }
}
