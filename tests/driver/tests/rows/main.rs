//! The test cases of the tool runtime, by the numbers they have in its specification, against both kinds of provider.
//!
//! What is not here needs more than the seam between session and provider: the wire of a provider without an encoder
//! (T26, T27, T83 to T85), an open question on a screen (the other half of T87).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod after;
mod arrival;
mod ending;
mod gate;
mod interruption;
mod link;
mod running;
mod shop;
mod suite;
mod tutorial;

use std::time::Duration;

use driver::{Driver, Script};
use serde_json::Value;

pub use shop::{Runs, shop};

/// One test for each kind of provider.
#[macro_export]
macro_rules! row {
    ($name:ident, $script:ident, $body:block) => {
        mod $name {
            #[allow(unused_imports, reason = "what most rows use")]
            use super::*;

            async fn row($script: Script) $body

            #[tokio::test(start_paused = true)]
            async fn gemini() {
                row(Script::gemini()).await;
            }

            #[tokio::test(start_paused = true)]
            async fn openai() {
                row(Script::openai()).await;
            }
        }
    };
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
