// SPDX-License-Identifier: MIT OR Apache-2.0

//! The words that an answer may repeat.

use std::collections::BTreeMap;

use super::words::Unit;

/// The longest piece of a text without spaces that is looked for as one; a person repeats nothing longer.
const PIECE_UNITS_MAX: usize = 40;

/// The most such pieces with one beginning. The rest is left out, and an answer with it in it is unclear.
const SAME_BEGINNING_MAX: usize = 32;

/// Single words, and where there are no spaces what stands between two gaps.
#[derive(Debug, Default)]
pub(crate) struct Slots<'a>(BTreeMap<&'a str, Vec<&'a [Unit<'a>]>>);

impl<'a> Slots<'a> {
    pub(crate) fn of(texts: impl IntoIterator<Item = &'a [Unit<'a>]>) -> Self {
        let mut slots: BTreeMap<&'a str, Vec<&'a [Unit<'a>]>> = BTreeMap::new();
        for text in texts {
            let together = |left: &Unit<'_>, right: &Unit<'_>| {
                left.is_unspaced() && right.is_unspaced() && !right.is_apart()
            };
            for piece in text.chunk_by(together).filter(|piece| piece.len() <= PIECE_UNITS_MAX) {
                let same = slots.entry(piece[0].text).or_default();
                if same.len() < SAME_BEGINNING_MAX && !same.iter().any(|known| is_same(known, piece)) {
                    same.push(piece);
                }
            }
        }
        slots.values_mut().for_each(|same| same.sort_by_key(|piece| std::cmp::Reverse(piece.len())));
        Self(slots)
    }

    /// The length of the longest piece that `units` begin with.
    pub(crate) fn longest(&self, units: &[Unit<'_>]) -> Option<usize> {
        let same = self.0.get(units.first()?.text)?;
        let lengths = same.iter().map(|piece| (piece.len(), *piece));
        lengths
            .filter(|(length, piece)| units.get(..*length).is_some_and(|begin| is_same(begin, piece)))
            .map(|(length, _)| length)
            .next()
    }
}

fn is_same(left: &[Unit<'_>], right: &[Unit<'_>]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.text == right.text)
}
