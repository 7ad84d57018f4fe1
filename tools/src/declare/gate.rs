// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a person is asked before a tool runs.

use std::fmt;
use std::future::Future;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::recheck::Recheck;
use crate::BoxFuture;
use crate::result::ToolError;

/// Digits that a person can be asked to say again.
pub const REPEATED_DIGITS: RangeInclusive<usize> = 1..=10;

/// By what a person agrees to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agreement {
    /// The device asks aloud, and a spoken yes agrees.
    #[default]
    Voice,
    /// The screen asks, and a tap agrees.
    Touch,
    /// The device asks aloud, and its button, held, agrees.
    Button,
    /// The device asks aloud and on the screen, if there is one; the first answer counts.
    VoiceOrTouch,
    /// Aloud and on the screen: it takes a spoken yes and a tap.
    Both,
}

impl Agreement {
    /// Every one of them.
    pub const ALL: [Self; 5] = [Self::Voice, Self::Touch, Self::Button, Self::VoiceOrTouch, Self::Both];

    /// As a configuration spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Touch => "touch",
            Self::Button => "button",
            Self::VoiceOrTouch => "voice_or_touch",
            Self::Both => "both",
        }
    }

    /// The one that a configuration spells so.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agreement| agreement.as_str() == word)
    }

    /// Nothing can be said to it: no digits, and no words.
    pub(crate) const fn is_silent(self) -> bool {
        match self {
            Self::Touch | Self::Button => true,
            Self::Voice | Self::VoiceOrTouch | Self::Both => false,
        }
    }
}

/// What it takes to agree to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asking {
    /// By what a person agrees.
    pub by: Agreement,
    /// A spoken answer must hold two words of chance that the device has just said.
    pub high_risk: bool,
    /// A spoken answer must hold the last so many digits of what the question names.
    pub repeat_last: Option<usize>,
}

/// How a person is asked before a tool runs. Typed by the tool's arguments, so the question is rendered from the very
/// values that will run, and the gate of another tool does not fit.
pub struct Gate<A> {
    summary: Render<A, String>,
    slots: Render<A, Vec<String>>,
    /// Argument name and its value, for each that a model may have made up.
    guarded: Vec<(String, Render<A, String>)>,
    asking: Asking,
    recheck: Option<Recheck<A>>,
}

type Render<A, T> = Box<dyn Fn(&A) -> T + Send + Sync>;

impl<A> Gate<A> {
    /// Asked and answered by voice. `summary` renders one statement of what will be done, such as
    /// `Send 'closed' to 0 7 7 0 0.`; the device speaks it and adds its own question. It must not end in a word that
    /// is an answer.
    pub fn voice(summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        Self::by(Agreement::Voice, summary)
    }

    /// Asked on the screen and answered with a tap, which makes the call. Without a screen nobody can agree to it.
    pub fn touch(summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        Self::by(Agreement::Touch, summary)
    }

    /// Asked aloud and answered with the button of the device, held for a moment, which makes the call. Without one nobody
    /// can agree to it.
    pub fn button(summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        Self::by(Agreement::Button, summary)
    }

    /// Asked aloud and, where there is a screen, on it; a spoken yes or a tap agrees, whichever comes first.
    pub fn voice_or_touch(summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        Self::by(Agreement::VoiceOrTouch, summary)
    }

    /// Asked aloud and on the screen; it takes a spoken yes and a tap, in any order. Without a screen nobody can agree to it.
    pub fn both(summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        Self::by(Agreement::Both, summary)
    }

    fn by(by: Agreement, summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        Self {
            summary: Box::new(summary),
            slots: Box::new(|_| Vec::new()),
            guarded: Vec::new(),
            asking: Asking { by, ..Asking::default() },
            recheck: None,
        }
    }

    /// What it takes to agree, where that is known only at run time.
    #[must_use]
    pub fn asking(mut self, asking: Asking) -> Self {
        self.asking = asking;
        self
    }

    /// A spoken answer must hold two words of chance that the device says after the question and the model never reads: what a
    /// recording, a television or a yes by chance says is no answer. Not for a gate that nothing is said to.
    #[must_use]
    pub fn high_risk(mut self) -> Self {
        self.asking.high_risk = true;
        self
    }

    /// A spoken answer must hold the last `digits` digits of a slot, 1 to 10; a yes alone is none. Not for a gate that nothing is
    /// said to, nor for one without a slot of as many digits.
    #[must_use]
    pub fn repeat_last(mut self, digits: usize) -> Self {
        self.asking.repeat_last = Some(digits);
        self
    }

    /// Looks once more, between the agreement and the call, whether what was agreed to still holds: a price, a stock, a free
    /// place. `recheck` renders the statement as things are at that moment. If it is not the one that was agreed to, nothing is
    /// done and the person is asked anew, in these words. If it fails, so does the call, with nothing done.
    ///
    /// It takes from the time of the call. It must change nothing: it can be stopped at any moment.
    #[must_use]
    pub fn recheck<Fut>(mut self, recheck: impl Fn(A) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        self.recheck = Some(Box::new(move |args| Box::pin(recheck(args))));
        self
    }

    /// The pieces that must be heard exactly: digits, amounts, names.
    #[must_use]
    pub fn slots(mut self, slots: impl Fn(&A) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.slots = Box::new(slots);
        self
    }

    /// Refuses a number that nobody has, before anybody is asked about it: one digit over and over, a run such as
    /// 1234567890, or one of the 555-01xx that films use. `name` is the argument; `number` gives its digits, with a
    /// leading `+` if there is a country code.
    #[must_use]
    pub fn reject_placeholder(
        mut self,
        name: impl Into<String>,
        number: impl Fn(&A) -> String + Send + Sync + 'static,
    ) -> Self {
        self.guarded.push((name.into(), Box::new(number)));
        self
    }
}

impl<A> fmt::Debug for Gate<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("asking", &self.asking).finish_non_exhaustive()
    }
}

/// A [`Gate`] with its argument type erased.
pub(crate) trait ErasedGate: Send + Sync {
    /// The arguments with every default written out: what is shown, hashed and run.
    fn canonical(&self, args: &Value) -> Result<Value, String>;
    fn summary(&self, args: &Value) -> Result<String, String>;
    fn slots(&self, args: &Value) -> Result<Vec<String>, String>;
    /// What to tell the model about a guarded number that is a placeholder.
    fn placeholder(&self, args: &Value) -> Result<Option<String>, String>;
    fn asking(&self) -> Asking;
    fn has_recheck(&self) -> bool;
    /// The statement as it would be at this moment, if that is looked at.
    fn recheck(&self, args: &Value) -> Result<Option<BoxFuture<'static, Result<String, ToolError>>>, String>;
}

impl<A: DeserializeOwned + Serialize> ErasedGate for Gate<A> {
    fn canonical(&self, args: &Value) -> Result<Value, String> {
        crate::shape::to_json(&parse::<A>(args)?).map_err(|fault| fault.to_string())
    }

    fn summary(&self, args: &Value) -> Result<String, String> {
        Ok((self.summary)(&parse(args)?))
    }

    fn slots(&self, args: &Value) -> Result<Vec<String>, String> {
        Ok((self.slots)(&parse(args)?))
    }

    fn placeholder(&self, args: &Value) -> Result<Option<String>, String> {
        let args = parse(args)?;
        let fake = self.guarded.iter().find(|(_, number)| is_placeholder(&number(&args)));
        Ok(fake.map(|(name, _)| format!("/{name}: this number is a dummy; ask the person for the real one")))
    }

    fn asking(&self) -> Asking {
        self.asking
    }

    fn has_recheck(&self) -> bool {
        self.recheck.is_some()
    }

    fn recheck(&self, args: &Value) -> Result<Option<BoxFuture<'static, Result<String, ToolError>>>, String> {
        self.recheck.as_ref().map(|recheck| Ok(recheck(parse(args)?))).transpose()
    }
}

fn parse<A: DeserializeOwned>(args: &Value) -> Result<A, String> {
    A::deserialize(args).map_err(|error| error.to_string())
}

/// Longest country code (ITU-T E.164).
const COUNTRY_DIGITS_MAX: usize = 3;

/// Shortest number that can be told from a coincidence.
const DIGITS_MIN: usize = 6;

/// Whether this is a number that people and models write where they have none.
pub(crate) fn is_placeholder(number: &str) -> bool {
    let digits: Vec<u8> = number.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
    let tails = if number.trim_start().starts_with('+') { COUNTRY_DIGITS_MAX } else { 0 };
    (0..=tails).any(|skipped| digits.get(skipped..).is_some_and(is_pattern)) || is_fictional(&digits)
}

fn is_pattern(digits: &[u8]) -> bool {
    let steps = |step: u8| digits.windows(2).all(|pair| matches!(pair, [a, b] if (a + step) % 10 == *b));
    digits.len() >= DIGITS_MIN && (steps(0) || steps(1))
}

/// 555-0100 to 555-0199 are kept free for films in the North American plan; with or without area and country code.
fn is_fictional(digits: &[u8]) -> bool {
    matches!(digits, [5, 5, 5, 0, 1, _, _])
        || matches!(digits, [_, _, _, 5, 5, 5, 0, 1, _, _])
        || matches!(digits, [1, _, _, _, 5, 5, 5, 0, 1, _, _])
}

#[cfg(test)]
mod tests {
    use super::is_placeholder;

    #[test]
    fn numbers_that_nobody_has_are_told_from_those_that_somebody_may_have() {
        let fakes =
            ["0000000000", "999 999 999", "1234567890", "0123456789", "+1 2345678901", "+49 1111111111"];
        let films = ["555-0123", "212-555-0199", "+1 212 555 0100"];
        for fake in fakes.into_iter().chain(films) {
            assert!(is_placeholder(fake), "{fake}");
        }
        for real in [
            "98765 43210",
            "07700 900123",
            "+1 212 555 0200",
            "11111",
            "1234",
            "",
            "030 1550199",
            "1234567891",
        ] {
            assert!(!is_placeholder(real), "{real}");
        }
    }
}
