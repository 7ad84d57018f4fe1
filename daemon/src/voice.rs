// SPDX-License-Identifier: MIT OR Apache-2.0

//! The voice of the model: which it has, and which it will have from the next connection on.
//!
//! A connection has the voice that its set-up names, and no other as long as it lives. Which voices there are is the
//! provider's to know: the configuration names those that may be chosen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The voice of the connection, and the one that is wanted. Clones are one.
#[derive(Clone, Debug)]
pub struct Voice(Arc<Mutex<State>>);

/// `None` leaves the choice to the provider.
#[derive(Clone, Debug)]
struct State {
    of_connection: Option<String>,
    wanted: Option<String>,
}

impl Voice {
    /// The voice of the configuration: the first connection is made with it.
    #[must_use]
    pub fn new(usual: Option<String>) -> Self {
        Self(Arc::new(Mutex::new(State { of_connection: usual.clone(), wanted: usual })))
    }

    /// From the next connection on it is this one.
    pub fn want(&self, voice: &str) {
        self.state().wanted = Some(voice.to_owned());
    }

    /// A connection is made: the voice it is made with.
    #[must_use]
    pub fn connect(&self) -> Option<String> {
        let mut state = self.state();
        state.of_connection = state.wanted.clone();
        state.wanted.clone()
    }

    /// The voice of the connection that was made last.
    #[must_use]
    pub fn of_connection(&self) -> Option<String> {
        self.state().of_connection.clone()
    }

    /// The voice of the next connection, if it is another.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        let state = self.state();
        state.wanted.clone().filter(|_| state.wanted != state.of_connection)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
