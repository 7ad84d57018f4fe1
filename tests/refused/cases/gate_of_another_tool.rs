// SPDX-License-Identifier: MIT OR Apache-2.0

//! A gate that reads other arguments than those that will run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Gate, tool};

/// Opens a locker. Use it when the person asks for theirs.
#[derive(Serialize, Deserialize, JsonSchema)]
struct OpenLocker {
    locker: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct OpenDoor {
    door: u8,
}

async fn open_locker(_: OpenLocker) {}

fn main() {
    tool(open_locker).gate(Gate::voice(|args: &OpenDoor| format!("Open door {}.", args.door)));
}
