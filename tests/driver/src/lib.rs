// SPDX-License-Identifier: MIT OR Apache-2.0

//! The test harness for whoever writes tools: a whole conversation with the real session and the real toolbox, with a
//! person, a model and a provider that do what the test says.
//!
//! It decides nothing about turns, calls or consent: that is the code of the daemon. It never opens a socket or a
//! device, and it never waits: time is tokio's paused clock, which jumps to whatever comes next.
//!
//! # A tool that asks first
//! ```
//! use driver::{Driver, Script};
//! use serde_json::json;
//! use tools::{Cx, Gate, ToolError, ToolResult, ToolSet, tool};
//!
//! /// Sends a text message. Use it when the person asks for one.
//! #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
//! struct SendText {
//!     /// Digits of the phone number.
//!     phone: String,
//!     /// What to send.
//!     text: String,
//! }
//!
//! async fn send_text(args: SendText, cx: Cx) -> Result<ToolResult, ToolError> {
//!     cx.begin_effect()?;
//!     Ok(ToolResult::ok(format!("Sent to {}.", args.phone)))
//! }
//!
//! # fn main() -> Result<(), tools::BuildErrors> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
//! # runtime.expect("a runtime").block_on(test())
//! # }
//! // In your crate: `#[tokio::test(start_paused = true)]`.
//! async fn test() -> Result<(), tools::BuildErrors> {
//!     let gate = Gate::voice(|args: &SendText| {
//!         let digits: Vec<String> = args.phone.chars().map(String::from).collect();
//!         format!("Your phone number is {}.", digits.join(" "))
//!     });
//!     let tools = ToolSet::builder().tool(tool(send_text).gate(gate.slots(|args| vec![args.phone.clone()]))).build()?;
//!
//!     let mut d = Driver::new(tools, Script::gemini()); // or Script::openai(); paused clock, no audio
//!     d.user_says("send the summary to 98765 43210").await;
//!     let held = d.model_calls("send_text", json!({"phone": "9876543210", "text": "summary"})).await;
//!     assert_eq!(held.status(), "pending_confirmation");
//!     d.agent_is_heard("Your phone number is 9 8 7 6 5 4 3 2 1 0. Is that right?").await;
//!     d.user_says("yes, that's correct").await;
//!     assert_eq!(d.model_calls("send_text", held.args()).await.status(), "success");
//!     d.expect_effects(1);
//!     Ok(())
//! }
//! ```
//!
//! # What happens when
//! - **The person**: [`user_says`](Driver::user_says) when it is quiet, [`user_turn`](Driver::user_turn) and
//!   [`noise`](Driver::noise) of a given length, [`user_barges_in`](Driver::user_barges_in) over what is heard,
//!   [`user_approves`](Driver::user_approves) and [`user_declines`](Driver::user_declines) a question of the gate.
//! - **The model**: [`model_says`](Driver::model_says), [`model_calls`](Driver::model_calls) and its kin, a call
//!   [in pieces](Driver::model_begins_call), and [`model_done`](Driver::model_done).
//! - **The provider**: [`provider_drops`](Driver::provider_drops), [`provider_resumes`](Driver::provider_resumes),
//!   [`provider_begins_anew`](Driver::provider_begins_anew), [`provider_leaves`](Driver::provider_leaves),
//!   [`provider_lags`](Driver::provider_lags), [`server_cancels`](Driver::server_cancels).
//! - **The screen and the button**: [`screen`](Driver::screen), [`sheets`](Driver::sheets), [`tap`](Driver::tap),
//!   [`tap_after`](Driver::tap_after), [`dismiss`](Driver::dismiss), [`screen_goes`](Driver::screen_goes),
//!   [`button`](Driver::button), [`button_goes`](Driver::button_goes), [`person_changes`](Driver::person_changes).
//! - **The clock**: [`advance`](Driver::advance). **The device**: [`stops`](Driver::stops) and
//!   [`restarts`](Driver::restarts).
//!
//! What is sent is delivered at once, unless the link is down: what a tool does after that begins there.
//!
//! What came of it: [`agent_is_heard`](Driver::agent_is_heard) for speech, lines and clips,
//! [`screen_shows`](Driver::screen_shows), [`expect_effects`](Driver::expect_effects), [`turn`](Driver::turn),
//! [`next_context`](Driver::next_context), [`wire`](Driver::wire), [`timeline`](Driver::timeline),
//! [`warnings`](Driver::warnings), [`protocol_faults`](Driver::protocol_faults).
//!
//! # Contract
//! Inside a current-thread runtime whose clock is paused. Time passes in the verbs only, and by as much as what they
//! describe takes: speech at 60 ms a character, a tool as long as it sleeps. What the device says is played meanwhile.
//! One driver at a time on a thread: it collects what that thread logs.
//!
//! A failed expectation panics with what was seen instead; so does a script that makes no sense.
//!
//! # What there is not
//! There are no events from an app to the agent: what an app knows reaches the model through your tools, and through
//! [`Driver::view`]. This harness keeps no journal, so a crash between two steps of an effect cannot be looked into.
//!
//! [`conformance`] runs a tool set through what every tool must stand.

#![forbid(unsafe_code)]

mod alone;
pub mod conformance;
mod log;
mod model;
mod person;
mod provider;
mod realtime;
mod room;
mod screen;
mod script;
mod seen;
mod warnings;
mod world;

pub use alone::Alone;
pub use model::{Answer, Call};
pub use person::When;
pub use provider::Replay;
pub use room::Heard;
pub use script::{Profile, Script};
pub use seen::Turn;
pub use world::Driver;
