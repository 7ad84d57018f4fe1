// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes texts comparable and cuts them into units, the same way in every language.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// A word, a numeral with the marks inside it, or one character of a script that is written without spaces (Hangul is
/// cut as finely, as its endings stand against the word).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unit<'a> {
    pub(crate) text: &'a str,
    /// What parts it from the unit before.
    pub(crate) gap: Gap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    /// Nothing.
    None,
    /// Spaces and light punctuation. Digits on both sides are one number.
    Soft,
    /// The end of a sentence or the like.
    Hard,
}

impl Unit<'_> {
    pub(crate) fn is_apart(&self) -> bool {
        self.gap != Gap::None
    }

    pub(crate) fn is_unspaced(&self) -> bool {
        self.text.chars().next().is_some_and(is_unspaced)
    }
}

/// A numeral in figures.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Numeral {
    Digits(String),
    /// With a fraction, without the zeros at its end.
    Decimal(String),
}

/// NFKC, without case, with plain digits and apostrophes, without characters that are not seen. The accents of Greek
/// and the dots of the Russian ё are often left out, so they do not count either.
pub(crate) fn normal(text: &str) -> String {
    let seen = text.chars().filter(|c| !is_ignorable(*c)).map(plain_apostrophe);
    let folded = seen.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    folded.nfkc().map(|c| plain_digit(plain_vowel(c))).collect()
}

/// The units of a [`normal`] text.
pub(crate) fn cut(text: &str) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    let mut gap = Gap::Hard;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_unspaced(first) { character_length(rest) } else { word_length(rest) };
        if length == 0 {
            rest = &rest[first.len_utf8()..];
            gap = gap.max(gap_of(first, rest));
        } else {
            let (text, after) = rest.split_at(length);
            units.push(Unit { text, gap });
            gap = Gap::None;
            rest = after;
        }
    }
    units
}

/// The numeral that `unit` is, if it is one. "1,250" and "98765.43210" are digits, "12.50" has a fraction: one mark with
/// one or two digits after it, groups of three before it.
pub(crate) fn numeral(unit: &str) -> Option<Numeral> {
    if !unit.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')) {
        return None;
    }
    let groups: Vec<&str> = unit.split(['.', ',']).collect();
    let (fraction, whole) = groups.split_last()?;
    let grouped = whole.iter().skip(1).all(|group| group.len() == 3);
    if whole.is_empty() || fraction.len() > 2 || !grouped {
        return Some(Numeral::Digits(groups.concat()));
    }
    let fraction = fraction.trim_end_matches('0');
    let whole = whole.concat();
    Some(Numeral::Decimal(if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }))
}

/// The digit that `c` is, in any script.
pub(crate) fn digit(c: char) -> Option<char> {
    let plain = plain_digit(c.nfkc().next().unwrap_or(c));
    plain.is_ascii_digit().then_some(plain)
}

/// Written without spaces between words, or (Hangul) with endings that stand against them.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

fn character_length(text: &str) -> usize {
    let marks = text.char_indices().skip(1).find(|(_, c)| !is_combining_mark(*c));
    marks.map_or(text.len(), |(at, _)| at)
}

/// How much of `text` is its first word; 0 if it begins with something else. Apostrophes stay inside a word and marks
/// inside a numeral; every other punctuation parts.
fn word_length(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut length = 0;
    let mut is_numeral = true;
    while let Some((at, c)) = chars.next() {
        if is_word(c) {
            length = at + c.len_utf8();
            is_numeral &= c.is_ascii_digit();
            continue;
        }
        let next = chars.peek().map(|(_, next)| *next);
        let joins = length > 0
            && next.is_some_and(|next| match c {
                '\'' => is_word(next),
                '.' | ',' => is_numeral && next.is_ascii_digit(),
                _ => false,
            });
        if !joins {
            break;
        }
    }
    length
}

/// Marks are part of a word: the vowel signs of Devanagari are.
fn is_word(c: char) -> bool {
    !is_unspaced(c) && (c.is_alphanumeric() || is_combining_mark(c))
}

/// How far `c`, no part of a unit, parts what is before it from what is `after` it.
pub(crate) fn gap_of(c: char, after: &str) -> Gap {
    match c {
        '?' | '!' | '\u{3002}' | '\n' | ';' => Gap::Hard,
        ':' if !after.starts_with(|next: char| next.is_ascii_digit()) => Gap::Hard,
        _ => Gap::Soft,
    }
}

fn plain_apostrophe(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{02bc}' | '\u{00b4}' | '`' | '\u{2032}' => '\'',
        other => other,
    }
}

fn plain_vowel(c: char) -> char {
    match c {
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' => 'ι',
        'ό' => 'ο',
        'ύ' => 'υ',
        'ώ' => 'ω',
        'ΐ' => 'ϊ',
        'ΰ' => 'ϋ',
        'ё' => 'е',
        other => other,
    }
}

fn plain_digit(c: char) -> char {
    let zeros = &ZEROS[..ZEROS.partition_point(|zero| *zero <= c)];
    let above = zeros.last().map(|zero| u32::from(c) - u32::from(*zero));
    above.filter(|above| *above < 10).and_then(|above| char::from_digit(above, 10)).unwrap_or(c)
}

fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The zeros of the decimal digits that NFKC leaves as they are (Unicode 14, general category Nd), in order.
const ZEROS: [char; 58] = [
    '\u{0660}',
    '\u{06f0}',
    '\u{07c0}',
    '\u{0966}',
    '\u{09e6}',
    '\u{0a66}',
    '\u{0ae6}',
    '\u{0b66}',
    '\u{0be6}',
    '\u{0c66}',
    '\u{0ce6}',
    '\u{0d66}',
    '\u{0de6}',
    '\u{0e50}',
    '\u{0ed0}',
    '\u{0f20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17e0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19d0}',
    '\u{1a80}',
    '\u{1a90}',
    '\u{1b50}',
    '\u{1bb0}',
    '\u{1c40}',
    '\u{1c50}',
    '\u{a620}',
    '\u{a8d0}',
    '\u{a900}',
    '\u{a9d0}',
    '\u{a9f0}',
    '\u{aa50}',
    '\u{abf0}',
    '\u{104a0}',
    '\u{10d30}',
    '\u{11066}',
    '\u{110f0}',
    '\u{11136}',
    '\u{111d0}',
    '\u{112f0}',
    '\u{11450}',
    '\u{114d0}',
    '\u{11650}',
    '\u{116c0}',
    '\u{11730}',
    '\u{118e0}',
    '\u{11950}',
    '\u{11c50}',
    '\u{11d50}',
    '\u{11da0}',
    '\u{16a60}',
    '\u{16ac0}',
    '\u{16b50}',
    '\u{1e140}',
    '\u{1e2f0}',
    '\u{1e950}',
];

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> Vec<String> {
        cut(&normal(text)).iter().map(|unit| unit.text.to_owned()).collect()
    }

    #[test]
    fn words_are_cut_alike_in_every_script() {
        assert_eq!(units("Don\u{2019}t \u{2018}stop\u{2019}!"), ["don't", "stop"]);
        assert_eq!(units("don\u{b4}t STRASSE stra\u{df}e"), ["don't", "strasse", "strasse"]);
        assert_eq!(units("\u{928}\u{939}\u{940}\u{902}\u{964} \u{939}\u{93e}\u{901}"), ["नहीं", "हाँ"]);
        assert_eq!(units("はい、OKです"), ["は", "い", "ok", "で", "す"]);
        assert_eq!(units("네4321번"), ["네", "4321", "번"]);
        assert_eq!(units("ΝΑΙ ναί Σωστός"), ["ναι", "ναι", "σωστοσ"]);
        assert_eq!(units("y\u{200b}es e\u{301}"), ["yes", "é"]);
        assert_eq!(units("'' ... ' \u{1f600}"), [""; 0]);
    }

    #[test]
    fn digits_of_any_script_are_digits() {
        assert_eq!(units("９８ ९८ ٩٨ 𝟗𝟖"), ["98"; 4]);
        assert_eq!(digit('९'), Some('9'));
        assert_eq!(digit('９'), Some('9'));
        assert_eq!(digit('x'), None);
        assert!(ZEROS.is_sorted());
    }

    #[test]
    fn a_fraction_is_no_run_of_digits() {
        let digits = |text: &str| Some(Numeral::Digits(text.to_owned()));
        let decimal = |text: &str| Some(Numeral::Decimal(text.to_owned()));
        assert_eq!(numeral("98765"), digits("98765"));
        assert_eq!(numeral("98765.43210"), digits("9876543210"));
        assert_eq!(numeral("06.12.34.56"), digits("06123456"));
        assert_eq!(numeral("1,250"), digits("1250"));
        assert_eq!(numeral("1,250.50"), decimal("1250.5"));
        assert_eq!(numeral("12.5"), decimal("12.5"));
        assert_eq!(numeral("12.00"), decimal("12"));
        assert_eq!(numeral("12a"), None);
        assert_eq!(units("at 7:30, 12.50. Now"), ["at", "7", "30", "12.50", "now"]);
    }

    #[test]
    fn the_end_of_a_sentence_parts_numbers_and_the_colon_of_a_time_does_not() {
        let hard = |text: &str| cut(&normal(text)).get(1).map(|unit| unit.gap == Gap::Hard);
        for parted in ["5: 6", "5? 6", "5\n6", "5。6"] {
            assert_eq!(hard(parted), Some(true), "{parted}");
        }
        for joined in ["5:6", "5 6", "5-6", "5. 6", "(5) 6"] {
            assert_eq!(hard(joined), Some(false), "{joined}");
        }
    }
}
