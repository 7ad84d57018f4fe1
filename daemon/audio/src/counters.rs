// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the audio path has counted since it started.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the audio path has counted since it started. Each figure only grows; together they are a reading of
        /// one moment to within a hop.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The live figures: written by the worker alone, read by whoever holds a handle.
        #[derive(Debug, Default)]
        pub(crate) struct Live {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Live {
            /// Publishes `counters`.
            pub(crate) fn store(&self, counters: &Counters) {
                $(self.$name.store(counters.$name, Relaxed);)*
            }

            /// Reads them.
            pub(crate) fn load(&self) -> Counters {
                Counters { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Times the worker ran. Stands still only when the worker does: the watchdog's food.
    turns,
    /// 10 ms hops of microphone audio processed.
    capture_hops,
    /// Frames the capture callbacks delivered, at the device's rate.
    capture_frames,
    /// Frames dropped in the capture callback because the worker was 200 ms behind.
    capture_overrun,
    /// Frames dropped by the worker because they were older than 100 ms.
    capture_stale,
    /// Microphone samples at full scale.
    capture_clipped,
    /// Frames the playback callbacks played, at the device's rate.
    playback_frames,
    /// Frames of silence the playback callbacks had to make up while an utterance played.
    playback_underrun,
    /// Playout samples above -1 dBFS, which the limiter turned down.
    playback_clipped,
    /// Frames of playout (24 kHz) that were due while there was no loudspeaker.
    playback_lost,
    /// Frames of playout refused: beyond 180 s in one utterance, or for one that had ended.
    playout_refused,
    /// Chunks of microphone audio given to the event sink.
    mic_chunks,
    /// Chunks of microphone audio dropped because the event sink had no room.
    mic_dropped,
    /// Other events dropped because the event sink had no room.
    events_dropped,
    /// Frames of microphone audio other than zero let out while muted. Stays 0.
    muted_leak,
    /// Hops of a recording dropped because the disk was 2 s behind.
    recording_dropped,
    /// Frames of echo reference (16 kHz) that were wanted before they were rendered, and so were silence.
    far_starved,
    /// Times the echo reference was put in place: once after a device was opened, and after a stall.
    far_aligned,
    /// Times a device was opened.
    device_ups,
    /// Times a device failed, or could not be opened.
    device_downs,
}
