// SPDX-License-Identifier: MIT OR Apache-2.0

//! Any texts are compared; what the device says is the same digits, and a changed digit is never what was to be said.
//!
//! Input: a byte for the language, then lines: the summary, what was said, the slots.

#![no_main]

use libfuzzer_sys::fuzz_target;
use session::lexicon::Locale;
use session::readback::{covers, is_run_of, says, spoken};

fuzz_target!(|data: &[u8]| {
    let [language, rest @ ..] = data else { return };
    let locale = Locale::ALL[usize::from(*language) % Locale::ALL.len()];
    let rest = String::from_utf8_lossy(rest);
    let mut lines = rest.lines();
    let (summary, said) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let slots: Vec<String> = lines.map(str::to_owned).collect();

    let voiced = spoken(summary, &slots);
    assert_eq!(digits(&voiced), digits(summary));
    let run: String = slots.iter().map(|slot| digits(slot)).collect();
    if !run.is_empty() {
        let other: String = run.chars().map(next_digit).collect();
        let (summary, other) = (format!("{summary}\n{run}"), format!("{summary}\n{other}"));
        assert!(!says(locale, &summary, &[run], &other), "other digits were taken: {other:?}");
    }
    let _ = says(locale, summary, &slots, said);
    // Beside a number word ("9876 million") the same digits said singly are another number, which is then not taken.
    let _ = covers(summary, &slots) && says(locale, summary, &slots, &voiced);
    let _ = is_run_of(said, summary);
    assert!(is_run_of(summary, summary) || !is_run_of(summary, &voiced));
});

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn next_digit(c: char) -> char {
    match c {
        '0'..='8' => char::from(c as u8 + 1),
        '9' => '0',
        other => other,
    }
}
