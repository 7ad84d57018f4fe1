// SPDX-License-Identifier: MIT OR Apache-2.0

mod locales;
mod properties;

use std::collections::BTreeMap;

use super::*;

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// To a question about 98765 43210 and Anna.
fn reads(locale: Locale, text: &str) -> Reading {
    reads_with(locale, &[], text, None, &[])
}

fn reads_with(
    locale: Locale,
    also: &[Locale],
    text: &str,
    repeat_last: Option<usize>,
    challenge: &[&str],
) -> Reading {
    let (slots, challenge) = (strings(&["9876543210", "Anna"]), strings(challenge));
    read(locale, also, text, &Expected { slots: &slots, repeat_last, challenge: &challenge })
}

fn check(locale: Locale, wanted: Reading, texts: &[&str]) {
    for text in texts {
        assert_eq!(reads(locale, text), wanted, "{}: {text}", locale.tag());
    }
}

#[test]
fn g13_a_word_that_only_begins_like_a_yes_is_none() {
    check(Locale::En, Reading::Unclear, &["yesterday was fine", "I know", "right, so what's the weather"]);
}

#[test]
fn g15_a_yes_with_a_change_is_a_change() {
    check(Locale::En, Reading::Amend, &["yes but change the last digit to one"]);
}

#[test]
fn g16_other_digits_are_a_change() {
    let nearly = "yes, nine eight seven six five four three two one one";
    check(Locale::En, Reading::Amend, &[nearly, "yes, 98765432101", "yes 987654321", "3210", "yes, 3210"]);
}

#[test]
fn g17_the_same_digits_are_no_change() {
    let said = [
        "yes, 98765 43210",
        "yes, nine eight seven six five four three two one oh",
        "yes 987-654-3210",
        "yes, (98765) 43210",
        "yes ९८७६५ ४३२१०",
        "yes ９８７６５４３２１０",
    ];
    check(Locale::En, Reading::Yes, &said);
    check(Locale::En, Reading::Unclear, &["98765 43210"]);
}

#[test]
fn g54_what_agrees_in_one_language_and_denies_in_another_is_neither() {
    use Locale::{De, El, En, Es, Ko};
    assert_eq!(reads(El, "ne"), Reading::Yes);
    assert_eq!(reads(Ko, "ne"), Reading::Yes);
    assert_eq!(reads(En, "ne"), Reading::No);
    for (locale, also) in [(En, El), (El, En), (Ko, En), (Ko, De), (De, El)] {
        assert_eq!(reads_with(locale, &[also], "ne", None, &[]), Reading::Unclear, "{locale:?} {also:?}");
        assert_eq!(reads_with(locale, &Locale::ALL, "ne", None, &[]), Reading::Unclear, "{locale:?}");
    }
    assert_eq!(reads_with(El, &[En], "ναι, ne", None, &[]), Reading::Unclear);
    // What is clear stays so.
    assert_eq!(reads_with(En, &[El], "ne, no", None, &[]), Reading::No);
    assert_eq!(reads_with(En, &[El, Es], "yes", None, &[]), Reading::Yes);
    assert_eq!(reads_with(El, &[Es, El], "ne", None, &[]), Reading::Yes);
}

#[test]
fn g55_a_challenge_must_be_answered() {
    let reads = |text: &str| reads_with(Locale::En, &[], text, None, &["blue", "seven"]);
    for yes in ["yes, blue seven", "Blue 7, yes", "seven, blue: that's right", "yes blue seven 7"] {
        let wanted = if yes.ends_with("7") { Reading::Amend } else { Reading::Yes };
        assert_eq!(reads(yes), wanted, "{yes}");
    }
    for unclear in ["yes", "yes, blue", "yes, seven", "blue seven", "yes, red seven", "yes, blueseven"] {
        assert_eq!(reads(unclear), Reading::Unclear, "{unclear}");
    }
    assert_eq!(reads("yes, blue eight"), Reading::Amend);
    assert_eq!(reads("no, blue seven"), Reading::No);
    let digits = |text: &str| reads_with(Locale::En, &[], text, None, &["4", "7"]);
    assert_eq!((digits("yes, four seven"), digits("yes 47")), (Reading::Yes, Reading::Yes));
    assert_eq!((digits("yes, seven four"), digits("yes 4")), (Reading::Amend, Reading::Amend));
    assert_eq!(reads_with(Locale::Zh, &[], "对,蓝色七", None, &["蓝色", "七"]), Reading::Yes);
    assert_eq!(reads_with(Locale::Zh, &[], "对,色蓝七", None, &["蓝色", "七"]), Reading::Unclear);
    assert_eq!(reads_with(Locale::En, &[], "yes", None, &["..."]), Reading::Unclear);
    assert_eq!(reads_with(Locale::En, &[], "yes blue", None, &["blue", ""]), Reading::Unclear);
}

#[test]
fn the_last_digits_must_be_repeated_where_they_are_asked_for() {
    let reads = |text: &str| reads_with(Locale::En, &[], text, Some(4), &[]);
    for yes in ["3210", "yes, 3210", "three two one zero please", "ok 43210", "98765 43210", "Anna, 3210"] {
        assert_eq!(reads(yes), Reading::Yes, "{yes}");
    }
    for unclear in ["yes", "yes that's right", "", "3210 to Bob", "yes ten"] {
        assert_eq!(reads(unclear), Reading::Unclear, "{unclear}");
    }
    for amend in ["3211", "yes, 210", "yes 9876", "98765 43211", "3210 3210", "3210 but wait"] {
        assert_eq!(reads(amend), Reading::Amend, "{amend}");
    }
    assert_eq!(reads("no, 3210"), Reading::No);
    let short = |slots: &[&str], text: &str| {
        let slots = strings(slots);
        read(Locale::En, &[], text, &Expected { slots: &slots, repeat_last: Some(4), challenge: &[] })
    };
    assert_eq!(short(&["12"], "12"), Reading::Yes);
    assert_eq!(short(&["12"], "yes"), Reading::Unclear);
    assert_eq!(short(&["12", "98765"], "12"), Reading::Unclear);
    assert_eq!(short(&["Anna"], "yes"), Reading::Unclear);
    assert_eq!(short(&["12.50"], "12.50"), Reading::Yes);
    assert_eq!(short(&["123412.50"], "12.50"), Reading::Amend);
    assert_eq!(reads_with(Locale::En, &[], "yes", Some(0), &[]), Reading::Yes);
    assert_eq!(reads_with(Locale::En, &[], "3210", Some(4), &["blue"]), Reading::Unclear);
    assert_eq!(reads_with(Locale::En, &[], "3210, blue", Some(4), &["blue"]), Reading::Yes);
}

#[test]
fn a_number_is_read_digit_by_digit_or_not_at_all() {
    let reads = |slot: &str, text: &str| {
        let slots = strings(&[slot]);
        read(Locale::En, &[], text, &Expected { slots: &slots, ..Expected::default() })
    };
    assert_eq!(reads("5507", "yes, double five oh 7"), Reading::Yes);
    assert_eq!(reads("9991", "yes triple nine, one"), Reading::Yes);
    assert_eq!(reads("007", "yes, oh oh seven"), Reading::Yes);
    assert_eq!(reads("9876", "yes, ninety eight 76"), Reading::Unclear);
    assert_eq!(reads("9876", "yes, 98 seventy six"), Reading::Unclear);
    assert_eq!(reads("20", "yes, twenty"), Reading::Unclear);
    assert_eq!(reads("20 minutes", "yes, 20 minutes"), Reading::Yes);
    assert_eq!(reads("12.50", "yes, 12.5"), Reading::Yes);
    assert_eq!(reads("12.50", "yes, 125.0"), Reading::Amend);
    assert_eq!(reads("1,250", "yes, 1250"), Reading::Yes);
    assert_eq!(reads("12", "yes, double 12"), Reading::Unclear);
    assert_eq!(reads("5", "oh yes. 5"), Reading::Yes);
}

#[test]
fn a_word_of_a_slot_never_hides_a_no() {
    let slots = strings(&["don't change it", "不二", "Right"]);
    let expected = Expected { slots: &slots, ..Expected::default() };
    assert_eq!(read(Locale::En, &[], "yes, don't change it", &expected), Reading::No);
    assert_eq!(read(Locale::En, &[], "yes, change it", &expected), Reading::Amend);
    assert_eq!(read(Locale::Zh, &[], "对,不二", &expected), Reading::No);
    assert_eq!(read(Locale::En, &[], "right", &expected), Reading::Unclear);
}

#[test]
fn a_tag_names_its_language_whatever_else_it_says() {
    for locale in Locale::ALL {
        assert_eq!(Locale::parse(locale.tag()), Some(locale));
        assert_eq!(Locale::parse(&locale.tag().to_uppercase()), Some(locale));
    }
    assert_eq!(Locale::parse("pt-BR"), Some(Locale::Pt));
    assert_eq!(Locale::parse("en_GB"), Some(Locale::En));
    assert_eq!(Locale::parse("zh-Hant-TW"), Some(Locale::Zh));
    for none in ["", "-", "e", "eng", "english", "xx", "en-", "en--GB", "en GB", "en-waytoolong", "é"] {
        assert_eq!(Locale::parse(none), None, "{none}");
    }
}

#[test]
fn every_shipped_line_is_read_and_says_one_thing() {
    let sections = "strong alone weak filler deny amend other digits beside times numbers negations";
    for locale in Locale::ALL {
        let file = locale.file();
        let mut phrases = 0;
        let mut section = "";
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
                assert!(sections.split(' ').any(|known| section.starts_with(known)), "{line}");
            } else if section != "negations" {
                phrases += 1;
            }
        }
        let mut classes: BTreeMap<&[String], Class> = BTreeMap::new();
        for (phrase, class) in locale.table().all() {
            assert_eq!(classes.insert(phrase, class), None, "{}: {phrase:?}", locale.tag());
        }
        assert_eq!(classes.len(), phrases, "{}", locale.tag());
        let has = |class| classes.values().any(|known| *known == class);
        assert!((0..10).all(|digit| has(Class::Digit(digit))), "{}", locale.tag());
        for class in [Class::Strong, Class::Weak, Class::Deny, Class::Amend, Class::Number] {
            assert!(has(class), "{} {class:?}", locale.tag());
        }
        assert!(file.contains("[negations]"), "{}", locale.tag());
    }
}
