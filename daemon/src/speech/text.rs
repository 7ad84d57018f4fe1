// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a speech engine is given to say: text without markup, and without what is silent or invisible.

/// Punctuation that a voice passes over or speaks, as people write it in a message, and the spaces that go with it.
const PUNCTUATION: &str =
    " \u{a0}\u{202f}.,;:!?¡¿'\"()-_/&%+@#*=°€$£‘’‚“”„«»‹›–—…،؛؟।॥、。，：；！？（）「」・";

/// Invisible characters, some of which count as letters or as marks: Unicode's `Default_Ignorable_Code_Point` (16.0).
const INVISIBLE: &[std::ops::RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fff8}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// The first character of `text` that cannot be counted on to be spoken: markup of a speech engine, and what is silent or
/// invisible. A sentence that a person is to agree to must not hold any, or they would agree to something else.
#[must_use]
pub fn unspeakable(text: &str) -> Option<char> {
    judged(text).find_map(|(char, spoken)| (!spoken).then_some(char))
}

/// `text` without what an engine would take for markup: espeak-ng reads `[[…]]` as phonemes and `<…>` as a tag.
pub(super) fn plain(text: &str) -> String {
    judged(text).map(|(char, spoken)| if spoken { char } else { ' ' }).collect()
}

/// Each character with whether it can be counted on to be spoken. A mark is part of the letter before it: an accent that is
/// written apart from its letter, the vowel and tone signs of India and Thailand.
fn judged(text: &str) -> impl Iterator<Item = (char, bool)> {
    text.chars().scan(false, |after_letter, char| {
        let visible = !INVISIBLE.iter().any(|range| range.contains(&char));
        let lettered = visible && (char.is_alphabetic() || *after_letter && is_mark(char));
        *after_letter = lettered;
        Some((char, lettered || char.is_numeric() || PUNCTUATION.contains(char)))
    })
}

/// Whether `char` is drawn onto the character before it. The standard library keeps that table for `escape_debug`, which
/// escapes a mark only where there is nothing before it to stand on.
fn is_mark(char: char) -> bool {
    let alone = char.escape_debug().eq([char]);
    let on_a_letter = ['a', char].iter().collect::<String>();
    !alone && on_a_letter.escape_debug().eq(on_a_letter.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_spoken() {
        for text in [
            "Send 'The dock is closed.' to 0 7 7 0 0, 9 0 0 1 4 2. Is that right?",
            // Accents apart from their letters, as some keyboards and file systems write them; two on one letter.
            "Cafe\u{301} Mu\u{308}ller, Vie\u{302}\u{323}t",
            // Vowel signs, a virama and a nukta; tone marks.
            "नमस्ते, क\u{93c}लम। இரண்டு",
            "ที่นี่ น้ำ",
            "¿Qué? ¡Sí! « Oui\u{a0}» „Ja“, ‚so‘",
            "12\u{202f}°C",
            "입고 확인, 入荷、確認。",
        ] {
            assert_eq!(unspeakable(text), None, "{text}");
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn markup_and_invisible_characters_are_found_and_not_handed_to_the_engine() {
        for (text, found) in [
            ("a [[pay]]", '['),
            ("a <b>", '<'),
            ("a\u{200b}", '\u{200b}'),
            ("a\u{202e}b", '\u{202e}'),
            ("a █", '█'),
            ("a\n", '\n'),
            ("a\u{e000}", '\u{e000}'),
            // Letters that are not drawn.
            ("a\u{3164}", '\u{3164}'),
            ("a\u{115f}", '\u{115f}'),
            ("a\u{1160}", '\u{1160}'),
            ("a\u{ffa0}", '\u{ffa0}'),
            // Marks that are not drawn, or have no letter to stand on.
            ("a\u{34f}", '\u{34f}'),
            ("a\u{fe0f}", '\u{fe0f}'),
            ("a\u{e0100}", '\u{e0100}'),
            ("\u{301}a", '\u{301}'),
            ("4\u{338}", '\u{338}'),
            ("a .\u{301}", '\u{301}'),
        ] {
            assert_eq!(unspeakable(text), Some(found), "{text:?}");
        }
        assert_eq!(plain("a [[p]] <b>"), "a   p    b ");
    }
}
