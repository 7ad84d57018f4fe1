// SPDX-License-Identifier: MIT OR Apache-2.0

//! Headers whose values may hold secrets: none of them is ever printed.

use std::fmt;

use reqwest::header::{HeaderName, HeaderValue};

use crate::secret::Secret;

const OPEN: &str = "${";
const SECRET: &str = "secret:";
const SECRET_NAME_LEN_MAX: usize = 64;

/// Written by the HTTP client or by the gate; a second one would contradict it.
const OURS: [&str; 5] = ["host", "content-length", "transfer-encoding", "connection", "idempotency-key"];

/// Parts of the names of headers that carry a secret even where it stands in the configuration itself.
const SENSITIVE: [&str; 6] = ["auth", "cookie", "key", "password", "secret", "token"];

/// One header: a name, and a value in which `${secret:NAME}` stands for a secret.
#[derive(Clone, PartialEq)]
pub struct Header {
    name: HeaderName,
    written: String,
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq)]
enum Part {
    Text(String),
    Secret(String),
}

/// What is wrong with a header. No text repeats its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Not a name that HTTP allows.
    #[error("a header name: letters, digits and `-`")]
    Name,
    /// One that the daemon writes itself.
    #[error("a header that the daemon does not write itself")]
    Ours,
    /// A line break or another character that ends a header.
    #[error("a value on one line, without control characters")]
    Value,
    /// A reference to something else than a secret, or without its end.
    #[error("`${{secret:NAME}}` for a secret, NAME being 1 to 64 of letters, digits, `.`, `_` and `-`")]
    Reference,
}

impl Header {
    /// Checks a header as it is written.
    ///
    /// # Errors
    /// See [`HeaderError`].
    pub fn parse(name: &str, value: &str) -> Result<Self, HeaderError> {
        let written = name.to_owned();
        let name = HeaderName::try_from(name).map_err(|_| HeaderError::Name)?;
        if OURS.contains(&name.as_str()) {
            return Err(HeaderError::Ours);
        }
        if HeaderValue::from_bytes(value.as_bytes()).is_err() {
            return Err(HeaderError::Value);
        }
        Ok(Self { name, written, parts: parts(value)? })
    }

    /// Its name, in lower case as HTTP compares names.
    #[must_use]
    pub fn name(&self) -> &HeaderName {
        &self.name
    }

    /// Its name as it was written.
    #[must_use]
    pub fn written_name(&self) -> &str {
        &self.written
    }

    /// The names of the secrets it needs.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Secret(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The value with its secrets. What must not be repeated is added to `masks`.
    pub(super) fn filled(
        &self,
        secret: &dyn Fn(&str) -> Result<Secret, String>,
        masks: &mut Vec<Secret>,
    ) -> Result<HeaderValue, String> {
        let sensitive = SENSITIVE.iter().any(|part| self.name.as_str().contains(part));
        let mut value = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => {
                    value.push_str(text);
                    if sensitive {
                        masks.extend(text.split_whitespace().map(Secret::new));
                    }
                }
                Part::Secret(name) => {
                    let secret = secret(name)?;
                    value.push_str(secret.expose());
                    masks.push(secret);
                }
            }
        }
        let mut value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| "a secret of it has characters that no HTTP header can carry".to_owned())?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ***", self.written)
    }
}

fn parts(value: &str) -> Result<Vec<Part>, HeaderError> {
    let mut parts = Vec::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (reference, behind) = after.split_once('}').ok_or(HeaderError::Reference)?;
        let name = reference.strip_prefix(SECRET).filter(|name| is_secret_name(name));
        parts.extend((!before.is_empty()).then(|| Part::Text(before.to_owned())));
        parts.push(Part::Secret(name.ok_or(HeaderError::Reference)?.to_owned()));
        rest = behind;
    }
    parts.extend((!rest.is_empty()).then(|| Part::Text(rest.to_owned())));
    Ok(parts)
}

/// It becomes the name of a file: no separator, and not the folder itself or the one above.
fn is_secret_name(name: &str) -> bool {
    (1..=SECRET_NAME_LEN_MAX).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[test]
    fn t74_a_filled_value_is_not_printed_by_anybody_further_down() {
        let header = Header::parse("Authorization", "Bearer ${secret:a} literal-of-the-site").unwrap();
        let mut masks = Vec::new();
        let value = header.filled(&|_| Ok(Secret::new("canary")), &mut masks).unwrap();
        assert_eq!(value.as_bytes(), b"Bearer canary literal-of-the-site");
        assert_eq!(format!("{value:?}"), "Sensitive");
        let masked: Vec<&str> = masks.iter().map(Secret::expose).collect();
        assert_eq!(masked, ["Bearer", "canary", "literal-of-the-site"]);
    }

    #[test]
    fn a_header_that_holds_no_secret_is_not_masked() {
        let mut masks = Vec::new();
        let header = Header::parse("Accept", "application/json; charset=utf-8").unwrap();
        header.filled(&|name| Err(name.to_owned()), &mut masks).unwrap();
        assert!(masks.is_empty(), "what a service answers would lose ordinary words");
    }
}
