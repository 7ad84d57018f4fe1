// SPDX-License-Identifier: MIT OR Apache-2.0

//! The simulator: a warehouse board without hardware, with values and faults set from outside and every call recorded.
//!
//! Its readings are marked [`Quality::Simulated`]. It never blocks, so it may sit on an inline lane; a hung device is
//! rehearsed with [`Lane::stall`](crate::Lane::stall).

mod button;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use crate::board::{Board, DigitalOut, Outputs, Sensor, Sensors};
use crate::error::{ErrorKind, HalError};
use crate::lane::Lane;
use crate::lock;
use crate::value::{ChannelId, Class, Descriptor, Label, Quality, Range, Reading, Risk, Unit, Value};

pub use button::{Finger, button};

/// The zones of the simulated warehouse: name, °C, % relative humidity.
const ZONES: [(&str, f64, f64); 2] = [("cold_storage", 4.2, 85.0), ("loading_dock", 22.5, 45.0)];

/// The one switched output: a lamp at the dock.
const LAMP: &str = "loading_dock.lamp";

/// What a simulated channel does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every call fails with this kind, until [`Control::heal`].
    Error(ErrorKind),
    /// The driver's code panics, as a bug would make it.
    Panic,
}

/// One call a simulated driver received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A channel was read.
    Read(ChannelId),
    /// A channel was switched.
    Set(ChannelId, bool),
}

/// The warehouse board on `lane`, and the control that plays its world.
#[must_use]
pub fn warehouse(lane: &Lane) -> (Board, Control) {
    warehouse_of(lane, ZONES)
}

/// The same with other zones: name, °C, % relative humidity. A zone whose name is too long for a [`ChannelId`] with
/// `.temperature` behind it is left out.
#[must_use]
pub fn warehouse_of<'a>(
    lane: &Lane,
    zones: impl IntoIterator<Item = (&'a str, f64, f64)>,
) -> (Board, Control) {
    let control = Control::default();
    let mut names = Vec::new();
    {
        let mut world = lock(&control.0);
        for (zone, temp_c, humidity) in zones {
            if ChannelId::try_from(format!("{zone}.temperature").as_str()).is_err() {
                continue;
            }
            world.put(zone, Class::Temperature, temp_c);
            world.put(zone, Class::Humidity, humidity);
            names.push(zone);
        }
    }
    let sensor = SimSensor {
        world: Arc::clone(&control.0),
        channels: names
            .into_iter()
            .flat_map(|zone| {
                [
                    channel(zone, Class::Temperature, Unit::Celsius, Range::of_units(-40, 85)),
                    channel(zone, Class::Humidity, Unit::PercentRelativeHumidity, Range::of_units(0, 100)),
                ]
            })
            .collect(),
    };
    let lamp = SimOutput {
        world: Arc::clone(&control.0),
        channels: vec![Descriptor {
            id: id(LAMP),
            class: Class::Switch,
            unit: Unit::One,
            range: Range::of_units(0, 1),
            label: label("loading dock lamp"),
            risk: Risk::Reversible,
        }],
    };
    let board = Board {
        sensors: Some(Arc::new(Sensors::attach(lane, Box::new(sensor)))),
        outputs: Some(Arc::new(Outputs::attach(lane, Box::new(lamp)))),
        button: None,
    };
    (board, control)
}

/// Plays the world around the simulated board. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Mutex<World>>);

#[derive(Debug, Default)]
struct World {
    values: BTreeMap<String, f64>,
    faults: BTreeMap<String, Fault>,
    outputs: BTreeMap<String, bool>,
    calls: Vec<Call>,
    seq: u32,
}

impl World {
    fn put(&mut self, zone: &str, class: Class, number: f64) {
        self.values.insert(format!("{zone}.{}", class.word()), number);
    }

    /// Records the call and plays the fault, if there is one.
    fn called(&mut self, channel: &str, call: Call) -> Result<(), HalError> {
        self.calls.push(call);
        match self.faults.get(channel) {
            None => Ok(()),
            Some(Fault::Error(kind)) => Err(HalError::new(*kind, "simulated fault")),
            Some(Fault::Panic) => panic!("simulated driver bug"),
        }
    }
}

impl Control {
    /// Sets the number that `channel` (such as `cold_storage.temperature`) reads from this moment, in its unit.
    pub fn set(&self, channel: &str, number: f64) {
        lock(&self.0).values.insert(channel.to_owned(), number);
    }

    /// Breaks `channel` until [`Control::heal`].
    pub fn fail(&self, channel: &str, fault: Fault) {
        lock(&self.0).faults.insert(channel.to_owned(), fault);
    }

    /// Repairs `channel`.
    pub fn heal(&self, channel: &str) {
        lock(&self.0).faults.remove(channel);
    }

    /// Every call the drivers received, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.0).calls.clone()
    }

    /// Whether the output `channel` is on; `None` if nobody has switched it.
    #[must_use]
    pub fn output(&self, channel: &str) -> Option<bool> {
        lock(&self.0).outputs.get(channel).copied()
    }
}

struct SimSensor {
    world: Arc<Mutex<World>>,
    channels: Vec<Descriptor>,
}

impl Sensor for SimSensor {
    fn channels(&self) -> &[Descriptor] {
        &self.channels
    }

    fn read(&mut self, channel: &ChannelId) -> Result<Reading, HalError> {
        let mut world = lock(&self.world);
        world.called(channel, Call::Read(channel.clone()))?;
        let descriptor = self
            .channels
            .iter()
            .find(|descriptor| descriptor.id == *channel)
            .ok_or_else(|| HalError::new(ErrorKind::NotFound, "not a channel of the simulator"))?;
        let number = world.values.get(channel.as_str()).copied().unwrap_or(f64::NAN);
        world.seq = world.seq.wrapping_add(1);
        Ok(Reading {
            channel: channel.clone(),
            value: Value::fixed(number, descriptor.unit).unwrap_or(Value::Absent),
            quality: Quality::Simulated,
            taken_at: Instant::now().into_std(),
            seq: world.seq,
        })
    }
}

struct SimOutput {
    world: Arc<Mutex<World>>,
    channels: Vec<Descriptor>,
}

impl DigitalOut for SimOutput {
    fn channels(&self) -> &[Descriptor] {
        &self.channels
    }

    fn set(&mut self, channel: &ChannelId, on: bool) -> Result<bool, HalError> {
        let mut world = lock(&self.world);
        world.called(channel, Call::Set(channel.clone(), on))?;
        world.outputs.insert(channel.as_str().to_owned(), on);
        Ok(on)
    }
}

fn channel(zone: &str, class: Class, unit: Unit, range: Range) -> Descriptor {
    Descriptor {
        id: id(&format!("{zone}.{}", class.word())),
        class,
        unit,
        range,
        label: label(&format!("{} {}", zone.replace('_', " "), class.word())),
        risk: Risk::Read,
    }
}

fn id(text: &str) -> ChannelId {
    ChannelId::try_from(text).expect("the simulator's own channel names are short")
}

fn label(text: &str) -> Label {
    Label::try_from(text).expect("the simulator's own labels are short")
}
