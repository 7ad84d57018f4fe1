// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules of use for tool declarations: names, behaviour and the schema dialect.

use std::collections::HashMap;

use serde_json::Value;

use super::Finding;
use super::rules::{Family, items};

/// Most function declarations a setup may hold (google-genai 3.6.1).
const DECLARATIONS_MAX: usize = 512;

/// Judges a list of tools and notes the declared `behavior` of each function that has one.
pub(super) fn check_tools(
    tools: Option<&Value>,
    path: &str,
    family: Family,
    behavior: &mut HashMap<String, String>,
    found: &mut Vec<Finding>,
) {
    let mut seen: Vec<&str> = Vec::new();
    for (i, tool) in items(tools).enumerate() {
        for (j, declared) in items(tool.get("functionDeclarations")).enumerate() {
            let here = format!("{path}[{i}].functionDeclarations[{j}]");
            let name = declared.get("name").and_then(Value::as_str).unwrap_or_default();
            if !is_function_name(name) {
                found.push(Finding::violation(
                    format!("{here}.name"),
                    format!("`{name}` is not a function name"),
                ));
            } else if seen.contains(&name) {
                found.push(Finding::violation(format!("{here}.name"), format!("`{name}` is declared twice")));
            }
            seen.push(name);
            for (one, other) in [("parameters", "parametersJsonSchema"), ("response", "responseJsonSchema")] {
                if declared.get(one).is_some() && declared.get(other).is_some() {
                    found.push(Finding::violation(&here, format!("{one} and {other} exclude each other")));
                }
            }
            let declared_behavior = declared.get("behavior").and_then(Value::as_str);
            if let Some(text) = declared_behavior {
                behavior.insert(name.to_owned(), text.to_owned());
            }
            match (family, declared_behavior) {
                (Family::Thinking38, Some("NON_BLOCKING")) => {}
                (Family::Thinking38, _) => {
                    let text = "extended thinking takes NON_BLOCKING only";
                    found.push(Finding::violation(format!("{here}.behavior"), text));
                }
                (Family::Live31, Some("NON_BLOCKING")) => {
                    let text = "3.1 calls are synchronous only";
                    found.push(Finding::violation(format!("{here}.behavior"), text));
                }
                (Family::Live38 | Family::Live31 | Family::Live25, _) => {}
            }
            if let Some(parameters) = declared.get("parameters") {
                let path = format!("{here}.parameters");
                if parameters.get("type").and_then(Value::as_str) != Some("OBJECT") {
                    found.push(Finding::violation(format!("{path}.type"), "top level must be OBJECT"));
                }
                check_schema(parameters, &path, found);
            }
        }
    }
    if seen.len() > DECLARATIONS_MAX {
        let text = format!("{} declarations: at most {DECLARATIONS_MAX}", seen.len());
        found.push(Finding::violation(path, text));
    }
}

fn check_schema(schema: &Value, path: &str, found: &mut Vec<Finding>) {
    let kind = schema.get("type").and_then(Value::as_str);
    if schema.get("enum").is_some() && !matches!(kind, Some("STRING") | None) {
        found.push(Finding::violation(format!("{path}.enum"), "only allowed for STRING type"));
    }
    if kind == Some("ARRAY") && schema.get("items").is_none() {
        found.push(Finding::violation(path, "ARRAY without items"));
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, inner) in properties {
            let here = format!("{path}.properties.{name}");
            if !is_parameter_name(name) {
                found.push(Finding::violation(&here, "not a parameter name"));
            }
            check_schema(inner, &here, found);
        }
        for needed in items(schema.get("required")).filter_map(Value::as_str) {
            if !properties.contains_key(needed) {
                found.push(Finding::violation(
                    format!("{path}.required"),
                    format!("`{needed}` is not a property"),
                ));
            }
        }
    }
    if let Some(inner) = schema.get("items") {
        check_schema(inner, &format!("{path}.items"), found);
    }
    for (i, inner) in items(schema.get("anyOf")).enumerate() {
        check_schema(inner, &format!("{path}.anyOf[{i}]"), found);
    }
}

fn is_function_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
}

fn is_parameter_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
