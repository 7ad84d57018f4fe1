// SPDX-License-Identifier: MIT OR Apache-2.0

//! What travels between a driver and its callers: bounded in size, never allocating.

use std::fmt;
use std::time::Instant;

/// Name of a channel, at most 32 bytes: `<place>.<quantity>`, such as `cold_storage.temperature`.
pub type ChannelId = heapless::String<32, u8>;

/// What a person calls a channel, at most 48 bytes.
pub type Label = heapless::String<48, u8>;

/// Units of readings. Closed, so that no two drivers spell one differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Degrees Celsius.
    Celsius,
    /// Relative humidity.
    PercentRelativeHumidity,
    /// Percent of anything else.
    Percent,
    /// Illuminance.
    Lux,
    /// Mass.
    Kilogram,
    /// Electric potential.
    Volt,
    /// Electric current.
    Ampere,
    /// Power.
    Watt,
    /// Pressure.
    Pascal,
    /// Distance.
    Metre,
    /// A bare count.
    One,
}

impl Unit {
    /// The unit's code in the Unified Code for Units of Measure (UCUM).
    #[must_use]
    pub const fn ucum(self) -> &'static str {
        match self {
            Self::Celsius => "Cel",
            Self::PercentRelativeHumidity => "%{RH}",
            Self::Percent => "%",
            Self::Lux => "lx",
            Self::Kilogram => "kg",
            Self::Volt => "V",
            Self::Ampere => "A",
            Self::Watt => "W",
            Self::Pascal => "Pa",
            Self::Metre => "m",
            Self::One => "1",
        }
    }
}

/// One value as a driver read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number in millionths of `unit`: exact, comparable, the same on every machine.
    Fixed {
        /// Millionths of one `unit`.
        micro: i64,
        /// The unit.
        unit: Unit,
    },
    /// On or off.
    Bool(bool),
    /// A short text, such as a state.
    Text(heapless::String<64, u8>),
    /// Something scanned, such as a barcode.
    Code(heapless::String<128, u8>),
    /// The device answered that it has no value (not the same as 0, and not an error).
    Absent,
}

impl Value {
    /// `number` of `unit`, to the nearest millionth; `None` if it is not finite or beyond ±9.2e12.
    #[must_use]
    pub fn fixed(number: f64, unit: Unit) -> Option<Self> {
        const LIMIT: f64 = 9.2e12;
        if !number.is_finite() || number.abs() > LIMIT {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "bounded above: the product is below 2^63")]
        let micro = (number * 1e6).round() as i64;
        Some(Self::Fixed { micro, unit })
    }

    /// The number in its unit, if this is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            // Exact up to 2^53 millionths, which is nine billion units.
            #[expect(
                clippy::cast_precision_loss,
                reason = "a reading has far fewer than 53 significant bits"
            )]
            Self::Fixed { micro, .. } => Some(*micro as f64 / 1e6),
            Self::Bool(_) | Self::Text(_) | Self::Code(_) | Self::Absent => None,
        }
    }
}

/// How far a reading can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// Fresh and plausible.
    Good,
    /// The last value the device had; it has no newer one.
    Stale,
    /// Outside what the device can measure: do not state it as fact.
    Suspect,
    /// Made by the simulator.
    Simulated,
}

/// One reading of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which channel.
    pub channel: ChannelId,
    /// What was read.
    pub value: Value,
    /// How far to trust it.
    pub quality: Quality,
    /// When the device was asked, on the monotonic clock.
    pub taken_at: Instant,
    /// Counts up with every reading of this driver, so that a repeated one shows.
    pub seq: u32,
}

/// What kind of quantity a channel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Temperature.
    Temperature,
    /// Humidity.
    Humidity,
    /// Light.
    Illuminance,
    /// Weight.
    Mass,
    /// A switched output: relay, lock, lamp.
    Switch,
    /// Anything else with a number.
    Other,
}

impl Class {
    /// The word used in channel names after the place.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::Humidity => "humidity",
            Self::Illuminance => "illuminance",
            Self::Mass => "mass",
            Self::Switch => "switch",
            Self::Other => "value",
        }
    }
}

/// What a mistaken use of a channel can do. Tools take their effect class from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// It only looks.
    Read,
    /// It can be put back.
    Reversible,
    /// It cannot be put back, or somebody could be hurt.
    Hazardous,
}

/// Closed interval of plausible values, in millionths of the channel's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Lowest.
    pub min_micro: i64,
    /// Highest.
    pub max_micro: i64,
}

impl Range {
    /// From whole units, both ends included.
    #[must_use]
    pub const fn of_units(min: i32, max: i32) -> Self {
        Self { min_micro: min as i64 * 1_000_000, max_micro: max as i64 * 1_000_000 }
    }

    /// Whether `value` lies inside. Values without a number always do.
    #[must_use]
    pub fn holds(self, value: &Value) -> bool {
        match value {
            Value::Fixed { micro, .. } => (self.min_micro..=self.max_micro).contains(micro),
            Value::Bool(_) | Value::Text(_) | Value::Code(_) | Value::Absent => true,
        }
    }
}

/// The facts of one channel. Limits live here, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its name.
    pub id: ChannelId,
    /// What it measures or switches.
    pub class: Class,
    /// Unit of its readings.
    pub unit: Unit,
    /// What the device can measure; a reading outside it is [`Quality::Suspect`].
    pub range: Range,
    /// What a person calls it.
    pub label: Label,
    /// What a mistaken use can do.
    pub risk: Risk,
}

impl Descriptor {
    /// The part of the id before the last dot: where the channel is.
    #[must_use]
    pub fn place(&self) -> &str {
        self.id.rsplit_once('.').map_or(self.id.as_str(), |(place, _)| place)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ucum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_millionths() {
        let value = Value::fixed(4.2, Unit::Celsius);
        assert_eq!(value, Some(Value::Fixed { micro: 4_200_000, unit: Unit::Celsius }));
        assert_eq!(value.and_then(|v| v.as_f64()), Some(4.2));
        assert_eq!(Value::fixed(-0.000_000_4, Unit::Volt).and_then(|v| v.as_f64()), Some(0.0));
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e13, -1e300] {
            assert_eq!(Value::fixed(bad, Unit::One), None, "{bad}");
        }
    }

    #[test]
    fn a_range_holds_its_ends() {
        let range = Range::of_units(-40, 85);
        let at = |number: f64| Value::fixed(number, Unit::Celsius).is_some_and(|v| range.holds(&v));
        assert!(at(-40.0) && at(85.0) && at(4.2));
        assert!(!at(-40.000_001) && !at(85.000_001));
        assert!(range.holds(&Value::Absent));
    }
}
