// SPDX-License-Identifier: MIT OR Apache-2.0

//! How the device says digits that must be heard one by one.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::lexicon::{Gap, Piece, Slots, Table, cut, digit, gap_of, is_unspaced, normal};

/// Fewer digits than these are said as the number that they are.
const SINGLY_FROM: usize = 3;

/// The summary as the device says it: the runs of three digits or more that a slot has are said singly and in groups,
/// "9876543210" as "9 8 7, 6 5 4, 3 2 1 0". Everything else is as it was, also numbers with a fraction and digits that stand
/// singly already: whoever wrote them so has grouped them as they should be heard.
#[must_use]
pub fn spoken(summary: &str, slots: &[String]) -> String {
    let runs: BTreeSet<String> = slots.iter().flat_map(|slot| runs_of(slot)).collect();
    let mut spoken = String::with_capacity(summary.len());
    let mut copied = 0;
    for stretch in stretches(summary) {
        let one_by_one = |number: &Range<usize>| digits_of(&summary[number.clone()]).len() == 1;
        if numbers(summary, stretch.clone()).iter().all(one_by_one) {
            continue;
        }
        let places: Vec<Range<usize>> = if runs.contains(&digits_of(&summary[stretch.clone()])) {
            vec![stretch]
        } else {
            numbers(summary, stretch)
        };
        for place in places {
            let text = &summary[place.clone()];
            if runs.contains(&digits_of(text)) {
                spoken.push_str(&summary[copied..place.start]);
                spoken.push_str(&grouped(text));
                copied = place.end;
            }
        }
    }
    spoken.push_str(&summary[copied..]);
    spoken
}

/// The runs of digits in `slot` that are said singly.
fn runs_of(slot: &str) -> Vec<String> {
    let slot = normal(slot);
    let parts = Table::default().parts(&cut(&slot), &Slots::default());
    let runs = parts.into_iter().filter_map(|part| match part.piece {
        Piece::Digits(run) => Some(run),
        Piece::Phrase(_) | Piece::Number | Piece::Slot | Piece::Word => None,
    });
    runs.filter(|run| run.len() >= SINGLY_FROM && !run.contains('.')).collect()
}

/// Where digits stand that nothing but spaces and light punctuation parts, and no letter touches.
fn stretches(text: &str) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let mut is_part_of_word = false;
    for (at, c) in text.char_indices() {
        if digit(c).is_some() {
            if is_part_of_word {
                continue;
            }
            open = Some(open.map_or(at, |open| open.start)..at + c.len_utf8());
        } else if c.is_alphanumeric() || is_inside_a_word(c, &text[..at], &text[at + c.len_utf8()..]) {
            let touches = open.as_ref().is_some_and(|open| open.end == at) && !is_unspaced(c);
            stretches.extend(open.take().map(|open| if touches { without_last(text, open) } else { open }));
            is_part_of_word = !is_unspaced(c);
        } else {
            is_part_of_word = false;
            if gap_of(c, &text[at + c.len_utf8()..]) == Gap::Hard {
                stretches.extend(open.take());
            }
        }
    }
    stretches.extend(open);
    stretches
}

/// An apostrophe with letters or digits on both sides: what it stands in is one word.
fn is_inside_a_word(c: char, before: &str, after: &str) -> bool {
    let holds = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    matches!(c, '\'' | '\u{2019}') && holds(before.chars().next_back()) && holds(after.chars().next())
}

/// What is left of a stretch whose last number is the beginning of a word.
fn without_last(text: &str, stretch: Range<usize>) -> Range<usize> {
    let numbers = numbers(text, stretch.clone());
    let end = numbers.iter().rev().nth(1).map_or(stretch.start, |number| number.end);
    stretch.start..end
}

/// The numbers of a stretch, each without a gap in it.
fn numbers(text: &str, stretch: Range<usize>) -> Vec<Range<usize>> {
    let digits = text[stretch.clone()].char_indices().filter(|(_, c)| digit(*c).is_some());
    let mut numbers: Vec<Range<usize>> = Vec::new();
    for (at, c) in digits {
        let place = stretch.start + at..stretch.start + at + c.len_utf8();
        match numbers.last_mut() {
            Some(last) if last.end == place.start => last.end = place.end,
            _ => numbers.push(place),
        }
    }
    numbers
}

fn digits_of(text: &str) -> String {
    text.chars().filter_map(digit).collect()
}

/// Threes, and a four at the end rather than a single digit there.
fn grouped(text: &str) -> String {
    let digits: Vec<char> = text.chars().filter(|c| digit(*c).is_some()).collect();
    let mut groups = Vec::new();
    let mut rest = digits.as_slice();
    while !rest.is_empty() {
        let length = if rest.len() == 4 { 4 } else { rest.len().min(3) };
        let (group, after) = rest.split_at(length);
        groups.push(group.iter().map(char::to_string).collect::<Vec<_>>().join(" "));
        rest = after;
    }
    groups.join(", ")
}
