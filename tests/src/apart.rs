// SPDX-License-Identifier: MIT OR Apache-2.0

//! A microphone and a loudspeaker that have nothing to do with each other.

use std::ffi::OsString;

use crate::Rig;
use crate::rig::turn;

/// Two sound servers with one device each: what is unplugged is gone, as a sound server with another device would re-route
/// it. Dropping it ends every process of it.
#[derive(Debug)]
pub struct Apart {
    /// Has the microphone.
    pub microphone: Rig,
    /// Has the loudspeaker.
    pub speaker: Rig,
}

impl Apart {
    /// Starts them, once no other card is left.
    ///
    /// # Panics
    /// As [`Rig::start`].
    #[must_use]
    pub fn start() -> Self {
        let turn = turn();
        let speaker = Rig::starting(&["--only", "speaker"], None);
        let apart = Self { microphone: Rig::starting(&["--only", "mic"], Some(turn)), speaker };
        let pcm = |rig: &Rig, name: &str| {
            let text =
                std::fs::read_to_string(rig.folder().join("asound.conf")).expect("the script wrote it");
            let line = text.lines().find(|line| line.starts_with(&format!("pcm.{name} ")));
            line.expect("the script names every device").to_owned()
        };
        let devices = [pcm(&apart.microphone, crate::MICROPHONE), pcm(&apart.speaker, crate::SPEAKER)];
        let hints = "defaults.namehint.showall on\n";
        let path = apart.microphone.folder().join("both.conf");
        std::fs::write(path, format!("{hints}{}\n", devices.join("\n"))).expect("the folder is ours");
        apart
    }

    /// What a program needs in its environment to use both. A server that is asked where streams are is the microphone's.
    #[must_use]
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        let mut env = self.microphone.env();
        for (name, value) in &mut env {
            if *name == "ALSA_CONFIG_PATH" {
                *value = self.microphone.folder().join("both.conf").into();
            }
        }
        env
    }
}
