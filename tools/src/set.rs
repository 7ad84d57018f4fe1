// SPDX-License-Identifier: MIT OR Apache-2.0

//! The checked tools: what the session and the provider read of them, and how one is run.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jsonschema::Validator;
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use crate::BoxFuture;
use crate::args::{Checks, Unknown, mask};
use crate::build::{BuildWarning, ToolSetBuilder};
use crate::cx::Cx;
use crate::declare::{Asking, Declaration, Effect, ErasedGate, Hook, Marks, Origin, ToolBuilder, Undo};
use crate::handler::HalMap;
use crate::result::{IntoResult, RawOutcome, ToolError};
use crate::shape::{Shaped, shape};

/// First line of the section of the prompt that holds every tool's rules.
pub const RULES_HEADING: &str = "[ACTIVE TOOLS & USAGE RULES]";

/// What the model is told of every tool.
pub const STANDING_RULES: &str = "\
• EVERY TOOL:
  1. Say at most one short line before you call, and call in the same response.
  2. Never say JSON, an id or a technical error aloud: say in plain words what it means.";

/// Time a cancelled tool has to come back by itself before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_millis(250);

/// One checked tool. Clones share it.
#[derive(Clone)]
pub struct ErasedTool(Arc<Inner>);

struct Inner {
    declaration: Declaration,
    validator: Validator,
    hal: Arc<HalMap>,
    /// Name of the set it belongs to.
    set: Arc<str>,
}

impl fmt::Debug for ErasedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ErasedTool").field(&self.0.declaration.name).finish()
    }
}

impl ErasedTool {
    pub(crate) fn new(
        declaration: Declaration,
        validator: Validator,
        hal: Arc<HalMap>,
        set: Arc<str>,
    ) -> Self {
        Self(Arc::new(Inner { declaration, validator, hal, set }))
    }

    /// Declares a tool whose schema is known only at run time. `schema` is a JSON Schema whose root is an object.
    pub fn dynamic<F, Fut>(name: &str, description: &str, schema: Value, function: F) -> ToolBuilder<Value>
    where
        F: Fn(Value, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoResult,
    {
        let body = Arc::new(move |args: Value, cx: &Cx, _: &HalMap| -> BoxFuture<'static, RawOutcome> {
            let run = function(args, cx.clone());
            Box::pin(async move { run.await.into_result() })
        });
        ToolBuilder::erased(name, description.to_owned(), schema, Vec::new(), body)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.declaration.name
    }

    /// What the model reads to decide when to call it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.declaration.description
    }

    /// Its arguments: JSON Schema, an object at the root, no `$ref`.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.0.declaration.schema
    }

    /// What it does to the world.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.0.declaration.effect
    }

    /// Whether a person is asked before it runs.
    #[must_use]
    pub fn is_gated(&self) -> bool {
        self.0.declaration.gate.is_some()
    }

    /// What it takes to agree to a call of it. `None` if nobody is asked.
    #[must_use]
    pub fn asking(&self) -> Option<Asking> {
        self.0.declaration.gate.as_ref().map(|gate| gate.asking())
    }

    pub(crate) fn declared_gate(&self) -> Option<&Arc<dyn ErasedGate>> {
        self.0.declaration.gate.as_ref()
    }

    /// Why nobody is asked although it is outbound, in its integrator's words.
    #[must_use]
    pub fn ungated(&self) -> Option<&str> {
        self.0.declaration.ungated.as_deref()
    }

    /// From dispatch to answer.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.0.declaration.timeout()
    }

    /// Whether it ends the session.
    #[must_use]
    pub fn ends_session(&self) -> bool {
        self.0.declaration.ends_session
    }

    /// Where its declaration comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.0.declaration.origin
    }

    pub(crate) fn marks(&self) -> &Marks {
        &self.0.declaration.marks
    }

    pub(crate) fn declared_undo(&self) -> Option<&Undo> {
        self.0.declaration.undo.as_ref()
    }

    pub(crate) fn declared_after(&self) -> Option<&Hook> {
        self.0.declaration.after.as_ref()
    }

    /// Its rules for the prompt.
    #[must_use]
    pub fn rules(&self) -> Option<&str> {
        self.0.declaration.rules.as_deref()
    }

    /// Checks a model's arguments and gives the canonical ones: exactly what runs.
    ///
    /// # Errors
    /// One text for the model that names every fault by JSON pointer, at most 600 characters.
    pub fn prepare(&self, args: &Value) -> Result<Value, String> {
        let Inner { declaration, validator, .. } = &*self.0;
        let rules = Checks {
            validator,
            schema: &declaration.schema,
            unknown: if self.is_gated() { Unknown::Refuse } else { Unknown::Drop },
            tool: self.name(),
            secretive: !declaration.marks.hidden.is_empty(),
        };
        let args = rules.checked(args)?;
        let Some(gate) = &declaration.gate else {
            return Ok(args);
        };
        let written = self.caught(|| gate.canonical(&args)).map_err(|fault| rules.at_root(fault))?;
        // What is written back must mean the same: else the question would be about other values than those that run.
        let again = rules.checked(&written)?;
        if self.caught(|| gate.canonical(&again))? != written {
            return Err("the arguments change when they are written back; this tool is broken".to_owned());
        }
        match self.caught(|| gate.placeholder(&again))? {
            Some(fault) => Err(fault),
            None => Ok(again),
        }
    }

    /// The arguments as a transcript or a timeline may show them: hidden fields masked.
    #[must_use]
    pub fn masked(&self, args: &Value) -> Value {
        let mut args = args.clone();
        mask(&mut args, &self.marks().hidden);
        args
    }

    /// The statement a person is asked to agree to, rendered from canonical arguments. `None` if there is no gate.
    ///
    /// An `Err` is for the model: the arguments cannot be put into words.
    #[must_use]
    pub fn summary(&self, args: &Value) -> Option<Result<String, String>> {
        let gate = self.0.declaration.gate.as_ref()?;
        Some(self.caught(|| gate.summary(args)).and_then(|text| match text.trim() {
            "" => Err("the arguments cannot be put into words".to_owned()),
            text => Ok(text.to_owned()),
        }))
    }

    /// The same for arguments made up from the schema, to be looked at before anybody is asked. `None` also where none can be
    /// made up that fit.
    #[must_use]
    pub fn sample_summary(&self) -> Option<String> {
        crate::build::sample::sentence(self)
    }

    /// The pieces of [`ErasedTool::summary`] that must be heard exactly. Empty if there is no gate.
    ///
    /// # Errors
    /// For the model: the arguments cannot be put into words.
    pub fn slots(&self, args: &Value) -> Result<Vec<String>, String> {
        let Some(gate) = &self.0.declaration.gate else {
            return Ok(Vec::new());
        };
        self.caught(|| gate.slots(args))
    }

    /// Starts its body with canonical arguments. Unguarded: [`ErasedTool::run`] is what a daemon wants.
    #[must_use]
    pub fn call(&self, args: Value, cx: &Cx) -> BoxFuture<'static, RawOutcome> {
        (self.0.declaration.body)(args, cx, &self.0.hal)
    }

    /// Runs it with canonical arguments and always comes back, at the latest a moment after its deadline: a panic is an
    /// error, a cancelled call is dropped after a short grace, and a call that does not come back is an error before its
    /// effect has begun and unknown afterwards.
    #[must_use]
    pub fn run(&self, args: Value, cx: Cx) -> BoxFuture<'static, Shaped> {
        let tool = self.clone();
        Box::pin(async move {
            let begun = Instant::now();
            let outcome = tool.bounded(args, &cx).await;
            tool.measured(cx.job_since().unwrap_or_else(Instant::now).saturating_duration_since(begun));
            let Declaration { name, on_failure, marks, .. } = &tool.0.declaration;
            shape(name, outcome.map(|result| result.without(&marks.hidden)), on_failure.as_deref())
        })
    }

    /// What a call has come to that failed before its body was reached.
    pub(crate) fn failed(&self, fault: ToolError) -> Shaped {
        let Declaration { name, on_failure, .. } = &self.0.declaration;
        shape(name, Err(fault), on_failure.as_deref())
    }

    /// One line for a tool that kept a person waiting. Nobody waits for a job, nor for a call from where it became one.
    fn measured(&self, took: Duration) {
        let Marks { budget, job, .. } = *self.marks();
        if took > budget && !job {
            tracing::warn!(
                "tool {}.{} took {}ms, over the {}ms budget; the user waited for it",
                self.0.set,
                self.name(),
                took.as_millis(),
                budget.as_millis()
            );
        }
    }

    async fn bounded(&self, args: Value, cx: &Cx) -> RawOutcome {
        let stopped = async {
            cx.cancelled().await;
            sleep(CANCEL_GRACE).await;
        };
        tokio::select! {
            biased;
            outcome = self.guarded(args, cx) => outcome,
            () = stopped => Err(ToolError::cancelled()),
            () = sleep_until(cx.deadline()) => Err(if cx.close() {
                ToolError::unknown().because(format!("it had begun, and did not end within {} s", self.timeout().as_secs()))
            } else {
                ToolError::public(format!("the {} tool did not finish in time", self.name()))
            }),
        }
    }

    /// Runs the body with its panics caught: those of the function itself and those of its future.
    async fn guarded(&self, args: Value, cx: &Cx) -> RawOutcome {
        match self.unwound(async { self.call(args, cx).await }).await {
            Some(outcome) => outcome,
            // Past the point of no return nobody can say what was done.
            None if cx.close() => Err(ToolError::unknown()),
            None => Err(ToolError::private()),
        }
    }

    /// Runs a future of the integrator's. `None` if it panicked, which is logged.
    pub(crate) async fn unwound<R>(&self, work: impl Future<Output = R>) -> Option<R> {
        let mut work = Box::pin(work);
        poll_fn(move |task| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
            Ok(poll) => poll.map(Some),
            Err(payload) => {
                self.panicked(payload.as_ref());
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Runs a piece of the integrator's declaration with its panics caught.
    pub(crate) fn caught<R>(&self, work: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            self.panicked(payload.as_ref());
            Err(format!("the {} tool failed", self.name()))
        })
    }

    fn panicked(&self, payload: &(dyn Any + Send)) {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        tracing::error!(tool = self.name(), panic = text, "tool panicked");
    }
}

/// Every tool there is, in the order they were declared. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ToolSet {
    tools: Arc<[ErasedTool]>,
    by_name: Arc<BTreeMap<String, usize>>,
    warnings: Arc<[BuildWarning]>,
}

impl ToolSet {
    /// An empty set to declare tools in.
    pub fn builder() -> ToolSetBuilder {
        ToolSetBuilder::default()
    }

    pub(crate) fn new(tools: Vec<ErasedTool>, warnings: Vec<BuildWarning>) -> Self {
        let by_name = tools.iter().enumerate().map(|(at, tool)| (tool.name().to_owned(), at)).collect();
        Self { tools: tools.into(), by_name: Arc::new(by_name), warnings: warnings.into() }
    }

    /// What the build found that works and will be regretted, for whoever starts the daemon.
    #[must_use]
    pub fn warnings(&self) -> &[BuildWarning] {
        &self.warnings
    }

    /// All tools, in the order they were declared.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ErasedTool> {
        self.tools.iter()
    }

    /// The tool called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ErasedTool> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Checks a model's arguments for the tool called `name`; see [`ErasedTool::prepare`].
    ///
    /// # Errors
    /// One text for the model that names every fault.
    pub fn prepare(&self, name: &str, args: &Value) -> Result<Value, String> {
        self.find(name).ok_or_else(|| format!("There is no tool named {name}."))?.prepare(args)
    }

    /// What holds for every tool and then the rules of each, in the order they were declared, under [`RULES_HEADING`]. Empty
    /// if there are none.
    #[must_use]
    pub fn rules(&self) -> String {
        self.whole().rules()
    }
}

/// The whole instruction of a session: persona, then what is known of the person, then the tools' rules. Empty parts
/// are left out.
#[must_use]
pub fn build_instruction(persona: &str, profile: &str, rules: &str) -> String {
    let parts: Vec<&str> =
        [persona, profile, rules].into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}
