// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads a whole utterance as a yes, a no, a wish for something else, or none of these.
//!
//! Whole, never in part: "yesterday", "I know" and "right, so what's the weather" are not answers. In doubt it is not
//! a yes. A language is a file of phrases, `lexicon/<tag>.txt`; nothing of the rules is in it. The time a reading takes
//! grows with the length of the text, whatever is in it.

mod locale;
mod slots;
mod table;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;

use crate::confirm::Reading;

pub use locale::Locale;
pub(crate) use slots::Slots;
pub(crate) use table::{Class, Piece, Table};
pub(crate) use words::{Gap, Unit, cut, digit, gap_of, is_unspaced, normal};

use table::Part;

/// What an answer may repeat, and what it must.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected<'a> {
    /// The digits, amounts and names of the question. An answer may repeat them; digits of none of them are a wish for
    /// something else.
    pub slots: &'a [String],
    /// The answer must have the last so many digits of a slot, or all of them if no slot has as many. They are then
    /// agreement by themselves, and nothing is without them. `Some(0)` asks for none.
    pub repeat_last: Option<usize>,
    /// Words and single digits that the answer must have beside its agreement, in any order but that of digits that
    /// follow one another. None asks for none; one without a letter or digit can be met by no answer.
    pub challenge: &'a [String],
}

/// Reads `text`, the answer to a question, in the language `locale`, while the languages `also` are spoken too: a phrase
/// that agrees in one of them and disagrees in the other is neither.
///
/// In this order: a deny phrase makes a no; an amend phrase or digits other than those expected make an amend; nothing
/// but affirmation, filler and expected words, with at least one strong affirmation or the digits to repeat, makes a yes.
#[must_use]
pub fn read(locale: Locale, also: &[Locale], text: &str, expected: &Expected<'_>) -> Reading {
    let table = locale.table();
    let text = normal(text);
    let said = cut(&text);
    let slot_texts: Vec<String> = expected.slots.iter().map(|slot| normal(slot)).collect();
    let slots: Vec<Vec<Unit<'_>>> = slot_texts.iter().map(|slot| cut(slot)).collect();
    let challenge_text = normal(&expected.challenge.join(" "));
    let challenge = cut(&challenge_text);
    let digits = Digits::of(table, &slots, &challenge, expected.repeat_last);

    let may_repeat = Slots::of(slots.iter().map(Vec::as_slice).chain([challenge.as_slice()]));
    let parts = table.parts(&said, &may_repeat);
    let contested = contested(locale, also, &said, &parts);
    let has = |class| parts.iter().any(|part| is(part, class) && !contested.contains(&phrase(&said, part)));

    if has(Class::Deny) {
        return Reading::No;
    }
    let runs = || parts.iter().filter_map(run);
    if has(Class::Amend) || runs().any(|run| !digits.may_be(run)) {
        return Reading::Amend;
    }
    let is_alone = !parts.is_empty() && parts.iter().all(|part| is(part, Class::Alone));
    let is_agreeable = parts.iter().all(may_stand_in_a_yes);
    let is_met = expected.challenge.iter().all(|word| !cut(&normal(word)).is_empty())
        && is_challenge_met(table, &challenge, &said, &parts)
        && (digits.repeat.is_none() || runs().any(|run| digits.repeats(run)));
    let agrees = is_alone || is_agreeable && (has(Class::Strong) || digits.repeat.is_some());
    if contested.is_empty() && agrees && is_met { Reading::Yes } else { Reading::Unclear }
}

/// The digits that an answer may have.
struct Digits {
    slots: BTreeSet<String>,
    challenge: BTreeSet<String>,
    /// How many it must repeat.
    repeat: Option<usize>,
}

impl Digits {
    fn of(table: &Table, slots: &[Vec<Unit<'_>>], challenge: &[Unit<'_>], repeat: Option<usize>) -> Self {
        let runs_of = |units: &[Unit<'_>]| -> Vec<String> {
            let parts = table.parts(units, &Slots::default());
            parts.iter().filter_map(run).map(str::to_owned).collect()
        };
        let slots: BTreeSet<String> = slots.iter().flat_map(|slot| runs_of(slot)).collect();
        let longest = slots.iter().map(String::len).max().unwrap_or(0);
        let repeat = repeat.filter(|count| *count > 0).map(|count| count.min(longest.max(1)));
        Self { slots, challenge: runs_of(challenge).into_iter().collect(), repeat }
    }

    fn may_be(&self, run: &str) -> bool {
        self.slots.contains(run) || self.challenge.contains(run) || self.repeats(run)
    }

    /// Whether `run` is the end of a slot's digits that was asked for, or more of them.
    fn repeats(&self, run: &str) -> bool {
        let is_end = |slot: &String| !slot.contains('.') && slot.ends_with(run);
        self.repeat.is_some_and(|count| {
            run.len() >= count && (self.slots.contains(run) || self.slots.iter().any(is_end))
        })
    }
}

fn run(part: &Part) -> Option<&str> {
    match &part.piece {
        Piece::Digits(run) => Some(run),
        Piece::Phrase(_) | Piece::Number | Piece::Slot | Piece::Word => None,
    }
}

fn is(part: &Part, class: Class) -> bool {
    part.piece == Piece::Phrase(class)
}

fn phrase<'a>(said: &[Unit<'a>], part: &Part) -> Vec<&'a str> {
    said[part.units.clone()].iter().map(|unit| unit.text).collect()
}

fn may_stand_in_a_yes(part: &Part) -> bool {
    match &part.piece {
        Piece::Phrase(Class::Strong | Class::Weak | Class::Filler) | Piece::Digits(_) | Piece::Slot => true,
        Piece::Phrase(_) | Piece::Number | Piece::Word => false,
    }
}

/// The phrases that agree in one language and disagree in another.
fn contested<'a>(
    locale: Locale,
    also: &[Locale],
    said: &[Unit<'a>],
    parts: &[Part],
) -> BTreeSet<Vec<&'a str>> {
    let others: BTreeSet<Locale> = also.iter().copied().filter(|other| *other != locale).collect();
    if others.is_empty() {
        return BTreeSet::new();
    }
    let agreeing = [Class::Strong, Class::Alone, Class::Weak, Class::Filler];
    let mut known = BTreeSet::new();
    let mut contested = BTreeSet::new();
    for part in parts {
        let denies = is(part, Class::Deny);
        if !denies && !agreeing.iter().any(|class| is(part, *class)) {
            continue;
        }
        let phrase = phrase(said, part);
        if !known.insert(phrase.clone()) {
            continue;
        }
        let units = &said[part.units.clone()];
        let is_opposite = others.iter().any(|other| {
            let parts = other.table().parts(units, &Slots::default());
            if denies {
                let agrees = [Class::Strong, Class::Alone, Class::Weak];
                parts.iter().all(|part| agrees.iter().any(|class| is(part, *class)))
            } else {
                parts.iter().any(|part| is(part, Class::Deny))
            }
        });
        if is_opposite {
            contested.insert(phrase);
        }
    }
    contested
}

/// Whether all of the challenge is in what was said.
fn is_challenge_met(table: &Table, challenge: &[Unit<'_>], said: &[Unit<'_>], parts: &[Part]) -> bool {
    let words: BTreeSet<&str> = said.iter().map(|unit| unit.text).collect();
    let wanted = table.parts(challenge, &Slots::default());
    wanted.iter().all(|want| {
        let is_run = run(want).is_some_and(|digits| parts.iter().any(|part| run(part) == Some(digits)));
        is_run || challenge[want.units.clone()].iter().all(|unit| words.contains(unit.text))
    })
}
