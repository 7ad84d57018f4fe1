// SPDX-License-Identifier: MIT OR Apache-2.0

//! A call that spent an approval: its record is on the disk before its tool is entered, and it has one effect at most.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use session::Permit;
use tokio::time::Instant;
use tools::{Cx, ErasedTool, Shaped, Status};
use tracing::{error, warn};

use crate::fault::chain;
use crate::journal::{Journal, JournalError, State};

/// Time that must be left for a second attempt: a service that takes longer is not asked twice.
const AGAIN_MIN: Duration = Duration::from_millis(500);

/// Runs the call of `permit`, which its key protects. Comes back as [`ErasedTool::run`] does, or sooner where the record cannot be
/// written: then nothing was done.
pub(super) async fn run(
    journal: Option<Arc<Journal>>,
    tool: ErasedTool,
    permit: Permit,
    key: String,
    cx: Cx,
) -> Shaped {
    let Some(journal) = journal else { return attempts(&tool, &permit, &cx).await };
    if let Err(shaped) = ahead(&journal, &tool, &key, &cx).await {
        // A record that was late may still come to be: this one comes behind it.
        journal.end(&key, tool.name(), State::Cancelled);
        return shaped;
    }
    let shaped = attempts(&tool, &permit, &cx).await;
    let end = match shaped.status {
        Status::Success | Status::Running => State::Done,
        Status::Error => State::Failed,
        Status::Cancelled => State::Cancelled,
        // The session tells of it.
        Status::Unknown => State::Told,
    };
    journal.end(&key, tool.name(), end);
    shaped
}

/// Writes ahead that the call is intended and that it begins.
async fn ahead(journal: &Journal, tool: &ErasedTool, key: &str, cx: &Cx) -> Result<(), Shaped> {
    let refused = |fault: JournalError| {
        error!("{} was not done: {}", tool.name(), chain(&fault));
        error_shaped("This cannot be done safely now: the device cannot keep its record of it.".to_owned())
    };
    journal.intend(key, tool.name()).await.map_err(refused)?;
    go_on(tool, cx).await?;
    journal.begin(key, tool.name()).await.map_err(refused)?;
    go_on(tool, cx).await
}

/// The call was not stopped, and its time is not over, while the disk was waited for.
async fn go_on(tool: &ErasedTool, cx: &Cx) -> Result<(), Shaped> {
    let is_stopped = tokio::select! {
        biased;
        () = cx.cancelled() => true,
        () = std::future::ready(()) => false,
    };
    if is_stopped {
        let body =
            json!({"status": "cancelled", "message": "This tool call was stopped before it did anything."});
        return Err(Shaped { status: Status::Cancelled, body, ..error_shaped(String::new()) });
    }
    if Instant::now() >= cx.deadline() {
        return Err(error_shaped(format!("the {} tool did not finish in time", tool.name())));
    }
    Ok(())
}

fn error_shaped(error: String) -> Shaped {
    super::failed(json!({"status": "error", "error": error}))
}

/// The one attempt that an approval allows. Where nobody knows what came of it, and trying twice does no more than trying once, a
/// second one follows with the same key.
async fn attempts(tool: &ErasedTool, permit: &Permit, cx: &Cx) -> Shaped {
    let first = tool.run(permit.args().clone(), cx.clone()).await;
    let time_left = cx.deadline().saturating_duration_since(Instant::now());
    if first.status != Status::Unknown || !tool.is_idempotent() || time_left < AGAIN_MIN {
        return first;
    }
    warn!(tool = tool.name(), "nobody knows what came of it: it is tried once more with the same key");
    let second = tool.run(permit.args().clone(), cx.clone()).await;
    // That the second did nothing does not say what the first did.
    if second.status == Status::Success { second } else { first }
}
