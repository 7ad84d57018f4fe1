// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tries how a tool is undone on arguments made from its schema: what cannot be undone would otherwise first show when it is to
//! be.

use std::collections::BTreeMap;

use super::sample;
use crate::declare::{Effect, Origin};
use crate::set::ErasedTool;

/// What is wrong with how `tool` is undone, as far as a sample shows it. `tools` are those without a fault of their own,
/// `declared` has the names of all.
pub(super) fn fault(
    tool: &ErasedTool,
    tools: &[ErasedTool],
    declared: &BTreeMap<String, Origin>,
) -> Option<String> {
    let name = tool.undone_by()?;
    if tool.effect() == Effect::Read && !tool.is_gated() {
        return Some("it only reads: there is nothing to undo; leave `.undo(..)` out".to_owned());
    }
    let Some(by) = tools.iter().find(|other| other.name() == name) else {
        // One with faults of its own is told of them.
        let missing = format!("it is undone by `{name}`, which is none of the tools: name one that is there");
        return (!declared.contains_key(name)).then_some(missing);
    };
    if by.ends_session() {
        return Some(format!("it is undone by `{name}`, which ends the session: name another"));
    }
    let args = sample::arguments(tool)?;
    let rendered = match tool.undo(&args)? {
        Ok(rendered) => rendered,
        Err(fault) => return Some(format!("what undoes it cannot be rendered for {args}: {fault}")),
    };
    let fault = by.prepare(&rendered).err()?;
    Some(format!("for {args} it is undone by `{name}` with {rendered}, which do not fit: {fault}"))
}
