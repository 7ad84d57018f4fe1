// SPDX-License-Identifier: MIT OR Apache-2.0

//! From what a server lists and what the configuration says to tools that are checked like those of this process.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::Value;

use super::call::{Call, call};
use super::schema::inlined;
use super::server::{Server, Up};
use super::words::{acts, clean};
use super::{LeftOut, Marks};
use crate::declare::{Effect, Gate, Origin, ToolBuilder};
use crate::import::import_schema;
use crate::set::{ErasedTool, ToolSet};
use crate::shape::shortened;

/// Longest description, in characters. Servers written for other clients have longer ones; their heads say what matters.
const DESCRIPTION_CHARS_MAX: usize = 1000;

/// Longest name of a tool that is looked at. Those that may be offered are shorter still.
pub(super) const NAME_CHARS_MAX: usize = 64;

/// Longest reason that is told, in characters.
pub(super) const REASON_CHARS_MAX: usize = 600;

/// Tools that could not be read and are told of one by one, beside those that are configured. A server may list a hundred.
const UNREAD_MAX: usize = 5;

/// A tool that may be offered.
pub(super) struct Offer {
    pub(super) server: String,
    /// What the server calls it.
    pub(super) own_name: String,
    pub(super) tool: ErasedTool,
}

/// Every tool of the server that may be offered.
pub(super) fn offers(server: &Arc<Server>, up: &Up, left_out: &mut Vec<LeftOut>) -> Vec<Offer> {
    let mut offers = Vec::new();
    let leave = |tool: &str, reason: String| LeftOut {
        server: server.name().to_owned(),
        tool: clean(tool, NAME_CHARS_MAX),
        reason: clean(&reason, REASON_CHARS_MAX),
        clash: false,
    };
    let mut more = 0;
    for (at, faulty) in up.unread.iter().enumerate() {
        let marks = server.config.tools.get(&faulty.name);
        match marks {
            Some(marks) if !marks.enabled => {}
            None if at >= UNREAD_MAX => more += 1,
            Some(_) | None => left_out.push(leave(&faulty.name, format!("left out: {}", faulty.why))),
        }
    }
    if more > 0 {
        left_out.push(leave(&format!("and {more} more"), "left out: they cannot be read either".to_owned()));
    }
    for name in server.config.tools.keys() {
        let is_listed = up.tools.iter().any(|tool| *tool.name == **name)
            || up.unread.iter().any(|faulty| faulty.name == *name);
        if !is_listed {
            let known: Vec<String> = up.tools.iter().map(|tool| clean(&tool.name, NAME_CHARS_MAX)).collect();
            let known = shortened(&known.join(", "), 300);
            left_out.push(leave(
                name,
                format!("it is configured, and the server has no such tool; it has: {known}"),
            ));
        }
    }
    for tool in &up.tools {
        if tool.name.chars().nth(NAME_CHARS_MAX).is_some() {
            let reason = format!("left out: its name has more than {NAME_CHARS_MAX} characters");
            left_out.push(leave(&tool.name, reason));
            continue;
        }
        let own_name = tool.name.to_string();
        let marks = server.config.tools.get(&own_name).cloned().unwrap_or_default();
        if !marks.enabled {
            continue;
        }
        match offered(server, tool, marks) {
            Ok(tool) => offers.push(Offer { server: server.name().to_owned(), own_name, tool }),
            Err(reasons) => left_out.push(leave(&own_name, format!("left out: {}", reasons.join("; ")))),
        }
    }
    offers
}

/// The tool, or everything that keeps it from being offered.
fn offered(server: &Arc<Server>, tool: &Arc<Tool>, marks: Marks) -> Result<ErasedTool, Vec<String>> {
    let schema = inlined(&tool.input_schema).map_err(|fault| vec![fault])?;
    let schema = import_schema(&schema).map_err(|fault| vec![format!("the schema: {fault}")])?;
    let mut faults = Vec::new();
    let forced = tool.annotations.as_ref().and_then(forced_by);
    let effect = if forced.is_some() { Effect::Outbound } else { marks.effect };
    if effect == Effect::Outbound && marks.confirm.is_none() && marks.ungated.is_none() {
        let says = forced.map(|hint| format!(" (its own {hint} says so)")).unwrap_or_default();
        let key = format!("[mcp.tools.{}]", toml_key(&tool.name));
        faults.push(format!(
            "it acts on the world outside{says} and nobody would be asked: under {key} set confirm = \"what the person \
             agrees to\", or ungated = \"why nobody need be asked\"{}",
            if forced.is_none() { ", or its true effect" } else { "" }
        ));
        // What the check of the set would say of this is about tools written in Rust.
        return Err(faults);
    }
    if let Some(confirm) = &marks.confirm {
        let known = schema.get("properties").and_then(Value::as_object);
        for place in confirm.places() {
            if known.is_none_or(|known| !known.contains_key(place)) {
                faults.push(format!("confirm names `{place}`, which is none of its arguments"));
            }
        }
    }
    let mut marks = marks;
    if !faults.is_empty() {
        // What else is wrong shows without the sentence that cannot be said. This one is never offered.
        marks.confirm = None;
        marks.ungated = Some("its sentence is faulty".to_owned());
    }
    let built = ToolSet::builder().tool(declared(server, tool, marks, effect, schema)).build();
    match built {
        Ok(set) if faults.is_empty() => set.iter().next().cloned().ok_or(faults),
        Ok(_) => Err(faults),
        Err(found) => {
            faults.extend(found.0.into_iter().map(|error| error.fault));
            Err(faults)
        }
    }
}

/// What the model calls it.
pub(super) fn name(server: &Server, tool: &Tool) -> String {
    format!("{}_{}", server.name(), tool.name).replace('-', "_")
}

fn declared(
    server: &Arc<Server>,
    tool: &Arc<Tool>,
    marks: Marks,
    effect: Effect,
    schema: Value,
) -> ToolBuilder<Value> {
    let name = name(server, tool);
    let gate = marks.confirm.clone().map(|confirm| {
        let (asked, spoken) = ((confirm.clone(), schema.clone()), (confirm, schema.clone()));
        Gate::voice(move |args: &Value| asked.0.render(args, &asked.1).unwrap_or_default())
            .slots(move |args| spoken.0.filled(args, &spoken.1))
            .asking(marks.asking)
    });
    let what = Arc::new(Call {
        server: Arc::clone(server),
        tool: Arc::clone(tool),
        acts: effect != Effect::Read || gate.is_some(),
        job: marks.job,
        schema: schema.clone(),
        confirm: marks.confirm,
    });
    let mut builder = ErasedTool::dynamic(&name, &description(tool), schema, move |args, cx| {
        call(Arc::clone(&what), args, cx)
    })
    .effect(effect)
    .timeout(server.config.timeout)
    .origin(Origin::Mcp(server.name().to_owned()))
    // Without a word about it, slow is what does not come back in time.
    .budget(marks.budget.unwrap_or(server.config.timeout));
    if marks.needs_result_now {
        builder = builder.needs_result_now();
    }
    if marks.job {
        builder = builder.job();
    }
    if let Some(gate) = gate {
        builder = builder.gate(gate);
    }
    if let Some(reason) = marks.ungated {
        builder = builder.ungated(reason);
    }
    builder
}

/// The hint by which a server makes its tool stricter. Hints left out say nothing, and `readOnlyHint` is never believed:
/// a server would lift its own gate with it.
fn forced_by(hints: &ToolAnnotations) -> Option<&'static str> {
    if hints.destructive_hint == Some(true) {
        Some("destructiveHint")
    } else if hints.open_world_hint == Some(true) {
        Some("openWorldHint")
    } else {
        None
    }
}

fn description(tool: &Tool) -> String {
    let text = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let head = text.trim().chars().take(DESCRIPTION_CHARS_MAX + 1);
    let clean: String = head.map(|char| if acts(char) && char != '\n' { ' ' } else { char }).collect();
    shortened(&clean, DESCRIPTION_CHARS_MAX)
}

/// A name as it must be written in a table's head.
fn toml_key(name: &str) -> String {
    let bare = !name.is_empty()
        && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-'));
    if bare { name.to_owned() } else { format!("{name:?}") }
}
