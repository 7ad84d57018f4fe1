// SPDX-License-Identifier: MIT OR Apache-2.0

//! What devices this machine has.

use super::DeviceError;
use crate::api::Direction;

/// One direction of one device of this machine.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// What to write in the configuration; `alsa:NAME` or `pulse:NAME`. Stable across boots when it names the card, not its number.
    pub id: String,
    /// What to call it.
    pub name: String,
    /// Capture or playback.
    pub direction: Direction,
    /// It is the system's default for this direction.
    pub is_default: bool,
    /// What it can do, or why it could not be asked, with the remedy.
    pub formats: Result<Vec<FormatRange>, String>,
}

/// A range of formats a device offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatRange {
    /// Channels.
    pub channels: u16,
    /// Lowest rate.
    pub rate_hz_min: u32,
    /// Highest rate.
    pub rate_hz_max: u32,
    /// Sample format, as `i16` or `f32`.
    pub sample: String,
}

/// Lists this machine's capture and playback devices, the default devices first. Each device is asked under a deadline
/// of 2 s, all of them under one of 10 s; one that does not answer is listed with that as its error. Empty when there
/// is none, or the crate was built without `cpal`.
///
/// # Errors
/// [`DeviceError::Hung`] and [`DeviceError::Failed`] when the sound system itself does not answer or says no.
pub fn devices() -> Result<Vec<DeviceInfo>, DeviceError> {
    #[cfg(feature = "cpal")]
    return ask::devices();
    #[cfg(not(feature = "cpal"))]
    return Ok(Vec::new());
}

#[cfg(feature = "cpal")]
mod ask {
    use std::sync::mpsc::{RecvTimeoutError, sync_channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use cpal::Device;
    use cpal::traits::{DeviceTrait as _, HostTrait as _};

    use super::{DeviceError, DeviceInfo, Direction, FormatRange};
    use crate::device::alsa::{explain, host, hushed};
    use crate::device::describe;

    /// How long one device may take to say what it can do.
    const DEVICE_TIMEOUT: Duration = Duration::from_secs(2);

    /// How long the whole list may take.
    const LIST_TIMEOUT: Duration = Duration::from_secs(10);

    /// Names that ALSA lists and that are no device of their own: the default, listed already; converters that another
    /// device would go through; gateways that nobody configured, one of which prints on standard error when asked.
    const NOT_DEVICES: [&str; 11] = [
        "default",
        "null",
        "lavrate",
        "samplerate",
        "speexrate",
        "speex",
        "upmix",
        "vdownmix",
        "jack",
        "oss",
        "usbstream",
    ];

    pub(super) fn devices() -> Result<Vec<DeviceInfo>, DeviceError> {
        let deadline = Instant::now() + LIST_TIMEOUT;
        let sound_system = || "the sound system".to_owned();
        let found = within(LIST_TIMEOUT, sound_system(), enumerate)?;
        let found = found.map_err(|error| explain(sound_system(), &error))?;
        let mut listed = Vec::new();
        for (device, mut info) in found {
            let left = deadline.saturating_duration_since(Instant::now()).min(DEVICE_TIMEOUT);
            let text = describe(info.direction, &info.name);
            let direction = info.direction;
            let asked = within(left, text.clone(), move || formats(&device, direction));
            info.formats = asked
                .and_then(|formats| formats.map_err(|error| explain(text, &error)))
                .map_err(|error| error.line());
            listed.push(info);
        }
        listed.sort_by_key(|info| !info.is_default);
        Ok(listed)
    }

    /// Every direction of every device, not yet asked what it can do. The default device is listed even when the
    /// system's configuration gives no hint of it.
    fn enumerate() -> Result<Vec<(Device, DeviceInfo)>, cpal::Error> {
        let mut found = Vec::new();
        let host = host()?;
        let defaults = [
            (Direction::Capture, host.default_input_device()),
            (Direction::Playback, host.default_output_device()),
        ];
        for (direction, device) in defaults {
            found.extend(device.map(|device| entry(device, direction, Rank::Default)));
        }
        of_host(&host, &mut found)?;
        // No server is no fault.
        #[cfg(feature = "pulseaudio")]
        if let Ok(server) = crate::device::alsa::server() {
            of_host(&server, &mut found)?;
        }
        Ok(found)
    }

    fn of_host(host: &cpal::Host, found: &mut Vec<(Device, DeviceInfo)>) -> Result<(), cpal::Error> {
        for device in host.devices()? {
            if device.id().is_ok_and(|id| NOT_DEVICES.contains(&id.id())) {
                continue;
            }
            if device.supports_input() {
                found.push(entry(device.clone(), Direction::Capture, Rank::Other));
            }
            if device.supports_output() {
                found.push(entry(device, Direction::Playback, Rank::Other));
            }
        }
        Ok(())
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Rank {
        Default,
        Other,
    }

    fn entry(device: Device, direction: Direction, rank: Rank) -> (Device, DeviceInfo) {
        let id = device.id().map_or_else(
            |_| "alsa:?".into(),
            |id| if id.host() == cpal::HostId::Alsa { id.to_string() } else { format!("pulse:{}", id.id()) },
        );
        let name = device.description().map_or_else(|_| id.clone(), |text| text.name().to_owned());
        let info =
            DeviceInfo { id, name, direction, is_default: rank == Rank::Default, formats: Ok(Vec::new()) };
        (device, info)
    }

    fn formats(device: &Device, direction: Direction) -> Result<Vec<FormatRange>, cpal::Error> {
        // A sound server converts from whatever is asked; what it has itself is one format.
        #[cfg(feature = "pulseaudio")]
        if device.id()?.host() == cpal::HostId::PulseAudio {
            let own = match direction {
                Direction::Capture => device.default_input_config()?,
                Direction::Playback => device.default_output_config()?,
            };
            return Ok(vec![FormatRange {
                channels: own.channels(),
                rate_hz_min: own.sample_rate(),
                rate_hz_max: own.sample_rate(),
                sample: own.sample_format().to_string(),
            }]);
        }
        let offers: Vec<_> = match direction {
            Direction::Capture => device.supported_input_configs()?.collect(),
            Direction::Playback => device.supported_output_configs()?.collect(),
        };
        let range = |offer: &cpal::SupportedStreamConfigRange| FormatRange {
            channels: offer.channels(),
            rate_hz_min: offer.min_sample_rate(),
            rate_hz_max: offer.max_sample_rate(),
            sample: offer.sample_format().to_string(),
        };
        Ok(offers.iter().map(range).collect())
    }

    /// Runs `ask` on a thread of its own and leaves it behind when it takes longer than `timeout`.
    fn within<T: Send + 'static>(
        timeout: Duration,
        device: String,
        ask: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, DeviceError> {
        let (sender, receiver) = sync_channel(1);
        let started = thread::Builder::new().name("audio-list".into()).spawn(move || {
            // Nobody may be waiting any more: the answer is dropped here.
            drop(sender.send(hushed(ask)));
        });
        if let Err(error) = started {
            return Err(DeviceError::Failed { device, message: error.to_string() });
        }
        receiver.recv_timeout(timeout).map_err(|error| match error {
            RecvTimeoutError::Timeout => DeviceError::Hung { device, waited: timeout },
            RecvTimeoutError::Disconnected => {
                DeviceError::Failed { device, message: "the thread that asked it ended".into() }
            }
        })
    }
}
