//! What a tool says while its call is with it: a line for the person, a note for the model.

use units::CallKey;

use crate::LineKind;
use crate::answers;
use crate::notice::Notice;
use crate::session::Session;

impl Session {
    /// A line is for this moment: where it cannot be spoken it is dropped. It is not the model's, so what the call is answered
    /// is spoken about all the same.
    pub(crate) fn on_call_line(&mut self, call: CallKey, text: String) {
        let why = match self.tool_of(call) {
            None => "its call has ended",
            Some(_) if self.would_talk_over() => "something else is heard",
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
        let waited_for = self.ledger.running().map(|(running, _, with)| (running, with));
        let mut with_tools = waited_for.chain(self.ledger.jobs());
        with_tools.find(|(other, _)| *other == call).map(|(_, with)| with.spec.name.clone())
    }

    /// A line now would be heard with the person, with another line, or between a question and its answer, which would
    /// have to be asked again.
    pub(super) fn would_talk_over(&self) -> bool {
        self.person.is_speaking() || self.playout.is_line_pending() || self.gate.is_open()
    }
}
