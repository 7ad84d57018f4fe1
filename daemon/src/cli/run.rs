// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced run`.

use std::io::{self, IsTerminal};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info, warn};
use tracing_subscriber::EnvFilter;

use super::{EXIT_CONFIG, EXIT_INTERNAL, fail, no_voice, note, runtime};
use crate::assembly::{Assembly, AssemblyError, Extend, Surfaces};
use crate::config::{Config, Level, Sources};
use crate::driver::Driver;
use crate::fault::chain;
use crate::supervise;
use crate::switch::Switch;

/// Runs the daemon until it is asked to stop.
pub(super) fn run(sources: &Sources, extend: &Extend, surfaces: &Surfaces, keep_going: bool) -> ExitCode {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(cause) => {
            return fail(EXIT_INTERNAL, format_args!("the async runtime cannot be started: {cause}"));
        }
    };
    let code = runtime.block_on(async {
        // One for the whole run, however often a configuration is waited for: it has a thread of its own.
        let switch = Switch::default();
        let stop = supervise::stop_requested(switch.clone());
        tokio::pin!(stop);
        let mut loaded = Config::load(sources).map_err(|faults| faults.to_string());
        loop {
            let fault = match loaded {
                Ok(loaded) => {
                    start_log(loaded.config.log.level);
                    let assembly = Assembly::new(loaded.config, extend).surfaces(surfaces.clone());
                    match assembly.switch(switch.clone()).driver() {
                        Ok(driver) => return serve(driver, stop, keep_going).await,
                        Err(fault) => match ends_with(&fault, keep_going) {
                            Some(code) => return fail(code, chain(&fault)),
                            None => chain(&fault),
                        },
                    }
                }
                Err(faults) if !keep_going => {
                    note(faults);
                    return ExitCode::from(EXIT_CONFIG);
                }
                Err(faults) => faults,
            };
            start_log(Level::Info);
            error!("{fault}");
            match wait_for_config(sources, &switch, stop.as_mut()).await {
                Some(cured) => loaded = Ok(cured),
                None => return ExitCode::SUCCESS,
            }
        }
    });
    // A blocking thread that hangs (a resolver, a speech engine) must not hold up the end of the process.
    runtime.shutdown_background();
    code
}

/// The exit code that `fault` ends the process with. `None` if its cure is waited for: only a configuration is.
const fn ends_with(fault: &AssemblyError, keep_going: bool) -> Option<u8> {
    match exit_code(fault) {
        EXIT_CONFIG if keep_going => None,
        code => Some(code),
    }
}

/// What a configuration cannot cure is an error of the machine's.
const fn exit_code(fault: &AssemblyError) -> u8 {
    match fault {
        AssemblyError::Lane(_)
        | AssemblyError::Records(_)
        | AssemblyError::Keeping(_)
        | AssemblyError::Audio(audio::StartError::Thread(_)) => EXIT_INTERNAL,
        AssemblyError::Tools(_)
        | AssemblyError::Clips(_)
        | AssemblyError::Endpoint(_)
        | AssemblyError::Token(_)
        | AssemblyError::Outbox(_)
        | AssemblyError::WireLog { .. }
        | AssemblyError::Audio(audio::StartError::Setting { .. }) => EXIT_CONFIG,
    }
}

async fn serve<F>(driver: Driver, asked: Pin<&mut F>, keep_going: bool) -> ExitCode
where
    F: Future<Output = io::Result<&'static str>>,
{
    info!(version = env!("CARGO_PKG_VERSION"), "voiced is up");
    let speech = Arc::clone(&driver.speech);
    tokio::spawn(async move {
        if let Err(fault) = speech.try_out().await {
            warn!("{}", no_voice(&fault));
        }
    });
    let stop = async {
        let asked = tokio::select! {
            asked = asked => asked,
            () = hangup(keep_going) => Ok("SIGHUP"),
        };
        match asked {
            Ok(name) => info!("{name}: stopping"),
            Err(cause) => error!(%cause, "signals cannot be handled"),
        }
    };
    match driver.run(stop).await {
        Ok(_) => ExitCode::SUCCESS,
        Err(fault) => fail(EXIT_INTERNAL, chain(&fault)),
    }
}

/// Completes when the terminal is gone. A service has none: there, SIGHUP asks for what is not done while running.
async fn hangup(keep_going: bool) {
    // Without a handler the signal does what it does to every program.
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return std::future::pending().await };
    loop {
        hangup.recv().await;
        if !keep_going {
            return;
        }
        warn!("SIGHUP: a running daemon does not read its configuration again; restart it to apply a change");
    }
}

/// Waits, with the configuration broken, for SIGHUP and a good one; `None` when asked to stop.
async fn wait_for_config<F: Future>(
    sources: &Sources,
    switch: &Switch,
    mut stop: Pin<&mut F>,
) -> Option<crate::config::Loaded> {
    let mut reload = signal(SignalKind::hangup()).ok()?;
    supervise::ready("failed: config_invalid; every fault is in the log");
    info!("waiting for a configuration without faults: mend it and send SIGHUP");
    let mut watchdog = supervise::Watchdog::from_env();
    let mut beats = 0;
    let mut flips = switch.flips();
    loop {
        tokio::select! {
            _ = stop.as_mut() => return None,
            () = watchdog.due() => {
                // No audio worker runs here; that this loop does is all there is to show.
                beats += 1;
                watchdog.beat(beats);
            }
            on = flips.next() => {
                let on = if on { "on" } else { "off" };
                info!("the microphone will be {on} once there is a configuration: nothing listens until then");
            }
            _ = reload.recv() => match Config::load(sources) {
                Ok(loaded) => return Some(loaded),
                Err(faults) => error!("{faults}"),
            },
        }
    }
}

/// Logs to standard error. `RUST_LOG` wins over the configuration; under the journal lines carry no time of their own.
pub(super) fn start_log(level: Level) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        EnvFilter::new(format!("warn,voiced={0},session={0},audio={0},tools={0},hal={0}", level.as_str()))
    });
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        // A reader of the log that went away would be complained of on the same closed pipe, which panics.
        .log_internal_errors(false);
    let started = if std::env::var_os("JOURNAL_STREAM").is_some() {
        log.with_ansi(false).without_time().try_init()
    } else {
        log.with_ansi(std::io::stderr().is_terminal()).try_init()
    };
    // It is started twice when a broken configuration was waited out; the first one stays.
    let _ = started;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_configuration_cures_is_waited_for() {
        let config = AssemblyError::Clips(Vec::new());
        let lane = AssemblyError::Lane(io::Error::from(io::ErrorKind::WouldBlock));
        let thread = audio::StartError::Thread(io::Error::from(io::ErrorKind::WouldBlock)).into();
        for (fault, alone, kept_going) in [
            (config, Some(EXIT_CONFIG), None),
            (lane, Some(EXIT_INTERNAL), Some(EXIT_INTERNAL)),
            (thread, Some(EXIT_INTERNAL), Some(EXIT_INTERNAL)),
        ] {
            assert_eq!((ends_with(&fault, false), ends_with(&fault, true)), (alone, kept_going), "{fault}");
        }
    }
}
