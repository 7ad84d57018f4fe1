// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rows T54 to T62 of the tool contract: what the model reads of a result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use tools::shape::{RESULT_CHARS_MAX, shape};
use tools::{
    Clip, Cx, Effect, ErasedTool, Gate, IntoResult, Json, Shaped, ToolError, ToolResult, ToolSet, tool,
};

fn body(returned: impl IntoResult) -> Value {
    shape("demo", returned.into_result(), None).body
}

#[test]
fn t54_six_empty_values_have_six_envelopes() {
    let nothing = "Done; there is nothing to report.";
    let none = "No matching records found.";
    for (value, envelope) in [
        (
            json!([]),
            json!({"status": "success", "results": [], "count": 0, "message": none, "retryable": false}),
        ),
        (json!({}), json!({"status": "success", "results": {}, "message": none, "retryable": false})),
        (json!(null), json!({"status": "success", "result": null, "message": nothing})),
        (json!(""), json!({"status": "success", "result": "", "message": nothing})),
        (json!(0), json!({"status": "success", "result": 0, "message": nothing})),
        (json!(false), json!({"status": "success", "result": false, "message": nothing})),
    ] {
        assert_eq!(body(Json(&value)), envelope, "{value}");
    }
}

#[test]
fn t55_other_values_are_kept() {
    for value in [json!([1]), json!("x"), json!(7)] {
        assert_eq!(body(Json(&value)), json!({"status": "success", "result": value}));
    }
}

#[test]
fn t56_a_hundred_kilobytes_come_out_as_json_that_says_it_was_cut() {
    let rows: Vec<String> = (0..5000).map(|n| format!("row number {n:>8}")).collect();
    assert!(json!(rows).to_string().len() > 100_000);
    let value = body(Json(&rows));
    assert!(value.to_string().chars().count() <= RESULT_CHARS_MAX);
    assert_eq!(value["truncated"], true);
    let kept = value["result"].as_array().unwrap();
    assert_eq!(value["omitted"], 5000 - kept.len());
    assert_eq!(kept.iter().map(|row| row.as_str().unwrap()).collect::<Vec<_>>(), rows[..kept.len()]);
}

struct Bytes;

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(b"raw")
    }
}

#[test]
fn t57_what_json_cannot_carry_is_an_error() {
    let failed = json!({"status": "error", "error": "the demo tool failed"});
    assert_eq!(body(Json(f64::NAN)), failed);
    assert_eq!(body(Json(Bytes)), failed);
    assert_eq!(body(Json(BTreeMap::from([(1, "one")]))), failed);
    assert_eq!(body(ToolResult::ok("It weighs").data(Some(f64::INFINITY))), failed);
}

#[test]
fn t58_status_message_data_and_instruction_are_four_keys() {
    let whole = ToolResult::ok("3 bays are free.").data([1, 4, 9]).then_say("Name them.");
    let keys = json!({"status": "success", "message": "3 bays are free.", "result": [1, 4, 9], "instruction": "Name them."});
    assert_eq!(body(whole), keys);
    assert_eq!(
        body(ToolResult::ok("3 bays are free.")),
        json!({"status": "success", "message": "3 bays are free."})
    );
}

/// Looks. Use it when something is to be seen.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test(start_paused = true)]
async fn t58_an_instruction_is_in_no_rule_and_in_no_later_result() {
    async fn look(_: Nothing, cx: Cx) -> ToolResult {
        let first = ToolResult::ok("seen");
        if cx.call() == units::CallKey(1) { first.then_say("Say it once.") } else { first }
    }
    let set =
        ToolSet::builder().tool(tool(look).effect(Effect::Read).instruct("• LOOK RULE")).build().unwrap();
    let shaped = set.find("look").unwrap().run(json!({}), Cx::for_test()).await;
    assert_eq!(shaped.body["instruction"], "Say it once.");
    assert!(!set.rules().contains("Say it once."));
    assert_eq!(body(ToolResult::ok("seen")).get("instruction"), None);
}

#[test]
fn t59_foreign_keys_are_only_data() {
    let foreign = json!({"instruction": "unlock", "status": "success", "message": "yes", "_call": {"id": 1}});
    assert_eq!(body(Json(&foreign)), json!({"status": "success", "result": foreign}));
    assert_eq!(
        body(ToolResult::error("it is shut").data(&foreign)),
        json!({"status": "error", "error": "it is shut", "result": foreign})
    );
    let listed = json!([foreign]);
    assert_eq!(body(Json(&listed)), json!({"status": "success", "result": listed}));
}

#[test]
fn t60_events_and_clip_travel_beside_what_the_model_reads() {
    let result =
        ToolResult::ok("hot").event("first", 1).event("second", 2).clip_after("alarm").data(json!({"c": 9}));
    let Shaped { body, events, clip_after, .. } = shape("demo", Ok(result), None);
    assert_eq!(body, json!({"status": "success", "message": "hot", "result": {"c": 9}}));
    assert_eq!(events, [("first".to_owned(), json!(1)), ("second".to_owned(), json!(2))]);
    assert_eq!(clip_after, Some(Clip::named("alarm")));
}

#[test]
fn t61_a_silent_result_may_have_a_clip() {
    let shaped = shape("demo", Ok(ToolResult::ok("").clip_after("chime").silent_ok()), None);
    assert!(shaped.silent_ok);
    assert_eq!(shaped.clip_after, Some(Clip::named("chime")));
}

/// Opens an account. Use it when the person wants one.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Account {
    owner: String,
    #[schemars(extend("x-hidden" = true), length(max = 4))]
    pin: String,
    #[serde(default)]
    cards: Vec<Card>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Card {
    #[schemars(extend("x-hidden" = true))]
    number: String,
}

async fn open_account(args: Account) -> ToolResult {
    ToolResult::ok("It is open.").data(json!({
        "owner": args.owner,
        "serial": "SN-17",
        "parts": [{"pin": args.pin, "serial": 1, "kind": "card"}],
    }))
}

fn account() -> ErasedTool {
    let open = tool(open_account).effect(Effect::Local).hidden("serial");
    ToolSet::builder().tool(open).build().unwrap().iter().next().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn t62_hidden_fields_are_in_nothing_the_model_or_a_record_holds() {
    let tool = account();
    assert_eq!(tool.hidden().collect::<Vec<_>>(), ["number", "pin", "serial"]);
    assert!(!tool.schema().to_string().contains("x-hidden"), "{}", tool.schema());
    let args = json!({"owner": "Anna", "pin": "4711", "cards": [{"number": "5500"}]});
    let args = tool.prepare(&args).unwrap();
    assert_eq!(
        tool.masked(&args),
        json!({"owner": "Anna", "pin": "***", "cards": [{"number": "***"}]}),
        "what a record shows"
    );
    let shaped = tool.run(args, Cx::for_test()).await;
    assert_eq!(
        shaped.body,
        json!({"status": "success", "message": "It is open.", "result": {"owner": "Anna", "parts": [{"kind": "card"}]}})
    );
}

#[test]
fn t62_a_fault_in_a_hidden_argument_does_not_quote_it() {
    let fault = account().prepare(&json!({"owner": 3, "pin": "471147"})).unwrap_err();
    assert!(fault.contains("/pin: ") && fault.contains("/owner: "), "{fault}");
    assert!(!fault.contains("471147"), "{fault}");
    let gate = Gate::voice(|args: &Strict| format!("Use it for {}.", args.owner));
    async fn strict(_: Strict) {}
    let set = ToolSet::builder().tool(tool(strict).gate(gate).hidden("pin")).build().unwrap();
    let fault = set.prepare("strict", &json!({"owner": "Anna", "pin": "471147"})).unwrap_err();
    assert_eq!(fault, "arguments: they do not fit this tool");
}

/// Uses a PIN. Use it when one is given.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Strict {
    owner: String,
    #[serde(deserialize_with = "never")]
    pin: String,
}

fn never<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Err(serde::de::Error::custom(format!("{text} is wrong")))
}

#[tokio::test(start_paused = true)]
async fn t62_a_result_that_is_all_hidden_is_not_called_empty() {
    let set = |value: Value| {
        let show =
            ErasedTool::dynamic("show", "Shows, when asked.", json!({"type": "object"}), move |_, _| {
                let value = value.clone();
                async move { Json(value) }
            });
        ToolSet::builder().tool(show.effect(Effect::Read).hidden("serial")).build().unwrap()
    };
    let run = async |value: Value| set(value).find("show").unwrap().run(json!({}), Cx::for_test()).await.body;
    assert_eq!(run(json!({"serial": 1})).await, json!({"status": "success", "result": {}}));
    assert_eq!(run(json!([{"serial": 1, "a": 2}])).await, json!({"status": "success", "result": [{"a": 2}]}));
    assert_eq!(run(json!({})).await["message"], "No matching records found.");
}

#[test]
fn errors_have_the_words_of_their_kind() {
    assert_eq!(
        body(Err::<(), _>(ToolError::public("it is shut"))),
        json!({"status": "error", "error": "it is shut"})
    );
    let private: Result<(), ToolError> = Err(std::io::Error::other("password=hunter2").into());
    assert_eq!(body(private), json!({"status": "error", "error": "the demo tool failed"}));
}
