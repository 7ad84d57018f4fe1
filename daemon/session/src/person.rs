// SPDX-License-Identifier: MIT OR Apache-2.0

//! The near end: when the person spoke, and what of the provider's transcript is theirs.
//!
//! A turn is minted here, from the local VAD, and nowhere else. A transcript is credited to a stretch of speech that
//! the local VAD heard, or to nobody.

use std::collections::VecDeque;
use std::time::Duration;

use units::{Instant, TurnId};

use crate::config::GateConfig;
use crate::context::{Context, append_bounded};
use crate::timers::Timer;

/// Stretches of speech remembered: the one that goes on, and those whose transcript may still come.
const SEGMENTS_MAX: usize = 4;

/// A transcript is this late at most: what comes within it may belong to speech that has none.
const LATE_WORDS: Duration = Duration::from_secs(10);

/// What is known of the person's speech.
pub(crate) struct Person {
    turn: TurnId,
    segments: VecDeque<Segment>,
}

/// One stretch of speech, with the words credited to it.
struct Segment {
    turn: TurnId,
    onset: Instant,
    ended: Option<Ended>,
    text: String,
    last_fragment: Instant,
    /// Its words were taken as final. Each stretch is taken once.
    taken: bool,
    may_be_earlier: bool,
}

#[derive(Clone, Copy)]
struct Ended {
    at: Instant,
    voiced: Duration,
}

/// What a person said in one stretch of speech, when no more of it comes.
#[derive(Clone)]
pub(crate) struct Said {
    pub(crate) turn: TurnId,
    pub(crate) onset: Instant,
    pub(crate) ended: Instant,
    pub(crate) voiced: Duration,
    pub(crate) text: String,
    /// The words may be those of an earlier stretch, whose own never came.
    pub(crate) may_be_earlier: bool,
}

/// Which turns can answer a question.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    /// The turn it was asked for in: only a later one can.
    pub(crate) asked_in: TurnId,
    /// When it had been heard to its end: only speech that began after that can.
    pub(crate) heard_at: Instant,
    /// The last turn that was over when something else was heard, if something was: no later one can.
    pub(crate) last: Option<TurnId>,
}

/// What is still to come of speech that may be the answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Nothing,
    /// The speech goes on.
    Speech,
    /// Its words, before this.
    Words {
        until: Instant,
    },
}

/// Whose words a fragment of transcript is.
pub(crate) enum Credit {
    /// A stretch of speech that is still being transcribed.
    Turn,
    /// A stretch whose words had been taken as final: all of them.
    Late(Said),
    /// Nobody was heard to speak. It counts for nothing.
    Nobody,
}

impl Person {
    pub(crate) fn new() -> Self {
        Self { turn: TurnId(0), segments: VecDeque::new() }
    }

    /// The last turn; 0 before the first.
    pub(crate) fn turn(&self) -> TurnId {
        self.turn
    }

    /// The last turn that is over; 0 before the first.
    pub(crate) fn last_ended(&self) -> TurnId {
        let ended = self.segments.iter().rfind(|segment| segment.ended.is_some());
        ended.map_or(TurnId(0), |segment| segment.turn)
    }

    pub(crate) fn is_speaking(&self) -> bool {
        self.segments.back().is_some_and(|segment| segment.ended.is_none())
    }

    /// For how long the person has been speaking, if they are.
    pub(crate) fn speaks_for(&self, now: Instant) -> Option<Duration> {
        let segment = self.segments.back().filter(|segment| segment.ended.is_none())?;
        Some(now - segment.onset)
    }

    /// Speech began `onset_ago`. `None` if it had begun already.
    pub(crate) fn begin(&mut self, cx: &mut Context, onset_ago: Duration) -> Option<TurnId> {
        if self.is_speaking() {
            return None;
        }
        self.turn = self.turn.next();
        self.segments.push_back(Segment {
            turn: self.turn,
            onset: cx.now.saturating_sub(onset_ago),
            ended: None,
            text: String::new(),
            last_fragment: Instant::ZERO,
            taken: false,
            may_be_earlier: false,
        });
        if self.segments.len() > SEGMENTS_MAX {
            self.segments.pop_front();
        }
        Some(self.turn)
    }

    /// The speech ended. `None` if there was none.
    pub(crate) fn end(&mut self, cx: &mut Context, voiced: Duration) -> Option<TurnId> {
        let segment = self.segments.back_mut().filter(|segment| segment.ended.is_none())?;
        segment.ended = Some(Ended { at: cx.now, voiced });
        let turn = segment.turn;
        self.watch(cx);
        Some(turn)
    }

    /// A fragment of transcript has come: the provider does not say of what, so it goes by time.
    ///
    /// It belongs to the oldest stretch of speech that still waits for words or is getting them, else to the latest;
    /// and to nobody once every stretch is too long ago.
    pub(crate) fn credit(&mut self, cx: &mut Context, fragment: &str) -> Credit {
        let now = cx.now;
        let gate = &cx.config.gate;
        let recent = |segment: &Segment| segment.in_time(now, gate.evidence_grace);
        let waits = |segment: &Segment| {
            recent(segment) && (segment.text.is_empty() || now - segment.last_fragment < gate.finality)
        };
        // A cough waits for no words where there is speech to have them.
        let speaks = |segment: &Segment| waits(segment) && segment.is_speech(gate.min_voiced);
        let Some(place) = self
            .segments
            .iter()
            .position(speaks)
            .or_else(|| self.segments.iter().position(waits))
            .or_else(|| self.segments.iter().rposition(recent))
        else {
            return Credit::Nobody;
        };
        let wordless = |segment: &Segment| segment.is_speech(gate.min_voiced) && segment.lacks_words(now);
        let may_be_earlier = self.segments.iter().take(place).any(wordless);
        let segment = &mut self.segments[place];
        segment.may_be_earlier |= may_be_earlier && segment.text.is_empty();
        append_bounded(&mut segment.text, fragment);
        segment.last_fragment = now;
        if segment.taken {
            return Credit::Late(segment.said());
        }
        self.watch(cx);
        Credit::Turn
    }

    /// The next stretch of speech whose words are final.
    pub(crate) fn take_final(&mut self, cx: &mut Context) -> Option<Said> {
        let finality = cx.config.gate.finality;
        let segment = self
            .segments
            .iter_mut()
            .find(|segment| segment.final_at(finality).is_some_and(|final_at| final_at <= cx.now))?;
        segment.taken = true;
        let said = segment.said();
        self.watch(cx);
        Some(said)
    }

    /// Whether speech of this window may still turn out to be an answer.
    pub(crate) fn awaited(&self, now: Instant, gate: &GateConfig, window: Window) -> Awaited {
        let mut until = None;
        for segment in self.segments.iter().filter(|segment| window.holds(segment.turn, segment.onset)) {
            let Some(ended) = segment.ended else {
                return Awaited::Speech;
            };
            if !segment.taken {
                let words = ended.at + gate.evidence_grace;
                until = until.max(Some(segment.final_at(gate.finality).map_or(words, |at| at.max(words))));
            }
        }
        until.filter(|until| now < *until).map_or(Awaited::Nothing, |until| Awaited::Words { until })
    }

    fn watch(&self, cx: &mut Context) {
        let finality = cx.config.gate.finality;
        match self.segments.iter().filter_map(|segment| segment.final_at(finality)).min() {
            Some(at) => cx.timers.set(Timer::Transcript, at),
            None => cx.timers.clear(Timer::Transcript),
        }
    }
}

impl Window {
    /// Every turn later than `turn`.
    pub(crate) fn after(turn: TurnId) -> Self {
        Self { asked_in: turn, heard_at: Instant::ZERO, last: None }
    }

    pub(crate) fn holds(&self, turn: TurnId, onset: Instant) -> bool {
        turn > self.asked_in && onset > self.heard_at && self.last.is_none_or(|last| turn <= last)
    }
}

impl Segment {
    fn said(&self) -> Said {
        let Ended { at: ended, voiced } =
            self.ended.unwrap_or(Ended { at: self.last_fragment, voiced: Duration::ZERO });
        let text = self.text.trim().to_owned();
        Said { turn: self.turn, onset: self.onset, ended, voiced, text, may_be_earlier: self.may_be_earlier }
    }

    /// It goes on, or was long enough to be a word.
    fn is_speech(&self, min_voiced: Duration) -> bool {
        self.ended.is_none_or(|ended| ended.voiced >= min_voiced)
    }

    /// It ended of late and its words never came.
    fn lacks_words(&self, now: Instant) -> bool {
        self.text.is_empty() && self.ended.is_some_and(|ended| now - ended.at < LATE_WORDS)
    }

    /// Words that come at `now` may be its words.
    fn in_time(&self, now: Instant, grace: Duration) -> bool {
        self.ended.is_none_or(|ended| now <= ended.at + grace)
    }

    /// When its words, if it has any and they are not taken, will count as final.
    fn final_at(&self, finality: Duration) -> Option<Instant> {
        let ended = self.ended.filter(|_| !self.taken && !self.text.trim().is_empty())?;
        Some(ended.at.max(self.last_fragment + finality))
    }
}
