// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::fs;

use super::chain::FIRST;
use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("voiced-gate-log-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> PathBuf {
        path_in(&self.0)
    }

    fn contents(&self) -> Vec<Vec<u8>> {
        files(&self.path()).iter().map(|path| fs::read(path).unwrap()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn event(name: &'static str, number: u64) -> Event {
    Event { name, fields: Map::from_iter([("number".to_owned(), number.into())]) }
}

fn writer(scratch: &Scratch, bytes_max: u64, keep: u32) -> Writer {
    Writer::new(scratch.path(), Bounds { bytes_max, keep }, "boot", "run", Arc::default())
}

fn written(scratch: &Scratch, count: u64) {
    let mut writer = writer(scratch, 1_000_000, 3);
    writer.begin();
    for number in 0..count {
        assert!(writer.write(number, &event("test", number)));
    }
}

#[test]
fn the_chain_goes_on_over_restarts_and_files() {
    let scratch = Scratch::new("files");
    for _ in 0..5 {
        let mut writer = writer(&scratch, 2_000, 100);
        writer.begin();
        for number in 0..20 {
            assert!(writer.write(number, &event("test", number)));
        }
    }
    let contents = scratch.contents();
    assert!(contents.len() > 5, "{} files", contents.len());
    assert!(contents.iter().all(|bytes| bytes.len() <= 2_000));
    let verdict = verify(&contents);
    assert_eq!((verdict.breaks, verdict.torn, verdict.is_continued), (Vec::new(), Vec::new(), false));
    let numbers: Vec<u64> = verdict.records.iter().map(|record| record.seq).collect();
    assert_eq!(numbers, (1..=105).collect::<Vec<u64>>());
    let second: Record = Record::parse(contents[1].split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let last = contents[0].strip_suffix(b"\n").unwrap().rsplit(|byte| *byte == b'\n').next().unwrap();
    assert_eq!(
        second.fields["prev"],
        chain::hash(last),
        "a file begins with the last hash of the one before"
    );

    // It was put aside, and the daemon ended before the next was begun.
    fs::rename(scratch.path(), scratch.0.join("gate.log.0")).unwrap();
    for n in (0..contents.len()).rev() {
        let name = |n: usize| scratch.0.join(format!("gate.log.{n}"));
        fs::rename(name(n), name(n + 1)).unwrap();
    }
    written(&scratch, 1);
    let verdict = verify(&scratch.contents());
    assert_eq!((verdict.breaks, verdict.records.len()), (Vec::new(), 107));
    // The oldest are removed by and by.
    fs::remove_file(files(&scratch.path()).remove(0)).unwrap();
    let verdict = verify(&scratch.contents());
    assert!(verdict.breaks.is_empty() && verdict.is_continued);
}

#[test]
fn files_are_kept_as_far_as_they_may_be() {
    let scratch = Scratch::new("keep");
    let mut writer = writer(&scratch, 1_000, 2);
    for number in 0..50 {
        assert!(writer.write(number, &event("test", number)));
    }
    assert_eq!(files(&scratch.path()).len(), 3);
    let verdict = verify(&scratch.contents());
    assert!(verdict.breaks.is_empty() && verdict.is_continued);
    assert_eq!(verdict.records.last().unwrap().seq, 51);
}

#[test]
fn a_record_that_was_changed_added_or_removed_shows() {
    let scratch = Scratch::new("breaks");
    written(&scratch, 9);
    let text = fs::read_to_string(scratch.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let judged = |lines: &[&str]| {
        let verdict = verify(&[(lines.join("\n") + "\n").into_bytes()]);
        verdict.breaks.into_iter().map(|broken| broken.line).collect::<Vec<usize>>()
    };
    assert_eq!(judged(&lines), Vec::<usize>::new());
    // The last one has nobody behind it.
    for n in 0..lines.len() - 1 {
        let mut changed = lines.clone();
        let other = lines[n].replace("\"event\":\"", "\"event\":\"x");
        changed[n] = &other;
        assert_eq!(judged(&changed), [n + 2], "changed {n}");
        let mut garbled = lines.clone();
        garbled[n] = "{}";
        assert_eq!(judged(&garbled), [n + 1], "garbled {n}");
        let mut added = lines.clone();
        added.insert(n + 1, lines[n]);
        assert!(!judged(&added).is_empty(), "added {n}");
        let mut swapped = lines.clone();
        swapped.swap(n, n + 1);
        assert!(!judged(&swapped).is_empty(), "swapped {n}");
        if n > 0 {
            let mut removed = lines.clone();
            removed.remove(n);
            assert_eq!(judged(&removed), [n + 1], "removed {n}");
        }
    }
    // Before the next run begins, a line may be torn: but not one that this run did not find torn.
    written(&scratch, 1);
    let again = fs::read_to_string(scratch.path()).unwrap();
    let mut garbled: Vec<&str> = again.lines().collect();
    garbled[lines.len() - 1] = "{}";
    assert_eq!(judged(&garbled), [lines.len()]);
    let verdict = verify(&[lines[3..].join("\n").into_bytes()]);
    assert!(verdict.is_continued && verdict.breaks.is_empty(), "nothing is known of what is before");
}

#[test]
fn a_line_that_was_torn_by_a_power_cut_is_told_from_one_that_was_changed() {
    let scratch = Scratch::new("torn");
    written(&scratch, 3);
    let text = fs::read(scratch.path()).unwrap();
    let last = text.len() - 1 - text[..text.len() - 1].iter().rev().position(|byte| *byte == b'\n').unwrap();
    for length in last..text.len() {
        fs::write(scratch.path(), &text[..length]).unwrap();
        let before = verify(&scratch.contents());
        let is_torn = length > last && length < text.len() - 1;
        assert_eq!(before.breaks, []);
        assert_eq!(before.torn.len(), usize::from(is_torn), "{length}");
        written(&scratch, 2);
        let after = verify(&scratch.contents());
        assert_eq!(after.breaks, [], "{length}");
        assert_eq!(after.torn.len(), usize::from(is_torn), "{length}");
        let opened = after.records.iter().rfind(|record| record.event == "log.opened").unwrap();
        assert_eq!(opened.fields.contains_key("torn"), length > last && length < text.len(), "{length}");
    }
}

#[test]
fn what_the_disk_does_not_take_is_counted_and_the_count_is_the_next_record() {
    let scratch = Scratch::new("lost");
    // A folder in its place: also root cannot write that.
    fs::create_dir(scratch.path()).unwrap();
    let lost = Arc::new(AtomicU64::new(2));
    let bounds = Bounds { bytes_max: 1_000_000, keep: 1 };
    let mut writer = Writer::new(scratch.path(), bounds, "boot", "run", Arc::clone(&lost));
    writer.begin();
    assert!(!writer.write(0, &event("test", 0)));
    fs::remove_dir(scratch.path()).unwrap();
    assert!(writer.write(0, &event("test", 1)));
    let verdict = verify(&scratch.contents());
    let seen: Vec<&str> = verdict.records.iter().map(|record| record.event.as_str()).collect();
    assert_eq!(seen, ["log.opened", "log.lost", "test"]);
    assert_eq!(verdict.records[1].fields["count"], 3);
    assert_eq!(verdict.records[0].fields["prev"], FIRST);
}

#[test]
fn what_is_written_once_is_written_once_whoever_is_killed_between() {
    let scratch = Scratch::new("once");
    let call = |key: &str| Entry {
        state: crate::journal::State::Begun,
        at_ms: 0,
        key: key.to_owned(),
        tool: "send_text".to_owned(),
        run: "before".to_owned(),
    };
    for _ in 0..3 {
        let mut writer = writer(&scratch, 1_000, 5);
        writer.begin();
        assert!(writer.write_once(0, &unfinished(&call("AAAAAAAABBBB"))));
        assert!(writer.write_once(0, &unfinished(&call("CCCCCCCCDDDD"))));
    }
    let verdict = verify(&scratch.contents());
    assert_eq!(verdict.records.iter().filter(|record| record.event == UNFINISHED).count(), 2);
    assert_eq!(verdict.breaks, []);
    let mut second = writer(&scratch, 1_000, 5);
    second.begin();
    let mut third = writer(&scratch, 1_000, 5);
    assert!(!third.write(0, &event("test", 0)), "another daemon writes it");
}
