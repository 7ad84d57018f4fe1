// SPDX-License-Identifier: MIT OR Apache-2.0

//! The demo: the whole product against a rehearsal, with nothing installed.
//!
//! The daemon is the real one, and so are the signal processing, the WebSocket, the JSON and the HTTP effect. What is
//! not real says so: the model is a scripted *rehearsal*, the person is a recording, the sensors are a simulator. The
//! demo ends well only if everything it promises happened.

mod console;
mod person;
pub mod sink;
mod verdict;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rehearsal::{Rehearsal, Voices};
use session::{LineKind, Notice};
use tokio::time::{MissedTickBehavior, interval};
use units::{Instant, Pcm};

use crate::assembly::{self, Assembly, AssemblyError, Extend};
use crate::cli::{EXIT_INTERNAL, fail};
use crate::config::{Config, Faults, Sources};
use crate::driver::DriverError;
use crate::fault::chain;
use crate::identity::Identity;
use crate::provider::{Connect, Connecting, Endpoint, Secret};
use crate::speech::SpeechError;
use crate::supervise;
use crate::switch::Switch;
use crate::timeline::Timeline;
use crate::watch::{Moment, Observer};

/// The key the rehearsal expects: a made-up one, so that a real key is never needed or sent.
const KEY: &str = "rehearsal-key";

/// One hop of the audio worker.
const HOP: Duration = Duration::from_millis(10);

/// Bytes that may be under way between daemon and rehearsal in memory: a socket's buffer.
const STREAM_BUFFER: usize = 256 * 1024;

/// How the demo is run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// As fast as the machine can, on virtual time, instead of in real time
    #[arg(long)]
    pub fast: bool,
    /// Folder for heard.wav, timeline.jsonl, the wire log and the gate log; what an earlier demo left there is replaced
    #[arg(long, value_name = "FOLDER", default_value = "demo-out")]
    pub out: PathBuf,
    /// Speak yourself: use a microphone of this machine instead of the recording
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "default", conflicts_with = "fast")]
    pub mic: Option<String>,
    /// Use a loudspeaker of this machine instead of heard.wav
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "default", conflicts_with = "fast")]
    pub speaker: Option<String>,
    /// Take the person's part: Enter says the next line, or type what to say; with --mic, speak
    #[arg(long, conflicts_with = "fast")]
    pub interactive: bool,
    /// Which provider's protocol the rehearsal speaks
    #[arg(long, default_value = "gemini", value_parser = ["gemini"])]
    pub provider: String,
    /// No timeline on the terminal, only the summary
    #[arg(long)]
    pub quiet: bool,
}

/// Why the demo could not be run. That something it promised did not happen is not among them: the summary says so.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Its files cannot be written.
    #[error("cannot write to `{}`: {cause}; choose another folder with --out", path.display())]
    Files {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The bundled configuration is broken by the environment (`VOICED__…` variables).
    #[error("{0}")]
    Config(#[from] Faults),
    /// The bundled scenario or recordings are broken.
    #[error("the bundled rehearsal is broken: {0}")]
    Rehearsal(String),
    /// A loopback port could not be had.
    #[error("no loopback port: {0}")]
    Loopback(io::Error),
    /// A person who was to take part cannot: no microphone, no loudspeaker, no terminal.
    #[error("{0}")]
    Person(String),
    /// The device has no voice, so it could not ask the question of the confirmation gate.
    #[error("{0}")]
    Speech(#[from] SpeechError),
    /// The daemon could not be put together.
    #[error("{0}")]
    Assembly(#[from] AssemblyError),
    /// The daemon failed.
    #[error("{0}")]
    Driver(#[from] DriverError),
}

/// Runs `voiced demo`.
pub(crate) fn main(options: Options, extend: &Extend) -> ExitCode {
    let paused = options.fast;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(paused).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(cause) => {
            return fail(EXIT_INTERNAL, format_args!("the async runtime cannot be started: {cause}"));
        }
    };
    let result = runtime.block_on(run(&options, extend));
    runtime.shutdown_background();
    match result {
        Ok(verdict) => {
            let code = u8::from(!verdict.passed());
            print(&verdict.to_string());
            ExitCode::from(code)
        }
        Err(fault) => fail(EXIT_INTERNAL, chain(&fault)),
    }
}

/// Prints to standard output. A reader that went away (`| head`) is no error.
fn print(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Runs the demo and judges it.
///
/// # Errors
/// See [`DemoError`].
pub async fn run(options: &Options, extend: &Extend) -> Result<verdict::Verdict, DemoError> {
    let paths = Paths::prepare(&options.out)?;
    let broken = |cause: &dyn std::error::Error| DemoError::Rehearsal(cause.to_string());
    let voices = Voices::bundled().map_err(|cause| broken(&cause))?;
    let scenario = rehearsal::demo::scenario().map_err(|cause| broken(&cause))?;
    let rehearsal = Rehearsal::new(scenario, voices).map_err(|cause| broken(&cause))?;
    let sink = sink::Sink::start().await.map_err(DemoError::Loopback)?;

    let recorded_person = options.mic.is_none() && !options.interactive;
    if recorded_person {
        let microphone = rehearsal::demo::microphone().map_err(|cause| broken(&cause))?;
        write_wav(&paths.person, &microphone).map_err(|cause| paths.fault(&paths.person, cause))?;
    }
    let config = config(options, &paths, &sink)?;
    let speech = assembly::speech(&config);
    speech.find()?;
    let witness = Witness::default();
    let timeline = fs::File::create(&paths.timeline).map_err(|cause| paths.fault(&paths.timeline, cause))?;
    let mut assembly = Assembly::new(config, extend)
        .key(Secret::new(KEY))
        .identity(Identity::load(None))
        .observer(Timeline::new(BufWriter::new(timeline)))
        .observer(witness.clone())
        .end_with_session();
    let (gone, mut person_gone) = tokio::sync::mpsc::channel(1);
    if options.mic.is_some() || options.speaker.is_some() {
        assembly = assembly.observer(person::Devices::new(gone.clone()));
    }
    if options.mic.is_some() {
        print(&person::script());
    } else if options.interactive {
        let playback = options.speaker.clone().map_or_else(
            || audio::Sink::File { path: paths.heard.clone() },
            |id| audio::Sink::Cpal { id: (id != "default").then_some(id) },
        );
        assembly =
            assembly.devices(audio::Source::Sim(person::keyboard(speech.clone(), gone.clone())), playback);
    }
    if !options.quiet {
        assembly = assembly.observer(console::Console::new(!options.fast));
    }

    if options.fast {
        let connector = Arc::new(InMemory { rehearsal: rehearsal.clone() });
        let (driver, stepper) = assembly.virtual_time().connector(connector).stepped()?;
        step_through(stepper, driver.run(stop(recorded_person.then_some(paths.limit())))).await?;
    } else {
        let (address, server) = rehearsal.listen("127.0.0.1:0").await.map_err(DemoError::Loopback)?;
        let connector = Arc::new(Redirect(address));
        let driver = assembly.connector(connector).driver()?;
        let mut fault = None;
        let stop = async {
            tokio::select! {
                () = stop(recorded_person.then_some(paths.limit())) => {}
                text = person_gone.recv() => fault = text,
            }
        };
        let ended = driver.run(stop).await;
        server.abort();
        ended?;
        if let Some(text) = fault {
            return Err(DemoError::Person(text));
        }
    }
    let read_back = match witness.read_back() {
        // A voice that cannot speak has failed the demo already, and said why.
        Some(text) => speech.render(text).await.ok(),
        None => None,
    };
    let facts = verdict::Facts {
        read_back,
        report: rehearsal.report(),
        deliveries: sink.deliveries(),
        notices: witness.notices(),
        heard: if options.speaker.is_none() { Some(paths.heard.clone()) } else { None },
        timeline: paths.timeline.clone(),
        state: paths.state.clone(),
        scripted_person: recorded_person,
    };
    Ok(verdict::judge(&facts))
}

/// Moves the audio worker by one hop every 10 ms of the runtime's clock until `conversation` is over. Afterwards the
/// worker's files are complete.
pub async fn step_through<T>(mut stepper: audio::Stepper, conversation: impl Future<Output = T>) -> T {
    let hops = async {
        let mut hops = interval(HOP);
        hops.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            hops.tick().await;
            stepper.hop();
        }
    };
    tokio::select! {
        biased;
        result = conversation => result,
        () = hops => unreachable!("the hops have no end"),
    }
}

/// Completes on ^C, or when a demo that should have ended by itself has not.
async fn stop(limit: Option<Duration>) {
    let expired = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        // Without signal handlers the limit ends it.
        Ok(_) = supervise::stop_requested(Switch::default()) => {}
        () = expired => {}
    }
}

fn config(options: &Options, paths: &Paths, sink: &sink::Sink) -> Result<Config, DemoError> {
    let person = paths.person.display();
    let heard = paths.heard.display();
    let capture = options.mic.clone().unwrap_or_else(|| format!("file:{person}"));
    let playback = options.speaker.clone().unwrap_or_else(|| format!("file:{heard}"));
    // A recording holds no echo, so the person can be heard over the reply. A room does.
    let echo = if options.mic.is_some() && options.speaker.is_some() { "half_duplex" } else { "off" };
    let set = vec![
        "provider.endpoint=ws://127.0.0.1:1".to_owned(),
        format!("audio.capture={capture}"),
        format!("audio.playback={playback}"),
        // A recording of a person stands for one.
        "gate.trust_capture=true".to_owned(),
        format!("audio.echo.mode={echo}"),
        "engage.mode=always".to_owned(),
        "tools.notify.enabled=true".to_owned(),
        format!("tools.notify.url={}", sink.url()),
        "hal.sim.zones.cold_storage.temp_c=11.4".to_owned(),
        format!("log.wire_dir={}", paths.wire.display()),
        format!("state.dir={}", paths.state.display()),
    ];
    let sources = Sources { set, ..Sources::shipped_example() };
    Ok(Config::load(&sources)?.config)
}

/// The files of a demo.
#[derive(Debug)]
struct Paths {
    person: PathBuf,
    heard: PathBuf,
    timeline: PathBuf,
    wire: PathBuf,
    /// What is kept of questions and approvals.
    state: PathBuf,
}

impl Paths {
    fn prepare(out: &Path) -> Result<Self, DemoError> {
        let fault = |cause| DemoError::Files { path: out.to_owned(), cause };
        let paths = Self {
            person: out.join("person.wav"),
            heard: out.join("heard.wav"),
            timeline: out.join("timeline.jsonl"),
            wire: out.join("wire"),
            state: out.join("state"),
        };
        fs::create_dir_all(out).map_err(fault)?;
        for before in [&paths.wire, &paths.state] {
            match fs::remove_dir_all(before) {
                Ok(()) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(fault(cause)),
            }
        }
        Ok(paths)
    }

    fn fault(&self, path: &Path, cause: io::Error) -> DemoError {
        DemoError::Files { path: path.to_owned(), cause }
    }

    /// A demo that has not ended by then has failed.
    const fn limit(&self) -> Duration {
        Duration::from_secs(150)
    }
}

fn write_wav(path: &Path, pcm: &Pcm) -> io::Result<()> {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: pcm.rate().get(),
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(path, spec).map_err(io::Error::other)?;
    for &sample in pcm.samples() {
        writer.write_sample(sample).map_err(io::Error::other)?;
    }
    writer.finalize().map_err(io::Error::other)
}

/// Byte streams to a rehearsal in this process.
#[derive(Clone)]
pub struct InMemory {
    /// Serves the other end of each.
    pub rehearsal: Rehearsal,
}

impl Connect for InMemory {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(STREAM_BUFFER);
        let rehearsal = self.rehearsal.clone();
        tokio::spawn(async move { rehearsal.serve_stream(theirs).await });
        Box::pin(async move { Ok(Box::new(ours) as Box<dyn crate::provider::ByteStream>) })
    }
}

/// TCP to one address, whatever the endpoint says: the port is known only once the rehearsal listens.
struct Redirect(std::net::SocketAddr);

impl Connect for Redirect {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> Connecting<'a> {
        Box::pin(async move {
            let stream = tokio::net::TcpStream::connect(self.0).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn crate::provider::ByteStream>)
        })
    }
}

/// Remembers what was noticed, to be judged afterwards.
#[derive(Clone, Debug, Default)]
pub struct Witness(Arc<Mutex<Testimony>>);

#[derive(Debug, Default)]
struct Testimony {
    notices: Vec<(Instant, Notice)>,
    read_back: Option<String>,
}

impl Witness {
    /// Everything noticed, in order.
    #[must_use]
    pub fn notices(&self) -> Vec<(Instant, Notice)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).notices.clone()
    }

    /// The first question the device asked, in its words.
    #[must_use]
    pub fn read_back(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read_back.clone()
    }
}

impl Observer for Witness {
    fn observe(&mut self, at: Instant, moment: &Moment<'_>) {
        let mut testimony = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match moment {
            Moment::Notice(notice) => testimony.notices.push((at, (*notice).clone())),
            Moment::Line { text, kind: LineKind::ReadBack } => {
                testimony.read_back.get_or_insert_with(|| (*text).to_owned());
            }
            Moment::Line { .. }
            | Moment::Event(_)
            | Moment::Audio(_)
            | Moment::Anomaly(_)
            | Moment::Outcome { .. }
            | Moment::Record(_) => {}
        }
    }
}
