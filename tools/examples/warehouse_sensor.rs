// SPDX-License-Identifier: MIT OR Apache-2.0

//! A whole hardware tool: declared, wired to a board, called, and tried with broken hardware. Copy it and change the middle.
//!
//! Run it with `cargo run -p tools --example warehouse_sensor`.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use hal::sim::{self, Fault};
use hal::{ErrorKind, Lane, Sensors};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{Cx, Effect, Hal, ToolError, ToolResult, ToolSet, tool};

/// Warmest that chilled goods may be, in °C.
const WARMEST_C: f64 = 8.0;

/// Reads temperature and humidity of a warehouse zone. Use it when the person asks what it is like in a zone.
#[derive(Deserialize, JsonSchema)]
struct ReadZone {
    /// Warehouse zone name, such as 'cold_storage' or 'loading_dock'.
    #[serde(default = "cold_storage")]
    zone: String,
}

fn cold_storage() -> String {
    "cold_storage".to_owned()
}

/// What the model reads as data, and the screen shows.
#[derive(Serialize)]
struct ZoneReading {
    zone: String,
    temp_c: f64,
    humidity: f64,
}

async fn read_zone(args: ReadZone, sensors: Hal<Sensors>, cx: Cx) -> Result<ToolResult, ToolError> {
    let ReadZone { zone } = args;
    let temp_c = number(&sensors, &format!("{zone}.temperature"), &cx).await?;
    let humidity = number(&sensors, &format!("{zone}.humidity"), &cx).await?;
    let text = format!("It is {temp_c} °C in '{zone}', with {humidity} % humidity.");
    let reading = ZoneReading { zone, temp_c, humidity };
    let result = ToolResult::ok(text).data(&reading).event("zone_reading", &reading);
    if temp_c <= WARMEST_C {
        return Ok(result.then_say("State the conditions clearly in 1 spoken sentence."));
    }
    Ok(result
        .then_say("Warn the person at once that it is too warm there, in 1 spoken sentence.")
        .event("zone_alarm", &reading)
        .clip_after("alarm"))
}

/// A hardware fault becomes one plain sentence for the person; its detail goes to the log.
async fn number(sensors: &Sensors, channel: &str, cx: &Cx) -> Result<f64, ToolError> {
    let reading = sensors.read(channel, cx.deadline()).await?;
    reading.value.as_f64().ok_or_else(|| ToolError::public("the sensor has no reading"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A real device attaches its own driver: `Sensors::attach(&lane, Box::new(MyDriver::open()?))`.
    let (board, world) = sim::warehouse(&Lane::spawn("sim")?);
    let sensors = board.sensors.ok_or("this board has no sensors")?;

    let tools = ToolSet::builder()
        .hal(sensors)
        .tool(
            tool(read_zone)
                .effect(Effect::Read)
                .needs_result_now()
                .budget(Duration::from_millis(300))
                .waiting("I am still reading the sensors.")
                .on_failure("Say in 1 spoken sentence that the reading failed, and why.")
                .instruct(
                    "• WAREHOUSE RULE (`read_zone`):\n  1. Do not invent readings without calling the tool.",
                ),
        )
        .build()?;
    let mut out = std::io::stdout();
    writeln!(out, "{}\n", tools.rules())?;
    for doubt in tools.warnings() {
        writeln!(out, "doubtful: {doubt}")?;
    }

    let tool = tools.find("read_zone").ok_or("the tool was declared above")?;
    let ask = async |args: Value| -> Result<Value, String> {
        Ok(tool.run(tool.prepare(&args)?, Cx::for_test()).await.body)
    };
    writeln!(out, "as it should be: {:#}", ask(json!({})).await?)?;
    world.set("cold_storage.temperature", 11.4);
    writeln!(out, "too warm: {:#}", ask(json!({"zone": "cold_storage"})).await?)?;
    world.fail("cold_storage.humidity", Fault::Error(ErrorKind::Unplugged));
    writeln!(out, "unplugged: {:#}", ask(json!({})).await?)?;
    Ok(())
}
