// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads a whole utterance as a yes, a no, a wish for something else, or none of these.
//!
//! Whole, never in part: "yesterday", "I know" and "right, so what's the weather" are not answers. In doubt it is not
//! a yes.

use std::sync::LazyLock;

use crate::confirm::Reading;

static EN: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::parse(include_str!("lexicon/en.txt")));

/// A language with a lexicon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locale {
    /// English.
    En,
    /// Spanish.
    Es,
}

impl Locale {
    /// Every language there is.
    pub const ALL: [Self; 2] = [Self::En, Self::Es];

    /// The language of a BCP 47 tag.
    #[must_use]
    pub fn parse(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|locale| tag.split('-').next() == Some(locale.tag()))
    }

    /// Its BCP 47 tag.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Es => "es",
        }
    }
}

/// What an answer may repeat, and what it must.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected<'a> {
    /// The digits, amounts and names of the question.
    pub slots: &'a [String],
    /// The answer must have the last so many digits of a slot.
    pub repeat_last: Option<usize>,
    /// Words that the answer must have.
    pub challenge: &'a [String],
}

/// Reads `text`, the answer to a question.
#[must_use]
pub fn read(_locale: Locale, _also: &[Locale], text: &str, expected: &Expected<'_>) -> Reading {
    let slots = [expected.slots, expected.challenge].concat();
    let said = words(text);
    let reading = read_en(text, &slots);
    let lacks_a_word = !expected.challenge.iter().all(|word| said.contains(word));
    if reading == Reading::Yes && lacks_a_word { Reading::Unclear } else { reading }
}

/// Reads `text`, the answer to a question whose `slots` (digits, amounts, names) it may repeat.
///
/// In this order: a deny phrase makes a no; an amend phrase or digits other than those of a slot make an amend;
/// nothing but affirmation, filler and slot words, with at least one strong affirmation, makes a yes.
pub(crate) fn read_en(text: &str, slots: &[String]) -> Reading {
    EN.read(text, slots)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Strong,
    Weak,
    Filler,
    Deny,
    Amend,
}

/// A piece of an utterance.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Phrase(Class),
    /// A maximal run of digits, however they were said.
    Digits(String),
    /// A number that is not said digit by digit. It is not guessed at.
    Number,
    Word(&'a str),
}

struct Lexicon {
    /// Longest first, so that the first match is the longest.
    phrases: Vec<(Vec<String>, Class)>,
}

impl Lexicon {
    /// Lines outside a known section are left out; a test holds the shipped file to having none.
    fn parse(file: &str) -> Self {
        let mut phrases = Vec::new();
        let mut class = None;
        for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') {
                class = match line {
                    "[strong]" => Some(Class::Strong),
                    "[weak]" => Some(Class::Weak),
                    "[filler]" => Some(Class::Filler),
                    "[deny]" => Some(Class::Deny),
                    "[amend]" => Some(Class::Amend),
                    _ => None,
                };
            } else if let Some(class) = class {
                phrases.push((words(line), class));
            }
        }
        phrases.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
        Self { phrases }
    }

    fn read(&self, text: &str, slots: &[String]) -> Reading {
        let said = words(text);
        let pieces = self.pieces(&said);
        let has = |class| pieces.contains(&Piece::Phrase(class));
        if has(Class::Deny) {
            return Reading::No;
        }
        let slots: Vec<Vec<String>> = slots.iter().map(|slot| words(slot)).collect();
        let slot_pieces: Vec<Piece<'_>> = slots.iter().flat_map(|slot| self.pieces(slot)).collect();
        let other_digits =
            pieces.iter().any(|piece| matches!(piece, Piece::Digits(_)) && !slot_pieces.contains(piece));
        if has(Class::Amend) || other_digits {
            return Reading::Amend;
        }
        let agreeable = pieces.iter().all(|piece| match piece {
            Piece::Phrase(Class::Strong | Class::Weak | Class::Filler) | Piece::Digits(_) => true,
            Piece::Word(word) => slots.iter().flatten().any(|slot| slot == word),
            Piece::Phrase(Class::Deny | Class::Amend) | Piece::Number => false,
        });
        if agreeable && has(Class::Strong) { Reading::Yes } else { Reading::Unclear }
    }

    fn pieces<'a>(&self, said: &'a [String]) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut rest = said;
        while let Some((first, after_first)) = rest.split_first() {
            if let Some((run, after)) = digit_run(rest) {
                pieces.push(Piece::Digits(run));
                rest = after;
            } else if let Some((phrase, class)) =
                self.phrases.iter().find(|(phrase, _)| rest.starts_with(phrase))
            {
                pieces.push(Piece::Phrase(*class));
                rest = &rest[phrase.len()..];
            } else {
                pieces.push(if is_compound_number(first) { Piece::Number } else { Piece::Word(first) });
                rest = after_first;
            }
        }
        pieces
    }
}

/// Lower-case words; apostrophes stay inside a word, every other punctuation parts two.
fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .replace('\u{2019}', "'")
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The maximal run of digits at the start of `said`, with what follows it.
fn digit_run(said: &[String]) -> Option<(String, &[String])> {
    let mut run = String::new();
    let mut rest = said;
    loop {
        let times = match rest.first().map(String::as_str) {
            Some("double") => 2,
            Some("triple") => 3,
            _ => 1,
        };
        let skip = usize::from(times > 1);
        let Some(digits) = rest.get(skip).and_then(|word| digits(word, rest.get(skip + 1), run.is_empty()))
        else {
            break;
        };
        if times > 1 && digits.len() != 1 {
            break;
        }
        run.push_str(&digits.repeat(times));
        rest = &rest[skip + 1..];
    }
    (!run.is_empty()).then_some((run, rest))
}

/// The digits that `word` stands for. "Oh" is a zero only beside another digit.
fn digits(word: &str, next: Option<&String>, starts_run: bool) -> Option<String> {
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(word.to_owned());
    }
    if word == "oh" || word == "o" {
        let beside_digit = !starts_run || next.is_some_and(|next| digits(next, None, true).is_some());
        return beside_digit.then(|| "0".to_owned());
    }
    let digit = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
        .iter()
        .position(|name| *name == word)?;
    Some(digit.to_string())
}

fn is_compound_number(word: &str) -> bool {
    const NAMES: [&str; 22] = [
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
        "thirty",
        "forty",
        "fifty",
        "sixty",
        "seventy",
        "eighty",
        "ninety",
        "hundred",
        "thousand",
        "million",
        "half",
    ];
    NAMES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: &str) -> Reading {
        read_en(text, &["9876543210".to_owned(), "Anna".to_owned()])
    }

    #[test]
    fn only_a_whole_clear_yes_is_a_yes() {
        for yes in [
            "Yes.",
            "yes, that's correct",
            "Yep, go ahead please!",
            "yes, 98765 43210",
            "yes, nine eight seven six five four three two one oh",
            "That\u{2019}s right, Anna.",
            "okay yes, send it now",
            "  yeah   that is RIGHT ",
            "Oh, yes.",
        ] {
            assert_eq!(reads(yes), Reading::Yes, "{yes}");
        }
    }

    #[test]
    fn doubt_is_not_a_yes() {
        for unclear in [
            "",
            "   ",
            "...",
            "yesterday was fine",
            "I know",
            "right, so what's the weather",
            "ok",
            "mm-hm",
            "sure",
            "98765 43210",
            "yes, ten",
            "yes to Bob",
            "yes or maybe",
            "is it correct",
            "s\u{ed}",
        ] {
            assert_eq!(reads(unclear), Reading::Unclear, "{unclear}");
        }
    }

    #[test]
    fn a_no_anywhere_is_a_no() {
        for no in
            ["no", "yeah, no", "not wrong", "yes... no, stop", "don't", "Don\u{2019}t send it", "cancel that"]
        {
            assert_eq!(reads(no), Reading::No, "{no}");
        }
    }

    #[test]
    fn a_wish_or_other_digits_amend() {
        for amend in [
            "yes but change the last digit to one",
            "yes, nine eight seven six five four three two one one",
            "yes, 98765432101",
            "yes 987654321",
            "wait",
            "actually yes",
            "yes, 98765 double four 10",
        ] {
            assert_eq!(reads(amend), Reading::Amend, "{amend}");
        }
    }

    #[test]
    fn digits_are_read_however_they_are_said() {
        let run = |text: &str| digit_run(&words(text)).map(|(run, _)| run);
        assert_eq!(run("double five oh 7"), Some("5507".into()));
        assert_eq!(run("triple 9, 1"), Some("9991".into()));
        assert_eq!(run("oh five"), Some("05".into()));
        assert_eq!(run("oh yes"), None);
        assert_eq!(run("double yes"), None);
        assert_eq!(run("double 12"), None);
    }

    #[test]
    fn the_shipped_file_has_one_class_for_each_phrase() {
        let file = include_str!("lexicon/en.txt");
        let lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '['])).count();
        assert_eq!(EN.phrases.len(), lines);
        assert_eq!(file.lines().filter(|line| line.starts_with('[')).count(), 5);
        let mut phrases: Vec<_> = EN.phrases.iter().map(|(phrase, _)| phrase).collect();
        phrases.sort();
        phrases.dedup();
        assert_eq!(phrases.len(), lines);
    }
}
