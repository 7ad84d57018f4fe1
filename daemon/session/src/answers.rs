// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the model reads when no tool wrote its answer. Plain words about the call, never about the subject: a bare
//! "cancelled" has been read aloud as if the person's order were.

use serde_json::{Value, json};

use crate::ledger::Change;
use crate::tool::OutcomeStatus;

/// Names listed in full; of a longer list the nearest [`NAMES_NEAR`] are.
const NAMES_MAX: usize = 24;
const NAMES_NEAR: usize = 8;

/// The message of a result in which nothing was found, as the tools crate shapes it.
pub(crate) const NO_RECORDS: &str = "No matching records found.";

/// Goes with what a call brought while the person spoke.
pub(crate) const SPOKEN_OVER: &str = "The person spoke meanwhile; mention the outcome briefly when it fits.";

/// Goes with what a call brought long after it was asked for.
pub(crate) const STALE: &str = "This comes late; mention it only if it still matters.";

/// Goes with what an equal call brought that the model may not have known of.
pub(crate) const NOT_AGAIN: &str =
    "This had been done before, and was not done again. If the person may want it once more, ask them.";

/// Goes with what the person waits to hear.
pub(crate) const TELL: &str = "Tell the person.";

/// Asks the model to break a silence.
pub(crate) const NUDGE: &str =
    "[The person has heard nothing since they spoke. Answer them now in words, without a tool.]";

pub(crate) fn unknown_tool(name: &str, visible: Vec<String>) -> Value {
    let total = visible.len();
    let listed = if total > NAMES_MAX { nearest(name, visible) } else { visible };
    let mut body = json!({
        "status": "error",
        "error": "unknown tool",
        "error_type": "unknown_tool",
        "message": format!("There is no tool named {name}."),
        "available_tools": listed,
    });
    if total > NAMES_MAX {
        body["available_tools_total"] = json!(total);
    }
    body
}

pub(crate) fn invalid_arguments(detail: &str) -> Value {
    json!({"status": "error", "error": "invalid arguments", "detail": detail})
}

pub(crate) fn timed_out(name: &str) -> Value {
    json!({"status": "error", "error": format!("the {name} tool did not finish in time")})
}

pub(crate) fn outcome_unknown() -> Value {
    json!({
        "status": "unknown",
        "message": "It was started; whether it finished is not known. Say so. Do not repeat it.",
    })
}

/// Of a tool for which running twice is no more than running once.
pub(crate) fn outcome_unknown_idempotent() -> Value {
    json!({
        "status": "unknown",
        "message": "It was started; whether it finished is not known. It may be called once more with the same arguments.",
    })
}

pub(crate) fn cancelled() -> Value {
    json!({"status": "cancelled", "message": "This tool call was stopped before it did anything."})
}

pub(crate) fn still_talking() -> Value {
    json!({"status": "cancelled", "message": "They were still talking; carry on."})
}

pub(crate) fn running() -> Value {
    json!({
        "status": "running",
        "message": "It was started and goes on by itself. You will be told how it ends; do not call it again.",
    })
}

pub(crate) fn nothing_there() -> Value {
    json!({
        "status": "success",
        "results": [],
        "count": 0,
        "message": NO_RECORDS,
        "retryable": false,
        "instruction": "It has found nothing time and again. Tell the person so.",
    })
}

pub(crate) fn ask_the_person() -> Value {
    json!({
        "status": "refused",
        "message": "The arguments were wrong again and again. Ask the person for the missing detail.",
    })
}

pub(crate) fn step_failed() -> Value {
    json!({"status": "refused", "message": "The step before this one failed, so this one was not run."})
}

pub(crate) fn step_unfinished() -> Value {
    json!({"status": "refused", "message": "The step before this one still runs, so this one was not run."})
}

pub(crate) fn no_more_tools() -> Value {
    json!({
        "status": "error",
        "error": "no more tools in this turn",
        "instruction": "Answer the person now with what you have.",
    })
}

pub(crate) fn too_many_calls() -> Value {
    json!({"status": "error", "error": "too many tool calls at once"})
}

pub(crate) fn link_leaving() -> Value {
    json!({
        "status": "refused",
        "message": "The connection is just being made again, so nothing was done. Try again in a moment.",
    })
}

pub(crate) fn session_ending() -> Value {
    json!({"status": "refused", "message": "The session is ending. Nothing was done."})
}

/// Adds an instruction to what a tool's own says.
pub(crate) fn instruct(body: &mut Value, text: &str) {
    let own = body["instruction"].as_str().map(|own| format!("{own} {text}"));
    body["instruction"] = Value::String(own.unwrap_or_else(|| text.to_owned()));
}

/// `body` marked as an answer that was given before.
pub(crate) fn repeated(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.insert("repeat".into(), Value::Bool(true));
    }
    body
}

/// `body` if it is an object, else an object that holds it.
pub(crate) fn object(status: &str, body: Value) -> Value {
    if body.is_object() { body } else { json!({"status": status, "result": body}) }
}

/// What the model is told about a result that cannot be an answer any more.
pub(crate) fn late_result_note(name: &str, body: &Value) -> String {
    format!("{} {body}", late_result(name))
}

/// What such a result is called.
pub(crate) fn late_result(name: &str) -> String {
    format!("[result of {name} requested earlier]")
}

/// What a tool tells the model outside of its answer.
pub(crate) fn tool_note(name: &str, text: &str) -> String {
    format!("[from {name}] {text}")
}

/// What the model is told of a call that it wrote out as speech; `name` is the tool's, or what gave it away.
pub(crate) fn written_call(name: &str) -> String {
    format!(
        "[You wrote {name} out as speech. Nothing was run, and the person heard none of it. Make the call as a call, or \
         answer in plain words.]"
    )
}

/// What became of a call that the model took back, if there is anything to tell.
pub(crate) fn taken_back(name: &str, change: Change) -> Option<String> {
    match change {
        Change::Nothing => None,
        Change::Made => Some(format!("{name} had already been carried out when it was cancelled")),
        Change::Doubtful => {
            Some(format!("{name} had already begun when it was cancelled; whether it finished is not known"))
        }
    }
}

/// The same, and what came of undoing it by a call of `tool`.
pub(crate) fn undone(taken_back: &str, tool: &str, status: OutcomeStatus, body: &Value) -> String {
    match status {
        OutcomeStatus::Success => format!("{taken_back}, and {tool} has undone it: {body}"),
        OutcomeStatus::Error | OutcomeStatus::Cancelled => {
            format!("{taken_back}. {tool} was to undo it and has not: {body}")
        }
        OutcomeStatus::Unknown => {
            format!("{taken_back}. {tool} was to undo it; whether it has is not known: {body}")
        }
    }
}

/// What became of a call that a person made by agreeing to it.
pub(crate) fn agreed(summary: &str, name: &str, body: &Value) -> String {
    let what = match body["status"].as_str() {
        Some("success") => "it was done",
        Some("unknown") => "it was started; whether it finished is not known",
        Some("pending_confirmation") => "things have changed: they are being asked anew",
        _ => "it was not done",
    };
    format!("[The person agreed to \"{summary}\" on the device. {what}. {name}: {body}]")
}

/// How the model may have it undone.
pub(crate) fn how_to_undo(tool: &str, args: &Value) -> String {
    format!("If it should not stand, call {tool} with {args}")
}

/// A note of ours, told from what a tool or a person says.
pub(crate) fn in_brackets(note: &str) -> String {
    format!("[{note}]")
}

/// What the model is told of a call that was given up and `answered` as such, if there is anything to add.
pub(crate) fn late_note(name: &str, answered: OutcomeStatus, change: Change) -> Option<String> {
    let told = match answered {
        OutcomeStatus::Cancelled => "it was stopped",
        OutcomeStatus::Success | OutcomeStatus::Error | OutcomeStatus::Unknown => {
            "it had not finished in time"
        }
    };
    match change {
        Change::Made => Some(format!("[{name} has been carried out after all, though {told}]")),
        Change::Doubtful if answered != OutcomeStatus::Unknown => {
            Some(format!("[{name} had begun after all, though {told}; whether it finished is not known]"))
        }
        Change::Nothing | Change::Doubtful => None,
    }
}

fn nearest(name: &str, mut names: Vec<String>) -> Vec<String> {
    // A model's invented name can be of any length; what lies past this many characters cannot make it nearer.
    let wanted: Vec<char> = name.chars().take(64).collect();
    names.sort_by_cached_key(|candidate| distance(&wanted, candidate));
    names.truncate(NAMES_NEAR);
    names.sort();
    names
}

/// Edit distance: insertions, deletions and replacements that turn one into the other.
fn distance(from: &[char], to: &str) -> usize {
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for (line, c) in to.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for column in 1..row.len() {
            let replaced = diagonal + usize::from(from[column - 1] != c);
            diagonal = row[column];
            row[column] = replaced.min(row[column] + 1).min(row[column - 1] + 1);
        }
    }
    row[from.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_tools_is_cut_to_the_nearest() {
        let mut names: Vec<String> = (0..30).map(|n| format!("zzzzzzzzzzzz_{n:02}")).collect();
        names.insert(0, "read_zone".into());
        let body = unknown_tool("read_zones", names);
        assert_eq!(body["available_tools"].as_array().map(Vec::len), Some(NAMES_NEAR));
        assert_eq!(body["available_tools"][0], "read_zone");
        assert_eq!(body["available_tools_total"], 31);
    }

    #[test]
    fn a_list_that_is_just_short_enough_is_whole() {
        let names: Vec<String> = (0..NAMES_MAX).map(|n| format!("tool_{n:02}")).collect();
        let body = unknown_tool("tool_99", names);
        assert_eq!(body["available_tools"].as_array().map(Vec::len), Some(NAMES_MAX));
        assert_eq!(body.get("available_tools_total"), None);
    }

    #[test]
    fn distance_counts_edits() {
        let kitten: Vec<char> = "kitten".chars().collect();
        assert_eq!(distance(&kitten, "sitting"), 3);
        assert_eq!(distance(&kitten, ""), 6);
        assert_eq!(distance(&[], "abc"), 3);
        assert_eq!(distance(&kitten, "kit"), 3);
    }
}
