// SPDX-License-Identifier: MIT OR Apache-2.0

//! When a conversation begins and how it ends.

use crate::config::Engage;
use crate::ledger::{Owes, Remains, Stage};
use crate::link::Closed;
use crate::notice::Notice;
use crate::seam::LinkFailure;
use crate::session::Session;
use crate::timers::Timer;
use crate::turn::Overlap;
use crate::{LineKind, Output};

/// Whether the session works.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// Not started, or ended.
    Off,
    On,
    /// The agent ends the session; its goodbye is played first.
    Ending(Ending),
    /// Over; the link is being closed.
    Closing {
        by: &'static str,
    },
}

/// How far the goodbye has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Something was said in the response that ended the session.
    pub(crate) spoke: bool,
    /// The model says nothing more.
    pub(crate) model_done: bool,
}

impl Session {
    pub(crate) fn on_start(&mut self) {
        if self.run != Run::Off {
            return;
        }
        self.run = Run::On;
        if self.cx.config.engage == Engage::Always || self.person.is_speaking() {
            self.link.want(&mut self.cx);
        }
    }

    pub(crate) fn on_stop(&mut self) {
        self.finish("daemon");
    }

    /// The agent has ended the session in `response`.
    pub(crate) fn begin_ending(&mut self, call: units::CallKey, spoke: bool) {
        if self.run == Run::On {
            self.cx.notice(Notice::Ending { call });
            self.gate.on_ending(&mut self.cx);
            self.stop_calls_to_end();
            // What was said before a turn that is closed was the goodbye.
            self.run = Run::Ending(Ending { spoke, model_done: spoke && self.reply.is_closed() });
            self.cx.after(Timer::Drain, self.cx.config.patience.drain);
            self.cx.after(Timer::Goodbye, self.cx.config.patience.goodbye);
        }
    }

    /// The person keeps talking: the session goes on.
    pub(crate) fn cancel_ending(&mut self) {
        if matches!(self.run, Run::Ending(_)) {
            self.run = Run::On;
            self.cx.timers.clear(Timer::Drain);
            self.cx.timers.clear(Timer::Goodbye);
            self.cx.notice(Notice::EndingCancelled);
        }
    }

    /// The model is heard while the session ends.
    pub(crate) fn on_goodbye_audio(&mut self) {
        if let Run::Ending(ending) = &mut self.run {
            ending.spoke = true;
            self.cx.after(Timer::Goodbye, self.cx.config.patience.goodbye);
        }
    }

    /// The model says nothing more, or has had its time to.
    pub(crate) fn on_goodbye_due(&mut self) {
        if let Run::Ending(ending) = &mut self.run {
            ending.model_done = true;
        }
    }

    pub(crate) fn end_when_drained(&mut self) {
        let idle = self.ledger.is_at_rest()
            && self.reply.is_quiet()
            && !self.playout.is_pending()
            && !self.clips.wait_for_quiet();
        match &mut self.run {
            Run::Ending(ending) if ending.model_done && idle => {
                if ending.spoke {
                    self.finish("agent");
                } else {
                    ending.spoke = true;
                    let text = self.cx.config.lines.goodbye.clone();
                    self.playout.speak(&mut self.cx, text, LineKind::Goodbye);
                }
            }
            Run::Ending(_) | Run::Off | Run::On | Run::Closing { .. } => {}
        }
    }

    /// Ends the session: nothing of it goes on.
    pub(crate) fn finish(&mut self, by: &'static str) {
        self.end_conversation();
        self.playout.flush(&mut self.cx, None);
        self.run = Run::Closing { by };
        if self.link.leave(&mut self.cx) {
            self.ended(by);
        }
    }

    fn ended(&mut self, by: &'static str) {
        self.cx.notice(Notice::Ended { by });
        self.cx.emit(Output::Ended { by });
        let by_voice = matches!(self.cx.config.engage, Engage::Voice { .. });
        self.run = if by_voice && by == "agent" { Run::On } else { Run::Off };
        if self.run == Run::On && self.person.is_speaking() {
            self.link.want(&mut self.cx);
        }
    }

    pub(crate) fn on_link_closed(&mut self, failure: &LinkFailure) {
        let closed = self.link.on_closed(&mut self.cx, failure);
        if closed == Closed::Nothing {
            return;
        }
        self.stop_unbegun_calls();
        self.on_asked_over();
        self.drop_nudge();
        let ended = self.reply.give_up(&mut self.cx);
        self.on_reply_ended(ended);
        self.on_goodbye_due();
        match closed {
            Closed::ForGood => {
                if let Run::Closing { by } = self.run {
                    self.ended(by);
                }
            }
            Closed::Outage => self.tell_of_outage(),
            Closed::Again if self.waiting.is_some() && self.link.is_outage() => self.tell_of_outage(),
            Closed::Again | Closed::Nothing => {}
        }
    }

    /// [`Timer::Close`] has come: a transport that does not report its end counts as gone.
    pub(crate) fn on_close_overdue(&mut self) {
        self.on_link_closed(&LinkFailure {
            cause: crate::FailureCause::Requested,
            text: "the transport did not report its end in time and counts as gone".into(),
        });
    }

    /// Says once per outage why the person is not answered.
    pub(crate) fn tell_of_outage(&mut self) {
        if self.run == Run::On && !self.person.is_speaking() && self.link.tell_once() {
            let text = self.cx.config.lines.unreachable.clone();
            self.playout.speak(&mut self.cx, text, LineKind::Apology);
        }
    }

    pub(crate) fn rotate_when_quiet(&mut self) {
        let quiet = self.reply.is_quiet()
            && self.ledger.is_empty()
            && self.waiting.is_none()
            && !self.asked_to_speak
            && !self.person.is_speaking();
        if quiet && self.link.is_due_to_rotate() {
            self.link.rotate(&mut self.cx);
        }
    }

    /// Keeps [`Timer::Idle`] running while nothing happens in a conversation that was opened by voice.
    pub(crate) fn watch_idle(&mut self) {
        let Engage::Voice { idle_after } = self.cx.config.engage else {
            return;
        };
        let idle = self.run == Run::On
            && !self.link.is_down()
            && self.waiting.is_none()
            && !self.person.is_speaking()
            && !self.playout.is_pending()
            && self.ledger.is_at_rest()
            && self.gate.is_idle();
        if !idle {
            self.cx.timers.clear(Timer::Idle);
        } else if !self.cx.timers.is_set(Timer::Idle) {
            self.cx.after(Timer::Idle, idle_after);
        }
    }

    pub(crate) fn on_idle(&mut self) {
        self.end_conversation();
        self.link.leave(&mut self.cx);
    }

    /// Nothing said, asked or agreed to so far may reach into the next conversation.
    fn end_conversation(&mut self) {
        self.gate.drop_all(&mut self.cx);
        let Remains { open, unsent, jobs } = self.ledger.clear();
        for (call, open) in open {
            if let Stage::Running(running) = &open.stage
                && !running.begun
            {
                self.cx.emit(Output::Cancel { call });
            }
            self.cx.notice(Notice::CallClosed { call, name: open.name, why: "the session ended" });
        }
        for given in unsent {
            let why = "the session ended before its answer was sent";
            self.cx.notice(Notice::CallClosed { call: given.call, name: given.name, why });
        }
        for (call, job) in jobs {
            if !job.begun {
                self.cx.emit(Output::Cancel { call });
            }
            let text = format!("[{} still ran]", job.spec.name);
            self.cx.notice(Notice::NoteDropped { text, why: "the session ended" });
        }
        self.reply.give_up(&mut self.cx);
        self.clips.clear();
        self.on_asked_over();
        self.drop_notes("the session ended");
        self.end_record();
        self.waiting = None;
        self.tally.begin(self.person.turn());
        if let Overlap::Unsure { ducked: true, .. } = std::mem::replace(&mut self.overlap, Overlap::None) {
            self.cx.emit(Output::Unduck);
        }
        for timer in [
            Timer::HeldCall,
            Timer::BargeIn,
            Timer::Reply,
            Timer::Telling,
            Timer::Settle,
            Timer::CallDeadline,
            Timer::Blocking,
            Timer::Clip,
            Timer::ClipQuiet,
            Timer::Goodbye,
            Timer::Drain,
            Timer::Idle,
        ] {
            self.cx.timers.clear(timer);
        }
    }

    /// The device gives up on this turn's calls aloud.
    pub(crate) fn say_stuck(&mut self) {
        let text = self.cx.config.lines.stuck.clone();
        self.playout.speak(&mut self.cx, text, LineKind::Apology);
    }

    /// What an answer of a call that ends the session owes.
    pub(crate) fn owed_by(&self, owes: Owes) -> Owes {
        match self.run {
            Run::Ending(_) => Owes::Silence,
            Run::Off | Run::On | Run::Closing { .. } => owes,
        }
    }
}
