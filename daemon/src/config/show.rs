// SPDX-License-Identifier: MIT OR Apache-2.0

//! A configuration as a person reads it.

use toml::Value;

use super::{Config, Entry, Loaded};

/// Stands where something may be a secret.
const MASK: &str = "\"***\"";

/// Longest value quoted in a fault, in characters.
const SHOWN_CHARS: usize = 60;

impl Config {
    /// The example that is installed as `/etc/voiced/voiced.toml`: every key with its default and what it means.
    #[must_use]
    pub const fn shipped_example() -> &'static str {
        include_str!("../../../systemd/voiced.toml")
    }
}

impl Loaded {
    /// Every key with its effective value and origin, one per line, ordered by key. No line shows a secret: a key pasted
    /// where the name of its variable belongs, a user or a query in a URL.
    #[must_use]
    pub fn show(&self) -> String {
        self.origins
            .iter()
            .map(|(key, Entry { value, origin })| format!("{key} = {}  # {origin}\n", masked(key, value)))
            .collect()
    }
}

/// A value as TOML, without what may be a secret.
pub(super) fn masked(key: &str, value: &Value) -> String {
    if let Value::String(text) = value {
        if names_a_variable(key) && !is_variable_name(text) {
            return MASK.to_owned();
        }
        if text.contains("://") {
            return Value::String(without_credentials(text)).to_string();
        }
    }
    value.to_string()
}

/// As [`masked`], for a value that could not be read as what the key takes.
pub(super) fn masked_text(key: &str, value: String) -> String {
    if names_a_variable(key) || value.contains("://") { MASK.to_owned() } else { value }
}

/// The first line of a text, cut to what fits in a fault.
pub(super) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() > SHOWN_CHARS || line.len() < text.trim_end().len() {
        let head: String = line.chars().take(SHOWN_CHARS).collect();
        format!("{head}…")
    } else {
        line.to_owned()
    }
}

/// Whether `text` can be the name of a variable, or nothing. A pasted key hardly ever can: keys have lower-case letters.
pub(super) fn is_variable_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn names_a_variable(key: &str) -> bool {
    key.ends_with("_env")
}

/// A URL without its user part and its query.
fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?***"));
    // Up to the last sign: a password that was written with a slash must not be shown either.
    let shown = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, host)| format!("***@{host}"));
    format!("{scheme}://{shown}{query}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use std::collections::BTreeSet;

    use super::super::schema::Schema;
    use super::super::tests::{faults, text, uncommented};
    use super::super::{Origin, Sources};
    use super::*;

    #[test]
    fn the_shipped_example_sets_nothing_and_documents_every_key_with_its_default() {
        let example = Config::load(&Sources::shipped_example()).unwrap();
        assert_eq!(example.config, Config::default());
        assert!(example.origins.values().all(|entry| entry.origin == Origin::Default));

        let all = Config::load(&text(&uncommented())).unwrap();
        let set: BTreeSet<&String> = all
            .origins
            .iter()
            .filter(|(_, entry)| entry.origin != Origin::Default)
            .map(|(key, _)| key)
            .collect();
        let leaves = Schema::new().leaves();
        assert_eq!(set, leaves.iter().map(|(key, _)| key).collect(), "keys of the example, keys that exist");
        for (key, default) in &leaves {
            assert_eq!(&all.origins[key].value, default, "{key}");
        }
        assert_eq!(all.config, Config::default());
    }

    #[test]
    fn show_names_values_and_origins_and_masks_what_may_be_secret() {
        let sources = Sources {
            set: vec![
                "provider.endpoint=wss://gateway.example.org/live?token=canary".into(),
                "tools.notify.url=https://gateway.example.org/hook".into(),
            ],
            ..text("[vad]\nhangover_ms = 500\n")
        };
        let shown = Config::load(&sources).unwrap().show();
        for line in [
            "vad.hangover_ms = 500  # /etc/voiced/voiced.toml:2",
            "vad.onset_ms = 96  # default",
            "provider.endpoint = \"wss://gateway.example.org/live?***\"  # flag --set",
            "tools.notify.url = \"https://gateway.example.org/hook\"  # flag --set",
            "speech.command = []  # default",
            "audio.capture_channel = \"mix\"  # default",
        ] {
            assert!(shown.lines().any(|found| found == line), "no line {line:?} in\n{shown}");
        }
        assert!(!shown.contains("canary"));
        assert_eq!(shown.lines().count(), Schema::new().leaves().len());
    }

    #[test]
    fn no_fault_repeats_a_secret_put_where_its_name_belongs() {
        let file = "[provider]\napi_key = \"canary1\"\napi_key_env = \"AIza-canary2\"\nendpoint = \"wss://u:canary3@h\"\n\
                    [tools.notify]\ntoken_env = [\"canary4\"]\nurl = \"http://10.0.0.7/?key=canary5\"\n";
        let found = faults(file);
        assert_eq!(found.lines().count(), 5, "{found}");
        assert!(!found.contains("canary"), "{found}");
        assert!(
            found.contains("provider.api_key_env = \"***\": expected the name of an environment variable"),
            "{found}"
        );
    }
}
