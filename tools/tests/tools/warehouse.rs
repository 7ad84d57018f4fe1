// SPDX-License-Identifier: MIT OR Apache-2.0

//! The warehouse tool over the simulated board.

use hal::sim::{Control, Fault, warehouse};
use hal::{ErrorKind, Lane};
use serde_json::{Value, json};
use tools::warehouse::{WarehouseConfig, read_warehouse_sensors};
use tools::{Cx, Effect, ErasedTool, Shaped, Status, ToolSet};

fn on(lane: &Lane) -> (ErasedTool, Control) {
    let (board, control) = warehouse(lane);
    let tools = ToolSet::builder()
        .hal(board.sensors.unwrap())
        .tool(read_warehouse_sensors(WarehouseConfig::default()))
        .build()
        .unwrap();
    (tools.find("read_warehouse_sensors").unwrap().clone(), control)
}

async fn read(tool: &ErasedTool, args: Value) -> Shaped {
    let args = tool.prepare(&args).unwrap();
    tool.run(args, Cx::for_test()).await
}

#[tokio::test(start_paused = true)]
async fn a_zone_within_its_limits() {
    let (tool, _) = on(&Lane::inline("sim"));
    assert_eq!(tool.effect(), Effect::Read);
    assert!(tool.needs_result_now());
    assert!(
        tool.rules().unwrap().starts_with("• WAREHOUSE SENSOR RULE (`read_warehouse_sensors`):\n  1. When")
    );
    let shaped = read(&tool, json!({"zone": "cold_storage"})).await;
    let reading = json!({"zone": "cold_storage", "temp_c": 4.2, "humidity": 85.0});
    assert_eq!(
        shaped.body,
        json!({
            "status": "success",
            "message": "Zone 'cold_storage' reading: 4.2 °C, 85 % humidity.",
            "result": reading,
            "instruction": "State the cold storage conditions clearly in 1 spoken sentence. \
                            Confirm that temperature is within optimal range.",
        })
    );
    assert_eq!(shaped.events, [("zone_reading".to_owned(), reading)]);
    assert_eq!(shaped.clip_after, None);
}

#[tokio::test(start_paused = true)]
async fn the_zone_may_be_left_out_or_spelled_as_it_is_said() {
    let (tool, _) = on(&Lane::inline("sim"));
    assert_eq!(read(&tool, json!({})).await.body["result"]["zone"], "cold_storage");
    let shaped = read(&tool, json!({"zone": "Loading Dock"})).await;
    assert_eq!(shaped.body["message"], "Zone 'loading_dock' reading: 22.5 °C, 45 % humidity.");
    assert_eq!(
        shaped.body["instruction"], "State the loading dock conditions clearly in 1 spoken sentence.",
        "a zone without limits is not called optimal"
    );
}

#[tokio::test(start_paused = true)]
async fn a_zone_outside_its_limits_is_warned_of() {
    let (tool, control) = on(&Lane::inline("sim"));
    for (temp_c, inside) in [(2.0, true), (8.0, true), (1.9, false), (8.1, false), (11.4, false)] {
        control.set("cold_storage.temperature", temp_c);
        let shaped = read(&tool, json!({})).await;
        let instruction = shaped.body["instruction"].as_str().unwrap();
        assert_eq!(instruction.starts_with("Warn the person"), !inside, "{temp_c}");
        assert_eq!(shaped.clip_after, (!inside).then(|| "alarm".into()), "{temp_c}");
        let names: Vec<&str> = shaped.events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.contains(&"zone_alarm"), !inside, "{temp_c}");
        assert_eq!(names[0], "zone_reading");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_zone_is_answered_with_the_zones() {
    let (tool, control) = on(&Lane::inline("sim"));
    let shaped = read(&tool, json!({"zone": "attic"})).await;
    assert_eq!(
        shaped.body,
        json!({"status": "error", "error": "there is no zone 'attic'; the zones are cold_storage, loading_dock"})
    );
    assert!(control.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn hardware_faults_are_said_plainly_and_nothing_is_made_up() {
    let (tool, control) = on(&Lane::inline("sim"));
    control.fail("cold_storage.humidity", Fault::Error(ErrorKind::Unplugged));
    let shaped = read(&tool, json!({})).await;
    assert_eq!(
        shaped.body,
        json!({"status": "error", "error": "the device for cold storage humidity is unplugged"})
    );
    control.heal("cold_storage.humidity");
    control.set("cold_storage.temperature", 300.0);
    let shaped = read(&tool, json!({})).await;
    assert_eq!(
        shaped.body["error"],
        "the cold storage temperature sensor gives a reading that cannot be true"
    );
    control.set("cold_storage.temperature", f64::NAN);
    let shaped = read(&tool, json!({})).await;
    assert_eq!(shaped.body["error"], "the cold storage temperature sensor has no reading");
}

#[tokio::test(start_paused = true)]
async fn a_hung_bus_is_an_answer_by_the_deadline() {
    let lane = Lane::inline("sim");
    let (tool, _) = on(&lane);
    let stall = lane.stall();
    let shaped = read(&tool, json!({})).await;
    assert_eq!(shaped.status, Status::Error);
    drop(stall);
    assert_eq!(read(&tool, json!({})).await.status, Status::Success);
}
