// SPDX-License-Identifier: MIT OR Apache-2.0

//! The Gemini Live adapter: the provider-neutral seam of `session` on one side, Google's WebSocket protocol on the other.
//!
//! It decides how an [`session::Intent`] is written on the wire, what a server message means as
//! [`session::ProviderEvent`]s, and what class of failure a closed connection is. It never decides when to connect, when
//! to try again, or whether a call may run: that is `session`'s work, driven by `driver`.
//!
//! # Contract
//! [`Link::open`] starts one connection attempt and returns at once. Events come from [`LinkEvents`] in order; exactly
//! one [`LinkEvent::Closed`] comes, last, also when the attempt never succeeded. A link is never reused: reconnecting is
//! opening another one after `Closed`, so that no two sockets of ours are ever open at the provider.
//!
//! Nothing blocks the caller: [`LinkHandle`] puts messages on a queue that is bounded in time, and drops the oldest
//! microphone audio when the peer takes none. All waiting goes through `tokio::time`, and the byte stream comes from a
//! [`Connect`], so a whole conversation runs on a paused clock over an in-memory stream.
//!
//! A peer may echo the API key. It is masked in every message before the message is read or recorded, and in every other
//! text of the peer before it is cut to length, so no event of a link holds it.
//!
//! # Terms
//! *anomaly*: something the peer sent that was ignored, as one line of text for a log; it holds no transcript and no
//! audio. *set-up*: the first message of a connection; it fixes model, voice, instruction and tools.

mod close;
mod connect;
mod endpoint;
mod handshake;
mod map;
mod mask;
mod models;
mod outbound;
mod queue;
mod schema;
mod transport;
mod unsaid;
mod wire;
mod wirelog;

use std::time::Duration;

use serde_json::Value;
use session::{Capabilities, Intent};

pub use connect::{ByteStream, Connect, Connecting, TcpConnector};
pub use endpoint::{Endpoint, EndpointError};
pub use models::{mark_caution, model_caution};
pub use queue::{Counters, LinkHandle};
pub use tools::Secret;
pub use transport::{Link, LinkEvent, LinkEvents};
pub use unsaid::schema_cautions;
pub use wirelog::WireLog;

/// Everything one connection needs to know. Does not change while a connection lives.
#[derive(Clone, Debug)]
pub struct GeminiConfig {
    /// Where the provider is.
    pub endpoint: Endpoint,
    /// Model id, with or without the `models/` prefix, e.g. `gemini-3.8-live`. See [`model_caution`].
    pub model: String,
    /// Sent as the header `x-goog-api-key` and in no other way.
    pub api_key: Secret,
    /// A prebuilt voice by name, e.g. `Kore`; `None` leaves the choice to the provider.
    pub voice: Option<String>,
    /// The system instruction. Empty: none is sent.
    pub instruction: String,
    /// The tools the model may call, in order.
    pub tools: Vec<Declaration>,
    /// How the provider finds the ends of the person's speech.
    pub vad: ServerVad,
    /// When and how far the provider shortens the conversation it remembers.
    pub compression: Compression,
    /// BCP-47 tags that help the transcription of the person's speech. Empty: the provider finds out.
    pub languages: Vec<String>,
}

impl GeminiConfig {
    /// A configuration with no tools and every other value as shipped.
    #[must_use]
    pub fn new(model: impl Into<String>, api_key: Secret) -> Self {
        Self {
            endpoint: Endpoint::default(),
            model: model.into(),
            api_key,
            voice: None,
            instruction: String::new(),
            tools: Vec::new(),
            vad: ServerVad::default(),
            compression: Compression::default(),
            languages: Vec::new(),
        }
    }

    /// What the session may count on with this configuration.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        outbound::capabilities(self)
    }

    /// The first message of a link, as it is sent. `resume` is a handle of an earlier one.
    #[must_use]
    pub fn setup_message(&self, resume: Option<&str>) -> String {
        outbound::setup(self, resume)
    }

    /// `intent` as it is sent; `None` where this model knows no way to say it.
    #[must_use]
    pub fn message(&self, intent: &Intent) -> Option<String> {
        outbound::intent(self, intent)
    }
}

/// One tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// `[A-Za-z_][A-Za-z0-9_]*`, at most 64 characters.
    pub name: String,
    /// When to call it and when not.
    pub description: String,
    /// JSON Schema of the arguments, an object, references inlined. What the provider's dialect cannot say is left
    /// out of the declaration, so it only ever widens: the full schema is checked locally.
    pub schema: Value,
    /// The model needs the result before it can go on speaking.
    pub blocking: bool,
}

/// How eagerly the provider's voice activity detection decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// More often, or sooner.
    High,
    /// Less often, or later.
    Low,
}

/// The provider's own voice activity detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVad {
    /// Silence that ends the person's utterance.
    pub silence: Duration,
    /// Speech needed before an utterance counts as begun; `None` leaves the provider's default.
    pub prefix: Option<Duration>,
    /// How easily speech begins; `None` leaves the provider's default.
    pub start: Option<Sensitivity>,
    /// How easily speech ends; `None` leaves the provider's default.
    pub end: Option<Sensitivity>,
}

impl Default for ServerVad {
    /// 600 ms: Google recommends 500 to 800 ms; less cuts utterances apart, more feels slow.
    fn default() -> Self {
        Self { silence: Duration::from_millis(600), prefix: None, start: None, end: None }
    }
}

/// Sliding-window compression of the conversation, in tokens (25 per second of audio).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Compress when the conversation holds this many: 5,000 to 128,000.
    pub trigger_tokens: u32,
    /// Keep this many; below `trigger_tokens`.
    pub target_tokens: u32,
}

impl Default for Compression {
    /// Google's own example for long sessions. Every turn is billed with the whole conversation, so a window at its
    /// full 131,072 tokens makes an all-day device several times dearer.
    fn default() -> Self {
        Self { trigger_tokens: 25_000, target_tokens: 8_000 }
    }
}
