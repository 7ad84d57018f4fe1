// SPDX-License-Identifier: MIT OR Apache-2.0

//! A rehearsal: a scripted live model that speaks the Gemini Live wire protocol over any byte stream.
//!
//! It decides what is said, called and broken, and when, from a [`Scenario`] file and the microphone audio it is
//! sent. It judges everything it receives against the protocol and closes the connection on the first violation,
//! as the live service does. It never understands speech: its detector only tells speech from silence, and what the
//! person "said" is in the scenario. It never pretends to be a real model.
//!
//! Contract: make a [`Rehearsal`], give it one stream per connection ([`Rehearsal::serve_stream`]) or a port
//! ([`Rehearsal::listen`]), run a conversation, then read the [`Report`]. Turns of the scenario are used up across
//! connections, so a conversation that reconnects goes on where it was. All waiting is done on tokio's clock, so
//! under `tokio::time::pause` a conversation takes no wall time. It starts no threads.
//!
//! Terms: a *segment* is one stretch of the person's speech as the rehearsal's detector heard it; a *reply* is the
//! rehearsal's output from its first message to `turnComplete`; a *voice* is a recording it can say.

#![forbid(unsafe_code)]

mod conversation;
pub mod demo;
mod detector;
mod report;
mod scenario;
mod serve;
mod stage;
mod utterance;
mod validate;
pub mod voices;
mod wire;
mod wirelog;

pub use report::{Answered, Called, Report, Said};
pub use scenario::{Scenario, ScenarioError};
pub use serve::Rehearsal;
pub use voices::{Recording, VoiceError, Voices};
