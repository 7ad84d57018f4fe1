// SPDX-License-Identifier: MIT OR Apache-2.0

//! The journal as bytes: slots of one size, each complete in itself, so that damage to one cannot hide where the next begins.
//!
//! A slot is `vj`, the length of its body, the body, zeros, and the first bytes of the SHA-256 of all that.

use sha2::{Digest, Sha256};

/// Bytes of one slot: half a sector of a disk, so that no slot is on two.
pub(super) const SLOT_BYTES: usize = 256;

const MAGIC: [u8; 2] = *b"vj";
const HEAD_BYTES: usize = 4;
const CHECK_BYTES: usize = 8;
const CHECKED_BYTES: usize = SLOT_BYTES - CHECK_BYTES;

/// State and time.
const FACTS_BYTES: usize = 9;

/// Longest texts of an entry: all of them fit into a slot with their lengths.
const KEY_BYTES_MAX: usize = 64;
const TOOL_BYTES_MAX: usize = 120;
const RUN_BYTES_MAX: usize = 40;

const _: () =
    assert!(HEAD_BYTES + FACTS_BYTES + 3 + KEY_BYTES_MAX + TOOL_BYTES_MAX + RUN_BYTES_MAX <= CHECKED_BYTES);

/// How far a call has come that a person agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is to run. Nothing has happened.
    Intended,
    /// Its tool may have been entered: from here on something may have happened.
    Begun,
    /// It did what it says.
    Done,
    /// It failed, or says so itself.
    Failed,
    /// It was stopped before its tool was entered, or before it did anything.
    Cancelled,
    /// It had begun when the daemon ended. The owner was told, the model was not.
    Unknown,
    /// It had begun and nobody knows how it ended. Everybody was told.
    Told,
}

impl State {
    const ALL: [Self; 7] =
        [Self::Intended, Self::Begun, Self::Done, Self::Failed, Self::Cancelled, Self::Unknown, Self::Told];

    /// The call needs nothing any more.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Intended | Self::Begun | Self::Unknown => false,
            Self::Done | Self::Failed | Self::Cancelled | Self::Told => true,
        }
    }

    fn code(self) -> u8 {
        Self::ALL.iter().zip(1..).find(|(state, _)| **state == self).map_or(0, |(_, code)| code)
    }

    fn of(code: u8) -> Option<Self> {
        Self::ALL.iter().zip(1..).find(|(_, own)| *own == code).map(|(state, _)| *state)
    }
}

/// What one slot says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How far the call has come.
    pub state: State,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The idempotency key of the approval it spent.
    pub key: String,
    /// The tool's name.
    pub tool: String,
    /// The run of the daemon that wrote it.
    pub run: String,
}

impl Entry {
    /// The beginning of its key, for people: [`crate::identity::key8`].
    #[must_use]
    pub fn key8(&self) -> &str {
        crate::identity::key8(&self.key)
    }

    pub(super) fn encode(&self) -> [u8; SLOT_BYTES] {
        let mut body = vec![self.state.code()];
        body.extend(self.at_ms.to_le_bytes());
        for (text, max) in
            [(&self.key, KEY_BYTES_MAX), (&self.tool, TOOL_BYTES_MAX), (&self.run, RUN_BYTES_MAX)]
        {
            let text = head(text, max);
            body.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
            body.extend(text.as_bytes());
        }
        let mut slot = [0; SLOT_BYTES];
        slot[..2].copy_from_slice(&MAGIC);
        slot[2..HEAD_BYTES].copy_from_slice(&u16::try_from(body.len()).unwrap_or(u16::MAX).to_le_bytes());
        slot[HEAD_BYTES..HEAD_BYTES + body.len()].copy_from_slice(&body);
        let check = check(&slot[..CHECKED_BYTES]);
        slot[CHECKED_BYTES..].copy_from_slice(&check);
        slot
    }

    fn decode(slot: &[u8]) -> Option<Self> {
        let (checked, check) = slot.split_at_checked(CHECKED_BYTES)?;
        if check != self::check(checked) {
            return None;
        }
        let rest = checked.strip_prefix(&MAGIC)?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let body = rest.get(..usize::from(u16::from_le_bytes(*length)))?;
        let (state, body) = body.split_first()?;
        let (at_ms, mut body) = body.split_first_chunk::<8>()?;
        let mut text = || {
            let (length, rest) = body.split_first()?;
            let (text, rest) = rest.split_at_checked(usize::from(*length))?;
            body = rest;
            String::from_utf8(text.to_vec()).ok()
        };
        let (key, tool, run) = (text()?, text()?, text()?);
        Some(Self { state: State::of(*state)?, at_ms: u64::from_le_bytes(*at_ms), key, tool, run })
    }
}

fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    std::array::from_fn(|n| hash[n])
}

/// What a journal says, and what of it is damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The last entry of each call, in the order in which the calls were first written.
    pub calls: Vec<Entry>,
    /// Slots that could not be read, counted from 0.
    pub damaged: Vec<usize>,
    /// Bytes after the last whole slot: a record that was being written when the power went. It was never on disk as a whole, so
    /// nobody has acted on it.
    pub torn_bytes: usize,
}

/// Reads a journal, whatever its bytes are. A slot that is damaged costs what it said and nothing else.
///
/// Of a call that was intended, and behind whose record a damaged one stands, that one may have said that it began: it is given as
/// begun.
#[must_use]
pub fn read(bytes: &[u8]) -> Contents {
    let slots = bytes.chunks_exact(SLOT_BYTES);
    let mut contents = Contents { torn_bytes: slots.remainder().len(), ..Contents::default() };
    let mut places = std::collections::BTreeMap::new();
    for (place, slot) in slots.enumerate() {
        let Some(entry) = Entry::decode(slot) else {
            contents.damaged.push(place);
            for call in contents.calls.iter_mut().filter(|call| call.state == State::Intended) {
                call.state = State::Begun;
            }
            continue;
        };
        match places.get(&entry.key) {
            Some(&call) => contents.calls[call] = entry,
            None => {
                places.insert(entry.key.clone(), contents.calls.len());
                contents.calls.push(entry);
            }
        }
    }
    contents
}
