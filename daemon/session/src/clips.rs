// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clips that belong after the speech which a tool's result provokes.

use std::collections::VecDeque;

use units::{Clip, UtteranceId};

use crate::notice::Notice;
use crate::session::Session;
use crate::timers::Timer;

/// Clips that wait at once; more are dropped, oldest first.
const CLIPS_MAX: usize = 8;

#[derive(Default)]
pub(crate) struct Clips {
    waiting: VecDeque<Waiting>,
    /// Those handed out that outlive an interruption; the newest last.
    kept: VecDeque<(UtteranceId, Clip)>,
}

struct Waiting {
    clip: Clip,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The answer it came with is not sent.
    Unanswered { response: u64 },
    /// Plays after the next reply to end, other than the one that was being spoken when its answer was sent.
    Due { not_after: Option<UtteranceId> },
    /// Plays when it has been quiet: no speech belongs to it.
    Quiet,
}

impl Clips {
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.kept.clear();
    }

    /// The person has other things on their mind: only what is kept goes on, after what they hear next or when it is quiet.
    pub(crate) fn on_interrupted(&mut self) {
        self.waiting.retain(|waiting| waiting.clip.is_kept());
        for waiting in &mut self.waiting {
            waiting.stage = match waiting.stage {
                Stage::Unanswered { response } => Stage::Unanswered { response },
                Stage::Due { .. } | Stage::Quiet => Stage::Quiet,
            };
        }
    }

    /// One waits for quiet.
    pub(crate) fn wait_for_quiet(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.stage == Stage::Quiet)
    }
}

impl Session {
    pub(crate) fn queue_clip(&mut self, response: u64, clip: Clip) {
        self.hold_clip(clip, Stage::Unanswered { response });
    }

    /// A clip that belongs to no answer: after what is said about it, if something is to be, or soon.
    pub(crate) fn clip_is_due(&mut self, clip: Clip, provokes: bool) {
        if provokes {
            self.hold_clip(clip, Stage::Due { not_after: self.reply.open() });
            self.cx.after(Timer::Clip, self.cx.config.patience.clip);
        } else {
            self.hold_clip(clip, Stage::Quiet);
        }
    }

    fn hold_clip(&mut self, clip: Clip, stage: Stage) {
        self.cx.notice(Notice::ClipQueued { clip: clip.clone() });
        self.clips.waiting.push_back(Waiting { clip, stage });
        if self.clips.waiting.len() > CLIPS_MAX {
            self.clips.waiting.pop_front();
        }
    }

    /// The answers of `response` are sent; `provokes` speech or not.
    pub(crate) fn on_clips_answered(&mut self, response: u64, provokes: bool) {
        let speaking = self.reply.open();
        // A provider that waits for the answer goes on with the reply it was in; another speaks of it in a reply of its own.
        let same_reply =
            self.link.up().is_some_and(|(_, capabilities)| capabilities.hold_uplink_during_calls);
        let not_after = if same_reply { None } else { speaking };
        let stage = if provokes { Stage::Due { not_after } } else { Stage::Quiet };
        let mut due = false;
        for waiting in &mut self.clips.waiting {
            if waiting.stage == (Stage::Unanswered { response }) {
                waiting.stage = stage;
                due = provokes;
            }
        }
        if due {
            self.cx.after(Timer::Clip, self.cx.config.patience.clip);
        }
    }

    /// Keeps [`Timer::ClipQuiet`] running while nobody speaks, if a clip waits for that.
    pub(crate) fn watch_clips(&mut self) {
        let quiet = self.reply.is_quiet()
            && !self.playout.is_pending()
            && !self.person.is_speaking()
            && self.waiting.is_none();
        if !quiet || !self.clips.wait_for_quiet() {
            self.cx.timers.clear(Timer::ClipQuiet);
        } else if !self.cx.timers.is_set(Timer::ClipQuiet) {
            self.cx.after(Timer::ClipQuiet, self.cx.config.patience.clip_quiet);
        }
    }

    /// [`Timer::ClipQuiet`] has come.
    pub(crate) fn play_quiet_clips(&mut self) {
        self.play_clips(|stage| stage == Stage::Quiet);
    }

    /// The answers of `response` cannot be sent any more.
    pub(crate) fn drop_clips(&mut self, response: u64) {
        self.clips.waiting.retain(|waiting| waiting.stage != Stage::Unanswered { response });
    }

    /// A reply was generated to its end.
    pub(crate) fn on_reply_ended(&mut self, ended: Option<UtteranceId>) {
        if ended.is_some() {
            self.play_due_clips(ended);
        }
    }

    /// [`Timer::Clip`] has come: nothing was said about the answer.
    pub(crate) fn on_clip_due(&mut self) {
        if self.playout.is_pending() || self.reply.open().is_some() || self.person.is_speaking() {
            self.cx.after(Timer::Clip, self.cx.config.patience.clip);
        } else {
            self.play_due_clips(None);
        }
    }

    fn play_due_clips(&mut self, after: Option<UtteranceId>) {
        self.play_clips(|stage| match stage {
            Stage::Due { not_after } => after.is_none() || not_after != after,
            Stage::Unanswered { .. } | Stage::Quiet => false,
        });
        if !self.clips.waiting.iter().any(|waiting| matches!(waiting.stage, Stage::Due { .. })) {
            self.cx.timers.clear(Timer::Clip);
        }
    }

    fn play_clips(&mut self, which: impl Fn(Stage) -> bool) {
        for waiting in std::mem::take(&mut self.clips.waiting) {
            if !which(waiting.stage) {
                self.clips.waiting.push_back(waiting);
                continue;
            }
            let kept = waiting.clip.is_kept().then(|| waiting.clip.clone());
            let utterance = self.playout.clip(&mut self.cx, waiting.clip);
            if let Some(clip) = kept {
                self.clips.kept.push_back((utterance, clip));
                if self.clips.kept.len() > CLIPS_MAX {
                    self.clips.kept.pop_front();
                }
            }
        }
    }

    /// A clip that only waits to be heard, most likely as it is still to come, gives way to a person who begins to speak.
    pub(crate) fn yield_clips(&mut self) {
        if self.playout.is_only_clips_queued() {
            self.playout.flush(&mut self.cx, None);
            self.clips.on_interrupted();
        }
    }

    /// A clip that was handed out is over; `flushed` if we dropped it and nothing of it was heard.
    pub(crate) fn on_clip_over(&mut self, utterance: UtteranceId, flushed: bool) {
        let Some(at) = self.clips.kept.iter().position(|(kept, _)| *kept == utterance) else {
            return;
        };
        if let Some((_, clip)) = self.clips.kept.remove(at).filter(|_| flushed) {
            self.hold_clip(clip, Stage::Quiet);
        }
    }
}
