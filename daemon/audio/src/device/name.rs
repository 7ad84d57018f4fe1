// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ids of devices of this machine.

/// Which host a device belongs to, and what it is called there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// A PCM of ALSA.
    Alsa(&'a str),
    /// A source or sink of a sound server, by PulseAudio's protocol.
    Pulse(&'a str),
}

impl<'a> Name<'a> {
    /// `None` is the default device. An id without a host is ALSA's.
    pub(crate) fn of(id: Option<&'a str>) -> Self {
        let id = id.unwrap_or(DEFAULT);
        match id.strip_prefix("pulse:") {
            Some(name) => Self::Pulse(name),
            None => Self::Alsa(id.strip_prefix("alsa:").unwrap_or(id)),
        }
    }

    /// What it is called at its host.
    pub(crate) const fn text(self) -> &'a str {
        match self {
            Self::Alsa(name) | Self::Pulse(name) => name,
        }
    }

    /// Whether the name itself says that it is the copy of what a loudspeaker plays.
    pub(crate) fn is_monitor(self) -> bool {
        self.text().contains("monitor")
    }
}

/// The word for the default device of either host.
pub(crate) const DEFAULT: &str = "default";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_taken_with_and_without_their_host() {
        assert_eq!(Name::of(None), Name::Alsa("default"));
        assert_eq!(Name::of(Some("alsa:plughw:CARD=Device,DEV=0")), Name::Alsa("plughw:CARD=Device,DEV=0"));
        assert_eq!(Name::of(Some("default")), Name::Alsa("default"));
        assert_eq!(Name::of(Some("pulse:rig_mic")), Name::Pulse("rig_mic"));
        assert!(Name::of(Some("pulse:spk.monitor")).is_monitor());
    }
}
