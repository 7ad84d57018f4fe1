// SPDX-License-Identifier: MIT OR Apache-2.0

//! Real-time capture, playback and DSP.
//!
//! # What this crate decides
//! When the room is speaking (VAD), which microphone audio may leave (the uplink gate), what the loudspeaker plays
//! next and how loud, and how much of each utterance has been *heard*. It opens the devices, watches that they make
//! progress, and opens them again for ever when they do not.
//!
//! # What it never does
//! It never decides whose turn it is, never talks to a provider, never waits for the async side, and its device
//! callbacks never allocate, lock, log or read a clock. Audio is never written to a log.
//!
//! # Contract
//! Start it with [`Engine::start`] (its own thread, real devices, real time) or [`Engine::stepped`] (no thread; the
//! caller moves it 10 ms at a time). Both run the same worker. Tell it what to do with [`Handle::command`], which
//! never waits; what happens comes out of the [`EventSink`] given at the start, called on the worker's thread, which
//! must not wait either.
//!
//! ```
//! use audio::{Command, Config, Engine, Event, Priority, Sink, Source, sim};
//! use units::{Hz, Pcm, UtteranceId};
//!
//! let speaker = sim::Speaker::new(Hz::K48);
//! let config = Config::new(Source::Silence, Sink::Sim(speaker.clone()));
//! let (events, seen) = std::sync::mpsc::channel();
//! let (mut stepper, handle) = Engine::stepped(config, move |event: Event| events.send(event).is_ok())?;
//!
//! let utterance = UtteranceId(1);
//! let pcm = Pcm::new(Hz::K24, vec![8_000i16; 2_400]);
//! handle.command(Command::Append { utterance, priority: Priority::Reply, pcm }).expect("the queue is empty");
//! handle.command(Command::Finish { utterance }).expect("the queue is nearly empty");
//! for _ in 0..20 {
//!     stepper.hop();
//! }
//! assert!(seen.try_iter().any(|event| matches!(event, Event::Finished { cut: false, .. })));
//! assert!(speaker.recorded().samples().iter().any(|sample| *sample > 7_000));
//! # Ok::<(), audio::StartError>(())
//! ```
//!
//! Beside it stand two that need no worker: [`convert`] and [`find`].
//!
//! # Terms
//! A *hop* is 10 ms, what the DSP moves by. A *period* is what a device moves by. The *line* of a device is the
//! worker's end of the ring to its callback. *Heard* is what has left the loudspeaker: frames the device took, less
//! the delay it reports; of a reply that is played at another pace it is the part of the reply that was, in frames of the
//! reply as it came.
//!
//! # Queues
//! | queue | holds | when full |
//! | --- | --- | --- |
//! | capture callback to worker | 200 ms | newest dropped, counted as `capture_overrun` |
//! | worker to playback callback | 60 ms, or 256 ms where the device chooses its period | never full: the worker keeps two hops, or a period and a hop, in it; between utterances a period and half a hop |
//! | commands | [`COMMANDS_MAX`] | refused: the command comes back |
//! | events | 256 | oldest [`Event::Mic`] dropped and counted; other events are kept |
//! | recording | 2 s | newest dropped and counted |
//! | playout | 180 s an utterance, 64 utterances | newest dropped and counted |

mod api;
mod config;
mod counters;
mod device;
mod dsp;
mod engine;
mod far;
pub mod find;
mod hearing;
mod line;
mod mute;
mod outbox;
mod playout;
mod record;
pub mod rt;
mod spans;
mod uplink;
mod utterance;
mod worker;

pub use api::{CHUNK_FRAMES, Command, Direction, Event, EventSink, Priority, RATE_OWN};
pub use config::{Canceller, Channels, Cleaning, Config, Echo, Recording, Sink, Source, Vad};
pub use counters::Counters;
pub use device::list::{DeviceInfo, FormatRange, devices};
pub use device::{DeviceError, sim};
pub use dsp::resample::convert;
pub use engine::{COMMANDS_MAX, Engine, Handle, StartError, Stepper, Unstopped};
pub use hearing::EchoState;
