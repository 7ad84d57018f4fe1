//! Which passages have to do with a question, and which most.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::Passage;

/// BM25: how soon more of a word stops counting, and how much a long passage is held back. The usual values (Robertson
/// and Zaragoza, "The Probabilistic Relevance Framework", 2009, section 3.4).
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A word that shares only its beginning with one of the question counts this much of a word that is the same.
const STEM_WEIGHT: f64 = 0.6;

/// Characters of a word that are taken for its stem. Cutting words off does for many languages what a stemmer does for
/// one, at some loss (McNamee and Mayfield, "Character N-Gram Tokenization for European Language Text Retrieval", 2004).
const STEM_CHARS: usize = 5;

/// Part of the question, weighed by how much its words tell, that a passage must have to do with.
const COVERED_MIN: f64 = 0.3;

/// Words of a question that are looked at.
const WORDS_MAX: usize = 32;

/// Words in the headings count as if they stood in the text this often.
const HEADING_TIMES: u32 = 2;

/// Passage, and how often the word is in it.
type Postings = Vec<(usize, u32)>;

/// Passages by their words.
#[derive(Debug)]
pub(super) struct Index {
    passages: Vec<Passage>,
    /// Words in each passage, and on average.
    lengths: Vec<u32>,
    length_mean: f64,
    words: BTreeMap<String, Postings>,
    stems: BTreeMap<String, Postings>,
}

impl Index {
    pub(super) fn new(passages: Vec<Passage>) -> Self {
        let mut words: BTreeMap<String, Postings> = BTreeMap::new();
        let mut stems: BTreeMap<String, Postings> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (at, passage) in passages.iter().enumerate() {
            let mut length = 0;
            for (text, times) in [(&passage.heading, HEADING_TIMES), (&passage.text, 1)] {
                for word in tokens(text) {
                    length += times;
                    count(&mut stems, stem(&word), at, times);
                    count(&mut words, &word, at, times);
                }
            }
            lengths.push(length);
        }
        let total: f64 = lengths.iter().copied().map(f64::from).sum();
        let length_mean = (total / number(passages.len())).max(1.0);
        Self { passages, lengths, length_mean, words, stems }
    }

    /// At most `limit` passages, best first.
    pub(super) fn search(&self, query: &str, limit: usize) -> Vec<&Passage> {
        let words: BTreeSet<String> = tokens(query).take(WORDS_MAX).collect();
        let mut asked = 0.0;
        let mut found: BTreeMap<usize, Found> = BTreeMap::new();
        for word in &words {
            let by_word = self.words.get(word);
            let by_stem = self.stems.get(stem(word));
            // What the documents say in one form only is as telling as in all its forms together.
            let weight = self.weight(by_stem.or(by_word).map_or(0, Vec::len)) * sense(word);
            asked += weight;
            let mut hits: BTreeMap<usize, f64> = BTreeMap::new();
            for (postings, part) in [(by_stem, STEM_WEIGHT), (by_word, 1.0)] {
                for &(at, times) in postings.into_iter().flatten() {
                    let score = part * weight * self.saturated(at, times);
                    let best = hits.entry(at).or_insert(score);
                    *best = best.max(score);
                }
            }
            for (at, score) in hits {
                let found = found.entry(at).or_default();
                found.score += score;
                found.covered += weight;
            }
        }
        let mut best: Vec<(usize, f64)> = found
            .into_iter()
            .filter(|(_, found)| found.covered >= COVERED_MIN * asked)
            .map(|(at, found)| (at, found.score))
            .collect();
        // Stable: equal passages stay in the order of the documents.
        best.sort_by(|(_, one), (_, other)| other.partial_cmp(one).unwrap_or(Ordering::Equal));
        best.into_iter().take(limit).filter_map(|(at, _)| self.passages.get(at)).collect()
    }

    /// How much a word tells that is in `passages` of them: the rarer, the more, and never less than nothing.
    fn weight(&self, passages: usize) -> f64 {
        let (all, with) = (number(self.passages.len()), number(passages));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    fn saturated(&self, at: usize, times: u32) -> f64 {
        let length = self.lengths.get(at).copied().map_or(0.0, f64::from);
        let times = f64::from(times);
        times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length / self.length_mean))
    }
}

#[derive(Default)]
struct Found {
    score: f64,
    /// Weight of the words of the question that it has to do with.
    covered: f64,
}

fn count(postings: &mut BTreeMap<String, Postings>, key: &str, at: usize, times: u32) {
    match postings.get_mut(key) {
        Some(known) => match known.last_mut() {
            Some((last, so_far)) if *last == at => *so_far += times,
            Some(_) | None => known.push((at, times)),
        },
        None => {
            postings.insert(key.to_owned(), vec![(at, times)]);
        }
    }
}

fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn stem(word: &str) -> &str {
    word.char_indices().nth(STEM_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// The shorter a word, the likelier it is grammar. In the few documents of a kiosk counting alone cannot tell.
fn sense(word: &str) -> f64 {
    number(word.chars().count().min(STEM_CHARS)) / number(STEM_CHARS)
}

fn number(count: usize) -> f64 {
    // Passages are bounded far below what 32 bits can count.
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
