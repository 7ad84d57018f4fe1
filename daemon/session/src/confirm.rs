// SPDX-License-Identifier: MIT OR Apache-2.0

//! The confirmation gate: whether a person has agreed to a guarded call. The only module that makes a [`Permit`].
//!
//! The device asks in its own words, rendered from the arguments that will run. The question counts as asked when it was
//! heard to its end, or is seen on the screen. A person's turn that began after that, whose whole transcript reads as a yes,
//! makes an approval that the model's next identical call spends; a tap or the button makes the call. Nothing the model
//! says, calls, or brings back from a tool is evidence: this module is given local speech, the words credited to it, taps
//! and presses, and no other path leads to [`Permit`].
#![doc = ""]
#![doc = include_str!("../CONFIRMATION.md")]

mod ears;
mod evidence;
mod gate;
mod limits;
mod question;
mod wording;

use std::time::Duration;

use serde_json::Value;
use units::{CallKey, GrantId, Instant, PendingId, TurnId};

use crate::lexicon::{self, Expected, Locale};
use crate::tool::{Effect, Prepared, ToolSpec};

pub use evidence::Reject;
pub(crate) use gate::{Gate, Presented, Proposal, Verdict, Weighed};
pub(crate) use question::Approval;

/// How a whole utterance was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A clear yes, and nothing else.
    Yes,
    /// A no anywhere in it.
    No,
    /// Something should be different.
    Amend,
    /// None of these.
    Unclear,
}

impl Reading {
    /// A word for the record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Amend => "amend",
            Self::Unclear => "unclear",
        }
    }
}

/// Single-use proof that this call may run, owning the call, so that what runs is what was agreed to.
///
/// Made only in this module; neither `Clone` nor `Copy`.
#[derive(Debug)]
pub struct Permit(Call);

#[derive(Debug, PartialEq)]
struct Call {
    key: CallKey,
    name: String,
    args: Value,
    effect: Effect,
    timeout: Duration,
    grant: Option<GrantId>,
    digest: [u8; 32],
    summary: Option<String>,
    turn: TurnId,
    agreed: Option<Box<Agreed>>,
}

/// What can still take an agreement back before its call runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Agreed {
    pub(crate) pending: PendingId,
    /// What is said from this turn on counts.
    from: TurnId,
    /// The call must have started by then.
    pub(crate) until: Instant,
    slots: Vec<String>,
    repeat_last: Option<usize>,
    challenge: Vec<String>,
}

impl Agreed {
    /// What the answer was to hold.
    fn expected(&self) -> Expected<'_> {
        Expected { slots: &self.slots, repeat_last: self.repeat_last, challenge: &self.challenge }
    }
}

impl Permit {
    /// The call's key in the ledger; [`CallKey`] 0 for a call made at the console.
    #[must_use]
    pub fn call_key(&self) -> CallKey {
        self.0.key
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Canonical arguments: exactly what was checked, read back and agreed to.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.0.args
    }

    /// The tool's effect class.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// From dispatch to outcome.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.0.timeout
    }

    /// The approval it spent; `None` for a call that needs none. One idempotency key per grant.
    #[must_use]
    pub fn grant(&self) -> Option<GrantId> {
        self.0.grant
    }

    /// Binds the approval to boot, session, tool, schema and arguments.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }

    /// The sentence that a person agreed to; `None` for a call that needs nobody's consent.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        self.0.summary.as_deref()
    }

    /// What can still take the agreement back, if a person agreed.
    pub(crate) fn agreed(&self) -> Option<&Agreed> {
        self.0.agreed.as_deref()
    }

    /// The person's turn in which the model asked for it; 0 before the first turn and at the console.
    #[must_use]
    pub fn turn(&self) -> TurnId {
        self.0.turn
    }
}

/// A call cannot run without a person's consent: ask with [`ask_at_console`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsConsent;

impl std::fmt::Display for NeedsConsent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the tool acts on the outside world and runs only with a person's consent")
    }
}

impl std::error::Error for NeedsConsent {}

/// The person at the console did not clearly agree. Nothing ran; ask again if they want to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAgreed {
    /// How their answer was read.
    pub reading: Reading,
}

impl std::fmt::Display for NotAgreed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.reading {
            Reading::No => "the answer was a no; nothing was done",
            Reading::Amend => "the answer asks for something else; nothing was done",
            Reading::Yes | Reading::Unclear => "the answer was no clear yes; nothing was done",
        })
    }
}

impl std::error::Error for NotAgreed {}

/// A permit for a call made at the console by a tool that needs no consent.
///
/// # Errors
/// [`NeedsConsent`] for a guarded tool: use [`ask_at_console`].
pub fn observing(spec: &ToolSpec, prepared: Prepared) -> Result<Permit, NeedsConsent> {
    permit_without_question(CallKey(0), spec, prepared, TurnId(0))
}

/// The question that a person at the console must answer before a guarded call runs.
///
/// # Errors
/// Gives `prepared` back as [`NeedsConsent`] when it has no summary: what cannot be put into words cannot be agreed to.
pub fn ask_at_console(spec: &ToolSpec, prepared: Prepared) -> Result<ConsoleQuestion, NeedsConsent> {
    let Some(summary) = prepared.summary.clone() else {
        return Err(NeedsConsent);
    };
    Ok(ConsoleQuestion { summary, spec: spec.clone(), prepared })
}

/// A question put to a person at the console. It owns the call it is about.
#[derive(Debug)]
pub struct ConsoleQuestion {
    summary: String,
    spec: ToolSpec,
    prepared: Prepared,
}

impl ConsoleQuestion {
    /// The sentence to show; the question whether it is right is the caller's to add.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.summary
    }

    /// Takes what the person typed. Only a clear yes, by the same rules as for speech in `locale` where the languages `also`
    /// are spoken too, makes a permit.
    ///
    /// # Errors
    /// [`NotAgreed`] for anything else. The question is used up either way.
    pub fn answer(self, locale: Locale, also: &[Locale], typed: &str) -> Result<Permit, NotAgreed> {
        let expected = Expected { slots: &self.prepared.slots, ..Expected::default() };
        let reading = lexicon::read(locale, also, typed, &expected);
        match reading {
            Reading::Yes => Ok(Permit(Call {
                key: CallKey(0),
                name: self.spec.name,
                args: self.prepared.args,
                effect: self.spec.effect,
                timeout: self.spec.timeout,
                grant: Some(GrantId(0)),
                digest: self.prepared.digest,
                summary: Some(self.summary),
                turn: TurnId(0),
                agreed: None,
            })),
            Reading::No | Reading::Amend | Reading::Unclear => Err(NotAgreed { reading }),
        }
    }
}

/// A tool is guarded if it acts on the outside world and nobody wrote down why that needs no consent.
pub(crate) fn is_guarded(spec: &ToolSpec) -> bool {
    spec.effect == Effect::Outbound && !spec.ungated
}

pub(crate) fn permit_without_question(
    key: CallKey,
    spec: &ToolSpec,
    prepared: Prepared,
    turn: TurnId,
) -> Result<Permit, NeedsConsent> {
    if is_guarded(spec) {
        return Err(NeedsConsent);
    }
    Ok(Permit(Call {
        key,
        name: spec.name.clone(),
        args: prepared.args,
        effect: spec.effect,
        timeout: spec.timeout,
        grant: None,
        digest: prepared.digest,
        summary: None,
        turn,
        agreed: None,
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

    use serde_json::json;

    use super::*;

    fn spec(effect: Effect, ungated: bool) -> ToolSpec {
        ToolSpec { ungated, ..ToolSpec::new("send_text", effect) }
    }

    fn prepared(summary: Option<&str>) -> Prepared {
        Prepared {
            args: json!({"phone": "12345"}),
            digest: [7; 32],
            summary: summary.map(str::to_owned),
            slots: vec!["12345".into()],
            challenge: Vec::new(),
            nonce: units::Nonce::new(1),
        }
    }

    #[test]
    fn what_only_looks_needs_no_question() {
        for spec in [spec(Effect::Read, false), spec(Effect::Local, false), spec(Effect::Outbound, true)] {
            let permit = observing(&spec, prepared(None)).unwrap();
            assert_eq!((permit.name(), permit.grant()), ("send_text", None));
            assert_eq!(permit.args(), &json!({"phone": "12345"}));
        }
    }

    #[test]
    fn a_guarded_tool_needs_one() {
        let guarded = spec(Effect::Outbound, false);
        assert_eq!(observing(&guarded, prepared(Some("Send."))).unwrap_err(), NeedsConsent);
        assert_eq!(ask_at_console(&guarded, prepared(None)).unwrap_err(), NeedsConsent);
    }

    #[test]
    fn only_a_clear_yes_is_typed_consent() {
        let guarded = spec(Effect::Outbound, false);
        let ask = || ask_at_console(&guarded, prepared(Some("Send to 12345."))).unwrap();
        assert_eq!(ask().sentence(), "Send to 12345.");
        let permit = ask().answer(Locale::En, &[], "yes, 12345\n").unwrap();
        assert!(permit.grant().is_some());
        for (typed, reading) in [
            ("", Reading::Unclear),
            ("y", Reading::Unclear),
            ("no", Reading::No),
            ("yes, 54321", Reading::Amend),
        ] {
            assert_eq!(ask().answer(Locale::En, &[], typed).unwrap_err(), NotAgreed { reading }, "{typed}");
        }
        for locale in Locale::ALL {
            assert!(ask().answer(locale, &[], locale.yes()).is_ok(), "{}: {}", locale.tag(), locale.yes());
        }
    }
}
