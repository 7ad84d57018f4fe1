// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device that is killed at any moment: it has one order after another asked about, agreed to and printed, until somebody ends
//! it. What it is about to do it says before, on standard output, which outlives it.

use std::cell::RefCell;
use std::io::Write as _;
use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser;
use e2e::Device;
use session::{Intent, Notice, Output};

#[derive(Debug, Parser)]
struct Options {
    /// The text of the configuration.
    config: String,
    /// Begins the names of its orders.
    name: String,
    /// How many there are.
    orders: u64,
}

fn main() -> ExitCode {
    let Options { config, name, orders } = Options::parse();
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::from(1);
    };
    let order = Rc::new(RefCell::new(String::new()));
    runtime.block_on(async {
        let current = Rc::clone(&order);
        let watch = move |output: &Output| {
            if let Output::Notice(Notice::GateGranted { .. }) = output {
                say(&format!("granted {}", current.borrow()));
            } else if let Output::Send(Intent::Note(text)) = output {
                say(&format!("note {text}"));
            }
        };
        let mut device = Device::start(&config, watch).await;
        say("up");
        for number in 0..orders {
            let next = format!("{name}x{number}");
            order.borrow_mut().clone_from(&next);
            device.prints(&next).await;
            device.notices.clear();
            device.intents.clear();
            say(&format!("ended {next}"));
        }
    });
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// Nobody reading any more is the end of the test, and of this.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
