// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which passages have to do with a question, and which most.
//!
//! Ranking is BM25 over words and their stems. What it cannot say is whether even the best passage is about the question: of
//! two passages one is always better. That is decided here.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};

use super::Passage;

/// Characters of a word that are taken for its stem. Cutting words off does for many languages what a stemmer does for
/// one, at some loss (McNamee and Mayfield, "Character N-Gram Tokenization for European Language Text Retrieval", 2004).
const STEM_CHARS: usize = 5;

/// Part of the question, weighed by how much its words tell, that a passage must have to do with: two short words of grammar
/// are less, one word of the matter in a short question is more (tried on the questions of the tests).
const COVERED_MIN: f64 = 0.33;

/// Words of a question that are looked at.
const WORDS_MAX: usize = 32;

/// Passages of which it is looked whether they are about the question, the best ones: few are given, and each look reads the
/// passage.
const CANDIDATES_MAX: usize = 64;

/// Passages by their words.
pub(super) struct Index {
    passages: Vec<Passage>,
    embedder: Embedder<u32, Words>,
    scorer: Scorer<usize>,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("passages", &self.passages.len()).finish_non_exhaustive()
    }
}

impl Index {
    pub(super) fn new(passages: Vec<Passage>) -> Self {
        let texts: Vec<String> = passages.iter().map(text).collect();
        let corpus: Vec<&str> = texts.iter().map(String::as_str).collect();
        let embedder: Embedder<u32, Words> =
            EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Words, &corpus).build();
        let mut scorer = Scorer::new();
        for (at, text) in corpus.into_iter().enumerate() {
            scorer.upsert(&at, embedder.embed(text));
        }
        Self { passages, embedder, scorer }
    }

    /// At most `limit` passages, best first; equal ones stay in the order of the documents.
    pub(super) fn search(&self, query: &str, limit: usize) -> Vec<&Passage> {
        let words: BTreeSet<String> = words(query).take(WORDS_MAX).collect();
        let query = words.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let mut found = self.scorer.matches(&self.embedder.embed(&query));
        found.sort_by(|one, other| {
            let by_score = other.score.partial_cmp(&one.score).unwrap_or(Ordering::Equal);
            by_score.then(one.id.cmp(&other.id))
        });
        let best = found.into_iter().take(CANDIDATES_MAX).filter_map(|found| self.passages.get(found.id));
        best.filter(|passage| is_about(passage, &words)).take(limit).collect()
    }
}

/// The text by which a passage is found: words of its headings count twice.
fn text(passage: &Passage) -> String {
    format!("{0} {0} {1}", passage.heading, passage.text)
}

/// Whether a passage has to do with enough of what was asked.
fn is_about(passage: &Passage, asked: &BTreeSet<String>) -> bool {
    let text = text(passage);
    let there: BTreeSet<String> = words(&text).map(|word| stem(&word).to_owned()).collect();
    let all: f64 = asked.iter().map(|word| sense(word)).sum();
    let covered: f64 = asked.iter().filter(|word| there.contains(stem(word))).map(|word| sense(word)).sum();
    covered >= COVERED_MIN * all
}

/// Splits text for the ranking: each word as it is and by its stem, so that the same form counts for more than another.
#[derive(Debug)]
struct Words;

impl Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        // No word has a star in it.
        words(text).flat_map(|word| [format!("{}*", stem(&word)), word]).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn stem(word: &str) -> &str {
    let word = singular(word);
    word.char_indices().nth(STEM_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// A short word is as long as its own stem: without this "card" would not be found by "cards".
fn singular(word: &str) -> &str {
    let plural = ["ches", "shes", "sses", "xes"].iter().any(|ending| word.ends_with(ending));
    let shorter = if plural { word.strip_suffix("es") } else { word.strip_suffix('s') };
    shorter.filter(|one| one.chars().count() >= 3 && !one.ends_with(['s', 'i', 'u'])).unwrap_or(word)
}

/// How much a word tells of what is asked: the shorter, the likelier it is grammar. In the few documents of a kiosk counting
/// alone cannot tell.
fn sense(word: &str) -> f64 {
    match word.chars().count() {
        0 | 1 => 0.1,
        2 => 0.25,
        3 => 0.5,
        4 => 0.75,
        _ => 1.0,
    }
}
