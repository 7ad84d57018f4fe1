// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns declarations into a checked set, or into the list of everything that is wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::declare::{Declaration, Origin, TIMEOUT_DEFAULT};
use crate::handler::{HalMap, HasTools, Need};
use crate::set::{ErasedTool, ToolSet};

mod faults;
mod lint;
pub(crate) mod sample;
mod undo;

use faults::faults_of;

/// What a set is called in the log where nobody has named it.
const SET_NAME: &str = "Tools";

/// One thing wrong with one tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool `{tool}`: {fault}")]
pub struct BuildError {
    /// The tool's name, as declared.
    pub tool: String,
    /// Thing, value and remedy.
    pub fault: String,
}

/// Everything wrong with the tools, in the order they were declared. Nothing starts until it is mended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BuildErrors(pub Vec<BuildError>);

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

/// One thing about the tools that works and will be regretted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildWarning {
    /// The tool's name, or the component's; `None` if it is about all tools together.
    pub tool: Option<String>,
    /// Thing, value and remedy.
    pub text: String,
}

impl fmt::Display for BuildWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "tool `{tool}`: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Collects handles and declarations.
#[derive(Debug, Default)]
pub struct ToolSetBuilder {
    name: Option<String>,
    hal: HalMap,
    timeout: Option<Duration>,
    declarations: Vec<Declaration>,
    warnings: Vec<BuildWarning>,
}

impl ToolSetBuilder {
    /// What the set is called in the log.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Gives a handle to every tool that asks for `Hal<T>`.
    #[must_use]
    pub fn hal<T: ?Sized + Send + Sync + 'static>(mut self, handle: Arc<T>) -> Self {
        self.hal.insert(handle);
        self
    }

    /// From dispatch to answer for every tool that sets no time of its own, 1 to 30 s; 8 s if never said.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Adds one tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<Declaration>) -> Self {
        self.declarations.push(tool.into());
        self
    }

    /// Adds every tool of a component.
    #[must_use]
    pub fn component(mut self, component: Arc<impl HasTools + ?Sized>) -> Self {
        self.declarations.extend(component.tools());
        self
    }

    /// Adds every tool of a component that this device may not have. Without it they are left out, and one warning
    /// says so by `name`.
    #[must_use]
    pub fn component_if(self, name: &str, component: Option<Arc<impl HasTools + ?Sized>>) -> Self {
        match component {
            Some(component) => self.component(component),
            None => self.missing(name, "this device does not have it: its tools are left out".to_owned()),
        }
    }

    fn missing(mut self, name: &str, text: String) -> Self {
        self.warnings.push(BuildWarning { tool: Some(name.to_owned()), text });
        self
    }

    /// Checks everything. What it finds that is no fault is in [`ToolSet::warnings`].
    ///
    /// # Errors
    /// Every fault of every tool.
    pub fn build(self) -> Result<ToolSet, BuildErrors> {
        let set: Arc<str> = self.name.as_deref().unwrap_or(SET_NAME).into();
        let hal = Arc::new(self.hal);
        let timeout = self.timeout.unwrap_or(TIMEOUT_DEFAULT);
        let mut warnings = self.warnings;
        let mut faults = Vec::new();
        let mut tools = Vec::new();
        let mut seen: BTreeMap<String, Origin> = BTreeMap::new();
        let order: Vec<String> = self.declarations.iter().map(|tool| tool.name.clone()).collect();
        for mut declaration in self.declarations {
            let name = declaration.name.clone();
            let mut warn = |text| warnings.push(BuildWarning { tool: Some(name.clone()), text });
            if let Some(need) = lacking(&declaration, &hal) {
                warn(format!("left out: this device has no `{}`", need.type_name));
                continue;
            }
            take_hidden(&mut declaration);
            declaration.timeout.get_or_insert(timeout);
            let mut found = faults_of(&declaration, &hal);
            if let Some(earlier) = seen.get(&name) {
                let origin = &declaration.origin;
                found.push(format!(
                    "the name is taken twice: by a tool of origin {earlier} and by one of {origin}"
                ));
            } else {
                seen.insert(name.clone(), declaration.origin.clone());
            }
            let validator = jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .should_validate_formats(true)
                .offline()
                .build(&declaration.schema)
                .map_err(|error| found.push(format!("the schema is not valid JSON Schema: {error}")));
            if let (Ok(validator), true) = (validator, found.is_empty()) {
                lint::doubts(&declaration).into_iter().for_each(&mut warn);
                let tool = ErasedTool::new(declaration, validator, Arc::clone(&hal), Arc::clone(&set));
                found.extend(sample::fault(&tool));
                tools.push(tool);
            }
            faults.extend(found.into_iter().map(|fault| BuildError { tool: name.clone(), fault }));
        }
        let undone = tools.iter().filter_map(|tool| {
            let fault = undo::fault(tool, &tools, &seen)?;
            Some(BuildError { tool: tool.name().to_owned(), fault })
        });
        faults.extend(undone);
        if !faults.is_empty() {
            faults.sort_by_key(|fault| order.iter().position(|name| *name == fault.tool));
            return Err(BuildErrors(faults));
        }
        warnings.extend(lint::doubts_about_all(&tools));
        Ok(ToolSet::new(tools, warnings))
    }
}

/// The handle for want of which an optional tool is left out.
fn lacking<'a>(declaration: &'a Declaration, hal: &HalMap) -> Option<&'a Need> {
    declaration.needs.iter().find(|need| declaration.marks.optional && !hal.has(need))
}

/// Moves the `x-hidden` keywords of the schema to the marks: they are ours, and no part of what a model is told.
fn take_hidden(declaration: &mut Declaration) {
    fn take(node: &mut Value, hidden: &mut BTreeSet<String>) {
        match node {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                    for (name, property) in properties {
                        let keyword =
                            property.as_object_mut().and_then(|keywords| keywords.remove("x-hidden"));
                        if keyword == Some(Value::Bool(true)) {
                            hidden.insert(name.clone());
                        }
                    }
                }
                fields.values_mut().for_each(|field| take(field, hidden));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| take(item, hidden)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let Declaration { schema, marks, .. } = declaration;
    take(schema, &mut marks.hidden);
}
