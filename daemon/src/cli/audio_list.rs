// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced audio list`.

use std::fmt::Write;
use std::process::ExitCode;

use audio::{DeviceInfo, Direction};
use serde_json::{Value, json};

use super::{EXIT_INTERNAL, fail, print};

/// Lists every device.
pub(super) fn list(as_json: bool) -> ExitCode {
    let devices = match audio::devices() {
        Ok(devices) => devices,
        Err(fault) => return fail(EXIT_INTERNAL, fault),
    };
    if as_json {
        return print(&json!(devices.iter().map(as_value).collect::<Vec<_>>()).to_string());
    }
    if devices.is_empty() {
        return print(
            "no sound device found\n\
             check that `cat /proc/asound/cards` names a card, and that this user is in the group `audio`",
        );
    }
    let mut text = String::new();
    for (direction, title) in [(Direction::Capture, "microphones"), (Direction::Playback, "loudspeakers")] {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{title}");
        for device in devices.iter().filter(|device| device.direction == direction) {
            let _ = writeln!(text, "{}", as_text(device));
        }
    }
    text.push_str("use an id as audio.capture or audio.playback, e.g. `--set audio.capture=ID`");
    print(&text)
}

fn as_text(device: &DeviceInfo) -> String {
    let mark = if device.is_default { "*" } else { " " };
    let mut text = format!(" {mark} {}  ({})", device.id, device.name);
    match &device.formats {
        Ok(formats) => {
            for format in formats {
                let channels = if format.channels == 1 { "channel" } else { "channels" };
                let _ = write!(text, "\n       {} {channels}, {}, ", format.channels, format.sample);
                let _ = if format.rate_hz_min == format.rate_hz_max {
                    write!(text, "{} Hz", format.rate_hz_min)
                } else {
                    write!(text, "{} to {} Hz", format.rate_hz_min, format.rate_hz_max)
                };
            }
        }
        Err(why) => {
            let _ = write!(text, "\n       {why}");
        }
    }
    text
}

fn as_value(device: &DeviceInfo) -> Value {
    let mut value = json!({
        "id": device.id,
        "name": device.name,
        "direction": match device.direction { Direction::Capture => "capture", Direction::Playback => "playback" },
        "default": device.is_default,
    });
    match &device.formats {
        Ok(formats) => {
            value["formats"] = formats
                .iter()
                .map(|format| {
                    json!({
                        "channels": format.channels, "sample": format.sample,
                        "rate_hz_min": format.rate_hz_min, "rate_hz_max": format.rate_hz_max,
                    })
                })
                .collect();
        }
        Err(why) => value["error"] = json!(why),
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(formats: Result<Vec<audio::FormatRange>, String>) -> DeviceInfo {
        DeviceInfo {
            id: "alsa:plughw:CARD=Device,DEV=0".to_owned(),
            name: "USB Audio".to_owned(),
            direction: Direction::Capture,
            is_default: true,
            formats,
        }
    }

    #[test]
    fn a_device_shows_its_formats() {
        let range = audio::FormatRange {
            channels: 1,
            rate_hz_min: 44_100,
            rate_hz_max: 48_000,
            sample: "i16".into(),
        };
        let text = as_text(&device(Ok(vec![range])));
        assert_eq!(
            text,
            " * alsa:plughw:CARD=Device,DEV=0  (USB Audio)\n       1 channel, i16, 44100 to 48000 Hz"
        );
    }

    #[test]
    fn a_device_that_cannot_be_opened_says_why() {
        let broken = device(Err("busy".to_owned()));
        assert!(as_text(&broken).ends_with("\n       busy"));
        assert_eq!(as_value(&broken)["error"], "busy");
    }
}
