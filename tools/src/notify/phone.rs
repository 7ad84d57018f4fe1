// SPDX-License-Identifier: MIT OR Apache-2.0

//! A phone number: dialled, shown and spoken from one value.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::declare::is_placeholder;

/// Digits of a subscriber number: ITU-T E.164 allows 15; fewer than 6 is an extension or a mistake.
const DIGITS: RangeInclusive<usize> = 6..=15;

/// Digits said in one breath. Longer numbers are spoken in groups of at most this many.
const GROUP_MAX: usize = 6;

/// A phone number without separators, with a leading `+` if it was given with one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Phone(String);

/// Why a text is no phone number. The text is for the model, which can ask the person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhoneError {
    /// Something other than digits and the usual separators.
    #[error("/phone has {0:?} in it: expected digits")]
    Character(char),
    /// Too short or too long.
    #[error("/phone has {0} digits: expected 6 to 15; ask the person for the number")]
    Length(usize),
    /// A number that nobody has, such as one digit over and over.
    #[error("/phone is a dummy: ask the person for the number")]
    Dummy,
}

impl TryFrom<String> for Phone {
    type Error = PhoneError;

    fn try_from(text: String) -> Result<Self, PhoneError> {
        let text = text.trim();
        let (plus, rest) = match text.strip_prefix('+') {
            Some(rest) => ("+", rest),
            None => ("", text),
        };
        let mut digits = String::new();
        for ch in rest.chars() {
            match ch {
                '0'..='9' => digits.push(ch),
                ' ' | '(' | ')' | '-' | '.' | '/' => {}
                other => return Err(PhoneError::Character(other)),
            }
        }
        let count = digits.len();
        if !DIGITS.contains(&count) {
            return Err(PhoneError::Length(count));
        }
        let number = format!("{plus}{digits}");
        if is_placeholder(&number) { Err(PhoneError::Dummy) } else { Ok(Self(number)) }
    }
}

impl From<Phone> for String {
    fn from(phone: Phone) -> Self {
        phone.0
    }
}

impl Phone {
    /// Its digits only.
    #[must_use]
    pub fn digits(&self) -> &str {
        self.0.strip_prefix('+').unwrap_or(&self.0)
    }

    /// Its last four digits: enough to recognise it, too few to dial it.
    #[must_use]
    pub fn last_four(&self) -> &str {
        let digits = self.digits();
        &digits[digits.len().saturating_sub(4)..]
    }

    /// As it is read out: every digit by itself, in groups of nearly equal length with a comma between.
    #[must_use]
    pub fn spoken(&self) -> String {
        let digits = self.digits();
        let groups = digits.len().div_ceil(GROUP_MAX).max(1);
        let (size, longer) = (digits.len() / groups, digits.len() % groups);
        let mut spoken: Vec<String> = Vec::new();
        let mut rest = digits;
        for group in 0..groups {
            // The longer groups come last, as in the usual ways of saying a number.
            let take = size + usize::from(group >= groups - longer);
            let (head, tail) = rest.split_at(take);
            spoken.push(head.chars().map(String::from).collect::<Vec<_>>().join(" "));
            rest = tail;
        }
        let plus = if self.0.starts_with('+') { "plus " } else { "" };
        format!("{plus}{}", spoken.join(", "))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn phone(text: &str) -> Result<Phone, PhoneError> {
        Phone::try_from(text.to_owned())
    }

    #[test]
    fn every_spelling_of_a_number_is_the_same_number() {
        let plain = phone("07700900142").unwrap();
        for spelling in ["07700 900142", "(07700) 900-142", " 07700.900.142 ", "0 7 7 0 0 9 0 0 1 4 2"] {
            assert_eq!(phone(spelling), Ok(plain.clone()), "{spelling}");
        }
        assert_ne!(phone("+07700900142").unwrap(), plain);
    }

    #[test]
    fn digits_are_spoken_one_by_one_in_groups() {
        for (text, spoken) in [
            ("07700900142", "0 7 7 0 0, 9 0 0 1 4 2"),
            ("9876543210", "9 8 7 6 5, 4 3 2 1 0"),
            ("135790", "1 3 5 7 9 0"),
            ("1357902", "1 3 5, 7 9 0 2"),
            ("+447700900142", "plus 4 4 7 7 0 0, 9 0 0 1 4 2"),
            ("135792468013579", "1 3 5 7 9, 2 4 6 8 0, 1 3 5 7 9"),
        ] {
            assert_eq!(phone(text).unwrap().spoken(), spoken);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(phone("12345"), Err(PhoneError::Length(5)));
        assert_eq!(phone("1234567890123456"), Err(PhoneError::Length(16)));
        assert_eq!(phone(""), Err(PhoneError::Length(0)));
        for dummy in ["0000000000", "123456", "+1 212 555 0123"] {
            assert_eq!(phone(dummy), Err(PhoneError::Dummy), "{dummy}");
        }
        assert_eq!(phone("call mum"), Err(PhoneError::Character('c')));
        assert_eq!(phone("٠٧٧٠٠٩٠٠"), Err(PhoneError::Character('٠')), "digits of other scripts");
        assert_eq!(phone("123456\n7"), Err(PhoneError::Character('\n')));
    }
}
