// SPDX-License-Identifier: MIT OR Apache-2.0

//! What tools do once their answers were delivered: kept from the run to the delivery, and run then.

use std::collections::BTreeMap;

use serde_json::Value;
use session::Answer;
use tokio::task::JoinSet;
use tools::{BoxFuture, ErasedTool};
use tracing::warn;
use units::CallKey;

/// Calls that are kept until their answer is delivered: as many as a session has places for. Those of which no answer is ever
/// delivered are among them, and the oldest give way.
const KEPT_MAX: usize = 256;

/// How many may be under way after their deliveries.
const RUNNING_MAX: usize = 32;

#[derive(Default)]
pub(super) struct Deliveries {
    /// Calls whose tool does something after delivery, and whose answer is not sent.
    kept: BTreeMap<CallKey, Kept>,
    /// What is done when these answers, which are on their way, were written.
    sent: BTreeMap<CallKey, BoxFuture<'static, ()>>,
    running: JoinSet<()>,
}

struct Kept {
    tool: ErasedTool,
    args: Value,
    /// Its run has ended well.
    done: bool,
}

impl Deliveries {
    /// A call is run with these canonical arguments.
    pub(super) fn on_run(&mut self, call: CallKey, tool: &ErasedTool, args: &Value) {
        if tool.has_after_delivery() {
            let kept = Kept { tool: tool.clone(), args: args.clone(), done: false };
            insert_bounded(&mut self.kept, call, kept);
        }
    }

    /// Its run has ended.
    pub(super) fn on_done(&mut self, call: CallKey, well: bool) {
        if !well {
            self.kept.remove(&call);
        } else if let Some(kept) = self.kept.get_mut(&call) {
            kept.done = true;
        }
    }

    /// Its one answer is handed to the link. If that is not what its run brought, nothing follows it.
    pub(super) fn on_sent(&mut self, answer: &Answer) {
        let Some(Kept { tool, args, done: true }) = self.kept.remove(&answer.call) else { return };
        if let Some(follows) = tool.after_delivery(answer.call, args, answer.body.clone()) {
            insert_bounded(&mut self.sent, answer.call, follows);
        }
    }

    /// Its answer was written.
    pub(super) fn on_delivered(&mut self, call: CallKey) {
        let Some(follows) = self.sent.remove(&call) else { return };
        while self.running.try_join_next().is_some() {}
        if self.running.len() < RUNNING_MAX {
            self.running.spawn(follows);
        } else {
            warn!(%call, "what follows {RUNNING_MAX} deliveries is under way: nothing follows this one");
        }
    }

    /// The link is gone: what was on its way is not delivered.
    pub(super) fn on_lost(&mut self) {
        self.sent.clear();
    }
}

fn insert_bounded<T>(map: &mut BTreeMap<CallKey, T>, call: CallKey, value: T) {
    map.insert(call, value);
    if map.len() > KEPT_MAX
        && let Some((oldest, _)) = map.pop_first()
    {
        warn!(call = %oldest, "{KEPT_MAX} calls wait for their delivery: nothing follows that of the oldest");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use session::FollowUp;
    use tokio::task::yield_now;
    use tools::{Cx, Delivered, Effect, ToolResult, ToolSet};

    use super::*;

    /// What followed which delivery.
    type Seen = Arc<Mutex<Vec<(CallKey, Value)>>>;

    fn noting() -> (ErasedTool, Seen) {
        let seen = Seen::default();
        let log = Arc::clone(&seen);
        let schema = json!({"type": "object"});
        let tool =
            ErasedTool::dynamic("note", "Notes.", schema, |_: Value, _: Cx| async { ToolResult::ok("") });
        let tool = tool.effect(Effect::Local).after_delivery(move |delivered: Delivered<Value>| {
            log.lock().unwrap().push((delivered.call, delivered.answer));
            std::future::ready(())
        });
        let tools = ToolSet::builder().tool(tool).build().unwrap();
        (tools.find("note").unwrap().clone(), seen)
    }

    fn answer(call: CallKey, status: &str) -> Answer {
        let body = json!({ "status": status });
        Answer { call, id: None, name: "note".to_owned(), body, follow_up: FollowUp::Silent }
    }

    /// Runs a call to its end and hands its answer to the link.
    fn sent(deliveries: &mut Deliveries, tool: &ErasedTool, call: CallKey) {
        deliveries.on_run(call, tool, &json!({}));
        deliveries.on_done(call, true);
        deliveries.on_sent(&answer(call, "success"));
    }

    async fn what_followed(seen: &Seen) -> Vec<(CallKey, Value)> {
        for _ in 0..4 {
            yield_now().await;
        }
        std::mem::take(&mut *seen.lock().unwrap())
    }

    #[tokio::test]
    async fn row_137_nothing_follows_before_the_answer_was_written_and_then_once() {
        let (tool, seen) = noting();
        let mut deliveries = Deliveries::default();
        sent(&mut deliveries, &tool, CallKey(1));
        sent(&mut deliveries, &tool, CallKey(2));
        assert_eq!(what_followed(&seen).await, []);
        deliveries.on_delivered(CallKey(2));
        deliveries.on_delivered(CallKey(2));
        assert_eq!(what_followed(&seen).await, [(CallKey(2), json!({"status": "success"}))]);
        deliveries.on_lost();
        deliveries.on_delivered(CallKey(1));
        assert_eq!(what_followed(&seen).await, [], "the link was lost with it");
    }

    #[tokio::test]
    async fn row_137_nothing_follows_an_answer_that_is_not_what_the_run_brought() {
        let (tool, seen) = noting();
        let mut deliveries = Deliveries::default();
        // It failed.
        deliveries.on_run(CallKey(1), &tool, &json!({}));
        deliveries.on_done(CallKey(1), false);
        deliveries.on_sent(&answer(CallKey(1), "error"));
        // It is answered that it runs, and done later.
        deliveries.on_run(CallKey(2), &tool, &json!({}));
        deliveries.on_sent(&answer(CallKey(2), "running"));
        deliveries.on_done(CallKey(2), true);
        // Another call shares the answer of one that ran.
        deliveries.on_sent(&answer(CallKey(3), "success"));
        for call in [1, 2, 3].map(CallKey) {
            deliveries.on_delivered(call);
        }
        assert_eq!(what_followed(&seen).await, []);
        assert!(deliveries.kept.is_empty() && deliveries.sent.is_empty());
    }

    #[tokio::test]
    async fn row_137_what_waits_and_what_is_under_way_is_bounded() {
        let (tool, seen) = noting();
        let mut deliveries = Deliveries::default();
        let calls = || (1..=1000).map(CallKey);
        for call in calls() {
            deliveries.on_run(call, &tool, &json!({}));
        }
        assert_eq!(deliveries.kept.len(), KEPT_MAX);
        for call in calls() {
            sent(&mut deliveries, &tool, call);
        }
        assert_eq!((deliveries.kept.len(), deliveries.sent.len()), (0, KEPT_MAX));
        calls().for_each(|call| deliveries.on_delivered(call));
        assert_eq!(what_followed(&seen).await.len(), RUNNING_MAX);
        sent(&mut deliveries, &tool, CallKey(1001));
        deliveries.on_delivered(CallKey(1001));
        assert_eq!(what_followed(&seen).await.len(), 1, "there is room again");
    }
}
