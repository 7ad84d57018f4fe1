// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each request to the model took: figures only, nothing of what was asked or said.

use std::time::Duration;

use serde_json::{Map, Value};
use session::{FollowUp, Notice};
use units::{CallKey, Instant, TurnId};

use super::Fields;
use crate::clock::millis;

/// One request to the model, or one run of a tool, in figures.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The model was asked to go on: by the person's speech, or by an answer.
    Request {
        /// In which turn of the person, if one had begun.
        turn: Option<TurnId>,
        /// Answers of this turn that had asked before it.
        hop: u32,
        /// Calls the model made.
        calls: u32,
        /// Tokens that the provider said it read, until the next request.
        input_tokens: u64,
        /// Tokens that it said it produced.
        output_tokens: u64,
        /// From the end of the person's speech, or the answer, to the last sign of it; none if there was no sign.
        took: Option<Duration>,
    },
    /// A call had its result. One that ends the session leaves no step.
    Tool {
        /// In which turn of the person the call came, if one had begun.
        turn: Option<TurnId>,
        /// Which call.
        call: CallKey,
        /// The tool's name, as the model wrote it.
        name: String,
        /// A word or an HTTP status.
        status: Value,
        /// From dispatch to result, or to the answer where no tool ran.
        took: Duration,
    },
}

impl Step {
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut fields = Fields::default();
        match self {
            Self::Request { turn, hop, calls, input_tokens, output_tokens, took } => {
                fields.put("of", "model").put("turn", turn.map(|turn| turn.0)).put("hop", *hop);
                fields.put("calls", *calls).tokens(*input_tokens, *output_tokens).put("ms", took.map(millis));
            }
            Self::Tool { turn, call, name, status, took } => {
                fields.put("of", "tool").put("turn", turn.map(|turn| turn.0)).put("call", call.0);
                fields.put("name", name.as_str()).put("status", status.clone()).put("ms", millis(*took));
            }
        }
        fields.0
    }
}

/// Follows the requests of a conversation.
#[derive(Debug, Default)]
pub(super) struct Requests {
    turn: Option<TurnId>,
    open: Option<Request>,
}

#[derive(Debug)]
struct Request {
    hop: u32,
    from: Instant,
    last: Option<Instant>,
    calls: u32,
    input_tokens: u64,
    output_tokens: u64,
}

impl Request {
    const fn new(hop: u32, from: Instant) -> Self {
        Self { hop, from, last: None, calls: 0, input_tokens: 0, output_tokens: 0 }
    }
}

impl Requests {
    /// The person's turn.
    pub(super) const fn turn(&self) -> Option<TurnId> {
        self.turn
    }

    /// Takes note of a notice; gives the request that it ends.
    pub(super) fn on_notice(&mut self, at: Instant, notice: &Notice) -> Option<Step> {
        if let Notice::TurnOpened { turn } = notice {
            let ended = self.end();
            self.turn = Some(*turn);
            return ended;
        }
        if let Notice::TurnClosed { .. } = notice {
            self.open.get_or_insert(Request::new(0, at));
        } else if let Notice::NoiseIgnored { .. } = notice {
            self.open = None;
        } else if let Notice::CallArrived { .. } = notice {
            self.sign(at).calls += 1;
        } else if let Notice::Usage { input_tokens, output_tokens } = notice {
            let request = self.sign(at);
            request.input_tokens = request.input_tokens.saturating_add(*input_tokens);
            request.output_tokens = request.output_tokens.saturating_add(*output_tokens);
        } else if let Notice::ModelSaid { cut: false, .. } = notice {
            self.sign(at);
        } else if let Notice::CallAnswered { follow_up, .. } = notice
            && *follow_up != FollowUp::Silent
        {
            let hop = self.open.as_ref().map_or(0, |request| request.hop);
            let ended = self.end();
            self.open = Some(Request::new(hop + 1, at));
            return ended;
        } else if let Notice::Turn(_) | Notice::Ended { .. } = notice {
            return self.end();
        }
        None
    }

    /// The model shows a sign of itself. Without a request that was seen, it speaks of its own accord.
    fn sign(&mut self, at: Instant) -> &mut Request {
        let request = self.open.get_or_insert(Request::new(0, at));
        request.last = Some(at);
        request
    }

    fn end(&mut self) -> Option<Step> {
        let Request { hop, from, last, calls, input_tokens, output_tokens } = self.open.take()?;
        let took = last.map(|last| last.saturating_since(from));
        Some(Step::Request { turn: self.turn, hop, calls, input_tokens, output_tokens, took })
    }
}
