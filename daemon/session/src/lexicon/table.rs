// SPDX-License-Identifier: MIT OR Apache-2.0

//! The phrases of one language, and the parts of an utterance by them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::slots::Slots;
use super::words::{Gap, Numeral, Unit, cut, normal, numeral};

/// What a phrase says. [`Table::parse`] has the names of the sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Agreement by itself.
    Strong,
    /// Agreement if there is nothing else in the whole utterance; beside anything else it may mean something else.
    Alone,
    /// Agreement only beside a strong one.
    Weak,
    /// Means nothing by itself.
    Filler,
    /// Disagreement, wherever it stands.
    Deny,
    /// Something should be different, wherever it stands.
    Amend,
    /// None of these, though there is a shorter phrase in it.
    Other,
    /// A digit by its name.
    Digit(u8),
    /// A digit beside other digits, else a filler.
    Beside(u8),
    /// Says the digit after it so many times.
    Times(u8),
    /// Part of a number that is not said digit by digit.
    Number,
}

/// A piece of an utterance and the units it takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) piece: Piece,
    pub(crate) units: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Phrase(Class),
    /// A maximal run of digits, however they were said.
    Digits(String),
    /// A number that is not said digit by digit, with the digits beside it. It is not guessed at.
    Number,
    /// A word of a slot.
    Slot,
    Word,
}

/// A part of a run of digits.
enum Figure {
    Digits(String),
    Beside(u8),
    Unknown,
}

/// By their first unit; the longest first, so that the first match is the longest.
type Phrases<T> = BTreeMap<String, Vec<Phrase<T>>>;

#[derive(Debug)]
struct Phrase<T> {
    units: Vec<String>,
    /// What is written apart from the unit before it.
    apart: Vec<bool>,
    value: T,
}

/// How one language says yes, no and digits. The default one has no words.
#[derive(Debug, Default)]
pub(crate) struct Table {
    phrases: Phrases<Class>,
    negations: Phrases<()>,
    /// Names of digits count only where nothing else stands against them.
    digits_apart: bool,
}

impl Table {
    /// One phrase a line below the name of its section. Lines outside a known section are left out; a test holds the
    /// shipped files to having none.
    pub(crate) fn parse(file: &str) -> Self {
        let mut table = Self::default();
        let mut section = "";
        for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name;
                table.digits_apart |= name == "digits apart";
            } else if section == "negations" {
                insert(&mut table.negations, line, ());
            } else if let Some((phrase, class)) = class(section, line) {
                insert(&mut table.phrases, phrase, class);
            }
        }
        table.phrases.values_mut().for_each(|phrases| phrases.sort_by_key(longest_first));
        table.negations.values_mut().for_each(|phrases| phrases.sort_by_key(longest_first));
        table
    }

    /// The longest phrase that `units` begin with: its length in units and what it says.
    pub(crate) fn longest(&self, units: &[Unit<'_>]) -> Option<(usize, Class)> {
        // What can hide a no is looked for as it is written: "是不是" asks, "是,不是" is a no.
        let may_be_parted = |class: Class| matches!(class, Class::Deny | Class::Amend);
        longest(&self.phrases, units, may_be_parted)
    }

    /// The length of the longest negation that `units` begin with.
    pub(crate) fn negation(&self, units: &[Unit<'_>]) -> Option<usize> {
        longest(&self.negations, units, |()| true).map(|(length, ())| length)
    }

    /// All of `units` in pieces. A word of a slot never hides a no or a wish in it.
    pub(crate) fn parts(&self, units: &[Unit<'_>], slots: &Slots<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < units.len() {
            let rest = &units[at..];
            let (piece, length) = if let Some((length, piece)) = self.number(rest) {
                (piece, length)
            } else {
                // The name of a digit that is none here is a word like others.
                let phrase = self.longest(rest).filter(|(_, class)| !matches!(class, Class::Digit(_)));
                let known = phrase.map_or(0, |(length, _)| length);
                match slots.longest(rest) {
                    Some(slot) if slot > known && !self.objects(rest, slot) => (Piece::Slot, slot),
                    _ => phrase.map_or((Piece::Word, 1), |(length, class)| (Piece::Phrase(class), length)),
                }
            };
            parts.push(Part { piece, units: at..at + length });
            at += length;
        }
        parts
    }

    /// Whether a no or a wish begins in the first `length` of `units`.
    fn objects(&self, units: &[Unit<'_>], length: usize) -> bool {
        (0..length).any(|at| matches!(self.longest(&units[at..]), Some((_, Class::Deny | Class::Amend))))
    }

    /// The maximal run of digits that `units` begin with, and its length in units.
    fn number(&self, units: &[Unit<'_>]) -> Option<(usize, Piece)> {
        if let Some(Numeral::Decimal(number)) = numeral(units.first()?.text) {
            return Some((1, Piece::Digits(number)));
        }
        let mut run = String::new();
        let mut is_sure = false;
        let mut is_guess = false;
        let mut at = 0;
        while let Some(unit) = units.get(at)
            && (at == 0 || unit.gap != Gap::Hard)
            && let Some((length, figure)) = self.figure(units, at)
        {
            match figure {
                Figure::Digits(digits) => {
                    run.push_str(&digits);
                    is_sure = true;
                }
                Figure::Beside(digit) => run.push_str(&digit.to_string()),
                Figure::Unknown => is_guess = true,
            }
            at += length;
        }
        if at == 0 {
            None
        } else if is_guess {
            Some((at, Piece::Number))
        } else if !is_sure {
            Some((at, Piece::Phrase(Class::Filler)))
        } else {
            self.is_number(units, at).then_some((at, Piece::Digits(run)))
        }
    }

    /// What stands at `at` in a run of digits that began with `units`, and its length in units.
    fn figure(&self, units: &[Unit<'_>], at: usize) -> Option<(usize, Figure)> {
        let rest = &units[at..];
        match numeral(rest.first()?.text) {
            Some(Numeral::Digits(digits)) => return Some((1, Figure::Digits(digits))),
            Some(Numeral::Decimal(_)) => return None,
            None => {}
        }
        let (length, class) = self.longest(rest)?;
        match class {
            Class::Digit(digit) => {
                self.is_apart(units, at).then(|| (length, Figure::Digits(digit.to_string())))
            }
            Class::Times(times) => {
                let (more, digit) = self.single_digit(&rest[length..])?;
                Some((length + more, Figure::Digits(digit.repeat(times.into()))))
            }
            Class::Beside(digit) => Some((length, Figure::Beside(digit))),
            Class::Number => Some((length, Figure::Unknown)),
            Class::Strong
            | Class::Alone
            | Class::Weak
            | Class::Filler
            | Class::Deny
            | Class::Amend
            | Class::Other => None,
        }
    }

    /// Whether the name of a digit at `at` may be one: always, unless names have to fill what stands between two gaps.
    fn is_apart(&self, units: &[Unit<'_>], at: usize) -> bool {
        if !self.digits_apart || !units[at].is_apart() {
            return !self.digits_apart || at > 0;
        }
        let mut end = at;
        while let Some((length, Class::Digit(_))) = self.longest(&units[end..]) {
            end += length;
            if units.get(end).is_none_or(Unit::is_apart) {
                return true;
            }
        }
        false
    }

    /// Names of digits are parts of other words where there are no spaces: they count apart from other words, or several
    /// together.
    fn is_number(&self, units: &[Unit<'_>], length: usize) -> bool {
        let is_apart = units[0].is_apart() && units.get(length).is_none_or(Unit::is_apart);
        length > 1 || is_apart || !units[0].is_unspaced()
    }

    fn single_digit(&self, units: &[Unit<'_>]) -> Option<(usize, String)> {
        match numeral(units.first()?.text) {
            Some(Numeral::Digits(digits)) if digits.len() == 1 => return Some((1, digits)),
            Some(Numeral::Digits(_) | Numeral::Decimal(_)) => return None,
            None => {}
        }
        match self.longest(units)? {
            (length, Class::Digit(digit) | Class::Beside(digit)) => Some((length, digit.to_string())),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&[String], Class)> {
        self.phrases.values().flatten().map(|phrase| (phrase.units.as_slice(), phrase.value))
    }
}

fn class<'a>(section: &str, line: &'a str) -> Option<(&'a str, Class)> {
    let class = match section {
        "strong" => Class::Strong,
        "alone" => Class::Alone,
        "weak" => Class::Weak,
        "filler" => Class::Filler,
        "deny" => Class::Deny,
        "amend" => Class::Amend,
        "other" => Class::Other,
        "numbers" => Class::Number,
        "digits" | "digits apart" | "beside" | "times" => {
            let (value, phrase) = line.split_once(' ')?;
            let value = value.parse().ok()?;
            let class = match section {
                "beside" => Class::Beside(value),
                "times" => Class::Times(value),
                _ => Class::Digit(value),
            };
            return Some((phrase, class));
        }
        _ => return None,
    };
    Some((line, class))
}

fn insert<T>(phrases: &mut Phrases<T>, phrase: &str, value: T) {
    let phrase = normal(phrase);
    let cut = cut(&phrase);
    let units: Vec<String> = cut.iter().map(|unit| unit.text.to_owned()).collect();
    if let Some(first) = units.first() {
        let apart = cut.iter().map(Unit::is_apart).collect();
        phrases.entry(first.clone()).or_default().push(Phrase { units, apart, value });
    }
}

fn longest_first<T>(phrase: &Phrase<T>) -> std::cmp::Reverse<usize> {
    std::cmp::Reverse(phrase.units.len())
}

fn longest<T: Copy>(
    phrases: &Phrases<T>,
    units: &[Unit<'_>],
    may_be_parted: impl Fn(T) -> bool,
) -> Option<(usize, T)> {
    let with_first = phrases.get(units.first()?.text)?;
    let begins = |phrase: &Phrase<T>| {
        let said = units.get(..phrase.units.len())?;
        let is_same = phrase.units.iter().zip(said).all(|(word, unit)| word == unit.text);
        let is_parted = said.iter().zip(&phrase.apart).skip(1).any(|(unit, apart)| unit.is_apart() && !apart);
        (is_same && (!is_parted || may_be_parted(phrase.value))).then_some((said.len(), phrase.value))
    };
    with_first.iter().find_map(begins)
}
