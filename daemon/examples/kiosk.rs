// SPDX-License-Identifier: MIT OR Apache-2.0

//! A binary of an integrator's own: the daemon with a scale on a serial line and a tool that asks before it acts.

use std::fs::File;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use hal::{ErrorKind, HalError, Handle, Lane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Cx, Effect, Gate, Hal, ToolError, ToolResult, tool};

trait Scale: Send {
    /// Grams on the plate.
    fn weigh(&mut self) -> Result<u32, HalError>;
}

/// Four digits for every reading. It may block: it has a thread of its own.
struct SerialScale;

impl Scale for SerialScale {
    fn weigh(&mut self) -> Result<u32, HalError> {
        let unplugged = |_| HalError::new(ErrorKind::Unplugged, "no answer on /dev/ttyUSB0");
        let mut digits = [0; 4];
        File::open("/dev/ttyUSB0").and_then(|mut line| line.read_exact(&mut digits)).map_err(unplugged)?;
        let text = String::from_utf8_lossy(&digits);
        text.parse().map_err(|_| HalError::new(ErrorKind::Corrupt, "what it says is no weight"))
    }
}

/// Weighs what lies on the scale. Use it when the person asks what their parcel weighs.
#[derive(Deserialize, JsonSchema)]
struct Weigh {}

async fn weigh(_: Weigh, scale: Hal<Handle<dyn Scale>>, cx: Cx) -> Result<ToolResult, ToolError> {
    let grams = scale.call(cx.deadline(), |scale| scale.weigh()).await?;
    Ok(ToolResult::ok(format!("It weighs {grams} grams.")).event("weight", grams))
}

/// Orders a taxi to the front door. Use it when the person asks for a taxi.
#[derive(Serialize, Deserialize, JsonSchema)]
struct OrderTaxi {
    /// Number of people.
    #[schemars(range(min = 1, max = 8))]
    people: u8,
}

async fn order_taxi(args: OrderTaxi, cx: Cx) -> Result<ToolResult, ToolError> {
    cx.begin_effect()?;
    // … ask the taxi company, with `cx.idempotency_key()` …
    Ok(ToolResult::ok(format!("A taxi for {} is on its way.", args.people)))
}

fn main() -> ExitCode {
    let lane = match Lane::spawn("scale") {
        Ok(lane) => lane,
        Err(cause) => panic!("no thread for the scale: {cause}"),
    };
    let scale: Arc<Handle<dyn Scale>> = Arc::new(lane.attach(Box::new(SerialScale)));
    voiced::Daemon::builder()
        // Called for every set that is built, so it makes its tools anew and keeps the handle.
        .tools(move |tools| {
            let gate = Gate::voice(|args: &OrderTaxi| format!("Order a taxi for {}.", args.people));
            tools
                .hal(Arc::clone(&scale))
                .tool(tool(weigh).effect(Effect::Read).needs_result_now().pre_call("One moment."))
                .tool(tool(order_taxi).gate(gate).pre_call("One moment."))
        })
        .main()
}
