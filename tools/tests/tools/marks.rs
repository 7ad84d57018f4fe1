// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a declaration says by its marks, and what it says without them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tools::{BUDGET_DEFAULT, Effect, ErasedTool, OnBargeIn, Origin, PreCall, ToolBuilder, ToolSet, tool};

/// Looks. Use it when something is to be seen.
#[derive(Deserialize, JsonSchema)]
struct Look {}

async fn look(_: Look) {}

fn built(declare: impl FnOnce(ToolBuilder<Look>) -> ToolBuilder<Look>) -> ErasedTool {
    let set = ToolSet::builder().tool(declare(tool(look).effect(Effect::Read))).build().unwrap();
    set.iter().next().unwrap().clone()
}

/// Every mark that is either there or not, by its name.
fn flags(tool: &ErasedTool) -> Vec<&'static str> {
    let all = [
        ("needs_result_now", tool.needs_result_now()),
        ("parallel", tool.is_parallel()),
        ("job", tool.is_job()),
        ("repeatable", tool.is_repeatable()),
        ("idempotent", tool.is_idempotent()),
        ("independent", tool.is_independent()),
        ("urgent", tool.is_urgent()),
        ("run_when_heard", tool.runs_when_heard()),
    ];
    all.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
}

#[test]
fn a_tool_without_marks_has_the_defaults() {
    let tool = built(|tool| tool);
    assert_eq!(flags(&tool), [""; 0]);
    assert_eq!((tool.pre_call(), tool.waiting(), tool.lane()), (None, None, None));
    assert_eq!((tool.budget(), BUDGET_DEFAULT), (Duration::from_millis(20), Duration::from_millis(20)));
    assert_eq!(*tool.origin(), Origin::Native);
    assert_eq!(tool.hidden().count(), 0);
}

#[test]
fn each_mark_says_what_it_says_and_nothing_else() {
    assert_eq!(flags(&built(ToolBuilder::needs_result_now)), ["needs_result_now"]);
    assert_eq!(flags(&built(ToolBuilder::parallel)), ["parallel"]);
    assert_eq!(flags(&built(ToolBuilder::job)), ["job"]);
    assert_eq!(flags(&built(ToolBuilder::repeatable)), ["repeatable"]);
    assert_eq!(flags(&built(ToolBuilder::idempotent)), ["idempotent"]);
    assert_eq!(flags(&built(ToolBuilder::independent)), ["independent"]);
    assert_eq!(flags(&built(ToolBuilder::urgent)), ["urgent"]);
    assert_eq!(flags(&built(ToolBuilder::run_when_heard)), ["run_when_heard"]);
}

#[test]
fn marks_with_words_keep_them() {
    let tool = built(|tool| {
        tool.pre_call("One moment.")
            .waiting("Still looking.")
            .lane("camera")
            .budget(Duration::from_millis(300))
            .origin(Origin::Mcp("camera".to_owned()))
    });
    assert_eq!(tool.pre_call(), Some(&PreCall::IfSilent("One moment.".to_owned())));
    assert_eq!(tool.pre_call().map(PreCall::text), Some("One moment."));
    assert_eq!((tool.waiting(), tool.lane()), (Some("Still looking."), Some("camera")));
    assert_eq!(tool.budget(), Duration::from_millis(300));
    assert_eq!(tool.origin().to_string(), "mcp:camera");
    let always = built(|tool| tool.pre_call_always("One moment."));
    assert_eq!(always.pre_call(), Some(&PreCall::Always("One moment.".to_owned())));
    let silent = built(|tool| tool.pre_call_always(" ").waiting(""));
    assert_eq!((silent.pre_call(), silent.waiting()), (None, None));
}

#[test]
fn what_a_barge_in_does_follows_the_effect_unless_said() {
    for (effect, policy) in [
        (Effect::Read, OnBargeIn::Cancel),
        (Effect::Local, OnBargeIn::Finish),
        (Effect::Outbound, OnBargeIn::Finish),
    ] {
        let declare = |tool: ToolBuilder<Look>| tool.effect(effect).ungated("it is only looked at");
        assert_eq!(built(declare).on_barge_in(), policy, "{effect:?}");
        for other in [OnBargeIn::Cancel, OnBargeIn::Finish] {
            assert_eq!(built(|tool| declare(tool).on_barge_in(other)).on_barge_in(), other, "{effect:?}");
        }
    }
}
