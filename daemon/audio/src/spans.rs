// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which rendered frames, not yet heard, belong to which utterance.

use std::collections::VecDeque;

use units::UtteranceId;

use crate::dsp::stretch::Run;

/// Spans there is room for from the start: more than 2 s of playout on its way to the loudspeaker, in hops. A device with
/// a longer delay makes room once.
const ROOM: usize = 256;

/// Spans in the order in which they will be heard.
#[derive(Debug)]
pub(crate) struct Spans(VecDeque<Span>);

#[derive(Debug)]
struct Span {
    id: UtteranceId,
    start: u64,
    end: u64,
    /// Frames of the utterance that it plays.
    source: u64,
}

impl Default for Spans {
    fn default() -> Self {
        Self(VecDeque::with_capacity(ROOM))
    }
}

impl Spans {
    /// `run`, from position `start` on, belongs to `id`.
    pub(crate) fn push(&mut self, id: UtteranceId, start: u64, run: Run) {
        let (end, source) = (start + run.len as u64, run.source as u64);
        match self.0.back_mut() {
            // Audio as it came is one span, however long; at another pace each hop keeps its own.
            Some(span) if span.id == id && span.end == start && span.is_plain() && run.is_plain() => {
                span.end = end;
                span.source += source;
            }
            Some(_) | None => self.0.push_back(Span { id, start, end, source }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next utterance some of which lies before position `to`, and how many frames of it do. Drain it.
    pub(crate) fn pass(&mut self, to: u64) -> Option<(UtteranceId, u64)> {
        let span = self.0.front_mut()?;
        let passed = to.min(span.end).saturating_sub(span.start);
        if passed == 0 {
            return None;
        }
        // Rounded down, and so exact where the span ends.
        let (id, source) = (span.id, span.source * passed / (span.end - span.start));
        span.start += passed;
        span.source -= source;
        if span.start == span.end {
            self.0.pop_front();
        }
        Some((id, source))
    }
}

impl Span {
    const fn is_plain(&self) -> bool {
        self.source == self.end - self.start
    }
}
