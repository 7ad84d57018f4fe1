// SPDX-License-Identifier: MIT OR Apache-2.0

//! One named timer per reason to wake. A timer that is set again moves; there is never more than one of a name.

use units::Instant;

/// Why the session wants to be woken. The order decides between timers that come at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// The open question, unheard or unanswered, lapses.
    GateDeadline,
    /// The approval lapses.
    GrantLapses,
    /// A sheet on the screen lapses.
    Sheet,
    /// The button was held for long enough.
    Hold,
    /// A transcript may be final.
    Transcript,
    /// What may have been the answer to a question has waited long enough for its words.
    Answer,
    /// A guarded call has waited long enough for a transcript.
    HeldCall,
    /// Near-end speech over playout has lasted long enough to be meant.
    BargeIn,
    /// The provider should have closed the reply that was cut.
    CutReply,
    /// The person should have heard something.
    Reply,
    /// The model should have spoken as it was asked to.
    Asked,
    /// What the person waits to hear has waited long enough for the model to close its turn.
    Telling,
    /// The next call has waited long enough: for the person to go on, for what was said before it to be heard, or for one
    /// that was stopped.
    Settle,
    /// A running call should have ended.
    CallDeadline,
    /// A call has kept the microphone shut for long enough to be answered that it runs.
    Blocking,
    /// The microphone was withheld long enough.
    UplinkHold,
    /// A clip has waited long enough for the speech it belongs after.
    Clip,
    /// It was quiet for long enough for a clip that no speech belongs to.
    ClipQuiet,
    /// Playout reports are overdue.
    Playout,
    /// The model has had its chance to say goodbye.
    Goodbye,
    /// The goodbye has had its time to drain.
    Drain,
    /// The transport should have been closed.
    Close,
    /// The link should have been set up.
    Setup,
    /// The link may be tried again.
    Retry,
    /// The link must be made again before the provider closes it.
    GoAway,
    /// The link has been up for long enough to count as good.
    Stable,
    /// Nobody has spoken for long enough.
    Idle,
}

impl Timer {
    const ALL: [Self; 27] = [
        Self::GateDeadline,
        Self::GrantLapses,
        Self::Sheet,
        Self::Hold,
        Self::Transcript,
        Self::Answer,
        Self::HeldCall,
        Self::BargeIn,
        Self::CutReply,
        Self::Reply,
        Self::Asked,
        Self::Telling,
        Self::Settle,
        Self::CallDeadline,
        Self::Blocking,
        Self::UplinkHold,
        Self::Clip,
        Self::ClipQuiet,
        Self::Playout,
        Self::Goodbye,
        Self::Drain,
        Self::Close,
        Self::Setup,
        Self::Retry,
        Self::GoAway,
        Self::Stable,
        Self::Idle,
    ];
}

/// The timers that are set.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    at: [Option<Instant>; Timer::ALL.len()],
}

impl Timers {
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = Some(at);
    }

    pub(crate) fn clear(&mut self, timer: Timer) {
        self.at[timer as usize] = None;
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize].is_some()
    }

    /// When the next timer comes, if any is set.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.at.iter().flatten().min().copied()
    }

    /// Takes the earliest timer that has come by `now`, unset.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let due = Timer::ALL
            .into_iter()
            .filter_map(|timer| self.at[timer as usize].map(|at| (at, timer)))
            .filter(|(at, _)| *at <= now)
            .min()?;
        self.clear(due.1);
        Some(due.1)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_timer_has_its_own_place() {
        for (place, timer) in Timer::ALL.into_iter().enumerate() {
            assert_eq!(timer as usize, place, "{timer:?}");
        }
    }

    #[test]
    fn due_timers_come_in_order_of_time_and_then_of_name() {
        let second = Instant::from_boot(Duration::from_secs(1));
        let mut timers = Timers::default();
        timers.set(Timer::Idle, second);
        timers.set(Timer::GateDeadline, second);
        timers.set(Timer::Setup, Instant::ZERO);
        assert_eq!(timers.earliest(), Some(Instant::ZERO));
        assert_eq!(timers.take_due(second), Some(Timer::Setup));
        assert_eq!(timers.take_due(second), Some(Timer::GateDeadline));
        assert_eq!(timers.take_due(second), Some(Timer::Idle));
        assert_eq!(timers.take_due(second), None);
        assert_eq!(timers.earliest(), None);
    }
}
