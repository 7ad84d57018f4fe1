// SPDX-License-Identifier: MIT OR Apache-2.0

//! From a checked configuration to a driver that is ready to run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use audio::{Engine, Stepper};
use hal::{Lane, PushButton};
use session::Session;
use tokio::sync::mpsc;
use tools::{ToolSet, ToolSetBuilder};

use crate::clip::earcon::Earcons;
use crate::clip::store::{Fetch, Store, Web};
use crate::clip::{ClipError, Clips};
use crate::clock::Clock;
use crate::config::{ClipSource, Config, Endpoint, ProcessEnv, SpeechEngine, StateDirError};
use crate::dial::{Dialer, KeySource};
use crate::driver::{AUDIO_EVENTS, Driver};
use crate::fault;
use crate::gate_log::GateLog;
use crate::identity::Identity;
use crate::journal::Journal;
use crate::mute;
use crate::provider::{
    Connect, Endpoint as ProviderEndpoint, GeminiConfig, Secret, TcpConnector, WireLog, model_caution,
    schema_cautions,
};
use crate::records::{Keeper, RecordFile};
use crate::screen::Screens;
use crate::speech::Speech;
use crate::switch::Switch;
use crate::toolbox::Toolbox;
use crate::tooling::{self, Tooling};
use crate::voice::Voice;
use crate::watch::{Observer, Watchers};

mod figures;
mod offer;
mod path;

pub use offer::tool_set;
pub(crate) use path::audio_config;

/// What an integrator's own binary adds to the tools of the configuration. Called once for each set that is built.
pub type Extend = Arc<dyn Fn(ToolSetBuilder) -> ToolSetBuilder + Send + Sync>;

/// What a person can agree with beside their voice, and the configuration does not bring.
#[derive(Clone, Debug, Default)]
pub struct Surfaces {
    /// Where a screen may come; none does if `None`.
    pub screens: Option<Screens>,
    /// A button; that of the configuration if `None`.
    pub button: Option<Arc<PushButton>>,
}

/// What keeps people from agreeing to these tools, and what of the gate's keys holds for nothing.
#[must_use]
pub fn gate_cautions(config: &Config, surfaces: &Surfaces, tools: &ToolSet) -> Vec<String> {
    let mut gate = figures::session_config(config).gate;
    gate.button = surfaces.button.is_some() || config.hal.button.is_some();
    figures::cautions(&gate, surfaces.screens.is_some(), config, tools)
}

/// What keeps a configuration without faults from running. Each names the thing, the value and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// Tools are declared wrongly.
    #[error(transparent)]
    Tools(#[from] tools::BuildErrors),
    /// Clips cannot be used.
    #[error("{}", fault::lines(.0))]
    Clips(Vec<ClipError>),
    /// The endpoint cannot be used.
    #[error("provider.endpoint cannot be used")]
    Endpoint(#[from] crate::provider::EndpointError),
    /// The message tool has no token.
    #[error("tools.notify cannot be offered")]
    Token(#[from] crate::config::KeyError),
    /// The message tool cannot be made.
    #[error("tools.notify cannot be offered")]
    Outbox(#[from] tools::notify::OutboxError),
    /// The system gives no thread for a bus.
    #[error("no thread for the hardware; is a limit on tasks too low?")]
    Lane(#[source] std::io::Error),
    /// The system gives no thread for the records.
    #[error("no thread for log.records; is a limit on tasks too low?")]
    Records(#[source] std::io::Error),
    /// The system gives no thread for the journal or the gate log.
    #[error("no thread for what is kept of approvals; is a limit on tasks too low?")]
    Keeping(#[source] std::io::Error),
    /// The wire log cannot be written.
    #[error("log.wire_dir = {}: cannot be made; correct the path or its permissions", dir.display())]
    WireLog {
        /// The folder.
        dir: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The audio engine refused its settings.
    #[error(transparent)]
    Audio(#[from] audio::StartError),
}

/// Where drivers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// Each bus on a thread of its own, so that a driver that hangs holds up nobody.
    Thread,
    /// On the caller's: for simulators on a paused clock, and for looking at tools without running them.
    Inline,
}

impl Bus {
    fn lane(self, name: &str) -> Result<Lane, AssemblyError> {
        match self {
            Self::Thread => Lane::spawn(name).map_err(AssemblyError::Lane),
            Self::Inline => Ok(Lane::inline(name)),
        }
    }
}

/// Collects what is to run. Everything not set is as the product ships it.
pub struct Assembly<'a> {
    config: Config,
    extend: &'a Extend,
    connector: Arc<dyn Connect>,
    key: Option<Secret>,
    clock: Clock,
    lane: Bus,
    identity: Option<Identity>,
    instruction: Option<String>,
    observers: Vec<Box<dyn Observer>>,
    devices: Option<(audio::Source, audio::Sink)>,
    fetch: Arc<dyn Fetch>,
    switch: Switch,
    surfaces: Surfaces,
    end_with_session: bool,
}

impl<'a> Assembly<'a> {
    /// `config`, with the tools that `extend` adds.
    #[must_use]
    pub fn new(config: Config, extend: &'a Extend) -> Self {
        Self {
            config,
            extend,
            connector: Arc::new(TcpConnector),
            key: None,
            clock: Clock::Boot,
            lane: Bus::Thread,
            identity: None,
            instruction: None,
            observers: Vec::new(),
            devices: None,
            fetch: Arc::new(Web::default()),
            switch: Switch::default(),
            surfaces: Surfaces::default(),
            end_with_session: false,
        }
    }

    /// Takes its byte streams from `connector`.
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connect>) -> Self {
        self.connector = connector;
        self
    }

    /// Uses this key for the provider, whatever the configuration says.
    #[must_use]
    pub fn key(mut self, key: Secret) -> Self {
        self.key = Some(key);
        self
    }

    /// Runs on the runtime's clock, with no thread of its own: for a paused clock. Call on the runtime.
    #[must_use]
    pub fn virtual_time(mut self) -> Self {
        self.clock = Clock::runtime();
        self.lane = Bus::Inline;
        self
    }

    /// Is this device.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Gives the model this instruction, whatever persona, profile and the tools' rules say. Nothing may depend on what
    /// a model is told; this is how that is tested.
    #[must_use]
    pub fn instruction(mut self, instruction: impl Into<String>) -> Self {
        self.instruction = Some(instruction.into());
        self
    }

    /// Adds somebody who watches.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Uses these ends of the audio path, whatever the configuration says.
    #[must_use]
    pub fn devices(mut self, capture: audio::Source, playback: audio::Sink) -> Self {
        self.devices = Some((capture, playback));
        self
    }

    /// Has its microphone switched by `switch`.
    #[must_use]
    pub fn switch(mut self, switch: Switch) -> Self {
        self.switch = switch;
        self
    }

    /// Lets people agree on these too.
    #[must_use]
    pub fn surfaces(mut self, surfaces: Surfaces) -> Self {
        self.surfaces = surfaces;
        self
    }

    /// Has clips of the web from `fetch`.
    #[must_use]
    pub fn clips_by(mut self, fetch: Arc<dyn Fetch>) -> Self {
        self.fetch = fetch;
        self
    }

    /// Ends when the session ends.
    #[must_use]
    pub const fn end_with_session(mut self) -> Self {
        self.end_with_session = true;
        self
    }

    /// A driver whose audio worker has a thread of its own. On the runtime, if the configuration has servers.
    ///
    /// # Errors
    /// See [`AssemblyError`].
    pub fn driver(self) -> Result<Driver, AssemblyError> {
        let (sink, events) = mpsc::channel(AUDIO_EVENTS);
        let audio = Engine::start(self.audio(), move |event| sink.try_send(event).is_ok())?;
        self.with_audio(audio, events)
    }

    /// A driver whose audio worker moves when the stepper is told to.
    ///
    /// # Errors
    /// See [`AssemblyError`].
    pub fn stepped(self) -> Result<(Driver, Stepper), AssemblyError> {
        let (sink, events) = mpsc::channel(AUDIO_EVENTS);
        let (stepper, audio) = Engine::stepped(self.audio(), move |event| sink.try_send(event).is_ok())?;
        Ok((self.with_audio(audio, events)?, stepper))
    }

    /// Where what is kept is put. Who brings an identity keeps nothing unless told where.
    fn state(&self) -> Result<Option<PathBuf>, StateDirError> {
        match &self.identity {
            Some(_) => Ok(self.config.state.dir.clone()),
            None => self.config.state_dir(&ProcessEnv).map(Some),
        }
    }

    fn with_audio(
        self,
        audio: audio::Handle,
        events: mpsc::Receiver<audio::Event>,
    ) -> Result<Driver, AssemblyError> {
        let state = self.state().map_err(|fault| tracing::warn!("{fault}")).ok().flatten();
        let Self {
            config,
            extend,
            connector,
            key,
            clock,
            lane,
            identity,
            instruction,
            mut observers,
            fetch,
            switch,
            surfaces: Surfaces { screens, button },
            ..
        } = self;
        let end_with_session = self.end_with_session;
        // Who brings ends of their own knows what they are.
        let hears_the_room = self.devices.is_some();
        let is_own = identity.is_some();
        let identity = identity.unwrap_or_else(|| Identity::load(state.as_deref()));
        let voice = Voice::new(config.provider.voice.clone());
        let tools = offer::tools_over(&config, extend, lane, Some(audio.clone()), voice.clone())?;
        let clips = Store::new(clips(&config)?, config.tools.egress.clone(), fetch);
        let tooling = Tooling::new(tools.clone(), tooling::servers(&config));
        if let Some(records) = &config.log.records {
            let file = RecordFile::start(records.path.clone(), records.bounds, identity.run());
            observers.push(Box::new(file.map_err(AssemblyError::Records)?));
        }
        let watchers = Watchers::new(observers, tooling.clone(), Keeper::new(tooling.clone(), &config));
        let mut toolbox = Toolbox::new(tooling.clone(), identity.clone()).locale(config.gate.asking.locale);
        let mute_memory = state.as_deref().map(mute::Memory::start).transpose();
        let mute_memory = mute_memory.map_err(AssemblyError::Keeping)?;
        let mute_line = path::mute_line(&config, lane)?;
        let earcons = earcons(&config)?;
        let mut gate_log = None;
        let mut journal = None;
        if let Some(state) = &state {
            let log = GateLog::start(state, config.gate.log.clone(), &toolbox, &identity);
            let log = log.map_err(AssemblyError::Keeping)?;
            let kept = match lane {
                Bus::Thread => Journal::start(state, identity.run(), log.report()),
                Bus::Inline => Ok(Journal::inline(state, identity.run(), log.report())),
            };
            let kept = Arc::new(kept.map_err(AssemblyError::Keeping)?);
            toolbox = toolbox.journal(Arc::clone(&kept));
            (gate_log, journal) = (Some(log), Some(kept));
        } else if !is_own {
            tracing::warn!(
                "without a folder for state nothing is kept: what a person agreed to is not protected against being done twice, \
                 or halfway, across a crash, and a microphone that was switched off is on again after a restart"
            );
        }
        let button = match button {
            None => offer::button(&config, lane)?,
            some => some,
        };
        let mut settings = figures::session_config(&config);
        settings.gate.button = button.is_some();
        settings.gate.own_microphone |= hears_the_room;
        figures::cautions(&settings.gate, screens.is_some(), &config, &tools)
            .iter()
            .for_each(|text| tracing::warn!("{text}"));
        let session = Session::new(settings, Box::new(toolbox.catalog()), seed());
        let wire_log =
            config.log.wire_dir.as_ref().map(|dir| {
                WireLog::new(dir).map_err(|cause| AssemblyError::WireLog { dir: dir.clone(), cause })
            });
        let mut link = link_config(&config, &tools)?;
        for warning in tools.warnings() {
            tracing::warn!("{warning}");
        }
        let cautions = schema_cautions(&link.tools).into_iter();
        for caution in cautions.chain(model_caution(&config.provider.model)) {
            tracing::warn!("{caution}");
        }
        if let Some(instruction) = instruction {
            link.instruction = instruction;
        }
        let speech = Arc::new(speech(&config));
        let key = key.map_or_else(|| KeySource::Configured(Box::new(config)), KeySource::Fixed);
        let dialer = Dialer::new(link, tooling, voice, key, connector, wire_log.transpose()?);
        Ok(Driver {
            clock,
            session,
            audio,
            audio_events: events,
            dialer,
            toolbox,
            journal,
            gate_log,
            speech,
            clips,
            earcons,
            mute_memory,
            mute_line,
            switch,
            screens: screens.unwrap_or_default(),
            button,
            watchers,
            end_with_session,
        })
    }
}

/// The clips of the configuration: files decoded, those of the web not looked for.
///
/// # Errors
/// Every clip that cannot be used.
pub fn clips(config: &Config) -> Result<Clips, AssemblyError> {
    let (mut here, mut away) = (Vec::new(), BTreeMap::new());
    for (name, source) in &config.clips {
        match source {
            ClipSource::Builtin(_) | ClipSource::File(_) => here.push((name.as_str(), source.to_string())),
            ClipSource::Url(target) => drop(away.insert(name.clone(), target.clone())),
        }
    }
    let here = here.iter().map(|(name, source)| (*name, source.as_str()));
    Ok(Clips::load(here).map_err(AssemblyError::Clips)?.with_fetched(away))
}

/// The earcons of the configuration.
///
/// # Errors
/// Every file that cannot be used.
pub fn earcons(config: &Config) -> Result<Earcons, AssemblyError> {
    Earcons::load(&config.earcons).map_err(AssemblyError::Clips)
}

/// The device's voice.
#[must_use]
pub fn speech(config: &Config) -> Speech {
    match &config.speech.engine {
        SpeechEngine::EspeakNg => Speech::espeak(&config.speech.voice),
        SpeechEngine::Command(words) => {
            let (program, args) = words
                .split_first()
                .map_or((String::new(), Vec::new()), |(program, args)| (program.clone(), args.to_vec()));
            Speech::command(program, args)
        }
    }
}

/// What a link needs of the configuration, but for the key.
///
/// # Errors
/// [`AssemblyError::Endpoint`].
pub fn link_config(config: &Config, tools: &ToolSet) -> Result<GeminiConfig, AssemblyError> {
    let provider = &config.provider;
    let mut link = GeminiConfig::new(provider.model.clone(), Secret::new(""));
    link.endpoint = match &provider.endpoint {
        Endpoint::Public => ProviderEndpoint::developer_api(),
        // The configuration has refused what was not allowed.
        Endpoint::Url(url) => ProviderEndpoint::parse_any(url)?,
    };
    link.voice = provider.voice.clone();
    link.languages = provider.language.iter().cloned().collect();
    link.instruction =
        tools::build_instruction(&config.persona.text, &config.persona.profile, &tools.rules());
    link.tools = tooling::declarations(tools);
    Ok(link)
}

/// Spreads the retries of a fleet that lost its service at one moment.
fn seed() -> u64 {
    let mut bytes = [0; 8];
    // Without a random source every device retries alike: worse for the service, no fault of this device.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;
    use crate::fault::chain;

    #[test]
    fn a_fault_is_told_with_its_cause_once() {
        let missing = Clips::load([("one", "/no/such/file.wav"), ("two", "builtin:gong")]);
        let clips = AssemblyError::Clips(missing.expect_err("neither is there"));
        let endpoint = ProviderEndpoint::parse("http://host").expect_err("it is no WebSocket");
        for (fault, text) in [
            (
                clips,
                "clip `/no/such/file.wav` cannot be read; check the path and its permissions: \
                 No such file or directory (os error 2)\n\
                 there is no built-in clip `gong`; there are: alarm, chime",
            ),
            (
                AssemblyError::Lane(Error::from(ErrorKind::WouldBlock)),
                "no thread for the hardware; is a limit on tasks too low?: operation would block",
            ),
            (
                endpoint.into(),
                "provider.endpoint cannot be used: endpoint `http://host` has scheme `http`: \
                 expected wss, or ws for a server on this machine",
            ),
            (
                audio::StartError::Thread(Error::from(ErrorKind::WouldBlock)).into(),
                "cannot start the audio thread: operation would block",
            ),
        ] {
            assert_eq!(chain(&fault), text);
        }
    }
}
