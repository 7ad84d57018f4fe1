// SPDX-License-Identifier: MIT OR Apache-2.0

//! Temperature and humidity of a warehouse's zones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hal::{Class, Quality, Sensors, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cx::Cx;
use crate::declare::{Effect, ToolBuilder};
use crate::handler::{Hal, tool};
use crate::result::{ToolError, ToolResult};

/// Clip played after the warning that a zone is out of its limits.
pub const ALARM_CLIP: &str = "alarm";

/// Time for two readings on a slow bus before the log says so.
const BUDGET: Duration = Duration::from_millis(300);

const RULES: &str = "\
• WAREHOUSE SENSOR RULE (`read_warehouse_sensors`):
  1. When the person asks about temperature or warehouse conditions, call this tool.
  2. Report both temperature and humidity in a conversational tone.
  3. Do not invent readings without calling the tool.";

/// What the zones of this warehouse should be like.
#[derive(Clone, Debug, PartialEq)]
pub struct WarehouseConfig {
    /// Limits by zone. A zone without an entry has none.
    pub limits: BTreeMap<String, Limits>,
}

/// Closed interval of good temperatures, in °C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Coldest.
    pub min_c: f64,
    /// Warmest.
    pub max_c: f64,
}

impl Default for WarehouseConfig {
    /// `cold_storage` at 2 to 8 °C, the range for chilled goods (WHO TRS 961 annex 9, and most food codes).
    fn default() -> Self {
        Self { limits: BTreeMap::from([("cold_storage".to_owned(), Limits { min_c: 2.0, max_c: 8.0 })]) }
    }
}

/// Reads current temperature and humidity from the warehouse sensors. Use it whenever the person asks what it is like in
/// a zone.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReadZone {
    /// Warehouse zone name, such as 'cold_storage' or 'loading_dock'.
    #[serde(default = "cold_storage")]
    pub zone: String,
}

fn cold_storage() -> String {
    "cold_storage".to_owned()
}

#[derive(Serialize)]
struct ZoneReading {
    zone: String,
    temp_c: f64,
    humidity: f64,
}

/// The tool. Needs [`hal::Sensors`] with channels `<zone>.temperature` and `<zone>.humidity`.
pub fn read_warehouse_sensors(config: WarehouseConfig) -> ToolBuilder<ReadZone> {
    let config = Arc::new(config);
    tool(move |args: ReadZone, sensors: Hal<Sensors>, cx: Cx| read(args, sensors, cx, Arc::clone(&config)))
        .named("read_warehouse_sensors")
        .effect(Effect::Read)
        .needs_result_now()
        .lane("sensors")
        .budget(BUDGET)
        .waiting("I am still reading the sensors.")
        .instruct(RULES)
}

async fn read(
    args: ReadZone,
    sensors: Hal<Sensors>,
    cx: Cx,
    config: Arc<WarehouseConfig>,
) -> Result<ToolResult, ToolError> {
    let zone = known_zone(&args.zone, &sensors)?;
    let temp_c = number(&sensors, &zone, Class::Temperature, Unit::Celsius, &cx).await?;
    let humidity = number(&sensors, &zone, Class::Humidity, Unit::PercentRelativeHumidity, &cx).await?;
    let spoken = zone.replace('_', " ");
    let text = format!("Zone '{zone}' reading: {temp_c} °C, {humidity} % humidity.");
    let reading = ZoneReading { zone: zone.clone(), temp_c, humidity };
    let result = ToolResult::ok(text).data(&reading).event("zone_reading", &reading);
    Ok(match config.limits.get(&zone) {
        None => result.then_say(format!("State the {spoken} conditions clearly in 1 spoken sentence.")),
        Some(limits) if (limits.min_c..=limits.max_c).contains(&temp_c) => result.then_say(format!(
            "State the {spoken} conditions clearly in 1 spoken sentence. \
             Confirm that temperature is within optimal range."
        )),
        Some(Limits { min_c, max_c }) => result
            .then_say(format!(
                "Warn the person immediately that {spoken} is outside its range of {min_c} to {max_c} °C. \
                 Recommend checking it, in 1 spoken sentence."
            ))
            .event(
                "zone_alarm",
                serde_json::json!({"zone": zone, "temp_c": temp_c, "min_c": min_c, "max_c": max_c}),
            )
            .clip_after(ALARM_CLIP),
    })
}

/// The zone as the board spells it.
fn known_zone(asked: &str, sensors: &Sensors) -> Result<String, ToolError> {
    let mut zones: Vec<&str> = sensors
        .channels()
        .iter()
        .filter(|channel| channel.class == Class::Temperature)
        .map(|channel| channel.place())
        .collect();
    zones.sort_unstable();
    let wanted = asked.trim().to_lowercase().replace([' ', '-'], "_");
    if zones.contains(&wanted.as_str()) {
        return Ok(wanted);
    }
    Err(ToolError::public(format!("there is no zone '{asked}'; the zones are {}", zones.join(", "))))
}

/// One number, to a tenth: what the sensors can tell and what can be said.
async fn number(sensors: &Sensors, zone: &str, class: Class, unit: Unit, cx: &Cx) -> Result<f64, ToolError> {
    let word = class.word();
    let reading = sensors.read(&format!("{zone}.{word}"), cx.deadline()).await?;
    let spoken = zone.replace('_', " ");
    match reading.quality {
        Quality::Good | Quality::Simulated => {}
        Quality::Stale => {
            return Err(ToolError::public(format!("the {spoken} {word} sensor has no fresh reading")));
        }
        Quality::Suspect => {
            return Err(ToolError::public(format!(
                "the {spoken} {word} sensor gives a reading that cannot be true"
            )));
        }
    }
    let number = match &reading.value {
        hal::Value::Fixed { unit: read, .. } if *read == unit => reading.value.as_f64(),
        hal::Value::Fixed { .. }
        | hal::Value::Bool(_)
        | hal::Value::Text(_)
        | hal::Value::Code(_)
        | hal::Value::Absent => None,
    };
    let number =
        number.ok_or_else(|| ToolError::public(format!("the {spoken} {word} sensor has no reading")))?;
    Ok((number * 10.0).round() / 10.0)
}
