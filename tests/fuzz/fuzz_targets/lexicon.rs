// SPDX-License-Identifier: MIT OR Apache-2.0

//! Any text in any language is read, and what is no yes by itself is none because more languages are spoken.
//!
//! Input: a byte for the language, one for the others, one for the digits to repeat, then lines: what was said, the
//! slots, each challenge after a `#`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use session::Reading;
use session::lexicon::{Expected, Locale, read};

fuzz_target!(|data: &[u8]| {
    let [language, others, repeat, rest @ ..] = data else { return };
    let locale = Locale::ALL[usize::from(*language) % Locale::ALL.len()];
    let also: Vec<Locale> = Locale::ALL
        .into_iter()
        .enumerate()
        .filter(|(at, _)| others >> (at % 8) & 1 == 1)
        .map(|(_, also)| also)
        .collect();
    let repeat_last = (repeat % 8 > 0).then_some(usize::from(repeat % 8));
    let rest = String::from_utf8_lossy(rest);
    let mut lines = rest.lines();
    let text = lines.next().unwrap_or_default();
    let (challenge, slots): (Vec<String>, Vec<String>) =
        lines.map(str::to_owned).partition(|line| line.starts_with('#'));

    let plain = Expected { slots: &slots, repeat_last: None, challenge: &[] };
    let strict = Expected { slots: &slots, repeat_last, challenge: &challenge };
    let alone = read(locale, &[], text, &plain);
    let among = read(locale, &also, text, &plain);
    assert!(among != Reading::Yes || alone == Reading::Yes, "more languages made a yes: {text:?}");
    if read(locale, &[], text, &strict) == Reading::Yes {
        assert!(alone != Reading::No, "more to say made a yes of a no: {text:?}");
    }
});
