// SPDX-License-Identifier: MIT OR Apache-2.0

//! What waits to be sent, and the handle that puts it there.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use session::{Intent, LinkFailure};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::close;

/// Frames in one microphone chunk: 20 ms at 16 kHz, the smallest message Google recommends.
pub(super) const CHUNK_FRAMES: usize = 320;

/// Microphone audio that may wait: 4 s. It takes the longest preroll (3 s) in one go and a second of a stalled network
/// on top; older audio is worth less than none.
pub(super) const MIC_CHUNKS: usize = 200;

/// Intents that may wait. A turn makes a handful, so this many mean that the peer takes nothing any more.
pub(super) const INTENTS: usize = 256;

/// What a connection has moved so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes written to the stream, all layers above it included.
    pub sent_bytes: u64,
    /// Bytes read from it.
    pub received_bytes: u64,
    /// Messages of the provider's protocol sent, set-up included.
    pub sent_messages: u64,
    /// Messages of the provider's protocol received.
    pub received_messages: u64,
    /// Microphone chunks of 20 ms sent.
    pub mic_sent: u64,
    /// Microphone chunks dropped, because the peer took none or the link was ending.
    pub mic_dropped: u64,
}

/// Our end of a connection. Dropping it closes the connection as [`LinkHandle::close`] does.
pub struct LinkHandle {
    shared: Arc<Shared>,
}

impl LinkHandle {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Queues `intent`. It is sent in order with everything else, once the connection is set up. Never dropped: if the
    /// peer takes none for so long that 256 wait, the link ends as a transient failure. Without effect once the link is
    /// ending.
    pub fn send(&self, intent: Intent) {
        self.shared.push_intent(intent);
    }

    /// Queues 20 ms of microphone audio, mono, 16 kHz. When 4 s wait, the oldest chunk is dropped and counted. Without
    /// effect, but counted, once the link is ending.
    pub fn mic(&self, chunk: &[i16; CHUNK_FRAMES]) {
        self.shared.push_mic(*chunk);
    }

    /// Ends the link: sends the intents that wait, then close code 1000, and waits at most a second for the peer.
    /// [`super::LinkEvent::Closed`] follows, and before it no other event than [`super::LinkEvent::Delivered`].
    pub fn close(&self) {
        self.shared.end(Ending::Requested);
    }

    /// What has been moved so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.lock().counters
    }
}

impl fmt::Debug for LinkHandle {
    /// Counters only: what waits may be a person's voice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LinkHandle").field(&self.counters()).finish()
    }
}

impl Drop for LinkHandle {
    fn drop(&mut self) {
        self.close();
    }
}

/// One message that waits.
#[expect(clippy::large_enum_variant, reason = "nearly all that ever waits is microphone audio")]
pub(super) enum Waiting {
    Mic([i16; CHUNK_FRAMES]),
    Intent(Intent),
}

/// Why we end the link ourselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Requested,
    /// Too many intents wait.
    Overrun,
}

impl Ending {
    pub fn failure(self) -> LinkFailure {
        match self {
            Self::Requested => close::requested(),
            Self::Overrun => close::transient(format!(
                "{INTENTS} messages wait and the provider takes none: link dropped, check the network"
            )),
        }
    }
}

/// What the handle and the link's task share. The lock is never held across an await.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Something was queued.
    wake: Notify,
    ending: watch::Sender<Option<(Ending, Instant)>>,
}

struct State {
    waiting: VecDeque<Waiting>,
    mic: usize,
    counters: Counters,
    ready: bool,
    heard_at: Instant,
}

impl Shared {
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                mic: 0,
                counters: Counters::default(),
                ready: false,
                heard_at: Instant::now(),
            }),
            wake: Notify::new(),
            ending: watch::Sender::new(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements, so a panic elsewhere has not broken it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push_mic(&self, chunk: [i16; CHUNK_FRAMES]) {
        let mut state = self.lock();
        if self.ending.borrow().is_some() {
            state.counters.mic_dropped += 1;
            return;
        }
        if state.mic == MIC_CHUNKS {
            let oldest = state.waiting.iter().position(|item| matches!(item, Waiting::Mic(_)));
            if let Some(oldest) = oldest {
                state.waiting.remove(oldest);
                state.mic -= 1;
                state.counters.mic_dropped += 1;
            }
        }
        state.waiting.push_back(Waiting::Mic(chunk));
        state.mic += 1;
        drop(state);
        self.wake.notify_one();
    }

    fn push_intent(&self, intent: Intent) {
        let mut state = self.lock();
        if self.ending.borrow().is_some() {
            return;
        }
        if state.waiting.len() - state.mic == INTENTS {
            drop(state);
            self.end(Ending::Overrun);
            return;
        }
        state.waiting.push_back(Waiting::Intent(intent));
        drop(state);
        self.wake.notify_one();
    }

    /// The next message to send. Nothing before the connection is set up; no microphone audio once the link is ending.
    pub fn next(&self) -> Option<Waiting> {
        let mut state = self.lock();
        if !state.ready {
            return None;
        }
        let ending = self.ending.borrow().is_some();
        loop {
            let item = state.waiting.pop_front()?;
            let is_mic = matches!(item, Waiting::Mic(_));
            state.mic -= usize::from(is_mic);
            if is_mic && ending {
                state.counters.mic_dropped += 1;
                continue;
            }
            state.counters.mic_sent += u64::from(is_mic);
            return Some(item);
        }
    }

    /// Comes back when something may have been queued since the last time.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Ends the link. The first reason stands.
    pub fn end(&self, ending: Ending) {
        self.ending.send_if_modified(|reason| {
            let first = reason.is_none();
            if first {
                *reason = Some((ending, Instant::now()));
            }
            first
        });
        self.wake.notify_one();
    }

    /// Why and when we ended the link, if we did.
    pub fn ending(&self) -> Option<(Ending, Instant)> {
        *self.ending.borrow()
    }

    /// Comes back when we have ended the link.
    pub async fn ended(&self) -> (Ending, Instant) {
        let mut ending = self.ending.subscribe();
        loop {
            if let Some(reason) = *ending.borrow_and_update() {
                return reason;
            }
            if ending.changed().await.is_err() {
                // Cannot be: the sender is a field of `self`.
                std::future::pending::<()>().await;
            }
        }
    }

    /// The connection is set up: what waits may go.
    pub fn set_ready(&self) {
        self.lock().ready = true;
        self.wake.notify_one();
    }

    pub fn is_ready(&self) -> bool {
        self.lock().ready
    }

    pub fn count_sent(&self) {
        self.lock().counters.sent_messages += 1;
    }

    pub fn count_received(&self) {
        self.lock().counters.received_messages += 1;
    }

    pub fn count_written(&self, bytes: usize) {
        self.lock().counters.sent_bytes += bytes as u64;
    }

    /// Bytes came in, which is a sign of life.
    pub fn count_read(&self, bytes: usize) {
        let mut state = self.lock();
        state.counters.received_bytes += bytes as u64;
        state.heard_at = Instant::now();
    }

    /// When the peer counts as gone if it stays silent for `span`.
    pub fn silent_at(&self, span: Duration) -> Instant {
        self.lock().heard_at + span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(value: i16) -> [i16; CHUNK_FRAMES] {
        [value; CHUNK_FRAMES]
    }

    fn first_sample(item: Option<Waiting>) -> Option<i16> {
        match item {
            Some(Waiting::Mic(chunk)) => Some(chunk[0]),
            Some(Waiting::Intent(_)) | None => None,
        }
    }

    #[test]
    fn the_oldest_microphone_audio_is_dropped_and_counted_and_intents_stay() {
        let shared = Arc::new(Shared::new());
        let handle = LinkHandle::new(shared.clone());
        handle.send(Intent::Note("kept".into()));
        for value in 0..203 {
            handle.mic(&chunk(value));
        }
        shared.set_ready();
        assert_eq!(handle.counters().mic_dropped, 3);
        assert!(matches!(shared.next(), Some(Waiting::Intent(Intent::Note(_)))));
        assert_eq!(first_sample(shared.next()), Some(3));
        assert_eq!(std::iter::from_fn(|| shared.next()).count(), MIC_CHUNKS - 1);
        assert_eq!(handle.counters().mic_sent, MIC_CHUNKS as u64);
    }

    #[test]
    fn nothing_leaves_before_the_connection_is_set_up() {
        let shared = Arc::new(Shared::new());
        let handle = LinkHandle::new(shared.clone());
        handle.mic(&chunk(1));
        assert!(shared.next().is_none());
        shared.set_ready();
        assert_eq!(first_sample(shared.next()), Some(1));
    }

    #[test]
    fn too_many_intents_end_the_link() {
        let shared = Arc::new(Shared::new());
        let handle = LinkHandle::new(shared.clone());
        for _ in 0..INTENTS {
            handle.send(Intent::AudioStreamEnd);
        }
        assert_eq!(shared.ending(), None);
        handle.send(Intent::AudioStreamEnd);
        assert_eq!(shared.ending().map(|(why, _)| why), Some(Ending::Overrun));
        handle.close();
        assert_eq!(shared.ending().map(|(why, _)| why), Some(Ending::Overrun), "the first reason stands");
    }

    #[test]
    fn closing_sends_intents_but_no_microphone_audio() {
        let shared = Arc::new(Shared::new());
        let handle = LinkHandle::new(shared.clone());
        shared.set_ready();
        handle.mic(&chunk(1));
        handle.send(Intent::Note("last words".into()));
        handle.close();
        handle.send(Intent::Note("too late".into()));
        handle.mic(&chunk(2));
        assert!(matches!(shared.next(), Some(Waiting::Intent(Intent::Note(text))) if text == "last words"));
        assert!(shared.next().is_none());
        assert_eq!(handle.counters().mic_dropped, 2);
    }
}
