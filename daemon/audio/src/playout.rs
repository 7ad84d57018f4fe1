// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the loudspeaker plays next, and how much of it has been heard.
//!
//! Pure: 24 kHz mono, moved by rendering. Two positions count frames from the start: what has been *rendered* (silence
//! included) and what has been *heard*; the worker moves the first by [`Playout::render`] and reports the second with
//! [`Playout::advance`].
//!
//! Order: by priority class, then by arrival. An utterance that plays is not interrupted, except that one of a higher
//! class may start once it has had no data for 100 ms, and that an earcon is played in the middle of it. Nothing passes an
//! unfinished utterance of its own or a higher class, so a clip never starts before every reply ahead of it is finished.
//!
//! Digital silence is no sound: an utterance begins with its first sample that is not zero, and what pads its end is left out.
//!
//! Replies play at the pace set with [`Playout::pace`], everything else at its own. Positions count frames rendered; what
//! is reported of an utterance, and what its bounds are, counts frames of it as it came.

use std::collections::VecDeque;

use units::{Frames, Hz, Pcm, UtteranceId};

use crate::api::Priority;
use crate::dsp::fade::{Joiner, Joint, RAMP_FRAMES, fade_out};
use crate::dsp::resample::convert;
use crate::dsp::stretch::{Run, Stretch};
use crate::spans::Spans;
use crate::utterance::{Stage, Utterance};

/// Utterances that have not been reported as finished. The session opens a handful.
const UTTERANCES_MAX: usize = 64;

/// Silence in an unfinished utterance before another may start: 100 ms, well above the jitter of a good link.
const STARVED: u64 = 2_400;

/// Ended utterances whose late audio is recognised and dropped.
const ENDED_MAX: usize = 256;

/// What became of an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Its first frame that is a sound was heard.
    Started(UtteranceId),
    /// Its last frame was heard, or would have been.
    Finished { utterance: UtteranceId, heard: Frames, cut: bool },
}

/// Whether somebody could hear what passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audible {
    /// A loudspeaker took it.
    Yes,
    /// There was no loudspeaker.
    No,
}

/// The queue of utterances and its two positions.
#[derive(Debug, Default)]
pub(crate) struct Playout {
    /// In order of arrival; those that have ended wait for their last frame to be heard.
    utterances: Vec<Utterance>,
    current: Option<UtteranceId>,
    /// Silence rendered since the current utterance ran dry.
    starved: u64,
    /// Holds the next frames of the current utterance while the pace is not its own.
    stretch: Stretch,
    /// The end of a flushed utterance, still to be rendered.
    fading: Option<Fading>,
    joiner: Joiner,
    /// What the last frame rendered belonged to.
    playing: Source,
    rendered: u64,
    heard: u64,
    spans: Spans,
    /// The newest last.
    ended: VecDeque<UtteranceId>,
    refused: u64,
    lost: u64,
    changes: VecDeque<Change>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Source {
    #[default]
    Silence,
    Utterance(UtteranceId),
    Fade(UtteranceId),
}

#[derive(Debug)]
struct Fading {
    id: UtteranceId,
    samples: [f32; RAMP_FRAMES as usize],
    at: usize,
    /// All of it.
    whole: Run,
    /// Frames of the utterance that the part already rendered played.
    played: usize,
}

impl Playout {
    /// Appends to an utterance, making it if it is new.
    pub(crate) fn append(&mut self, id: UtteranceId, priority: Priority, pcm: &Pcm) {
        let pcm = convert(pcm, Hz::K24);
        let frames = pcm.frames().0;
        let Some(utterance) = self.open(id, priority) else {
            self.refused += frames;
            return;
        };
        self.refused += utterance.append(pcm);
    }

    fn open(&mut self, id: UtteranceId, priority: Priority) -> Option<&mut Utterance> {
        if self.ended.contains(&id) {
            return None;
        }
        if let Some(known) = self.utterances.iter().position(|utterance| utterance.id == id) {
            return self.utterances.get_mut(known);
        }
        if self.utterances.len() == UTTERANCES_MAX {
            return None;
        }
        self.utterances.push(Utterance::new(id, priority));
        self.utterances.last_mut()
    }

    /// Nothing more will be appended to it. One that was never appended to is finished at once.
    pub(crate) fn finish(&mut self, id: UtteranceId) {
        match self.utterances.iter_mut().find(|utterance| utterance.id == id) {
            Some(utterance) if utterance.stage == Stage::Open => utterance.stage = Stage::Complete,
            Some(_) => {}
            None if self.ended.contains(&id) => {}
            // Nothing of it was ever queued, so nothing of it was heard: whoever waits for it must not take it for played.
            None => self.retire(Change::Finished { utterance: id, heard: Frames(0), cut: true }),
        }
    }

    /// Plays replies at this pace, in percent of their own, 50 ..= 150, from the next hop of them on; beyond is limited.
    /// Returns what holds.
    pub(crate) fn pace(&mut self, percent: u16) -> u16 {
        self.stretch.pace(percent)
    }

    /// Drops everything that is not yet rendered; what was playing fades out over 10 ms.
    pub(crate) fn flush(&mut self) {
        if let Some(id) = self.current.take() {
            self.fade(id);
            self.stretch.clear();
        }
        // Audio already fading goes first, so everything has ended by its end.
        let at =
            self.rendered + self.fading.as_ref().map_or(0, |fading| (fading.whole.len - fading.at) as u64);
        for utterance in &mut self.utterances {
            match utterance.stage {
                Stage::Open | Stage::Complete => utterance.drop_rest(at),
                Stage::Ended { .. } => {}
            }
        }
    }

    fn fade(&mut self, id: UtteranceId) {
        let Some(index) = self.utterances.iter().position(|utterance| utterance.id == id) else {
            return;
        };
        let mut samples = [0.0; RAMP_FRAMES as usize];
        let mut whole = Run::default();
        while let Some((_, run)) = self.supply(index, samples.get_mut(whole.len..).unwrap_or(&mut [])) {
            if run.len == 0 {
                break;
            }
            whole = Run { len: whole.len + run.len, source: whole.source + run.source };
        }
        fade_out(samples.get_mut(..whole.len).unwrap_or(&mut []));
        if whole.len > 0 {
            self.fading = Some(Fading { id, samples, at: 0, whole, played: 0 });
        }
    }

    /// Renders the next frames, all of `out`, nominal ±1.0 before gain. No step inside or between calls is larger than
    /// the utterances' own and a hundredth of full scale.
    pub(crate) fn render(&mut self, out: &mut [f32]) {
        let mut rest = out;
        while !rest.is_empty() {
            let (source, run) = self.next_run(rest);
            let (samples, tail) = rest.split_at_mut(run.len);
            let joint = if self.continues(source) { Joint::Same } else { Joint::New };
            self.joiner.pass(samples, joint);
            self.playing = source;
            self.note(source, run);
            rest = tail;
        }
    }

    /// Fills the start of `out`, never nothing of it, from one source.
    fn next_run(&mut self, out: &mut [f32]) -> (Source, Run) {
        if let Some(fading) = &mut self.fading {
            let run = fading.give(out);
            let id = fading.id;
            if fading.at == fading.whole.len {
                self.fading = None;
            }
            return (Source::Fade(id), run);
        }
        if let Some((id, run)) = self.pick().and_then(|index| self.supply(index, out)) {
            self.starved = 0;
            return (Source::Utterance(id), run);
        }
        out.fill(0.0);
        self.starved = self.starved.saturating_add(out.len() as u64);
        (Source::Silence, Run { len: out.len(), source: 0 })
    }

    /// The next frames of an utterance, as many as there are and fit at a time; none when none of it is queued.
    fn supply(&mut self, index: usize, out: &mut [f32]) -> Option<(UtteranceId, Run)> {
        let utterance = self.utterances.get_mut(index)?;
        let run = match utterance.priority {
            Priority::Reply if !self.stretch.is_off() => {
                self.stretch.fill(|room| utterance.take(room));
                self.stretch.render(out)
            }
            Priority::Earcon
            | Priority::Alert
            | Priority::ReadBack
            | Priority::PreCall
            | Priority::Reply
            | Priority::Clip => Run::plain(utterance.take(out)),
        };
        utterance.queued -= run.source as u64;
        Some((utterance.id, run))
    }

    /// A fade continues the utterance it fades; everything else continues only itself.
    fn continues(&self, source: Source) -> bool {
        match (self.playing, source) {
            (Source::Utterance(before), Source::Fade(after)) => before == after,
            (before, after) => before == after,
        }
    }

    /// Index of the utterance whose audio is next; ends those that have none left to come.
    fn pick(&mut self) -> Option<usize> {
        loop {
            let index = self.candidate()?;
            let utterance = self.utterances.get_mut(index)?;
            let id = utterance.id;
            if utterance.leave_padding() && self.current == Some(id) {
                self.stretch.clear();
            }
            if utterance.queued == 0 {
                utterance.stage = Stage::Ended { at: self.rendered, dropped: false };
                self.current = self.current.filter(|current| *current != id);
                continue;
            }
            // What an earcon interrupts is still the one that plays.
            if utterance.priority != Priority::Earcon {
                self.current = Some(id);
            }
            return Some(index);
        }
    }

    /// Index of what may play: it has audio, or is complete and has none left.
    fn candidate(&self) -> Option<usize> {
        let earcon = |utterance: &Utterance| {
            utterance.priority == Priority::Earcon && !utterance.is_ended() && utterance.is_ready()
        };
        if let Some(index) = self.utterances.iter().position(earcon) {
            return Some(index);
        }
        let current =
            self.current.and_then(|id| self.utterances.iter().position(|utterance| utterance.id == id));
        if let Some(index) = current {
            let utterance = self.utterances.get(index)?;
            if utterance.is_ready() {
                return Some(index);
            }
            if self.starved < STARVED {
                return None;
            }
        }
        let first = self
            .utterances
            .iter()
            .enumerate()
            .filter(|(_, utterance)| !utterance.is_ended())
            .min_by_key(|(index, utterance)| (utterance.priority, *index));
        first.filter(|(_, utterance)| utterance.is_ready()).map(|(index, _)| index)
    }

    fn note(&mut self, source: Source, run: Run) {
        match source {
            Source::Silence => {}
            Source::Utterance(id) | Source::Fade(id) => self.spans.push(id, self.rendered, run),
        }
        self.rendered += run.len as u64;
    }

    /// Frames rendered since the start.
    pub(crate) const fn rendered(&self) -> u64 {
        self.rendered
    }

    /// True while an utterance's frame has been rendered and not yet heard.
    pub(crate) fn is_audible(&self) -> bool {
        !self.spans.is_empty()
    }

    /// True while there is audio to render, or some that has been rendered and not yet heard.
    pub(crate) fn is_playing(&self) -> bool {
        self.is_audible()
            || self.fading.is_some()
            || self.utterances.iter().any(|utterance| utterance.queued > 0)
    }

    /// Everything before position `to` has left the loudspeaker, or passed where one should be. Positions never go
    /// back and never pass what was rendered.
    pub(crate) fn advance(&mut self, to: u64, audible: Audible) {
        let to = to.min(self.rendered);
        if to < self.heard {
            return;
        }
        self.heard = to;
        while let Some((id, passed)) = self.spans.pass(to) {
            self.count(id, passed, audible);
        }
        self.report_ended();
    }

    fn count(&mut self, id: UtteranceId, passed: u64, audible: Audible) {
        let Some(utterance) = self.utterances.iter_mut().find(|utterance| utterance.id == id) else {
            return;
        };
        match audible {
            Audible::Yes => {
                if utterance.hear(passed) {
                    self.changes.push_back(Change::Started(id));
                }
            }
            Audible::No => self.lost += passed,
        }
    }

    fn report_ended(&mut self) {
        let heard = self.heard;
        let over = |utterance: &Utterance| match utterance.stage {
            Stage::Ended { at, .. } => at <= heard,
            Stage::Open | Stage::Complete => false,
        };
        while let Some(index) = self.utterances.iter().position(over) {
            let utterance = self.utterances.remove(index);
            self.retire(Change::Finished {
                utterance: utterance.id,
                heard: Frames(utterance.heard),
                cut: utterance.is_cut(),
            });
        }
    }

    fn retire(&mut self, change: Change) {
        let (Change::Finished { utterance, .. } | Change::Started(utterance)) = change;
        if self.ended.len() == ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(utterance);
        self.changes.push_back(change);
    }

    /// What has happened since it was last asked, in order.
    pub(crate) fn poll(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// Frames refused since the start.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Frames that passed unheard since the start.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }
}

impl Fading {
    fn give(&mut self, out: &mut [f32]) -> Run {
        let from = self.samples.get(self.at..self.whole.len).unwrap_or(&[]);
        out.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        let len = from.len().min(out.len());
        self.at += len;
        let played = self.whole.source * self.at / self.whole.len;
        let source = played - std::mem::replace(&mut self.played, played);
        Run { len, source }
    }
}

#[cfg(test)]
#[path = "playout_tests.rs"]
mod tests;
