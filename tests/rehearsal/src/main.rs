// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rehearsal as a program: serves one scenario on a TCP address until it is stopped, then says how it went.

#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use rehearsal::{Rehearsal, Report, Scenario, ScenarioError, VoiceError, Voices};

/// A scripted live model that speaks the Gemini Live wire protocol over a WebSocket.
///
/// It understands nothing: what the person "said" and what the model answers are in the scenario. Point a client at
/// ws://ADDRESS/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent and talk to it. Stop
/// it with Ctrl-C: it prints what was violated and what the scenario missed, and exits 1 if there was any.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// A scenario file, or the name of a bundled scenario (see --list).
    #[arg(long, value_name = "FILE|NAME", required_unless_present = "list")]
    scenario: Option<String>,

    /// Where to listen; port 0 picks a free one. The address is printed on the first line.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: String,

    /// Write the messages of each connection to client-N.jsonl and server-N.jsonl in this directory.
    #[arg(long, value_name = "DIRECTORY")]
    transcript_dir: Option<PathBuf>,

    /// Require this key in the x-goog-api-key header, and refuse any other as the live service does.
    #[arg(long, value_name = "KEY")]
    expect_key: Option<String>,

    /// Print the names of the bundled scenarios and exit.
    #[arg(long)]
    list: bool,
}

/// Why the program ends at once.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("scenario {name} cannot be read: {cause}")]
    Read { name: String, cause: std::io::Error },
    #[error("scenario {name}: {cause}")]
    Scenario { name: String, cause: ScenarioError },
    #[error("bundled voices: {0}")]
    Voices(#[from] VoiceError),
    #[error("transcript directory {} cannot be made: {cause}", path.display())]
    Directory { path: PathBuf, cause: std::io::Error },
    #[error("cannot listen on {address}: {cause}")]
    Listen { address: String, cause: std::io::Error },
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(args) {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(failure) => {
            tracing::error!("{failure}");
            ExitCode::from(2)
        }
    }
}

/// Whether the client did everything right.
fn run(args: Args) -> Result<bool, Failure> {
    let mut out = std::io::stdout();
    if args.list {
        for name in Scenario::names() {
            writeln!(out, "{name}")?;
        }
        return Ok(true);
    }
    let mut scenario = load(args.scenario.unwrap_or_default())?;
    if let Some(key) = args.expect_key {
        scenario = scenario.with_key(key);
    }
    let name = scenario.name().to_owned();
    let mut rehearsal =
        Rehearsal::new(scenario, Voices::bundled()?).map_err(|cause| Failure::Scenario { name, cause })?;
    if let Some(path) = args.transcript_dir {
        std::fs::create_dir_all(&path).map_err(|cause| Failure::Directory { path: path.clone(), cause })?;
        rehearsal = rehearsal.with_wire_log(path);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let address = args.listen;
        let (local, _task) =
            rehearsal.listen(&address).await.map_err(|cause| Failure::Listen { address, cause })?;
        writeln!(out, "rehearsal listening on ws://{local}")?;
        out.flush()?;
        stopped().await?;
        let report = rehearsal.report();
        write!(out, "{}", summary(&report))?;
        Ok(report.violations.is_empty() && report.unmet.is_empty())
    })
}

/// Ctrl-C, or the polite signal that a service manager sends.
async fn stopped() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// A bundled scenario by name, or else a file.
fn load(name: String) -> Result<Scenario, Failure> {
    let scenario = if Scenario::names().any(|known| known == name) {
        Scenario::bundled(&name)
    } else {
        let text =
            std::fs::read_to_string(&name).map_err(|cause| Failure::Read { name: name.clone(), cause })?;
        Scenario::parse(&text)
    };
    scenario.map_err(|cause| Failure::Scenario { name, cause })
}

fn summary(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} connections, {} of {} turns, {} calls, {} answers, {} interruptions, {:.1} s of microphone audio",
        report.connections,
        report.turns_started,
        report.turns_total,
        report.calls.len(),
        report.answers.len(),
        report.interruptions,
        report.client_audio.as_secs_f64(),
    );
    for (kind, lines) in
        [("violation", &report.violations), ("unmet", &report.unmet), ("note", &report.notes)]
    {
        for line in lines {
            let _ = writeln!(text, "{kind}: {line}");
        }
    }
    text
}
