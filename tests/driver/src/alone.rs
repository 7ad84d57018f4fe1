// SPDX-License-Identifier: MIT OR Apache-2.0

//! One function, with fakes and without a session.

use std::sync::Arc;

use serde_json::{Value, json};
use session::{ClientEvent, observing};
use tools::{Effect, Handler, ToolSet, ToolSetBuilder, tool};
use voiced::identity::Identity;
use voiced::toolbox::{Trial, prepare, run_alone, spec};

use crate::world::Driver;

/// The name that the function has here, so that a closure does as well.
const NAME: &str = "under_test";

/// A function that is called by itself, as `voiced tools test` calls a tool.
#[derive(Debug)]
pub struct Alone {
    builder: ToolSetBuilder,
}

impl Driver {
    /// Tests one function of a tool by itself. Its arguments are checked, its panics, its deadline and what it returns are
    /// treated as in a conversation; nobody is asked before it runs.
    ///
    /// ```
    /// use driver::Driver;
    /// use serde_json::json;
    /// use tools::ToolResult;
    ///
    /// /// Doubles a number. Use it when somebody asks.
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Double {
    ///     /// The number.
    ///     number: i64,
    /// }
    ///
    /// async fn double(args: Double) -> ToolResult {
    ///     ToolResult::ok(format!("It is {}.", args.number * 2))
    /// }
    ///
    /// # fn main() {
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    /// # runtime.expect("a runtime").block_on(async {
    /// let (answer, _) = Driver::for_tool(double).call(json!({"number": 21})).await;
    /// assert_eq!(answer, json!({"status": "success", "message": "It is 42."}));
    /// let (answer, _) = Driver::for_tool(double).call(json!({})).await;
    /// assert_eq!(answer["error"], "invalid arguments");
    /// # });
    /// # }
    /// ```
    pub fn for_tool<M, H: Handler<M>>(function: H) -> Alone {
        let declaration = tool(function).named(NAME).effect(Effect::Local);
        let declaration = declaration.described("The tool under test. Used when a test says so.");
        Alone { builder: ToolSet::builder().tool(declaration) }
    }
}

impl Alone {
    /// Gives the function its handle.
    #[must_use]
    pub fn hal<T: ?Sized + Send + Sync + 'static>(mut self, handle: Arc<T>) -> Self {
        self.builder = self.builder.hal(handle);
        self
    }

    /// Calls it: what the model would read, and what the screen would show.
    ///
    /// # Panics
    /// If it cannot be declared: a handle is missing, or its arguments have no schema.
    pub async fn call(self, args: Value) -> (Value, Vec<ClientEvent>) {
        let trial = self.trial(args).await;
        (trial.outcome.body, trial.events)
    }

    /// Calls it: everything that came of it, also what it had the device say and told the model while it ran.
    ///
    /// # Panics
    /// As [`Alone::call`].
    pub async fn trial(self, args: Value) -> Trial {
        let tools = self.builder.build().unwrap_or_else(|faults| panic!("{faults}"));
        let tool = tools.find(NAME).expect("it was just declared");
        let identity = Identity::fixed();
        match prepare(tool, &identity, &args) {
            Ok(prepared) => {
                let permit = observing(&spec(tool), prepared).expect("it is not outbound here");
                run_alone(&tools, &identity, permit).await
            }
            Err(detail) => Trial::refused(json!({
                "status": "error", "error": "invalid arguments", "detail": detail,
            })),
        }
    }
}
