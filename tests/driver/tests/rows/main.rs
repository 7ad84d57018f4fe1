// SPDX-License-Identifier: MIT OR Apache-2.0

//! The test cases of the tool runtime, by the numbers they have in its specification, against both kinds of provider.
//!
//! What is not here needs more than the seam between session and provider.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod after;
mod arrival;
mod calls;
mod clips;
mod ending;
mod gate;
mod gate_limits;
mod gate_screen;
mod gate_voice;
mod gate_words;
mod interruption;
mod link;
mod parley;
mod promises;
mod properties;
mod running;
mod shop;
mod suite;
mod taxi;
mod tutorial;

use std::time::Duration;

use driver::{Driver, Script};
use serde_json::Value;

pub use shop::{Runs, shop};

/// Runs a row against both kinds of provider.
pub async fn both(row: impl AsyncFn(Script)) {
    for script in Script::all() {
        let against = Against(script.profile().name);
        row(script).await;
        drop(against);
    }
}

/// Says in a test that fails which provider it was.
struct Against(String);

impl Drop for Against {
    #[allow(clippy::print_stderr, reason = "what a failed test says")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("against {}", self.0);
        }
    }
}

/// The message that files an answer at a provider that speaks when it is asked to.
pub const OUTPUT: &str = "function_call_output";

/// What such a provider was sent, by its type; an item by its own.
pub fn types(d: &Driver) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = |message: &Value| text(&message["item"]["type"]).or_else(|| text(&message["type"]));
    d.wire().iter().filter_map(kind).collect()
}

/// How often such a provider was asked to have its model speak.
pub fn requests(d: &Driver) -> usize {
    types(d).iter().filter(|kind| *kind == "response.create").count()
}

/// Milliseconds.
pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A conversation in which the person has just asked for something.
pub async fn asked(script: Script) -> (Driver, Runs) {
    let (tools, runs) = shop();
    let mut d = Driver::new(tools, script);
    d.user_says("please").await;
    (d, runs)
}

/// The same, where the device asked for consent to `send_text` and the person said yes.
pub async fn agreed(script: Script, args: &Value) -> (Driver, Runs) {
    let (mut d, runs) = asked(script).await;
    let held = d.model_calls("send_text", args.clone()).await;
    assert_eq!(held.status(), "pending_confirmation");
    d.agent_is_heard("Send the text. Is that right?").await;
    d.user_says("yes, that's correct").await;
    (d, runs)
}
