// SPDX-License-Identifier: MIT OR Apache-2.0

//! What differs between Live models, as data. Nothing else in the adapter asks which model it talks to.

/// What a tool declaration may say about blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behavior {
    /// The field does not exist: every call blocks.
    Absent,
    /// Both values exist. Always sent, because the default flipped between families.
    Declared,
    /// Anything but `NON_BLOCKING` is refused.
    NonBlockingOnly,
}

/// How an answer says when the model should speak about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// The field closes the connection (1007): a silent answer can only ask for silence in its text.
    Absent,
    /// A field beside the response.
    Field,
    /// The same, and a copy inside the response: samples for this family put it there.
    FieldAndBody,
}

/// When microphone audio must stop because a call is unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Never.
    Never,
    /// While a blocking call is open.
    Blocking,
    /// While any call is open.
    Always,
}

/// The rules of one model family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// Model ids of this family start with this.
    pub prefix: &'static str,
    pub behavior: Behavior,
    pub scheduling: Scheduling,
    pub hold: Hold,
    /// `clientContent` is taken at any time, not only as initial history.
    pub notes: bool,
    /// What the operator should know before using it.
    pub caution: Option<&'static str>,
}

const NEWEST: Family = Family {
    prefix: "gemini-3.8-live",
    behavior: Behavior::Declared,
    scheduling: Scheduling::Field,
    hold: Hold::Never,
    notes: true,
    caution: None,
};

const NATIVE_2_5: Family = Family {
    prefix: "gemini-2.5-flash-native-audio",
    behavior: Behavior::Declared,
    scheduling: Scheduling::FieldAndBody,
    hold: Hold::Blocking,
    notes: true,
    caution: Some("deprecated and closed to new users since 2026-09-18: use gemini-3.8-live"),
};

/// First match wins, so a longer prefix stands before the shorter one it extends.
///
/// Sources: Google's Live API guides as of 2026-10 and reports of 1007 and 1008 closes by users of other clients.
const FAMILIES: [Family; 10] = [
    Family {
        prefix: "gemini-3.8-live-extended-thinking",
        behavior: Behavior::NonBlockingOnly,
        scheduling: Scheduling::Absent,
        ..NEWEST
    },
    NEWEST,
    Family {
        prefix: "gemini-3.5-live-translate",
        caution: Some("translates only: it takes no tools"),
        ..NEWEST
    },
    Family { prefix: "gemini-3.5-transcribe", caution: Some("transcribes only: it never answers"), ..NEWEST },
    Family {
        prefix: "gemini-3.1-flash-live",
        behavior: Behavior::Absent,
        scheduling: Scheduling::Absent,
        hold: Hold::Always,
        notes: false,
        caution: Some("a legacy preview: use gemini-3.8-live"),
    },
    NATIVE_2_5,
    Family {
        prefix: "gemini-live-2.5-flash-native-audio",
        caution: Some("served by Vertex only: the Developer API closes with 1008"),
        ..NATIVE_2_5
    },
    Family { prefix: "gemini-live-2.5-flash-preview", caution: SHUT_DOWN, ..NATIVE_2_5 },
    Family { prefix: "gemini-2.0-flash-live", caution: SHUT_DOWN, ..NATIVE_2_5 },
    Family { prefix: "gemini-2.0-flash-exp", caution: SHUT_DOWN, ..NATIVE_2_5 },
];

const SHUT_DOWN: Option<&str> = Some("shut down on 2025-12-09: use gemini-3.8-live");

/// The rules for `model`, with or without its `models/` prefix. An unknown id is treated like the newest family: ids
/// change more often than rules.
pub(super) fn family(model: &str) -> &'static Family {
    known(model).unwrap_or(&NEWEST)
}

/// What the operator should be told about `model`, if anything: that it is unknown, retired, or of little use here.
#[must_use]
pub fn model_caution(model: &str) -> Option<String> {
    match known(model) {
        None => Some(format!(
            "model `{model}` is not known: treated like `{}`; known ids start with {}",
            NEWEST.prefix,
            FAMILIES
                .iter()
                .filter(|family| family.caution.is_none())
                .map(|family| family.prefix)
                .collect::<Vec<_>>()
                .join(", "),
        )),
        Some(family) => family.caution.map(|caution| format!("model `{model}` is {caution}")),
    }
}

/// What becomes of the mark `needs_result_now` with `model`, if it cannot be honoured.
#[must_use]
pub fn mark_caution(model: &str) -> Option<String> {
    let deaf = family(model).scheduling == Scheduling::Absent;
    deaf.then(|| {
        format!(
            "model `{model}` cannot be told when to speak about the answer of a tool: it may speak about every one, marked \
             `needs_result_now` or not"
        )
    })
}

fn known(model: &str) -> Option<&'static Family> {
    let id = model.strip_prefix("models/").unwrap_or(model);
    FAMILIES.iter().find(|family| id.starts_with(family.prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        assert_eq!(family("gemini-3.8-live-extended-thinking").scheduling, Scheduling::Absent);
        assert_eq!(family("models/gemini-3.8-live").scheduling, Scheduling::Field);
        assert_eq!(family("gemini-3.8-live-002").behavior, Behavior::Declared);
    }

    #[test]
    fn no_prefix_hides_a_later_one() {
        for (at, earlier) in FAMILIES.iter().enumerate() {
            for later in &FAMILIES[at + 1..] {
                assert!(
                    !later.prefix.starts_with(earlier.prefix),
                    "{} hides {}",
                    earlier.prefix,
                    later.prefix
                );
            }
        }
    }

    #[test]
    fn row_31_a_model_that_cannot_honour_the_mark_is_told_of() {
        let told = mark_caution("gemini-3.8-live-extended-thinking");
        assert!(told.is_some_and(|told| told.contains("`needs_result_now`")));
        assert_eq!(mark_caution("models/gemini-3.8-live"), None);
    }

    #[test]
    fn unknown_and_retired_ids_are_told() {
        assert_eq!(family("gemini-9-live"), &NEWEST);
        assert_eq!(model_caution("gemini-3.8-live"), None);
        let unknown = model_caution("gemini-9-live");
        assert!(
            unknown.is_some_and(|text| text.contains("gemini-9-live") && text.contains("gemini-3.8-live"))
        );
        let retired = model_caution("gemini-2.0-flash-live-001");
        assert!(retired.is_some_and(|text| text.contains("shut down")));
    }
}
