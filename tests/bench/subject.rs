// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is measured: the daemon on the virtual card, connected to the harness's model.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use e2e::{Daemon, MICROPHONE, RIG_VARIABLES, SPEAKER, Scratch};

use crate::model::Model;

/// When the daemon's uplink is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engage {
    /// All the time: a click is not speech, and would not open it.
    Always,
    /// When somebody speaks, as shipped.
    Voice,
}

/// A running daemon with its model.
pub struct Subject {
    /// Its process.
    pub daemon: Daemon,
    /// What it talks to.
    pub model: Model,
    /// When it was started.
    pub started: Instant,
}

impl Subject {
    /// Starts it. Echo handling is off, so that the microphone is open while a reply plays.
    pub fn start(scratch: &Scratch, engage: Engage) -> Self {
        Self::start_with(scratch, engage, Vec::new())
    }

    /// Starts it with more in its environment.
    pub fn start_with(scratch: &Scratch, engage: Engage, more: Vec<(&'static str, OsString)>) -> Self {
        let model = Model::start();
        let engage = match engage {
            Engage::Always => "always",
            Engage::Voice => "voice",
        };
        let config = format!(
            "[provider]\nendpoint = \"ws://{}\"\n\
             [audio]\ncapture = \"alsa:{MICROPHONE}\"\nplayback = \"alsa:{SPEAKER}\"\n\
             [audio.echo]\nmode = \"off\"\n\
             [engage]\nmode = \"{engage}\"\n\
             [state]\ndir = \"{}\"\n",
            model.address(),
            scratch.path().join("state").display(),
        );
        let config = scratch.write("bench.toml", &config);
        let mut env = rig_env();
        env.push(("GEMINI_API_KEY", "bench".into()));
        env.extend(more);
        let started = Instant::now();
        let daemon = Daemon::start([OsString::from("run"), "--config".into(), config.into()], env);
        Self { daemon, model, started }
    }

    /// Waits until both devices are open.
    pub fn wait_for_devices(&self) {
        for device in ["capture device", "playback device"] {
            self.daemon.wait_for(&["INFO", device], Duration::from_secs(20));
        }
    }
}

/// The variables that lead to the virtual card, as this process has them.
pub fn rig_env() -> Vec<(&'static str, OsString)> {
    RIG_VARIABLES.iter().filter_map(|&name| std::env::var_os(name).map(|value| (name, value))).collect()
}
