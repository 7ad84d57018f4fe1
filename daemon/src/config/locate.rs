// SPDX-License-Identifier: MIT OR Apache-2.0

//! Places in a file, and the key that was probably meant.

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
}

/// Where the byte `offset` of `text` is. An offset past the end is the end.
pub(super) fn position(text: &str, offset: usize) -> Position {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    // A continuation byte of UTF-8 begins no character.
    let column = before[line_start..].iter().filter(|&&byte| byte & 0xC0 != 0x80).count() + 1;
    Position { line, column }
}

/// The known key that `key` probably means: the same last part in another section, or few typing errors away.
pub(super) fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    // A third of the key wrong is another key; two errors are forgiven in the shortest.
    let limit = (key.chars().count() / 3).clamp(2, 6);
    known
        .map(|candidate| {
            let whole = distance(key, candidate);
            let cost = if last(key) == last(candidate) { whole.min(limit) } else { whole };
            (cost, whole, candidate)
        })
        .filter(|&(cost, ..)| cost <= limit)
        .min()
        .map(|(.., candidate)| candidate)
}

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours. `-` and `_` are one
/// character here, as people write keys both ways.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| text.chars().map(|c| if c == '-' { '_' } else { c }).collect::<Vec<_>>();
    let (a, b) = (fold(a), fold(b));
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let mut best = (previous[j] + usize::from(from != to)).min(previous[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_counts_characters_not_bytes() {
        let text = "a = 1\nα = ?\n";
        assert_eq!(position(text, 0), Position { line: 1, column: 1 });
        assert_eq!(position(text, text.find('?').unwrap_or_default()), Position { line: 2, column: 5 });
        assert_eq!(position(text, 999), Position { line: 3, column: 1 });
    }

    #[test]
    fn distance_counts_typing_errors() {
        for (a, b, expected) in
            [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("", "abc", 3), ("a-b", "a_b", 0)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn nearest_forgives_typing_and_wrong_sections_only() {
        let known = ["vad.hangover_ms", "vad.threshold", "log.level", "gate.deadline_s"];
        let near = |key| nearest(key, known.into_iter());
        assert_eq!(near("vad.hangver_ms"), Some("vad.hangover_ms"));
        assert_eq!(near("vad.hangover-ms"), Some("vad.hangover_ms"));
        assert_eq!(near("audio.threshold"), Some("vad.threshold"));
        assert_eq!(near("gate.deadlien_s"), Some("gate.deadline_s"));
        assert_eq!(near("vad.colour"), None);
    }
}
