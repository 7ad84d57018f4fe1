// SPDX-License-Identifier: MIT OR Apache-2.0

//! The capabilities a device can have, and the board that says which it has.

use std::sync::Arc;

use tokio::time::Instant;

use crate::error::{ErrorKind, HalError};
use crate::lane::{Handle, Health, Lane};
use crate::value::{ChannelId, Descriptor, Quality, Reading};

/// What a device has. A capability it lacks is `None`, and tools that need it are not offered.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Things that can be read.
    pub sensors: Option<Arc<Sensors>>,
    /// Things that can be switched.
    pub outputs: Option<Arc<Outputs>>,
    /// The button that a person agrees with.
    pub button: Option<Arc<PushButton>>,
}

/// Driver side: reads channels. Blocking; called on its lane only, one call at a time.
pub trait Sensor: Send {
    /// Every channel it can read. Asked once, when it is attached.
    fn channels(&self) -> &[Descriptor];

    /// Reads one of them from the device, not from a cache.
    ///
    /// # Errors
    /// `NotFound` for a channel that is not in [`Sensor::channels`]; else what the device or bus said.
    fn read(&mut self, channel: &ChannelId) -> Result<Reading, HalError>;
}

/// Driver side: switches channels on and off. Blocking; called on its lane only, one call at a time.
pub trait DigitalOut: Send {
    /// Every channel it can switch. Asked once, when it is attached.
    fn channels(&self) -> &[Descriptor];

    /// Switches one of them and gives the state read back from the device.
    ///
    /// # Errors
    /// `NotFound` for a channel that is not in [`DigitalOut::channels`]; after any other error the state is unknown.
    fn set(&mut self, channel: &ChannelId, on: bool) -> Result<bool, HalError>;
}

/// Driver side: a button that a person holds to agree to something. Blocking; called on its lane only, one call at a time,
/// again and again: it must be quick.
pub trait Button: Send {
    /// Whether it is down at this moment. A press that was already over is not told of.
    ///
    /// # Errors
    /// What the device or bus said. Whether it is down is not known then: what it was held for is void.
    fn is_down(&mut self) -> Result<bool, HalError>;
}

/// Reader's side of [`Button`].
#[derive(Clone, Debug)]
pub struct PushButton {
    driver: Handle<dyn Button>,
}

impl PushButton {
    /// Puts `driver` on `lane`.
    #[must_use]
    pub fn attach(lane: &Lane, driver: Box<dyn Button>) -> Self {
        Self { driver: lane.attach(driver) }
    }

    /// Whether it is down.
    ///
    /// # Errors
    /// As [`Handle::call`].
    pub async fn is_down(&self, deadline: Instant) -> Result<bool, HalError> {
        self.driver.call(deadline, |button| button.is_down()).await
    }

    /// How the driver and its lane are doing.
    #[must_use]
    pub fn health(&self) -> Health {
        self.driver.health()
    }
}

/// Tool side of [`Sensor`].
#[derive(Clone, Debug)]
pub struct Sensors {
    driver: Handle<dyn Sensor>,
    channels: Arc<[Descriptor]>,
}

impl Sensors {
    /// Puts `driver` on `lane`.
    #[must_use]
    pub fn attach(lane: &Lane, driver: Box<dyn Sensor>) -> Self {
        let channels = driver.channels().into();
        Self { driver: lane.attach(driver), channels }
    }

    /// Every channel, in the driver's order.
    #[must_use]
    pub fn channels(&self) -> &[Descriptor] {
        &self.channels
    }

    /// Reads the channel called `name`, and marks a value the device cannot measure as [`Quality::Suspect`].
    ///
    /// # Errors
    /// `NotFound` at once for an unknown name; else as [`Handle::call`].
    pub async fn read(&self, name: &str, deadline: Instant) -> Result<Reading, HalError> {
        let descriptor = find(&self.channels, name)?;
        let (id, range) = (descriptor.id.clone(), descriptor.range);
        let asked = id.clone();
        let mut reading = self
            .driver
            .call(deadline, move |sensor| sensor.read(&asked))
            .await
            .map_err(|error| error.on(&id))?;
        if !range.holds(&reading.value) {
            reading.quality = Quality::Suspect;
        }
        Ok(reading)
    }

    /// How the driver and its lane are doing.
    #[must_use]
    pub fn health(&self) -> Health {
        self.driver.health()
    }
}

/// Tool side of [`DigitalOut`].
#[derive(Clone, Debug)]
pub struct Outputs {
    driver: Handle<dyn DigitalOut>,
    channels: Arc<[Descriptor]>,
}

impl Outputs {
    /// Puts `driver` on `lane`.
    #[must_use]
    pub fn attach(lane: &Lane, driver: Box<dyn DigitalOut>) -> Self {
        let channels = driver.channels().into();
        Self { driver: lane.attach(driver), channels }
    }

    /// Every channel, in the driver's order.
    #[must_use]
    pub fn channels(&self) -> &[Descriptor] {
        &self.channels
    }

    /// Switches the channel called `name` and gives the state read back. A [`ErrorKind::Timeout`] means that it may
    /// have switched.
    ///
    /// # Errors
    /// `NotFound` at once for an unknown name; else as [`Handle::call`].
    pub async fn set(&self, name: &str, on: bool, deadline: Instant) -> Result<bool, HalError> {
        let id = find(&self.channels, name)?.id.clone();
        let asked = id.clone();
        self.driver.call(deadline, move |output| output.set(&asked, on)).await.map_err(|error| error.on(&id))
    }

    /// How the driver and its lane are doing.
    #[must_use]
    pub fn health(&self) -> Health {
        self.driver.health()
    }
}

fn find<'a>(channels: &'a [Descriptor], name: &str) -> Result<&'a Descriptor, HalError> {
    channels.iter().find(|descriptor| descriptor.id == name).ok_or_else(|| {
        HalError::new(ErrorKind::NotFound, &format!("no channel `{name}` among {}", channels.len()))
    })
}
