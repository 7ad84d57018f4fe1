// SPDX-License-Identifier: MIT OR Apache-2.0

//! The timeline: every moment as one line of JSON.
//!
//! Transcripts and tool arguments are in it, so it is written only where somebody asked for it: by the demo, and by
//! tests. `t_ms` counts from the first moment.

use std::io::Write;

use serde_json::{Map, Value, json};
use session::{GateEnd, LineKind, Notice, Spoken};
use units::Instant;

use crate::clock::millis;
use crate::records::Record;
use crate::watch::{Moment, Observer};

/// Writes moments as JSON lines to `W`. Write errors end the writing, not the daemon.
#[derive(Debug)]
pub struct Timeline<W> {
    out: Option<W>,
    start: Option<Instant>,
}

impl<W: Write> Timeline<W> {
    /// A timeline that writes to `out`.
    pub const fn new(out: W) -> Self {
        Self { out: Some(out), start: None }
    }
}

impl<W: Write> Observer for Timeline<W> {
    fn observe(&mut self, at: Instant, moment: &Moment<'_>) {
        let start = *self.start.get_or_insert(at);
        let Some((kind, fields)) = record(moment) else { return };
        let Some(out) = self.out.as_mut() else { return };
        let mut line = Map::new();
        line.insert("t_ms".to_owned(), json!(millis(at - start)));
        line.insert("kind".to_owned(), json!(kind));
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        if let Err(cause) = writeln!(out, "{}", Value::Object(line)) {
            tracing::warn!(%cause, "the timeline cannot be written and stops here");
            self.out = None;
        }
    }
}

/// A moment as its kind and fields; `None` for what a timeline does not keep (levels).
fn record(moment: &Moment<'_>) -> Option<(&'static str, Value)> {
    Some(match moment {
        Moment::Notice(notice) => notice_record(notice),
        Moment::Event(event) => {
            ("client.event", json!({"call": event.call.0, "name": event.name, "payload": event.payload}))
        }
        Moment::Line { text, kind } => ("line", json!({"text": text, "for": line_kind(*kind)})),
        Moment::Anomaly(text) => ("anomaly", json!({"text": text})),
        Moment::Audio(event) => return audio_record(event),
        // Its notice is the same.
        Moment::Record(Record::Turn(_)) => return None,
        Moment::Record(record) => (record.kind(), Value::Object(record.fields())),
        // Its record tells it.
        Moment::Outcome { .. } => return None,
    })
}

fn audio_record(event: &audio::Event) -> Option<(&'static str, Value)> {
    Some(match event {
        audio::Event::SpeechStarted { onset_ago } => {
            ("speech.started", json!({"onset_ago_ms": millis(*onset_ago)}))
        }
        audio::Event::SpeechEnded { voiced } => ("speech.ended", json!({"voiced_ms": millis(*voiced)})),
        audio::Event::Started { utterance } => ("playout.started", json!({"utterance": utterance.0})),
        audio::Event::Finished { utterance, heard, cut } => (
            "playout.finished",
            json!({"utterance": utterance.0, "heard_ms": millis(heard.span(units::Hz::K24)), "cut": cut}),
        ),
        audio::Event::Rate(percent) => ("playout.rate", json!({"percent": percent})),
        audio::Event::Muted(muted) => ("microphone.muted", json!({"muted": muted})),
        audio::Event::Recording(on) => ("audio.recording", json!({"on": on})),
        audio::Event::Echo { text } => ("echo", json!({"text": text})),
        audio::Event::DeviceUp { direction, text } => ("device.up", of_device(*direction, text)),
        audio::Event::DeviceDown { direction, text } => ("device.down", of_device(*direction, text)),
        audio::Event::DeviceFault { direction, text } => ("device.fault", of_device(*direction, text)),
        audio::Event::DeviceWell { direction, text } => ("device.well", of_device(*direction, text)),
        audio::Event::Mic(_) | audio::Event::MuteAsked(_) | audio::Event::Levels { .. } => return None,
    })
}

fn of_device(direction: audio::Direction, text: &str) -> Value {
    json!({"direction": format!("{direction:?}").to_lowercase(), "text": text})
}

fn notice_record(notice: &Notice) -> (&'static str, Value) {
    match notice {
        Notice::TurnOpened { turn } => ("turn.opened", json!({"turn": turn.0})),
        Notice::TurnClosed { turn, voiced } => {
            ("turn.closed", json!({"turn": turn.0, "voiced_ms": millis(*voiced)}))
        }
        Notice::Turn(turn) => ("turn", Value::Object(Record::Turn(turn.clone()).fields())),
        Notice::UserSaid { turn, text } => {
            ("user.said", json!({"turn": turn.map(|turn| turn.0), "text": text}))
        }
        Notice::ModelSaid { text, cut } => ("model.said", json!({"text": text, "cut": cut})),
        Notice::BargeIn { turn, utterance, heard } => {
            ("barge_in", json!({"turn": turn.0, "utterance": utterance.0, "heard_ms": millis(*heard)}))
        }
        Notice::NoiseIgnored { turn } => ("noise.ignored", json!({"turn": turn.0})),
        Notice::Played { utterance, what, heard, cut } => (
            "played",
            json!({"utterance": utterance.0, "what": spoken(*what), "heard_ms": millis(*heard), "cut": cut}),
        ),
        Notice::CallArrived { call, name, args } => {
            ("call.arrived", json!({"call": call.0, "name": name, "args": args}))
        }
        Notice::DuplicateCall { id, name } => ("call.duplicate", json!({"id": id, "name": name})),
        Notice::CallRun { call, name, grant } => {
            ("call.run", json!({"call": call.0, "name": name, "grant": grant.map(|grant| grant.0)}))
        }
        Notice::CallMade { call, name, args, undoes } => (
            "call.made",
            json!({"call": call.0, "name": name, "args": args, "undoes": undoes.map(|undoes| undoes.0)}),
        ),
        Notice::CallAnswered { call, name, status, body, follow_up, latency, coalesced } => (
            "call.answered",
            json!({
                "call": call.0, "name": name, "status": status, "body": body,
                "follow_up": !matches!(follow_up, session::FollowUp::Silent),
                "latency_ms": millis(*latency), "coalesced": coalesced,
            }),
        ),
        Notice::CallClosed { call, name, why } => {
            ("call.closed", json!({"call": call.0, "name": name, "why": why}))
        }
        Notice::NoteDropped { text, why } => ("note.dropped", json!({"text": text, "why": why})),
        Notice::LineDropped { call, text, why } => {
            ("line.dropped", json!({"call": call.0, "text": text, "why": why}))
        }
        Notice::LateOutcome { call } => ("call.late", json!({"call": call.0})),
        Notice::FollowUpsSpent { turn } => ("follow_ups.spent", json!({"turn": turn.0})),
        Notice::CallSpoken { name } => ("call.spoken", json!({"name": name})),
        Notice::ClipQueued { clip } => ("clip.queued", json!({"clip": clip.to_string()})),
        Notice::Usage { input_tokens, output_tokens } => {
            ("usage", json!({"input_tokens": input_tokens, "output_tokens": output_tokens}))
        }
        Notice::Link { state, epoch, text } => {
            ("link", json!({"state": format!("{state:?}").to_lowercase(), "epoch": epoch.0, "text": text}))
        }
        Notice::Ending { call } => ("ending", json!({"call": call.0})),
        Notice::EndingCancelled => ("ending.cancelled", json!({})),
        Notice::PlayoutLost { utterances } => ("playout.lost", json!({"utterances": utterances})),
        Notice::Ended { by } => ("ended", json!({"by": by})),
        Notice::GatePending { pending, tool, summary, consent, replaces } => (
            "gate.pending",
            json!({
                "pending": pending.0, "tool": tool, "summary": summary, "consent": consent.as_str(),
                "replaces": replaces.map(|old| old.0),
            }),
        ),
        Notice::GatePresented { pending, by } => {
            ("gate.presented", json!({"pending": pending.0, "by": by.as_str()}))
        }
        Notice::GateCut { pending } => ("gate.cut", json!({"pending": pending.0})),
        Notice::GateEvidence { pending, turn, voiced, overlap, after, read } => (
            "gate.evidence",
            json!({
                "pending": pending.0, "turn": turn.0, "voiced_ms": millis(*voiced),
                "overlap_ms": millis(*overlap), "after_ms": millis(*after),
                "reading": read.ok().map(session::Reading::as_str),
                "reject": read.err().map(session::Reject::as_str),
            }),
        ),
        Notice::GateGranted { pending, grant, by } => {
            ("gate.granted", json!({"pending": pending.0, "grant": grant.0, "by": by.as_str()}))
        }
        Notice::GateBadNonce => ("gate.badnonce", json!({})),
        Notice::GateLocked { tool, why } => ("gate.locked", json!({"tool": tool, "why": why})),
        Notice::GateSpent { grant, call } => ("gate.spent", json!({"grant": grant.0, "call": call.0})),
        Notice::GateClosed { pending, how } => {
            ("gate.closed", json!({"pending": pending.0, "how": end_name(*how)}))
        }
        Notice::GateRefused { call, why } => ("gate.refused", json!({"call": call.0, "why": why})),
    }
}

const fn spoken(what: Spoken) -> &'static str {
    match what {
        Spoken::Reply => "reply",
        Spoken::Line(kind) => line_kind(kind),
        Spoken::Clip => "clip",
    }
}

const fn line_kind(kind: LineKind) -> &'static str {
    match kind {
        LineKind::ReadBack => "read_back",
        LineKind::PreCall => "pre_call",
        LineKind::Apology => "apology",
        LineKind::Goodbye => "goodbye",
    }
}

const fn end_name(how: GateEnd) -> &'static str {
    match how {
        GateEnd::Declined => "declined",
        GateEnd::Amended => "amended",
        GateEnd::Expired => "expired",
        GateEnd::Superseded => "superseded",
        GateEnd::Dropped => "dropped",
    }
}
