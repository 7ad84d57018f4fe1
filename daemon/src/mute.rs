// SPDX-License-Identifier: MIT OR Apache-2.0

//! The microphone that is off and stays off: what was asked for is kept across restarts, and a switch of the hardware counts
//! for more than anybody's word.
//!
//! What cannot be known is taken for "off": a file that cannot be read, and a line that cannot be.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use hal::PushButton;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{info, warn};

use crate::file;

/// Name of the file in the state folder.
pub const MUTE_FILE: &str = "microphone";

const OFF: &str = "off\n";
const ON: &str = "on\n";

/// Longer than either word.
const BYTES_MAX: u64 = 16;

/// How often the line is read. A person who turns a switch is heard for that long, and for as long as a reading takes.
const POLL: Duration = Duration::from_millis(20);

/// How long one reading may take.
const READ_LIMIT: Duration = Duration::from_millis(200);

/// Whether the microphone was off when the last daemon of this folder ended. A file that is not there says that it never was;
/// one that cannot be read, or says something else, counts as "off", and is warned of.
#[must_use]
pub fn was_off(folder: &Path) -> bool {
    let path = folder.join(MUTE_FILE);
    let why = match file::read_text(&path, BYTES_MAX) {
        Ok(text) if text == ON => return false,
        Ok(text) if text == OFF => return true,
        Ok(_) => "it says neither \"on\" nor \"off\"".to_owned(),
        // A link that leads nowhere is there.
        Err(cause) if cause.kind() == ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() => {
            return false;
        }
        Err(cause) => cause.to_string(),
    };
    warn!(
        "the microphone is off, as nobody knows whether it was: {}: {why}; switch it on again",
        path.display()
    );
    true
}

/// Keeps what was asked for, on a thread of its own. Of several requests at once the last is kept.
#[derive(Debug)]
pub struct Memory {
    asked: Sender<bool>,
    done: Receiver<()>,
}

impl Memory {
    /// Keeps it in `folder`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let (asked, requests) = channel();
        let (ended, done) = channel();
        let folder = folder.to_owned();
        thread::Builder::new().name("mute".into()).spawn(move || {
            write_all(&folder, &requests);
            // Nobody may be waiting: that is fine.
            let _ = ended.send(());
        })?;
        Ok(Self { asked, done })
    }

    /// Has it on the disk soon that the microphone is off, or on. Never waits.
    pub fn keep(&self, off: bool) {
        // Without its thread, which panicked, the process ends.
        let _ = self.asked.send(off);
    }

    /// Waits until the last request is on the disk, `limit` at most. Blocks.
    pub fn close(self, limit: Duration) {
        drop(self.asked);
        if self.done.recv_timeout(limit).is_err() {
            warn!("whether the microphone is off could not be kept in time");
        }
    }
}

fn write_all(folder: &Path, requests: &Receiver<bool>) {
    let mut failing = false;
    while let Ok(first) = requests.recv() {
        let off = requests.try_iter().last().unwrap_or(first);
        match write(folder, off) {
            Ok(()) => failing = false,
            Err(cause) if !std::mem::replace(&mut failing, true) => warn!(
                "that the microphone is {} cannot be kept in {}: {cause}; make room there, or let this user write there, and \
                 switch it once more: the next start may not know of it",
                if off { "off" } else { "on" },
                folder.display()
            ),
            Err(_) => {}
        }
    }
}

/// Either the old or the new is there, whenever the power goes. Where "off" cannot be written, on a full disk, the file is
/// emptied, which takes no room: that reads as "off" too.
fn write(folder: &Path, off: bool) -> io::Result<()> {
    let path = folder.join(MUTE_FILE);
    let written = replace(folder, &path, off);
    if written.is_err() && off {
        let emptied = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        emptied.sync_all()?;
    }
    written
}

fn replace(folder: &Path, path: &Path, off: bool) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let fresh: PathBuf = folder.join(format!("{MUTE_FILE}.new"));
    // Whatever stands there is not written through.
    match fs::remove_file(&fresh) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(cause),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(if off { OFF } else { ON }.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    File::open(folder)?.sync_all()
}

/// The switch of the hardware that holds the microphone off. Nothing, where there is none.
#[derive(Debug)]
pub struct Line(Option<watch::Receiver<Option<bool>>>);

impl Line {
    /// That of `switch`. On the runtime: a task reads it for as long as this lives.
    #[must_use]
    pub fn of(switch: Option<Arc<PushButton>>) -> Self {
        Self(switch.map(|switch| {
            let (told, levels) = watch::channel(None);
            tokio::spawn(read(switch, told));
            levels
        }))
    }

    /// Whether there is one.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it holds the microphone off, when that is first known, and after each change. Safe to drop.
    pub async fn next(&mut self) -> bool {
        if let Some(levels) = &mut self.0 {
            while levels.changed().await.is_ok() {
                if let Some(off) = *levels.borrow_and_update() {
                    return off;
                }
            }
        }
        std::future::pending().await
    }
}

async fn read(switch: Arc<PushButton>, told: watch::Sender<Option<bool>>) {
    let mut polls = interval(POLL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        tokio::select! {
            biased;
            () = told.closed() => return,
            _ = polls.tick() => {}
        }
        let off = match switch.is_down(Instant::now() + READ_LIMIT).await {
            Ok(off) => {
                if std::mem::take(&mut failing) {
                    info!("the switch of the microphone can be read again");
                }
                off
            }
            Err(fault) => {
                if !std::mem::replace(&mut failing, true) {
                    warn!("the microphone is off, as its switch cannot be read: {fault}");
                }
                true
            }
        };
        told.send_if_modified(|level| level.replace(off) != Some(off));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use futures_util::FutureExt as _;
    use hal::{ErrorKind as Fault, Lane, sim};
    use tokio::time::sleep;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("voiced-mute-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn b70_what_was_asked_for_last_is_there_after_a_restart() {
        let folder = Folder::new("kept");
        assert!(!was_off(&folder.0), "it never was");
        for requests in [&[true][..], &[false], &[true, false, true], &[true, false]] {
            let memory = Memory::start(&folder.0).unwrap();
            requests.iter().for_each(|off| memory.keep(*off));
            memory.close(Duration::from_secs(10));
            assert_eq!(was_off(&folder.0), *requests.last().unwrap(), "{requests:?}");
        }
        assert!(!folder.0.join("microphone.new").exists());
    }

    #[test]
    fn b70_what_cannot_be_read_means_off() {
        let folder = Folder::new("odd");
        fs::create_dir_all(&folder.0).unwrap();
        let path = folder.0.join(MUTE_FILE);
        for odd in ["", "of", "on", "off", "\u{fffd}", "on\non\n", &"x".repeat(100)] {
            fs::write(&path, odd).unwrap();
            assert!(was_off(&folder.0), "{odd:?}");
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(was_off(&folder.0), "a link that leads nowhere");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(was_off(&folder.0), "a folder in its place");
    }

    #[test]
    fn b70_what_stands_in_the_way_is_not_written_through_and_off_is_kept_without_the_new_file() {
        let folder = Folder::new("way");
        fs::create_dir_all(&folder.0).unwrap();
        let (fresh, other) = (folder.0.join("microphone.new"), folder.0.join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &fresh).unwrap();
        write(&folder.0, true).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        assert!(was_off(&folder.0));

        // The new file cannot be made, as on a full disk.
        write(&folder.0, false).unwrap();
        fs::create_dir(&fresh).unwrap();
        assert!(write(&folder.0, false).is_err());
        assert!(!was_off(&folder.0));
        assert!(write(&folder.0, true).is_err());
        assert!(was_off(&folder.0));
    }

    #[tokio::test(start_paused = true)]
    async fn b70_a_line_is_told_where_it_stands_and_one_that_cannot_be_read_holds_it_off() {
        assert!(!Line::of(None).is_there());
        let (switch, finger) = sim::button(&Lane::inline("mute"));
        finger.hold(true);
        let mut line = Line::of(Some(Arc::new(switch)));
        assert!(line.next().await, "unlike a button it holds when it was down before");
        finger.hold(false);
        assert!(!line.next().await);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(line.next().now_or_never(), None);
        finger.fail(Fault::Unplugged);
        assert!(line.next().await);
        finger.heal();
        assert!(!line.next().await);
    }
}
