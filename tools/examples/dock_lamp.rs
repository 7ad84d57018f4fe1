// SPDX-License-Identifier: MIT OR Apache-2.0

//! A tool that switches hardware and asks first: the sentence of its gate, its slots, its point of no return.
//!
//! Run it with `cargo run -p tools --example dock_lamp`.

use std::error::Error;
use std::io::Write;

use hal::{Lane, Outputs, sim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tools::{Cx, Effect, Gate, Hal, ToolError, ToolResult, ToolSet, tool};

/// Switches the lamp at the loading dock. Use it when the person asks for light at the dock, or for dark.
#[derive(Serialize, Deserialize, JsonSchema)]
struct SwitchLamp {
    /// True for on.
    on: bool,
}

impl SwitchLamp {
    fn word(&self) -> &'static str {
        if self.on { "on" } else { "off" }
    }
}

async fn switch_lamp(args: SwitchLamp, outputs: Hal<Outputs>, cx: Cx) -> Result<ToolResult, ToolError> {
    // From here on nobody can stop it; until here a barge-in could.
    cx.begin_effect()?;
    let on = outputs.set("loading_dock.lamp", args.on, cx.deadline()).await?;
    if on != args.on {
        return Err(ToolError::public("the lamp did not switch"));
    }
    Ok(ToolResult::ok(format!("The lamp is {}.", args.word())).event("lamp", on))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (board, world) = sim::warehouse(&Lane::spawn("sim")?);
    let outputs = board.outputs.ok_or("this board has no outputs")?;

    let tools = ToolSet::builder()
        .hal(outputs)
        .tool(
            tool(switch_lamp)
                .effect(Effect::Local)
                .gate(
                    Gate::voice(|args: &SwitchLamp| format!("Switch the dock lamp {}.", args.word()))
                        .slots(|args| vec![args.word().to_owned()]),
                )
                .on_failure("Say in 1 spoken sentence that the lamp did not switch."),
        )
        .build()?;

    let tool = tools.find("switch_lamp").ok_or("the tool was declared above")?;
    let args = tool.prepare(&json!({"on": true}))?;
    let mut out = std::io::stdout();
    // The daemon speaks this and waits for a person's yes; the example takes it for given.
    writeln!(out, "{}", tool.summary(&args).ok_or("it has a gate")??)?;
    let answer = tool.run(args, Cx::for_test()).await;
    writeln!(out, "{:#}\nthe lamp reads {:?}", answer.body, world.output("loading_dock.lamp"))?;
    Ok(())
}
