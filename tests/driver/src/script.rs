// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the provider at the other end is: what it can do, as data, and how it is written to.

use serde_json::{Value, json};
use session::{Answer, Capabilities, EarlierCall, FollowUp, Intent};
use tools::{Secret, ToolSet, build_instruction};
use units::CallKey;
use voiced::provider::{Declaration, GeminiConfig};
use voiced::tooling::declarations;

use crate::realtime;

/// The model that [`Script::gemini`] speaks to.
const GEMINI: &str = "gemini-3.8-live";

/// A scripted provider. It says what the test says, and what it is sent is kept.
#[derive(Clone, Debug)]
pub struct Script {
    name: String,
    wire: Wire,
}

#[derive(Clone, Debug)]
enum Wire {
    /// The messages of the daemon's own encoder.
    Gemini(Box<GeminiConfig>),
    /// Those of a provider that speaks when it is asked to.
    Realtime { instruction: String, tools: Vec<Declaration> },
    /// What the session asks of any provider, before an encoder writes it.
    Seam(Capabilities),
}

/// What a provider can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it is called.
    pub name: String,
    /// No microphone audio may come while a call is without its answer.
    pub holds_uplink: bool,
    /// An answer can say on the wire when the model should speak about it.
    pub schedules: bool,
    /// The model speaks about an answer when it is asked to, by a request of which one can be active at a time.
    pub speaks_when_asked: bool,
    /// It takes calls back.
    pub takes_back: bool,
    /// A lost connection can be resumed, with the calls that were open.
    pub resumes: bool,
    /// It can be told something at any time.
    pub takes_notes: bool,
    /// A fresh conversation can be given a call of an earlier one, with its answer.
    pub takes_earlier_calls: bool,
}

impl Script {
    /// The newest Gemini Live model, written to by the daemon's own encoder.
    #[must_use]
    pub fn gemini() -> Self {
        Self::gemini_model(GEMINI)
    }

    /// The Gemini Live model of this id, such as `gemini-3.8-live`.
    #[must_use]
    pub fn gemini_model(model: &str) -> Self {
        let config = GeminiConfig::new(model, Secret::new(""));
        Self { name: model.to_owned(), wire: Wire::Gemini(Box::new(config)) }
    }

    /// A provider that behaves as OpenAI Realtime does: free while calls are open, calls in pieces, without resumption,
    /// and its model speaks about an answer only when a request asks for it, of which it takes one at a time. The daemon
    /// has no encoder for it: the messages are those of this crate's own.
    #[must_use]
    pub fn openai() -> Self {
        let wire = Wire::Realtime { instruction: String::new(), tools: Vec::new() };
        Self { name: "openai-realtime".to_owned(), wire }
    }

    /// A provider that can do this, and has no encoder: [`Driver::wire`](crate::Driver::wire) gives what the session asks
    /// of it, each entry named `seam`.
    #[must_use]
    pub fn seam(name: &str, capabilities: Capabilities) -> Self {
        Self { name: name.to_owned(), wire: Wire::Seam(capabilities) }
    }

    /// One of each kind: what every tool set should work with.
    #[must_use]
    pub fn all() -> [Self; 2] {
        [Self::gemini(), Self::openai()]
    }

    /// What it can do.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let Capabilities {
            hold_uplink_during_calls: holds_uplink,
            resumes,
            takes_notes,
            takes_earlier_calls,
        } = self.capabilities();
        Profile {
            name: self.name.clone(),
            holds_uplink,
            schedules: self.schedules(),
            speaks_when_asked: self.is_realtime(),
            takes_back: !self.is_realtime(),
            resumes,
            takes_notes,
            takes_earlier_calls,
        }
    }

    /// Declares `tools` to it.
    pub(crate) fn declare(&mut self, set: &ToolSet) {
        match &mut self.wire {
            Wire::Gemini(config) => {
                config.instruction = build_instruction("", "", &set.rules());
                config.tools = declarations(set);
            }
            Wire::Realtime { instruction, tools } => {
                *instruction = build_instruction("", "", &set.rules());
                *tools = declarations(set);
            }
            Wire::Seam(_) => {}
        }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        match &self.wire {
            Wire::Gemini(config) => config.capabilities(),
            Wire::Realtime { .. } => Capabilities {
                hold_uplink_during_calls: false,
                resumes: false,
                takes_notes: true,
                takes_earlier_calls: true,
            },
            Wire::Seam(capabilities) => capabilities.clone(),
        }
    }

    /// It speaks when it is asked to, and its adapter is [`realtime::Adapter`].
    pub(crate) const fn is_realtime(&self) -> bool {
        match self.wire {
            Wire::Realtime { .. } => true,
            Wire::Gemini(_) | Wire::Seam(_) => false,
        }
    }

    /// The first message of a connection, where there is an encoder for it.
    pub(crate) fn setup(&self, resume: Option<&str>) -> Option<Value> {
        match &self.wire {
            Wire::Gemini(config) => Some(parsed(&config.setup_message(resume))),
            Wire::Realtime { instruction, tools } => Some(realtime::setup(instruction, tools)),
            Wire::Seam(_) => None,
        }
    }

    /// What is sent for `intent`, if anything is, where no adapter of ours writes it.
    pub(crate) fn written(&self, intent: &Intent) -> Option<Value> {
        match &self.wire {
            Wire::Gemini(config) => config.message(intent).as_deref().map(parsed),
            Wire::Realtime { .. } => None,
            Wire::Seam(_) => Some(json!({ "seam": seam(intent) })),
        }
    }

    /// Read off what the encoder writes, so that it cannot differ from that.
    fn schedules(&self) -> bool {
        let Wire::Gemini(config) = &self.wire else { return false };
        let mut config = config.clone();
        let name = "probe".to_owned();
        config.tools = vec![Declaration {
            name: name.clone(),
            description: String::new(),
            schema: json!({"type": "object"}),
            blocking: false,
        }];
        let answer =
            Answer { call: CallKey(0), id: None, name, body: json!({}), follow_up: FollowUp::Silent };
        let written = config.message(&Intent::Answer(vec![answer])).as_deref().map(parsed);
        written.is_some_and(|message| {
            message["toolResponse"]["functionResponses"][0].get("scheduling").is_some()
        })
    }
}

fn parsed(message: &str) -> Value {
    serde_json::from_str(message).expect("our own encoder writes JSON")
}

/// What the session asks of any provider, as JSON.
pub(crate) fn seam(intent: &Intent) -> Value {
    match intent {
        Intent::Answer(answers) => {
            json!({ "answer": answers.iter().map(answer).collect::<Vec<_>>() })
        }
        Intent::Note(text) => json!({ "note": text }),
        Intent::Ask(text) => json!({ "ask": text }),
        Intent::AskInWords(text) => json!({ "ask_in_words": text }),
        Intent::Earlier(EarlierCall { id, name, args, body }) => {
            json!({"earlier": {"id": id, "name": name, "args": args, "body": body}})
        }
        Intent::AudioStreamEnd => json!("audio_stream_end"),
    }
}

fn answer(answer: &Answer) -> Value {
    let follow_up = match answer.follow_up {
        FollowUp::Silent => "silent",
        FollowUp::WhenIdle => "when_idle",
        FollowUp::InWords => "in_words",
        FollowUp::Interrupt => "interrupt",
    };
    json!({"id": answer.id, "name": answer.name, "body": answer.body, "follow_up": follow_up})
}
