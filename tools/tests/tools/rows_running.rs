// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rows T30 to T42 of the tool contract: what becomes of arguments, and of a run that goes wrong.

use std::future::pending;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};
use tools::{
    CallInfo, Cx, Effect, ErasedTool, Gate, Json, RawOutcome, Status, ToolBuilder, ToolError, ToolSet,
    parse_arguments, tool,
};
use units::{CallKey, TurnId};

use crate::log::Log;

/// Sends a parcel somewhere. Use it when a parcel is to go.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Parcel {
    #[serde(default)]
    count: i64,
    #[serde(default)]
    size: Size,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Size {
    #[default]
    Small,
    Large,
}

async fn parcel(_: Parcel) {}

fn built<A: 'static>(builder: ToolBuilder<A>) -> ErasedTool {
    ToolSet::builder().named("Kiosk").tool(builder).build().unwrap().iter().next().unwrap().clone()
}

fn read() -> ErasedTool {
    built(tool(parcel).effect(Effect::Read))
}

fn gated() -> ErasedTool {
    built(tool(parcel).gate(Gate::voice(|args: &Parcel| format!("Send {} parcels.", args.count))))
}

#[test]
fn t30_a_value_outside_its_set_is_told_with_its_place_and_the_set() {
    assert_eq!(
        read().prepare(&json!({"size": "huge"})),
        Err(r#"/size: "huge" is not one of "small" or "large""#.to_owned())
    );
}

#[test]
fn t31_whole_floats_are_integers_and_nothing_else_is() {
    assert_eq!(read().prepare(&json!({"count": 5.0})).unwrap()["count"].as_i64(), Some(5));
    for bad in [json!(5.5), json!("5")] {
        let fault = read().prepare(&json!({"count": bad})).unwrap_err();
        assert!(fault.starts_with("/count: "), "{fault}");
    }
}

#[test]
fn t32_argument_texts() {
    for none in ["", " ", "null", "{}"] {
        assert_eq!(parse_arguments(none), Ok(json!({})), "{none}");
    }
    assert_eq!(parse_arguments(r#"{"count":5}"#), Ok(json!({"count": 5})));
    for other in ["[]", "3", "true", r#""{}""#] {
        assert_eq!(parse_arguments(other), Err("the arguments must be a JSON object".to_owned()), "{other}");
    }
    let broken = parse_arguments("{bad").unwrap_err();
    assert!(broken.starts_with("the arguments are not JSON: "), "{broken}");
    assert_eq!(read().prepare(&Value::Null), Ok(json!({})));
    assert!(read().prepare(&json!([])).is_err());
}

#[test]
fn t33_unknown_arguments_are_dropped_with_a_warning_unless_a_person_is_asked() {
    let log = Log::start();
    let args = json!({"count": 1, "express": "a secret"});
    assert_eq!(read().prepare(&args), Ok(json!({"count": 1})));
    assert_eq!(log.warnings(), [r#"unknown arguments left out tool="parcel" field="/express" all=1"#]);
    assert_eq!(gated().prepare(&args), Err("/express: there is no such argument".to_owned()));
    assert_eq!(log.warnings().len(), 1);
    // Of many there is one line too.
    let many: Value =
        (0..10_000).map(|number| (format!("x{number}"), json!(1))).collect::<Map<_, _>>().into();
    assert_eq!(read().prepare(&many), Ok(json!({})));
    assert_eq!(log.warnings()[1..], [r#"unknown arguments left out tool="parcel" field="/x0" all=10000"#]);
}

/// Books a visit. Use it when the person names a day.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only whether it parses is looked at")]
struct Visit {
    #[schemars(extend("format" = "date"))]
    day: String,
    #[schemars(extend("format" = "uuid"))]
    person: String,
    /// Euros, as text: a float has no cents.
    #[schemars(with = "String", regex(pattern = r"^[0-9]+(\.[0-9]{1,2})?$"))]
    price: Cents,
}

#[derive(Debug, PartialEq)]
struct Cents(u64);

impl<'de> Deserialize<'de> for Cents {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (euros, cents) = text.split_once('.').unwrap_or((&text, "0"));
        let number = |text: &str| text.parse::<u64>().map_err(serde::de::Error::custom);
        Ok(Self(number(euros)? * 100 + number(&format!("{cents:0<2}"))?))
    }
}

#[tokio::test(start_paused = true)]
async fn t34_dates_amounts_and_ids_are_parsed_alike_however_they_arrive() {
    async fn visit(args: Visit) -> Json<u64> {
        Json(args.price.0)
    }
    let visit = built(tool(visit).effect(Effect::Read));
    let good =
        json!({"day": "2026-02-28", "person": "67e55044-10b1-426f-9247-bb680e5fe0c8", "price": "12.5"});
    // As a value, as one provider sends it, and as text, as the other does.
    for args in [good.clone(), parse_arguments(&good.to_string()).unwrap()] {
        let args = visit.prepare(&args).unwrap();
        assert_eq!(visit.run(args, Cx::for_test()).await.body["result"], 1250);
    }
    for (key, bad) in [("day", "2026-02-30"), ("day", "tomorrow"), ("person", "me"), ("price", "12.345")] {
        let mut args = good.clone();
        args[key] = bad.into();
        let fault = visit.prepare(&args).unwrap_err();
        assert!(fault.starts_with(&format!("/{key}: ")), "{fault}");
    }
}

/// Calls a number. Use it when somebody is to be called.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Dial {
    phone: String,
}

#[test]
fn t36_a_number_that_nobody_has_never_reaches_a_person() {
    async fn dial(_: Dial) {}
    let gate = Gate::voice(|args: &Dial| format!("Call {}.", args.phone))
        .reject_placeholder("phone", |args| args.phone.clone());
    let dial = built(tool(dial).gate(gate));
    for fake in ["0000000000", "123-456-7890", "+1 212 555 0142"] {
        assert_eq!(
            dial.prepare(&json!({"phone": fake})),
            Err("/phone: this number is a dummy; ask the person for the real one".to_owned()),
            "{fake}"
        );
    }
    assert!(dial.prepare(&json!({"phone": "98765 43210"})).is_ok());
}

/// Waits. Use it when time is to pass.
#[derive(Deserialize, JsonSchema)]
struct Wait {
    ms: u64,
}

async fn wait(args: Wait) -> &'static str {
    sleep(Duration::from_millis(args.ms)).await;
    "done"
}

#[tokio::test(start_paused = true)]
async fn t37_a_slow_tool_is_warned_of_once_and_its_result_counts() {
    let log = Log::start();
    let shaped = built(tool(wait).effect(Effect::Read)).run(json!({"ms": 412}), Cx::for_test()).await;
    assert_eq!(shaped.status, Status::Success);
    assert_eq!(log.warnings(), ["tool Kiosk.wait took 412ms, over the 20ms budget; the user waited for it"]);
}

#[tokio::test(start_paused = true)]
async fn t38_the_budget_is_the_last_time_without_a_warning() {
    for (ms, warned) in [(19, 0), (20, 0), (21, 1)] {
        let log = Log::start();
        let _ = built(tool(wait).effect(Effect::Read)).run(json!({"ms": ms}), Cx::for_test()).await;
        assert_eq!(log.warnings().len(), warned, "{ms}");
    }
    let log = Log::start();
    let patient = tool(wait).effect(Effect::Read).budget(Duration::from_millis(300));
    let _ = built(patient).run(json!({"ms": 300}), Cx::for_test()).await;
    let _ = built(tool(wait).effect(Effect::Read).job()).run(json!({"ms": 5000}), Cx::for_test()).await;
    assert_eq!(log.warnings(), [""; 0], "nobody waits for a job");
}

#[tokio::test(start_paused = true)]
async fn t39_a_panic_stays_in_the_log_and_the_next_call_works() {
    async fn moody(args: Wait) -> &'static str {
        assert_ne!(args.ms, 0, "broken {{}} at {{place}}");
        "fine"
    }
    let moody = built(tool(moody).effect(Effect::Read));
    let log = Log::start();
    let shaped = moody.run(json!({"ms": 0}), Cx::for_test()).await;
    assert_eq!(shaped.body, json!({"status": "error", "error": "the moody tool failed"}));
    assert!(log.warnings().concat().contains("broken {} at {place}"), "{:?}", log.warnings());
    assert_eq!(moody.run(json!({"ms": 1}), Cx::for_test()).await.status, Status::Success);
}

#[derive(Debug, thiserror::Error)]
#[error("SELECT * FROM people WHERE pin = '1234' in /var/lib/kiosk.db")]
struct Database;

#[tokio::test(start_paused = true)]
async fn t40_only_the_public_half_of_an_error_is_told() {
    async fn ask(args: Wait) -> Result<&'static str, ToolError> {
        match args.ms {
            0 => Err(Database.into()),
            _ => Err(ToolError::public("the list is closed").because(Database)),
        }
    }
    let ask = built(tool(ask).effect(Effect::Read));
    let log = Log::start();
    for (ms, told) in [(0, "the ask tool failed"), (1, "the list is closed")] {
        let shaped = ask.run(json!({"ms": ms}), Cx::for_test()).await;
        assert_eq!(shaped.body, json!({"status": "error", "error": told}));
    }
    assert_eq!(log.warnings().iter().filter(|line| line.contains("/var/lib/kiosk.db")).count(), 2);
}

fn call() -> Cx {
    let deadline = Instant::now() + Duration::from_secs(8);
    let info = CallInfo {
        call: CallKey(1),
        turn: TurnId(1),
        session: "s".to_owned(),
        idempotency_key: None,
        deadline,
    };
    Cx::new(info, |_| {}).0
}

/// Tells when it is gone.
struct Gone(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test(start_paused = true)]
async fn t41_a_tool_that_never_returns_is_an_error_at_its_deadline_and_is_gone() {
    let (sender, mut gone) = tokio::sync::mpsc::unbounded_channel();
    let hangs = move |_: Wait| {
        let held = Gone(sender.clone());
        async move {
            pending::<()>().await;
            drop(held);
        }
    };
    let start = Instant::now();
    let shaped = built(tool(hangs).named("hangs").effect(Effect::Read)).run(json!({"ms": 0}), call()).await;
    assert_eq!(start.elapsed(), Duration::from_secs(8));
    assert_eq!(shaped.body, json!({"status": "error", "error": "the hangs tool did not finish in time"}));
    assert!(gone.try_recv().is_ok());
}

#[tokio::test(start_paused = true)]
async fn t42_a_tool_that_hangs_in_its_effect_is_unknown() {
    async fn hangs(_: Wait, cx: Cx) -> RawOutcome {
        cx.begin_effect()?;
        pending().await
    }
    let shaped = built(tool(hangs).effect(Effect::Local)).run(json!({"ms": 0}), call()).await;
    assert_eq!(shaped.status, Status::Unknown);
    assert_eq!(shaped.body["status"], "unknown");
}
