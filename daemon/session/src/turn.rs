// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whose turn it is: the person's speech, barge-in, and what playout reports.

use std::time::Duration;

use units::{Frames, TurnId, UtteranceId};

use crate::config::Engage;
use crate::confirm::Weighed;
use crate::engage::Run;
use crate::notice::{Notice, Spoken};
use crate::session::Session;
use crate::timers::Timer;
use crate::{LineKind, Output};

/// Near-end speech that began while the device was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    None,
    /// It has not lasted long enough to be meant. [`Timer::BargeIn`] is set.
    Unsure {
        turn: TurnId,
        ducked: bool,
    },
}

impl Session {
    pub(crate) fn on_speech_started(&mut self, onset_ago: Duration) {
        let Some(turn) = self.person.begin(&mut self.cx, onset_ago) else {
            return;
        };
        self.end_record();
        self.cx.notice(Notice::TurnOpened { turn });
        self.tally.begin(turn);
        self.begin_record(turn);
        self.take_view();
        let onset = self.cx.now.saturating_sub(onset_ago);
        self.uplink.on_speech(self.cx.now, onset, self.cx.config.preroll_max);
        if !matches!(self.run, Run::On | Run::Ending(_)) {
            return;
        }
        self.waiting = None;
        self.on_asked_over();
        self.drop_nudge();
        self.cx.timers.clear(Timer::Reply);
        self.reply.person_spoke();
        if self.run == Run::On && matches!(self.cx.config.engage, Engage::Voice { .. }) {
            self.link.want(&mut self.cx);
        }
        self.yield_clips();
        let audible = self.playout.is_audible();
        if !audible && !matches!(self.run, Run::Ending(_)) {
            return;
        }
        let meant_at = onset + self.cx.config.barge_in_min_speech;
        let ducked = audible && meant_at > self.cx.now;
        self.overlap = Overlap::Unsure { turn, ducked };
        if meant_at <= self.cx.now {
            self.on_barge_in();
            return;
        }
        self.cx.timers.set(Timer::BargeIn, meant_at);
        if ducked {
            self.cx.emit(Output::Duck);
        }
    }

    pub(crate) fn on_speech_ended(&mut self, voiced: Duration) {
        let Some(turn) = self.person.end(&mut self.cx, voiced) else {
            return;
        };
        self.cx.notice(Notice::TurnClosed { turn, voiced });
        if voiced >= self.cx.config.barge_in_min_speech {
            self.heard_turn = turn;
        }
        self.record_speech_ended();
        if let Overlap::Unsure { turn, ducked } = std::mem::replace(&mut self.overlap, Overlap::None) {
            self.cx.timers.clear(Timer::BargeIn);
            if ducked {
                self.cx.emit(Output::Unduck);
            }
            self.cx.notice(Notice::NoiseIgnored { turn });
            self.drop_record();
            return;
        }
        if self.cx.timers.is_set(Timer::HeldCall) {
            self.cx.after(Timer::HeldCall, self.cx.config.gate.evidence_grace);
        }
        if self.run == Run::On {
            self.waiting = Some(turn);
            self.cx.after(Timer::Reply, self.cx.config.patience.reply);
            if self.link.is_outage() {
                self.tell_of_outage();
            }
        }
    }

    /// The speech over playout is meant: it has lasted long enough, or the provider says so.
    pub(crate) fn on_barge_in(&mut self) {
        let Overlap::Unsure { turn, ducked } = std::mem::replace(&mut self.overlap, Overlap::None) else {
            return;
        };
        self.cx.timers.clear(Timer::BargeIn);
        if self.playout.flush(&mut self.cx, Some(turn)) {
            self.reply.cut(&mut self.cx);
            self.clips.on_interrupted();
        }
        if ducked {
            self.cx.emit(Output::Unduck);
        }
        // What is ready was brought before: it is told, but whoever speaks has other things on their mind.
        self.ledger.on_spoken_over();
        self.stop_unbegun_calls();
        self.stop_jobs();
        self.cancel_ending();
    }

    /// [`Timer::Transcript`] has come: what the person said in one stretch is complete.
    pub(crate) fn on_transcript_final(&mut self) {
        while let Some(said) = self.person.take_final(&mut self.cx) {
            self.cx.notice(Notice::UserSaid { turn: Some(said.turn), text: said.text.clone() });
            self.reconsider_queued(&said);
            match self.gate.on_said(&mut self.cx, self.person.turn(), &said) {
                Weighed::Nothing => {}
                Weighed::Answered => self.judge_held_calls(true),
                Weighed::Agreed(approval) => {
                    self.make_agreed(Some(*approval));
                    self.judge_held_calls(true);
                }
            }
        }
    }

    /// [`Timer::Reply`] has come: the person has waited long enough without hearing anything.
    pub(crate) fn on_reply_overdue(&mut self) {
        self.waiting = None;
        if self.person.is_speaking() || !self.gate.is_idle() || self.run != Run::On {
            return;
        }
        if self.link.up().is_some() {
            let own = self
                .ledger
                .running()
                .filter(|(_, _, running)| running.spec.needs_result_now)
                .find_map(|(_, _, running)| running.spec.waiting.clone());
            let (text, kind) = match own {
                Some(text) => (text, LineKind::PreCall),
                None => (self.cx.config.lines.slow.clone(), LineKind::Apology),
            };
            self.playout.speak(&mut self.cx, text, kind);
            self.nudge();
        } else {
            self.tell_of_outage();
        }
    }

    /// A tool says that nothing need be heard of it: then silence is no sign that something is wrong.
    pub(crate) fn on_silence_meant(&mut self) {
        self.waiting = None;
        self.cx.timers.clear(Timer::Reply);
    }

    pub(crate) fn on_playout_started(&mut self, utterance: UtteranceId) {
        self.gate.on_heard(&self.person);
        self.gate.on_audible(self.cx.now, utterance);
        if self.playout.started(&mut self.cx, utterance) {
            self.waiting = None;
            self.cx.timers.clear(Timer::Reply);
            self.record_heard();
        }
    }

    pub(crate) fn on_playout_finished(&mut self, utterance: UtteranceId, heard: Frames, cut: bool) {
        // What was not heard at all was not heard to its end, whatever the report says.
        let cut = cut || heard == Frames(0);
        if heard > Frames(0) {
            self.gate.on_heard(&self.person);
        }
        let dropped = self.playout.is_flushed(utterance) && heard == Frames(0);
        self.gate.on_silent(self.cx.now, utterance, None);
        if let Some(what) = self.playout.finished(&mut self.cx, utterance, heard, cut) {
            self.on_words_played(utterance, what, cut);
            self.on_clip_over(utterance, dropped);
            self.record_progress();
            self.on_utterance_over(utterance, what, cut);
        }
    }

    /// [`Timer::Playout`] has come: reports are overdue, so nothing that waits for them may wait any longer.
    pub(crate) fn on_playout_lost(&mut self) {
        let lost = self.playout.lose(&mut self.cx);
        self.cx.notice(Notice::PlayoutLost { utterances: lost.len() });
        for (utterance, what) in lost {
            self.gate.on_silent(self.cx.now, utterance, None);
            self.on_utterance_over(utterance, what, true);
        }
    }

    fn on_utterance_over(&mut self, utterance: UtteranceId, what: Spoken, cut: bool) {
        if self.reply.open() == Some(utterance) {
            // It was lost on the way to the loudspeaker: what still comes is another utterance.
            let ended = self.reply.generated(&mut self.cx);
            self.on_reply_ended(ended);
        }
        if what == Spoken::Line(LineKind::ReadBack) {
            let turn = self.person.turn();
            self.gate.on_question_played(&mut self.cx, &self.playout, turn, utterance, cut);
        }
    }
}
