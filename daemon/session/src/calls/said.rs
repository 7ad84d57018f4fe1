// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a tool says while its call is with it: a line for the person, a note for the model.

use units::CallKey;

use crate::LineKind;
use crate::answers;
use crate::notice::Notice;
use crate::session::Session;

impl Session {
    /// Speaks a line of a call that is with its tool, or drops it. It does not count as the model's words: the model is asked
    /// to speak about the answer as if nothing had been said.
    pub(crate) fn on_call_line(&mut self, call: CallKey, text: String) {
        let why = match self.tool_of(call) {
            None => "its call has ended",
            Some(_) if self.would_talk_over() => "it would be heard with something else",
            Some(_) => {
                self.playout.speak(&mut self.cx, text, LineKind::PreCall);
                return;
            }
        };
        self.cx.notice(Notice::LineDropped { call, text, why });
    }

    pub(crate) fn on_call_note(&mut self, call: CallKey, text: String) {
        match self.tool_of(call) {
            Some(tool) => self.note(answers::tool_note(&tool, &text)),
            None => self.cx.notice(Notice::NoteDropped { text, why: "its call has ended" }),
        }
    }

    /// The tool that a call is with, whether it is waited for or goes on as a job.
    fn tool_of(&self, call: CallKey) -> Option<String> {
        let waited_for = self.ledger.running().map(|(key, _, running)| (key, running));
        let mut calls = waited_for.chain(self.ledger.jobs());
        calls.find(|(key, _)| *key == call).map(|(_, running)| running.spec.name.clone())
    }

    /// A line spoken at this moment would be heard with the person, with another line, or between a question and its answer,
    /// which would have to be asked again.
    pub(super) fn would_talk_over(&self) -> bool {
        self.person.is_speaking() || self.playout.is_line_pending() || self.gate.is_open()
    }
}
