// SPDX-License-Identifier: MIT OR Apache-2.0

//! Measures the daemon on the virtual sound card and prints a table. `README.md` beside this file says how.
//!
//! The program runs itself inside the environment of the card, because ALSA reads its configuration from there: the
//! outer one starts the card and ends it, the inner one measures.

mod calls;
mod cost;
mod gate;
mod latency;
mod model;
mod report;
mod signal;
mod streams;
mod subject;

use std::fs;
use std::process::{Command, ExitCode};

use clap::{Parser, ValueEnum};
use e2e::{MICROPHONE, Rig, SPEAKER, Scratch, voiced_binary};

use crate::report::{Figure, table};

/// Measures `voiced` on a virtual sound card: latency, processor time, memory, start-up, size.
#[derive(Debug, Parser)]
struct Args {
    /// Measure only these; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// The card is running and this process is in its environment
    #[arg(long, hide = true)]
    inside: bool,
    /// Only hold streams open, until the input ends
    #[arg(long, hide = true)]
    streams_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// What the card itself costs
    Floor,
    /// Microphone to socket
    Uplink,
    /// Socket to loudspeaker, and interruption to silence
    Downlink,
    /// Processor time and memory
    Load,
    /// Exec to ready, and to first audio
    Start,
    /// Instructions of a whole conversation on virtual time
    Instructions,
    /// Calls through session, ledger and toolbox, with a thousand tools
    Calls,
    /// Size of the binary
    Size,
}

impl Args {
    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.streams_only {
        // The input ends when the one who started this lets go of it, or is gone.
        streams::idle_both_ways(MICROPHONE, SPEAKER, || {
            drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()))
        });
        ExitCode::SUCCESS
    } else if args.inside {
        measure(&args);
        ExitCode::SUCCESS
    } else {
        within_the_card()
    }
}

/// Starts the card and, within its environment, this program again.
fn within_the_card() -> ExitCode {
    // Built before anything is measured: a compiler beside a measurement spoils it.
    let binary = voiced_binary();
    let rig = Rig::start();
    let exe = std::env::current_exe().expect("the path of a running program is known");
    let status = Command::new(exe)
        .args(std::env::args_os().skip(1))
        .arg("--inside")
        .env("VOICED_BIN", binary)
        .envs(rig.env())
        .status()
        .expect("a program that runs can run again");
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::print_stdout, reason = "the table is what the program is for")]
fn measure(args: &Args) {
    let scratch = Scratch::new();
    let mut figures: Vec<Figure> = Vec::new();
    if args.wants(Part::Start) {
        say("start-up");
        figures.extend(cost::start_up(&scratch));
    }
    if args.wants(Part::Uplink) {
        say("microphone to socket");
        figures.extend(latency::mic_to_socket(&scratch));
    }
    if args.wants(Part::Floor) || args.wants(Part::Downlink) {
        say("floor of the card");
        let floor = latency::playback_floor();
        figures.push(floor.clone());
        if args.wants(Part::Downlink) {
            say("socket to loudspeaker");
            figures.extend(latency::socket_to_speaker(&scratch, &floor));
        }
    }
    if args.wants(Part::Load) {
        say("processor time and memory");
        figures.extend(cost::processor_and_memory(&scratch));
    }
    if args.wants(Part::Instructions) {
        say("instructions");
        figures.push(cost::instructions(&scratch));
    }
    if args.wants(Part::Calls) {
        say("calls");
        figures.extend(calls::figures());
        say("gate");
        figures.extend(gate::figures());
    }
    if args.wants(Part::Size) {
        figures.push(cost::size());
    }
    println!("{}\n\n{}", machine(), table(&figures));
}

#[expect(clippy::print_stderr, reason = "the person waits for minutes")]
fn say(what: &str) {
    eprintln!("bench: {what}");
}

/// One line on what was measured where.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1))
        .unwrap_or("unknown CPU");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let build = if cfg!(debug_assertions) { "dev build: no figures to quote" } else { "release build" };
    let version = Command::new(voiced_binary()).arg("--version").output();
    let version =
        version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let version = version.lines().next().unwrap_or_default();
    format!("{version}, {build}; {cpu} × {cores}, Linux {}, load {load} after the run", kernel.trim())
}
