// SPDX-License-Identifier: MIT OR Apache-2.0

//! What becomes of the arguments a model sends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{Effect, ErasedTool, Gate, Json, ToolSet, canonical, tool};

/// Orders boxes from the store.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Order {
    /// How many.
    #[schemars(range(min = 1, max = 48))]
    count: u8,
    /// Kilograms each.
    #[serde(default = "one")]
    weight: f64,
    /// Where to.
    bay: Option<Bay>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Bay {
    number: i32,
}

fn one() -> f64 {
    1.0
}

async fn order(args: Order) -> String {
    args.count.to_string()
}

fn plain() -> ToolSet {
    ToolSet::builder().tool(tool(order).effect(Effect::Local)).build().unwrap()
}

fn gated() -> ToolSet {
    let gate = Gate::voice(|args: &Order| format!("Order {} boxes.", args.count))
        .slots(|args| vec![args.count.to_string()]);
    ToolSet::builder().tool(tool(order).gate(gate)).build().unwrap()
}

#[test]
fn whole_numbers_become_integers_where_integers_are_meant() {
    let args = json!({"count": 5.0, "weight": 2.0, "bay": {"number": -3.0}});
    let prepared = plain().prepare("order", &args).unwrap();
    assert_eq!(
        canonical(&prepared),
        r#"{"bay":{"number":-3.0},"count":5,"weight":2.0}"#.replace("-3.0", "-3")
    );
}

#[test]
fn a_float_too_large_to_be_exact_is_not_made_into_another_number() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let echo = ErasedTool::dynamic("echo", "Echoes.", schema, |args, _| async move { Json(args) });
    let tools = ToolSet::builder().tool(echo.effect(Effect::Read)).build().unwrap();
    for exact in [json!({"n": 1e300}), json!({"n": -1e19})] {
        assert_eq!(tools.prepare("echo", &exact), Ok(exact));
    }
    assert_eq!(tools.prepare("echo", &json!({"n": -9e15})), Ok(json!({"n": -9_000_000_000_000_000_i64})));
}

#[test]
fn nothing_else_is_coerced() {
    for bad in [json!({"count": "5"}), json!({"count": 5.5}), json!({"count": true}), json!({"count": null})]
    {
        let fault = plain().prepare("order", &bad).unwrap_err();
        assert!(fault.starts_with("/count: "), "{bad}: {fault}");
    }
}

#[test]
fn all_faults_are_told_with_their_place() {
    let fault = plain()
        .prepare("order", &json!({"count": 99, "weight": "much", "bay": {"number": "x"}}))
        .unwrap_err();
    for place in ["/count: 99 is greater than the maximum of 48", "/weight: ", "/bay"] {
        assert!(fault.contains(place), "{place}: {fault}");
    }
    assert_eq!(
        plain().prepare("order", &json!({})).unwrap_err(),
        "arguments: \"count\" is a required property"
    );
}

#[test]
fn the_text_about_faults_is_bounded() {
    let huge = "x".repeat(100_000);
    let fault = plain().prepare("order", &json!({"count": huge, "weight": huge, "bay": huge})).unwrap_err();
    assert!(fault.chars().count() <= 600, "{}", fault.len());
    assert!(fault.contains("/count") && fault.contains("/weight") && fault.contains("/bay"), "{fault}");
}

#[test]
fn arguments_that_are_no_object_are_refused() {
    for bad in [json!([]), json!("{}"), json!(3)] {
        assert_eq!(plain().prepare("order", &bad).unwrap_err(), "the arguments must be a JSON object");
    }
}

#[test]
fn unknown_fields_are_dropped_unless_a_person_is_asked() {
    let args = json!({"count": 2, "urgent": true, "bay": {"number": 1, "~a/b": 2}});
    assert_eq!(plain().prepare("order", &args).unwrap(), json!({"count": 2, "bay": {"number": 1}}));
    assert_eq!(
        gated().prepare("order", &args).unwrap_err(),
        "/urgent: there is no such argument; /bay/~0a~1b: there is no such argument"
    );
}

#[test]
fn a_gate_sees_defaults_written_out() {
    let tools = gated();
    let args = tools.prepare("order", &json!({"count": 2.0})).unwrap();
    assert_eq!(args, json!({"count": 2, "weight": 1.0, "bay": null}));
    let tool = tools.find("order").unwrap();
    assert_eq!(tool.summary(&args), Some(Ok("Order 2 boxes.".to_owned())));
    assert_eq!(tool.slots(&args), Ok(vec!["2".to_owned()]));
    assert_eq!(plain().find("order").unwrap().summary(&args), None);
}

#[test]
fn preparing_twice_changes_nothing() {
    for tools in [plain(), gated()] {
        let once = tools.prepare("order", &json!({"count": 7.0, "bay": {"number": 2.0}})).unwrap();
        assert_eq!(tools.prepare("order", &once).unwrap(), once);
    }
}

/// Says one thing and writes another.
#[derive(Deserialize, JsonSchema)]
struct TwoFaced {
    count: u8,
}

impl Serialize for TwoFaced {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"count": self.count + 1}).serialize(serializer)
    }
}

#[test]
fn arguments_that_change_when_written_back_never_reach_a_person() {
    async fn two_faced(_: TwoFaced) -> &'static str {
        "done"
    }
    let tools = ToolSet::builder()
        .tool(tool(two_faced).gate(Gate::voice(|args: &TwoFaced| format!("Do it {} times.", args.count))))
        .build()
        .unwrap();
    assert!(tools.prepare("two_faced", &json!({"count": 1})).unwrap_err().contains("this tool is broken"));
}

#[test]
fn a_gate_that_panics_or_says_nothing_is_a_fault() {
    // For some arguments only: for all of them the set is not built.
    let gate = |summary: fn(&Value) -> String| {
        let schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}}});
        let pay = ErasedTool::dynamic("pay", "Pays.", schema, |args, _| async move { Json(args) });
        let tools = ToolSet::builder().tool(pay.gate(Gate::voice(summary))).build().unwrap();
        tools.find("pay").unwrap().summary(&json!({})).unwrap()
    };
    let panics = |args: &Value| match args["sum"].as_i64() {
        Some(sum) => format!("Pay {sum}."),
        None => panic!("a bug in the gate"),
    };
    assert_eq!(gate(panics), Err("the pay tool failed".to_owned()));
    let silent = |args: &Value| args["sum"].as_i64().map(|sum| format!("Pay {sum}.")).unwrap_or_default();
    assert_eq!(gate(silent), Err("the arguments cannot be put into words".to_owned()));
}

#[test]
fn canonical_text_does_not_depend_on_order() {
    let one: Value = serde_json::from_str(r#"{ "b": [1, {"z": null, "a": "é\n"}], "a": true }"#).unwrap();
    let other: Value = serde_json::from_str(r#"{"a":true,"b":[1,{"a":"é\n","z":null}]}"#).unwrap();
    assert_eq!(canonical(&one), r#"{"a":true,"b":[1,{"a":"é\n","z":null}]}"#);
    assert_eq!(canonical(&one), canonical(&other));
}

#[test]
fn a_tool_that_does_not_exist_takes_no_arguments() {
    assert_eq!(plain().prepare("disorder", &json!({})).unwrap_err(), "There is no tool named disorder.");
}
