// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an integrator writes about a tool, before it is checked.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::BoxFuture;
use crate::cx::Cx;
use crate::handler::{HalMap, Need};
use crate::result::{RawOutcome, ToolError};

mod after;
mod gate;
mod marks;
mod recheck;
mod undo;

pub use after::Delivered;
pub(crate) use after::Hook;
pub use gate::{Agreement, Asking, Gate, REPEATED_DIGITS};
pub(crate) use gate::{ErasedGate, is_placeholder};
pub(crate) use marks::Marks;
pub use marks::{BUDGET_DEFAULT, OnBargeIn, Origin, PreCall};
pub(crate) use undo::Undo;

/// Time from dispatch to answer where neither a tool nor its set says: long enough for a slow bus, short enough to wait for
/// in silence.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(8);

/// What a tool does to the world. The strictest class is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It only looks.
    Read,
    /// It changes this device only, and can be changed back.
    Local,
    /// It acts on the world outside. Needs a gate, or a written reason why not.
    #[default]
    Outbound,
}

pub(crate) type Body = Arc<dyn Fn(Value, &Cx, &HalMap) -> BoxFuture<'static, RawOutcome> + Send + Sync>;

/// A tool as declared, with its argument type erased. Nothing about it is checked yet.
pub struct Declaration {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) effect: Effect,
    pub(crate) gate: Option<Arc<dyn ErasedGate>>,
    pub(crate) ungated: Option<String>,
    pub(crate) rules: Option<String>,
    pub(crate) on_failure: Option<String>,
    pub(crate) marks: Marks,
    pub(crate) undo: Option<Undo>,
    pub(crate) after: Option<Hook>,
    pub(crate) origin: Origin,
    /// `None` until the set is built, where the tool says nothing about it.
    pub(crate) timeout: Option<Duration>,
    pub(crate) needs: Vec<Need>,
    pub(crate) body: Body,
    /// Arguments that choices were given for and that do not exist.
    pub(crate) misfits: Vec<String>,
    /// One of ours: may carry a reserved name.
    pub(crate) built_in: bool,
    pub(crate) ends_session: bool,
}

impl Declaration {
    /// From dispatch to answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT_DEFAULT)
    }
}

impl fmt::Debug for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declaration")
            .field("name", &self.name)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}

/// Declares one tool. Every mark has the strict default.
#[must_use = "a tool that is not given to a `ToolSet` is not offered to the model"]
pub struct ToolBuilder<A> {
    declaration: Declaration,
    args: PhantomData<fn(A)>,
}

impl<A> fmt::Debug for ToolBuilder<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.declaration.fmt(f)
    }
}

impl<A: 'static> ToolBuilder<A> {
    pub(crate) fn new<T: DeserializeOwned + JsonSchema + 'static>(
        name: &str,
        needs: Vec<Need>,
        body: impl Fn(T, &Cx, &HalMap) -> BoxFuture<'static, RawOutcome> + Send + Sync + 'static,
    ) -> Self {
        let mut schema = SchemaSettings::draft2020_12()
            .with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            })
            .into_generator()
            .into_root_schema_for::<T>()
            .to_value();
        let mut description = String::new();
        if let Value::Object(root) = &mut schema {
            root.remove("title");
            if let Some(Value::String(text)) = root.remove("description") {
                description = paragraphs(&text);
            }
            // An empty struct has a schema without properties; a declaration wants them said.
            if root.get("type").and_then(Value::as_str) == Some("object") {
                root.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
            }
        }
        Self::erased(name, description, schema, needs, body_of(body))
    }

    pub(crate) fn erased(
        name: &str,
        description: String,
        schema: Value,
        needs: Vec<Need>,
        body: Body,
    ) -> Self {
        let declaration = Declaration {
            name: name.to_owned(),
            description,
            schema,
            effect: Effect::default(),
            gate: None,
            ungated: None,
            rules: None,
            on_failure: None,
            marks: Marks::default(),
            undo: None,
            after: None,
            origin: Origin::Native,
            timeout: None,
            needs,
            body,
            misfits: Vec::new(),
            built_in: false,
            ends_session: false,
        };
        Self { declaration, args: PhantomData }
    }

    /// Another name than the function's: letters, digits and `_`, at most 64, not starting with a digit.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.declaration.name = name.into();
        self
    }

    /// Another description than the doc comment of the arguments: what it does and when to use it, 3 to 1000 characters.
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.declaration.description = description.into();
        self
    }

    /// The values an argument may have, where they are known only at run time: the model chooses from them.
    pub fn choices<T: Into<Value>>(mut self, argument: &str, values: impl IntoIterator<Item = T>) -> Self {
        let property = self.declaration.schema.pointer_mut(&format!("/properties/{argument}"));
        match property.and_then(Value::as_object_mut) {
            Some(property) => {
                property.insert("enum".to_owned(), values.into_iter().map(Into::into).collect());
            }
            None => self.declaration.misfits.push(argument.to_owned()),
        }
        self
    }

    /// What it does to the world; [`Effect::Outbound`] if never said.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.declaration.effect = effect;
        self
    }

    /// Asks a person before it runs. The arguments are written back from their parsed form, defaults included, so that
    /// what was agreed to is what runs.
    pub fn gate(mut self, gate: Gate<A>) -> Self
    where
        A: DeserializeOwned + Serialize,
    {
        self.declaration.gate = Some(Arc::new(gate));
        self
    }

    /// Outbound, yet nobody is asked: `reason` says why that is right. It is shown by `tools list`.
    pub fn ungated(mut self, reason: impl Into<String>) -> Self {
        self.declaration.ungated = Some(reason.into());
        self
    }

    /// Rules for the prompt: when to call it, how to speak about it. Present only while the tool is.
    pub fn instruct(mut self, rules: impl Into<String>) -> Self {
        self.declaration.rules = Some(rules.into());
        self
    }

    /// What the model should do when it fails, where the failure itself does not say.
    pub fn on_failure(mut self, instruction: impl Into<String>) -> Self {
        self.declaration.on_failure = Some(instruction.into());
        self
    }

    /// From dispatch to answer, 1 to 30 s; if never said, that of the set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.declaration.timeout = Some(timeout);
        self
    }

    /// Marks one of ours that ends the session.
    pub(crate) fn ends_session(mut self) -> Self {
        self.declaration.built_in = true;
        self.declaration.ends_session = true;
        self
    }

    /// Forgets the argument type, so that tools of different arguments fit one list.
    #[must_use]
    pub fn erase(self) -> Declaration {
        self.declaration
    }
}

impl<A: 'static> From<ToolBuilder<A>> for Declaration {
    fn from(builder: ToolBuilder<A>) -> Self {
        builder.erase()
    }
}

/// A body that parses its arguments itself.
fn body_of<T: DeserializeOwned + 'static>(
    body: impl Fn(T, &Cx, &HalMap) -> BoxFuture<'static, RawOutcome> + Send + Sync + 'static,
) -> Body {
    Arc::new(move |args, cx, hal| match serde_json::from_value(args) {
        Ok(args) => body(args, cx, hal),
        Err(error) => {
            let error = ToolError::invalid_arguments(error.to_string());
            Box::pin(async move { Err(error) })
        }
    })
}

/// Doc comments come line by line; a model reads paragraphs.
fn paragraphs(text: &str) -> String {
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .collect();
    paragraphs.join("\n\n")
}
