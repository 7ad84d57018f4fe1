// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced check`: everything that could go wrong at the start, found without starting.

use std::process::ExitCode;

use hal::{Button as _, LevelFile};
use serde_json::json;

use tools::ToolSet;
use tools::mcp::Joined;

use super::{EXIT_CONFIG, fail, no_voice, note, print, runtime};
use crate::assembly::{self, Bus, Extend, Surfaces};
use crate::button::REMEDY as BUTTON_REMEDY;
use crate::config::{Config, ProcessEnv, Sources};
use crate::fault::chain;
use crate::provider::{mark_caution, model_caution, schema_cautions};
use crate::tooling::{self, COMMAND_LIMIT};

/// Checks the configuration and all that it names. Faults go to standard error, the verdict to standard output.
pub(super) fn check(sources: &Sources, extend: &Extend, surfaces: &Surfaces, as_json: bool) -> ExitCode {
    let mut faults = Vec::new();
    let mut cautions = Vec::new();
    let mut verdict = String::new();
    match Config::load(sources) {
        Err(found) => faults.extend(found.to_string().lines().map(str::to_owned)),
        Ok(loaded) => {
            let config = &loaded.config;
            match assembly::tool_set(config, extend, Bus::Inline) {
                Ok(tools) => {
                    let tools = with_servers(config, tools, &mut faults, &mut cautions);
                    cautions.extend(tools.warnings().iter().map(ToString::to_string));
                    cautions.extend(assembly::gate_cautions(config, surfaces, &tools));
                    cautions.extend(schema_cautions(&tooling::declarations(&tools)));
                    verdict = format!("{} keys, {} tools", loaded.origins.len(), tools.iter().len());
                    faults.extend(assembly::link_config(config, &tools).err().map(|fault| chain(&fault)));
                }
                Err(fault) => {
                    faults.extend(chain(&fault).lines().map(str::to_owned));
                    with_servers(config, ToolSet::default(), &mut faults, &mut cautions);
                }
            }
            if let Err(fault) = assembly::clips(config).and_then(|_| assembly::earcons(config)) {
                faults.extend(chain(&fault).lines().map(str::to_owned));
            }
            cautions.extend(button_caution(config));
            cautions.extend(mute_caution(config));
            cautions.extend(recording_caution(config));
            if let Some(caution) = voice_caution(config) {
                cautions.push(caution);
            }
            // A key may be installed later; the daemon waits for it.
            if let Err(fault) = config.api_key(&ProcessEnv) {
                cautions.push(chain(&fault));
            }
            cautions.extend(model_caution(&config.provider.model));
            cautions.extend(mark_caution(&config.provider.model));
        }
    }
    if as_json {
        let verdict = json!({"ok": faults.is_empty(), "faults": faults, "cautions": cautions});
        print(&verdict.to_string());
        return if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_CONFIG) };
    }
    for caution in &cautions {
        note(format_args!("caution: {caution}"));
    }
    if faults.is_empty() {
        return print(&format!("configuration is good: {verdict}"));
    }
    for fault in &faults {
        note(fault);
    }
    fail(EXIT_CONFIG, format_args!("{} fault{}", faults.len(), if faults.len() == 1 { "" } else { "s" }))
}

/// A button that cannot be read now. It may be plugged in later.
fn button_caution(config: &Config) -> Option<String> {
    let device = &config.hal.button.as_ref()?.device;
    let cause = std::fs::File::open(device).err()?;
    Some(format!("hal.button.device = {:?} cannot be read now: {cause}; {BUTTON_REMEDY}", device.display()))
}

/// A line that holds the microphone off as long as it cannot be read.
fn mute_caution(config: &Config) -> Option<String> {
    let line = config.hal.mute.as_ref()?;
    let fault = LevelFile::new(&line.file, line.muted).is_down().err()?;
    Some(format!(
        "hal.mute.file = {:?} cannot be read now: {fault}; the microphone is off until it can be: export the line, and let this \
         user read it",
        line.file.display()
    ))
}

/// A folder for recordings that is none.
fn recording_caution(config: &Config) -> Option<String> {
    let folder = &config.audio.recording.as_ref()?.folder;
    let found = folder.ancestors().find_map(|part| std::fs::metadata(part).ok());
    let is_none = found.is_none_or(|found| !found.is_dir());
    is_none.then(|| {
        format!(
            "audio.recording.folder = {:?} is no folder and cannot become one: name another",
            folder.display()
        )
    })
}

/// The device's voice, tried out: without one nothing that asks first is ever done.
fn voice_caution(config: &Config) -> Option<String> {
    let fault = match runtime() {
        Ok(runtime) => runtime.block_on(assembly::speech(config).try_out()).err()?,
        // The engine can at least be looked for.
        Err(_) => assembly::speech(config).find().err()?,
    };
    Some(no_voice(&fault))
}

/// The tools with those of the servers, which are started for it and ended again. A server may come later, so one that
/// is not there is a caution; two tools of one name are a fault.
fn with_servers(
    config: &Config,
    native: ToolSet,
    faults: &mut Vec<String>,
    cautions: &mut Vec<String>,
) -> ToolSet {
    if config.mcp.is_empty() {
        return native;
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(cause) => {
            faults.push(format!("the async runtime cannot be started: {cause}"));
            return native;
        }
    };
    let Joined { tools, left_out } = runtime.block_on(async {
        let servers = tooling::servers(config);
        cautions.extend(servers.settled(COMMAND_LIMIT).await);
        servers.joined(&native)
    });
    for left in left_out {
        if left.clash { faults.push(left.to_string()) } else { cautions.push(left.to_string()) }
    }
    tools
}
