// SPDX-License-Identifier: MIT OR Apache-2.0

//! How one utterance goes over the wire: cut into chunks, paced, with its transcript between them.

use std::time::Duration;

use units::{Hz, Pcm};

use crate::scenario::{Burst, CallPlan, Say, Source};
use crate::voices::{Recording, Voices};

/// The lengths of successive audio messages; the last repeats. The live service has been seen to grow from 50 to
/// 320 ms over one reply.
const CHUNK_MS: [u32; 6] = [40, 60, 100, 160, 240, 320];

/// The pitch of a test tone.
const TONE_HZ: f32 = 440.0;

/// One message of an utterance.
#[derive(Debug)]
pub(crate) enum Item {
    /// Little-endian 16-bit mono samples; an odd count only if the scenario wants it.
    Audio(Vec<u8>),
    /// A fragment of the transcript, to be appended verbatim.
    Transcript(String),
    Call(Vec<CallPlan>),
}

/// An utterance ready to be sent: each item with its delay from the first.
#[derive(Debug)]
pub(crate) struct Utterance {
    pub id: String,
    pub text: String,
    pub pcm: Pcm,
    pub items: Vec<(Duration, Item)>,
}

/// Plans what `say` sends. An unknown voice, which `Rehearsal::new` refuses, would be said as nothing.
pub(crate) fn plan(say: &Say, voices: &Voices, burst: Burst, tiny_first: bool) -> Utterance {
    let silence = || Recording { pcm: Pcm::new(say.rate, Vec::new()), text: String::new() };
    let (id, recording) = match &say.source {
        Source::Voice(id) => (id.clone(), voices.find(id).cloned().unwrap_or_else(silence)),
        Source::Tone(span) => {
            ("tone".to_owned(), Recording { pcm: tone(say.rate, *span), text: String::new() })
        }
    };
    let pcm = convert(&recording.pcm, say.rate);
    let bytes: Vec<u8> = pcm.samples().iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let ends = chunk_ends(bytes.len(), say.rate, tiny_first, say.odd);

    let letters: Vec<char> = recording.text.chars().collect();
    let mut items = Vec::new();
    let mut mid = say.mid.clone();
    let (mut start, mut shown) = (0, 0);
    for end in ends {
        let before = span_of(start, say.rate);
        let due = match burst {
            Burst::All => Duration::ZERO,
            Burst::Times(times) => before.div_f64(times),
        };
        if let Some((_, calls)) = mid.take_if(|(at, _)| *at <= before) {
            items.push((due, Item::Call(calls)));
        }
        items.push((due, Item::Audio(bytes[start..end].to_vec())));
        // As much of the text as of the audio, so that fragments end in the middle of words.
        let upto = letters.len() * end / bytes.len().max(1);
        if upto > shown {
            items.push((due, Item::Transcript(letters[shown..upto].iter().collect())));
            shown = upto;
        }
        start = end;
    }
    if let Some((_, calls)) = mid {
        let due = items.last().map_or(Duration::ZERO, |(due, _)| *due);
        items.push((due, Item::Call(calls)));
    }
    Utterance { id, text: recording.text, pcm, items }
}

/// Where each audio message ends, in bytes.
fn chunk_ends(total: usize, rate: Hz, tiny_first: bool, odd: bool) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut end = if tiny_first { 2.min(total) } else { 0 };
    if end > 0 && end < total {
        ends.push(end);
    }
    let mut lengths = CHUNK_MS.iter().copied().chain(std::iter::repeat(CHUNK_MS[CHUNK_MS.len() - 1]));
    while end < total {
        let ms = lengths.next().unwrap_or(320);
        let frames = usize::try_from(u64::from(rate.get()) * u64::from(ms) / 1000).unwrap_or(usize::MAX);
        end = end.saturating_add(frames.saturating_mul(2)).min(total);
        ends.push(end);
    }
    if odd {
        for boundary in ends.iter_mut().filter(|boundary| **boundary < total) {
            *boundary -= 1;
        }
    }
    ends
}

fn span_of(bytes: usize, rate: Hz) -> Duration {
    units::Frames(bytes as u64 / 2).span(rate)
}

fn tone(rate: Hz, span: Duration) -> Pcm {
    let count = usize::try_from(rate.frames_in(span).0).unwrap_or(0);
    let step = std::f32::consts::TAU * TONE_HZ / rate_f32(rate);
    let mut phase = 0.0f32;
    let samples: Vec<i16> = (0..count)
        .map(|_| {
            phase = (phase + step) % std::f32::consts::TAU;
            to_i16(phase.sin() * 8_000.0)
        })
        .collect();
    Pcm::new(rate, samples)
}

/// The same audio at another rate, by linear interpolation: good enough for a test signal, and exact if the rates
/// agree.
fn convert(pcm: &Pcm, rate: Hz) -> Pcm {
    if pcm.rate() == rate || pcm.is_empty() {
        return Pcm::new(rate, pcm.samples());
    }
    let source = pcm.samples();
    let (from, to) = (u64::from(pcm.rate().get()), u64::from(rate.get()));
    let count = source.len() as u64 * to / from;
    let samples: Vec<i16> = (0..count)
        .map(|i| {
            let at = i * from;
            let index = usize::try_from(at / to).unwrap_or(usize::MAX).min(source.len() - 1);
            let next = source[(index + 1).min(source.len() - 1)];
            let (left, right) = (i64::from(source[index]), i64::from(next));
            let weight = i64::try_from(at % to).unwrap_or(0);
            let mixed = left + (right - left) * weight / i64::try_from(to).unwrap_or(1);
            i16::try_from(mixed).unwrap_or_default()
        })
        .collect();
    Pcm::new(rate, samples)
}

#[expect(clippy::cast_precision_loss, reason = "rates are below 2^24")]
fn rate_f32(rate: Hz) -> f32 {
    rate.get() as f32
}

#[expect(clippy::cast_possible_truncation, reason = "a float-to-int cast saturates")]
fn to_i16(value: f32) -> i16 {
    value as i16
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn say(text: &str) -> Say {
        let scenario = crate::Scenario::parse(&format!("name = \"t\"\n[[turn]]\nsteps = [{text}]")).unwrap();
        let crate::scenario::Action::Do(crate::scenario::Deed::Say(say)) = &scenario.turns[0].steps[0].action
        else {
            panic!("{text} is not something to say");
        };
        say.clone()
    }

    fn voices() -> Voices {
        let mut voices = Voices::default();
        let ramp: Vec<i16> = (0..24_000).map(|i| i16::try_from(i % 1000).unwrap()).collect();
        voices.insert("ramp", Pcm::new(Hz::K24, ramp), "Eleven point four degrees.");
        voices
    }

    fn audio(utterance: &Utterance) -> Vec<&[u8]> {
        let chunk = |(_, item): &'_ (Duration, Item)| matches!(item, Item::Audio(_));
        let items = utterance.items.iter().filter(|item| chunk(item));
        items.map(|(_, item)| if let Item::Audio(bytes) = item { bytes.as_slice() } else { &[] }).collect()
    }

    #[test]
    fn chunks_grow_and_carry_everything() {
        let utterance = plan(&say("{ say = \"ramp\" }"), &voices(), Burst::Times(4.0), true);
        let chunks = audio(&utterance);
        assert_eq!(chunks[0].len(), 2);
        assert_eq!(chunks[1].len(), 40 * 48);
        assert!(chunks.iter().all(|chunk| chunk.len() <= 320 * 48));
        assert_eq!(chunks.concat().len(), 48_000);
        let text: String = utterance
            .items
            .iter()
            .map(|(_, item)| if let Item::Transcript(text) = item { text.as_str() } else { "" })
            .collect();
        assert_eq!(text, "Eleven point four degrees.");
        // Everything before the last chunk has been paced at four times the speed it plays at.
        let (due, _) = utterance.items.last().unwrap();
        let before_last = 48_000 - chunks.last().unwrap().len();
        assert_eq!(*due, span_of(before_last, Hz::K24).div_f64(4.0));
    }

    #[test]
    fn odd_chunks_split_samples_and_lose_nothing() {
        let even = plan(&say("{ say = \"ramp\" }"), &voices(), Burst::All, true);
        let odd = plan(&say("{ say = \"ramp\", odd = true }"), &voices(), Burst::All, true);
        assert!(audio(&odd)[..3].iter().any(|chunk| chunk.len() % 2 == 1));
        assert_eq!(audio(&odd).concat(), audio(&even).concat());
        assert!(odd.items.iter().all(|(due, _)| due.is_zero()));
    }

    #[test]
    fn another_rate_keeps_the_length_in_time() {
        let utterance = plan(&say("{ say = \"ramp\", rate_hz = 16000 }"), &voices(), Burst::All, true);
        assert_eq!(utterance.pcm.span(), Duration::from_secs(1));
        assert_eq!(utterance.pcm.rate(), Hz::K16);
        // The ramp rises by 1.5 per sample at two thirds of the rate.
        assert_eq!(utterance.pcm.samples()[100], 150);
    }

    #[test]
    fn a_call_goes_into_the_middle() {
        let text = "{ say = \"ramp\", mid = { at_ms = 300, calls = [{ name = \"f\" }] } }";
        let utterance = plan(&say(text), &voices(), Burst::All, false);
        let at = utterance.items.iter().position(|(_, item)| matches!(item, Item::Call(_))).unwrap();
        let audio_before =
            utterance.items[..at].iter().filter(|(_, item)| matches!(item, Item::Audio(_))).count();
        assert_eq!(audio_before, 4, "40 + 60 + 100 + 160 ms are the first to reach 300 ms");
        assert!(matches!(utterance.items[at + 1].1, Item::Audio(_)));
    }
}
