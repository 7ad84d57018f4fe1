// SPDX-License-Identifier: MIT OR Apache-2.0

//! An error as a person reads it.

use std::error::Error;

/// An error with what caused it, each cause once: some texts hold that of their cause already.
pub(crate) fn chain(fault: &dyn Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = next.source();
    }
    text
}

/// Several errors with what caused each, one a line.
pub(crate) fn lines<E: Error>(faults: &[E]) -> String {
    faults.iter().map(|fault| chain(fault)).collect::<Vec<_>>().join("\n")
}
