//! From a checked configuration to a driver that is ready to run.

use std::path::PathBuf;
use std::sync::Arc;

use audio::{Engine, Stepper};
use hal::Lane;
use session::Session;
use tokio::sync::mpsc;
use tools::http::{HttpClient, Trust};
use tools::notify::{HttpOutbox, send_notification};
use tools::{BuildError, BuildErrors, ToolSet, ToolSetBuilder};

use crate::clip::{ClipError, Clips};
use crate::clock::Clock;
use crate::config::{
    Board, CaptureChannel, ClipSource, Config, DeclaredTool, Device, EchoMode, Endpoint, EngageMode,
    ProcessEnv, SpeechEngine,
};
use crate::dial::{Dialer, KeySource};
use crate::driver::{AUDIO_EVENTS, Driver};
use crate::fault;
use crate::identity::Identity;
use crate::provider::{Connect, Endpoint as ProviderEndpoint, GeminiConfig, Secret, TcpConnector, WireLog};
use crate::speech::Speech;
use crate::toolbox::Toolbox;
use crate::tooling::{self, Tooling};
use crate::watch::Observer;

/// What an integrator's own binary adds to the tools of the configuration. Called once for each set that is built.
pub type Extend = Arc<dyn Fn(ToolSetBuilder) -> ToolSetBuilder + Send + Sync>;

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

    fn with_audio(
        self,
        audio: audio::Handle,
        events: mpsc::Receiver<audio::Event>,
    ) -> Result<Driver, AssemblyError> {
        let Self { config, extend, connector, key, clock, lane, identity, instruction, observers, .. } = self;
        let end_with_session = self.end_with_session;
        let identity = identity.unwrap_or_else(|| {
            let state = config.state_dir(&ProcessEnv).map_err(|fault| tracing::warn!("{fault}"));
            Identity::load(state.ok().as_deref())
        });
        let tools = tool_set(&config, extend, lane)?;
        let clips = clips(&config)?;
        let tooling = Tooling::new(tools.clone(), tooling::servers(&config));
        let toolbox = Toolbox::new(tooling.clone(), identity);
        let session = Session::new(session_config(&config), Box::new(toolbox.catalog()), seed());
        let wire_log =
            config.log.wire_dir.as_ref().map(|dir| {
                WireLog::new(dir).map_err(|cause| AssemblyError::WireLog { dir: dir.clone(), cause })
            });
        let mut link = link_config(&config, &tools)?;
        for warning in tools.warnings() {
            tracing::warn!("{warning}");
        }
        if let Some(caution) = crate::provider::model_caution(&config.provider.model) {
            tracing::warn!("{caution}");
        }
        if let Some(instruction) = instruction {
            link.instruction = instruction;
        }
        let speech = Arc::new(speech(&config));
        let key = key.map_or_else(|| KeySource::Configured(Box::new(config)), KeySource::Fixed);
        let dialer = Dialer::new(link, tooling, key, connector, wire_log.transpose()?);
        Ok(Driver {
            clock,
            session,
            audio,
            audio_events: events,
            dialer,
            toolbox,
            speech,
            clips,
            observers,
            end_with_session,
        })
    }

    fn audio(&self) -> audio::Config {
        let config = &self.config;
        let (capture, playback) = self.devices.clone().unwrap_or_else(|| (source(config), sink(config)));
        audio::Config {
            channels: match config.audio.capture_channel {
                CaptureChannel::Mix => audio::Channels::Average,
                CaptureChannel::Index(channel) => audio::Channels::Only(channel),
            },
            vad: audio::Vad {
                onset: config.vad.onset,
                hangover: config.vad.hangover,
                threshold: config.vad.threshold,
                floor: config.vad.level_floor,
            },
            echo: match config.audio.echo.mode {
                EchoMode::Off => audio::Echo::Off,
                EchoMode::HalfDuplex => audio::Echo::HalfDuplex { tail: config.audio.echo.tail },
            },
            volume: config.audio.volume,
            preroll_max: config.engage.preroll,
            ..audio::Config::new(capture, playback)
        }
    }
}

fn source(config: &Config) -> audio::Source {
    match &config.audio.capture {
        Device::Default => audio::Source::Cpal { id: None },
        Device::Named(id) => audio::Source::Cpal { id: Some(id.clone()) },
        Device::File(path) => audio::Source::File { path: path.clone() },
        Device::None => audio::Source::Silence,
    }
}

fn sink(config: &Config) -> audio::Sink {
    match &config.audio.playback {
        Device::Default => audio::Sink::Cpal { id: None },
        Device::Named(id) => audio::Sink::Cpal { id: Some(id.clone()) },
        Device::File(path) => audio::Sink::File { path: path.clone() },
        Device::None => audio::Sink::Null,
    }
}

/// The tools of the configuration and those that `extend` adds, checked together.
///
/// # Errors
/// Every fault of every tool.
pub fn tool_set(config: &Config, extend: &Extend, bus: Bus) -> Result<ToolSet, AssemblyError> {
    if !config.tools.enabled {
        return Ok(ToolSet::default());
    }
    let board = board(config, bus)?;
    let mut builder = ToolSet::builder();
    if let Some(sensors) = board.sensors {
        builder = builder.hal(sensors);
        if config.tools.warehouse.enabled {
            builder = builder.tool(tools::warehouse::read_warehouse_sensors(warehouse_config(config)));
        }
    } else if config.tools.warehouse.enabled {
        tracing::warn!("read_warehouse_sensors is not offered: hal.board has no sensors");
    }
    if let Some(outputs) = board.outputs {
        builder = builder.hal(outputs);
    }
    if let Some(notify) = &config.tools.notify {
        let token = config.notify_token(&ProcessEnv)?.map(|token| tools::Secret::new(token.expose()));
        let outbox = HttpOutbox::new(&notify.url, token.as_ref(), notify.timeout)?;
        builder = builder.tool(send_notification(Arc::new(outbox), notify.timeout));
    }
    let (builder, faults) = http_tools(builder, config);
    match extend(builder).tool(tools::end::end_session()).build() {
        Ok(tools) if faults.is_empty() => Ok(tools),
        Ok(_) => Err(BuildErrors(faults).into()),
        Err(BuildErrors(more)) => Err(BuildErrors(faults.into_iter().chain(more).collect()).into()),
    }
}

/// Adds the tools that a web service carries out, and gives what keeps others of them from being added.
fn http_tools(mut builder: ToolSetBuilder, config: &Config) -> (ToolSetBuilder, Vec<BuildError>) {
    let mut faults = Vec::new();
    let Some(first) = config.http_tools.first() else {
        return (builder, faults);
    };
    let encrypted = config.http_tools.iter().any(|declared| declared.tool.target.is_encrypted());
    let client = match HttpClient::new(if encrypted { Trust::System } else { Trust::Nobody }) {
        Ok(client) => client,
        Err(cause) => {
            // None of them can work, and for one reason.
            faults.push(BuildError { tool: first.tool.name.clone(), fault: fault::chain(&cause) });
            return (builder, faults);
        }
    };
    let mut facts = config.tools.call.clone();
    if facts.device_id.is_empty() {
        facts.device_id = machine_name();
    }
    let facts = Arc::new(facts);
    let secret = |name: &str| config.tool_secret(&ProcessEnv, name).map_err(|fault| fault.to_string());
    for DeclaredTool { tool, origin } in &config.http_tools {
        match tool.declare(&client, &facts, &secret) {
            Ok(declaration) => builder = builder.tool(declaration),
            Err(found) => faults.extend(
                found
                    .into_iter()
                    .map(|fault| BuildError { tool: tool.name.clone(), fault: format!("{origin}: {fault}") }),
            ),
        }
    }
    (builder, faults)
}

/// The name of this machine; empty where nobody gave it one.
fn machine_name() -> String {
    std::fs::read_to_string("/etc/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}

fn board(config: &Config, bus: Bus) -> Result<hal::Board, AssemblyError> {
    Ok(match &config.hal.board {
        Board::None => hal::Board::default(),
        Board::Sim(zones) => {
            if bus == Bus::Thread {
                tracing::info!(
                    "hal.board = \"sim\": the sensors are a simulator; their readings are not real"
                );
            }
            let zones = zones.iter().map(|(name, zone)| (name.as_str(), zone.temp_c, zone.humidity));
            hal::sim::warehouse_of(&bus.lane("sim")?, zones).0
        }
    })
}

fn warehouse_config(config: &Config) -> tools::warehouse::WarehouseConfig {
    let zones = config.tools.warehouse.zones.iter();
    let limits = zones.map(|(name, zone)| {
        (name.clone(), tools::warehouse::Limits { min_c: zone.min_c, max_c: zone.max_c })
    });
    tools::warehouse::WarehouseConfig { limits: limits.collect() }
}

/// The clips of the configuration, decoded.
///
/// # Errors
/// Every clip that cannot be used.
pub fn clips(config: &Config) -> Result<Clips, AssemblyError> {
    let sources: Vec<(String, String)> = config
        .clips
        .iter()
        .map(|(name, source)| {
            let source = match source {
                ClipSource::Builtin(name) => format!("builtin:{name}"),
                ClipSource::File(path) => path.display().to_string(),
            };
            (name.clone(), source)
        })
        .collect();
    let sources = sources.iter().map(|(name, source)| (name.as_str(), source.as_str()));
    Clips::load(sources).map_err(AssemblyError::Clips)
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

fn session_config(config: &Config) -> session::Config {
    let mut settings = session::Config {
        engage: match config.engage.mode {
            EngageMode::Always => session::Engage::Always,
            EngageMode::Voice => session::Engage::Voice { idle_after: config.engage.idle_after },
        },
        preroll_max: config.engage.preroll,
        barge_in_min_speech: config.barge_in.min_speech,
        ..session::Config::default()
    };
    settings.gate.deadline = config.gate.deadline;
    settings.gate.grant = config.gate.grant;
    settings.gate.attempts = u32::from(config.gate.attempts);
    settings
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
