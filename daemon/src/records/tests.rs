// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::sync::{Arc, Mutex};

use session::{FollowUp, Notice, Outcome, OutcomeStatus};
use tools::{Effect, ErasedTool, Gate, ToolSet};
use units::{Instant, PendingId};

use super::*;
use crate::config::{Config, FileSource, Sources};
use crate::tooling::Tooling;
use crate::watch::{Moment, Observer, Watchers};

const A: CallKey = CallKey(1);

fn ms(ms: u64) -> Instant {
    Instant::from_boot(Duration::from_millis(ms))
}

/// Who watches, and what they saw as lines.
struct Watch {
    watchers: Watchers,
    seen: Arc<Mutex<Vec<String>>>,
}

struct Lines(Arc<Mutex<Vec<String>>>);

impl Observer for Lines {
    fn observe(&mut self, _: Instant, moment: &Moment<'_>) {
        let line = if let Moment::Record(record) = moment {
            format!("{} {}", record.kind(), Value::Object(record.fields()))
        } else {
            format!("{moment:?}")
        };
        self.0.lock().unwrap().push(line);
    }
}

fn answered(name: &str, body: Value, follow_up: FollowUp) -> Notice {
    Notice::CallAnswered {
        call: A,
        name: name.to_owned(),
        status: String::new(),
        body,
        follow_up,
        latency: Duration::ZERO,
        coalesced: false,
    }
}

impl Watch {
    fn new() -> Self {
        let schema =
            json!({"type": "object", "properties": {"pin": {"type": "string"}, "door": {"type": "string"}}});
        let tool = |name: &str| ErasedTool::dynamic(name, "Does it.", schema.clone(), |_, _| async {});
        let gate = Gate::voice(|args: &Value| format!("Open it with {}.", args["pin"]));
        let tools = ToolSet::builder()
            .tool(tool("look").effect(Effect::Read).hidden("pin"))
            .tool(tool("unlock").effect(Effect::Outbound).hidden("pin").gate(gate))
            .tool(tools::end::end_session())
            .build()
            .unwrap();
        let file = "[tools.egress]\nallow = [\"slots.example.net\"]\n[[tool]]\nname = \"slots\"\ndescription = \"Slots.\"\n\
                    url = \"https://slots.example.net/free?key=canary\"\neffect = \"read\"\n";
        let file = FileSource::Text("voiced.toml".into(), file.to_owned());
        let config = Config::load(&Sources { file, ..Sources::default() }).unwrap().config;
        let tooling = Tooling::from(tools);
        let seen = Arc::default();
        let keeper = Keeper::new(tooling.clone(), &config);
        Self { watchers: Watchers::new(vec![Box::new(Lines(Arc::clone(&seen)))], tooling, keeper), seen }
    }

    fn notice(&mut self, at: Instant, notice: Notice) {
        let notice = self.watchers.masked(notice);
        self.watchers.show(at, &Moment::Notice(&notice));
    }

    fn arrives(&mut self, at: u64, name: &str, args: Value) {
        self.notice(ms(at), Notice::CallArrived { call: A, name: name.to_owned(), args });
    }

    fn runs(&mut self, at: u64, name: &str) {
        self.notice(ms(at), Notice::CallRun { call: A, name: name.to_owned(), grant: None });
    }

    fn ends(&mut self, at: u64, status: OutcomeStatus, body: Value) {
        let outcome = Outcome { status, body, events: Vec::new(), clip_after: None, silent_ok: false };
        self.watchers.show(ms(at), &Moment::Outcome { call: A, outcome: &outcome });
    }

    fn is_answered(&mut self, at: u64, name: &str, body: Value) {
        self.notice(ms(at), answered(name, body, FollowUp::Silent));
    }

    /// Every record since the last time.
    fn lines(&self) -> Vec<String> {
        let kinds = ["tool.", "error ", "transcript ", "step ", "turn ", "session.ended "];
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.into_iter().filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
    }

    /// Those that are no figures.
    fn records(&self) -> Vec<String> {
        self.lines().into_iter().filter(|line| !line.starts_with("step ")).collect()
    }

    fn results(&self) -> Vec<Value> {
        let lines = self.records();
        let results = lines.iter().filter_map(|line| line.strip_prefix("tool.result "));
        results.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn row_91_a_call_is_recorded_with_its_url_and_its_result_with_the_time_that_the_tool_took() {
    let mut watch = Watch::new();
    watch.arrives(1_000, "slots", json!({"doctor": "Adler"}));
    watch.runs(3_000, "slots");
    watch.ends(3_250, OutcomeStatus::Success, json!({"status": 200, "result": ["9:00"]}));
    watch.is_answered(7_000, "slots", json!({"status": 200, "result": ["9:00"]}));
    assert_eq!(
        watch.records(),
        [
            r#"tool.call {"args":{"doctor":"Adler"},"call":1,"name":"slots","url":"https://slots.example.net/free"}"#,
            r#"transcript {"args":{"doctor":"Adler"},"call":1,"name":"slots","role":"tool","text":"slots({'doctor': 'Adler'})"}"#,
            r#"tool.result {"call":1,"latency_ms":250,"level":"info","name":"slots","result":{"result":["9:00"],"status":200},"status":200}"#,
        ]
    );
}

#[test]
fn a_call_of_the_devices_own_is_recorded_as_any_other_and_is_no_request_of_the_model() {
    let mut watch = Watch::new();
    let (name, args) = ("look".to_owned(), json!({"pin": "1234", "door": "3"}));
    watch.notice(ms(1_000), Notice::CallMade { call: A, name, args, undoes: Some(CallKey(7)) });
    watch.runs(1_000, "look");
    watch.ends(1_250, OutcomeStatus::Success, json!({"status": "success"}));
    watch.notice(ms(2_000), Notice::Ended { by: "daemon" });
    let lines = watch.lines();
    assert_eq!(lines[0], r#"tool.call {"args":{"door":"3","pin":"***"},"call":1,"name":"look"}"#);
    assert!(
        lines[2].starts_with(r#"tool.result {"call":1,"latency_ms":250,"level":"info","name":"look""#),
        "{lines:#?}"
    );
    assert!(!lines.iter().any(|line| line.contains(r#""of":"model""#)), "{lines:#?}");
}

#[test]
fn row_91_whatever_is_neither_success_nor_2xx_is_a_warning() {
    for (body, level) in [
        (json!({"status": "success"}), "info"),
        (json!({"status": 204}), "info"),
        (json!({"status": "pending_confirmation"}), "info"),
        (json!({"status": 404}), "warning"),
        (json!({"status": 500}), "warning"),
        (json!({"status": 0}), "warning"),
        (json!({"status": 1200}), "warning"),
        (json!({"status": "error"}), "warning"),
        (json!({"status": "unknown"}), "warning"),
        (json!({"status": "refused"}), "warning"),
        (json!({}), "warning"),
    ] {
        let mut watch = Watch::new();
        watch.arrives(0, "look", json!({}));
        watch.is_answered(40, "look", body.clone());
        let [result] = &watch.results()[..] else { panic!("one result for {body}") };
        assert_eq!(result["level"], level, "{body}");
        assert_eq!(result["latency_ms"], 40);
    }
}

#[test]
fn row_91_what_is_longer_than_3000_characters_is_cut_and_says_so() {
    let mut watch = Watch::new();
    let of = |chars: usize| json!({"status": "success", "result": "ä".repeat(chars)});
    let frame = of(0).to_string().chars().count();
    for (body, truncated) in [(of(3000 - frame), Value::Null), (of(3001 - frame), json!(true))] {
        watch.arrives(0, "look", json!({"door": "x".repeat(4000)}));
        watch.is_answered(0, "look", body.clone());
        let lines = watch.records();
        let line = |n: usize| -> Value { serde_json::from_str(lines[n].split_once(' ').unwrap().1).unwrap() };
        assert_eq!(line(2)["truncated"], truncated);
        if truncated.is_null() {
            assert_eq!(line(2)["result"], body);
        } else {
            let head: String = body.to_string().chars().take(3000).collect();
            assert_eq!(line(2)["result"], head);
        }
        assert_eq!(line(0)["args_truncated"], true);
        assert_eq!(line(1)["text"].as_str().unwrap().chars().count(), 3000);
    }
}

#[test]
fn row_92_t104_a_call_that_ends_the_session_is_a_call_and_no_result() {
    let mut watch = Watch::new();
    watch.arrives(0, "end_session", json!({}));
    watch.runs(1, "end_session");
    watch.ends(2, OutcomeStatus::Success, json!({"status": "success"}));
    watch.is_answered(3, "end_session", json!({"status": "success"}));
    let kinds: Vec<String> =
        watch.records().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["tool.call", "transcript"]);
}

#[test]
fn row_93_an_unknown_tool_is_an_error_with_the_list() {
    let mut watch = Watch::new();
    watch.arrives(0, "lok", json!({"pin": "4711"}));
    let body = json!({
        "status": "error", "error": "unknown tool", "error_type": "unknown_tool", "available_tools": ["look", "unlock"],
    });
    watch.is_answered(0, "lok", body);
    let lines = watch.records();
    assert_eq!(
        lines.last().unwrap(),
        r#"error {"available_tools":["look","unlock"],"call":1,"error":"unknown tool","level":"error","name":"lok"}"#
    );
    assert!(lines[2].starts_with("tool.result"), "{lines:?}");
    assert!(!lines.concat().contains("4711"), "a name that is not known hides what any tool does: {lines:?}");
}

#[test]
fn row_90_the_transcript_has_person_model_and_tool_in_order() {
    let mut watch = Watch::new();
    let turn = Some(TurnId(4));
    watch.notice(ms(0), Notice::UserSaid { turn, text: "Is Dr. O'Neil in?".to_owned() });
    watch.arrives(
        1,
        "look",
        json!({"door": "O'Neil", "n": 2, "ok": true, "no": null, "list": ["a\n\"", 1.5]}),
    );
    watch.notice(ms(2), Notice::ModelSaid { text: "She is.".to_owned(), cut: true });
    let lines = watch.records();
    assert_eq!(lines[0], r#"transcript {"role":"person","text":"Is Dr. O'Neil in?","turn":4}"#);
    let said: Value = serde_json::from_str(lines[2].strip_prefix("transcript ").unwrap()).unwrap();
    assert_eq!(
        said["text"],
        r#"look({'door': "O'Neil", 'list': ['a\n"', 1.5], 'n': 2, 'no': None, 'ok': True})"#
    );
    assert_eq!(said["args"]["n"], 2);
    assert_eq!(lines[3], r#"transcript {"cut":true,"role":"model","text":"She is."}"#);
}

#[test]
fn row_91_t62_hidden_arguments_are_in_nothing_that_anybody_sees() {
    let mut watch = Watch::new();
    watch.arrives(0, "unlock", json!({"pin": "4711", "door": "north"}));
    let summary = "Open it with 4711.".to_owned();
    let pending = PendingId(1);
    let tool = "unlock".to_owned();
    watch.notice(
        ms(1),
        Notice::GatePending {
            pending,
            tool,
            summary: summary.clone(),
            consent: session::Consent::Voice,
            replaces: None,
        },
    );
    let kind = session::LineKind::ReadBack;
    watch.watchers.show(ms(1), &Moment::Line { text: &format!("{summary} Shall I?"), kind });
    let body = json!({"status": "refused", "message": format!("\"{summary}\" is waiting for an answer.")});
    watch.is_answered(2, "look", body);
    let seen = watch.seen.lock().unwrap().join("\n");
    assert!(seen.contains("north") && seen.contains("*** Shall I?"), "{seen}");
    assert!(!seen.contains("4711"), "{seen}");
}

#[test]
fn row_91_a_call_that_was_given_up_has_what_became_of_it_as_a_second_result() {
    let mut watch = Watch::new();
    let timed_out = json!({"status": "error", "error": "the look tool did not finish in time"});
    watch.arrives(0, "look", json!({}));
    watch.runs(0, "look");
    watch.is_answered(8_000, "look", timed_out.clone());
    watch.ends(9_000, OutcomeStatus::Success, json!({"status": "success"}));
    watch.ends(9_500, OutcomeStatus::Success, json!({"status": "success"}));
    let [given_up, late] = &watch.results()[..] else { panic!("two results") };
    assert_eq!((&given_up["status"], &given_up["late"]), (&json!("error"), &Value::Null));
    assert_eq!(
        (&late["status"], &late["late"], &late["latency_ms"]),
        (&json!("success"), &json!(true), &json!(9_000))
    );

    // What was stopped in time has done nothing, and one result is enough.
    watch.arrives(0, "look", json!({}));
    watch.runs(0, "look");
    watch.is_answered(8_000, "look", timed_out);
    watch.ends(8_100, OutcomeStatus::Cancelled, json!({"status": "cancelled"}));
    assert_eq!(watch.results().len(), 1);

    watch.arrives(0, "look", json!({}));
    watch.notice(
        ms(5),
        Notice::CallClosed { call: A, name: "look".to_owned(), why: "the provider took it back" },
    );
    let [closed] = &watch.results()[..] else { panic!("a call has its result") };
    assert_eq!((&closed["status"], &closed["level"]), (&json!("closed"), &json!("warning")));
}

#[test]
fn row_91_a_job_that_runs_and_a_call_that_was_stopped_are_no_warnings() {
    let mut watch = Watch::new();
    watch.arrives(0, "look", json!({}));
    watch.runs(0, "look");
    watch.is_answered(0, "look", json!({"status": "running"}));
    watch.ends(60_000, OutcomeStatus::Success, json!({"status": "success"}));
    let seen: Vec<_> = watch
        .results()
        .iter()
        .map(|line| (line["status"].clone(), line["level"].clone(), line["late"].clone()))
        .collect();
    assert_eq!(
        seen,
        [(json!("running"), json!("info"), Value::Null), (json!("success"), json!("info"), json!(true))]
    );
    watch.arrives(0, "look", json!({}));
    watch.is_answered(0, "look", json!({"status": "cancelled"}));
    assert_eq!(watch.results()[0]["level"], "info");
}

#[test]
fn t25_a_result_that_is_shared_says_so() {
    let mut watch = Watch::new();
    watch.arrives(0, "look", json!({}));
    let mut shared = answered("look", json!({"status": "success"}), FollowUp::Silent);
    if let Notice::CallAnswered { coalesced, .. } = &mut shared {
        *coalesced = true;
    }
    watch.notice(ms(30), shared);
    let [result] = &watch.results()[..] else { panic!("one result") };
    assert_eq!((&result["coalesced"], &result["latency_ms"]), (&json!(true), &json!(30)));
}

#[test]
fn row_92_t104_the_other_name_of_the_end_is_a_call_and_no_result_too() {
    let mut watch = Watch::new();
    watch.arrives(0, "end_call", json!({}));
    watch.notice(ms(1), Notice::CallRun { call: A, name: "end_session".to_owned(), grant: None });
    watch.ends(2, OutcomeStatus::Success, json!({"status": "success"}));
    watch.is_answered(3, "end_call", json!({"status": "success"}));
    let lines = watch.lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["tool.call", "transcript"], "no result and no step: {lines:?}");
}

#[test]
fn row_84_t100_the_record_says_who_ended_the_session_and_why() {
    for (by, reason) in [("agent", "agent ended the call"), ("daemon", "the daemon was stopped")] {
        let mut watch = Watch::new();
        watch.notice(ms(0), Notice::Ended { by });
        assert_eq!(
            watch.lines(),
            [format!(r#"session.ended {{"hangup_by":"{by}","hangup_reason":"{reason}"}}"#)]
        );
    }
}

fn turn_1() -> Notice {
    Notice::Turn(TurnRecord {
        turn: TurnId(1),
        hops: 1,
        calls: 2,
        awaited: 1,
        speechless: false,
        open: Some(Duration::from_millis(400)),
        speak: None,
        total: Duration::from_millis(1_550),
        input_tokens: 150,
        output_tokens: 25,
    })
}

#[test]
fn row_51_26_each_request_each_tool_and_each_turn_leaves_figures_and_nothing_else() {
    let mut watch = Watch::new();
    let turn = TurnId(1);
    watch.notice(ms(1_000), Notice::TurnOpened { turn });
    watch.notice(ms(2_000), Notice::TurnClosed { turn, voiced: Duration::from_millis(800) });
    watch.arrives(2_400, "look", json!({"door": "canary"}));
    watch.notice(ms(2_450), Notice::Usage { input_tokens: 100, output_tokens: 20 });
    watch.runs(2_500, "look");
    watch.ends(2_700, OutcomeStatus::Error, json!({"status": 404, "result": "canary"}));
    watch.notice(ms(2_700), answered("look", json!({"status": 404}), FollowUp::WhenIdle));
    watch.notice(ms(3_000), Notice::ModelSaid { text: "canary".to_owned(), cut: false });
    watch.notice(ms(3_100), Notice::Usage { input_tokens: 50, output_tokens: 5 });
    watch.notice(ms(5_000), turn_1());
    watch.notice(ms(5_000), Notice::TurnOpened { turn: TurnId(2) });
    let lines: Vec<String> = watch
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("step ") || line.starts_with("turn "))
        .collect();
    assert_eq!(
        lines,
        [
            r#"step {"call":1,"ms":200,"name":"look","of":"tool","status":404,"turn":1}"#,
            r#"step {"calls":1,"hop":0,"ms":450,"of":"model","tokens":{"input":100,"output":20},"turn":1}"#,
            r#"step {"calls":0,"hop":1,"ms":400,"of":"model","tokens":{"input":50,"output":5},"turn":1}"#,
            r#"turn {"awaited":1,"calls":2,"hops":1,"open_ms":400,"speak_ms":null,"speechless":false,"tokens":{"input":150,"output":25},"total_ms":1550,"turn":1}"#,
        ]
    );
}

#[test]
fn row_51_a_request_that_comes_to_nothing_is_a_step_and_noise_is_none() {
    let mut watch = Watch::new();
    let turn = TurnId(3);
    let closed = Notice::TurnClosed { turn, voiced: Duration::from_millis(300) };
    watch.notice(ms(0), Notice::TurnOpened { turn });
    watch.notice(ms(500), closed.clone());
    watch.notice(ms(600), Notice::NoiseIgnored { turn });
    watch.notice(ms(700), Notice::TurnOpened { turn });
    assert_eq!(watch.lines(), Vec::<String>::new());
    watch.notice(ms(900), closed);
    watch.notice(ms(9_000), Notice::TurnOpened { turn: TurnId(4) });
    assert_eq!(
        watch.lines(),
        [r#"step {"calls":0,"hop":0,"ms":null,"of":"model","tokens":{"input":0,"output":0},"turn":3}"#]
    );
    // Before anybody has spoken the model may call of its own accord.
    let mut watch = Watch::new();
    watch.arrives(100, "look", json!({}));
    watch.notice(ms(400), Notice::Ended { by: "daemon" });
    let lines = watch.lines();
    assert_eq!(
        lines[2],
        r#"step {"calls":1,"hop":0,"ms":0,"of":"model","tokens":{"input":0,"output":0},"turn":null}"#
    );
    assert!(lines[3].starts_with("session.ended "), "{lines:?}");
}
