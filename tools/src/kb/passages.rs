// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes a document apart along its headings and paragraphs.

use super::Passage;
use crate::shape::shortened;

/// Longest passage, in characters: four of them fit into one answer with their headings, escapes included.
const CHARS_MAX: usize = 700;

/// Longest line of headings above a passage.
const HEADING_CHARS_MAX: usize = 120;

/// Deepest heading of Markdown.
const LEVELS: usize = 6;

/// The passages of one document, in its order. In a plain text no line is a heading unless it is marked as one.
pub(super) fn of(file: &str, text: &str) -> Vec<Passage> {
    let mut document =
        Document { file, headings: Default::default(), paragraphs: Vec::new(), passages: Vec::new() };
    let mut lines: Vec<&str> = Vec::new();
    let mut in_code = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        } else if let Some((level, heading)) = heading(line).filter(|_| !in_code) {
            document.paragraph(&mut lines);
            document.enter(level, heading);
        } else if line.is_empty() {
            document.paragraph(&mut lines);
        } else {
            lines.push(line);
        }
    }
    document.paragraph(&mut lines);
    document.close();
    document.passages
}

/// Level from 0 and text of a heading line: `## Opening hours`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let marked = (1..=LEVELS).contains(&level) && text.starts_with(char::is_whitespace);
    marked.then(|| (level - 1, text.trim().trim_end_matches('#').trim_end()))
}

struct Document<'a> {
    file: &'a str,
    headings: [String; LEVELS],
    /// Of the section being read.
    paragraphs: Vec<String>,
    passages: Vec<Passage>,
}

impl Document<'_> {
    fn paragraph(&mut self, lines: &mut Vec<&str>) {
        let words: Vec<&str> = lines.drain(..).flat_map(str::split_whitespace).collect();
        if words.iter().any(|word| word.contains(char::is_alphanumeric)) {
            self.paragraphs.extend(pieces(&words));
        }
    }

    fn enter(&mut self, level: usize, heading: &str) {
        self.close();
        for (at, kept) in self.headings.iter_mut().enumerate().skip(level) {
            *kept = if at == level { heading.to_owned() } else { String::new() };
        }
    }

    /// Ends the section: neighbouring paragraphs share a passage as long as they fit.
    fn close(&mut self) {
        let headings: Vec<&str> =
            self.headings.iter().map(String::as_str).filter(|heading| !heading.is_empty()).collect();
        let heading = shortened(&headings.join(" > "), HEADING_CHARS_MAX);
        let mut text = String::new();
        let mut passage = |text: &mut String| {
            if !text.is_empty() {
                let (file, heading) = (self.file.to_owned(), heading.clone());
                self.passages.push(Passage { file, heading, text: std::mem::take(text) });
            }
        };
        for paragraph in self.paragraphs.drain(..) {
            if text.chars().count() + 1 + paragraph.chars().count() > CHARS_MAX {
                passage(&mut text);
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&paragraph);
        }
        passage(&mut text);
    }
}

/// A paragraph in pieces that fit, cut between words; a word that is longer than a passage is shortened.
fn pieces(words: &[&str]) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = 0;
    for word in words {
        let word = shortened(word, CHARS_MAX);
        let length = word.chars().count();
        match pieces.last_mut() {
            Some(piece) if !piece.is_empty() && chars + 1 + length <= CHARS_MAX => {
                piece.push(' ');
                piece.push_str(&word);
                chars += 1 + length;
            }
            Some(piece) if piece.is_empty() => {
                *piece = word;
                chars = length;
            }
            Some(_) | None => {
                pieces.push(word);
                chars = length;
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, String)> {
        of("a.md", text).into_iter().map(|passage| (passage.heading, passage.text)).collect()
    }

    #[test]
    fn a_passage_knows_the_headings_it_stands_under() {
        let text = "\u{feff}Preface.\n\n# Shop\nHello,\nworld.\n\n## Hours ##\n- Monday: 9 to 5\n\n# Post\n#1 is no heading.";
        let expected = [
            ("", "Preface."),
            ("Shop", "Hello, world."),
            ("Shop > Hours", "- Monday: 9 to 5"),
            ("Post", "#1 is no heading."),
        ];
        let expected = expected.map(|(heading, text)| (heading.to_owned(), text.to_owned()));
        assert_eq!(told(text), expected);
    }

    #[test]
    fn a_comment_in_code_is_no_heading_and_a_rule_is_no_passage() {
        assert_eq!(
            told("# Setup\n```\n# turn it on\n```\n\n---\n"),
            [("Setup".to_owned(), "# turn it on".to_owned())]
        );
        assert_eq!(told("# Only a heading\n\n"), []);
    }

    #[test]
    fn no_passage_is_longer_than_allowed_and_no_word_is_lost() {
        let long = format!("{}\n\nshort\n\nshort too\n\n{}", "wörter ".repeat(400), "x".repeat(2000));
        let passages = told(&long);
        assert!(passages.iter().all(|(_, text)| text.chars().count() <= CHARS_MAX));
        let words: usize = passages.iter().map(|(_, text)| text.matches("wörter").count()).sum();
        assert_eq!(words, 400);
        assert!(passages.iter().any(|(_, text)| text.ends_with("short short too")), "{passages:?}");
    }
}
