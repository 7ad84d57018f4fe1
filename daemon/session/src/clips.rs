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
    /// Plays when it has been quiet: no speech belongs to it.
    Quiet,
}

impl Clips {
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// One waits for quiet.
    pub(crate) fn wait_for_quiet(&self) -> bool {
        self.waiting.iter().any(|clip| clip.stage == Stage::Quiet)
    }
}

impl Session {
    pub(crate) fn queue_clip(&mut self, response: u64, name: String) {
        self.keep_clip(name, Stage::Unanswered { response });
    }

    /// A clip that belongs to no answer: after what is said about it, if something is to be, or soon.
    pub(crate) fn clip_is_due(&mut self, name: String, provokes: bool) {
        if provokes {
            self.keep_clip(name, Stage::Due { not_after: self.reply.open() });
            self.cx.after(Timer::Clip, self.cx.config.patience.clip);
        } else {
            self.keep_clip(name, Stage::Quiet);
        }
    }

    fn keep_clip(&mut self, name: String, stage: Stage) {
        self.cx.notice(Notice::ClipQueued { clip: name.clone() });
        self.clips.waiting.push_back(Clip { name, stage });
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
        for clip in &mut self.clips.waiting {
            if clip.stage == (Stage::Unanswered { response }) {
                clip.stage = stage;
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
        self.play_clips(|stage| match stage {
            Stage::Due { not_after } => after.is_none() || not_after != after,
            Stage::Unanswered { .. } | Stage::Quiet => false,
        });
        if !self.clips.waiting.iter().any(|clip| matches!(clip.stage, Stage::Due { .. })) {
            self.cx.timers.clear(Timer::Clip);
        }
    }

    fn play_clips(&mut self, which: impl Fn(Stage) -> bool) {
        for clip in std::mem::take(&mut self.clips.waiting) {
            if which(clip.stage) {
                self.playout.clip(&mut self.cx, clip.name);
            } else {
                self.clips.waiting.push_back(clip);
            }
        }
    }
}
