// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a tool does once the answer to its call has been delivered.

use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use units::CallKey;

use crate::BoxFuture;
use crate::declare::ToolBuilder;
use crate::set::ErasedTool;

/// A call whose answer was delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered<A> {
    /// The call in the session's ledger.
    pub call: CallKey,
    /// What it was called with.
    pub args: A,
    /// What the model was answered: a JSON object.
    pub answer: Value,
}

/// Makes what is done of a call, its canonical arguments and its answer.
pub(crate) type Hook =
    Arc<dyn Fn(CallKey, Value, Value) -> Result<BoxFuture<'static, ()>, String> + Send + Sync>;

impl<A: 'static> ToolBuilder<A> {
    /// Does something strictly after the call has been answered with the success of its run: once that answer was written to the
    /// provider and taken by the system. To restart after having said so, or to let go of what was held for the answer.
    ///
    /// Nothing is done if the run failed, if its answer was never written (the link was lost, the provider took the call back,
    /// the daemon ended), or if its success was told otherwise than in the answer: as a note, like that of a call that became a
    /// job. In `voiced tools test` nothing is delivered, so nothing is done.
    ///
    /// Nobody waits for it, and there is nothing it can say. It has as long as the tool itself; then it is dropped. A panic is
    /// caught. Both are logged.
    pub fn after_delivery<Fut>(mut self, hook: impl Fn(Delivered<A>) -> Fut + Send + Sync + 'static) -> Self
    where
        A: DeserializeOwned,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.declaration.after = Some(Arc::new(move |call, args, answer| {
            let args = A::deserialize(args).map_err(|error| error.to_string())?;
            Ok(Box::pin(hook(Delivered { call, args, answer })))
        }));
        self
    }
}

impl ErasedTool {
    /// Whether something is done once its answer was delivered.
    #[must_use]
    pub fn has_after_delivery(&self) -> bool {
        self.declared_after().is_some()
    }

    /// What is done once the `answer` to `call`, which was run with these canonical arguments, was delivered, if anything. Begins
    /// when it is polled and ends within [`ErasedTool::timeout`].
    #[must_use]
    pub fn after_delivery(
        &self,
        call: CallKey,
        args: Value,
        answer: Value,
    ) -> Option<BoxFuture<'static, ()>> {
        let hook = Arc::clone(self.declared_after()?);
        let tool = self.clone();
        Some(Box::pin(async move {
            let done = tool.unwound(async {
                match hook(call, args, answer) {
                    Ok(done) => done.await,
                    Err(fault) => {
                        tracing::error!(tool = tool.name(), fault, "nothing is done after delivery")
                    }
                }
            });
            if timeout(tool.timeout(), done).await.is_err() {
                tracing::warn!(
                    "what tool {} does after delivery did not end in {:?} and is dropped",
                    tool.name(),
                    tool.timeout()
                );
            }
        }))
    }
}
