// SPDX-License-Identifier: MIT OR Apache-2.0

//! Who wants the microphone off. It is on only if nobody does.

/// The two that may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mute {
    /// A person, by a signal, a command or a tool.
    pub(crate) asked: bool,
    /// A switch of the hardware. What anybody asks for does not count against it.
    pub(crate) line: bool,
}

impl Mute {
    /// Whether the microphone is off.
    pub(crate) const fn holds(self) -> bool {
        self.asked || self.line
    }
}
