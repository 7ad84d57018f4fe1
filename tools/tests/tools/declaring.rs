// SPDX-License-Identifier: MIT OR Apache-2.0

//! From a function to a checked set, and every way that can fail.

use std::sync::Arc;
use std::time::Duration;

use hal::{Board, Lane, Outputs, Sensors};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{
    BuildErrors, Cx, Declaration, Effect, ErasedTool, Gate, Hal, HasTools, Json, STANDING_RULES, Tool,
    ToolError, ToolResult, ToolSet, build_instruction, object, tool,
};

/// Sets the volume of the loudspeaker.
/// Use it when the person asks for louder or quieter.
///
/// Says nothing about music.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Volume {
    /// Percent of full volume.
    #[schemars(range(max = 100))]
    percent: u8,
    /// Which one.
    #[serde(default)]
    speaker: Which,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Which {
    #[default]
    Left,
    Right,
}

async fn set_volume(args: Volume) -> String {
    format!("{} %", args.percent)
}

/// Looks at the clock on the wall.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Nothing {}

async fn look(_: Nothing) -> &'static str {
    "it is late"
}

async fn switch(_: Nothing, outputs: Hal<Outputs>, cx: Cx) -> Result<ToolResult, ToolError> {
    outputs.set("loading_dock.lamp", true, cx.deadline()).await?;
    Ok(ToolResult::ok("the lamp is on"))
}

fn faults(built: Result<ToolSet, BuildErrors>) -> Vec<String> {
    built.unwrap_err().0.iter().map(ToString::to_string).collect()
}

fn fault(declaration: impl Into<Declaration>) -> String {
    let faults = faults(ToolSet::builder().tool(declaration).build());
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults.concat()
}

fn dynamic(name: &str, schema: Value) -> tools::ToolBuilder<Value> {
    ErasedTool::dynamic(name, "Does something.", schema, |args, _| async move { Json(args) })
}

#[test]
fn the_function_is_the_declaration() {
    let tools = ToolSet::builder().tool(tool(set_volume).effect(Effect::Local)).build().unwrap();
    let tool = tools.find("set_volume").unwrap();
    assert_eq!(
        tool.description(),
        "Sets the volume of the loudspeaker. Use it when the person asks for louder or quieter.\n\n\
         Says nothing about music."
    );
    assert_eq!(
        *tool.schema(),
        json!({
            "type": "object",
            "properties": {
                "percent": {
                    "description": "Percent of full volume.",
                    "type": "integer", "format": "uint8", "minimum": 0, "maximum": 100,
                },
                "speaker": {
                    "description": "Which one.",
                    "type": "string", "enum": ["left", "right"], "default": "left",
                },
            },
            "required": ["percent"],
        })
    );
    assert_eq!(tool.timeout(), Duration::from_secs(8));
    assert!(!tool.needs_result_now() && !tool.is_gated() && !tool.ends_session());
}

#[test]
fn an_argument_struct_without_fields_declares_no_properties() {
    let tools = ToolSet::builder().tool(tool(look).effect(Effect::Read)).build().unwrap();
    assert_eq!(*tools.find("look").unwrap().schema(), json!({"type": "object", "properties": {}}));
}

#[test]
fn a_tool_is_outbound_until_it_says_otherwise() {
    assert_eq!(
        fault(tool(look)),
        "tool `look`: it is outbound and has no gate: add `.gate(..)`, or say `.ungated(\"why\")`, or give it its \
         true effect"
    );
    let ungated = ToolSet::builder().tool(tool(look).ungated("it only looks at a clock")).build().unwrap();
    assert_eq!(ungated.find("look").unwrap().ungated(), Some("it only looks at a clock"));
    let gated =
        ToolSet::builder().tool(tool(look).gate(Gate::voice(|_| "Look at the clock.".to_owned()))).build();
    assert!(gated.unwrap().find("look").unwrap().is_gated());
}

#[test]
fn names_are_checked() {
    let named = |name: &str| fault(tool(look).effect(Effect::Read).named(name));
    for bad in ["", "1st", "späti", "read-zone", "a b", &"x".repeat(65)] {
        assert!(named(bad).contains("expected 1 to 64 letters, digits or `_`"), "{bad}");
    }
    for reserved in ["end_call", "end_session", "sys_reboot"] {
        assert!(named(reserved).contains("reserved"), "{reserved}");
    }
    let closure = tool(|_: Nothing| async { "it is late" }).effect(Effect::Read);
    assert!(fault(closure).contains("a closure has no name"));
    for good in ["_", "A1", &"x".repeat(64)] {
        assert!(
            ToolSet::builder().tool(tool(look).effect(Effect::Read).named(good)).build().is_ok(),
            "{good}"
        );
    }
}

#[test]
fn only_the_built_in_may_end_the_session() {
    let tools = ToolSet::builder().tool(tools::end::end_session()).build().unwrap();
    let tool = tools.find("end_session").unwrap();
    assert!(tool.ends_session());
    assert_eq!(tool.effect(), Effect::Local);
}

#[test]
fn every_fault_is_reported_at_once() {
    let built = ToolSet::builder()
        .tool(tool(look).effect(Effect::Read))
        .tool(tool(look).effect(Effect::Read).timeout(Duration::from_millis(999)))
        .tool(tool(set_volume).described("no").timeout(Duration::from_secs(31)))
        .tool(tool(switch).effect(Effect::Local))
        .build();
    let faults = faults(built);
    let about = |tool: &str, text: &str| {
        assert!(
            faults.iter().any(|fault| fault.starts_with(&format!("tool `{tool}`")) && fault.contains(text)),
            "`{tool}`: {text}: {faults:#?}"
        );
    };
    about("look", "taken twice: by a tool of origin native and by one of native");
    about("look", "the timeout is 999ms: expected 1 s..=30 s");
    about("set_volume", "the description has 2 characters: expected 3..=1000");
    about("set_volume", "the timeout is 31s");
    about("set_volume", "outbound and has no gate");
    about("switch", "it needs `Hal<hal::board::Outputs>`");
    assert_eq!(faults.len(), 6, "{faults:#?}");
}

#[test]
fn a_model_cannot_be_given_a_way_to_claim_consent() {
    for claim in ["confirmed", "Approval", "consent_given"] {
        let schema =
            json!({"type": "object", "properties": {"to": {"type": "object", "properties": {claim: {}}}}});
        let gated = dynamic("pay", schema.clone()).gate(Gate::voice(|_| "Pay.".to_owned()));
        assert!(fault(gated).contains(&format!("argument `{claim}` lets the model claim consent")));
        assert!(ToolSet::builder().tool(dynamic("pay", schema).effect(Effect::Read)).build().is_ok());
    }
}

#[test]
fn gates_and_reasons_exclude_each_other() {
    let both = tool(look).gate(Gate::voice(|_| "Look.".to_owned())).ungated("never mind");
    assert!(fault(both).contains("keep one"));
    assert!(fault(tool(look).ungated(" ")).contains("the reason for having no gate is empty"));
}

#[test]
fn schemas_are_checked() {
    let with =
        |schema: Value| faults(ToolSet::builder().tool(dynamic("t", schema).effect(Effect::Read)).build());
    assert!(with(json!({"type": "string"})).concat().contains("not a JSON object"));
    assert!(
        with(json!({"type": "object", "properties": {"a": {"type": "strin"}}}))
            .concat()
            .contains("not valid")
    );
    let recursive = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    assert!(with(recursive).concat().contains("cannot be recursive"));
    let remote = json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}});
    assert!(with(remote).concat().contains("$ref"));
    let mut deep = json!({"type": "string"});
    for _ in 0..6 {
        deep = json!({"type": "object", "properties": {"in": deep}});
    }
    assert!(with(deep).concat().contains("nest 6 deep"));
    // A property called `$ref` is no reference.
    assert!(
        ToolSet::builder()
            .tool(
                dynamic("t", json!({"type": "object", "properties": {"$ref": {"type": "string"}}}))
                    .effect(Effect::Read)
            )
            .build()
            .is_ok()
    );
}

#[test]
fn rules_and_instruction_have_a_fixed_order() {
    let tools = ToolSet::builder()
        .tool(tool(set_volume).effect(Effect::Local).instruct("• B: second by name, first declared.\n"))
        .tool(tool(look).effect(Effect::Read))
        .tool(tool(look).effect(Effect::Read).named("a").instruct("• A: last."))
        .build()
        .unwrap();
    let rules = tools.rules();
    let own = "• B: second by name, first declared.\n\n• A: last.";
    assert_eq!(rules, format!("[ACTIVE TOOLS & USAGE RULES]\n{STANDING_RULES}\n\n{own}"));
    assert_eq!(build_instruction("You are Vox.", "", &rules), format!("You are Vox.\n\n{rules}"));
    assert_eq!(build_instruction("P", "Anna, shift 2", "R"), "P\n\nAnna, shift 2\n\nR");
    assert_eq!(ToolSet::default().rules(), "");
    assert_eq!(tools.names().collect::<Vec<_>>(), ["a", "look", "set_volume"]);
}

/// Reads a thermometer.
#[derive(Deserialize, JsonSchema)]
struct ReadIt {}

struct Thermometer {
    name: String,
}

impl Tool for Thermometer {
    type Args = ReadIt;

    fn name(&self) -> &str {
        &self.name
    }

    fn instruction(&self) -> Option<&str> {
        Some("Do not invent readings.")
    }

    async fn call(&self, _: ReadIt, _: Cx) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::ok(format!("this is {:p}", self)))
    }
}

#[tokio::test(start_paused = true)]
async fn the_object_that_runs_is_the_object_given() {
    let thermometer = Arc::new(Thermometer { name: "thermometer_7".to_owned() });
    let tools =
        ToolSet::builder().tool(object(Arc::clone(&thermometer)).effect(Effect::Read)).build().unwrap();
    let tool = tools.find("thermometer_7").unwrap();
    assert_eq!((tool.description(), tool.rules()), ("Reads a thermometer.", Some("Do not invent readings.")));
    let shaped = tool.run(json!({}), Cx::for_test()).await;
    assert_eq!(shaped.body["message"], format!("this is {:p}", Arc::as_ptr(&thermometer)));
}

struct Speaker;

impl HasTools for Speaker {
    fn tools(self: Arc<Self>) -> Vec<Declaration> {
        vec![
            tool(move |args: Volume| {
                let speaker = Arc::clone(&self);
                async move { speaker.set(args.percent) }
            })
            .named("set_volume")
            .effect(Effect::Local)
            .erase(),
        ]
    }
}

impl Speaker {
    fn set(&self, percent: u8) -> String {
        format!("volume {percent}")
    }
}

#[tokio::test(start_paused = true)]
async fn a_component_brings_its_tools() {
    let tools = ToolSet::builder().component(Arc::new(Speaker)).build().unwrap();
    let shaped = tools.find("set_volume").unwrap().run(json!({"percent": 30}), Cx::for_test()).await;
    assert_eq!(shaped.body, json!({"status": "success", "result": "volume 30"}));
}

#[tokio::test(start_paused = true)]
async fn handles_are_given_by_type_even_as_trait_objects() {
    trait Lamp: Send + Sync {
        fn color(&self) -> &str;
    }
    struct Green;
    impl Lamp for Green {
        fn color(&self) -> &str {
            "green"
        }
    }
    async fn all(_: Nothing, lamp: Hal<dyn Lamp>, sensors: Hal<Sensors>, cx: Cx) -> String {
        format!("{} {} {}", lamp.color(), sensors.channels().len(), cx.call())
    }
    let (Board { sensors, .. }, _) = hal::sim::warehouse(&Lane::inline("sim"));
    let tools = ToolSet::builder()
        .hal::<dyn Lamp>(Arc::new(Green))
        .hal(sensors.unwrap())
        .tool(tool(all).effect(Effect::Read))
        .build()
        .unwrap();
    let all = tools.find("all").unwrap();
    let shaped = all.run(json!({}), Cx::for_test()).await;
    assert_eq!(shaped.body["result"], "green 4 call-1");
    // What the model is asked for is what the first parameter has: nothing.
    let asked = all.schema().get("properties").and_then(Value::as_object);
    assert!(asked.is_none_or(serde_json::Map::is_empty), "{}", all.schema());
}
