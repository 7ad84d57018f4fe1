// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a tool looks once more, between a person's agreement and its call, whether what they agreed to still holds.

use serde_json::Value;
use tokio::time::sleep_until;

use crate::BoxFuture;
use crate::cx::Cx;
use crate::result::ToolError;
use crate::set::ErasedTool;
use crate::shape::Shaped;

/// Renders the statement of a gate anew.
pub(crate) type Recheck<A> = Box<dyn Fn(A) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync>;

impl ErasedTool {
    /// Whether it looks once more before a call that was agreed to.
    #[must_use]
    pub fn has_recheck(&self) -> bool {
        self.declared_gate().is_some_and(|gate| gate.has_recheck())
    }

    /// The statement that a person would be asked with at this moment, for canonical arguments. `None` if it does not look. Comes
    /// back by the deadline of `cx`, and when the call is cancelled; an `Err` is what the call has come to then: a panic and a
    /// failure are errors, and nothing was done.
    #[must_use]
    pub fn recheck(&self, args: Value, cx: Cx) -> Option<BoxFuture<'static, Result<String, Shaped>>> {
        if !self.has_recheck() {
            return None;
        }
        let tool = self.clone();
        Some(Box::pin(async move {
            let looked = tokio::select! {
                biased;
                () = cx.cancelled() => Err(ToolError::cancelled()),
                looked = tool.unwound(tool.looked(args)) => looked.unwrap_or_else(|| Err(ToolError::private())),
                () = sleep_until(cx.deadline()) => {
                    Err(ToolError::public(format!("the {} tool did not finish in time", tool.name())))
                }
            };
            let looked = looked.and_then(|sentence| match sentence.trim() {
                "" => Err(ToolError::private().because("what it would do cannot be put into words")),
                sentence => Ok(sentence.to_owned()),
            });
            looked.map_err(|fault| tool.failed(fault))
        }))
    }

    async fn looked(&self, args: Value) -> Result<String, ToolError> {
        let broken = |fault: String| ToolError::private().because(fault);
        let gate = self.declared_gate().ok_or_else(|| broken("it has no gate".to_owned()))?;
        match gate.recheck(&args).map_err(broken)? {
            Some(looking) => looking.await,
            None => gate.summary(&args).map_err(broken),
        }
    }
}
