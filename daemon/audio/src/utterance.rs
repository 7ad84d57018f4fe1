// SPDX-License-Identifier: MIT OR Apache-2.0

//! One utterance: its audio, and how much of it was rendered and heard.

use std::collections::VecDeque;

use units::{Pcm, UtteranceId};

use crate::api::Priority;
use crate::rt::Sample as _;

/// Audio queued in one utterance: 180 s. A provider sends a reply faster than it is spoken, so minutes can wait.
pub(crate) const UTTERANCE_MAX: u64 = 180 * 24_000;

/// Digital silence at the end of an utterance that is played: 100 ms, as much as a speaker leaves between sentences. What
/// is longer was put there to fill a packet.
pub(crate) const PADDING_MAX: u64 = 2_400;

/// What one source has to say. 24 kHz mono.
#[derive(Debug)]
pub(crate) struct Utterance {
    pub(crate) id: UtteranceId,
    pub(crate) priority: Priority,
    pieces: VecDeque<Pcm>,
    /// Frames of the first piece already taken.
    at: usize,
    /// Frames of it not yet rendered.
    pub(crate) queued: u64,
    /// Frames taken in.
    accepted: u64,
    /// Frames offered, refused ones included, less the padding that was left out.
    pub(crate) offered: u64,
    pub(crate) heard: u64,
    /// From the first to behind the last of the frames taken in that are not digital zero.
    sound: Option<(u64, u64)>,
    started: bool,
    pub(crate) stage: Stage,
}

/// How far an utterance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// More may be appended.
    Open,
    /// Nothing more will be appended.
    Complete,
    /// Nothing of it is rendered from this position on; `dropped` when a flush is why.
    Ended { at: u64, dropped: bool },
}

impl Utterance {
    /// One without audio.
    pub(crate) fn new(id: UtteranceId, priority: Priority) -> Self {
        Self {
            id,
            priority,
            pieces: VecDeque::new(),
            at: 0,
            queued: 0,
            accepted: 0,
            offered: 0,
            heard: 0,
            sound: None,
            started: false,
            stage: Stage::Open,
        }
    }

    /// Takes `pcm` in whole. Returns how many frames are refused, all of them or none: it is over, or too long.
    pub(crate) fn append(&mut self, pcm: Pcm) -> u64 {
        let frames = pcm.frames().0;
        self.offered += frames;
        if self.stage != Stage::Open || self.queued + frames > UTTERANCE_MAX {
            return frames;
        }
        let samples = pcm.samples();
        if let Some(last) = samples.iter().rposition(|sample| *sample != 0) {
            let first = samples.iter().position(|sample| *sample != 0).unwrap_or(last) as u64;
            let begins = self.sound.map_or(self.accepted + first, |(begins, _)| begins);
            self.sound = Some((begins, self.accepted + last as u64 + 1));
        }
        self.accepted += frames;
        self.queued += frames;
        if frames > 0 {
            self.pieces.push_back(pcm);
        }
        0
    }

    /// Whether it has audio, or is complete and has none left.
    pub(crate) fn is_ready(&self) -> bool {
        self.queued > 0 || self.stage == Stage::Complete
    }

    pub(crate) const fn is_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended { .. })
    }

    /// Moves as much as there is, and fits, to the start of `out`. It stays queued until it is rendered.
    pub(crate) fn take(&mut self, out: &mut [f32]) -> usize {
        let mut len = 0;
        while let (Some(piece), Some(room)) = (self.pieces.front(), out.get_mut(len..)) {
            let from = piece.samples().get(self.at..).unwrap_or(&[]);
            let moved = from.len().min(room.len());
            room.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f32());
            len += moved;
            self.at += moved;
            if moved < from.len() {
                break;
            }
            self.pieces.pop_front();
            self.at = 0;
        }
        len
    }

    /// Leaves out what is left of it, if that is nothing but padding. Whether it was.
    pub(crate) fn leave_padding(&mut self) -> bool {
        let sounds_until = self.sound.map_or(0, |(_, end)| end);
        let rendered = self.accepted - self.queued;
        if self.stage != Stage::Complete || self.queued <= PADDING_MAX || rendered < sounds_until {
            return false;
        }
        self.offered -= self.queued;
        self.pieces.clear();
        self.queued = 0;
        true
    }

    /// `frames` more of it were heard. Whether its first sound was among them.
    pub(crate) fn hear(&mut self, frames: u64) -> bool {
        self.heard += frames;
        let starts = !self.started && self.sound.is_some_and(|(begins, _)| self.heard > begins);
        self.started |= starts;
        starts
    }

    /// Ends at position `at`, whatever is left.
    pub(crate) fn drop_rest(&mut self, at: u64) {
        self.pieces.clear();
        self.queued = 0;
        self.stage = Stage::Ended { at, dropped: true };
    }

    pub(crate) fn is_cut(&self) -> bool {
        let dropped = match self.stage {
            Stage::Ended { dropped, .. } => dropped,
            Stage::Open | Stage::Complete => false,
        };
        dropped || self.heard < self.offered
    }
}
