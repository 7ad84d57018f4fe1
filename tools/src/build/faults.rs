// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is wrong with one declaration: each of these stops the daemon before its microphone opens.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use crate::declare::{Asking, Declaration, Effect, REPEATED_DIGITS};
use crate::handler::HalMap;

/// Longest name; the limit of every live provider.
const NAME_LEN_MAX: usize = 64;

/// Names the daemon keeps for itself, and the prefix of those it may add.
const RESERVED: [&str; 2] = ["end_call", "end_session"];
const RESERVED_PREFIX: &str = "sys_";

const DESCRIPTION_CHARS: RangeInclusive<usize> = 3..=1000;
const TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30);

/// Argument names by which a model could claim a person's consent.
const CONSENT_PREFIXES: [&str; 3] = ["confirm", "approv", "consent"];

/// Deepest nesting of a schema; deeper ones are beyond what live models fill in reliably.
const SCHEMA_DEPTH_MAX: usize = 5;

/// Every fault of `tool` by itself; what two tools do to each other is not seen here.
pub(super) fn faults_of(tool: &Declaration, hal: &HalMap) -> Vec<String> {
    let mut faults = Vec::new();
    faults.extend(name_fault(&tool.name, tool.built_in));
    let chars = tool.description.trim().chars().count();
    if !DESCRIPTION_CHARS.contains(&chars) {
        faults.push(format!(
            "the description has {chars} characters: expected 3..=1000; write a doc comment on the argument struct"
        ));
    }
    if !TIMEOUT.contains(&tool.timeout()) {
        faults.push(format!("the timeout is {:?}: expected 1 s..=30 s", tool.timeout()));
    }
    faults.extend(consent_faults(tool));
    faults.extend(mark_faults(tool));
    faults.extend(schema_faults(&tool.schema));
    for argument in &tool.misfits {
        faults.push(format!("it has choices for `{argument}`, which is none of its arguments"));
    }
    for need in &tool.needs {
        if !hal.has(need) {
            faults.push(format!(
                "it needs `Hal<{0}>`: give one with `.hal::<{0}>(..)`, or leave the tool out",
                need.type_name
            ));
        }
    }
    faults
}

fn name_fault(name: &str, built_in: bool) -> Option<String> {
    if name.contains("{{closure}}") {
        return Some("a closure has no name: give one with `.named(..)`".to_owned());
    }
    let first_fits = name.starts_with(|ch: char| ch.is_ascii_alphabetic() || ch == '_');
    if !first_fits
        || name.len() > NAME_LEN_MAX
        || !name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
    {
        return Some(
            "the name does not fit: expected 1 to 64 letters, digits or `_`, not a digit first".to_owned(),
        );
    }
    if !built_in && (RESERVED.contains(&name) || name.starts_with(RESERVED_PREFIX)) {
        return Some("the name is reserved for the daemon".to_owned());
    }
    None
}

fn consent_faults(tool: &Declaration) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(reason) = &tool.ungated {
        if tool.gate.is_some() {
            faults.push("it has a gate and a reason for having none: keep one".to_owned());
        }
        if reason.trim().is_empty() {
            faults.push(
                "the reason for having no gate is empty: write down why nobody need be asked".to_owned(),
            );
        }
    }
    match tool.effect {
        Effect::Outbound if tool.gate.is_none() && tool.ungated.is_none() => faults.push(
            "it is outbound and has no gate: add `.gate(..)`, or say `.ungated(\"why\")`, or give it its true effect"
                .to_owned(),
        ),
        Effect::Outbound | Effect::Local | Effect::Read => {}
    }
    if let Some(gate) = &tool.gate {
        faults.extend(asking_faults(gate.asking()));
        for name in property_names(&tool.schema) {
            let lower = name.to_ascii_lowercase();
            if CONSENT_PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) {
                faults.push(format!(
                    "argument `{name}` lets the model claim consent: remove it; the gate asks"
                ));
            }
        }
    }
    faults
}

fn asking_faults(asking: Asking) -> Vec<String> {
    let Asking { by, high_risk, repeat_last } = asking;
    let mut faults = Vec::new();
    let by_what = by.as_str();
    if by.is_silent() && high_risk {
        faults.push(format!(
            "it is high risk and agreed to by {by_what}, to which no words can be said: leave one out"
        ));
    }
    if by.is_silent() && repeat_last.is_some() {
        faults.push(format!(
            "digits are to be repeated and it is agreed to by {by_what}, to which none can be said: leave one out"
        ));
    }
    if let Some(digits) = repeat_last.filter(|digits| !REPEATED_DIGITS.contains(digits)) {
        faults.push(format!("{digits} digits are to be repeated: expected 1..=10"));
    }
    faults
}

fn mark_faults(tool: &Declaration) -> Vec<String> {
    let mut faults = Vec::new();
    let marks = &tool.marks;
    if marks.parallel && (tool.effect != Effect::Read || tool.gate.is_some()) {
        faults.push(
            "it is parallel, yet does more than read: only a tool of effect read without a gate may be"
                .to_owned(),
        );
    }
    if marks.job && tool.after.is_some() {
        faults.push(
            "it is a job and does something after delivery, yet a job's result is a note and is never delivered: leave one out"
                .to_owned(),
        );
    }
    if marks.lane.as_deref().is_some_and(|lane| lane.trim().is_empty()) {
        faults.push("its lane has no name: call it after the hardware it guards".to_owned());
    }
    if !marks.job && marks.budget > tool.timeout() {
        faults.push(format!(
            "the budget of {:?} is over the timeout of {:?}: it could never be missed",
            marks.budget,
            tool.timeout()
        ));
    }
    faults
}

fn schema_faults(schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        faults.push("the arguments are not a JSON object: make them a struct with named fields".to_owned());
    }
    if mentions_ref(schema) {
        faults.push("the schema has a `$ref`: arguments cannot be recursive".to_owned());
    }
    let depth = depth(schema);
    if depth > SCHEMA_DEPTH_MAX {
        faults.push(format!("the arguments nest {depth} deep: expected at most {SCHEMA_DEPTH_MAX}"));
    }
    faults
}

fn property_names(schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    walk(schema, &mut |node| {
        if let Some(Value::Object(properties)) = node.get("properties") {
            names.extend(properties.keys().cloned());
        }
    });
    names
}

fn mentions_ref(schema: &Value) -> bool {
    let mut found = false;
    walk(schema, &mut |node| found |= node.get("$ref").is_some_and(Value::is_string));
    found
}

fn walk(node: &Value, visit: &mut impl FnMut(&Value)) {
    visit(node);
    match node {
        Value::Object(fields) => fields.values().for_each(|field| walk(field, visit)),
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// How many objects and arrays of arguments lie inside one another, the root counted.
fn depth(schema: &Value) -> usize {
    let properties = schema.get("properties").and_then(Value::as_object);
    let inner = properties.into_iter().flat_map(|known| known.values()).chain(schema.get("items"));
    match schema.get("type").and_then(Value::as_str) {
        Some("object" | "array") => 1 + inner.map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
