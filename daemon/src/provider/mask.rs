// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes the API key out of what a peer wrote.

use std::borrow::Cow;

use super::Secret;

/// `text` with every copy of the key masked, if it is a key that [`Secret::redact`] masks. A copy also counts when some
/// of its characters are spelled as JSON escapes, so a message can be masked before it is read. Nothing else changes.
///
/// The key is taken as ASCII: no other key fits the header it is sent in. The escape of a character beyond ASCII never
/// matches.
pub(super) fn masked<'a>(text: &'a [u8], key: &Secret) -> Cow<'a, [u8]> {
    let mask = key.redact(key.expose());
    let key = key.expose().as_bytes();
    if mask.as_bytes() == key {
        return Cow::Borrowed(text);
    }
    let begins = |byte: &u8| *byte == b'\\' || Some(byte) == key.first();
    let mut out = Vec::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(skipped) = text[at..].iter().position(begins) {
        at += skipped;
        if let Some(copy) = copy_len(&text[at..], key) {
            out.extend_from_slice(&text[kept..at]);
            out.extend_from_slice(mask.as_bytes());
            at += copy;
            kept = at;
        } else {
            // The second half of an escaped backslash begins no escape.
            at += if text[at..].starts_with(br"\\") { 2 } else { 1 };
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[kept..]);
    Cow::Owned(out)
}

/// How many bytes a copy of the key takes that begins where `text` begins.
fn copy_len(text: &[u8], key: &[u8]) -> Option<usize> {
    key.iter().try_fold(0, |at, &wanted| Some(at + char_len(&text[at..], wanted)?))
}

/// How many bytes the character `wanted` takes, spelled plain or escaped, where `text` begins.
fn char_len(text: &[u8], wanted: u8) -> Option<usize> {
    match text {
        [b'\\', b'u', b'0', b'0', high, low, ..] if hex(*high)? << 4 | hex(*low)? == wanted => Some(6),
        [b'\\', escaped @ (b'"' | b'\\' | b'/'), ..] if *escaped == wanted => Some(2),
        [plain, ..] if *plain == wanted => Some(1),
        _ => None,
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, text: &str, expected: &str) {
        let text = masked(text.as_bytes(), &Secret::new(key)).into_owned();
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }

    #[test]
    fn every_copy_is_masked_and_nothing_else_changes() {
        let key = "AIza-secret/key";
        check(key, "", "");
        check(key, "AIza-secret/ke", "AIza-secret/ke");
        check(key, "AIza-secret/key", "***");
        check(key, "<AIza-secret/keyAIza-secret/key>é", "<******>é");
        check(key, "AIAIza-secret/key", "AI***");
    }

    #[test]
    fn escapes_are_spellings_too() {
        let key = "AIza-secret/key";
        check(key, r"a\u0041Iza\u002Dsecret\/ke\u0079b", "a***b");
        check(key, r"\nAIza\u002dsecret/key\n", r"\n***\n");
        check(key, r"\\AIza-secret/key", r"\\***");
        // A backslash and the letters `u0041`: not an A.
        check(key, r"\\u0041Iza-secret/key", r"\\u0041Iza-secret/key");
        check(key, r"\u0141Iza-secret/key \u00", r"\u0141Iza-secret/key \u00");
        check(r#"quote"back\slash"#, r#"quote\"back\\slash"#, "***");
    }

    #[test]
    fn a_text_too_short_for_a_key_is_left_readable() {
        check("key", "check the key", "check the key");
        check("", "check the key", "check the key");
    }
}
