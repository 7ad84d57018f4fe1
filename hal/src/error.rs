// SPDX-License-Identifier: MIT OR Apache-2.0

//! One error type whose kind says what to do.

use std::fmt;

use crate::value::ChannelId;

/// Detail for a technician, at most 88 bytes; longer text is cut.
pub type Detail = heapless::String<88, u8>;

/// When trying the same call again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Not before something is changed by hand.
    Never,
    /// After a moment.
    Soon,
    /// When the device is back.
    Later,
}

/// What went wrong, by what should be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such channel.
    NotFound,
    /// The device was there and is gone.
    Unplugged,
    /// The bus works; the device did not answer its address.
    NoAck,
    /// Too many calls wait, or something else holds the device. Nothing was done.
    Busy,
    /// No answer by the deadline. A write may or may not have happened.
    Timeout,
    /// The answer failed its checksum.
    Corrupt,
    /// The answer is well formed and cannot be true.
    Suspect,
    /// The system does not let this process use the device.
    Denied,
    /// The device cannot do this.
    Unsupported,
    /// The value asked for is beyond the channel's range. Nothing was done.
    OutOfRange,
    /// Another state of the machine forbids it. Nothing was done.
    Interlock,
    /// The device is in a safe state until a person has looked at it.
    Safety,
    /// The caller gave up before it ran. Nothing was done.
    Cancelled,
    /// The bus, or the driver's own code, failed.
    Bus,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// Whether trying the same call again can help.
    #[must_use]
    pub const fn retry(self) -> Retry {
        match self {
            Self::Busy | Self::NoAck | Self::Corrupt | Self::Suspect | Self::Cancelled => Retry::Soon,
            Self::Unplugged | Self::Timeout | Self::Interlock | Self::Bus | Self::Other => Retry::Later,
            Self::NotFound | Self::Denied | Self::Unsupported | Self::OutOfRange | Self::Safety => {
                Retry::Never
            }
        }
    }

    /// Whether it speaks against the device, so that a run of such failures lets it rest. A caller's own mistake
    /// does not.
    #[must_use]
    pub const fn blames_device(self) -> bool {
        match self {
            Self::Unplugged
            | Self::NoAck
            | Self::Timeout
            | Self::Corrupt
            | Self::Suspect
            | Self::Denied
            | Self::Bus
            | Self::Other => true,
            Self::NotFound
            | Self::Busy
            | Self::Unsupported
            | Self::OutOfRange
            | Self::Interlock
            | Self::Safety
            | Self::Cancelled => false,
        }
    }

    /// What a person may be told, continuing "the thing …".
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::NotFound => "does not exist on this device",
            Self::Unplugged => "is unplugged",
            Self::NoAck | Self::Timeout => "is not responding",
            Self::Busy => "is busy",
            Self::Corrupt | Self::Suspect => "gives unreliable readings",
            Self::Denied | Self::Bus | Self::Other => "is out of order",
            Self::Unsupported => "cannot do that",
            Self::OutOfRange => "cannot take that value",
            Self::Interlock => "is locked by the machine's state",
            Self::Safety => "is in a safe state and needs a technician",
            Self::Cancelled => "was not asked after all",
        }
    }
}

/// A hardware call that did not work.
///
/// [`ErrorKind`] says what to do; `detail` is for the log. [`HalError::public`] is what a person may hear.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct HalError {
    /// What to do about it.
    pub kind: ErrorKind,
    /// The channel; empty if the whole lane is meant.
    pub channel: ChannelId,
    /// Cause, value and remedy for a technician.
    pub detail: Detail,
}

impl HalError {
    /// An error of the whole lane. `detail` is cut to what fits.
    #[must_use]
    pub fn new(kind: ErrorKind, detail: &str) -> Self {
        let mut kept = Detail::new();
        for ch in detail.chars() {
            if kept.push(ch).is_err() {
                break;
            }
        }
        Self { kind, channel: ChannelId::new(), detail: kept }
    }

    /// The same error, of this channel.
    #[must_use]
    pub fn on(self, channel: &ChannelId) -> Self {
        Self { channel: channel.clone(), ..self }
    }

    /// One plain sentence for a person: no id, no code, no detail.
    #[must_use]
    pub fn public(&self) -> String {
        if self.channel.is_empty() {
            return format!("the device {}", self.kind.says());
        }
        format!("the device for {} {}", self.channel.replace(['_', '.'], " "), self.kind.says())
    }
}

impl fmt::Display for HalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.channel.is_empty() {
            write!(f, "the lane {}", self.kind.says())?;
        } else {
            write!(f, "channel `{}` {}", self.channel, self.kind.says())?;
        }
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_person_hears_no_detail() {
        let channel = ChannelId::try_from("cold_storage.temperature").unwrap();
        let error = HalError::new(ErrorKind::Unplugged, "ENODEV on /dev/i2c-1").on(&channel);
        assert_eq!(error.public(), "the device for cold storage temperature is unplugged");
        assert_eq!(
            error.to_string(),
            "channel `cold_storage.temperature` is unplugged: ENODEV on /dev/i2c-1"
        );
    }

    #[test]
    fn long_detail_is_cut_at_a_character() {
        let error = HalError::new(ErrorKind::Other, &"é".repeat(60));
        assert_eq!(error.detail.chars().count(), 44);
    }
}
