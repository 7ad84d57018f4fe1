// SPDX-License-Identifier: MIT OR Apache-2.0

//! What happened in a rehearsal, for tests and the demo to judge.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use units::Pcm;

/// Everything a rehearsal saw and sent. Instants are tokio's, so they follow a paused clock.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What the client did that the protocol forbids: `layer path: text`. Empty for a conforming client.
    pub violations: Vec<String>,
    /// What the scenario expected of an answer and did not get.
    pub unmet: Vec<String>,
    /// Allowed but doubtful: long chunks, a key in the query, an answer that crossed a cancellation.
    pub notes: Vec<String>,
    /// Connections that completed the WebSocket upgrade.
    pub connections: u32,
    /// The `setup` object of each connection that sent one, in order.
    pub setups: Vec<Value>,
    /// Every utterance that was sent, wholly or in part, in order.
    pub said: Vec<Said>,
    /// Every call that was sent, in order. A call sent twice under one id appears once.
    pub calls: Vec<Called>,
    /// Every answer that was received, in order.
    pub answers: Vec<Answered>,
    /// Text the client put into the conversation (`realtimeInput.text` and `clientContent` parts), in order.
    pub texts: Vec<String>,
    /// Microphone audio received, by its own length.
    pub client_audio: Duration,
    /// Speech segments the rehearsal's own detector closed.
    pub segments: u32,
    /// Segments for which the scenario had no turn left.
    pub unscripted: u32,
    /// Times the rehearsal told the client `interrupted`.
    pub interruptions: u32,
    /// Turns of the scenario that were started.
    pub turns_started: usize,
    /// Turns in the scenario.
    pub turns_total: usize,
}

impl Report {
    /// True when every turn was started and nothing was violated or unmet.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.violations.is_empty() && self.unmet.is_empty() && self.turns_started == self.turns_total
    }

    /// The answers to one call, in order.
    pub fn answers_to<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Answered> {
        self.answers.iter().filter(move |answer| answer.id == id)
    }
}

/// One utterance as it went over the wire.
#[derive(Clone, Debug)]
pub struct Said {
    /// The voice id, or `tone` for a test tone.
    pub id: String,
    /// The audio that was sent, mono, at the rate that was declared (24 kHz unless the scenario says otherwise).
    pub pcm: Pcm,
    /// The transcript that was sent along.
    pub text: String,
    /// When its first audio was sent.
    pub first_sent: Instant,
    /// When its last audio was sent.
    pub last_sent: Instant,
    /// True when speech cut it short: the rest was not sent.
    pub cut: bool,
}

/// One call as it went over the wire.
#[derive(Clone, Debug)]
pub struct Called {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub args: Value,
    /// When it was sent.
    pub at: Instant,
    /// True once the rehearsal cancelled it.
    pub cancelled: bool,
}

/// One answer as it was received.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The id of the call it answers.
    pub id: String,
    /// The tool's name as the client gave it.
    pub name: String,
    /// `SILENT`, `WHEN_IDLE` or `INTERRUPT`, if the client sent one.
    pub scheduling: Option<String>,
    /// The response object.
    pub response: Value,
    /// When it was received.
    pub at: Instant,
}

impl Answered {
    /// The `status` of the response, at the top or under `output`.
    #[must_use]
    pub fn status(&self) -> Option<&str> {
        self.field("status")
    }

    /// The `instruction` of the response, at the top or under `output`.
    #[must_use]
    pub fn instruction(&self) -> Option<&str> {
        self.field("instruction")
    }

    fn field(&self, name: &str) -> Option<&str> {
        let at = |value: &'_ Value| value.get(name).and_then(Value::as_str).is_some();
        let holder = if at(&self.response) { &self.response } else { self.response.get("output")? };
        holder.get(name)?.as_str()
    }
}
