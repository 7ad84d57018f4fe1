// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration: layers of text in, one value that cannot be wrong out.
//!
//! Decides what every key may hold and what it is when nobody sets it. Never opens a device, a socket or a key: it
//! reads the configuration files, the persona file they name, and looks whether the clip files exist.
//!
//! # Layers
//! Later ones win, key by key: the shipped defaults (`Raw::default`, the one place a default is written), the file,
//! the drop-ins of the folder `voiced.d` beside it in the order of their names, `VOICED__SECTION__KEY` in the
//! environment, and `--set section.key=value`. The merging itself is the `config` crate's.
//!
//! # Faults
//! Every fault of every layer is reported together ([`Faults`]), each with its place, key, value and what was expected.
//! A [`Config`] exists only when there is none, so nothing downstream checks a range again.

mod check;
mod clips;
mod consent;
mod fault;
mod gate;
mod http_tool;
mod key;
mod layer;
mod load;
mod locate;
mod mcp;
#[cfg(test)]
mod mcp_tests;
mod raw;
mod schema;
mod show;
mod sounds;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use session::Profile;
use session::lexicon::Locale;
use tools::http::{CallFacts, Egress};
use units::Db;

use crate::clip::earcon::{Earcon, EarconSource};
use crate::records::Bounds;

pub use clips::ClipSource;
pub use fault::{Fault, Faults, Origin, Problem};
pub use http_tool::DeclaredTool;
pub use key::{Env, KeyError, ProcessEnv, StateDirError};
pub use load::{DEFAULT_FILE, Entry, FileSource, Loaded, Sources};
pub use locate::Position;
pub use sounds::MuteLine;

/// The checked configuration. Spans are `Duration`, levels are [`Db`], choices are enums.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The live model and how it is reached.
    pub provider: Provider,
    /// Who the voice is.
    pub persona: Persona,
    /// Devices, level and echo policy.
    pub audio: Audio,
    /// The local speech detector.
    pub vad: Vad,
    /// When speech stops a reply.
    pub barge_in: BargeIn,
    /// When the microphone is live.
    pub engage: Engage,
    /// The device's own voice.
    pub speech: Speech,
    /// The confirmation gate.
    pub gate: Gate,
    /// What the model may call.
    pub tools: Tools,
    /// Tools that a web service carries out, in the order of the files.
    pub http_tools: Vec<DeclaredTool>,
    /// Servers of other processes whose tools the model may call too.
    pub mcp: Vec<tools::mcp::ServerConfig>,
    /// Clips by name.
    pub clips: BTreeMap<String, ClipSource>,
    /// Sounds that tell how the device stands; those left out do not sound.
    pub earcons: BTreeMap<Earcon, EarconSource>,
    /// The hardware.
    pub hal: Hal,
    /// Where state is kept.
    pub state: State,
    /// What is logged.
    pub log: Log,
}

/// `[provider]`
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Which protocol is spoken.
    pub kind: ProviderKind,
    /// Model id, without the `models/` prefix.
    pub model: String,
    /// Where the service is.
    pub endpoint: Endpoint,
    /// Environment variable that holds the key.
    pub api_key_env: String,
    /// File that holds the key; wins over the credential and the variable.
    pub api_key_file: Option<PathBuf>,
    /// Name of the model's voice; `None` leaves the choice to the service.
    pub voice: Option<String>,
    /// BCP-47 tag; `None` lets the model follow the person.
    pub language: Option<String>,
}

/// Protocols of live speech services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Gemini Live.
    Gemini,
}

/// Where the service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The public service of the provider's maker.
    Public,
    /// A `wss://` URL, or a `ws://` one that was allowed.
    Url(String),
}

/// `[persona]`
#[derive(Clone, Debug, PartialEq)]
pub struct Persona {
    /// Who the voice is: from `text`, or read from `file`.
    pub text: String,
    /// What follows the persona in the instruction: the site, its rules. May be empty.
    pub profile: String,
}

/// `[audio]`
#[derive(Clone, Debug, PartialEq)]
pub struct Audio {
    /// The microphone.
    pub capture: Device,
    /// The loudspeaker.
    pub playback: Device,
    /// Which channel of the microphone is listened to.
    pub capture_channel: CaptureChannel,
    /// The microphone may be the copy of what a loudspeaker plays.
    pub allow_monitor: bool,
    /// Playback level; -60..=12 dB.
    pub volume: Db,
    /// What is done about the loudspeaker being heard by the microphone.
    pub echo: Echo,
    /// What is recorded, for diagnosis; `None` where nothing is.
    pub recording: Option<audio::Recording>,
}

/// One end of the audio path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// The system's default device.
    Default,
    /// A device by its name or stable id.
    Named(String),
    /// A WAV file: read as a microphone, written as a loudspeaker.
    File(PathBuf),
    /// None: silence in, nowhere out.
    None,
}

/// Which channel of the microphone is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureChannel {
    /// The mean of all.
    Mix,
    /// One, counted from 0.
    Index(u16),
}

/// `[audio.echo]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The policy.
    pub mode: EchoMode,
    /// How long the microphone stays closed after the last frame played, in half duplex and in what `auto` does of it;
    /// 0..=2000 ms.
    pub tail: Duration,
    /// Whether steady noise is lowered where echo is cancelled.
    pub noise_suppression: bool,
    /// Whether the level of speech is evened out there.
    pub gain_control: bool,
}

/// Echo policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoMode {
    /// Cancelled if that works, passed through if there is none, half duplex otherwise, by measure.
    Auto,
    /// Cancelled.
    Software,
    /// The device cancels it; that it does is watched.
    Hardware,
    /// The microphone is not listened to while the loudspeaker plays. No barge-in.
    HalfDuplex,
    /// Nothing is done: for headsets.
    Off,
}

/// `[vad]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vad {
    /// Speech probability that counts as speech; 0.1..=0.95.
    pub threshold: f32,
    /// Speech needed before an onset is reported; 32..=500 ms.
    pub onset: Duration,
    /// How long speech is held open after the last voiced hop; 10..=3000 ms, whole hops.
    pub hangover: Duration,
    /// Quieter than this is never speech; -90..=-20 dBFS.
    pub level_floor: Db,
}

/// `[barge_in]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BargeIn {
    /// Speech that makes a barge-in certain; 0..=2000 ms.
    pub min_speech: Duration,
}

/// `[engage]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engage {
    /// What opens the microphone to the model.
    pub mode: EngageMode,
    /// Silence of both sides after which an engaged session closes; 5..=3600 s.
    pub idle_after: Duration,
    /// Most microphone audio kept in memory from before the link is ready; 300..=3000 ms.
    pub preroll: Duration,
}

/// What opens the microphone to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngageMode {
    /// Speech found by the local detector.
    Voice,
    /// Nothing has to: the link is held for ever.
    Always,
}

/// `[speech]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speech {
    /// What renders a sentence.
    pub engine: SpeechEngine,
    /// Voice or language name of the engine.
    pub voice: String,
}

/// What renders the device's own sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpeechEngine {
    /// The `espeak-ng` program.
    EspeakNg,
    /// Program and arguments: text on standard input, a WAV on standard output.
    Command(Vec<String>),
}

/// `[gate]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// How a person is asked and answers.
    pub asking: Asking,
    /// What wears people down, or should not be possible however they answer.
    pub limits: Limits,
    /// How long an answer is waited for once the question was heard; 5..=300 s.
    pub deadline: Duration,
    /// How long a yes stays good; 5..=60 s.
    pub grant: Duration,
    /// Unclear answers before the action is dropped; 1..=5.
    pub attempts: u8,
    /// What is kept of questions and approvals, in the folder for state: 1..=1000 MB a file, and 0..=100 files beside it.
    pub log: crate::gate_log::Settings,
}

/// How a person is asked and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The language that answers are read in.
    pub locale: Locale,
    /// Other languages that are spoken here.
    pub other_locales: Vec<Locale>,
    /// Who reads a question out.
    pub read_back: ReadBack,
    /// A model that put the question first and calls only after the yes may be taken at its word.
    pub accept_preasked: bool,
    /// Whatever `audio.capture` is, it is the room.
    pub trust_capture: bool,
}

/// Who reads a question out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// The device, with its own voice.
    Device,
    /// The model, word by word.
    Model,
}

/// What wears people down, or should not be possible however they answer. Each counts for one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Questions in ten minutes that nobody agrees to; 1..=20.
    pub proposals: u8,
    /// Times that it is turned down in a conversation before it needs the screen; 1..=10.
    pub declines: u8,
    /// Times that calls may try to get past a refusal before it needs the screen; 1..=10.
    pub violations: u8,
    /// Calls in an hour that are agreed to; 1..=1000.
    pub effects: u16,
}

/// `[tools]`
#[derive(Clone, Debug, PartialEq)]
pub struct Tools {
    /// Whether the model is offered tools at all.
    pub enabled: bool,
    /// How often a turn's tools may ask the model to speak again.
    pub profile: Profile,
    /// From call to answer where a tool sets no time of its own; 1..=30 s.
    pub timeout: Duration,
    /// The sensor tool.
    pub warehouse: Warehouse,
    /// The message tool; `None` when it is off.
    pub notify: Option<Notify>,
    /// The tool that searches documents; `None` when it is off.
    pub kb: Option<Kb>,
    /// The tools that change how the device sounds; `None` when they are off.
    pub device_audio: Option<DeviceAudio>,
    /// Folder that holds one file for each secret of a header; `None` where there are credentials only.
    pub secrets_dir: Option<PathBuf>,
    /// Hosts that the tools of the configuration may call.
    pub egress: Egress,
    /// What every service is told of a call. An empty `device_id` is the name of the machine.
    pub call: CallFacts,
}

/// `[tools.warehouse]`
#[derive(Clone, Debug, PartialEq)]
pub struct Warehouse {
    /// Whether the tool is offered.
    pub enabled: bool,
    /// Limits by zone; a zone without an entry has none.
    pub zones: BTreeMap<String, ZoneLimits>,
}

/// `[tools.warehouse.zones.NAME]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZoneLimits {
    /// Colder than this is out of range; -60..=100 °C.
    pub min_c: f64,
    /// Warmer than this is out of range; above `min_c`, up to 100 °C.
    pub max_c: f64,
}

/// `[tools.notify]`, when it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notify {
    /// Where the message is posted.
    pub url: String,
    /// Environment variable that holds the bearer token, if one is sent.
    pub token_env: Option<String>,
    /// How long an answer is waited for; 1..=30 s.
    pub timeout: Duration,
}

/// `[tools.kb]`, when it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kb {
    /// The documents. What is in it is looked at when the tools are built.
    pub folder: PathBuf,
    /// Who named it.
    pub origin: Origin,
}

/// `[tools.device_audio]`, when it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceAudio {
    /// Names of the tools.
    pub offer: Vec<String>,
    /// How a person switches the microphone on again; only then can a tool switch it off.
    pub unmute: Option<String>,
    /// Voices of the model to choose from, that of `provider.voice` first; none where it stays as it is.
    pub voices: Vec<String>,
}

/// `[hal]`
#[derive(Clone, Debug, PartialEq)]
pub struct Hal {
    /// Which board.
    pub board: Board,
    /// The button that a person agrees with; `None` where there is none.
    pub button: Option<Button>,
    /// The switch that holds the microphone off; `None` where there is none.
    pub mute: Option<MuteLine>,
}

/// `[hal.button]`, where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// The input device.
    pub device: PathBuf,
    /// The code of its key; 1..=767.
    pub key: u16,
}

/// Which board.
#[derive(Clone, Debug, PartialEq)]
pub enum Board {
    /// The simulator, with these zones.
    Sim(BTreeMap<String, SimZone>),
    /// No hardware: tools that need some are not offered.
    None,
}

/// `[hal.sim.zones.NAME]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimZone {
    /// -60..=100 °C.
    pub temp_c: f64,
    /// 0..=100 % relative humidity.
    pub humidity: f64,
}

/// `[state]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Folder for state; `None` lets [`Config::state_dir`] choose.
    pub dir: Option<PathBuf>,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Least severe level that is written.
    pub level: Level,
    /// Folder for logs of every message to and from the provider; `None` writes none.
    pub wire_dir: Option<PathBuf>,
    /// Where calls, results and what was said are kept; `None` keeps nothing.
    pub records: Option<Records>,
}

/// `log.records` and its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The file.
    pub path: PathBuf,
    /// How much disk it may take; 1..=1000 MB a file, and 0..=100 files beside it.
    pub bounds: Bounds,
}

/// Log levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The daemon cannot do its work.
    Error,
    /// Worth waking someone.
    Warn,
    /// The user would notice.
    Info,
    /// For a developer; includes transcripts.
    Debug,
    /// Per packet.
    Trace,
}

impl Level {
    /// As the file spells it; also a filter directive of `tracing`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl Default for Config {
    /// The shipped defaults.
    fn default() -> Self {
        match Self::load(&Sources::default()) {
            Ok(loaded) => loaded.config,
            Err(faults) => unreachable!("a shipped default is out of its own range: {faults}"),
        }
    }
}
