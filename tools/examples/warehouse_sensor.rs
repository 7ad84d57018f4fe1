//! A whole hardware tool: declared, wired to a board, and called once. Copy it and change the middle.
//!
//! Run it with `cargo run -p tools --example warehouse_sensor`.

use std::error::Error;
use std::io::Write;

use hal::{Lane, Sensors, sim};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tools::{Cx, Effect, Hal, ToolError, ToolResult, ToolSet, tool};

/// Reads the temperature of a warehouse zone. Use it when the person asks about a zone's temperature.
#[derive(Deserialize, JsonSchema)]
struct ReadTemperature {
    /// Warehouse zone name, such as 'cold_storage' or 'loading_dock'.
    zone: String,
}

async fn read_temperature(
    args: ReadTemperature,
    sensors: Hal<Sensors>,
    cx: Cx,
) -> Result<ToolResult, ToolError> {
    let channel = format!("{}.temperature", args.zone);
    // A hardware fault becomes one plain sentence for the person; its detail goes to the log.
    let reading = sensors.read(&channel, cx.deadline()).await?;
    let temp_c = reading.value.as_f64().ok_or(ToolError::public("the sensor has no reading"))?;
    Ok(ToolResult::ok(format!("It is {temp_c} °C in '{}'.", args.zone))
        .data(json!({"zone": args.zone, "temp_c": temp_c}))
        .event("zone_reading", json!({"zone": args.zone, "temp_c": temp_c}))
        .then_say("State the temperature in 1 spoken sentence."))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A real device attaches its own driver: `Sensors::attach(&lane, Box::new(MyDriver::open()?))`.
    let (board, _world) = sim::warehouse(&Lane::spawn("sim")?);
    let sensors = board.sensors.ok_or("this board has no sensors")?;

    let tools = ToolSet::builder()
        .hal(sensors)
        .tool(tool(read_temperature).effect(Effect::Read).needs_result_now().instruct(
            "• TEMPERATURE RULE (`read_temperature`):\n  1. Do not invent readings without calling the tool.",
        ))
        .build()?;

    let tool = tools.find("read_temperature").ok_or("the tool was declared above")?;
    let args = tool.prepare(&json!({"zone": "cold_storage"}))?;
    let answer = tool.run(args, Cx::for_test()).await;
    writeln!(std::io::stdout(), "{}\n\n{:#}", tools.rules(), answer.body)?;
    Ok(())
}
