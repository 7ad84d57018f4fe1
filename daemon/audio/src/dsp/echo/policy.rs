// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether what the microphone hears while the loudspeaker plays may be listened to.

use std::time::Duration;

use super::gauge::Reading;

/// What the microphone's side does about the echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stance {
    /// The canceller does not know the room yet: nothing is listened to while the loudspeaker plays.
    Guard,
    /// What the canceller leaves is listened to.
    Cancel,
    /// The microphone is listened to as it is.
    Through,
    /// Nothing is listened to while the loudspeaker plays.
    HalfDuplex,
}

/// Who chose the stance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The policy, by measure.
    Measured,
    /// The configuration: cancel whatever the measure says.
    Software,
    /// The configuration: the device cancels. That it does is watched.
    Hardware,
    /// The configuration, and nothing is measured.
    Fixed(Stance),
}

/// The canceller has converged at this, in dB: the detector hears next to no speech in a residual so far below the echo. Figures:
/// `tests/bench/README.md`.
const ERLE_CONVERGED: f32 = 10.0;

/// Below this, in dB, it is of no use. Chosen: far enough from the other not to go back and forth.
const ERLE_USELESS: f32 = 6.0;

/// Loud far-end after which the guard ends, whether or not it has converged; and the least in which a canceller that was of use is
/// found to be of none.
pub(crate) const GUARD_MAX: Duration = Duration::from_secs(3);

/// Loud far-end after which a microphone that hears nothing of it is taken for one that never will. Chosen: two
/// replies.
const NO_ECHO_AFTER: Duration = Duration::from_secs(6);

/// Loud far-end that half duplex lasts at least. Chosen: some replies, so that it does not go back and forth.
const PATIENCE: Duration = Duration::from_secs(10);

/// Levels of far-end and microphone are as alike as this where there is an echo, and less where there is none: two voices
/// over 3 s come to 0.4 at the best of 30 delays.
const ECHO: f32 = 0.6;
const NO_ECHO: f32 = 0.45;

/// What is decided, and what of.
pub(crate) struct Policy {
    choice: Choice,
    stance: Stance,
    /// Loud far-end when the stance was taken.
    since: Duration,
    /// An echo was heard since the devices were opened.
    has_echo: bool,
    said: Said,
}

/// What was said last, so that it is said once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Cancelled,
    NoEcho,
    Useless,
    NotCancelled,
}

impl Policy {
    pub(crate) const fn new(choice: Choice) -> Self {
        let stance = match choice {
            Choice::Measured | Choice::Software => Stance::Guard,
            Choice::Hardware => Stance::Through,
            Choice::Fixed(stance) => stance,
        };
        Self { choice, stance, since: Duration::ZERO, has_echo: false, said: Said::Nothing }
    }

    pub(crate) const fn stance(&self) -> Stance {
        self.stance
    }

    /// The devices are others, or the canceller has lost its place: everything is open again. Half duplex by measure stays
    /// until the measure is better.
    pub(crate) const fn reset(&mut self) {
        let (said, stance) = (self.said, self.stance);
        *self = Self::new(self.choice);
        self.said = said;
        if matches!((self.choice, stance), (Choice::Measured, Stance::HalfDuplex)) {
            self.stance = stance;
        }
    }

    /// Decides by a reading; a sentence for the technician where that changes something.
    pub(crate) fn judge(&mut self, reading: &Reading) -> Option<String> {
        self.has_echo |= reading.likeness.is_some_and(|likeness| likeness >= ECHO);
        match self.choice {
            Choice::Measured => self.measured(reading),
            Choice::Software => self.software(reading),
            Choice::Hardware => self.hardware(reading),
            Choice::Fixed(_) => None,
        }
    }

    fn measured(&mut self, reading: &Reading) -> Option<String> {
        let passed = reading.loud.saturating_sub(self.since);
        let hears_none = reading.likeness.is_some_and(|likeness| likeness < NO_ECHO);
        let is_left = reading.residual.is_some_and(|residual| residual >= ECHO);
        match self.stance {
            Stance::Guard if self.has_echo && converged(reading) => self.take(Stance::Cancel, reading),
            Stance::Guard if passed >= NO_ECHO_AFTER && hears_none && !self.has_echo => {
                self.take(Stance::Through, reading)
            }
            Stance::Guard if passed >= GUARD_MAX && self.has_echo => self.take(Stance::HalfDuplex, reading),
            Stance::Cancel if passed >= NO_ECHO_AFTER && hears_none && !self.has_echo => {
                self.take(Stance::Through, reading)
            }
            Stance::Cancel if passed >= GUARD_MAX && useless(reading) && is_left => {
                self.take(Stance::HalfDuplex, reading)
            }
            Stance::Through if self.has_echo => self.take(Stance::Guard, reading),
            Stance::HalfDuplex if passed >= PATIENCE && converged(reading) && !is_left => {
                self.take(Stance::Cancel, reading)
            }
            Stance::Guard | Stance::Cancel | Stance::Through | Stance::HalfDuplex => None,
        }
        .and_then(|said| self.say(said, reading))
    }

    fn software(&mut self, reading: &Reading) -> Option<String> {
        match self.stance {
            Stance::Guard if self.has_echo && converged(reading) => self.take(Stance::Cancel, reading),
            Stance::Guard if reading.loud >= GUARD_MAX => {
                self.take(Stance::Cancel, reading);
                Some(Said::Useless)
            }
            Stance::Guard | Stance::Cancel | Stance::Through | Stance::HalfDuplex => None,
        }
        .and_then(|said| self.say(said, reading))
    }

    fn hardware(&mut self, reading: &Reading) -> Option<String> {
        if !self.has_echo {
            return None;
        }
        self.say(Said::NotCancelled, reading)
    }

    fn take(&mut self, stance: Stance, reading: &Reading) -> Option<Said> {
        self.stance = stance;
        self.since = reading.loud;
        match stance {
            Stance::Guard => None,
            Stance::Cancel => Some(Said::Cancelled),
            Stance::Through => Some(Said::NoEcho),
            Stance::HalfDuplex => Some(Said::Useless),
        }
    }

    fn say(&mut self, said: Said, reading: &Reading) -> Option<String> {
        if std::mem::replace(&mut self.said, said) == said {
            return None;
        }
        let erl = reading.erl.map_or(0.0, |erl| erl.0);
        let erle = reading.erle.map_or(0.0, |erle| erle.0);
        let back =
            reading.delay.map_or_else(|| "at once".into(), |delay| format!("{} ms later", delay.as_millis()));
        Some(match said {
            Said::Nothing => return None,
            Said::Cancelled => format!(
                "echo is cancelled in software: {erle:.0} dB taken away from what comes back {back}, {erl:.0} dB below \
                 the loudspeaker; interrupting by voice works"
            ),
            Said::NoEcho => format!(
                "the microphone hears nothing of the loudspeaker (likeness {:.2}): a headset, or a device that cancels echo \
                 itself; the microphone is passed through",
                reading.likeness.unwrap_or(0.0)
            ),
            Said::Useless => format!(
                "echo is not cancelled: of what comes back {back}, {erl:.0} dB below the loudspeaker, only {erle:.0} dB \
                 could be taken away; {} Turn the loudspeaker down, or away from the microphone",
                match self.choice {
                    Choice::Software => "the daemon may interrupt itself.",
                    Choice::Measured | Choice::Hardware | Choice::Fixed(_) =>
                        "the microphone is not listened to while the loudspeaker plays, until that gets better.",
                }
            ),
            Said::NotCancelled => format!(
                "the device does not cancel its echo: it comes back {back}, {erl:.0} dB below the loudspeaker; \
                 audio.echo.mode \"auto\" would cancel it"
            ),
        })
    }
}

fn converged(reading: &Reading) -> bool {
    reading.erle.is_some_and(|erle| erle.0 >= ERLE_CONVERGED)
}

fn useless(reading: &Reading) -> bool {
    reading.erle.is_some_and(|erle| erle.0 < ERLE_USELESS)
}

#[cfg(test)]
mod tests {
    use units::Db;

    use super::*;

    fn reading(loud_s: u64, likeness: f32, residual: f32, erle: f32) -> Reading {
        Reading {
            loud: Duration::from_secs(loud_s),
            delay: Some(Duration::from_millis(40)),
            likeness: Some(likeness),
            residual: Some(residual),
            erl: Some(Db(10.0)),
            erle: Some(Db(erle)),
        }
    }

    /// What a policy did with a row of readings: its stance after each, and how often it said something.
    fn course(choice: Choice, readings: &[Reading]) -> (Vec<Stance>, usize) {
        let mut policy = Policy::new(choice);
        let mut said = 0;
        let stances = readings
            .iter()
            .map(|reading| {
                said += usize::from(policy.judge(reading).is_some());
                policy.stance()
            })
            .collect();
        (stances, said)
    }

    use Stance::{Cancel, Guard, HalfDuplex, Through};

    #[test]
    fn a_canceller_that_converges_ends_the_guard_at_once() {
        let row = [reading(0, 0.3, 0.3, 2.0), reading(1, 0.9, 0.2, 12.0), reading(9, 0.9, 0.2, 30.0)];
        assert_eq!(course(Choice::Measured, &row), (vec![Guard, Cancel, Cancel], 1));
        assert_eq!(course(Choice::Software, &row), (vec![Guard, Cancel, Cancel], 1));
    }

    #[test]
    fn one_that_does_not_makes_it_half_duplex_until_it_does() {
        let bad = reading(3, 0.9, 0.9, 3.0);
        let row = [reading(1, 0.9, 0.9, 1.0), bad, reading(5, 0.9, 0.9, 20.0), reading(14, 0.9, 0.1, 20.0)];
        assert_eq!(course(Choice::Measured, &row), (vec![Guard, HalfDuplex, HalfDuplex, Cancel], 2));
        assert_eq!(course(Choice::Software, &row[..2]).0, [Guard, Cancel], "software is what was asked for");
    }

    #[test]
    fn one_that_fails_later_does_too_but_not_because_of_somebody_who_speaks() {
        let good = reading(1, 0.9, 0.2, 25.0);
        let spoken = reading(20, 0.2, 0.2, 1.0);
        let failed = reading(30, 0.9, 0.9, 2.0);
        assert_eq!(course(Choice::Measured, &[good, spoken]).0, [Cancel, Cancel]);
        assert_eq!(course(Choice::Measured, &[good, failed]).0, [Cancel, HalfDuplex]);
    }

    #[test]
    fn no_echo_at_all_is_passed_through_until_there_is_one() {
        let none = reading(6, 0.1, 0.1, 0.0);
        let row = [reading(3, 0.1, 0.1, 0.0), none, reading(7, 0.9, 0.9, 0.0), reading(8, 0.9, 0.1, 20.0)];
        assert_eq!(course(Choice::Measured, &row), (vec![Guard, Through, Guard, Cancel], 2));
    }

    #[test]
    fn a_device_that_cancels_is_believed_and_watched() {
        let row = [reading(3, 0.1, 0.1, 0.0), reading(6, 0.8, 0.8, 0.0), reading(9, 0.8, 0.8, 0.0)];
        assert_eq!(course(Choice::Hardware, &row), (vec![Through; 3], 1));
    }

    #[test]
    fn another_device_begins_anew_and_is_not_told_of_twice() {
        let mut policy = Policy::new(Choice::Measured);
        assert!(policy.judge(&reading(1, 0.9, 0.2, 25.0)).is_some());
        policy.reset();
        assert_eq!(policy.stance(), Guard);
        assert!(policy.judge(&reading(1, 0.9, 0.2, 25.0)).is_none());
        assert_eq!(policy.stance(), Cancel);
    }
}
