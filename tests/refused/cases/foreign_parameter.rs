// SPDX-License-Identifier: MIT OR Apache-2.0

//! A tool that asks for something the daemon does not hand out.

use schemars::JsonSchema;
use serde::Deserialize;
use tools::tool;

/// Looks at the clock. Use it when the person asks for the time.
#[derive(Deserialize, JsonSchema)]
struct Look {}

async fn look(_: Look, zone: String) -> String {
    zone
}

fn main() {
    tool(look);
}
