// SPDX-License-Identifier: MIT OR Apache-2.0

//! A loudspeaker nobody hears.

use std::sync::mpsc::Receiver;

use units::Hz;

use super::pump::{Cadence, Pump};
use super::{Answer, Opened, Opener, Stream, at_once};
use crate::rt::{Playback, PlaybackLine, playback};

/// Takes 48 kHz mono and forgets it.
pub(crate) struct Null;

struct Drain {
    device: Playback,
    cadence: Cadence,
    buffer: Vec<f32>,
}

impl Opener for Null {
    type Line = PlaybackLine;

    fn device(&self) -> String {
        "the null loudspeaker".into()
    }

    fn open(&mut self) -> Receiver<Answer<PlaybackLine>> {
        let (device, line) = playback(Hz::K48, 1, 480);
        let drain = Drain { device, cadence: Cadence::new(Hz::K48), buffer: Vec::new() };
        at_once(Ok(Opened::fixed(line, Stream::Pumped(Box::new(drain)), "no loudspeaker".into())))
    }
}

impl Pump for Drain {
    fn pump(&mut self) {
        self.buffer.resize(self.cadence.next(), 0.0);
        self.device.fill(&mut self.buffer, None);
    }
}

/// A device of the machine in a build that cannot open one.
#[cfg(not(feature = "cpal"))]
pub(crate) struct Unbuilt<L> {
    device: String,
    line: std::marker::PhantomData<fn() -> L>,
}

#[cfg(not(feature = "cpal"))]
impl<L> Unbuilt<L> {
    pub(crate) fn new(direction: crate::Direction, id: Option<String>) -> Self {
        let name = id.unwrap_or_else(|| "default".into());
        Self { device: super::describe(direction, &name), line: std::marker::PhantomData }
    }
}

#[cfg(not(feature = "cpal"))]
impl<L: super::Line> Opener for Unbuilt<L> {
    type Line = L;

    fn device(&self) -> String {
        self.device.clone()
    }

    fn open(&mut self) -> Receiver<Answer<L>> {
        let message =
            "this program was built without feature `cpal`: use a build that has it, or a file".into();
        at_once(Err(super::DeviceError::Failed { device: self.device.clone(), message }))
    }
}
