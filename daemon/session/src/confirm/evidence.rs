// SPDX-License-Identifier: MIT OR Apache-2.0

//! When what a person said counts as an answer to a question. Every condition stands alone: whichever fails, nothing has
//! been said.
//!
//! Two of the conditions hold elsewhere. That a transcript belongs to a stretch of speech that was heard here, arrives in
//! time and is used once is [`crate::person`]'s; that one question at a time can be answered by voice is the gate's.

use std::time::Duration;

use units::{Instant, TurnId};

use super::ears::Ears;
use crate::config::GateConfig;
use crate::person::Said;

/// Why what was said is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// It was said in the turn in which the question came up.
    SameTurn,
    /// It is too short to be a word.
    TooShort,
    /// Too much of it falls on what the device played.
    Overlaps,
    /// It repeats what the device has just said.
    Echo,
    /// It began before the question was heard to its end.
    BeforeHeard,
    /// Something else has been heard since the question.
    Overtaken,
    /// The question had lapsed.
    Late,
    /// The microphone does not hear the room.
    NotThisRoom,
}

impl Reject {
    /// A word for the record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameTurn => "same turn",
            Self::TooShort => "too short",
            Self::Overlaps => "overlaps playout",
            Self::Echo => "echo",
            Self::BeforeHeard => "before heard",
            Self::Overtaken => "overtaken",
            Self::Late => "late",
            Self::NotThisRoom => "not this room",
        }
    }
}

/// What was asked, and when it was heard.
pub(super) struct Asked {
    /// The person's turn in which the model proposed it.
    pub(super) asked_in: TurnId,
    pub(super) heard_at: Instant,
    /// The last turn that was over when something else was heard, if something was.
    pub(super) overtaken: Option<TurnId>,
}

/// How much of `said` falls on what the device played.
pub(super) fn overlap(gate: &GateConfig, ears: &Ears, said: &Said) -> Duration {
    ears.overlap(said.onset, said.ended, gate.tail)
}

/// The same for a no to a question that was not heard to its end: that it came too soon, and over the question, is what it is
/// about.
pub(super) fn reject_early(gate: &GateConfig, ears: &Ears, asked_in: TurnId, said: &Said) -> Option<Reject> {
    [
        (said.turn <= asked_in, Reject::SameTurn),
        (said.voiced < gate.min_voiced, Reject::TooShort),
        (ears.said_since(said.onset.saturating_sub(gate.echo_window), &said.text), Reject::Echo),
        (!gate.own_microphone, Reject::NotThisRoom),
    ]
    .into_iter()
    .find_map(|(fails, why)| fails.then_some(why))
}

/// The first condition that `said` does not meet.
pub(super) fn reject(
    gate: &GateConfig,
    now: Instant,
    ears: &Ears,
    asked: &Asked,
    said: &Said,
) -> Option<Reject> {
    let length = said.ended - said.onset;
    let overlaps = overlap(gate, ears, said) * 100 > length * gate.overlap_percent;
    let echo = ears.said_since(said.onset.saturating_sub(gate.echo_window), &said.text);
    [
        (said.turn <= asked.asked_in, Reject::SameTurn),
        (said.onset <= asked.heard_at, Reject::BeforeHeard),
        (asked.overtaken.is_some_and(|last| said.turn > last), Reject::Overtaken),
        (said.voiced < gate.min_voiced, Reject::TooShort),
        (overlaps, Reject::Overlaps),
        (echo, Reject::Echo),
        (now > asked.heard_at + gate.deadline, Reject::Late),
        (!gate.own_microphone, Reject::NotThisRoom),
    ]
    .into_iter()
    .find_map(|(fails, why)| fails.then_some(why))
}

#[cfg(test)]
mod tests {
    use units::UtteranceId;

    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_boot(Duration::from_millis(at))
    }

    /// A question that came up in turn 3 and was heard from 1000 to 5000.
    fn asked() -> Asked {
        Asked { asked_in: TurnId(3), heard_at: ms(5000), overtaken: None }
    }

    fn ears() -> Ears {
        let mut ears = Ears::default();
        ears.on_started(ms(1000), UtteranceId(1));
        ears.on_ended(ms(5000), UtteranceId(1), Some("Open the gate. Is that right?".to_owned()));
        ears
    }

    /// A yes that counts.
    fn said() -> Said {
        let voiced = Duration::from_millis(600);
        Said {
            turn: TurnId(4),
            onset: ms(6000),
            ended: ms(6800),
            voiced,
            text: "yes".to_owned(),
            may_be_earlier: false,
        }
    }

    fn why(asked: &Asked, said: &Said) -> Option<Reject> {
        reject(&GateConfig::default(), ms(7200), &ears(), asked, said)
    }

    #[test]
    fn what_meets_all_of_them_counts() {
        assert_eq!(why(&asked(), &said()), None);
    }

    #[test]
    fn e1_a_turn_of_its_own() {
        assert_eq!(why(&asked(), &Said { turn: TurnId(3), ..said() }), Some(Reject::SameTurn));
    }

    #[test]
    fn e2_longer_than_a_click() {
        let voiced = |millis| Said { voiced: Duration::from_millis(millis), ..said() };
        assert_eq!(why(&asked(), &voiced(149)), Some(Reject::TooShort));
        assert_eq!(why(&asked(), &voiced(150)), None);
    }

    #[test]
    fn e3_not_on_what_the_device_plays() {
        // The question sounds until 5200: of 400 ms, 120 may fall on it.
        let from = |onset| Said { onset: ms(onset), ended: ms(onset + 400), ..said() };
        assert_eq!(why(&asked(), &from(5079)), Some(Reject::Overlaps));
        assert_eq!(why(&asked(), &from(5080)), None);
    }

    #[test]
    fn e3_not_what_the_device_has_said() {
        let text = |text: &str| Said { text: text.to_owned(), ..said() };
        assert_eq!(why(&asked(), &text("is that right")), Some(Reject::Echo));
        assert_eq!(why(&asked(), &text("that's right")), None);
    }

    #[test]
    fn e4_begun_after_the_question() {
        let onset = |onset| Said { onset: ms(onset), ended: ms(9000), ..said() };
        assert_eq!(why(&asked(), &onset(5000)), Some(Reject::BeforeHeard));
        assert_eq!(why(&asked(), &onset(5001)), None);
    }

    #[test]
    fn e4_about_the_last_thing_heard() {
        let asked = Asked { overtaken: Some(TurnId(3)), ..asked() };
        assert_eq!(why(&asked, &said()), Some(Reject::Overtaken));
        assert_eq!(why(&Asked { overtaken: Some(TurnId(4)), ..asked }, &said()), None);
    }

    #[test]
    fn e8_in_time() {
        let at = |now| reject(&GateConfig::default(), now, &ears(), &asked(), &said());
        assert_eq!(at(ms(50_000)), None);
        assert_eq!(at(ms(50_001)), Some(Reject::Late));
    }

    #[test]
    fn e10_in_this_room() {
        let gate = GateConfig { own_microphone: false, ..GateConfig::default() };
        assert_eq!(reject(&gate, ms(7200), &ears(), &asked(), &said()), Some(Reject::NotThisRoom));
    }
}
