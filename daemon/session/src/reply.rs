// SPDX-License-Identifier: MIT OR Apache-2.0

//! The provider's half: which reply its audio belongs to, and which of its audio is stale.

use std::collections::VecDeque;

use units::{Pcm, UtteranceId};

use crate::Output;
use crate::context::{Context, append_bounded};
use crate::notice::Notice;
use crate::playout::Playout;
use crate::timers::Timer;

/// Replies whose words are kept until they were heard. More are heard one after the other than are ever queued.
const WORDS_MAX: usize = 16;

/// The provider's turn, as far as it told.
pub(crate) struct Reply {
    state: State,
    said: String,
    /// The words of replies that were generated in full, until they were heard.
    words: VecDeque<(UtteranceId, String)>,
    /// Audio of this turn was handed to playout.
    spoke: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its turn is closed.
    Closed,
    /// Its audio is appended to one utterance.
    Open { utterance: UtteranceId },
    /// All of a reply was generated; more audio is another reply of the same turn.
    Generated,
    /// We dropped the reply. What still comes is stale until the provider closes it or too much time has passed.
    Cut {
        /// All of it had been generated.
        generated: bool,
    },
    /// The provider cut the reply itself; its turn is still to be closed. What comes is fresh.
    Interrupted,
}

impl Reply {
    pub(crate) fn new() -> Self {
        Self { state: State::Closed, said: String::new(), words: VecDeque::new(), spoke: false }
    }

    /// The reply that audio is being appended to.
    pub(crate) fn open(&self) -> Option<UtteranceId> {
        match self.state {
            State::Open { utterance } => Some(utterance),
            State::Closed | State::Generated | State::Cut { .. } | State::Interrupted => None,
        }
    }

    /// The provider generates nothing at this moment, as far as it told.
    pub(crate) fn is_quiet(&self) -> bool {
        match self.state {
            State::Closed | State::Generated => true,
            State::Open { .. } | State::Cut { .. } | State::Interrupted => false,
        }
    }

    /// The person spoke over this reply while it was being generated, and the provider has not closed its turn.
    pub(crate) fn is_cut(&self) -> bool {
        self.state == State::Cut { generated: false }
    }

    /// What was said in this reply so far.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// The provider has closed its turn: nothing more of it comes.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The provider's turn had audio so far.
    pub(crate) fn spoke(&self) -> bool {
        self.spoke
    }

    /// The next piece of speech. Its utterance, or `None` if it is stale.
    pub(crate) fn audio(&mut self, cx: &mut Context, playout: &mut Playout, pcm: Pcm) -> Option<UtteranceId> {
        let utterance = match self.state {
            State::Cut { .. } => return None,
            State::Open { utterance } => utterance,
            State::Closed | State::Generated | State::Interrupted => {
                cx.timers.clear(Timer::CutReply);
                playout.begin_reply(cx)
            }
        };
        self.state = State::Open { utterance };
        self.spoke = true;
        playout.append(cx, utterance, pcm);
        Some(utterance)
    }

    pub(crate) fn text(&mut self, fragment: &str) {
        if matches!(self.state, State::Cut { .. }) {
            return;
        }
        append_bounded(&mut self.said, fragment);
        // A transcript may lag behind the speech it is of.
        if self.state == State::Generated
            && let Some((_, words)) = self.words.back_mut()
        {
            append_bounded(words, fragment);
        }
    }

    /// The words of a reply that was heard, as far as they are known. Once.
    pub(crate) fn take_words(&mut self, utterance: UtteranceId) -> Option<String> {
        let place = self.words.iter().position(|(of, _)| *of == utterance)?;
        self.words.remove(place).map(|(_, words)| words)
    }

    /// Everything of this reply was generated. The reply that ended.
    pub(crate) fn generated(&mut self, cx: &mut Context) -> Option<UtteranceId> {
        match self.state {
            State::Open { utterance } => {
                self.state = State::Generated;
                cx.emit(Output::PlayEnd { utterance });
                self.words.push_back((utterance, self.said.clone()));
                if self.words.len() > WORDS_MAX {
                    self.words.pop_front();
                }
                self.tell(cx, false);
                Some(utterance)
            }
            State::Closed | State::Generated | State::Cut { .. } | State::Interrupted => None,
        }
    }

    /// The provider's turn is closed, or goes on after a pause. The reply that ended.
    pub(crate) fn turn_complete(&mut self, cx: &mut Context, more: bool) -> Option<UtteranceId> {
        let ended = self.generated(cx);
        cx.timers.clear(Timer::CutReply);
        self.tell(cx, false);
        self.state = if more { State::Generated } else { State::Closed };
        self.spoke &= more;
        ended
    }

    /// We dropped what was queued. Stale audio can follow only while the provider's turn is open.
    pub(crate) fn cut(&mut self, cx: &mut Context) {
        self.tell(cx, true);
        match self.state {
            State::Open { .. } | State::Generated => {
                self.state = State::Cut { generated: self.state == State::Generated };
                cx.after(Timer::CutReply, cx.config.patience.cut_reply);
            }
            State::Closed | State::Cut { .. } | State::Interrupted => {}
        }
    }

    /// The provider cut the reply: all that was sent of it is stale, what comes is fresh.
    pub(crate) fn interrupted(&mut self, cx: &mut Context) {
        self.tell(cx, true);
        self.spoke = false;
        self.state = State::Interrupted;
        cx.after(Timer::CutReply, cx.config.patience.cut_reply);
    }

    /// The person opened a turn: what the model says from here answers it.
    pub(crate) fn person_spoke(&mut self) {
        if self.is_quiet() {
            self.spoke = false;
        }
    }

    /// The provider did not close the turn in time, or its link is gone: nothing of it can come any more.
    /// The reply that ended.
    pub(crate) fn give_up(&mut self, cx: &mut Context) -> Option<UtteranceId> {
        let ended = self.generated(cx);
        self.tell(cx, true);
        cx.timers.clear(Timer::CutReply);
        self.state = State::Closed;
        self.spoke = false;
        ended
    }

    fn tell(&mut self, cx: &mut Context, cut: bool) {
        let text = std::mem::take(&mut self.said).trim().to_owned();
        if !text.is_empty() {
            cx.notice(Notice::ModelSaid { text, cut });
        }
    }
}
