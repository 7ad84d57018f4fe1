// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the rehearsal does and when: the scenario file, checked into types that cannot hold a bad value.
//!
//! A scenario is a list of turns. Each is started by one event (a speech segment of the person, by default) and has
//! steps that are done in order. The file format is documented in `scenarios/README.md`.

mod parse;

use std::time::Duration;

use serde_json::{Map, Value};
use units::Hz;

pub use parse::ScenarioError;

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) name: String,
    pub(crate) wire: Wire,
    pub(crate) hearing: Hearing,
    pub(crate) connections: Vec<Connection>,
    pub(crate) turns: Vec<Turn>,
}

macro_rules! bundled {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// The scenarios that ship with the crate, by name.
const BUNDLED: &[(&str, &str)] = bundled! {
    "adversarial_consent" "adversarial_every_turn" "adversarial_twin_ids" "barge_in" "cancel" "demo"
    "faults_audio" "faults_close" "faults_messages" "faults_setup" "faults_stall" "gate_no" "gate_yes" "sensor"
};

impl Scenario {
    /// Reads a scenario from TOML.
    ///
    /// # Errors
    /// [`ScenarioError`] says what is wrong and in which line.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        parse::parse(text)
    }

    /// A scenario that ships with the crate.
    ///
    /// # Errors
    /// [`ScenarioError::Unknown`] names those there are. The bundled files themselves are checked by the tests.
    pub fn bundled(name: &str) -> Result<Self, ScenarioError> {
        let (_, text) =
            BUNDLED.iter().find(|(known, _)| *known == name).ok_or_else(|| ScenarioError::Unknown {
                name: name.to_owned(),
                known: Self::names().collect::<Vec<_>>().join(", "),
            })?;
        Self::parse(text)
    }

    /// The names [`Scenario::bundled`] knows, in order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUNDLED.iter().map(|(name, _)| *name)
    }

    /// The scenario's own name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many turns it has.
    #[must_use]
    pub fn turn_count(&self) -> usize {
        self.turns.len()
    }

    /// Requires this key in the `x-goog-api-key` header; any other closes 1007 as the live service does.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.wire.expect_key = Some(key.into());
        self
    }

    /// Every voice id the steps name.
    pub(crate) fn voice_ids(&self) -> Vec<&str> {
        fn collect<'a>(steps: &'a [Step], ids: &mut Vec<&'a str>) {
            for step in steps {
                match &step.action {
                    Action::Do(Deed::Say(Say { source: Source::Voice(id), .. })) => ids.push(id),
                    Action::Do(_) | Action::Answers(None) => {}
                    Action::Answers(Some(then)) => collect(then, ids),
                }
            }
        }
        let mut ids = Vec::new();
        self.turns.iter().for_each(|turn| collect(&turn.steps, &mut ids));
        ids
    }
}

/// How messages go out.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub burst: Burst,
    pub frames: FrameKind,
    pub pretty: bool,
    /// From the end of the person's speech, or an answer, to the first output.
    pub reply_after: Duration,
    /// From the end of the person's speech to the first fragment of its transcript.
    pub transcript_after: Duration,
    /// From `setup` to `setupComplete`.
    pub setup_after: Duration,
    pub turn_end: TurnEnd,
    pub expect_key: Option<String>,
    /// Whether the first audio message holds a single sample, as the live service has been seen to do.
    pub tiny_first: bool,
}

/// How fast audio is sent, as a multiple of the pace at which it plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Burst {
    Times(f64),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Binary,
    Text,
}

/// When `turnComplete` is sent after `generationComplete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// When the audio would have been played, as the live service models it.
    Played,
    /// At once.
    Early,
    /// Not at all.
    Never,
}

/// The energy detector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearing {
    pub threshold_dbfs: f32,
    pub onset: Duration,
    /// Overrides the client's `silenceDurationMs`.
    pub silence: Option<Duration>,
    /// From the onset being found to `interrupted`.
    pub interrupt_after: Duration,
}

/// What one connection does before any turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    pub opening: Opening,
    /// Refuses a setup that carries a resumption handle.
    pub refuse_resume: Option<Close>,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum Opening {
    /// `setupComplete` follows the setup.
    #[default]
    Confirm,
    /// The setup is never confirmed.
    Silent,
    /// The connection is closed where `setupComplete` would be.
    Close(Close),
    /// The upgrade is refused with this HTTP status.
    Upgrade(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Close {
    pub code: u16,
    pub reason: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub on: Trigger,
    pub hears: Option<String>,
    pub steps: Vec<Step>,
}

/// What starts a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The end of a speech segment.
    Speech,
    /// `setupComplete` of a connection that resumes nothing.
    Start,
    /// Text from the client that asks for a response.
    Note,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub action: Action,
    /// Done only if the last answer is like this.
    pub when: Option<AnswerLike>,
    /// What the answers this step waits for must be like.
    pub expect: Option<AnswerLike>,
}

/// A condition on an answer. Absent fields match anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerLike {
    pub status: Option<String>,
    pub instruction_contains: Option<String>,
    pub scheduling: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Waits for every open call. Without steps the model then goes on by itself, whatever the scheduling; with
    /// steps it does them, but only if an answer asks for speech.
    Answers(Option<Vec<Step>>),
    Do(Deed),
}

/// Something done at once.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Say(Say),
    /// One `toolCall` message.
    Call(Vec<CallPlan>),
    Pause(Duration),
    CancelCalls,
    /// Announces the end; the connection is closed when this much time has passed.
    GoAway(Duration),
    NotResumable,
    /// A text part in `modelTurn` that must never be spoken or shown.
    Think(String),
    RawJson(Value),
    RawText(String),
    RawBytes(Vec<u8>),
    /// A well-formed message padded to this many bytes.
    Huge(usize),
    Close(Close),
    /// The stream ends without a close frame.
    Drop,
    /// Neither reads nor answers from here on; the stream stays open.
    HalfOpen,
}

#[derive(Clone, Debug)]
pub(crate) struct Say {
    pub source: Source,
    /// The declared rate, and the rate the audio is converted to.
    pub rate: Hz,
    /// Splits the audio in the middle of samples.
    pub odd: bool,
    /// How much audio is still sent after the person cuts in.
    pub stale: Duration,
    /// A `toolCall` in the middle of the audio.
    pub mid: Option<(Duration, Vec<CallPlan>)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Source {
    Voice(String),
    /// A 440 Hz sine without a transcript.
    Tone(Duration),
}

#[derive(Clone, Debug)]
pub(crate) struct CallPlan {
    pub name: String,
    pub args: Map<String, Value>,
    /// A fresh id is made if absent.
    pub id: Option<String>,
    /// How many times the same call is in the message.
    pub times: u32,
    /// Also put into `modelTurn.parts`, with the same id, before the `toolCall`.
    pub in_model_turn: bool,
}
