// SPDX-License-Identifier: MIT OR Apache-2.0

//! The simulated board through the same handles that tools use.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::time::Duration;

use hal::sim::{Call, Control, Fault, warehouse};
use hal::{BREAKER_FAILURES, BREAKER_REST_MIN, Board, ErrorKind, Health, Lane, Quality, Unit, Value};
use tokio::time::{Instant, advance};

fn board() -> (Board, Control) {
    warehouse(&Lane::inline("sim"))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

#[tokio::test(start_paused = true)]
async fn zones_read_what_they_are_set_to() {
    let (board, control) = board();
    let sensors = board.sensors.unwrap();
    let reading = sensors.read("cold_storage.temperature", soon()).await.unwrap();
    assert_eq!(reading.value, Value::Fixed { micro: 4_200_000, unit: Unit::Celsius });
    assert_eq!(reading.quality, Quality::Simulated);
    control.set("cold_storage.temperature", -3.5);
    let next = sensors.read("cold_storage.temperature", soon()).await.unwrap();
    assert_eq!(next.value.as_f64(), Some(-3.5));
    assert_eq!(next.seq, reading.seq + 1);
    let humidity = sensors.read("loading_dock.humidity", soon()).await.unwrap();
    assert_eq!(humidity.value, Value::Fixed { micro: 45_000_000, unit: Unit::PercentRelativeHumidity });
}

#[tokio::test(start_paused = true)]
async fn an_impossible_value_is_marked() {
    let (board, control) = board();
    control.set("cold_storage.temperature", 850.0);
    let reading = board.sensors.unwrap().read("cold_storage.temperature", soon()).await.unwrap();
    assert_eq!(reading.quality, Quality::Suspect);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_channel_never_reaches_the_driver() {
    let (board, control) = board();
    let error = board.sensors.unwrap().read("attic.temperature", soon()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(control.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_fault_names_its_channel() {
    let (board, control) = board();
    control.fail("cold_storage.humidity", Fault::Error(ErrorKind::Corrupt));
    let error = board.sensors.unwrap().read("cold_storage.humidity", soon()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert_eq!(error.public(), "the device for cold storage humidity gives unreliable readings");
}

#[tokio::test(start_paused = true)]
async fn a_failing_driver_rests_and_comes_back() {
    let (board, control) = board();
    let sensors = board.sensors.unwrap();
    let channel = "cold_storage.temperature";
    control.fail(channel, Fault::Error(ErrorKind::Unplugged));
    for _ in 0..=BREAKER_FAILURES {
        assert_eq!(sensors.read(channel, soon()).await.unwrap_err().kind, ErrorKind::Unplugged);
    }
    assert_eq!(control.calls().len(), 3, "the fourth call was answered without asking");
    assert!(matches!(sensors.health(), Health::Resting { .. }));
    control.heal(channel);
    advance(BREAKER_REST_MIN).await;
    sensors.read(channel, soon()).await.unwrap();
    assert_eq!(sensors.health(), Health::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_driver_bug_fails_the_whole_bus() {
    let (board, control) = board();
    control.fail("cold_storage.temperature", Fault::Panic);
    let error = board.sensors.unwrap().read("cold_storage.temperature", soon()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Bus);
    let outputs = board.outputs.unwrap();
    assert_eq!(outputs.health(), Health::Failed);
    assert_eq!(outputs.set("loading_dock.lamp", true, soon()).await.unwrap_err().kind, ErrorKind::Bus);
    assert_eq!(control.output("loading_dock.lamp"), None);
}

#[tokio::test(start_paused = true)]
async fn an_output_switches_and_is_recorded() {
    let (board, control) = board();
    let outputs = board.outputs.unwrap();
    assert_eq!(outputs.set("loading_dock.lamp", true, soon()).await, Ok(true));
    assert_eq!(control.output("loading_dock.lamp"), Some(true));
    assert_eq!(control.calls(), [Call::Set("loading_dock.lamp".try_into().unwrap(), true)]);
}
