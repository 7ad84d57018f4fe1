// SPDX-License-Identifier: MIT OR Apache-2.0

//! What running tools have said and nobody has taken yet. Saying it never waits.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use tools::CallNotice;
use tracing::warn;

/// Events that may wait: more than a screen shows between two turns of the driver, which takes them in microseconds. Where
/// they are more, the newest takes the place of the oldest of its name, or is dropped if it is the first of its name: what a
/// screen shows is what was true last. Everything else is bounded by its call ([`tools::SAID_MAX`], one point of no return, one job).
const EVENTS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    waiting: Mutex<VecDeque<CallNotice>>,
    came: Notify,
}

impl Mailbox {
    pub(super) fn put(&self, notice: CallNotice) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = match &notice {
            // What the session says of a call hangs on it.
            CallNotice::EffectBegun { .. } => {
                waiting.push_front(notice);
                None
            }
            CallNotice::BecameJob { .. } | CallNotice::Line { .. } | CallNotice::Note { .. } => {
                waiting.push_back(notice);
                None
            }
            CallNotice::Event { name, .. } => {
                let lost = has_no_room(&waiting).then(|| name.clone());
                let oldest =
                    lost.as_ref().and_then(|name| waiting.iter().position(|other| shows(other, name)));
                if let Some(oldest) = oldest {
                    waiting.remove(oldest);
                }
                if lost.is_none() || oldest.is_some() {
                    waiting.push_back(notice);
                }
                lost
            }
        };
        drop(waiting);
        self.came.notify_one();
        if let Some(event) = lost {
            warn!(event, "tools show more than is taken: one of these events is dropped");
        }
    }

    /// The oldest, as soon as there is one. Safe to drop: nothing is lost.
    pub(super) async fn take(&self) -> CallNotice {
        loop {
            let oldest = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match oldest {
                Some(notice) => return notice,
                None => self.came.notified().await,
            }
        }
    }
}

fn has_no_room(waiting: &VecDeque<CallNotice>) -> bool {
    waiting.iter().filter(|notice| matches!(notice, CallNotice::Event { .. })).count() >= EVENTS_MAX
}

fn shows(notice: &CallNotice, event: &str) -> bool {
    matches!(notice, CallNotice::Event { name, .. } if name == event)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::CallKey;

    use super::*;

    fn event(name: &str, number: u64) -> CallNotice {
        CallNotice::Event { call: CallKey(number), name: name.to_owned(), payload: json!(number) }
    }

    #[tokio::test]
    async fn row_35_where_events_are_too_many_the_oldest_of_the_name_gives_way_and_nobody_waits() {
        let mailbox = Mailbox::default();
        mailbox.put(event("door", 1));
        for number in 0..200 {
            mailbox.put(event("scale", number));
        }
        mailbox.put(event("lamp", 1));
        let note = CallNotice::Note { call: CallKey(1), text: "aisle 3 is closed".to_owned() };
        mailbox.put(note.clone());
        mailbox.put(event("door", 2));
        let begun = CallNotice::EffectBegun { call: CallKey(2) };
        mailbox.put(begun.clone());
        let mut taken = Vec::new();
        while !mailbox.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            taken.push(mailbox.take().await);
        }
        let mut expected = vec![begun];
        expected.extend((137..200).map(|number| event("scale", number)));
        expected.extend([note, event("door", 2)]);
        assert_eq!(taken, expected);
    }
}
