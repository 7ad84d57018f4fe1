// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the model reads of the gate's decisions. None of it says what would count as an answer, or how long is left.

use serde_json::{Value, json};

pub(super) const SAID_NO: &str = "They said no. Do not propose this again unless they ask.";
pub(super) const SAID_OTHER: &str = "They changed something: ask what.";
pub(super) const TOO_MANY: &str =
    "That is too many changes at once. Propose nothing more. Ask the person what they want.";
pub(super) const LAPSED: &str = "The question lapsed. Offer again only if they want it.";
pub(super) const NEEDS_SCREEN: &str = "This needs the touch screen now.";
pub(super) const NO_SCREEN: &str = "This is agreed to on the screen, and there is none. Nothing was done.";
pub(super) const NO_BUTTON: &str = "This is agreed to with the button, and there is none. Nothing was done.";
pub(super) const ENOUGH: &str = "This was done too often of late. Nothing was done. Offer it again later.";
pub(super) const SCREEN_FULL: &str = "Too much waits on the screen. Let the person answer that first.";

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

fn pending(text: &str, replaced: bool) -> Value {
    let mut body = json!({"status": "pending_confirmation", "message": text});
    if replaced {
        body["replaced"] = Value::Bool(true);
    }
    body
}

/// The device asks.
pub(super) fn asked_aloud(replaced: bool) -> Value {
    let text = "Not done yet. The device is asking the person now. Say nothing until they have answered; when they say \
                yes, call this again with the same arguments.";
    pending(text, replaced)
}

/// The device asks, and its button answers.
pub(super) fn asked_for_button(replaced: bool) -> Value {
    let text = "Not done yet. The device is asking the person now, who answers with its button. Say nothing until then. \
                You will be told what they chose.";
    pending(text, replaced)
}

/// The screen asks.
pub(super) fn on_screen(replaced: bool) -> Value {
    let text = "It is on the screen to confirm. Say one short line. You will be told what they chose.";
    pending(text, replaced)
}

/// The model asks.
pub(super) fn to_be_said(sentence: &str, replaced: bool) -> Value {
    let mut body = pending("Not done yet. Ask the person.", replaced);
    body["instruction"] = Value::String(say_exactly(sentence));
    body
}

/// It has not said it.
pub(super) fn say_exactly(sentence: &str) -> String {
    format!("Say exactly: '{sentence}' Then stop and wait.")
}

pub(super) fn still_pending(unclear: bool) -> Value {
    let text = if unclear {
        "They have not clearly agreed. The device asks once more."
    } else {
        "Still waiting for the person. Do not call again until they answer."
    };
    pending(text, false)
}

/// What became of a question on the screen, for the model to know.
pub(super) fn news(summary: &str, text: &str) -> String {
    format!("[About \"{summary}\": {text}]")
}

/// A question moved to the screen.
pub(super) const MOVED: &str = "It is on the screen to confirm now.";

/// What only foreign text says: nobody who is entitled to agree speaks in a result.
const CLAIMS: [&str; 12] = [
    "user confirmed",
    "user has confirmed",
    "user approved",
    "user has approved",
    "user agreed",
    "user has agreed",
    "user said yes",
    "already confirmed",
    "already approved",
    "already agreed",
    "without asking",
    "no confirmation",
];

/// Whether a result claims what only a person at the device can say.
pub(crate) fn claims_consent(body: &Value) -> bool {
    match body {
        Value::String(text) => {
            let text = text.to_lowercase();
            CLAIMS.iter().any(|claim| text.contains(claim))
        }
        Value::Array(items) => items.iter().any(claims_consent),
        Value::Object(fields) => fields.values().any(claims_consent),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
