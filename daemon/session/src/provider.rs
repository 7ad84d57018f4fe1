// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the provider says.

use std::time::Duration;

use crate::engage::Run;
use crate::notice::Notice;
use crate::person::Credit;
use crate::seam::{Capabilities, ProviderEvent};
use crate::session::Session;
use crate::snapshot::GateState;

impl Session {
    pub(crate) fn on_provider(&mut self, event: ProviderEvent) {
        if let ProviderEvent::Ready { resumed, capabilities } = event {
            self.on_ready(resumed, capabilities);
            return;
        }
        if self.link.up().is_none() || !matches!(self.run, Run::On | Run::Ending(_)) {
            return;
        }
        match event {
            ProviderEvent::Ready { .. } => {}
            ProviderEvent::ReplyAudio(pcm) if pcm.is_empty() => {}
            ProviderEvent::ReplyAudio(pcm) => {
                self.link.on_content();
                if self.reply.audio(&mut self.cx, &mut self.playout, pcm).is_some() {
                    self.on_asked_over();
                    self.drop_nudge();
                    self.record_opened();
                    self.ledger.on_speech();
                    self.on_goodbye_audio();
                }
            }
            ProviderEvent::ReplyText(text) => self.on_reply_text(&text),
            ProviderEvent::UserText(text) => self.on_user_text(text),
            ProviderEvent::Calls(calls) => {
                self.link.on_content();
                self.record_opened();
                self.drop_nudge();
                self.on_calls(calls);
            }
            ProviderEvent::CallsCancelled(ids) => self.on_calls_cancelled(&ids),
            ProviderEvent::GenerationComplete => {
                let ended = self.reply.generated(&mut self.cx);
                self.on_reply_ended(ended);
                self.on_goodbye_due();
            }
            ProviderEvent::TurnComplete { more } => {
                let ended = self.reply.turn_complete(&mut self.cx, more);
                self.on_reply_ended(ended);
                if !more {
                    self.on_asked_over();
                    self.on_goodbye_due();
                }
            }
            ProviderEvent::Interrupted => self.on_interrupted(),
            ProviderEvent::ResumeHandle(handle) => self.link.on_handle(handle),
            ProviderEvent::GoAway { left } => self.on_go_away(left),
            ProviderEvent::Usage { input_tokens, output_tokens } => {
                self.record(|record| {
                    record.input_tokens = record.input_tokens.saturating_add(input_tokens);
                    record.output_tokens = record.output_tokens.saturating_add(output_tokens);
                });
                self.cx.notice(Notice::Usage { input_tokens, output_tokens });
            }
        }
    }

    fn on_ready(&mut self, resumed: bool, capabilities: Capabilities) {
        let Some(resumed) = self.link.on_ready(&mut self.cx, resumed, capabilities) else {
            return;
        };
        if !resumed {
            self.ledger.forget_ids();
            self.take_view();
        }
        match self.gate.snapshot() {
            GateState::Asking { summary } | GateState::Waiting { summary } => {
                self.note(format!("Waiting for the person to confirm: {summary}"));
            }
            GateState::Clear | GateState::Granted { .. } => {}
        }
    }

    fn on_user_text(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.link.on_content();
        match self.person.credit(&mut self.cx, &text) {
            Credit::Turn => {}
            Credit::Late(said) => {
                self.cx.notice(Notice::UserSaid { turn: Some(said.turn), text: said.text.clone() });
                self.reconsider_queued(&said);
                self.gate.on_said_more(&mut self.cx, self.person.turn(), &said);
            }
            Credit::Nobody => self.cx.notice(Notice::UserSaid { turn: None, text }),
        }
    }

    /// The provider will close this connection. What acts on the world outside and runs is waited for until then: how it
    /// went should be told on this link.
    fn on_go_away(&mut self, left: Option<Duration>) {
        if let Some(left) = left {
            let margin = self.cx.config.patience.go_away_margin;
            self.ledger.shorten_deadlines(self.cx.now + left.saturating_sub(margin));
        }
        self.link.on_go_away(&mut self.cx, left);
    }

    /// The provider cut its reply because it heard the person. A line of our own is not its to cut.
    fn on_interrupted(&mut self) {
        self.on_barge_in();
        // It may have dropped the calls of that reply without a word.
        self.ledger.on_interrupted();
        if self.playout.is_reply_pending() {
            self.playout.flush(&mut self.cx, None);
            self.clips.on_interrupted();
        }
        self.reply.interrupted(&mut self.cx);
    }
}
