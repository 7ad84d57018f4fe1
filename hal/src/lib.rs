// SPDX-License-Identifier: MIT OR Apache-2.0

//! Hardware, as the rest of the daemon sees it: small blocking driver traits, reached through async handles.
//!
//! It decides which driver call runs on which bus and when it is too late to run it, and it sorts every failure into
//! an [`ErrorKind`] with a fixed answer to "try again?" and "tell the person?". It never decides what a reading
//! means, never retries by itself and never lets a driver block the async side.
//!
//! # Contract
//! A driver implements one capability ([`Sensor`], [`DigitalOut`], [`Button`]): object-safe, blocking, knowing nothing of threads.
//! It is attached to a [`Lane`], which is one bus: one OS thread, one call at a time, a queue of [`QUEUE`] calls. A
//! [`Handle`] carries closures to it, each under an absolute deadline; whatever the driver does, the caller has its
//! answer by then. A [`Board`] names what a device has: a capability it lacks is `None`.
//!
//! # Words
//! - **channel**: one thing that is read or switched, such as `cold_storage.temperature`.
//! - **lane**: the bus a driver sits on, with its thread and queue.
//! - **not responding**: a call is past its deadline and still inside the driver; later calls are refused at once.
//! - **resting**: a driver failed [`BREAKER_FAILURES`] times in a row; one call in a while is let through to try.
//! - **simulator**: [`sim`], a board without hardware. Its readings say so ([`Quality::Simulated`]).

#![forbid(unsafe_code)]

mod board;
mod breaker;
mod error;
mod evdev;
mod lane;
mod level;
pub mod sim;
mod value;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use board::{Board, Button, DigitalOut, Outputs, PushButton, Sensor, Sensors};
pub use breaker::{BREAKER_FAILURES, BREAKER_REST_MAX, BREAKER_REST_MIN};
pub use error::{Detail, ErrorKind, HalError, Retry};
pub use evdev::EvdevButton;
pub use lane::{Handle, Health, Lane, QUEUE, Stall};
pub use level::{Level, LevelFile};
pub use value::{ChannelId, Class, Descriptor, Label, Quality, Range, Reading, Risk, Unit, Value};

/// A boxed `Send` future: what an object-safe async call returns.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Locks data whose writers never leave it half-changed, so a panic elsewhere does not spoil it.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
