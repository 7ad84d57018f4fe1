// SPDX-License-Identifier: MIT OR Apache-2.0

//! One reply on its way out: what is still to be sent, what has been, and when its turn is complete.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use units::{Hz, Pcm};

use crate::report::Said;
use crate::stage::Stage;
use crate::utterance::{Item, Utterance};

/// The audio of one utterance under way.
#[derive(Debug)]
struct Saying {
    /// Its place in the report.
    index: usize,
    rate: Hz,
    bytes_sent: usize,
    bytes_total: usize,
    pcm: Pcm,
}

/// The reply of one turn. Empty between turns.
#[derive(Debug, Default)]
pub(super) struct Reply {
    queue: VecDeque<(Instant, Item)>,
    saying: Option<Saying>,
    /// Output was sent and `turnComplete` neither was nor is due.
    pub open: bool,
    /// When `turnComplete` is due.
    pub complete_at: Option<Instant>,
    /// The status that goes with it.
    pub status: Option<&'static str>,
    /// When everything sent so far would have been played.
    play_end: Option<Instant>,
    /// How much audio was sent in this turn.
    pub said: Duration,
}

impl Reply {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.front().map(|(due, _)| *due).into_iter().chain(self.complete_at).min()
    }

    /// Nothing is waiting to be sent.
    pub(super) fn is_drained(&self) -> bool {
        self.queue.is_empty()
    }

    /// When what was sent would have been played.
    pub(super) fn played_at(&self, now: Instant) -> Instant {
        self.play_end.map_or(now, |end| end.max(now))
    }

    /// Starts an utterance.
    pub(super) fn say(&mut self, stage: &mut Stage, now: Instant, utterance: Utterance) {
        let Utterance { id, text, pcm, items } = utterance;
        let index = stage.report.said.len();
        let (rate, bytes_total) = (pcm.rate(), pcm.samples().len() * 2);
        self.saying = Some(Saying { index, rate, bytes_sent: 0, bytes_total, pcm: pcm.clone() });
        stage.report.said.push(Said { id, pcm, text, first_sent: now, last_sent: now, cut: false });
        self.queue.extend(items.into_iter().map(|(delay, item)| (now + delay, item)));
        if self.queue.is_empty() {
            self.finish_said(stage, false);
        }
    }

    /// The next item that is due, with the rate of the audio it belongs to.
    pub(super) fn next_due(&mut self, stage: &mut Stage, now: Instant) -> Option<(Hz, Item)> {
        let (_, item) = self.queue.pop_front_if(|(due, _)| *due <= now)?;
        let rate = self.saying.as_ref().map_or(Hz::K24, |saying| saying.rate);
        if let (Item::Audio(bytes), Some(saying)) = (&item, &mut self.saying) {
            saying.bytes_sent += bytes.len();
            let span = units::Frames(bytes.len() as u64 / 2).span(saying.rate);
            self.said += span;
            self.play_end = Some(self.play_end.map_or(now, |end| end.max(now)) + span);
            if let Some(said) = stage.report.said.get_mut(saying.index) {
                said.last_sent = now;
            }
        }
        self.open = true;
        if self.queue.is_empty() {
            self.finish_said(stage, false);
        }
        Some((rate, item))
    }

    /// Speech cut in: what has not been sent is forgotten, except for audio of this length. Returns that audio.
    pub(super) fn cut(&mut self, stage: &mut Stage, now: Instant, stale: Duration) -> Vec<(Hz, Vec<u8>)> {
        let rate = self.saying.as_ref().map_or(Hz::K24, |saying| saying.rate);
        let mut left = usize::try_from(rate.frames_in(stale).0 * 2).unwrap_or(usize::MAX);
        let mut kept = Vec::new();
        for (_, item) in std::mem::take(&mut self.queue) {
            if let Item::Audio(bytes) = item {
                if left == 0 {
                    break;
                }
                left = left.saturating_sub(bytes.len());
                if let Some(saying) = &mut self.saying {
                    saying.bytes_sent += bytes.len();
                    if let Some(said) = stage.report.said.get_mut(saying.index) {
                        said.last_sent = now;
                    }
                }
                kept.push((rate, bytes));
            }
        }
        self.finish_said(stage, true);
        kept
    }

    /// Closes the report's entry of the utterance under way. If it was cut, only what was sent is kept.
    pub(super) fn finish_said(&mut self, stage: &mut Stage, cut: bool) {
        let Some(saying) = self.saying.take() else { return };
        let Some(said) = stage.report.said.get_mut(saying.index) else {
            return;
        };
        if cut && saying.bytes_sent < saying.bytes_total {
            said.cut = true;
            said.pcm = Pcm::new(saying.rate, &saying.pcm.samples()[..saying.bytes_sent / 2]);
        }
    }

    /// `turnComplete` was sent.
    pub(super) fn completed(&mut self) {
        *self =
            Self { queue: std::mem::take(&mut self.queue), saying: self.saying.take(), ..Self::default() };
    }
}
