// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::disk::{Disk, FileDisk};
use super::format::SLOT_BYTES;
use super::store::{SLOTS_MAX, Store};
use super::*;

fn entry(key: &str, state: State) -> Entry {
    Entry {
        state,
        at_ms: 1_796_074_236_250,
        key: key.to_owned(),
        tool: "send_text".into(),
        run: "run".into(),
    }
}

/// A call that ended, one that is under way, one that is to run, and one that began before them all.
fn story() -> (Vec<Entry>, Vec<u8>) {
    let entries = vec![
        entry("FIRST", State::Begun),
        entry("ENDED", State::Intended),
        entry("ENDED", State::Begun),
        entry("ENDED", State::Done),
        entry("BEGUN", State::Intended),
        entry("BEGUN", State::Begun),
        entry("MEANT", State::Intended),
    ];
    let bytes = entries.iter().flat_map(Entry::encode).collect();
    (entries, bytes)
}

/// What the entries say, without the ones that are left out.
fn latest(entries: &[Entry], left_out: Option<usize>) -> Vec<Entry> {
    let mut latest: Vec<Entry> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if Some(place) == left_out {
            for call in latest.iter_mut().filter(|call| call.state == State::Intended) {
                call.state = State::Begun;
            }
            continue;
        }
        match latest.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => *known = entry.clone(),
            None => latest.push(entry.clone()),
        }
    }
    latest
}

#[test]
fn what_was_written_is_read() {
    let (entries, bytes) = story();
    let contents = read(&bytes);
    assert_eq!(contents.calls, latest(&entries, None));
    assert!(contents.damaged.is_empty() && contents.torn_bytes == 0);
    let long = Entry {
        key: "K".repeat(300),
        tool: "ü".repeat(300),
        run: "r".repeat(300),
        ..entry("", State::Unknown)
    };
    let [call] = &read(&long.encode()).calls[..] else { panic!("one call") };
    assert_eq!((call.key.len(), call.tool.len(), call.run.len()), (64, 120, 40));
    for state in [State::Failed, State::Cancelled, State::Unknown, State::Told] {
        assert_eq!(read(&entry("K", state).encode()).calls, [entry("K", state)]);
    }
}

#[test]
fn cut_off_at_any_byte_all_whole_records_before_it_count() {
    let (entries, bytes) = story();
    for length in 0..=bytes.len() {
        let contents = read(&bytes[..length]);
        assert_eq!(contents.calls, latest(&entries[..length / SLOT_BYTES], None), "{length}");
        assert_eq!((contents.torn_bytes, contents.damaged.len()), (length % SLOT_BYTES, 0), "{length}");
    }
}

#[test]
fn a_damaged_byte_costs_its_record_and_what_may_have_begun_counts_as_begun() {
    let (entries, bytes) = story();
    for place in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[place] ^= flip;
            let contents = read(&bytes);
            let slot = place / SLOT_BYTES;
            assert_eq!(contents.damaged, [slot], "byte {place}");
            assert_eq!(contents.calls, latest(&entries, Some(slot)), "byte {place}");
        }
    }
}

#[test]
fn a_bad_sector_costs_the_records_in_it() {
    let (entries, mut bytes) = story();
    bytes[SLOT_BYTES * 2..SLOT_BYTES * 4].fill(0);
    let contents = read(&bytes);
    assert_eq!(contents.damaged, [2, 3]);
    let ended = contents.calls.iter().find(|call| call.key == "ENDED").unwrap();
    assert_eq!(ended.state, State::Begun, "that it was intended is known, and no more");
    assert_eq!(contents.calls.len(), 4);
    assert_eq!(contents.calls[2..], latest(&entries, None)[2..]);
}

/// A disk in memory that does what the test says. Clones are one.
#[derive(Clone, Default)]
struct Bench(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    bytes: Vec<u8>,
    /// Bytes that fit; `None` is no end.
    room: Option<usize>,
    replaced: u32,
    /// Appending writes all, and says that it may not be on the disk.
    is_unsure: bool,
    /// Appending waits for this one.
    stuck: Option<std::sync::mpsc::Receiver<()>>,
}

impl Bench {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }

    fn states(&self, key: &str) -> Option<State> {
        read(&self.bytes()).calls.into_iter().find(|call| call.key == key).map(|call| call.state)
    }
}

impl Disk for Bench {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.bytes())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stuck = self.0.lock().unwrap().stuck.take();
        if let Some(stuck) = stuck {
            // Goes on when the test lets go of it.
            let _ = stuck.recv();
        }
        let mut inside = self.0.lock().unwrap();
        let room = inside.room.map_or(bytes.len(), |room| room.saturating_sub(inside.bytes.len()));
        inside.bytes.extend(&bytes[..room.min(bytes.len())]);
        if room < bytes.len() || inside.is_unsure { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut inside = self.0.lock().unwrap();
        if inside.room.is_some_and(|room| room < bytes.len()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        inside.bytes = bytes.to_vec();
        inside.replaced += 1;
        Ok(())
    }
}

fn kept() -> (Report, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    (
        Box::new(move |call| {
            log.lock().unwrap().push(call.key.clone());
            true
        }),
        told,
    )
}

fn start(bench: &Bench) -> (Journal, Arc<Mutex<Vec<String>>>) {
    let (report, told) = kept();
    let journal = Journal::on_disk("test".into(), Box::new(bench.clone()), "run", report).unwrap();
    (journal, told)
}

/// What the model is told of before the restart; nothing of it is left to come when the journal has answered once.
async fn noted(journal: &Journal) -> Option<String> {
    journal.flush(Duration::from_secs(5)).await;
    tokio::select! {
        biased;
        note = journal.note() => Some(note),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test]
async fn g45_what_had_begun_is_told_to_the_owner_and_the_model_once_and_done_by_nobody() {
    let bench = Bench::default();
    let (journal, _) = start(&bench);
    journal.intend("K1", "send_text").await.unwrap();
    journal.begin("K1", "send_text").await.unwrap();
    // The power goes.
    drop(journal);

    // Again and again, until the model has been told.
    for restart in 0..3 {
        let (journal, told) = start(&bench);
        let note = noted(&journal).await.unwrap();
        assert_eq!(
            note,
            "[Before the restart, send_text was started; whether it finished is not known. Do not repeat it unless the \
             person asks.]"
        );
        assert_eq!(noted(&journal).await, None, "one note");
        let expected: &[String] = if restart == 0 { &["K1".to_owned()] } else { &[] };
        assert_eq!(*told.lock().unwrap(), expected, "the owner is told at the first restart");
        assert_eq!(bench.states("K1"), Some(State::Unknown));
        if restart == 2 {
            journal.on_sent(&Intent::Note("something else".to_owned()));
            journal.on_sent(&Intent::Ask(format!("A parcel came.\n{note}")));
            journal.flush(Duration::from_secs(5)).await;
        }
    }
    let (journal, told) = start(&bench);
    assert_eq!(noted(&journal).await, None);
    assert!(told.lock().unwrap().is_empty() && bench.bytes().is_empty(), "it is over");
}

#[tokio::test]
async fn g45_the_owner_is_told_until_that_is_kept() {
    let bench = Bench::default();
    bench.0.lock().unwrap().bytes =
        [entry("K1", State::Begun), entry("K2", State::Begun)].iter().flat_map(Entry::encode).collect();
    let journal =
        Journal::on_disk("test".into(), Box::new(bench.clone()), "run", Box::new(|_| false)).unwrap();
    let note = noted(&journal).await.unwrap();
    assert!(note.starts_with("[Before the restart, these were started: send_text; "), "{note}");
    drop(journal);
    let (journal, told) = start(&bench);
    noted(&journal).await.unwrap();
    assert_eq!(*told.lock().unwrap(), ["K1", "K2"]);
}

#[tokio::test]
async fn g46_what_was_only_intended_has_not_happened_and_is_forgotten() {
    let bench = Bench::default();
    let (journal, _) = start(&bench);
    journal.intend("K1", "send_text").await.unwrap();
    assert_eq!(bench.states("K1"), Some(State::Intended), "it is on the disk before the call goes on");
    drop(journal);
    // The record that it begins was being written when the power went.
    bench.0.lock().unwrap().bytes.extend(&entry("K1", State::Begun).encode()[..SLOT_BYTES - 1]);
    let (journal, told) = start(&bench);
    assert_eq!(noted(&journal).await, None);
    assert!(told.lock().unwrap().is_empty() && bench.bytes().is_empty());
}

#[tokio::test]
async fn a_full_disk_refuses_and_leaves_no_record_of_what_was_not_done() {
    for room in 0..SLOT_BYTES * 2 {
        let bench = Bench::default();
        let (journal, _) = start(&bench);
        journal.flush(Duration::from_secs(5)).await;
        bench.0.lock().unwrap().room = Some(room);
        let intended = journal.intend("K1", "send_text").await;
        let begun = journal.begin("K1", "send_text").await;
        assert_eq!(intended.is_ok(), room >= SLOT_BYTES, "{room}");
        let fault = begun.unwrap_err();
        assert_eq!(
            crate::fault::chain(&fault),
            "test: cannot be written; free some space there: no storage space"
        );
        assert_ne!(bench.states("K1"), Some(State::Begun), "{room}");
        bench.0.lock().unwrap().room = None;
        journal.end("K1", "send_text", State::Cancelled);
        journal.intend("K2", "send_text").await.unwrap();
        journal.begin("K2", "send_text").await.unwrap();
        let contents = read(&bench.bytes());
        assert_eq!((contents.damaged.len(), contents.torn_bytes), (0, 0), "{room}: what was torn is gone");
        assert_eq!(bench.states("K2"), Some(State::Begun));
    }
}

#[tokio::test]
async fn a_record_that_may_not_be_on_the_disk_is_taken_back_at_once() {
    let bench = Bench::default();
    let (journal, _) = start(&bench);
    journal.intend("K1", "send_text").await.unwrap();
    bench.0.lock().unwrap().is_unsure = true;
    assert!(journal.begin("K1", "send_text").await.is_err());
    journal.flush(Duration::from_secs(5)).await;
    assert_eq!(bench.states("K1"), Some(State::Intended), "the power may go before anything else is written");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_hangs_is_waited_for_no_longer_than_its_time() {
    let bench = Bench::default();
    let (journal, _) = start(&bench);
    let (go_on, stuck) = std::sync::mpsc::channel();
    bench.0.lock().unwrap().stuck = Some(stuck);
    let before = tokio::time::Instant::now();
    let fault = journal.begin("K1", "send_text").await.unwrap_err();
    assert_eq!(before.elapsed(), WRITE_LIMIT);
    assert!(matches!(fault, JournalError::Slow { .. }), "{fault}");
    // Its caller gives up. What comes to be written late is taken back behind it.
    journal.end("K1", "send_text", State::Cancelled);
    drop(go_on);
    drop(journal);
    // The thread ends when it has written all.
    while bench.states("K1") != Some(State::Cancelled) {
        std::thread::yield_now();
    }
}

#[test]
fn the_file_is_written_anew_when_it_has_grown_and_keeps_what_is_not_over() {
    let bench = Bench::default();
    let mut disk = bench.clone();
    let (mut store, _) = Store::open(&mut disk, "test").unwrap();
    store.put(&mut disk, entry("OPEN", State::Begun)).unwrap();
    for n in 0..SLOTS_MAX * 3 {
        for state in [State::Intended, State::Begun, State::Done] {
            store.put(&mut disk, entry(&format!("K{n}"), state)).unwrap();
        }
        assert!(bench.bytes().len() <= SLOTS_MAX * SLOT_BYTES);
    }
    assert_eq!(bench.states("OPEN"), Some(State::Begun));
    assert!((9..=12).contains(&bench.0.lock().unwrap().replaced), "it is not written anew each time");
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("voiced-journal-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn the_file_is_the_owners_alone_and_one_daemon_writes_it() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("file");
    let mut disk = FileDisk::new(&scratch.0);
    let (mut store, _) = Store::open(&mut disk, "test").unwrap();
    store.put(&mut disk, entry("K1", State::Begun)).unwrap();
    let path = scratch.0.join(JOURNAL_FILE);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&scratch.0).unwrap().permissions().mode() & 0o777, 0o700);
    let fault = Store::open(&mut FileDisk::new(&scratch.0), "test").unwrap_err();
    assert!(fault.to_string().contains("another daemon"), "{fault}");
    drop(disk);
    let (_, left) = Store::open(&mut FileDisk::new(&scratch.0), "test").unwrap();
    assert_eq!(left.begun, [entry("K1", State::Begun)]);
    // A whole disk that takes nothing: what Linux gives to try that with.
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let full = FileDisk::new(&scratch.0).append(&entry("K1", State::Begun).encode()).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    // One that takes all and keeps nothing: it does not say that it is on the disk.
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let unkept = FileDisk::new(&scratch.0).append(&entry("K1", State::Begun).encode());
    assert!(unkept.is_err(), "the disk is asked whether it has it");
}
