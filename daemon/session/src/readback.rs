// SPDX-License-Identifier: MIT OR Apache-2.0
//! shim
use crate::lexicon::Locale;
pub fn says(_l: Locale, summary: &str, _slots: &[String], t: &str) -> bool {
    summary == t
}
pub fn is_run_of(text: &str, played: &str) -> bool {
    !text.is_empty() && played.to_lowercase().contains(&text.to_lowercase())
}
pub fn spoken(summary: &str, _slots: &[String]) -> String {
    summary.to_owned()
}
