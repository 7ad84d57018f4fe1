//! What the configuration offers of tools, as the model is shown it.

use e2e::Talk;
use serde_json::{Value, json};

fn voice(setup: &Value) -> &Value {
    &setup["generationConfig"]["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"]
}

#[test]
fn t17_with_tools_switched_off_the_set_up_declares_none_and_a_call_is_unknown() {
    let scenario = r#"
        name = "no_tools"
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "read_warehouse_sensors", args = { zone = "cold_storage" } } },
            { after_answer = [{ say = "hello" }], expect_status = "error" },
        ]
    "#;
    let talk = |name| Talk::written(name, scenario).says(1_500, "hello").lasting(10);
    let seen = talk("no_tools").set("tools.enabled=false").run();
    seen.assert_clean();
    let [setup] = &seen.report.setups[..] else { panic!("one connection: {:?}", seen.report.setups) };
    assert_eq!(setup.get("tools"), None, "{setup}");
    let [answer] = &seen.report.answers[..] else { panic!("one answer: {:?}", seen.report.answers) };
    assert_eq!(answer.response["error"], "unknown tool");
    assert_eq!(answer.response["available_tools"], json!([]));
    assert!(!seen.said("hello").samples().is_empty(), "it can still talk");
}

#[test]
fn row_129_another_voice_is_in_the_next_set_up_and_the_answer_says_when() {
    let scenario = r#"
        name = "voices"
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "set_voice", args = { voice = "Puck" } } },
            { after_answer = [{ say = "sure" }], expect_status = "success" },
            { pause_ms = 2000 },
            { goaway_ms = 3000 },
        ]
        [[turn]]
        hears = "Hello there."
        steps = [
            { call = { name = "reset_voice" } },
            { after_answer = [{ say = "sure" }], expect_status = "success" },
            { drop = true },
        ]
    "#;
    let seen = Talk::written("voices", scenario)
        .set("tools.device_audio.enabled=true")
        .set("tools.device_audio.voices=[\"Kore\", \"Puck\"]")
        .says(1_500, "hello")
        .says(20_000, "hello")
        .lasting(40)
        .run();
    seen.assert_clean();
    let voices: Vec<&Value> = seen.report.setups.iter().map(voice).collect();
    assert_eq!(voices, ["Kore", "Puck", "Kore"], "one connection has one voice");
    let told = |name: &str| {
        let answer = seen.report.answers.iter().find(|answer| answer.name == name);
        answer.expect("it is answered").response["message"].clone()
    };
    let next = |usual: &str, next: &str| {
        format!(
            "Your voice is still {usual}. It will be {next} when the connection is next made, at the latest in the next \
             conversation."
        )
    };
    assert_eq!(told("set_voice"), next("Kore", "Puck"));
    assert_eq!(told("reset_voice"), next("Puck", "Kore"));
}
