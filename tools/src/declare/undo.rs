// SPDX-License-Identifier: MIT OR Apache-2.0

//! How what a tool did is undone: by a call of another tool of its set.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::declare::ToolBuilder;
use crate::set::ErasedTool;

type Render = Box<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// The tool that undoes, and its arguments made of those of the call that is undone.
pub(crate) struct Undo {
    pub(crate) tool: String,
    render: Render,
}

impl fmt::Debug for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Undo").field(&self.tool).finish()
    }
}

impl<A: 'static> ToolBuilder<A> {
    /// What a call did is undone by a call of `tool`, another tool of the set, with the arguments that `args` makes of those of
    /// the call. It is meant for a call that the provider takes back when it is too late to stop it.
    ///
    /// If nobody need agree to `tool`, the device makes that call by itself, and the model is told of both in one note. If a
    /// person must, or nobody knows whether there is anything to undo, the note says how it is undone, and the model may
    /// propose it. What undoes is not undone in its turn.
    pub fn undo<B: Serialize>(
        mut self,
        tool: impl Into<String>,
        args: impl Fn(&A) -> B + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
    {
        let render: Render = Box::new(move |done| {
            let done = A::deserialize(done).map_err(|error| error.to_string())?;
            crate::shape::to_json(&args(&done)).map_err(|fault| fault.to_string())
        });
        self.declaration.undo = Some(Undo { tool: tool.into(), render });
        self
    }
}

impl ErasedTool {
    /// The name of the tool that undoes what a call of this one did.
    #[must_use]
    pub fn undone_by(&self) -> Option<&str> {
        self.declared_undo().map(|undo| undo.tool.as_str())
    }

    /// The arguments with which [`ErasedTool::undone_by`] undoes a call with these canonical arguments. `None` if nothing does.
    ///
    /// An `Err` says why there are none: the integrator's code failed.
    #[must_use]
    pub fn undo(&self, args: &Value) -> Option<Result<Value, String>> {
        let undo = self.declared_undo()?;
        Some(self.caught(|| (undo.render)(args)))
    }
}
