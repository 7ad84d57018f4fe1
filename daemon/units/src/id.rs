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

/// What a sheet on the screen is answered with: whoever can name it has seen that sheet. 128 random bits, which neither
/// logs nor `Debug` show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce(u128);

impl Nonce {
    /// One of these bits. They must be random, and of one sheet only.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// The nonce written as a screen sends it back: 32 hexadecimal digits.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        let digits = hex.len() == 32 && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
        digits.then(|| u128::from_str_radix(hex, 16).ok().map(Self))?
    }

    /// The 32 hexadecimal digits that the screen needs. For it alone.
    #[must_use]
    pub fn reveal(self) -> String {
        format!("{:032x}", self.0)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_kind() {
        assert_eq!(TurnId(3).to_string(), "turn-3");
        assert_eq!(format!("{:?}", CallKey(0).next()), "call-1");
    }

    #[test]
    fn a_nonce_is_shown_to_the_screen_only() {
        let nonce = Nonce::new(0xabc);
        assert_eq!(Nonce::parse(&nonce.reveal()), Some(nonce));
        assert!(!format!("{nonce:?}").contains("abc"));
        for other in ["", "abc", "+0000000000000000000000000000abc", &"0".repeat(33)] {
            assert_eq!(Nonce::parse(other), None, "{other}");
        }
    }
}
