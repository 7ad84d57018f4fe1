// SPDX-License-Identifier: MIT OR Apache-2.0

//! A tool that is not async.

use schemars::JsonSchema;
use serde::Deserialize;
use tools::tool;

/// Looks at the clock. Use it when the person asks for the time.
#[derive(Deserialize, JsonSchema)]
struct Look {}

fn look(_: Look) -> &'static str {
    "it is late"
}

fn main() {
    tool(look);
}
