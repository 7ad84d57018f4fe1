#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use session::{FollowUp, Notice, Outcome, OutcomeStatus};
use tools::{Effect, ErasedTool, Gate, ToolSet};
use units::{Instant, PendingId};

use super::file::Writer;
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
        let outcome = Outcome { status, body, events: Vec::new(), clip_after: None };
        self.watchers.show(ms(at), &Moment::Outcome { call: A, outcome: &outcome });
    }

    fn is_answered(&mut self, at: u64, name: &str, body: Value) {
        let (name, follow_up) = (name.to_owned(), FollowUp::Silent);
        self.notice(ms(at), Notice::CallAnswered { call: A, name, status: String::new(), body, follow_up });
    }

    /// What was recorded since the last time.
    fn records(&self) -> Vec<String> {
        let kinds = ["tool.", "error ", "transcript "];
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.into_iter().filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
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
    watch.notice(ms(1), Notice::GatePending { pending, tool, summary: summary.clone(), replaces: None });
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

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("voiced-records-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

const BOUNDS: Bounds = Bounds { bytes_max: 1_000_000, keep: 2 };

fn writer(path: PathBuf, bounds: Bounds) -> (Writer, Arc<AtomicU64>) {
    let lost = Arc::default();
    (Writer::new(path, bounds, Arc::clone(&lost)), lost)
}

/// Runs `work` and gives what it logged at `warn` and `info`.
fn logged(work: impl FnOnce()) -> String {
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&log);
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || Tee(Arc::clone(&sink))).finish();
    tracing::subscriber::with_default(subscriber, work);
    let bytes = log.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

struct Tee(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn row_91_records_are_lines_of_json_that_only_the_daemons_user_reads() {
    let scratch = Scratch::new("lines");
    let path = scratch.0.join("new/records.jsonl");
    let mut file = RecordFile::start(path.clone(), BOUNDS, "run-1").unwrap();
    let said = Record::Said(Said::Model { text: "Hello.\nBye.".to_owned(), cut: false });
    file.observe(ms(0), &Moment::Record(&said));
    file.observe(ms(0), &Moment::Anomaly("no record"));
    drop(file);
    let text = scratch.read("new/records.jsonl");
    let [line] = text.lines().collect::<Vec<_>>()[..] else { panic!("one line: {text}") };
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["kind"], &line["run"]), (&json!("transcript"), &json!("run-1")));
    assert_eq!(line["text"], "Hello.\nBye.");
    assert!(line["at_ms"].as_u64().unwrap() > 1_600_000_000_000);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn row_91_a_full_file_is_put_aside_and_the_oldest_goes() {
    let scratch = Scratch::new("rotation");
    let (mut writer, lost) = writer(scratch.0.join("r"), Bounds { bytes_max: 10, keep: 2 });
    for n in 0..9 {
        writer.write(&format!("{n}234\n"));
    }
    assert_eq!(
        ["r", "r.1", "r.2", "r.3"].map(|name| scratch.read(name)),
        ["8234\n", "6234\n7234\n", "4234\n5234\n", ""]
    );
    writer.write("longer than a whole file\n");
    writer.write("next\n");
    assert_eq!(["r", "r.1"].map(|name| scratch.read(name)), ["next\n", "longer than a whole file\n"]);
    assert_eq!(lost.load(Ordering::Relaxed), 0);

    let (mut writer, _) = self::writer(scratch.0.join("k"), Bounds { bytes_max: 10, keep: 0 });
    for line in ["one..\n", "two..\n", "three\n"] {
        writer.write(line);
    }
    assert_eq!(["k", "k.1"].map(|name| scratch.read(name)), ["three\n", ""]);
}

#[test]
fn row_91_a_full_disk_is_said_once_and_what_it_lost_is_counted_in_the_file() {
    let scratch = Scratch::new("full");
    let path = scratch.0.join("r");
    symlink("/dev/full", &path).unwrap();
    let (mut writer, lost) = writer(path.clone(), BOUNDS);
    let log = logged(|| {
        for _ in 0..3 {
            writer.write("lost\n");
        }
        assert_eq!(lost.load(Ordering::Relaxed), 3);
        fs::remove_file(&path).unwrap();
        // Half a line, as a power cut leaves it.
        fs::write(&path, "{\"half").unwrap();
        writer.write("kept\n");
        writer.write("kept\n");
    });
    assert_eq!(log.matches("cannot be written").count(), 1, "{log}");
    assert_eq!(log.matches("written again").count(), 1, "{log}");
    let text = scratch.read("r");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], &lines[2..]), ("{\"half", &["kept", "kept"][..]), "{text}");
    let count: Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!((&count["kind"], &count["count"]), (&json!("records.lost"), &json!(3)));
}

#[test]
fn row_91_a_disk_that_hangs_holds_nobody_up() {
    let scratch = Scratch::new("slow");
    let path = scratch.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Nobody reads the pipe: it takes 64 KiB, and then a write waits for ever.
    let mut file = RecordFile::start(path, BOUNDS, "run").unwrap();
    let said = Record::Said(Said::Model { text: "x".repeat(2_000), cut: false });
    let begun = std::time::Instant::now();
    let log = logged(|| {
        for _ in 0..2_000 {
            file.observe(ms(0), &Moment::Record(&said));
        }
    });
    drop(file);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(log.matches("the disk is too slow").count(), 1, "{log}");
}
