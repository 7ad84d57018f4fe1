// SPDX-License-Identifier: MIT OR Apache-2.0

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::*;

fn locale() -> impl Strategy<Value = Locale> {
    prop::sample::select(&Locale::ALL[..])
}

/// Phrases of the language, digits, and what is in no language.
fn utterance() -> impl Strategy<Value = (Locale, String)> {
    locale().prop_flat_map(|locale| {
        let mut words: Vec<String> = locale
            .table()
            .all()
            .map(|(phrase, _)| phrase.join(if is_spaced(locale) { " " } else { "" }))
            .collect();
        words.extend(strings(&["98765 43210", "3210", "Anna", "xyzzy", "12.50"]));
        let words = prop::collection::vec(prop::sample::select(words), 0..6);
        (Just(locale), words, prop::sample::select(vec![" ", ", ", "! ", "\n"]))
            .prop_map(|(locale, words, between)| (locale, words.join(between)))
    })
}

fn is_spaced(locale: Locale) -> bool {
    !matches!(locale, Locale::Ja | Locale::Ko | Locale::Zh)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_read(locale in locale(), also in prop::collection::vec(locale(), 0..3), text: String,
        slots: Vec<String>, repeat_last: Option<usize>, challenge: Vec<String>) {
        let reading = read(locale, &also, &text, &Expected { slots: &slots, repeat_last, challenge: &challenge });
        prop_assert!(reading != Reading::Yes || !text.is_empty());
    }

}

proptest! {
    #[test]
    fn a_yes_has_no_denial_in_it((locale, text) in utterance()) {
        let normal = normal(&text);
        let units = cut(&normal);
        let denies = |at: usize| matches!(locale.table().longest(&units[at..]), Some((_, Class::Deny)));
        let begins: Vec<usize> =
            locale.table().parts(&units, &Slots::default()).iter().map(|part| part.units.start).collect();
        if begins.into_iter().any(denies) {
            prop_assert_eq!(reads(locale, &text), Reading::No);
        }
    }

    #[test]
    fn a_yes_needs_more_than_weak_words((locale, text) in utterance()) {
        let normal = normal(&text);
        let parts = locale.table().parts(&cut(&normal), &Slots::default());
        let agrees = |part: &Part| is(part, Class::Strong) || is(part, Class::Alone);
        if !parts.iter().any(agrees) {
            prop_assert_ne!(reads(locale, &text), Reading::Yes);
        }
    }

    #[test]
    fn case_and_composition_do_not_count((locale, text) in utterance()) {
        let reading = reads(locale, &text);
        for other in [text.to_uppercase(), text.to_lowercase(), text.nfd().collect(), text.nfkc().collect(), text.nfkd().collect()] {
            prop_assert_eq!(reads(locale, &other), reading, "{}", other);
        }
        prop_assert_eq!(reads(locale, &format!("... {text}?!")), reading);
    }

    #[test]
    fn another_language_never_makes_a_yes((locale, text) in utterance(), also in prop::collection::vec(locale(), 0..11)) {
        if reads(locale, &text) != Reading::Yes {
            prop_assert_ne!(reads_with(locale, &also, &text, None, &[]), Reading::Yes);
        }
    }
}

fn denial(locale: Locale) -> &'static str {
    match locale {
        Locale::En | Locale::Es => "no",
        Locale::Fr => "non",
        Locale::De => "nein",
        Locale::Pt => "não",
        Locale::Hi => "नहीं",
        Locale::Ja => "いいえ",
        Locale::Ko => "아니요",
        Locale::Zh => "不是",
        Locale::Ru => "нет",
        Locale::El => "όχι",
    }
}

#[test]
fn a_long_text_is_read_to_its_end() {
    let hostile = [
        "oh ",
        "double ",
        "일",
        "일 이",
        "不",
        "1,",
        "a",
        "是",
        "half one ",
        "e\u{301}",
        "\u{fdfa}",
        "'",
        "ne ",
    ];
    let slots: Vec<String> = hostile.iter().map(|piece| piece.repeat(200)).collect();
    for locale in Locale::ALL {
        for piece in hostile {
            let text = piece.repeat(20_000 / piece.len());
            let expected = Expected { slots: &slots, repeat_last: Some(usize::MAX), challenge: &slots };
            assert_ne!(read(locale, &Locale::ALL, &text, &expected), Reading::Yes);
            // Also what comes last is read.
            let denied = format!("{text} {}", denial(locale));
            assert_eq!(read(locale, &[], &denied, &expected), Reading::No, "{denied:.20}");
        }
    }
}
