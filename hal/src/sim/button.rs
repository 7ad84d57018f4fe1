// SPDX-License-Identifier: MIT OR Apache-2.0

//! A button that is pressed by a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::board::{Button, PushButton};
use crate::error::{ErrorKind, HalError};
use crate::lane::Lane;
use crate::lock;

/// A button on `lane`, up until its finger says otherwise.
#[must_use]
pub fn button(lane: &Lane) -> (PushButton, Finger) {
    let finger = Finger::default();
    (PushButton::attach(lane, Box::new(SimButton(Arc::clone(&finger.0)))), finger)
}

/// Presses the simulated button. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct Finger(Arc<Mutex<Presses>>);

#[derive(Debug, Default)]
struct Presses {
    /// It is held until it is let go of.
    held: bool,
    /// From when to when it is down.
    script: Vec<(Instant, Instant)>,
    fault: Option<ErrorKind>,
}

impl Finger {
    /// Holds it down, or lets go of it.
    pub fn hold(&self, down: bool) {
        lock(&self.0).held = down;
    }

    /// Presses it at each of these: how long after this moment, and for how long.
    pub fn press(&self, presses: impl IntoIterator<Item = (Duration, Duration)>) {
        let now = Instant::now();
        let spans = presses.into_iter().map(|(after, held)| (now + after, now + after + held));
        lock(&self.0).script.extend(spans);
    }

    /// Breaks it: every reading fails with this kind, until [`Finger::heal`].
    pub fn fail(&self, kind: ErrorKind) {
        lock(&self.0).fault = Some(kind);
    }

    /// Repairs it.
    pub fn heal(&self) {
        lock(&self.0).fault = None;
    }
}

struct SimButton(Arc<Mutex<Presses>>);

impl Button for SimButton {
    fn is_down(&mut self) -> Result<bool, HalError> {
        let presses = lock(&self.0);
        if let Some(kind) = presses.fault {
            return Err(HalError::new(kind, "simulated fault"));
        }
        let now = Instant::now();
        Ok(presses.held || presses.script.iter().any(|(from, to)| (*from..*to).contains(&now)))
    }
}
