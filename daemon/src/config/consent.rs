// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a person agrees: the language of answers, who asks, what is too much, and the button.

use session::lexicon::Locale;

use super::check::Check;
use super::raw::Raw;
use super::{Asking, Button, Device, Limits, ReadBack};

/// Largest code of a key (`KEY_MAX` of linux/input-event-codes.h).
const KEY_MAX: i64 = 0x2ff;

impl Check<'_> {
    pub(super) fn asking(&mut self, raw: &Raw) -> Asking {
        const OTHERS: &str = "gate.other_locales";
        let raw = &raw.gate;
        let known = Locale::ALL.map(|locale| (locale.tag(), locale));
        let locale = self.choice("gate.locale", &raw.locale, &known);
        let others: Vec<Locale> = raw.other_locales.iter().filter_map(|tag| tagged(tag)).collect();
        let is_one_twice = (1..others.len()).any(|n| others[..n].contains(&others[n]));
        if others.len() < raw.other_locales.len() || is_one_twice || others.contains(&locale) {
            let tags = known.map(|(tag, _)| tag).join(", ");
            self.wrong(OTHERS, &format!("other languages than `gate.locale`, each once, of {tags}"));
        }
        let read_backs = [("device", ReadBack::Device), ("model", ReadBack::Model)];
        Asking {
            locale,
            other_locales: others,
            read_back: self.choice("gate.read_back", &raw.read_back, &read_backs),
            accept_preasked: raw.accept_preasked,
            trust_capture: raw.trust_capture,
        }
    }

    pub(super) fn limits(&mut self, raw: &Raw) -> Limits {
        let raw = &raw.gate;
        let mut few = |key: &str, value, most: u8| {
            u8::try_from(self.whole(key, value, 1..=i64::from(most))).unwrap_or_default()
        };
        let proposals = few("gate.proposals", raw.proposals, 20);
        let declines = few("gate.declines", raw.declines, 10);
        let violations = few("gate.violations", raw.violations, 10);
        let effects = u16::try_from(self.whole("gate.effects", raw.effects, 1..=1000)).unwrap_or_default();
        Limits { proposals, declines, violations, effects }
    }

    pub(super) fn button(&mut self, raw: &Raw) -> Option<Button> {
        let raw = &raw.hal.button;
        let key = self.whole("hal.button.key", raw.key, 1..=KEY_MAX);
        let device = self.path("hal.button.device", &raw.device)?;
        Some(Button { device, key: u16::try_from(key).unwrap_or_default() })
    }
}

fn tagged(tag: &str) -> Option<Locale> {
    Locale::ALL.into_iter().find(|locale| locale.tag() == tag)
}

impl Device {
    /// Whether what it gives is the room that the device is in, as far as its name tells: no file, no copy of what is played, no
    /// stream of another machine.
    #[must_use]
    pub fn hears_the_room(&self) -> bool {
        const ELSEWHERE: [&str; 5] = ["monitor", "loopback", "tunnel", "rtp", "network"];
        match self {
            Self::Default | Self::None => true,
            Self::File(_) => false,
            Self::Named(name) => {
                let name = name.to_lowercase();
                !ELSEWHERE.iter().any(|word| name.contains(word))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use std::time::Duration;

    use super::*;
    use crate::config::{Config, FileSource, Sources};

    fn loaded(text: &str) -> Result<Config, String> {
        let file = FileSource::Text("voiced.toml".into(), text.to_owned());
        let loaded = Config::load(&Sources { file, ..Sources::default() });
        loaded.map(|loaded| loaded.config).map_err(|faults| faults.to_string())
    }

    #[test]
    fn how_a_person_agrees_is_read_key_for_key() {
        let config = loaded(
            "[gate]\nlocale = \"es\"\nother_locales = [\"en\"]\nread_back = \"model\"\naccept_preasked = true\n\
             trust_capture = true\nproposals = 1\ndeclines = 4\nviolations = 5\neffects = 1000\ndeadline_s = 60\n\
             [hal.button]\ndevice = \"/dev/input/event3\"\nkey = 114\n",
        )
        .unwrap();
        assert_eq!(
            config.gate.asking,
            Asking {
                locale: Locale::Es,
                other_locales: vec![Locale::En],
                read_back: ReadBack::Model,
                accept_preasked: true,
                trust_capture: true,
            }
        );
        assert_eq!(config.gate.limits, Limits { proposals: 1, declines: 4, violations: 5, effects: 1000 });
        assert_eq!(config.gate.deadline, Duration::from_secs(60));
        assert_eq!(config.hal.button, Some(Button { device: "/dev/input/event3".into(), key: 114 }));
        assert_eq!(loaded("").unwrap().hal.button, None);
    }

    #[test]
    fn each_wrong_value_is_told_with_its_place_and_what_was_expected() {
        let faults = loaded(
            "[gate]\nlocale = \"xx\"\nother_locales = [\"en\", \"en\"]\nread_back = \"nobody\"\nproposals = 0\n\
             declines = 11\nviolations = 0\neffects = 1001\n[hal.button]\nkey = 768\n",
        )
        .unwrap_err();
        let places = [
            "voiced.toml:2: gate.locale = \"xx\": expected \"en\" or ",
            "voiced.toml:3: gate.other_locales = [\"en\", \"en\"]: expected other languages than `gate.locale`",
            "voiced.toml:4: gate.read_back = \"nobody\": expected \"device\" or \"model\"",
            "voiced.toml:5: gate.proposals = 0: expected 1..=20",
            "voiced.toml:6: gate.declines = 11: expected 1..=10",
            "voiced.toml:7: gate.violations = 0: expected 1..=10",
            "voiced.toml:8: gate.effects = 1001: expected 1..=1000",
            "voiced.toml:10: hal.button.key = 768: expected 1..=767",
        ];
        let lines: Vec<&str> = faults.lines().collect();
        assert_eq!(lines.len(), places.len(), "{faults}");
        for (line, place) in lines.iter().zip(places) {
            assert!(line.starts_with(place), "{line}");
        }
    }

    #[test]
    fn e10_a_stream_that_is_no_microphone_of_the_room_is_known_by_its_name() {
        let named = |name: &str| Device::Named(name.to_owned()).hears_the_room();
        assert!(Device::Default.hears_the_room() && named("hw:CARD=Device,DEV=0") && named("plughw:1,0"));
        assert!(!Device::File("person.wav".into()).hears_the_room());
        for name in [
            "alsa_output.usb.monitor",
            "Monitor of Speakers",
            "hw:CARD=Loopback,DEV=1",
            "tunnel-source.kiosk",
        ] {
            assert!(!named(name), "{name}");
        }
    }
}
