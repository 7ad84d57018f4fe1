// SPDX-License-Identifier: MIT OR Apache-2.0

//! A test file as an integrator writes it, over the tool of the tutorial's section 4. The tutorial shows this one too.

use std::time::Duration;

use driver::conformance::Suite;
use driver::{Driver, Replay, Script};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tools::{Cx, Gate, ToolError, ToolResult, ToolSet, tool};

/// Orders a taxi to the front door. Use it when the person asks for a taxi.
#[derive(Serialize, Deserialize, JsonSchema)]
struct OrderTaxi {
    /// Phone number of the person, digits as they said them.
    phone: String,
    /// Number of people.
    #[schemars(range(min = 1, max = 8))]
    people: u8,
}

async fn order_taxi(args: OrderTaxi, cx: Cx) -> Result<ToolResult, ToolError> {
    cx.begin_effect()?;
    // The taxi company takes its time.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let result = ToolResult::ok(format!("A taxi for {} is on its way.", args.people));
    Ok(result.event("taxi", json!({"people": args.people})).clip_after("horn"))
}

fn taxi() -> ToolSet {
    let gate = Gate::voice(|args: &OrderTaxi| format!("Order a taxi for {} to {}.", args.people, args.phone))
        .slots(|args| vec![args.phone.clone()])
        .reject_placeholder("phone", |args| args.phone.clone());
    ToolSet::builder().tool(tool(order_taxi).gate(gate).pre_call("One moment.")).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn nobody_rides_unasked() {
    let mut d = Driver::new(taxi(), Script::gemini());
    d.user_says("a taxi for two, my number is oh seven seven double oh, nine hundred one four two").await;
    let held = d.model_calls("order_taxi", json!({"phone": "07700 900142", "people": 2})).await;
    assert_eq!(held.status(), "pending_confirmation");
    assert_eq!(d.user_declines().await, "Order a taxi for 2 to 07700 900142.");
    assert_eq!(d.model_calls("order_taxi", held.args()).await.status(), "refused");
    d.expect_effects(0);
}

#[tokio::test(start_paused = true)]
async fn a_ride_is_heard_of() {
    for script in Script::all() {
        let mut d = Driver::new(taxi(), script);
        d.user_says("a taxi for three please, to oh seven seven double oh, nine hundred one four two").await;
        let held = d.model_calls("order_taxi", json!({"phone": "07700 900142", "people": 3})).await;
        assert_eq!(d.user_approves().await, "Order a taxi for 3 to 07700 900142.");
        assert_eq!(d.model_calls("order_taxi", held.args()).await.status(), "success");
        assert_eq!(d.screen_shows("taxi")["people"], 3);
        d.model_says("It is on its way.").await;
        d.agent_is_heard("It is on its way.").await;
        assert_eq!(d.heard().last().unwrap().text, "horn");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ride_survives_a_talkative_person_and_a_bad_network() {
    for script in Script::all() {
        let mut d = Driver::new(taxi(), script);
        d.user_says("a taxi for three please, to oh seven seven double oh, nine hundred one four two").await;
        let held = d.model_calls("order_taxi", json!({"phone": "07700 900142", "people": 3})).await;
        d.user_approves().await;
        let call = d.model_asks("order_taxi", held.args()).await;
        d.advance(Duration::from_millis(500)).await;
        d.user_barges_in(Duration::from_millis(300)).await; // they talk over "One moment."
        d.provider_drops().await;
        d.provider_resumes(Replay::OpenCalls).await;
        d.advance(Duration::from_secs(15)).await;
        d.expect_effects(1);
        // By an answer, or by a note if the provider has forgotten the conversation.
        let told = format!("{:?}", d.next_context());
        assert!(told.contains("A taxi for 3 is on its way."), "{told}");
        assert_eq!(d.answers(call), usize::from(d.profile().resumes));
        assert!(d.protocol_faults().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn it_stands_what_every_tool_must() {
    let suite = Suite::new(taxi()).sample("order_taxi", json!({"phone": "07700 900142", "people": 2}));
    suite.expect_all().await;
}
