// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ids. Each is a number that only its owner mints; none can be mistaken for another.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// The id minted after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.wrapping_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

ids! {
    /// One exchange, opened by a person's speech at this device. Minted from the local microphone only.
    TurnId "turn-";
    /// One tool invocation in the session's ledger. The provider's own id is a string and may repeat or be absent.
    CallKey "call-";
    /// One question that waits for a person's answer at the confirmation gate.
    PendingId "pending-";
    /// One approval by a person. Spent at most once.
    GrantId "grant-";
    /// One thing the loudspeaker plays: a reply, a local line or a clip.
    UtteranceId "utterance-";
    /// One connection to the provider; counts up with each attempt that reached it.
    Epoch "epoch-";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_kind() {
        assert_eq!(TurnId(3).to_string(), "turn-3");
        assert_eq!(format!("{:?}", CallKey(0).next()), "call-1");
    }
}
