// SPDX-License-Identifier: MIT OR Apache-2.0

//! What it takes to agree to a tool, and what keeps a gate from being one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{Agreement, Asking, Cx, ErasedTool, Gate, ToolError, ToolSet, tool};

/// Pays somebody. Use it when the person asks to pay.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Pay {
    /// Whom: digits of an account.
    account: String,
    /// The person agreed.
    #[serde(default)]
    confirmed: bool,
}

async fn pay(_: Pay) -> &'static str {
    "It is paid."
}

fn faults(gate: Gate<Value>) -> Vec<String> {
    let schema =
        json!({"type": "object", "properties": {"phone": {"type": "string"}}, "required": ["phone"]});
    let act = ErasedTool::dynamic("act", "Acts when asked.", schema, |_: Value, _: Cx| async { "done" });
    match ToolSet::builder().tool(act.gate(gate)).build() {
        Ok(_) => Vec::new(),
        Err(faults) => faults.0.into_iter().map(|error| error.fault).collect(),
    }
}

fn phone(args: &Value) -> String {
    args["phone"].as_str().unwrap_or_default().to_owned()
}

fn calling() -> [fn() -> Gate<Value>; 5] {
    fn sentence(args: &Value) -> String {
        format!("Call {}.", phone(args))
    }
    [
        || Gate::voice(sentence),
        || Gate::touch(sentence),
        || Gate::button(sentence),
        || Gate::voice_or_touch(sentence),
        || Gate::both(sentence),
    ]
}

#[test]
fn g57_a_gated_tool_has_no_argument_that_claims_consent() {
    let gate = || Gate::touch(|args: &Pay| format!("Pay {}.", args.account));
    let built = ToolSet::builder().tool(tool(pay).gate(gate())).build();
    let told = built.unwrap_err().to_string();
    assert_eq!(
        told,
        "tool `pay`: argument `confirmed` lets the model claim consent: remove it; the gate asks"
    );
}

#[test]
fn how_a_person_agrees_is_kept_and_spelt_in_one_way() {
    for (gate, by) in calling().into_iter().zip(Agreement::ALL) {
        let schema = json!({"type": "object", "properties": {}});
        let act = ErasedTool::dynamic("act", "Acts when asked.", schema, |_: Value, _: Cx| async { "done" });
        let tools = ToolSet::builder().tool(act.gate(gate())).build().unwrap();
        let tool = tools.find("act").unwrap();
        assert_eq!(tool.asking(), Some(Asking { by, ..Asking::default() }));
        assert!(!tool.has_recheck());
        assert_eq!(Agreement::parse(by.as_str()), Some(by));
    }
    assert_eq!(Agreement::parse("Voice"), None);
}

#[test]
fn f3_what_cannot_be_said_to_a_tap_or_a_button_is_not_asked_of_them() {
    let with_slot = |gate: Gate<Value>| gate.slots(|args| vec![phone(args)]);
    for (gate, by) in calling().into_iter().zip(Agreement::ALL) {
        let silent = matches!(by, Agreement::Touch | Agreement::Button);
        let risky = faults(gate().high_risk());
        assert_eq!(risky.concat().contains("no words can be said"), silent, "{by:?}: {risky:?}");
        let repeating = faults(with_slot(gate()).repeat_last(4));
        assert_eq!(repeating.concat().contains("none can be said"), silent, "{by:?}: {repeating:?}");
        assert_eq!((risky.is_empty(), repeating.is_empty()), (!silent, !silent));
    }
}

#[test]
fn f3_digits_that_are_to_be_repeated_are_those_of_a_slot() {
    let [voice, ..] = calling();
    assert!(faults(voice().repeat_last(4)).concat().contains("no slot has any"));
    let no_digits = voice().slots(|args| vec![phone(args).replace(|ch: char| ch.is_ascii_digit(), "")]);
    assert!(faults(no_digits.repeat_last(4)).concat().contains("no slot has any"));
    for (digits, fine) in [(0, false), (1, true), (10, true), (11, false)] {
        let found = faults(voice().slots(|args| vec![phone(args)]).repeat_last(digits));
        assert_eq!(found.is_empty(), fine, "{digits}: {found:?}");
    }
}

#[tokio::test]
async fn a_second_look_gives_the_sentence_as_it_is_by_then() {
    let looked = |args: Value| async move { Ok::<_, ToolError>(format!(" Call {} for 5. ", phone(&args))) };
    let gate = Gate::voice(|args: &Value| format!("Call {} for 3.", phone(args))).recheck(looked);
    let schema = json!({"type": "object", "properties": {"phone": {"type": "string"}}});
    let act = ErasedTool::dynamic("act", "Acts when asked.", schema, |_: Value, _: Cx| async { "done" });
    let tools = ToolSet::builder().tool(act.gate(gate)).build().unwrap();
    let tool = tools.find("act").unwrap();
    let sentence = tool.recheck(json!({"phone": "12"}), Cx::for_test()).unwrap().await;
    assert_eq!(sentence.unwrap(), "Call 12 for 5.");
}
