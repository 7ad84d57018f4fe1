// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the loudspeaker was given and what of it was heard. "Speaking" is derived from here alone.

use std::collections::BTreeMap;
use std::time::Duration;

use units::{Clip, Frames, Hz, Instant, Pcm, TurnId, UtteranceId};

use crate::context::Context;
use crate::notice::{Notice, Spoken};
use crate::timers::Timer;
use crate::{LineKind, Output};

/// How long a local line may last, for knowing when a report of it is overdue: 300 characters read back slowly with every
/// digit spoken. Rendering is inside the patience that is added to it.
const LINE_MAX: Duration = Duration::from_secs(30);
/// How long a clip may last, for the same; longer ones are refused where clips are loaded.
const CLIP_MAX: Duration = Duration::from_secs(120);

/// Utterances remembered at once. A provider that breaks its speech into more is no longer tracked one by one.
const LIVE_MAX: usize = 256;

/// Every utterance that was handed out and is not over.
pub(crate) struct Playout {
    last: UtteranceId,
    live: BTreeMap<UtteranceId, Live>,
    /// When everything handed out should have been heard.
    heard_by: Instant,
    /// When the model's speech was last heard to end.
    reply_heard: Option<Instant>,
    /// The words of the device's own lines that are live.
    lines: BTreeMap<UtteranceId, String>,
    /// Of the model's speech, in percent of its own.
    pace: u32,
}

/// The pace of speech that is played as it came, in percent.
const PACE_OWN: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Live {
    what: Spoken,
    stage: Stage,
    /// How much of a reply was handed out.
    given: Duration,
}

/// A point in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    utterance: UtteranceId,
    given: Duration,
}

/// How much was heard of a reply up to a [`Mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// All of it, or what was not never will be.
    All,
    /// Some; all of it by then, unless playout stalls.
    By(Instant),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Queued,
    Audible {
        since: Instant,
        /// How much of it had been heard by `since`.
        before: Duration,
    },
    /// Dropped; the report of how much was heard is still to come.
    Flushed {
        /// The turn that spoke over it, if it was audible then.
        by: Option<TurnId>,
    },
}

impl Playout {
    pub(crate) fn new() -> Self {
        Self {
            last: UtteranceId(0),
            live: BTreeMap::new(),
            heard_by: Instant::ZERO,
            reply_heard: None,
            lines: BTreeMap::new(),
            pace: PACE_OWN,
        }
    }

    /// Something is heard at this moment.
    pub(crate) fn is_audible(&self) -> bool {
        self.live.values().any(Live::is_audible)
    }

    /// Something is heard or waits to be.
    pub(crate) fn is_pending(&self) -> bool {
        self.live.values().any(Live::is_pending)
    }

    /// Speech of the model, or a clip that belongs to it, is heard or waits to be.
    pub(crate) fn is_reply_pending(&self) -> bool {
        self.live.values().any(|live| live.is_pending() && !matches!(live.what, Spoken::Line(_)))
    }

    /// Nothing but clips waits to be heard, and none of them is.
    pub(crate) fn is_only_clips_queued(&self) -> bool {
        let queued = |live: &Live| live.what == Spoken::Clip && live.stage == Stage::Queued;
        self.is_pending() && self.live.values().filter(|live| live.is_pending()).all(queued)
    }

    /// It was dropped, and not by the loudspeaker.
    pub(crate) fn is_flushed(&self, utterance: UtteranceId) -> bool {
        self.live.get(&utterance).is_some_and(|live| !live.is_pending())
    }

    /// A question of the gate is heard or waits to be.
    pub(crate) fn is_question_pending(&self) -> bool {
        let question = Spoken::Line(LineKind::ReadBack);
        self.live.values().any(|live| live.is_pending() && live.what == question)
    }

    /// A line of the device's own is heard or waits to be.
    pub(crate) fn is_line_pending(&self) -> bool {
        self.live.values().any(|live| live.is_pending() && matches!(live.what, Spoken::Line(_)))
    }

    /// The model is heard, waits to be, or was heard within the last `span`.
    pub(crate) fn is_model_heard(&self, now: Instant, span: Duration) -> bool {
        self.is_reply_pending() || self.reply_heard.is_some_and(|at| now - at < span)
    }

    /// The end of what the model has said so far, if not all of it was heard.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let replies =
            self.live.iter().rev().filter(|(_, live)| live.is_pending() && live.what == Spoken::Reply);
        replies.map(|(utterance, live)| Mark { utterance: *utterance, given: live.given }).next()
    }

    /// How much was heard up to `mark`.
    pub(crate) fn heard(&self, mark: Mark) -> Heard {
        match self.live.get(&mark.utterance).map(|live| live.stage) {
            None | Some(Stage::Flushed { .. }) => Heard::All,
            Some(Stage::Audible { since, before }) => {
                Heard::By(since + self.played(mark.given.saturating_sub(before)))
            }
            Some(Stage::Queued) => Heard::Nothing,
        }
    }

    /// A fresh reply.
    pub(crate) fn begin_reply(&mut self, cx: &mut Context) -> UtteranceId {
        self.admit(cx, Spoken::Reply, Duration::ZERO)
    }

    pub(crate) fn append(&mut self, cx: &mut Context, utterance: UtteranceId, pcm: Pcm) {
        self.expect(cx, self.played(pcm.span()));
        if let Some(live) = self.live.get_mut(&utterance) {
            live.given += pcm.span();
        }
        cx.emit(Output::Play { utterance, pcm });
    }

    pub(crate) fn speak(&mut self, cx: &mut Context, text: String, kind: LineKind) -> UtteranceId {
        let utterance = self.admit(cx, Spoken::Line(kind), LINE_MAX);
        self.lines.insert(utterance, text.clone());
        cx.emit(Output::Speak { utterance, text, kind });
        utterance
    }

    pub(crate) fn clip(&mut self, cx: &mut Context, clip: Clip) -> UtteranceId {
        let utterance = self.admit(cx, Spoken::Clip, CLIP_MAX);
        cx.emit(Output::PlayClip { utterance, clip });
        utterance
    }

    /// Drops everything. `by` is the turn that spoke over it, if one did. True if there was anything to drop.
    pub(crate) fn flush(&mut self, cx: &mut Context, by: Option<TurnId>) -> bool {
        if !self.is_pending() {
            return false;
        }
        for live in self.live.values_mut().filter(|live| live.is_pending()) {
            let by = by.filter(|_| live.is_audible());
            live.stage = Stage::Flushed { by };
        }
        self.heard_by = cx.now;
        self.watch(cx);
        cx.emit(Output::Flush);
        true
    }

    /// False for an utterance that is not live, or was dropped meanwhile.
    pub(crate) fn started(&mut self, cx: &mut Context, utterance: UtteranceId) -> bool {
        let Some(live) = self.live.get_mut(&utterance) else {
            return false;
        };
        if live.stage != Stage::Queued {
            return false;
        }
        live.stage = Stage::Audible { since: cx.now, before: Duration::ZERO };
        self.watch(cx);
        true
    }

    /// What is over. `None` for an utterance that is not live: a report that came twice or too late.
    pub(crate) fn finished(
        &mut self,
        cx: &mut Context,
        utterance: UtteranceId,
        heard: Frames,
        cut: bool,
    ) -> Option<Spoken> {
        let live = self.live.remove(&utterance)?;
        if live.what == Spoken::Reply && heard > Frames(0) {
            self.reply_heard = Some(cx.now);
        }
        let heard = heard.span(Hz::K24);
        if let Stage::Flushed { by: Some(turn) } = live.stage {
            cx.notice(Notice::BargeIn { turn, utterance, heard });
        }
        cx.notice(Notice::Played { utterance, what: live.what, heard, cut });
        self.watch(cx);
        Some(live.what)
    }

    /// The model's speech is played at `percent` of its own pace from here on.
    pub(crate) fn on_pace(&mut self, cx: &mut Context, percent: u16) {
        let (old, new) = (self.pace, u32::from(percent).max(1));
        self.pace = new;
        let mut unheard = Duration::ZERO;
        for live in self.live.values_mut().filter(|live| live.what == Spoken::Reply) {
            unheard += match &mut live.stage {
                Stage::Queued => live.given,
                Stage::Audible { since, before } => {
                    *before = (*before + (cx.now - *since) * old / PACE_OWN).min(live.given);
                    *since = cx.now;
                    live.given - *before
                }
                Stage::Flushed { .. } => Duration::ZERO,
            };
        }
        // Lines and clips keep their pace: only what is left of replies changes its length.
        let (was, is) = (unheard * PACE_OWN / old, self.played(unheard));
        self.heard_by = if is > was {
            self.heard_by.max(cx.now) + (is - was)
        } else {
            self.heard_by.saturating_sub(was - is)
        };
        self.watch(cx);
    }

    /// How long that much of the model's speech is played.
    fn played(&self, speech: Duration) -> Duration {
        speech * PACE_OWN / self.pace
    }

    /// The words of a line of the device's own that is over.
    pub(crate) fn take_words(&mut self, utterance: UtteranceId) -> Option<String> {
        self.lines.remove(&utterance)
    }

    /// Gives up for everything that is live.
    pub(crate) fn lose(&mut self, cx: &mut Context) -> Vec<(UtteranceId, Spoken)> {
        self.lines.clear();
        let lost = std::mem::take(&mut self.live);
        let lost: Vec<_> = lost.into_iter().map(|(utterance, live)| (utterance, live.what)).collect();
        self.watch(cx);
        lost
    }

    fn admit(&mut self, cx: &mut Context, what: Spoken, span: Duration) -> UtteranceId {
        self.last = self.last.next();
        if self.live.len() >= LIVE_MAX {
            self.live.pop_first();
            self.lines.retain(|line, _| self.live.contains_key(line));
        }
        self.live.insert(self.last, Live { what, stage: Stage::Queued, given: Duration::ZERO });
        self.expect(cx, span);
        self.last
    }

    fn expect(&mut self, cx: &mut Context, span: Duration) {
        self.heard_by = self.heard_by.max(cx.now) + span;
        self.watch(cx);
    }

    fn watch(&self, cx: &mut Context) {
        if self.live.is_empty() {
            cx.timers.clear(Timer::Playout);
        } else {
            let from = self.heard_by.max(cx.now);
            cx.timers.set(Timer::Playout, from + cx.config.patience.playout);
        }
    }
}

impl Live {
    fn is_audible(&self) -> bool {
        matches!(self.stage, Stage::Audible { .. })
    }

    fn is_pending(&self) -> bool {
        match self.stage {
            Stage::Queued | Stage::Audible { .. } => true,
            Stage::Flushed { .. } => false,
        }
    }
}
