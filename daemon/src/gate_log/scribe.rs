// SPDX-License-Identifier: MIT OR Apache-2.0

//! From what the session notices to the records of the gate log.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use session::{
    Catalog, Consent, GateEnd, LineKind, Notice, Outcome, Prepared, Presenter, Reading, Reject, Spoken,
};
use sha2::{Digest, Sha256};
use units::{CallKey, GrantId, PendingId, TurnId};

use super::fields::{Asked, Policies, shown};
use crate::clock::millis;
use crate::identity::{Identity, hex, key8};
use crate::toolbox::Shelf;
use crate::tooling::Tooling;

/// Questions, approvals and calls that are remembered: one question is open at a time, and what is said of it comes soon.
const REMEMBERED: usize = 64;

/// One record, but for its place in the chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: &'static str,
    pub(super) fields: Map<String, Value>,
}

impl Event {
    fn new(name: &'static str, fields: Value) -> Self {
        match fields {
            Value::Object(fields) => Self { name, fields },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Self { name, fields: Map::new() }
            }
        }
    }
}

/// Remembers what a record must say that its notice does not.
pub(super) struct Scribe {
    catalog: Shelf,
    tooling: Tooling,
    identity: Identity,
    policies: Policies,
    /// The person's turn.
    turn: Option<TurnId>,
    /// The SHA-256 of what the person said, by turn.
    said: BTreeMap<TurnId, String>,
    /// How much was heard of the question that was read last.
    heard_ms: Option<u64>,
    calls: BTreeMap<CallKey, (String, Value)>,
    questions: BTreeMap<PendingId, Question>,
    grants: BTreeMap<GrantId, Question>,
    runs: BTreeMap<CallKey, GrantId>,
}

#[derive(Clone)]
struct Question {
    tool: String,
    digest: Option<[u8; 32]>,
}

impl Scribe {
    pub(super) fn new(catalog: Shelf, tooling: Tooling, identity: Identity, policies: Policies) -> Self {
        Self {
            catalog,
            tooling,
            identity,
            policies,
            turn: None,
            said: BTreeMap::new(),
            heard_ms: None,
            calls: BTreeMap::new(),
            questions: BTreeMap::new(),
            grants: BTreeMap::new(),
            runs: BTreeMap::new(),
        }
    }

    /// The record that a notice makes, if it makes one. The notice is not masked.
    pub(super) fn on_notice(&mut self, notice: &Notice) -> Option<Event> {
        // Every one is named, so that a new one cannot be forgotten.
        match notice {
            Notice::TurnOpened { turn } => self.turn = Some(*turn),
            Notice::UserSaid { turn: Some(turn), text } => {
                remember(&mut self.said, *turn, hex(&Sha256::digest(text.as_bytes())));
            }
            Notice::Played { what: Spoken::Line(LineKind::ReadBack), heard, .. } => {
                self.heard_ms = Some(millis(*heard));
            }
            Notice::CallArrived { call, name, args } => {
                remember(&mut self.calls, *call, (name.clone(), args.clone()));
            }
            Notice::GatePending { pending, tool, summary, consent, replaces } => {
                return Some(self.pending(*pending, tool, summary, (*consent, *replaces)));
            }
            Notice::GatePresented { pending, by } => {
                let heard_ms = self.heard_ms.filter(|_| *by == Presenter::Device);
                let fields = json!({"id": pending.0, "mode": by.as_str(), "heard_ms": heard_ms});
                return Some(Event::new("gate.presented", fields));
            }
            Notice::GateCut { pending, .. } => {
                return Some(Event::new("gate.cut", json!({"id": pending.0, "heard_ms": self.heard_ms})));
            }
            Notice::GateEvidence { pending, turn, voiced, overlap, after, read } => {
                let fields = json!({
                    "id": pending.0, "turn": turn.0, "voiced_ms": millis(*voiced),
                    "overlap_ms": millis(*overlap), "onset_rel_ms": millis(*after),
                    "transcript_sha": self.said.get(turn),
                    "reading": read.ok().map(Reading::as_str), "reject": read.err().map(Reject::as_str),
                });
                return Some(Event::new("gate.evidence", fields));
            }
            Notice::GateGranted { pending, grant, by } => {
                if let Some(question) = self.questions.get(pending) {
                    remember(&mut self.grants, *grant, question.clone());
                }
                let fields = json!({"id": pending.0, "grant": grant.0, "channel": by.as_str()});
                return Some(Event::new("gate.granted", fields));
            }
            Notice::GateSpent { grant, call, .. } => {
                let fields = json!({"grant": grant.0, "call": call.0, "key8": self.key8(*grant)});
                return Some(Event::new("gate.spent", fields));
            }
            Notice::GateClosed { pending, how, .. } => {
                return Some(Event::new(end_name(*how), json!({"id": pending.0})));
            }
            Notice::GateBadNonce => return Some(Event::new("gate.badnonce", json!({}))),
            Notice::GateLocked { tool, why } => {
                return Some(Event::new("gate.locked", json!({"tool": tool, "why": why})));
            }
            Notice::GateRefused { call, why, .. } => {
                return Some(Event::new("gate.refused", json!({"call": call.0, "why": why})));
            }
            Notice::CallRun { call, name, grant: Some(grant) } => {
                remember(&mut self.runs, *call, *grant);
                let fields = json!({
                    "call": call.0, "tool": name, "grant": grant.0, "key8": self.key8(*grant),
                });
                return Some(Event::new("call.run", fields));
            }
            Notice::UserSaid { turn: None, .. }
            | Notice::Played { .. }
            | Notice::CallRun { grant: None, .. }
            | Notice::TurnClosed { .. }
            | Notice::Turn(_)
            | Notice::ModelSaid { .. }
            | Notice::BargeIn { .. }
            | Notice::NoiseIgnored { .. }
            | Notice::CallMade { .. }
            | Notice::DuplicateCall { .. }
            | Notice::CallAnswered { .. }
            | Notice::FollowUpsSpent { .. }
            | Notice::CallSpoken { .. }
            | Notice::CallClosed { .. }
            | Notice::LateOutcome { .. }
            | Notice::NoteDropped { .. }
            | Notice::LineDropped { .. }
            | Notice::Link { .. }
            | Notice::ClipQueued { .. }
            | Notice::Usage { .. }
            | Notice::Ending { .. }
            | Notice::EndingCancelled
            | Notice::PlayoutLost { .. }
            | Notice::Ended { .. } => {}
        }
        None
    }

    /// The record that the end of a call makes, if it ran under an approval.
    pub(super) fn on_outcome(&mut self, call: CallKey, outcome: &Outcome) -> Option<Event> {
        let grant = self.runs.remove(&call)?;
        let status = outcome.status.as_str();
        let fields = json!({"call": call.0, "grant": grant.0, "key8": self.key8(grant), "status": status});
        Some(Event::new("call.ended", fields))
    }

    fn pending(
        &mut self,
        pending: PendingId,
        tool: &str,
        summary: &str,
        (consent, replaces): (Consent, Option<PendingId>),
    ) -> Event {
        let prepared = self.prepared(tool, summary);
        let question =
            Question { tool: tool.to_owned(), digest: prepared.as_ref().map(|prepared| prepared.digest) };
        remember(&mut self.questions, pending, question);
        let mut fields = json!({
            "id": pending.0, "tool": tool, "turn": self.turn.map(|turn| turn.0), "channels": consent.as_str(),
            "summary_sha": hex(&Sha256::digest(summary.as_bytes())), "replaces": replaces.map(|pending| pending.0),
        });
        if let Some(Prepared { args, digest, slots, .. }) = prepared {
            let hidden: Vec<String> = self
                .tooling
                .current()
                .find(tool)
                .map(|tool| tool.hidden().map(str::to_owned).collect())
                .unwrap_or_default();
            let asked = Asked { tool, args: &args, summary, slots: &slots, hidden: &hidden };
            let (args, summary) = shown(&self.policies, &self.identity, &asked);
            fields["args"] = args;
            fields["summary"] = summary.into();
            fields["digest8"] = hex(&digest[..4]).into();
        }
        Event::new("gate.pending", fields)
    }

    /// What was asked about: the latest call whose arguments put the question into these words. Without it the words are not
    /// shown, as nothing tells which of them are whose.
    fn prepared(&self, tool: &str, summary: &str) -> Option<Prepared> {
        let of_tool = self.calls.values().rev().filter(|(name, _)| name == tool);
        let mut prepared = of_tool.filter_map(|(name, args)| self.catalog.prepare(name, args).ok());
        prepared.find(|prepared| prepared.summary.as_deref() == Some(summary))
    }

    fn key8(&self, grant: GrantId) -> Option<String> {
        let digest = self.grants.get(&grant)?.digest?;
        Some(key8(&self.identity.idempotency_key(grant, &digest)).to_owned())
    }
}

impl std::fmt::Debug for Scribe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.questions.values().next_back().map(|question| &question.tool);
        f.debug_struct("Scribe").field("last", &open).finish_non_exhaustive()
    }
}

fn remember<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) {
    map.insert(key, value);
    if map.len() > REMEMBERED {
        map.pop_first();
    }
}

const fn end_name(how: GateEnd) -> &'static str {
    match how {
        GateEnd::Declined => "gate.declined",
        GateEnd::Amended => "gate.amended",
        GateEnd::Expired => "gate.expired",
        GateEnd::Superseded => "gate.superseded",
        GateEnd::Dropped => "gate.dropped",
    }
}
