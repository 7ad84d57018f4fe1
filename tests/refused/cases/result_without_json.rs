// SPDX-License-Identifier: MIT OR Apache-2.0

//! A tool whose result has no words and no JSON.

use schemars::JsonSchema;
use serde::Deserialize;
use tools::tool;

/// Looks at the clock. Use it when the person asks for the time.
#[derive(Deserialize, JsonSchema)]
struct Look {}

struct Clock;

async fn look(_: Look) -> Clock {
    Clock
}

fn main() {
    tool(look);
}
