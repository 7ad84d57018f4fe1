// SPDX-License-Identifier: MIT OR Apache-2.0

//! One question about one call, and what comes of it when a person agrees.

use units::{CallKey, GrantId, Instant, Nonce, PendingId, TurnId};

use super::evidence::Asked;
use super::{Agreed, Call, Permit};
use crate::config::{Lines, ReadBack};
use crate::person::Window;
use crate::readback;
use crate::tool::{Consent, Prepared, ToolSpec};
use crate::{Sheet, lexicon};

pub(super) struct Question {
    pub(super) id: PendingId,
    pub(super) spec: ToolSpec,
    pub(super) prepared: Prepared,
    pub(super) summary: String,
    pub(super) asked_in: TurnId,
    /// Unclear answers so far.
    pub(super) unclear: u32,
    /// Times it was spoken.
    pub(super) presentations: u32,
    /// Who is to speak it.
    pub(super) read_back: ReadBack,
    /// How often the model has failed to.
    pub(super) misread: u32,
    /// Half of an agreement that takes two acts.
    pub(super) half: Half,
}

/// What has been done of an agreement by a spoken yes and a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Nothing,
    /// A yes, in this turn.
    Said(TurnId),
    Tapped,
}

impl Question {
    pub(super) fn new(
        id: PendingId,
        (spec, prepared): (ToolSpec, Prepared),
        summary: String,
        asked_in: TurnId,
        read_back: ReadBack,
    ) -> Self {
        Self {
            id,
            spec,
            prepared,
            summary,
            asked_in,
            unclear: 0,
            presentations: 0,
            read_back,
            misread: 0,
            half: Half::Nothing,
        }
    }

    /// Same arguments. The digest decides; the arguments are compared too, so that a catalog with a broken digest
    /// cannot make one approval fit another call.
    pub(super) fn is_about(&self, prepared: &Prepared) -> bool {
        self.prepared.digest == prepared.digest && self.prepared.args == prepared.args
    }

    /// The turns that can answer it. That one is in time is the timer's to decide, that it was not used before the
    /// person's.
    pub(super) fn window(&self, heard_at: Instant, last: Option<TurnId>) -> Window {
        Window { asked_in: self.asked_in, heard_at, last }
    }

    pub(super) fn asked(&self, heard_at: Instant, overtaken: Option<TurnId>) -> Asked {
        Asked { asked_in: self.asked_in, heard_at, overtaken }
    }

    /// A spoken yes is an agreement, or half of one.
    pub(super) fn takes_yes(&self) -> bool {
        match self.spec.consent {
            Consent::Voice | Consent::VoiceOrTouch | Consent::VoiceAndTouch => true,
            Consent::Touch | Consent::Button => false,
        }
    }

    /// What the device says.
    pub(super) fn aloud(&self, lines: &Lines) -> String {
        let summary = readback::spoken(&self.summary, &self.prepared.slots);
        let mut text = match self.spec.consent {
            Consent::Button => format!("{summary} {}", lines.press),
            Consent::Voice | Consent::Touch | Consent::VoiceOrTouch => {
                format!("{summary} {}", lines.question)
            }
            Consent::VoiceAndTouch => format!("{summary} {} {}", lines.question, lines.tap_too),
        };
        if let Some(digits) = self.spec.repeat_last.filter(|_| self.takes_yes()) {
            text = format!("{text} {}", lines.repeat_digits.replace("{}", &digits.to_string()));
        }
        if !self.prepared.challenge.is_empty() {
            text = format!("{text} {} {}.", lines.code, self.prepared.challenge.join(" "));
        }
        text
    }

    /// What the model is to say, word by word.
    pub(super) fn in_the_models_words(&self, lines: &Lines) -> String {
        format!("{} {}", self.summary, lines.question)
    }

    pub(super) fn sheet(&self) -> Sheet {
        Sheet {
            pending: self.id,
            nonce: self.nonce(),
            summary: self.summary.clone(),
            slots: self.prepared.slots.clone(),
        }
    }

    pub(super) fn nonce(&self) -> Nonce {
        self.prepared.nonce
    }

    /// What an answer must hold.
    pub(super) fn expected(&self) -> lexicon::Expected<'_> {
        lexicon::Expected {
            slots: &self.prepared.slots,
            repeat_last: self.spec.repeat_last,
            challenge: &self.prepared.challenge,
        }
    }
}

/// A person agreed to a call by an act that makes it: it runs with the arguments they agreed to, whatever the model does.
pub(crate) struct Approval {
    question: Question,
    grant: GrantId,
}

impl Approval {
    pub(super) fn new(question: Question, grant: GrantId) -> Self {
        Self { question, grant }
    }

    pub(crate) fn grant(&self) -> GrantId {
        self.grant
    }

    /// What they agreed to.
    pub(crate) fn summary(&self) -> &str {
        &self.question.summary
    }

    /// The call, under this key. What the person says from their next turn on can still take it back.
    pub(crate) fn into_call(self, key: CallKey, turn: TurnId, until: Instant) -> (ToolSpec, Permit) {
        let spec = self.question.spec.clone();
        (spec, permit(self.question, self.grant, (key, turn), (turn.next(), until)))
    }
}

/// `from` is the turn from which on what is said counts against it, `until` when it must have started.
pub(super) fn permit(
    question: Question,
    grant: GrantId,
    (key, turn): (CallKey, TurnId),
    (from, until): (TurnId, Instant),
) -> Permit {
    let Prepared { args, digest, slots, challenge, .. } = question.prepared;
    let repeat_last = question.spec.repeat_last;
    Permit(Call {
        key,
        name: question.spec.name,
        args,
        effect: question.spec.effect,
        timeout: question.spec.timeout,
        grant: Some(grant),
        digest,
        summary: Some(question.summary),
        turn,
        agreed: Some(Box::new(Agreed { pending: question.id, from, until, slots, repeat_last, challenge })),
    })
}
