// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where words stand in other words.

use std::ops::Range;

use super::Token;

/// The best way to find a sentence in what was said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    /// So many of its tokens are there, in order.
    pub(super) shared: usize,
    /// What was said from this token on is none of it.
    pub(super) end: usize,
}

/// The most tokens that both have in one order, where no fixed token of either is left out; `None` if one has to be.
pub(super) fn of(wanted: &[Token<'_>], said: &[Token<'_>]) -> Option<Alignment> {
    // The best for what came before of `wanted`, and each beginning of `said`.
    let mut best: Vec<Option<usize>> = vec![Some(0)];
    for token in said {
        let before = best.last().copied().flatten();
        best.push(before.filter(|_| !token.is_fixed));
    }
    for want in wanted {
        let before = best;
        best = vec![before[0].filter(|_| !want.is_fixed)];
        for (at, token) in said.iter().enumerate() {
            let without_want = before[at + 1].filter(|_| !want.is_fixed);
            let without_said = best[at].filter(|_| !token.is_fixed);
            let with_both = before[at].filter(|_| want.text == token.text).map(|shared| shared + 1);
            best.push(without_want.max(without_said).max(with_both));
        }
    }
    let shared = best.last().copied().flatten()?;
    // With fewer tokens nothing more is shared; what comes after the end has nothing fixed in it.
    let end = best.iter().position(|here| *here == Some(shared))?;
    Some(Alignment { shared, end })
}

/// Every place where `short` stands in `long`, in time linear in both (Knuth, Morris, Pratt).
pub(super) fn runs<T: PartialEq>(short: &[T], long: &[T]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // For each beginning of `short`, the length of the longest shorter beginning that it ends with.
    let mut borders = vec![0; short.len()];
    let mut length = 0;
    for at in 1..short.len() {
        while length > 0 && short[at] != short[length] {
            length = borders[length - 1];
        }
        length += usize::from(short[at] == short[length]);
        borders[at] = length;
    }
    if short.is_empty() {
        return found;
    }
    let mut length = 0;
    for (at, item) in long.iter().enumerate() {
        while length > 0 && (length == short.len() || *item != short[length]) {
            length = borders[length - 1];
        }
        length += usize::from(*item == short[length]);
        if length == short.len() {
            found.push(at + 1 - length..at + 1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_also_where_they_overlap() {
        let runs = |short: &str, long: &str| runs(short.as_bytes(), long.as_bytes());
        assert_eq!(runs("aab", "aaab aab"), [1..4, 5..8]);
        assert_eq!(runs("aa", "aaa"), [0..2, 1..3]);
        assert_eq!(runs("a", "aba"), [0..1, 2..3]);
        assert_eq!(runs("abac", "abab abac"), vec![5..9]);
        assert_eq!(runs("", "aba"), []);
        assert_eq!(runs("ab", "a"), []);
    }
}
