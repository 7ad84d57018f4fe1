// SPDX-License-Identifier: MIT OR Apache-2.0

//! A button that the kernel knows as a key of an input device: a GPIO key, a foot switch, a key of a keypad.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind as IoKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::OFlags;

use crate::board::Button;
use crate::error::{ErrorKind, HalError};

/// Bytes of the time at the head of an event: two C `long`s, which are as wide as an address on Linux.
const TIME_BYTES: usize = 2 * size_of::<usize>();

/// Bytes of one `struct input_event` (linux/input.h): time, type, code, value.
const EVENT_BYTES: usize = TIME_BYTES + 8;

/// Events that are read at once: the kernel keeps 64 for each reader of a device that says nothing else.
const EVENTS: usize = 64;

/// Reads at one call at most, so that a device that talks without end does not keep its lane.
const READS_MAX: usize = 16;

/// Types of events, and the code of the one that says that some were lost (linux/input-event-codes.h).
const EV_SYN: u16 = 0;
const EV_KEY: u16 = 1;
const SYN_DROPPED: u16 = 3;

/// Values of a key event. A third, 2, is a key that repeats: it says nothing new.
const RELEASED: i32 = 0;
const PRESSED: i32 = 1;

/// One key of `/dev/input/event*`. Only a press that begins while the device is open counts: one that is held when it is
/// opened is up until it is pressed anew.
#[derive(Debug)]
pub struct EvdevButton {
    path: PathBuf,
    key: u16,
    device: Option<File>,
    down: bool,
}

impl EvdevButton {
    /// The key of this code (`KEY_…` of linux/input-event-codes.h; 28 is Enter) of the device at `path`. Nothing is opened
    /// before it is read, and a device that went away is looked for again.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, key: u16) -> Self {
        Self { path: path.into(), key, device: None, down: false }
    }

    fn open(&mut self) -> Result<File, HalError> {
        self.down = false;
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags);
        options.open(&self.path).map_err(|cause| {
            let is_denied = cause.kind() == IoKind::PermissionDenied;
            let kind = if is_denied { ErrorKind::Denied } else { ErrorKind::Unplugged };
            HalError::new(kind, &format!("{}: {cause}", self.path.display()))
        })
    }

    fn take(&mut self, event: &[u8]) {
        let Some(&[t0, t1, c0, c1, v0, v1, v2, v3]) = event.get(TIME_BYTES..) else { return };
        let kind = u16::from_ne_bytes([t0, t1]);
        let code = u16::from_ne_bytes([c0, c1]);
        match (kind, i32::from_ne_bytes([v0, v1, v2, v3])) {
            (EV_KEY, PRESSED) if code == self.key => self.down = true,
            (EV_KEY, RELEASED) if code == self.key => self.down = false,
            // Its release may be among what was lost.
            (EV_SYN, _) if code == SYN_DROPPED => self.down = false,
            _ => {}
        }
    }
}

impl Button for EvdevButton {
    fn is_down(&mut self) -> Result<bool, HalError> {
        let mut device = match self.device.take() {
            Some(device) => device,
            None => self.open()?,
        };
        let mut events = [0; EVENT_BYTES * EVENTS];
        for _ in 0..READS_MAX {
            match device.read(&mut events) {
                // The kernel hands out whole events.
                Ok(read) if read > 0 => {
                    events[..read].chunks_exact(EVENT_BYTES).for_each(|event| self.take(event));
                }
                Ok(_) => return Err(self.gone("it ended")),
                Err(cause) if cause.kind() == IoKind::WouldBlock => break,
                Err(cause) if cause.kind() == IoKind::Interrupted => {}
                Err(cause) => return Err(self.gone(&cause.to_string())),
            }
        }
        self.device = Some(device);
        Ok(self.down)
    }
}

impl EvdevButton {
    fn gone(&self, cause: &str) -> HalError {
        HalError::new(ErrorKind::Unplugged, &format!("{}: {cause}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

    use std::io::Write;

    use super::*;

    const ENTER: u16 = 28;

    fn event(kind: u16, code: u16, value: i32) -> Vec<u8> {
        let mut bytes = vec![7; TIME_BYTES];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(code.to_ne_bytes());
        bytes.extend(value.to_ne_bytes());
        bytes
    }

    /// A pipe in the place of a device: it gives what was written and has nothing more until then.
    struct Pipe(PathBuf, File);

    impl Pipe {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hal-evdev-{name}-{}", std::process::id()));
            let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
            assert!(made.success());
            let both = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            Self(path, both)
        }

        fn write(&mut self, events: &[Vec<u8>]) {
            self.1.write_all(&events.concat()).unwrap();
        }
    }

    impl Drop for Pipe {
        fn drop(&mut self) {
            std::fs::remove_file(&self.0).unwrap();
        }
    }

    #[test]
    fn a_key_is_down_from_its_press_to_its_release_and_others_say_nothing() {
        let mut pipe = Pipe::new("key");
        let mut button = EvdevButton::new(&pipe.0, ENTER);
        assert!(!button.is_down().unwrap());
        pipe.write(&[event(EV_KEY, 30, PRESSED), event(4, ENTER, PRESSED), event(EV_SYN, 0, 0)]);
        assert!(!button.is_down().unwrap(), "another key, another type");
        pipe.write(&[event(EV_KEY, ENTER, PRESSED), event(EV_SYN, 0, 0)]);
        assert!(button.is_down().unwrap());
        assert!(button.is_down().unwrap(), "nothing has happened since");
        pipe.write(&[event(EV_KEY, 30, RELEASED), event(EV_KEY, ENTER, 2)]);
        assert!(button.is_down().unwrap());
        pipe.write(&[event(EV_KEY, ENTER, RELEASED)]);
        assert!(!button.is_down().unwrap());
    }

    #[test]
    fn g41_a_key_that_was_held_before_and_one_whose_events_were_lost_are_up() {
        let mut pipe = Pipe::new("held");
        let mut button = EvdevButton::new(&pipe.0, ENTER);
        pipe.write(&[event(EV_KEY, ENTER, 2), event(EV_KEY, ENTER, 2)]);
        assert!(!button.is_down().unwrap(), "it only repeats");
        pipe.write(&[event(EV_KEY, ENTER, PRESSED), event(EV_SYN, SYN_DROPPED, 0)]);
        assert!(!button.is_down().unwrap());
        pipe.write(&[event(EV_KEY, ENTER, 2)]);
        assert!(!button.is_down().unwrap());
    }

    #[test]
    fn a_device_that_is_not_there_or_ends_is_looked_for_again() {
        let path = std::env::temp_dir().join(format!("hal-evdev-gone-{}", std::process::id()));
        let mut button = EvdevButton::new(&path, ENTER);
        assert_eq!(button.is_down().unwrap_err().kind, ErrorKind::Unplugged);
        std::fs::write(&path, event(EV_KEY, ENTER, PRESSED)).unwrap();
        assert_eq!(button.is_down().unwrap_err().kind, ErrorKind::Unplugged, "a file has an end");
        std::fs::remove_file(&path).unwrap();
        let mut pipe = Pipe::new("back");
        button.path.clone_from(&pipe.0);
        assert!(!button.is_down().unwrap(), "what was pressed before it went is not pressed now");
        pipe.write(&[event(EV_KEY, ENTER, PRESSED)]);
        assert!(button.is_down().unwrap());
    }
}
