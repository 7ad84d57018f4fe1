// SPDX-License-Identifier: MIT OR Apache-2.0

//! A text that must not appear in logs, status, wire logs or error texts.

use std::fmt;
use std::sync::Arc;

#[cfg(any(feature = "http", feature = "mcp"))]
use serde_json::Value;

/// What stands where a secret would have stood.
pub(crate) const MASK: &str = "***";

/// A shorter text is a stand-in for a key, not a key (Google's have 39 characters): masking it would only eat letters
/// out of messages.
const KEY_BYTES_MIN: usize = 12;

/// A secret text, such as an API key. Printing it in any way gives `***`; it cannot be serialized or compared.
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes `text` as it is; the caller trims what a file or a shell added.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that hands it to the peer.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True when there is no text at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `number` is a copy of the secret, or holds one: a key may be nothing but digits. A number of more digits
    /// than JSON keeps is known by those that are left.
    #[cfg(any(feature = "http", feature = "mcp"))]
    pub(crate) fn is_in(&self, number: &serde_json::Number) -> bool {
        let text = number.to_string();
        let digits = self.0.len() >= KEY_BYTES_MIN && self.0.bytes().all(|byte| byte.is_ascii_digit());
        let same = |known: f64| number.as_f64().is_some_and(|found| (found / known - 1.0).abs() < 1e-12);
        self.redact(&text) != text || (digits && self.0.parse().is_ok_and(same))
    }

    /// `text` with every copy of the secret masked. For texts that a peer wrote: it may echo what it was sent.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < KEY_BYTES_MIN { text.to_owned() } else { text.replace(&*self.0, MASK) }
    }
}

/// `text` with every copy of each of `secrets` masked.
#[cfg(any(feature = "http", feature = "mcp"))]
pub(crate) fn redacted(secrets: &[Secret], text: &str) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| secret.redact(&text))
}

/// `value` with every copy of each of `masks` masked, in its keys and numbers too.
#[cfg(any(feature = "http", feature = "mcp"))]
pub(crate) fn masked(value: Value, masks: &[Secret]) -> Value {
    match value {
        Value::String(text) => redacted(masks, &text).into(),
        Value::Number(number) if masks.iter().any(|mask| mask.is_in(&number)) => MASK.into(),
        Value::Array(items) => items.into_iter().map(|item| masked(item, masks)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, field)| (redacted(masks, &key), masked(field, masks))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({MASK})")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_shows_the_mask_only() {
        let secret = Secret::new("AIza-very-secret");
        assert_eq!(
            format!("{secret} {secret:?} {:#?}", Some(&secret)),
            "*** Secret(***) Some(\n    Secret(***),\n)"
        );
    }

    #[test]
    fn redaction_masks_every_copy_of_a_key_and_leaves_texts_readable() {
        assert_eq!(Secret::new("AIza-very-secret").redact("AIza-very-secret, AIza-very-secret"), "***, ***");
        assert_eq!(Secret::new("").redact("text"), "text");
        assert_eq!(Secret::new("k").redact("check the key"), "check the key");
    }
}
