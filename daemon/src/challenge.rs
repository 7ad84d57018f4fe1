// SPDX-License-Identifier: MIT OR Apache-2.0

//! Words of chance that whoever agrees to something of high risk must say.

use session::lexicon::Locale;

/// Words that a voice says well and a listener tells apart, none of which is part of an answer in any language.
const WORDS: [&str; 64] = [
    "amber", "anchor", "apple", "autumn", "bamboo", "banjo", "basket", "beaver", "bottle", "butter",
    "cactus", "camel", "candle", "canyon", "castle", "cherry", "copper", "cotton", "dolphin", "dragon",
    "eagle", "falcon", "feather", "forest", "garden", "ginger", "guitar", "hammer", "harbor", "helmet",
    "honey", "island", "ivory", "jacket", "jungle", "kettle", "ladder", "lantern", "lemon", "magnet",
    "marble", "meadow", "mirror", "monkey", "ocean", "orange", "paper", "pencil", "pepper", "planet",
    "pocket", "purple", "rabbit", "ribbon", "rocket", "saddle", "silver", "spider", "tiger", "tunnel",
    "turtle", "velvet", "window", "yellow",
];

/// Two different ones for an answer in this language: words, or digits where an English word would not be understood.
#[must_use]
pub(crate) fn draw(locale: Locale) -> Vec<String> {
    let digits: Vec<String> = (2..=9).map(|digit: u8| digit.to_string()).collect();
    let words: Vec<String> = WORDS.map(str::to_owned).to_vec();
    let mut from = if locale == Locale::En { words } else { digits };
    (0..2).map(|_| from.swap_remove(below(from.len()))).collect()
}

/// A number below `end`, each as likely as the others to within one in 2⁵⁶: `end` is small.
fn below(end: usize) -> usize {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the kernel has a random source");
    let end = u64::try_from(end).unwrap_or(1).max(1);
    usize::try_from(u64::from_le_bytes(bytes) % end).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use session::Reading;
    use session::lexicon::{Expected, read};

    use super::*;

    #[test]
    fn no_word_is_part_of_an_answer_in_any_language() {
        for word in WORDS {
            for locale in Locale::ALL {
                assert_eq!(read(locale, &[], word, &Expected::default()), Reading::Unclear, "{word}");
            }
            let said = format!("yes {word}");
            assert_eq!(read(Locale::En, &[], &said, &Expected::default()), Reading::Unclear, "{said}");
        }
        assert_eq!(WORDS.iter().collect::<BTreeSet<_>>().len(), WORDS.len());
    }

    #[test]
    fn two_different_ones_are_drawn_and_all_come_up() {
        let mut seen = BTreeSet::new();
        for _ in 0..4000 {
            let drawn = draw(Locale::En);
            assert!(drawn.len() == 2 && drawn[0] != drawn[1], "{drawn:?}");
            seen.extend(drawn);
        }
        assert_eq!(seen.len(), WORDS.len());
        assert!(
            draw(Locale::Es).iter().all(|digit| digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit())
        );
    }
}
