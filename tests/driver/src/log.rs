// SPDX-License-Identifier: MIT OR Apache-2.0

//! Everything that was seen, kept in order.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use session::{ClientEvent, Notice};
use units::{CallKey, Instant};

#[derive(Default)]
pub(crate) struct Log {
    pub(crate) notices: Vec<(Duration, Notice)>,
    pub(crate) events: Vec<ClientEvent>,
    pub(crate) wire: Vec<Value>,
    /// What the model was told since it last did something.
    pub(crate) context: Vec<Value>,
    pub(crate) uplink: Vec<(Duration, bool)>,
    /// Calls that acted on the world, by the start of the daemon and their key in it, and whose they were.
    pub(crate) effects: BTreeMap<(u32, CallKey), String>,
    /// What the provider does not take.
    pub(crate) faults: Vec<String>,
    pub(crate) ended: Option<&'static str>,
}

impl Log {
    pub(crate) fn notice(&mut self, now: Instant, notice: Notice) {
        self.notices.push((now.since_boot(), notice));
    }

    pub(crate) fn uplink(&mut self, now: Instant, open: bool) {
        self.uplink.push((now.since_boot(), open));
    }

    /// Once for each call, whatever tells of it.
    pub(crate) fn effect(&mut self, call: (u32, CallKey), name: &str) {
        self.effects.entry(call).or_insert_with(|| name.to_owned());
    }
}

/// Where the timeline is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages(Arc<Mutex<Vec<u8>>>);

impl Pages {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl io::Write for Pages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
