// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use units::Instant;

use super::file::Writer;
use super::*;
use crate::watch::{Moment, Observer};

fn ms(ms: u64) -> Instant {
    Instant::from_boot(Duration::from_millis(ms))
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
fn row_91_a_file_that_cannot_be_written_is_said_before_there_is_a_record() {
    let scratch = Scratch::new("denied");
    fs::write(scratch.0.join("file"), "").unwrap();
    let (mut writer, lost) = writer(scratch.0.join("file/r"), BOUNDS);
    let log = logged(|| {
        writer.open();
        writer.write("lost\n");
    });
    assert_eq!(log.matches("cannot be written").count(), 1, "{log}");
    assert_eq!(lost.load(Ordering::Relaxed), 1);
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
