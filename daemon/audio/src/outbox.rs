// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events on their way to the sink.

use std::collections::VecDeque;

use crate::api::{Event, EventSink};

/// Events that wait for a sink without room: more than 3 s of preroll in 20 ms chunks, and what happens meanwhile.
const WAITING_MAX: usize = 256;

/// Keeps the order of events when the sink has no room, and decides what to drop.
pub(crate) struct Outbox {
    sink: Box<dyn EventSink>,
    waiting: VecDeque<Event>,
    /// Chunks of microphone audio the sink took.
    pub(crate) mic_sent: u64,
    /// Chunks of microphone audio dropped.
    pub(crate) mic_dropped: u64,
    /// Other events dropped.
    pub(crate) events_dropped: u64,
}

impl Outbox {
    pub(crate) fn new(sink: Box<dyn EventSink>) -> Self {
        Self { sink, waiting: VecDeque::new(), mic_sent: 0, mic_dropped: 0, events_dropped: 0 }
    }

    /// Queues an event behind those that wait. When there are too many, the oldest microphone chunk makes room, and
    /// when there is none the oldest levels, and when there are none the oldest event.
    pub(crate) fn push(&mut self, event: Event) {
        if self.waiting.len() == WAITING_MAX {
            let oldest = |wanted: fn(&Event) -> bool| self.waiting.iter().position(wanted);
            let victim = oldest(is_mic).or_else(|| oldest(is_levels)).unwrap_or(0);
            match self.waiting.remove(victim) {
                Some(dropped) if is_mic(&dropped) => self.mic_dropped += 1,
                Some(_) | None => self.events_dropped += 1,
            }
        }
        self.waiting.push_back(event);
    }

    /// Offers what waits, oldest first, until the sink has no room.
    pub(crate) fn flush(&mut self) {
        while let Some(event) = self.waiting.front() {
            if !self.sink.try_send(event.clone()) {
                return;
            }
            self.mic_sent += u64::from(is_mic(event));
            self.waiting.pop_front();
        }
    }
}

fn is_mic(event: &Event) -> bool {
    matches!(event, Event::Mic(_))
}

fn is_levels(event: &Event) -> bool {
    matches!(event, Event::Levels { .. })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
    #![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the events it is about")]

    use std::sync::{Arc, Mutex};

    use units::{Db, UtteranceId};

    use super::*;
    use crate::api::CHUNK_FRAMES;

    #[derive(Clone, Default)]
    struct Room(Arc<Mutex<(usize, Vec<Event>)>>);

    impl Room {
        fn make(&self, room: usize) {
            self.0.lock().unwrap().0 = room;
        }

        fn seen(&self) -> Vec<String> {
            let label = |event: &Event| match event {
                Event::Mic(samples) => format!("mic {}", samples[0]),
                Event::Started { utterance } => utterance.to_string(),
                other => format!("{other:?}"),
            };
            self.0.lock().unwrap().1.iter().map(label).collect()
        }
    }

    impl EventSink for Room {
        fn try_send(&mut self, event: Event) -> bool {
            let mut inner = self.0.lock().unwrap();
            if inner.0 == 0 {
                return false;
            }
            inner.0 -= 1;
            inner.1.push(event);
            true
        }
    }

    fn started(n: u64) -> Event {
        Event::Started { utterance: UtteranceId(n) }
    }

    fn mic(n: i16) -> Event {
        Event::Mic([n; CHUNK_FRAMES])
    }

    #[test]
    fn a_full_sink_delays_events_and_keeps_their_order() {
        let room = Room::default();
        let mut outbox = Outbox::new(Box::new(room.clone()));
        outbox.push(mic(1));
        outbox.push(started(2));
        outbox.push(mic(3));
        outbox.flush();
        assert!(room.seen().is_empty());
        room.make(2);
        outbox.flush();
        room.make(2);
        outbox.flush();
        assert_eq!(room.seen(), ["mic 1", "utterance-2", "mic 3"]);
        assert_eq!((outbox.mic_sent, outbox.mic_dropped, outbox.events_dropped), (2, 0, 0));
    }

    #[test]
    fn the_oldest_microphone_chunk_makes_room() {
        let room = Room::default();
        let mut outbox = Outbox::new(Box::new(room.clone()));
        outbox.push(started(0));
        outbox.push(mic(1));
        for n in 2..=255 {
            outbox.push(started(n));
        }
        outbox.push(started(256));
        room.make(usize::MAX);
        outbox.flush();
        assert_eq!((outbox.mic_dropped, outbox.events_dropped), (1, 0));
        assert_eq!(room.seen().len(), 256);
        assert!(!room.seen().contains(&"mic 1".into()));
        assert!(room.seen().contains(&"utterance-0".into()));
    }

    #[test]
    fn levels_go_before_anything_that_matters() {
        let room = Room::default();
        let mut outbox = Outbox::new(Box::new(room.clone()));
        for n in 0..255 {
            outbox.push(started(n));
        }
        outbox.push(Event::Levels { input: Db(0.0), output: Db(0.0) });
        outbox.push(started(255));
        outbox.push(started(256));
        room.make(usize::MAX);
        outbox.flush();
        assert_eq!((outbox.mic_dropped, outbox.events_dropped), (0, 2));
        assert_eq!(room.seen().first().map(String::as_str), Some("utterance-1"));
    }
}
