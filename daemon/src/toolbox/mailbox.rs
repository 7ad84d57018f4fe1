//! What running tools have said and nobody has taken yet. Saying it never waits.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use tools::CallNotice;
use tracing::warn;

/// What may wait, beside one point of no return for each call. Where it is full, the newest of a kind takes the place of
/// its oldest: what a screen shows is what was true last.
const WAITING_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    waiting: Mutex<VecDeque<CallNotice>>,
    came: Notify,
}

impl Mailbox {
    pub(super) fn put(&self, notice: CallNotice) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_needed = matches!(notice, CallNotice::EffectBegun { .. });
        let lost = if waiting.len() < WAITING_MAX || is_needed {
            None
        } else {
            match waiting.iter().position(|other| are_alike(other, &notice)) {
                Some(oldest) => waiting.remove(oldest),
                None => {
                    warn!(lost = what(&notice), "tools say more than is taken: the newest is dropped");
                    return;
                }
            }
        };
        waiting.push_back(notice);
        drop(waiting);
        if let Some(lost) = lost {
            warn!(lost = what(&lost), "tools say more than is taken: the oldest of its kind is dropped");
        }
        self.came.notify_one();
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

/// Whether one takes the place of the other: that of two events of one name, of two lines, of two notes.
fn are_alike(one: &CallNotice, other: &CallNotice) -> bool {
    match (one, other) {
        (CallNotice::Event { name: one, .. }, CallNotice::Event { name: other, .. }) => one == other,
        (CallNotice::Line { .. }, CallNotice::Line { .. })
        | (CallNotice::Note { .. }, CallNotice::Note { .. }) => true,
        (
            CallNotice::EffectBegun { .. }
            | CallNotice::Event { .. }
            | CallNotice::Line { .. }
            | CallNotice::Note { .. },
            _,
        ) => false,
    }
}

/// What is lost, for the log: no words, which may be personal.
fn what(notice: &CallNotice) -> &str {
    match notice {
        CallNotice::EffectBegun { .. } => "the point of no return",
        CallNotice::Event { name, .. } => name,
        CallNotice::Line { .. } => "a line",
        CallNotice::Note { .. } => "a note",
    }
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
    async fn row_35_a_full_room_gives_up_the_oldest_of_the_kind_and_waits_for_nobody() {
        let mailbox = Mailbox::default();
        mailbox.put(event("door", 1));
        for number in 0..200 {
            mailbox.put(event("scale", number));
        }
        mailbox.put(CallNotice::Line { call: CallKey(1), text: "Nobody like me waits.".to_owned() });
        mailbox.put(event("door", 2));
        mailbox.put(CallNotice::EffectBegun { call: CallKey(2) });
        let mut taken = Vec::new();
        while !mailbox.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            taken.push(mailbox.take().await);
        }
        let mut expected: Vec<CallNotice> = (137..200).map(|number| event("scale", number)).collect();
        expected.push(event("door", 2));
        expected.push(CallNotice::EffectBegun { call: CallKey(2) });
        assert_eq!(taken, expected);
    }
}
