// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes what a tool hides out of everything that is shown, logged or kept.

use std::collections::VecDeque;

use serde_json::Value;
use session::Notice;

use crate::tooling::Tooling;

/// Stands for what is not shown.
const MASK: &str = "***";

/// Questions whose words are remembered: one is asked at a time, and what is said of it later is said soon.
const SENTENCES: usize = 8;

/// Knows what must not be seen.
#[derive(Debug)]
pub(super) struct Mask {
    tooling: Tooling,
    /// Questions about tools with hidden arguments: the sentence is made of them.
    sentences: VecDeque<String>,
}

impl Mask {
    pub(super) fn new(tooling: Tooling) -> Self {
        Self { tooling, sentences: VecDeque::with_capacity(SENTENCES) }
    }

    /// The same without what is hidden.
    pub(super) fn notice(&mut self, mut notice: Notice) -> Notice {
        // Every one is named, so that a new one cannot be forgotten.
        match &mut notice {
            Notice::CallArrived { name, args, .. } | Notice::CallMade { name, args, .. } => {
                *args = self.args(name, args);
            }
            Notice::GatePending { tool, summary, .. } => {
                if self.hides(tool) {
                    if self.sentences.len() == SENTENCES {
                        self.sentences.pop_front();
                    }
                    self.sentences.push_back(summary.clone());
                }
                *summary = self.text(summary);
            }
            Notice::CallAnswered { body, .. } => self.value(body),
            Notice::NoteDropped { text, .. } | Notice::LineDropped { text, .. } => *text = self.text(text),
            Notice::TurnOpened { .. }
            | Notice::TurnClosed { .. }
            | Notice::Turn(_)
            | Notice::UserSaid { .. }
            | Notice::ModelSaid { .. }
            | Notice::BargeIn { .. }
            | Notice::NoiseIgnored { .. }
            | Notice::Played { .. }
            | Notice::DuplicateCall { .. }
            | Notice::CallRun { .. }
            | Notice::FollowUpsSpent { .. }
            | Notice::CallSpoken { .. }
            | Notice::CallClosed { .. }
            | Notice::LateOutcome { .. }
            | Notice::GatePresented { .. }
            | Notice::GateCut { .. }
            | Notice::GateEvidence { .. }
            | Notice::GateGranted { .. }
            | Notice::GateSpent { .. }
            | Notice::GateClosed { .. }
            | Notice::GateBadNonce
            | Notice::GateLocked { .. }
            | Notice::GateRefused { .. }
            | Notice::Link { .. }
            | Notice::ClipQueued { .. }
            | Notice::Usage { .. }
            | Notice::Ending { .. }
            | Notice::EndingCancelled
            | Notice::PlayoutLost { .. }
            | Notice::Ended { .. } => {}
        }
        notice
    }

    /// The same without the words of a question that holds something hidden.
    pub(super) fn text(&self, text: &str) -> String {
        self.sentences.iter().fold(text.to_owned(), |text, sentence| text.replace(sentence, MASK))
    }

    fn value(&self, value: &mut Value) {
        if self.sentences.is_empty() {
            return;
        }
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn hides(&self, tool: &str) -> bool {
        self.tooling.current().find(tool).is_some_and(|tool| tool.hidden().next().is_some())
    }

    fn args(&self, name: &str, args: &Value) -> Value {
        let tools = self.tooling.current();
        match tools.find(name) {
            Some(tool) => tool.masked(args),
            // A name that the model made up: the arguments may be those of any tool.
            None => tools.iter().fold(args.clone(), |args, tool| tool.masked(&args)),
        }
    }
}
