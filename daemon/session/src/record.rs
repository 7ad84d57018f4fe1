// SPDX-License-Identifier: MIT OR Apache-2.0

//! One record of each turn of the person: what it took to answer it, in figures only.

use std::time::Duration;

use units::{Instant, TurnId};

use crate::notice::Notice;
use crate::session::Session;

/// What became of one turn of the person, until the next or the end of the conversation. Figures only: nothing of what
/// was said or asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRecord {
    /// Which.
    pub turn: TurnId,
    /// Answers that asked the model to speak again.
    pub hops: u32,
    /// Calls the model made.
    pub calls: u32,
    /// Calls that ran and whose result the model waits for.
    pub awaited: u32,
    /// Nothing was heard in it but the person.
    pub speechless: bool,
    /// From the end of the person's speech to the first sign of the model's answer, if there was one.
    pub open: Option<Duration>,
    /// From the end of the person's speech to the first sound, if there was one.
    pub speak: Option<Duration>,
    /// From the end of the person's speech to the last answer to a call, or the last sound.
    pub total: Duration,
    /// Tokens read by the model.
    pub input_tokens: u64,
    /// Tokens produced by the model.
    pub output_tokens: u64,
}

/// The record of the turn that goes on.
pub(crate) struct Record {
    turn: TurnId,
    /// When the person's speech ended; until then, when it began.
    from: Instant,
    opened: Option<Instant>,
    heard: Option<Instant>,
    last: Instant,
    pub(crate) hops: u32,
    pub(crate) calls: u32,
    pub(crate) awaited: u32,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
}

impl Record {
    fn written(&self) -> TurnRecord {
        let since = |at: Instant| at.saturating_since(self.from);
        TurnRecord {
            turn: self.turn,
            hops: self.hops,
            calls: self.calls,
            awaited: self.awaited,
            speechless: self.heard.is_none(),
            open: self.opened.map(since),
            speak: self.heard.map(since),
            total: since(self.last),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
        }
    }
}

impl Session {
    /// The record of the turn before is complete, and that of `turn` begins.
    pub(crate) fn begin_record(&mut self, turn: TurnId) {
        self.end_record();
        self.record = Some(Record {
            turn,
            from: self.cx.now,
            opened: None,
            heard: None,
            last: self.cx.now,
            hops: 0,
            calls: 0,
            awaited: 0,
            input_tokens: 0,
            output_tokens: 0,
        });
    }

    pub(crate) fn end_record(&mut self) {
        if let Some(record) = self.record.take() {
            self.cx.notice(Notice::Turn(record.written()));
        }
    }

    /// What was taken for a turn was none.
    pub(crate) fn drop_record(&mut self) {
        self.record = None;
    }

    /// Adds to the record of the present turn, if there is one.
    pub(crate) fn record(&mut self, add: impl FnOnce(&mut Record)) {
        if let Some(record) = &mut self.record {
            add(record);
        }
    }

    /// The person's speech has ended: what follows is counted from here.
    pub(crate) fn record_speech_ended(&mut self) {
        let now = self.cx.now;
        self.record(|record| (record.from, record.last) = (now, now));
    }

    /// The model answers.
    pub(crate) fn record_opened(&mut self) {
        let now = self.cx.now;
        self.record(|record| _ = record.opened.get_or_insert(now));
    }

    /// Something begins to be heard.
    pub(crate) fn record_heard(&mut self) {
        let now = self.cx.now;
        self.record(|record| {
            record.heard.get_or_insert(now);
            record.last = now;
        });
    }

    /// Something was done for this turn.
    pub(crate) fn record_progress(&mut self) {
        let now = self.cx.now;
        self.record(|record| record.last = now);
    }
}
