// SPDX-License-Identifier: MIT OR Apache-2.0

//! What becomes of an approval across restarts and lost answers, and what is kept of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::sync_channel;

use e2e::{Counter, Device, PRINT, Reply, Scratch, Talk, voiced_binary};
use serde_json::Value;
use session::OutcomeStatus;
use voiced::gate_log::{Record, path_in, verify};
use voiced::journal::{JOURNAL_FILE, State, read};

fn records(state: &Path) -> Vec<Record> {
    let verdict = verify(&[fs::read(path_in(state)).expect("it was written")]);
    assert_eq!((verdict.breaks, verdict.torn), (Vec::new(), Vec::new()));
    verdict.records
}

fn events(state: &Path) -> Vec<String> {
    records(state).into_iter().map(|record| record.event).collect()
}

async fn device(state: &Path, counter: &Counter, is_idempotent: bool) -> Device {
    Device::start(&Device::config(state, counter.port(), is_idempotent, ""), |_| {}).await
}

#[tokio::test]
async fn g44_an_approval_does_not_outlive_a_restart() {
    let (scratch, counter) = (Scratch::new(), Counter::start(|_| Reply::Answer));
    let mut before = device(scratch.path(), &counter, false).await;
    before.is_asked("12345");
    before.hears("Yes.");
    before.is_cut_off().await;

    let mut after = device(scratch.path(), &counter, false).await;
    after.calls_for("12345");
    assert_eq!(after.answers(), ["pending_confirmation"], "it is asked anew");
    after.hears("Yes.");
    after.calls_for("12345");
    assert_eq!(after.answers(), ["pending_confirmation"; 2], "what was not heard is not agreed to");
    assert_eq!(after.notes(), [""; 0], "nothing had been done");
    after.is_cut_off().await;
    assert_eq!(counter.done(), []);
    let events = events(scratch.path());
    assert_eq!(events.iter().filter(|event| *event == "gate.granted").count(), 1, "{events:?}");
    assert!(!events.iter().any(|event| event.starts_with("call.")), "{events:?}");
}

#[tokio::test]
async fn g45_an_effect_that_had_begun_when_the_power_went_is_told_once_and_not_done_again() {
    let (tell, held) = sync_channel(1);
    let counter = Counter::start(move |_| {
        let _ = tell.try_send(());
        Reply::Hold
    });
    let scratch = Scratch::new();
    let mut before = device(scratch.path(), &counter, true).await;
    before.is_asked("12345");
    before.hears("Yes.");
    before.calls_for("12345");
    // It says that it begins, and then the service has it.
    before.goes_on().await;
    tokio::task::spawn_blocking(move || held.recv()).await.expect("no panic").expect("it is asked");
    before.is_cut_off().await;

    let mut after = device(scratch.path(), &counter, true).await;
    let note = format!(
        "[Before the restart, {PRINT} was started; whether it finished is not known. Do not repeat it unless the person asks.]"
    );
    assert_eq!(after.notes(), [&note]);
    after.is_asked("67890");
    after.is_cut_off().await;
    let last = device(scratch.path(), &counter, true).await;
    assert_eq!(last.notes(), [""; 0], "it was told");
    last.is_cut_off().await;
    assert_eq!(counter.done().len(), 1, "nobody repeats it by itself");
    let unknown: Vec<Record> =
        records(scratch.path()).into_iter().filter(|record| record.event == "call.unknown").collect();
    let [unknown] = &unknown[..] else { panic!("one record: {unknown:?}") };
    assert_eq!(unknown.fields["tool"], PRINT);
    assert!(counter.done()[0].key.starts_with(unknown.fields["key8"].as_str().expect("it is text")));
    assert!(!unknown.fields.values().any(|value| value.to_string().contains("12345")), "no arguments");
}

#[tokio::test]
async fn g46_the_record_is_on_the_disk_before_the_service_is_asked() {
    let scratch = Scratch::new();
    let journal = scratch.path().join(JOURNAL_FILE);
    let (tell, seen) = sync_channel(1);
    let counter = Counter::start(move |_| {
        let _ = tell.try_send(read(&fs::read(&journal).unwrap_or_default()).calls);
        Reply::Answer
    });
    let mut device = device(scratch.path(), &counter, false).await;
    device.prints("12345").await;
    let calls = seen.try_recv().expect("the service was asked");
    assert_eq!(calls.iter().map(|call| call.state).collect::<Vec<_>>(), [State::Begun]);
    assert_eq!(counter.done()[0].key, calls[0].key);
    device.is_cut_off().await;
    let bytes = fs::read(scratch.path().join(JOURNAL_FILE)).expect("it is there");
    assert_eq!(read(&bytes).calls[0].state, State::Done);
    assert!(!String::from_utf8_lossy(&bytes).contains("12345"), "no arguments are in it");
}

#[tokio::test]
async fn g47_an_answer_that_is_lost_is_asked_for_once_more_with_the_same_key() {
    for (is_idempotent, lost, status, requests) in [
        (true, 1, OutcomeStatus::Success, 2),
        (true, 9, OutcomeStatus::Unknown, 2),
        (false, 1, OutcomeStatus::Unknown, 1),
    ] {
        let scratch = Scratch::new();
        let counter = Counter::start(move |number| if number < lost { Reply::Drop } else { Reply::Answer });
        let mut device = device(scratch.path(), &counter, is_idempotent).await;
        device.prints("12345").await;
        assert_eq!(device.outcomes.len(), 1);
        assert_eq!(device.outcomes[0].1, status, "{:?}", device.outcomes);
        let done = counter.done();
        assert_eq!(done.len(), requests);
        assert!(!done[0].key.is_empty() && done.iter().all(|again| *again == done[0]), "{done:?}");
        device.is_cut_off().await;
        let after = self::device(scratch.path(), &counter, is_idempotent).await;
        assert_eq!(after.notes(), [""; 0], "the conversation was told of it");
    }
}

#[tokio::test]
async fn g48_a_second_approval_of_the_same_has_a_key_of_its_own_and_so_has_every_run() {
    let (scratch, counter) = (Scratch::new(), Counter::start(|_| Reply::Answer));
    for _ in 0..2 {
        let mut device = device(scratch.path(), &counter, false).await;
        device.prints("12345").await;
        device.hears("Print it once more.");
        device.prints("12345").await;
        let statuses: Vec<_> = device.outcomes.iter().map(|(_, status, _)| *status).collect();
        assert_eq!(statuses, [OutcomeStatus::Success; 2], "{:?}", device.answers());
    }
    let mut keys: Vec<String> = counter.done().into_iter().map(|done| done.key).collect();
    assert_eq!(keys.len(), 4);
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4, "approvals are counted from 1 in each run, and no key comes again");
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_done_and_is_again_when_it_can() {
    let (scratch, counter) = (Scratch::new(), Counter::start(|_| Reply::Answer));
    let journal = scratch.path().join(JOURNAL_FILE);
    // A folder in its place: also root cannot write that.
    fs::create_dir_all(journal.join("in the way")).expect("it is ours");
    let mut device = device(scratch.path(), &counter, false).await;
    device.prints("12345").await;
    let (_, status, body) = &device.outcomes[0];
    assert_eq!(*status, OutcomeStatus::Error);
    assert_eq!(body["error"], "This cannot be done safely now: the device cannot keep its record of it.");
    assert_eq!(counter.done(), []);
    fs::remove_dir_all(&journal).expect("it is ours");
    device.prints("67890").await;
    assert_eq!(device.outcomes[1].1, OutcomeStatus::Success, "{:?}", device.outcomes);
    assert_eq!(counter.done().len(), 1);
}

#[test]
fn the_whole_daemon_keeps_what_was_agreed_to_and_tells_the_model_of_what_was_left() {
    let scratch = Scratch::new();
    let counter = Counter::start(|_| Reply::Hold);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(async {
        let mut before = device(scratch.path(), &counter, false).await;
        before.is_asked("12345");
        before.hears("Yes.");
        before.calls_for("12345");
        before.goes_on().await;
        before.is_cut_off().await;
    });
    let state = format!("state.dir={}", scratch.path().display());
    let seen = Talk::bundled("gate_kept", "gate_yes")
        .set(&state)
        .says(1_500, "message")
        .says(22_000, "yes")
        .lasting(32)
        .run();
    seen.assert_clean();
    let [delivery] = &seen.deliveries[..] else { panic!("not one delivery: {:?}", seen.deliveries) };
    let mut events = events(scratch.path());
    let opened = events.iter().rposition(|event| event == "log.opened").expect("each run begins with it");
    events.drain(..opened);
    let place = |name: &str| {
        let place = events.iter().position(|event| event == name);
        place.unwrap_or_else(|| panic!("{name} is not among {events:?}"))
    };
    let story = ["call.unknown", "gate.presented", "gate.evidence", "gate.spent", "call.run", "call.ended"];
    assert!(story.map(place).is_sorted(), "{events:?}");
    let calls = read(&fs::read(scratch.path().join(JOURNAL_FILE)).expect("it is there")).calls;
    let states: Vec<_> = calls.iter().map(|call| (call.tool.as_str(), call.state)).collect();
    assert_eq!(states, [(PRINT, State::Told), ("send_notification", State::Done)]);
    assert_eq!(delivery.key.as_deref(), Some(calls[1].key.as_str()));
    let text = fs::read_to_string(path_in(scratch.path())).expect("it was written");
    assert!(!text.contains("07700") && !text.contains("cold storage door"), "{text}");
}

fn voiced(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(voiced_binary()).args(args).output().expect("it is built");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test]
async fn who_agreed_to_what_is_kept_shown_and_checked() {
    let (scratch, counter) = (Scratch::new(), Counter::start(|_| Reply::Answer));
    let state = scratch.path().join("state");
    let config = Device::config(&state, counter.port(), false, "");
    let mut device = Device::start(&config, |_| {}).await;
    device.prints("98765 43210").await;
    device.is_asked("11111 22222");
    device.hears("No, it is for Margaret.");
    device.is_cut_off().await;

    let path = path_in(&state);
    let mode = fs::metadata(&path).expect("it was written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&path).expect("it was written");
    for secret in ["98765", "9876543210", "Yes", "Margaret", "11111"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    let events = events(&state);
    let expected = [
        "log.opened",
        "gate.pending",
        "gate.presented",
        "gate.evidence",
        "gate.granted",
        "gate.spent",
        "call.run",
        "call.ended",
        "gate.pending",
        "gate.presented",
        "gate.evidence",
        "gate.declined",
    ];
    assert_eq!(events, expected);
    let records = records(&state);
    let field = |at: usize, name: &str| records[at].fields[name].clone();
    assert_eq!(field(1, "args")["order"], "…3210");
    assert_eq!(field(1, "summary"), "Print the order …3210.");
    assert_eq!(field(2, "heard_ms"), 2000);
    assert_eq!(field(3, "reading"), "yes");
    assert_eq!(field(3, "transcript_sha").as_str().map(str::len), Some(64));
    assert!(counter.done()[0].key.starts_with(field(5, "key8").as_str().expect("it is text")));
    assert_eq!((field(7, "status"), field(7, "key8")), ("success".into(), field(5, "key8")));

    let file = scratch.write("voiced.toml", &config);
    let (file, log) = (file.to_string_lossy().into_owned(), path.to_string_lossy().into_owned());
    let (code, said) = voiced(&["gate", "verify", "--config", &file]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("12 records from 20") && said.contains(": no break"), "{said}");
    let (code, said) = voiced(&["gate", "log", "--config", &file]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((code, lines.len()), (Some(0), 3), "{said}");
    for words in [PRINT, "yes, by voice", "success", "Print the order …3210."] {
        assert!(lines[1].contains(words), "{words}: {said}");
    }
    for words in ["declined", "not done", "Print the order …2222."] {
        assert!(lines[2].contains(words), "{words}: {said}");
    }
    let (code, said) = voiced(&["gate", "log", "--json", "--since", "1h", "--config", &file]);
    let questions: Value = said.parse().expect("it is JSON");
    assert_eq!((code, questions.as_array().map(Vec::len)), (Some(0), Some(2)));
    let (_, said) = voiced(&["gate", "log", "--json", "--since", "2100-01-01", "--config", &file]);
    assert_eq!(said.trim(), "[]");

    // A yes is made of the no.
    fs::write(&path, text.replacen("\"reading\":\"no\"", "\"reading\":\"yes\"", 1)).expect("it is ours");
    let (code, said) = voiced(&["gate", "verify", &log]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("{log}:12: it does not follow the line before it")), "{said}");
    // The power went while the last line was being written.
    fs::write(&path, &text[..text.len() - 20]).expect("it is ours");
    let (code, said) = voiced(&["gate", "verify", &log]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("{log}:12: torn")) && said.contains("11 records"), "{said}");
    let nowhere = PathBuf::from(&log).with_extension("none");
    assert_eq!(voiced(&["gate", "verify", &nowhere.to_string_lossy()]).0, Some(2));
    assert_eq!(voiced(&["gate", "log", "--since", "yesterday"]).0, Some(2));
}
