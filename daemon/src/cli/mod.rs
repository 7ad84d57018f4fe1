// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command line: every subcommand, its help and its exit code.

mod audio_bench;
mod audio_list;
mod audio_tests;
mod audio_verdict;
mod check;
mod gate;
mod import;
mod run;
mod tool_commands;
mod tool_report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use self::audio_tests::HowLong;
use self::gate::GateCommand;
use self::tool_commands::ToolsCommand;
use crate::assembly::{Extend, Surfaces};
use crate::config::{Config, Faults, Loaded, Sources};
use crate::demo;
use crate::fault::chain;
use crate::speech::SpeechError;

/// The configuration is wrong. `EX_CONFIG` of sysexits.h; the unit does not restart on it.
pub(crate) const EXIT_CONFIG: u8 = 78;

/// Something inside failed that no configuration cures. `EX_SOFTWARE` of sysexits.h.
pub(crate) const EXIT_INTERNAL: u8 = 70;

#[derive(Debug, Parser)]
#[command(
    name = "voiced",
    version,
    about = "Voice daemon: a microphone, a live speech model, and tools that ask before they act",
    after_help = "Start with `voiced demo`: the whole product without an account, a network or a sound card.\n\
                  Exit codes: 0 ended as asked, 1 a tried tool, device or the demo failed or the gate log is broken, 2 wrong arguments, 70 internal error, \
                  78 wrong configuration."
)]
struct Cli {
    #[command(flatten)]
    sources: SourceArgs,
    #[command(subcommand)]
    command: Command,
}

/// Where the configuration comes from; the same for every subcommand.
#[derive(Debug, Args)]
struct SourceArgs {
    /// Configuration file; its drop-ins are the `voiced.d/*.toml` beside it
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one key over file and environment, e.g. `--set vad.hangover_ms=300`
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl SourceArgs {
    fn sources(self) -> Sources {
        Sources::from_process(self.config, self.set)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon in the foreground; logs go to standard error
    Run {
        /// Stay up when the configuration is wrong, and read it again on SIGHUP: for services
        #[arg(long)]
        keep_going: bool,
    },
    /// Rehearse a whole conversation: scripted model, recorded person, real everything else
    Demo(demo::Options),
    /// Check configuration, tools, clips and speech engine; print every fault
    Check {
        /// One JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at the sound devices, and try those of the configuration
    #[command(subcommand)]
    Audio(AudioCommand),
    /// Look at what is kept of questions and approvals
    #[command(subcommand)]
    Gate(GateCommand),
    /// Look at the tools and try them
    #[command(subcommand)]
    Tools(ToolsCommand),
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Every effective value and where it comes from; secrets are masked
    Show,
}

#[derive(Debug, Subcommand)]
enum AudioCommand {
    /// Every device with its id, direction, rates and channels, or why it cannot be opened
    List {
        /// One JSON array instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Listen, and say whether the microphone is good: speech, clipping, offset, silence, noise. Speak meanwhile
    TestMic(HowLong),
    /// Play three rising tones, and say whether the loudspeaker took them
    TestSpeaker(HowLong),
    /// Show the level of the microphone ten times a second
    Levels(HowLong),
    /// Record, measure the way from the loudspeaker to the microphone, and play the recording back
    Loopback(HowLong),
}

impl AudioCommand {
    fn run(self, sources: &Sources) -> ExitCode {
        let (test, how): (fn(&Config, &HowLong) -> ExitCode, HowLong) = match self {
            Self::List { json } => return audio_list::list(json),
            Self::TestMic(how) => (audio_tests::test_mic, how),
            Self::TestSpeaker(how) => (audio_tests::test_speaker, how),
            Self::Levels(how) => (audio_tests::levels, how),
            Self::Loopback(how) => (audio_tests::loopback, how),
        };
        load(sources).map_or_else(|code| code, |loaded| test(&loaded.config, &how))
    }
}

/// Parses the arguments of this process and does what they say.
pub(crate) fn main(extend: Extend, surfaces: Surfaces) -> ExitCode {
    let Cli { sources, command } = Cli::parse();
    if let Err(cause) = crate::supervise::close_to_others() {
        note(format_args!("the environment of this process is open to what it starts: {cause}"));
    }
    match command {
        Command::Run { keep_going } => run::run(&sources.sources(), &extend, &surfaces, keep_going),
        // It would be taken for what the demo runs with.
        Command::Demo(_) if sources.config.is_some() || !sources.set.is_empty() => {
            fail(2, "the demo brings its own configuration; leave out --config and --set")
        }
        Command::Demo(options) => demo::main(options, &extend),
        Command::Check { json } => check::check(&sources.sources(), &extend, &surfaces, json),
        Command::Config(ConfigCommand::Show) => match load(&sources.sources()) {
            Ok(loaded) => print(&loaded.show()),
            Err(code) => code,
        },
        Command::Audio(command) => command.run(&sources.sources()),
        Command::Gate(command) => gate::run(command, &sources.sources()),
        // It makes a configuration and needs none.
        Command::Tools(ToolsCommand::Import { file }) => import::import(&file),
        Command::Tools(ToolsCommand::Configured(command)) => match load(&sources.sources()) {
            Ok(loaded) => tool_commands::run(command, &loaded.config, &extend),
            Err(code) => code,
        },
    }
}

/// Why the device has no voice of its own, and what it cannot do without one.
fn no_voice(fault: &SpeechError) -> String {
    format!(
        "{}; the device says nothing of its own, so nothing that asks a person first is done",
        chain(fault)
    )
}

/// What asynchronous work of a command runs on.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Loads the configuration or prints its faults.
fn load(sources: &Sources) -> Result<Loaded, ExitCode> {
    Config::load(sources).map_err(|faults| complain(&faults))
}

fn complain(faults: &Faults) -> ExitCode {
    note(faults);
    ExitCode::from(EXIT_CONFIG)
}

/// Prints one thing to standard error, as it is. Nobody need be reading it.
pub(crate) fn note(text: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// The head of what somebody else named, without anything that a terminal acts on.
fn shown(name: &str, chars: usize) -> String {
    name.escape_debug().take(chars).collect()
}

/// Prints to standard output. A reader that went away (`| head`) is no error; a full disk is.
fn print(text: &str) -> ExitCode {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(EXIT_INTERNAL, format_args!("the output cannot be written: {cause}"))
        }
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

/// Prints to standard error what went wrong and gives the exit code for it.
pub(crate) fn fail(code: u8, text: impl std::fmt::Display) -> ExitCode {
    note(format_args!("voiced: {text}"));
    ExitCode::from(code)
}
