// SPDX-License-Identifier: MIT OR Apache-2.0

//! The languages that answers are read in.

use std::sync::LazyLock;

use super::table::Table;

/// A language with a lexicon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locale {
    /// English.
    En,
    /// Spanish.
    Es,
    /// French.
    Fr,
    /// German.
    De,
    /// Portuguese.
    Pt,
    /// Hindi, in Devanagari or Latin letters.
    Hi,
    /// Japanese.
    Ja,
    /// Korean.
    Ko,
    /// Chinese, in simplified or traditional characters.
    Zh,
    /// Russian.
    Ru,
    /// Greek.
    El,
}

impl Locale {
    /// Every language there is.
    pub const ALL: [Self; 11] = [
        Self::En,
        Self::Es,
        Self::Fr,
        Self::De,
        Self::Pt,
        Self::Hi,
        Self::Ja,
        Self::Ko,
        Self::Zh,
        Self::Ru,
        Self::El,
    ];

    /// The language of a BCP 47 tag, whatever its region, script and case: "pt", "pt-BR", "zh_Hant_TW". `None` if there
    /// is no lexicon for it, or it is no tag.
    #[must_use]
    pub fn parse(tag: &str) -> Option<Self> {
        let mut parts = tag.split(['-', '_']);
        let language = parts.next()?;
        let is_part = |part: &str| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let locale = Self::ALL.into_iter().find(|locale| locale.tag().eq_ignore_ascii_case(language))?;
        parts.all(is_part).then_some(locale)
    }

    /// Its BCP 47 tag, two lower-case letters.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Es => "es",
            Self::Fr => "fr",
            Self::De => "de",
            Self::Pt => "pt",
            Self::Hi => "hi",
            Self::Ja => "ja",
            Self::Ko => "ko",
            Self::Zh => "zh",
            Self::Ru => "ru",
            Self::El => "el",
        }
    }

    /// What means yes by itself in it, and what people say: the first of its phrases of agreement.
    #[must_use]
    pub fn yes(self) -> &'static str {
        let mut lines = self.file().lines().skip_while(|line| *line != "[strong]");
        lines.nth(1).unwrap_or_default()
    }

    pub(crate) fn table(self) -> &'static Table {
        static EN: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::En.file()));
        static ES: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Es.file()));
        static FR: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Fr.file()));
        static DE: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::De.file()));
        static PT: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Pt.file()));
        static HI: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Hi.file()));
        static JA: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Ja.file()));
        static KO: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Ko.file()));
        static ZH: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Zh.file()));
        static RU: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::Ru.file()));
        static EL: LazyLock<Table> = LazyLock::new(|| Table::parse(Locale::El.file()));
        match self {
            Self::En => &EN,
            Self::Es => &ES,
            Self::Fr => &FR,
            Self::De => &DE,
            Self::Pt => &PT,
            Self::Hi => &HI,
            Self::Ja => &JA,
            Self::Ko => &KO,
            Self::Zh => &ZH,
            Self::Ru => &RU,
            Self::El => &EL,
        }
    }

    pub(super) fn file(self) -> &'static str {
        match self {
            Self::En => include_str!("en.txt"),
            Self::Es => include_str!("es.txt"),
            Self::Fr => include_str!("fr.txt"),
            Self::De => include_str!("de.txt"),
            Self::Pt => include_str!("pt.txt"),
            Self::Hi => include_str!("hi.txt"),
            Self::Ja => include_str!("ja.txt"),
            Self::Ko => include_str!("ko.txt"),
            Self::Zh => include_str!("zh.txt"),
            Self::Ru => include_str!("ru.txt"),
            Self::El => include_str!("el.txt"),
        }
    }
}
