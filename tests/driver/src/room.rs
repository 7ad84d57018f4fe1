// SPDX-License-Identifier: MIT OR Apache-2.0

//! The loudspeaker: what is played after what, and how much of it was heard. It makes no sound and takes its time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use session::{Input, LineKind, Spoken};
use units::{Hz, Instant, UtteranceId};

/// Speech at about 16 characters a second, which is unhurried.
const PER_CHARACTER: Duration = Duration::from_millis(60);

/// The shortest thing that is said.
const SHORTEST: Duration = Duration::from_millis(300);

/// How long a clip lasts of which nothing else was said.
const CLIP: Duration = Duration::from_millis(500);

/// How long `text` takes to say.
pub(crate) fn spoken_for(text: &str) -> Duration {
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    PER_CHARACTER.saturating_mul(characters).max(SHORTEST)
}

/// Something that left the loudspeaker, or was to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The words, or the name of the clip.
    pub text: String,
    /// What it is.
    pub what: Spoken,
    /// When it was over, counted from the start.
    pub at: Duration,
    /// How much of it was heard.
    pub span: Duration,
    /// Not all of it was heard.
    pub cut: bool,
}

struct Utterance {
    id: UtteranceId,
    what: Spoken,
    text: String,
    span: Duration,
    /// Nothing more is appended to it.
    whole: bool,
    started: Option<Instant>,
}

/// What is queued, in the order in which it will be heard.
#[derive(Default)]
pub(crate) struct Room {
    queue: Vec<Utterance>,
    reports: VecDeque<Input>,
    heard: Vec<Heard>,
    clips: BTreeMap<String, Duration>,
}

impl Room {
    /// Appends to a reply. `text` is what it says.
    pub(crate) fn reply(&mut self, id: UtteranceId, span: Duration, text: &str) {
        if let Some(open) = self.queue.iter_mut().find(|utterance| utterance.id == id) {
            open.span += span;
        } else {
            self.admit(id, Spoken::Reply, text, span, false);
        }
    }

    /// Nothing more is appended to a reply.
    pub(crate) fn end(&mut self, id: UtteranceId) {
        if let Some(open) = self.queue.iter_mut().find(|utterance| utterance.id == id) {
            open.whole = true;
        }
    }

    /// Queues something of the device's own.
    pub(crate) fn own(&mut self, id: UtteranceId, what: Spoken, text: &str) {
        let span = match what {
            Spoken::Clip => self.clips.get(text).copied().unwrap_or(CLIP),
            Spoken::Line(_) | Spoken::Reply => spoken_for(text),
        };
        self.admit(id, what, text, span, true);
    }

    /// Drops everything.
    pub(crate) fn flush(&mut self, now: Instant) {
        for dropped in std::mem::take(&mut self.queue) {
            let heard = dropped.started.map_or(Duration::ZERO, |started| (now - started).min(dropped.span));
            self.over(now, dropped, heard, true);
        }
    }

    /// Drops everything, and nobody is there to be told.
    pub(crate) fn fall_silent(&mut self, now: Instant) {
        self.flush(now);
        self.reports.clear();
    }

    /// How long a clip lasts.
    pub(crate) fn clip_lasts(&mut self, clip: &str, span: Duration) {
        self.clips.insert(clip.to_owned(), span);
    }

    /// Something is heard or waits to be.
    pub(crate) fn is_busy(&self) -> bool {
        !self.queue.is_empty() || !self.reports.is_empty()
    }

    /// Something is heard.
    pub(crate) fn is_audible(&self) -> bool {
        self.queue.first().is_some_and(|first| first.started.is_some())
    }

    /// All that was heard or dropped.
    pub(crate) fn heard(&self) -> &[Heard] {
        &self.heard
    }

    /// When there is something to report.
    pub(crate) fn due(&self) -> Option<Instant> {
        if !self.reports.is_empty() {
            return Some(Instant::ZERO);
        }
        let first = self.queue.first()?;
        match first.started {
            None => Some(Instant::ZERO),
            Some(started) => first.whole.then(|| started + first.span),
        }
    }

    /// What is to be reported by `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Input> {
        if let Some(report) = self.reports.pop_front() {
            return Some(report);
        }
        let first = self.queue.first_mut()?;
        match first.started {
            None => {
                first.started = Some(now);
                Some(Input::PlayoutStarted { utterance: first.id })
            }
            Some(started) if first.whole && started + first.span <= now => {
                let first = self.queue.remove(0);
                let span = first.span;
                self.over(now, first, span, false);
                self.reports.pop_front()
            }
            Some(_) => None,
        }
    }

    /// By class, then by arrival; what plays is not passed.
    fn admit(&mut self, id: UtteranceId, what: Spoken, text: &str, span: Duration, whole: bool) {
        let class = class(what);
        let behind = |other: &Utterance| other.started.is_none() && self::class(other.what) > class;
        let place = self.queue.iter().position(behind).unwrap_or(self.queue.len());
        let utterance = Utterance { id, what, text: text.to_owned(), span, whole, started: None };
        self.queue.insert(place, utterance);
    }

    fn over(&mut self, now: Instant, utterance: Utterance, span: Duration, cut: bool) {
        let Utterance { id, what, text, .. } = utterance;
        let heard = Hz::K24.frames_in(span);
        self.reports.push_back(Input::PlayoutFinished { utterance: id, heard, cut });
        self.heard.push(Heard { text, what, at: now.since_boot(), span, cut });
    }
}

/// Where something stands in the queue: as in the daemon's own playout.
const fn class(what: Spoken) -> u8 {
    match what {
        Spoken::Line(LineKind::Apology) => 0,
        Spoken::Line(LineKind::ReadBack) => 1,
        Spoken::Line(LineKind::PreCall | LineKind::Goodbye) => 2,
        Spoken::Reply => 3,
        Spoken::Clip => 4,
    }
}
