// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which of the tools the model sees. A view is taken when a turn of the person opens and kept for that whole turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::set::{ErasedTool, RULES_HEADING, STANDING_RULES, ToolSet};

/// Some of a set's tools: a tool outside it cannot be found, is in no list, and its rules are in no prompt. Clones are
/// cheap. Two views are equal if they show the same names, so a changed view is a declaration to be sent anew.
#[derive(Clone, Debug, Default)]
pub struct ToolView {
    set: ToolSet,
    shown: Arc<BTreeSet<String>>,
}

impl PartialEq for ToolView {
    fn eq(&self, other: &Self) -> bool {
        self.shown == other.shown
    }
}

impl ToolSet {
    /// The view that shows every tool.
    #[must_use]
    pub fn whole(&self) -> ToolView {
        self.view_where(|_| true)
    }

    /// The view that shows the tools of these names. A name without a tool shows nothing: the tool may be one that this
    /// device has no hardware for.
    #[must_use]
    pub fn view<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> ToolView {
        let names: BTreeSet<&str> = names.into_iter().collect();
        self.view_where(|tool| names.contains(tool.name()))
    }

    /// The view that shows the tools `shows` says yes to.
    #[must_use]
    pub fn view_where(&self, shows: impl Fn(&ErasedTool) -> bool) -> ToolView {
        let shown = self.iter().filter(|tool| shows(tool)).map(|tool| tool.name().to_owned()).collect();
        ToolView { set: self.clone(), shown: Arc::new(shown) }
    }
}

impl ToolView {
    /// The tools it shows, in the order they were declared.
    pub fn iter(&self) -> impl Iterator<Item = &ErasedTool> {
        self.set.iter().filter(|tool| self.shown.contains(tool.name()))
    }

    /// The tool called `name`, if it is shown.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ErasedTool> {
        self.shown.get(name).and_then(|name| self.set.find(name))
    }

    /// The names it shows, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    /// Checks a model's arguments for the tool called `name`; see [`ErasedTool::prepare`].
    ///
    /// # Errors
    /// One text for the model that names every fault.
    pub fn prepare(&self, name: &str, args: &Value) -> Result<Value, String> {
        self.find(name).ok_or_else(|| format!("There is no tool named {name}."))?.prepare(args)
    }

    /// What holds for every tool and then the rules of each that it shows, in the order they were declared, under
    /// [`RULES_HEADING`]. Empty if it shows none.
    #[must_use]
    pub fn rules(&self) -> String {
        if self.iter().next().is_none() {
            return String::new();
        }
        let own = self.iter().filter_map(ErasedTool::rules).map(str::trim).filter(|text| !text.is_empty());
        let rules: Vec<&str> = std::iter::once(STANDING_RULES).chain(own).collect();
        format!("{RULES_HEADING}\n{}", rules.join("\n\n"))
    }
}
