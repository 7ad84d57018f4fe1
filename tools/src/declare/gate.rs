// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a person is asked before a tool runs.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// How a person is asked before a tool runs. Typed by the tool's arguments, so the question is rendered from the very
/// values that will run, and the gate of another tool does not fit.
pub struct Gate<A> {
    summary: Render<A, String>,
    slots: Render<A, Vec<String>>,
    /// Argument name and its value, for each that a model may have made up.
    guarded: Vec<(String, Render<A, String>)>,
}

type Render<A, T> = Box<dyn Fn(&A) -> T + Send + Sync>;

impl<A> Gate<A> {
    /// Asked and answered by voice. `summary` renders one statement of what will be done, such as
    /// `Send 'closed' to 0 7 7 0 0.`; the device speaks it and adds its own question. It must not end in a word that
    /// is an answer.
    pub fn voice(summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        Self { summary: Box::new(summary), slots: Box::new(|_| Vec::new()), guarded: Vec::new() }
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
        f.write_str("Gate::voice")
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
