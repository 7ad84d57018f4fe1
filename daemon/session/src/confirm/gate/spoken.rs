// SPDX-License-Identifier: MIT OR Apache-2.0

//! The question that is asked aloud: spoken, heard to its end, and answered by what a person says.

use std::time::Duration;

use units::{Instant, PendingId, TurnId, UtteranceId};

use super::super::evidence::{overlap, reject, reject_early};
use super::super::wording::{LAPSED, MOVED, SAID_NO, SAID_OTHER, news, say_exactly};
use super::super::{Approval, Reading, Reject};
use super::{Gate, GateEnd, Half, Preasked, State};
use crate::LineKind;
use crate::config::ReadBack;
use crate::context::Context;
use crate::lexicon;
use crate::notice::{Channel, Notice, Presenter};
use crate::person::{Awaited, Person, Said};
use crate::playout::Playout;
use crate::readback;
use crate::timers::Timer;
use crate::tool::Consent;

use super::super::question::Question;

/// Times that the model may fail to say a question.
const MISREAD_MAX: u32 = 2;

/// How the question goes out.
pub(crate) enum Presented {
    Nothing,
    /// The device speaks it.
    Spoken,
    /// The model is to be asked for this.
    ByModel(String),
}

/// What comes of something that a person said.
pub(crate) enum Weighed {
    /// It says nothing about any question.
    Nothing,
    /// It does: calls that were held for it can be judged.
    Answered,
    /// It was the last of what makes a call.
    Agreed(Box<Approval>),
}

impl Gate {
    /// Has the question put, if there is one to be put, and gives it its full time. Call it when the person and the
    /// loudspeaker are quiet.
    pub(crate) fn present(&mut self, cx: &mut Context, playout: &mut Playout) -> Presented {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Proposed(mut question) => {
                question.presentations += 1;
                self.give_time(cx, &question);
                match question.read_back {
                    ReadBack::Device => {
                        let text = question.aloud(&cx.config.lines);
                        let utterance = playout.speak(cx, text, LineKind::ReadBack);
                        self.state = State::Presented { question, utterance };
                        Presented::Spoken
                    }
                    ReadBack::Model { .. } => {
                        let text = say_exactly(&question.in_the_models_words(&cx.config.lines));
                        self.state = State::Told { question, at: cx.now };
                        Presented::ByModel(text)
                    }
                }
            }
            other @ (State::Clear
            | State::Presented { .. }
            | State::Told { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => {
                self.state = other;
                Presented::Nothing
            }
        }
    }

    /// The reading of a question is over. If it is the open one and was not cut, an answer can follow; not if what it
    /// was heard in the midst of goes on.
    pub(crate) fn on_question_played(
        &mut self,
        cx: &mut Context,
        playout: &Playout,
        turn: TurnId,
        utterance: UtteranceId,
        cut: bool,
    ) {
        match std::mem::replace(&mut self.state, State::Clear) {
            State::Presented { question, utterance: own }
                if own == utterance && !cut && !playout.is_audible() =>
            {
                self.wait(cx, question, Presenter::Device);
            }
            State::Presented { question, utterance: own } if own == utterance => {
                cx.notice(Notice::GateCut { pending: question.id });
                self.ask_again(cx, turn, question);
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Told { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => self.state = other,
        }
    }

    /// A reply of the model was heard, and these were its words. If it was asked to put a question, they are compared.
    pub(crate) fn on_reply_played(
        &mut self,
        cx: &mut Context,
        turn: TurnId,
        (utterance, text): (UtteranceId, &str),
        cut: bool,
    ) {
        self.preasked = (!cut).then(|| Preasked { text: text.to_owned(), heard_at: cx.now, turn });
        match std::mem::replace(&mut self.state, State::Clear) {
            // What it was saying already when it was asked is not what it was asked for.
            State::Told { question, at } if self.ears.started(utterance).is_some_and(|from| from >= at) => {
                let sentence = question.in_the_models_words(&cx.config.lines);
                if !cut && says(cx, &question, &sentence, text) {
                    self.wait(cx, question, Presenter::Model);
                } else {
                    cx.notice(Notice::GateCut { pending: question.id });
                    self.on_misread(cx, turn, question);
                }
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Told { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => self.state = other,
        }
    }

    /// Something is heard. If a question waits for its answer, that is something else, and what a person says once it
    /// is heard, also in a turn that goes on, may answer that.
    pub(crate) fn on_heard(&mut self, person: &Person) {
        if let State::Waiting { overtaken: overtaken @ None, .. } = &mut self.state {
            *overtaken = Some(person.last_ended());
        }
    }

    /// Asks a question again that was overtaken, unless what a person said before that may still answer it. Once they
    /// speak again, words that come could be of either turn, and nothing is waited for.
    pub(crate) fn review(&mut self, cx: &mut Context, person: &Person) {
        cx.timers.clear(Timer::Answer);
        match std::mem::replace(&mut self.state, State::Clear) {
            // Its yes was said; what is heard meanwhile does not touch the tap.
            State::Waiting { question, heard_at, overtaken } if matches!(question.half, Half::Said(_)) => {
                self.state = State::Waiting { question, heard_at, overtaken };
            }
            State::Waiting { question, heard_at, overtaken: overtaken @ Some(last) } => {
                let window = question.window(heard_at, overtaken);
                match person.awaited(cx.now, &cx.config.gate, window) {
                    Awaited::Words { until } if person.turn() == last => {
                        cx.timers.set(Timer::Answer, until);
                        self.state = State::Waiting { question, heard_at, overtaken };
                    }
                    Awaited::Nothing | Awaited::Speech | Awaited::Words { .. } => {
                        cx.notice(Notice::GateCut { pending: question.id });
                        self.ask_again(cx, person.turn(), question);
                    }
                }
            }
            other @ (State::Clear
            | State::Proposed(_)
            | State::Presented { .. }
            | State::Told { .. }
            | State::Waiting { .. }
            | State::Granted { .. }) => self.state = other,
        }
    }

    /// A person said something.
    pub(crate) fn on_said(&mut self, cx: &mut Context, turn: TurnId, said: &Said) -> Weighed {
        self.said = Some(said.clone());
        match std::mem::replace(&mut self.state, State::Clear) {
            // Its yes was said: what comes can only take that back.
            half @ State::Waiting { question: Question { half: Half::Said(_), .. }, .. } => {
                self.state = half;
                self.reconsider(cx, turn, said);
                Weighed::Answered
            }
            State::Waiting { question, heard_at, overtaken } => {
                let asked = question.asked(heard_at, overtaken);
                let why = reject(&cx.config.gate, cx.now, &self.ears, &asked, said);
                let read = match why {
                    Some(why) => Err(why),
                    None => Ok(read(cx, &question, said)),
                };
                self.note_evidence(cx, question.id, said, Some(heard_at), read);
                match read {
                    Ok(reading) => {
                        self.said = None;
                        self.weigh(cx, turn, (question, heard_at, overtaken), said.turn, reading)
                    }
                    Err(_) => {
                        self.state = State::Waiting { question, heard_at, overtaken };
                        Weighed::Nothing
                    }
                }
            }
            granted @ State::Granted { by, .. } if said.turn > by => {
                self.state = granted;
                self.reconsider(cx, turn, said);
                Weighed::Answered
            }
            // Nobody waits to hear the rest of a question to say no to it.
            unheard @ (State::Proposed(_) | State::Presented { .. } | State::Told { .. }) => {
                self.state = unheard;
                self.weigh_early(cx, turn, said)
            }
            other @ (State::Clear | State::Granted { .. }) => {
                self.state = other;
                Weighed::Nothing
            }
        }
    }

    /// Something was said before the question was heard to its end: only a no is an answer to it.
    fn weigh_early(&mut self, cx: &mut Context, turn: TurnId, said: &Said) -> Weighed {
        let Some(question) = self.state.question() else { return Weighed::Nothing };
        let why = reject_early(&cx.config.gate, &self.ears, question.asked_in, said);
        if why.is_some() || read(cx, question, said) != Reading::No {
            return Weighed::Nothing;
        }
        self.note_evidence(cx, question.id, said, None, Ok(Reading::No));
        self.settle(cx, turn, GateEnd::Declined, SAID_NO);
        Weighed::Answered
    }

    /// More came of what a person said after it was taken as final.
    pub(crate) fn on_said_more(&mut self, cx: &mut Context, turn: TurnId, said: &Said) {
        self.reconsider(cx, turn, said);
    }

    /// Gives a question its full time, but not the half of an agreement that there is: both acts come within one.
    fn give_time(&mut self, cx: &mut Context, question: &Question) {
        if question.half == Half::Nothing {
            cx.after(Timer::GateDeadline, cx.config.gate.deadline);
            self.renew(cx, question.id);
        }
    }

    /// Tells what was said to a question that was heard by `heard_at`, if it was, and how that was read.
    pub(super) fn note_evidence(
        &self,
        cx: &mut Context,
        pending: PendingId,
        said: &Said,
        heard_at: Option<Instant>,
        read: Result<Reading, Reject>,
    ) {
        let after = heard_at.filter(|heard_at| said.onset > *heard_at);
        cx.notice(Notice::GateEvidence {
            pending,
            turn: said.turn,
            voiced: said.voiced,
            overlap: overlap(&cx.config.gate, &self.ears, said),
            after: after.map_or(Duration::ZERO, |heard_at| said.onset - heard_at),
            read,
        });
    }

    fn wait(&mut self, cx: &mut Context, question: Question, by: Presenter) {
        cx.notice(Notice::GatePresented { pending: question.id, by });
        self.give_time(cx, &question);
        self.state = State::Waiting { question, heard_at: cx.now, overtaken: None };
    }

    fn weigh(
        &mut self,
        cx: &mut Context,
        turn: TurnId,
        (mut question, heard_at, overtaken): (Question, Instant, Option<TurnId>),
        by: TurnId,
        reading: Reading,
    ) -> Weighed {
        match reading {
            Reading::Yes if question.half == Half::Tapped => {
                cx.timers.clear(Timer::GateDeadline);
                return Weighed::Agreed(Box::new(self.commit(cx, question, Channel::VoiceAndTouch)));
            }
            Reading::Yes if question.spec.consent == Consent::VoiceAndTouch => {
                question.half = Half::Said(by);
                self.state = State::Waiting { question, heard_at, overtaken };
            }
            Reading::Yes if question.takes_yes() => {
                let grant = self.grant(cx, &question, Channel::Voice);
                cx.timers.clear(Timer::GateDeadline);
                cx.after(Timer::GrantLapses, cx.config.gate.grant);
                self.state = State::Granted { question, grant, by };
            }
            Reading::No => {
                self.state = State::Proposed(question);
                self.settle(cx, turn, GateEnd::Declined, SAID_NO);
            }
            Reading::Amend => {
                // They took part: that was no nagging.
                self.limits.on_answered(&question.spec.name);
                self.state = State::Proposed(question);
                self.settle(cx, turn, GateEnd::Amended, SAID_OTHER);
            }
            Reading::Unclear if question.takes_yes() && !matches!(question.half, Half::Said(_)) => {
                question.unclear += 1;
                self.ask_again(cx, turn, question);
            }
            // The button answers it, or the tap that is still to come.
            Reading::Yes | Reading::Unclear => {
                self.state = State::Waiting { question, heard_at, overtaken };
                return Weighed::Nothing;
            }
        }
        Weighed::Answered
    }

    /// Reads what an agreement has to stand up to: its own turn must still be a yes when all of it is known, a later one
    /// must not be a no or a change.
    fn reconsider(&mut self, cx: &mut Context, turn: TurnId, said: &Said) {
        let (question, by, heard_at) = match &self.state {
            State::Granted { question, by, .. } => (question, *by, None),
            State::Waiting { question, heard_at, .. } => match question.half {
                Half::Said(by) => (question, by, Some(*heard_at)),
                Half::Nothing | Half::Tapped => return,
            },
            State::Clear | State::Proposed(_) | State::Presented { .. } | State::Told { .. } => return,
        };
        if said.turn < by {
            return;
        }
        let is_agreement = said.turn == by;
        let reading = read(cx, question, said);
        self.note_evidence(cx, question.id, said, heard_at, Ok(reading));
        match reading {
            Reading::No => self.settle(cx, turn, GateEnd::Declined, SAID_NO),
            Reading::Amend => self.settle(cx, turn, GateEnd::Amended, SAID_OTHER),
            Reading::Unclear if is_agreement => self.settle(cx, turn, GateEnd::Dropped, LAPSED),
            Reading::Yes | Reading::Unclear => {}
        }
    }

    /// Asks once more, unless that has been done often enough: then on the screen, if there is one.
    fn ask_again(&mut self, cx: &mut Context, turn: TurnId, question: Question) {
        let gate = &cx.config.gate;
        let misunderstood = question.unclear >= gate.attempts;
        if misunderstood || question.presentations >= gate.presentations {
            self.give_up_aloud(cx, turn, question, misunderstood);
        } else {
            self.state = State::Proposed(question);
        }
    }

    /// The model did not say what it was to say.
    fn on_misread(&mut self, cx: &mut Context, turn: TurnId, mut question: Question) {
        question.misread += 1;
        let then_device = matches!(question.read_back, ReadBack::Model { then_device: true });
        if question.misread < MISREAD_MAX {
            self.state = State::Proposed(question);
        } else if then_device {
            question.read_back = ReadBack::Device;
            self.state = State::Proposed(question);
        } else {
            self.give_up_aloud(cx, turn, question, false);
        }
    }

    fn give_up_aloud(&mut self, cx: &mut Context, turn: TurnId, question: Question, misunderstood: bool) {
        let tool = question.spec.name.clone();
        if misunderstood && self.limits.on_not_understood(&cx.config.gate, cx.now, &tool) {
            cx.notice(Notice::GateLocked { tool, why: "the answers were not understood" });
        }
        let moves = match question.spec.consent {
            Consent::Voice | Consent::VoiceOrTouch | Consent::Touch => self.has_screen && self.has_room(cx),
            // A tap alone was not to be enough.
            Consent::VoiceAndTouch | Consent::Button => false,
        };
        if moves {
            cx.timers.clear(Timer::GateDeadline);
            self.news.push(news(&question.summary, MOVED));
            self.leave_on_screen(cx, question);
        } else {
            self.state = State::Proposed(question);
            self.settle(cx, turn, GateEnd::Dropped, LAPSED);
        }
    }
}

/// Whether `text` puts the question in full.
pub(super) fn says(cx: &Context, question: &Question, sentence: &str, text: &str) -> bool {
    readback::says(cx.config.gate.locale, sentence, &question.prepared.slots, text)
}

pub(super) fn read(cx: &Context, question: &Question, said: &Said) -> Reading {
    let gate = &cx.config.gate;
    let reading = lexicon::read(gate.locale, &gate.other_locales, &said.text, &question.expected());
    // Words that may be those of something said before are no yes to this.
    if reading == Reading::Yes && said.may_be_earlier { Reading::Unclear } else { reading }
}
