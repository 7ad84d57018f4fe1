// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the model reads of the gate's decisions.

use serde_json::{Value, json};

pub(super) const SAID_NO: &str = "They said no. Do not propose this again unless they ask.";
pub(super) const SAID_OTHER: &str = "They changed something: ask what.";
pub(super) const TOO_MANY: &str =
    "That is too many changes at once. Propose nothing more. Ask the person what they want.";
pub(super) const LAPSED: &str = "The question lapsed. Offer again only if they want it.";

pub(super) fn refused(text: &str) -> Value {
    json!({"status": "refused", "message": text})
}

/// Another question is open.
pub(super) fn one_at_a_time(summary: &str) -> Value {
    refused(&format!("One thing at a time: \"{summary}\" is waiting for an answer."))
}

/// Another call was agreed to and is still to come.
pub(super) fn agreed_first(summary: &str) -> Value {
    refused(&format!("One thing at a time: the person has agreed to \"{summary}\". Make that call first."))
}

pub(super) fn pending(replaced: bool) -> Value {
    let mut body = json!({
        "status": "pending_confirmation",
        "message": "Not done yet. The device is asking the person now. Say nothing until they have answered; \
                    when they say yes, call this again with the same arguments.",
    });
    if replaced {
        body["replaced"] = Value::Bool(true);
    }
    body
}

pub(super) fn still_pending(unclear: bool) -> Value {
    let text = if unclear {
        "They have not clearly agreed. The device asks once more."
    } else {
        "Still waiting for the person. Do not call again until they answer."
    };
    json!({"status": "pending_confirmation", "message": text})
}
