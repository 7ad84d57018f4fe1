// SPDX-License-Identifier: MIT OR Apache-2.0

use proptest::prelude::*;

use super::*;

const SUMMARY: &str = "I will text 9876543210 to Anna: see you at the station at seven.";

fn slots(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn said(transcript: &str) -> bool {
    says(Locale::En, SUMMARY, &slots(&["9876543210", "Anna", "see you at the station at seven"]), transcript)
}

#[test]
fn what_was_said_as_it_was_to_be_said_counts() {
    for transcript in [
        SUMMARY,
        "I will text 98765 43210 to Anna: see you at the station at 7. Is that right?",
        "Okay. I will text nine eight seven, six five four, three two one oh to Anna, see you at the station at seven. \
         Is that right?",
        "um I WILL text 987-654-3210 to Anna's uh see you at the station at seven",
        // One of its twelve tokens that are no part of a slot is missing: the first.
        "will text 9876543210 to Anna: see you at the station at seven",
    ] {
        assert!(said(transcript), "{transcript}");
    }
}

#[test]
fn g18_other_digits_are_not_what_was_to_be_said() {
    for transcript in [
        "I will text 9876543211 to Anna: see you at the station at seven.",
        "I will text 987654321 to Anna: see you at the station at seven.",
        "I will text ninety eight 76543210 to Anna: see you at the station at seven.",
        "I will text 9876543211, sorry, 9876543210! to Anna: see you at the station at seven.",
        "I will text 9876543210 to Anna: see you at the station at eight.",
        "I will text 9876543210 to Anna: see you at the station at seven. Or 9876543211?",
    ] {
        assert!(!said(transcript), "{transcript}");
    }
}

#[test]
fn g19_a_negation_put_in_is_not_what_was_to_be_said() {
    let slots = slots(&["9876543210"]);
    let says = |summary: &str, said: &str| says(Locale::En, summary, &slots, said);
    assert!(says("I will text 9876543210.", "I will text 9876543210, right?"));
    assert!(!says("I will text 9876543210.", "I will not text 9876543210, right?"));
    assert!(!says("I will text 9876543210.", "I won't. I will text 9876543210, right?"));
    assert!(!says("I will text 9876543210.", "I will text 9876543210 never"));
    // Nor one left out or put elsewhere.
    let long = "I will not text it to 9876543210 but tell the others who are there today that it is off.";
    assert!(says(long, long));
    assert!(!says(long, &long.replace("not ", "")));
    assert!(!says(long, &long.replace("not ", "").replace("is off", "is not off")));
    for (locale, summary, other) in [
        (Locale::De, "Ich schreibe an 9876543210.", "Ich schreibe nicht an 9876543210."),
        (Locale::Fr, "J'écris au 9876543210.", "J'écris pas au 9876543210."),
        (Locale::Ja, "9876543210に送ります。", "9876543210に送りません。"),
        (Locale::Zh, "发给9876543210。", "不发给9876543210。"),
        (Locale::Ko, "9876543210번으로 보내요.", "9876543210번으로 안 보내요."),
        (Locale::Ru, "Пишу на 9876543210.", "Не пишу на 9876543210."),
    ] {
        assert!(super::says(locale, summary, &slots, summary), "{summary}");
        assert!(!super::says(locale, summary, &slots, other), "{other}");
    }
}

#[test]
fn g20_a_longer_run_of_digits_does_not_hold_a_shorter() {
    assert!(!said("I will text 98765432101 to Anna: see you at the station at seven."));
    assert!(!said("I will text 9876543210 1 to Anna: see you at the station at seven."));
    assert!(!said("I will text 19876543210 to Anna: see you at the station at seven."));
    assert!(!says(Locale::En, "Text 9876543210", &slots(&["9876543210"]), "Text 9876543210. 1"));
    assert!(!covers("Text 98765432101", &slots(&["9876543210"])));
}

#[test]
fn every_slot_must_be_said_where_it_stands() {
    let slots = slots(&["Anna", "Bob"]);
    let summary = "I will send the picture that Anna took of you all at the lake last summer to Bob.";
    let says = |said: &str| says(Locale::En, summary, &slots, said);
    assert!(says(summary));
    assert!(says(&summary.replace("last ", "")));
    assert!(!says(&summary.replace("last summer ", "")));
    assert!(!says(&summary.replace("Anna", "Hanna")));
    assert!(!says(&summary.replace("Anna", "X").replace("Bob", "Anna").replace('X', "Bob")));
    assert!(!super::says(Locale::En, summary, &super::tests::slots(&["Carol"]), summary));
    assert!(!says(""));
    assert!(!super::says(Locale::En, "", &[], ""));
}

#[test]
fn an_answer_said_after_it_is_no_question() {
    for answer in ["Yes.", "Is that right? Yes.", "Is that right? No.", "Say yes or no.", "Correct?"] {
        assert!(!said(&format!("{SUMMARY} {answer}")), "{answer}");
    }
    assert!(said(&format!("Yes. {SUMMARY} Is that right? Okay?")));
    let es = |said: &str| says(Locale::Es, "Escribo a Ana.", &slots(&["Ana"]), said);
    assert!(es("Escribo a Ana. ¿Te parece?"));
    assert!(!es("Escribo a Ana. ¿Es correcto?"));
    let with_question = "Escribo a Ana. ¿Es correcto?";
    assert!(says(Locale::Es, with_question, &slots(&["Ana"]), with_question));
    assert!(!says(Locale::Es, with_question, &slots(&["Ana"]), "Escribo a Ana. ¿Es correcto? Sí."));
}

#[test]
fn a_sentence_too_long_to_be_said_was_not_said() {
    let long = "word ".repeat(WORDS_MAX);
    assert!(says(Locale::En, &long, &[], &long));
    let longer = "word ".repeat(WORDS_MAX + 1);
    assert!(!says(Locale::En, &longer, &[], &longer));
    assert!(!says(Locale::En, &long, &[], &long.repeat(3)));
}

#[test]
fn a_run_of_what_was_played_may_be_an_echo() {
    let played = "I will text 9 8 7, 6 5 4, 3 2 1 0. Is that right? Say Yes, Anna.";
    for echo in
        ["that right", "Is that right?", "yes", "YES anna", "right say yes", "98765 43210", "4 3", "987,654"]
    {
        assert!(is_run_of(echo, played), "{echo}");
    }
    for other in ["", "...", "no", "yes that", "that's right", "an", "right yes", "9 9", "es"] {
        assert!(!is_run_of(other, played), "{other}");
    }
    assert!(!is_run_of("yes", ""));
    assert!(is_run_of("そうです", "はい、そうですか"));
    assert!(!is_run_of("是", "这是给安娜的"));
    assert!(is_run_of("是", "发给安娜,是"));
    assert!(!is_run_of("네", "안나에게 보내네요"));
    assert!(is_run_of("네", "안나에게 보내요, 네?"));
}

#[test]
fn digits_of_slots_are_said_singly_and_in_groups() {
    let spoken = |summary: &str, texts: &[&str]| spoken(summary, &slots(texts));
    assert_eq!(spoken("Text 9876543210.", &["9876543210"]), "Text 9 8 7, 6 5 4, 3 2 1 0.");
    assert_eq!(spoken("Text +98765 43210: hi", &["+98765-43210"]), "Text +9 8 7, 6 5 4, 3 2 1 0: hi");
    assert_eq!(spoken("(987) 654-3210", &["9876543210"]), "(9 8 7, 6 5 4, 3 2 1 0");
    assert_eq!(spoken("Code 1234, 123 and 12", &["1234 123", "12"]), "Code 1 2 3, 4 1 2 3 and 12");
    assert_eq!(spoken("98765: 43210", &["98765", "43210"]), "9 8 7, 6 5: 4 3 2, 1 0");
    assert_eq!(spoken("12345678", &["12345678"]), "1 2 3, 4 5 6, 7 8");
    assert_eq!(spoken("98765432101", &["9876543210"]), "98765432101");
    assert_eq!(spoken("Pay 12.50 for 250", &["12.50"]), "Pay 12.50 for 250");
    assert_eq!(spoken("A1234 1234abc 1234", &["1234"]), "A1234 1234abc 1 2 3 4");
    assert_eq!(spoken("1234 5678th", &["1234"]), "1 2 3 4 5678th");
    assert_eq!(spoken("९८७६番へ", &["9876"]), "९ ८ ७ ६番へ");
    assert_eq!(spoken("", &["9876"]), "");
    // Grouped already, and part of a word.
    assert_eq!(spoken("Text 9 8 7 6, 5 4", &["987654"]), "Text 9 8 7 6, 5 4");
    assert_eq!(spoken("987654'32 and 98765432", &["98765432"]), "987654'32 and 9 8 7, 6 5 4, 3 2");
}

#[test]
fn a_slot_that_is_not_in_the_sentence_is_noticed() {
    let covers = |summary: &str, texts: &[&str]| covers(summary, &slots(texts));
    assert!(covers(SUMMARY, &["98765-43210", "anna", "See you at the station", "", "!"]));
    assert!(covers("Send Anna's photo", &["Anna"]));
    assert!(covers("안나에게 보내요", &["안나"]));
    assert!(!covers(SUMMARY, &["98765"]));
    assert!(!covers(SUMMARY, &["Ann"]));
    assert!(!covers(SUMMARY, &["the see you"]));
    assert!(!covers("Pay 125.0", &["12.50"]));
}

fn locale() -> impl Strategy<Value = Locale> {
    prop::sample::select(&Locale::ALL[..])
}

proptest! {
    #[test]
    fn any_text_is_compared(locale in locale(), summary: String, texts: Vec<String>, transcript: String) {
        let said = spoken(&summary, &texts);
        prop_assert!(!says(locale, &summary, &texts, &transcript) || !transcript.is_empty());
        prop_assert_eq!(is_run_of(&said, &summary), is_run_of(&summary, &summary));
    }

    #[test]
    fn what_the_device_says_is_what_was_to_be_said(
        locale in locale(), words in prop::collection::vec("[a-zа-я一-七]{1,6}|[0-9 -]{1,12}", 1..8), slot in any::<prop::sample::Index>()
    ) {
        let summary = words.join(" ");
        let slots = vec![words[slot.index(words.len())].clone()];
        prop_assert_eq!(digits_only(&spoken(&summary, &slots)), digits_only(&summary));
        if covers(&summary, &slots) && says(locale, &summary, &slots, &summary) {
            prop_assert!(says(locale, &summary, &slots, &spoken(&summary, &slots)));
        }
    }

    #[test]
    fn one_digit_more_less_or_other_is_never_what_was_to_be_said(digits in "[0-9]{3,12}", at in any::<prop::sample::Index>(), other in "[0-9]?") {
        let summary = format!("Text {digits} now.");
        let at = at.index(digits.len());
        let changed = format!("{}{other}{}", &digits[..at], &digits[at + 1..]);
        let more = format!("{}{other}{}", &digits[..at], &digits[at..]);
        for wrong in [changed, more] {
            let heard = says(Locale::En, &summary, std::slice::from_ref(&digits), &format!("Text {wrong} now."));
            prop_assert_eq!(heard, wrong == digits);
        }
    }
}

fn digits_only(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}
