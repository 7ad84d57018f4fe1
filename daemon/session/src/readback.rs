// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was said of a question: how the device says it, whether the model said it, and whether what came in is an echo.
//!
//! Numbers are compared as whole runs of digits, never in part: 98765432101 does not hold 9876543210. The time each
//! takes is bounded: a sentence too long to be said counts as not said.

mod alignment;
mod digits;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::lexicon::{Class, Gap, Locale, Piece, Slots, Table, Unit, cut, normal};

pub use digits::spoken;

/// The longest sentence that is compared, in words; a minute and a half of speech. Comparing takes the product of both
/// lengths.
const WORDS_MAX: usize = 1000;

/// Whether a model that was told to say `summary` said it, by the transcript of what was played: in order, nine in ten
/// of its words, among them all of every slot, every number and every negation, with no number and no negation beside
/// them, and nothing after it that answers it.
///
/// What follows the sentence may be the question ("Is that right?") if there is no agreement and no denial in it that
/// would do as an answer. Give a question that has one with the summary.
#[must_use]
pub fn says(locale: Locale, summary: &str, slots: &[String], transcript: &str) -> bool {
    let table = locale.table();
    let (summary, transcript) = (normal(summary), normal(transcript));
    let (summary, transcript) = (cut(&summary), cut(&transcript));
    if summary.is_empty() || summary.len() > WORDS_MAX || transcript.len() > 2 * WORDS_MAX {
        return false;
    }
    let mut wanted = tokens(table, &summary);
    let said = tokens(table, &transcript);
    if !slots.iter().all(|slot| fix_slot(table, slot, &mut wanted)) {
        return false;
    }
    let Some(alignment) = alignment::of(&wanted, &said) else { return false };
    let rest = said.get(alignment.end).map_or(transcript.len(), |token| token.units.start);
    alignment.shared * 10 >= wanted.len() * 9 && !answers(table, &transcript[rest..])
}

/// Whether every slot is in `summary`, its numbers as whole runs of digits: what is not cannot be judged by a person who
/// hears the summary.
#[must_use]
pub fn covers(summary: &str, slots: &[String]) -> bool {
    let table = Table::default();
    let summary = normal(summary);
    let units = cut(&summary);
    let mut wanted = tokens(&table, &units);
    slots.iter().all(|slot| fix_slot(&table, slot, &mut wanted))
}

/// Whether the words of `text` are a run of the words that were `played`, so that it may be their echo. Digits are
/// compared one by one, however they are grouped. A single character of a script without spaces is part of many words,
/// and a run only if it stands alone there too. No words are no run.
#[must_use]
pub fn is_run_of(text: &str, played: &str) -> bool {
    let (text, played) = (normal(text), normal(played));
    let (text, played) = (echo_words(&text), echo_words(&played));
    let words = |units: &[Unit<'_>]| units.iter().map(|unit| unit.text.to_owned()).collect();
    let (text_words, played_words): (Vec<String>, Vec<String>) = (words(&text), words(&played));
    let stands_alone = |found: Range<usize>| {
        let is_one = text.len() == 1 && text[0].is_unspaced();
        let is_apart = |at: usize| played.get(at).is_none_or(Unit::is_apart);
        !is_one || is_apart(found.start) && is_apart(found.end)
    };
    !text.is_empty() && alignment::runs(&text_words, &played_words).into_iter().any(stands_alone)
}

/// Something that is compared as a whole.
#[derive(Debug, PartialEq, Eq)]
struct Token<'a> {
    text: std::borrow::Cow<'a, str>,
    units: Range<usize>,
    /// A number or a negation, or part of a slot: it must be there, and no other may be.
    is_fixed: bool,
}

fn tokens<'a>(table: &Table, units: &[Unit<'a>]) -> Vec<Token<'a>> {
    let mut negated = vec![false; units.len()];
    for at in 0..units.len() {
        if let Some(length) = table.negation(&units[at..]) {
            negated[at..at + length].fill(true);
        }
    }
    let mut tokens = Vec::new();
    for part in table.parts(units, &Slots::default()) {
        let is_number = part.piece == Piece::Number;
        if let Piece::Digits(run) = part.piece {
            tokens.push(Token { text: run.into(), units: part.units, is_fixed: true });
            continue;
        }
        tokens.extend(part.units.map(|at| {
            let text = units[at].text;
            let text = text.strip_suffix("'s").unwrap_or(text).into();
            Token { text, units: at..at + 1, is_fixed: is_number || negated[at] }
        }));
    }
    tokens
}

/// Fixes the words of `slot` wherever they stand in `wanted`; whether they do.
fn fix_slot(table: &Table, slot: &str, wanted: &mut [Token<'_>]) -> bool {
    let slot = normal(slot);
    let units = cut(&slot);
    let slot = tokens(table, &units);
    if slot.is_empty() {
        return true;
    }
    let slot: Vec<&str> = slot.iter().map(|token| token.text.as_ref()).collect();
    let found = {
        let wanted: Vec<&str> = wanted.iter().map(|token| token.text.as_ref()).collect();
        alignment::runs(&slot, &wanted)
    };
    let is_there = !found.is_empty();
    for token in found.into_iter().flatten() {
        wanted[token].is_fixed = true;
    }
    is_there
}

/// Whether something in `units` would do as an answer to the question.
fn answers(table: &Table, units: &[Unit<'_>]) -> bool {
    let parts = table.parts(units, &Slots::default());
    parts.iter().any(|part| matches!(part.piece, Piece::Phrase(Class::Strong | Class::Alone | Class::Deny)))
}

/// Words, with every digit by itself.
fn echo_words(text: &str) -> Vec<Unit<'_>> {
    let mut words = Vec::new();
    for unit in cut(text) {
        if !unit.text.starts_with(|first: char| first.is_ascii_digit()) {
            words.push(unit);
            continue;
        }
        let mut gap = unit.gap;
        for (at, c) in unit.text.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
            words.push(Unit { text: &unit.text[at..at + c.len_utf8()], gap });
            gap = Gap::None;
        }
    }
    words
}
