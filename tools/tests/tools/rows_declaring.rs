// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rows T1 to T19 of the tool contract: what is checked before anything is heard.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{
    BuildErrors, Declaration, Effect, ErasedTool, Gate, Hal, HasTools, Json, Origin, STANDING_RULES,
    ToolBuilder, ToolSet, build_instruction, import_schema, tool,
};

/// Averages the sales of one week. Use it when the person asks how a week went.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Week {
    /// Number of the week, 1 to 53.
    #[schemars(range(min = 1, max = 53))]
    week: u8,
}

async fn weekly_average(args: Week) -> String {
    args.week.to_string()
}

trait Latch: Send + Sync {}

async fn unlock(_: Week, _latch: Hal<dyn Latch>) -> &'static str {
    "open"
}

fn average() -> ToolBuilder<Week> {
    tool(weekly_average).effect(Effect::Read)
}

fn dynamic(name: &str, schema: Value) -> ToolBuilder<Value> {
    let description = "Does something. Use it when something is to be done.";
    ErasedTool::dynamic(name, description, schema, |args, _| async move { Json(args) }).effect(Effect::Read)
}

fn build(declaration: impl Into<Declaration>) -> Result<ToolSet, BuildErrors> {
    ToolSet::builder().tool(declaration).build()
}

fn faults(built: Result<ToolSet, BuildErrors>) -> Vec<String> {
    built.unwrap_err().0.iter().map(ToString::to_string).collect()
}

fn warnings(set: &ToolSet) -> Vec<String> {
    set.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn t01_the_source_is_the_declaration() {
    let set = build(average()).unwrap();
    let tool = set.find("weekly_average").unwrap();
    assert_eq!(
        tool.description(),
        "Averages the sales of one week. Use it when the person asks how a week went."
    );
    let week = json!({
        "description": "Number of the week, 1 to 53.",
        "type": "integer", "format": "uint8", "minimum": 1, "maximum": 53,
    });
    assert_eq!(*tool.schema(), json!({"type": "object", "properties": {"week": week}, "required": ["week"]}));
    assert_eq!(set.iter().len(), 1);
    assert_eq!(warnings(&set), [""; 0]);
}

#[test]
fn t04_names() {
    for good in ["a", "_x9", &"x".repeat(64)] {
        assert!(build(average().named(good)).is_ok(), "{good}");
    }
    for bad in ["9a", "a-b", "a.b", "", &"x".repeat(65)] {
        let reason = "the name does not fit: expected 1 to 64 letters, digits or `_`, not a digit first";
        assert_eq!(faults(build(average().named(bad))), [format!("tool `{bad}`: {reason}")]);
    }
}

#[test]
fn t05_reserved_names() {
    for name in ["end_call", "end_session", "sys_x"] {
        let fault = format!("tool `{name}`: the name is reserved for the daemon");
        assert_eq!(faults(build(average().named(name))), [fault]);
    }
}

#[test]
fn t06_two_tools_of_one_name_are_told_by_their_origins() {
    let twice = |origin: Origin| {
        let other = dynamic("weekly_average", json!({"type": "object"})).origin(origin);
        faults(ToolSet::builder().tool(average()).tool(other).build())
    };
    for (origin, said) in [
        (Origin::Native, "native"),
        (Origin::Configuration, "configuration"),
        (Origin::Mcp("scale".to_owned()), "mcp:scale"),
    ] {
        let fault = format!("the name is taken twice: by a tool of origin native and by one of {said}");
        assert_eq!(twice(origin), [format!("tool `weekly_average`: {fault}")]);
    }
}

#[test]
fn t07_descriptions_are_counted_in_characters() {
    for good in ["abc".to_owned(), "x".repeat(1000), "é".repeat(1000), format!("  {}  ", "é".repeat(1000))]
    {
        assert!(build(average().described(&good)).is_ok(), "{}", good.len());
    }
    for (bad, chars) in [("ab".to_owned(), 2), ("x".repeat(1001), 1001), ("  a \n".to_owned(), 1)] {
        let found = faults(build(average().described(bad))).concat();
        assert!(
            found.contains(&format!("the description has {chars} characters: expected 3..=1000")),
            "{found}"
        );
    }
}

#[test]
fn t08_timeouts() {
    for good in [1.0, 8.0, 30.0] {
        assert!(build(average().timeout(Duration::from_secs_f64(good))).is_ok(), "{good}");
    }
    for bad in [0.9, 30.1] {
        let found = faults(build(average().timeout(Duration::from_secs_f64(bad)))).concat();
        assert!(found.contains("expected 1 s..=30 s"), "{found}");
    }
    let set = build(average()).unwrap();
    assert_eq!(set.find("weekly_average").unwrap().timeout(), Duration::from_secs(8));
}

#[test]
fn row_142_a_set_has_a_time_for_tools_that_set_none() {
    let seconds = Duration::from_secs;
    let set = ToolSet::builder().timeout(seconds(3)).tool(average());
    let set = set.tool(average().named("own").timeout(seconds(5))).build().unwrap();
    let time = |name: &str| set.find(name).unwrap().timeout();
    assert_eq!((time("weekly_average"), time("own")), (seconds(3), seconds(5)));
    let found = faults(ToolSet::builder().timeout(seconds(31)).tool(average()).build()).concat();
    assert!(found.contains("the timeout is 31s: expected 1 s..=30 s"), "{found}");
}

#[test]
fn t10_outbound_needs_a_gate_or_a_reason() {
    let found = faults(build(tool(weekly_average))).concat();
    assert!(found.contains("it is outbound and has no gate"), "{found}");
    let set = build(tool(weekly_average).ungated("it only adds up")).unwrap();
    assert_eq!(set.find("weekly_average").unwrap().ungated(), Some("it only adds up"));
    let gate = Gate::voice(|args: &Week| format!("Average week {}.", args.week));
    assert!(build(tool(weekly_average).gate(gate)).is_ok());
}

#[test]
fn f3_a_sentence_that_cannot_be_rendered_stops_the_build() {
    let schema = json!({"type": "object", "properties": {
        "phone": {"type": "string", "pattern": "^[0-9 ]+$"}, "name": {"type": "string"},
    }});
    type Ask = fn(&Value) -> String;
    let tried = |ask: Ask, slots: fn(&Value) -> Vec<String>| {
        let dial = ErasedTool::dynamic("dial", "Calls when asked to.", schema.clone(), |_, _| async {});
        build(dial.gate(Gate::voice(ask).slots(slots)))
    };
    let none = |_: &Value| Vec::new();
    let phone = |args: &Value| vec![args["phone"].as_str().unwrap_or_default().to_owned()];
    let good: Ask = |args| format!("Call {} on 9 8 7 6 5, 4 3 2 1 0.", args["name"]);
    assert!(tried(good, phone).is_ok(), "a number may be said digit by digit");
    for (ask, slots, expected) in [
        (
            (|_| panic!("a bug in the gate")) as Ask,
            none as fn(&Value) -> Vec<String>,
            "the sentence to be agreed to cannot be rendered for {\"name\":\"98765 43210\",\"phone\":\"98765 43210\"}: \
             the dial tool failed",
        ),
        (|_| " ".to_owned(), none, ": the arguments cannot be put into words"),
        (|_| "Call them. ".repeat(15), none, "the sentence to be agreed to has 164 characters for "),
        (
            |_| "Call them.".to_owned(),
            phone,
            "the slot \"98765 43210\" is not in the sentence to be agreed to",
        ),
        (good, |_| panic!("a bug in the slots"), "the slots of the sentence cannot be rendered for "),
    ] {
        let found = faults(tried(ask, slots)).concat();
        assert!(found.starts_with("tool `dial`: ") && found.contains(expected), "{found}");
    }
}

#[test]
fn f3_arguments_that_cannot_be_guessed_are_left_to_the_call() {
    let schema = json!({"type": "object", "properties": {"code": {"type": "string", "pattern": "^Q{7}$"}}});
    let open = ErasedTool::dynamic("open", "Opens when asked to.", schema, |_, _| async {});
    assert!(build(open.gate(Gate::voice(|_: &Value| String::new()))).is_ok());
}

#[test]
fn t11_hardware_that_is_not_there_is_named() {
    let found = faults(build(tool(unlock).effect(Effect::Local))).concat();
    assert!(found.starts_with("tool `unlock`: it needs `Hal<dyn "), "{found}");
    assert!(found.contains("Latch"), "{found}");
}

#[test]
fn t12_five_faults_are_five_messages_in_one_error() {
    let built = ToolSet::builder()
        .tool(average().named("9a"))
        .tool(average().described("x"))
        .tool(tool(weekly_average).named("send"))
        .tool(tool(unlock).effect(Effect::Local))
        .tool(tool(unlock).named("late").optional().effect(Effect::Local))
        .tool(average().named("slow").timeout(Duration::from_secs(31)))
        .build();
    let error = built.unwrap_err();
    let faults: Vec<&str> = error.0.iter().map(|error| error.tool.as_str()).collect();
    assert_eq!(faults, ["9a", "weekly_average", "send", "unlock", "slow"]);
    assert_eq!(error.to_string().lines().count(), 5);
}

/// Orders boxes. Use it when the person wants boxes.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Order {
    bay: Bay,
    #[serde(default)]
    size: Size,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Bay {
    shelf: Shelf,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Shelf {
    row: u8,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Size {
    #[default]
    Small,
    Large,
}

#[test]
fn t13_nested_arguments_are_written_out_in_place() {
    async fn order(_: Order) {}
    let set = build(tool(order).effect(Effect::Read)).unwrap();
    let schema = set.find("order").unwrap().schema();
    assert!(!schema.to_string().contains("$ref") && !schema.to_string().contains("$defs"), "{schema}");
    assert_eq!(schema["required"], json!(["bay"]));
    assert_eq!(
        schema.pointer("/properties/bay/properties/shelf/properties/row/type"),
        Some(&json!("integer"))
    );
    assert_eq!(schema["properties"]["size"]["enum"], json!(["small", "large"]));
    assert_eq!(schema["properties"]["size"]["default"], "small");
}

#[test]
fn t14_types_in_capitals_become_json_schema() {
    let schema = json!({
        "type": "OBJECT",
        "properties": {
            "zone": {"type": "STRING", "enum": ["dock", "cold"], "nullable": true, "example": "dock"},
            "bays": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "1"},
            "place": {"anyOf": [{"type": "NUMBER"}, {"type": "BOOLEAN"}]},
        },
        "propertyOrdering": ["zone", "bays"],
        "required": ["bays"],
    });
    let taken = import_schema(&schema).unwrap();
    assert_eq!(
        taken,
        json!({
            "type": "object",
            "properties": {
                "zone": {"type": ["string", "null"], "enum": ["dock", "cold", null], "examples": ["dock"]},
                "bays": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
                "place": {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
            },
            "required": ["bays"],
        })
    );
    assert_eq!(import_schema(&taken).unwrap(), taken, "the other spelling is left alone");
    assert_eq!(import_schema(&Value::Null).unwrap(), json!({"type": "object", "properties": {}}));
    let set = build(dynamic("look", taken)).unwrap();
    assert!(set.prepare("look", &json!({"bays": [1.0]})).is_ok());
    assert!(set.prepare("look", &json!({"bays": []})).is_err(), "the full schema holds here");
}

#[test]
fn t17_with_no_tool_in_view_none_is_declared_and_none_is_found() {
    let set = build(average().instruct("• AVERAGE RULE")).unwrap();
    let none = set.view([]);
    assert_eq!(none.iter().count(), 0);
    assert!(none.find("weekly_average").is_none());
    assert_eq!(none.rules(), "");
    assert_eq!(
        none.prepare("weekly_average", &json!({"week": 1})),
        Err("There is no tool named weekly_average.".to_owned())
    );
}

struct Display;

impl HasTools for Display {
    fn tools(self: Arc<Self>) -> Vec<Declaration> {
        vec![average().named("show_week").erase(), average().named("show_day").erase()]
    }
}

#[test]
fn t18_what_this_device_does_not_have_is_left_out_with_one_warning() {
    let set =
        ToolSet::builder().tool(average()).component_if("display", None::<Arc<Display>>).build().unwrap();
    assert_eq!(set.names().collect::<Vec<_>>(), ["weekly_average"]);
    assert_eq!(warnings(&set), ["tool `display`: this device does not have it: its tools are left out"]);
    let set = ToolSet::builder().component_if("display", Some(Arc::new(Display))).build().unwrap();
    assert_eq!(set.names().collect::<Vec<_>>(), ["show_day", "show_week"]);

    let set = build(tool(unlock).optional().effect(Effect::Local)).unwrap();
    assert_eq!(set.iter().len(), 0);
    let found = warnings(&set);
    assert_eq!(found.len(), 1);
    assert!(found.concat().starts_with("tool `unlock`: left out: this device has no `dyn "), "{found:?}");
}

#[test]
fn rows_21_and_94_what_holds_for_every_tool_is_told_once_and_only_if_there_is_one() {
    let rules = build(average()).unwrap().rules();
    assert_eq!(rules.matches("one short line before you call, and call in the same response").count(), 1);
    assert_eq!(rules.matches("Never say JSON, an id or a technical error aloud").count(), 1);
    assert_eq!(ToolSet::default().rules(), "");
}

#[test]
fn t19_the_instruction_has_one_order_and_only_rules_in_view() {
    let set = ToolSet::builder()
        .tool(average().named("zeta").instruct("• Z RULE"))
        .tool(average().named("alpha").instruct("• A RULE\n"))
        .tool(average().named("hidden").instruct("• H RULE"))
        .build()
        .unwrap();
    let view = set.view(["alpha", "zeta", "no_such_tool"]);
    let rules = format!("[ACTIVE TOOLS & USAGE RULES]\n{STANDING_RULES}\n\n• Z RULE\n\n• A RULE");
    let whole = format!("You are Vox.\n\nAnna, shift 2\n\n{rules}");
    for _ in 0..3 {
        assert_eq!(build_instruction("You are Vox.\n", "Anna, shift 2", &view.rules()), whole);
    }
    assert_eq!(view.names().collect::<Vec<_>>(), ["alpha", "zeta"]);
    assert!(set.whole().rules().contains("• H RULE"));
    assert_eq!(view, set.view(["zeta", "alpha"]));
    assert_ne!(view, set.whole());
}

#[test]
fn a_tool_that_only_reads_may_be_parallel_and_no_other() {
    assert!(build(average().parallel()).unwrap().find("weekly_average").unwrap().is_parallel());
    let gate = || Gate::voice(|_: &Week| "Average it.".to_owned());
    for other in [average().effect(Effect::Local), tool(weekly_average).gate(gate()), average().gate(gate())]
    {
        assert!(faults(build(other.parallel())).concat().contains("it is parallel, yet does more than read"));
    }
}

#[test]
fn marks_that_cannot_work_are_faults() {
    assert!(faults(build(average().lane(" "))).concat().contains("its lane has no name"));
    let slow = average().budget(Duration::from_secs(9));
    assert!(faults(build(slow)).concat().contains("the budget of 9s is over the timeout of 8s"));
    assert!(build(average().budget(Duration::from_secs(9)).job()).is_ok(), "nobody waits for a job");
    let misfit = average().choices("month", ["May"]);
    assert!(
        faults(build(misfit)).concat().contains("it has choices for `month`, which is none of its arguments")
    );
}

#[test]
fn choices_are_part_of_what_the_model_reads() {
    let set = build(average().choices("week", [7, 8])).unwrap();
    assert_eq!(set.find("weekly_average").unwrap().schema()["properties"]["week"]["enum"], json!([7, 8]));
    assert!(set.prepare("weekly_average", &json!({"week": 8})).is_ok());
    assert_eq!(
        set.prepare("weekly_average", &json!({"week": 9})),
        Err("/week: 9 is not one of 7 or 8".to_owned())
    );
}

#[test]
fn what_will_be_regretted_is_warned_of() {
    let said = |declaration: ToolBuilder<Week>| warnings(&build(declaration).unwrap()).concat();
    assert!(said(average().described("Averages a week.")).contains("does not say when to use it"));
    assert_eq!(said(average().described("Averages a week, whenever asked.")), "");
    let silent = average().needs_result_now();
    assert!(said(silent).contains("may wait 8s for it in silence"));
    for spoken in [
        average().needs_result_now().pre_call("One moment."),
        average().needs_result_now().waiting("Still adding up."),
        average().needs_result_now().timeout(Duration::from_secs(2)),
        average().needs_result_now().job(),
    ] {
        assert_eq!(said(spoken), "");
    }
    assert!(said(average().needs_result_now().pre_call(" ")).contains("in silence"), "an empty line is none");
    let promise = "Sends the average when asked and returns its id.";
    assert!(said(tool(weekly_average).ungated("why not").described(promise)).contains("promises a result"));
}

#[test]
fn many_or_large_declarations_are_warned_of() {
    let of = |count: usize, text: &str| {
        let tools = (0..count).map(|n| average().named(format!("t{n}")).described(format!("When {text}")));
        warnings(&tools.fold(ToolSet::builder(), |set, tool| set.tool(tool)).build().unwrap())
    };
    assert_eq!(of(16, "asked."), [""; 0]);
    assert!(of(17, "asked.").concat().starts_with("there are 17 tools: with more than 16"));
    let found = of(7, &"x".repeat(900)).concat();
    assert!(found.starts_with("the declarations take ") && found.contains("over 6000"), "{found}");
}
