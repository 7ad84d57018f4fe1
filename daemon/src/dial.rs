// SPDX-License-Identifier: MIT OR Apache-2.0

//! Making a link: the key is looked up for every attempt, so that one installed later is found without a restart.

use std::sync::Arc;

use session::{FailureCause, LinkFailure};

use crate::config::{Config, ProcessEnv};
use crate::provider::{Connect, GeminiConfig, Link, LinkEvents, LinkHandle, Secret, WireLog};
use crate::tooling::{self, Tooling};
use crate::voice::Voice;

/// Where the key comes from.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// As the configuration says, looked up again for each attempt.
    Configured(Box<Config>),
    /// This one.
    Fixed(Secret),
}

/// Opens links to the provider.
pub struct Dialer {
    config: GeminiConfig,
    tooling: Tooling,
    voice: Voice,
    key: KeySource,
    connector: Arc<dyn Connect>,
    wire_log: Option<WireLog>,
}

impl Dialer {
    /// Links like `config` (whose key, tools and voice are replaced by those of `key`, `tooling` and `voice`), over streams
    /// of `connector`.
    #[must_use]
    pub fn new(
        config: GeminiConfig,
        tooling: Tooling,
        voice: Voice,
        key: KeySource,
        connector: Arc<dyn Connect>,
        wire_log: Option<WireLog>,
    ) -> Self {
        Self { config, tooling, voice, key, connector, wire_log }
    }

    /// Starts one attempt, resuming an earlier session by its handle if there is one. What is resumed keeps its tools; one
    /// that begins gets those that there are. Each has the voice that is wanted: the provider lets what is resumed change it.
    ///
    /// # Errors
    /// [`FailureCause::Credentials`] when there is no key: nothing was sent.
    pub fn dial(&self, resume: Option<String>) -> Result<(LinkHandle, LinkEvents), LinkFailure> {
        let api_key = self.key().map_err(|text| LinkFailure { cause: FailureCause::Credentials, text })?;
        let tools = if resume.is_none() { self.tooling.renew() } else { self.tooling.current() };
        let tools = tooling::declarations(&tools);
        let voice = self.voice.connect();
        let config = Arc::new(GeminiConfig { api_key, tools, voice, ..self.config.clone() });
        Ok(Link::open(config, resume, Arc::clone(&self.connector), self.wire_log.clone()))
    }

    /// Whether there is a key at the moment.
    ///
    /// # Errors
    /// Where it was looked for, and what to do.
    pub fn check(&self) -> Result<(), String> {
        self.key().map(drop)
    }

    fn key(&self) -> Result<Secret, String> {
        match &self.key {
            KeySource::Fixed(key) => Ok(key.clone()),
            KeySource::Configured(config) => config.api_key(&ProcessEnv).map_err(|fault| fault.to_string()),
        }
    }
}
