//! Clips that belong after the speech which a tool's result provokes.

use std::collections::VecDeque;

use units::UtteranceId;

use crate::notice::Notice;
use crate::session::Session;
use crate::timers::Timer;

/// Clips that wait at once; more are dropped, oldest first.
const CLIPS_MAX: usize = 8;

#[derive(Default)]
pub(crate) struct Clips {
    waiting: VecDeque<Clip>,
}

struct Clip {
    name: String,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The answer it came with is not sent.
    Unanswered { response: u64 },
    /// Plays after the next reply to end, other than the one that was being spoken when its answer was sent.
    Due { not_after: Option<UtteranceId> },
}

impl Clips {
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl Session {
    pub(crate) fn queue_clip(&mut self, response: u64, name: String) {
        self.cx.notice(Notice::ClipQueued { clip: name.clone() });
        self.clips.waiting.push_back(Clip { name, stage: Stage::Unanswered { response } });
        if self.clips.waiting.len() > CLIPS_MAX {
            self.clips.waiting.pop_front();
        }
    }

    /// A clip that belongs to no answer: after what is said next, or soon.
    pub(crate) fn clip_is_due(&mut self, name: String) {
        self.cx.notice(Notice::ClipQueued { clip: name.clone() });
        self.clips.waiting.push_back(Clip { name, stage: Stage::Due { not_after: self.reply.open() } });
        if self.clips.waiting.len() > CLIPS_MAX {
            self.clips.waiting.pop_front();
        }
        self.cx.after(Timer::Clip, self.cx.config.patience.clip);
    }

    /// The answers of `response` are sent; `provokes` speech or not.
    pub(crate) fn on_clips_answered(&mut self, response: u64, provokes: bool) {
        let speaking = self.reply.open();
        // A provider that waits for the answer goes on with the reply it was in; another speaks of it in a reply of its own.
        let same_reply =
            self.link.up().is_some_and(|(_, capabilities)| capabilities.hold_uplink_during_calls);
        let not_after = if provokes && !same_reply { speaking } else { None };
        let mut due = false;
        for clip in &mut self.clips.waiting {
            if clip.stage == (Stage::Unanswered { response }) {
                clip.stage = Stage::Due { not_after };
                due = true;
            }
        }
        if due && !provokes && speaking.is_none() {
            self.play_due_clips(None);
        } else if due {
            self.cx.after(Timer::Clip, self.cx.config.patience.clip);
        }
    }

    /// The answers of `response` cannot be sent any more.
    pub(crate) fn drop_clips(&mut self, response: u64) {
        self.clips.waiting.retain(|clip| clip.stage != Stage::Unanswered { response });
    }

    /// A reply was generated to its end.
    pub(crate) fn on_reply_ended(&mut self, ended: Option<UtteranceId>) {
        if ended.is_some() {
            self.play_due_clips(ended);
        }
    }

    /// [`Timer::Clip`] has come: nothing was said about the answer.
    pub(crate) fn on_clip_due(&mut self) {
        if self.playout.is_pending() || self.reply.open().is_some() {
            self.cx.after(Timer::Clip, self.cx.config.patience.clip);
        } else {
            self.play_due_clips(None);
        }
    }

    fn play_due_clips(&mut self, after: Option<UtteranceId>) {
        let is_due = |stage| match stage {
            Stage::Due { not_after } => after.is_none() || not_after != after,
            Stage::Unanswered { .. } => false,
        };
        let waiting = std::mem::take(&mut self.clips.waiting);
        for clip in waiting {
            if is_due(clip.stage) {
                self.playout.clip(&mut self.cx, clip.name);
            } else {
                self.clips.waiting.push_back(clip);
            }
        }
        if !self.clips.waiting.iter().any(|clip| matches!(clip.stage, Stage::Due { .. })) {
            self.cx.timers.clear(Timer::Clip);
        }
    }
}
