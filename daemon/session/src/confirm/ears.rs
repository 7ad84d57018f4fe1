// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the device itself was heard to say, and when: speech that falls on it, or repeats it, is its echo.

use std::collections::VecDeque;
use std::time::Duration;

use units::{Instant, UtteranceId};

use crate::readback;

/// Utterances remembered. What was played longer ago than a question waits is of no interest.
const PLAYED_MAX: usize = 32;

/// What left the loudspeaker of late.
#[derive(Default)]
pub(crate) struct Ears {
    played: VecDeque<Played>,
}

struct Played {
    utterance: UtteranceId,
    from: Instant,
    /// `None` while it is heard.
    to: Option<Instant>,
    /// Its words, as far as they are known.
    text: String,
}

impl Ears {
    /// The first frame of `utterance` was heard.
    pub(crate) fn on_started(&mut self, now: Instant, utterance: UtteranceId) {
        self.played.push_back(Played { utterance, from: now, to: None, text: String::new() });
        if self.played.len() > PLAYED_MAX {
            self.played.pop_front();
        }
    }

    /// The last frame of it was heard, and these were its words.
    pub(crate) fn on_ended(&mut self, now: Instant, utterance: UtteranceId, text: Option<String>) {
        if let Some(played) = self.played.iter_mut().rfind(|played| played.utterance == utterance) {
            played.to = Some(now);
            played.text = text.unwrap_or_default();
        }
    }

    /// When the first frame of `utterance` was heard, if it was of late.
    pub(crate) fn started(&self, utterance: UtteranceId) -> Option<Instant> {
        self.played.iter().rfind(|played| played.utterance == utterance).map(|played| played.from)
    }

    /// How much of `from..to` fell on what was heard, each utterance sounding on for `tail`.
    pub(crate) fn overlap(&self, from: Instant, to: Instant, tail: Duration) -> Duration {
        let mut spans: Vec<(Instant, Instant)> = self
            .played
            .iter()
            .map(|played| (played.from.max(from), played.to.map_or(to, |at| at + tail).min(to)))
            .filter(|(from, to)| from < to)
            .collect();
        spans.sort();
        let (mut sum, mut counted_to) = (Duration::ZERO, from);
        for (start, end) in spans {
            let start = start.max(counted_to);
            if end > start {
                sum += end - start;
                counted_to = end;
            }
        }
        sum
    }

    /// Whether `text` is a run of the words that were heard since `since`.
    pub(crate) fn said_since(&self, since: Instant, text: &str) -> bool {
        let recent = self.played.iter().filter(|played| played.to.is_none_or(|to| to >= since));
        recent.into_iter().any(|played| readback::is_run_of(text, &played.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_boot(Duration::from_millis(at))
    }

    #[test]
    fn overlap_counts_each_moment_once_with_the_tail() {
        let mut ears = Ears::default();
        for (id, from, to) in [(1, 0, 1000), (2, 900, 1100), (3, 5000, 6000)] {
            ears.on_started(ms(from), UtteranceId(id));
            ears.on_ended(ms(to), UtteranceId(id), None);
        }
        let tail = Duration::from_millis(200);
        let overlap = |from, to| ears.overlap(ms(from), ms(to), tail).as_millis();
        assert_eq!(overlap(500, 2000), 800);
        assert_eq!(overlap(1300, 2000), 0);
        assert_eq!(overlap(1200, 1400), 100);
        assert_eq!(overlap(0, 10_000), 1300 + 1200);
        ears.on_started(ms(9000), UtteranceId(4));
        assert_eq!(ears.overlap(ms(9500), ms(9900), tail).as_millis(), 400, "it is still heard");
    }

    #[test]
    fn words_are_an_echo_for_a_while_only() {
        let mut ears = Ears::default();
        ears.on_started(ms(0), UtteranceId(1));
        ears.on_ended(ms(1000), UtteranceId(1), Some("Send it. Is that right?".to_owned()));
        assert!(ears.said_since(ms(900), "is that right"));
        assert!(!ears.said_since(ms(1100), "is that right"));
        assert!(!ears.said_since(ms(900), "yes"));
    }
}
