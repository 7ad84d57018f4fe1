//! What the provider at the other end is: what it can do, as data, and how it is written to.

use serde_json::{Value, json};
use session::{Answer, Capabilities, FollowUp, Intent};
use tools::{Secret, ToolSet, build_instruction};
use voiced::provider::GeminiConfig;
use voiced::tooling::declarations;

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
    /// The messages of the real encoder.
    Gemini(Box<GeminiConfig>),
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
    /// A lost connection can be resumed, with the calls that were open.
    pub resumes: bool,
    /// It can be told something at any time.
    pub takes_notes: bool,
}

impl Script {
    /// The newest Gemini Live model, written to by the daemon's own encoder.
    #[must_use]
    pub fn gemini() -> Self {
        Self::gemini_model(GEMINI)
    }

    /// The Gemini Live model with this id, written to by the daemon's own encoder.
    #[must_use]
    pub fn gemini_model(model: &str) -> Self {
        let config = GeminiConfig::new(model, Secret::new(""));
        Self { name: model.to_owned(), wire: Wire::Gemini(Box::new(config)) }
    }

    /// A provider of the other kind: free while calls are open, without resumption, told when to speak by a request of
    /// its own. There is no encoder for it yet: [`Driver::wire`](crate::Driver::wire) gives what the session asks of
    /// it, each entry named `seam`.
    #[must_use]
    pub fn openai() -> Self {
        let capabilities =
            Capabilities { hold_uplink_during_calls: false, resumes: false, takes_notes: true };
        Self::seam("openai-realtime", capabilities)
    }

    /// A provider that can do this, and has no encoder.
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
        let Capabilities { hold_uplink_during_calls: holds_uplink, resumes, takes_notes } =
            self.capabilities();
        Profile { name: self.name.clone(), holds_uplink, schedules: self.schedules(), resumes, takes_notes }
    }

    /// Declares `tools` to it.
    pub(crate) fn declare(&mut self, tools: &ToolSet) {
        match &mut self.wire {
            Wire::Gemini(config) => {
                config.instruction = build_instruction("", "", &tools.rules());
                config.tools = declarations(tools);
            }
            Wire::Seam(_) => {}
        }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        match &self.wire {
            Wire::Gemini(config) => config.capabilities(),
            Wire::Seam(capabilities) => capabilities.clone(),
        }
    }

    /// The first message of a connection, where there is an encoder for it.
    pub(crate) fn setup(&self, resume: Option<&str>) -> Option<Value> {
        match &self.wire {
            Wire::Gemini(config) => Some(parsed(&config.setup_message(resume))),
            Wire::Seam(_) => None,
        }
    }

    /// What is sent for `intent`, if anything is.
    pub(crate) fn written(&self, intent: &Intent) -> Option<Value> {
        match &self.wire {
            Wire::Gemini(config) => config.message(intent).as_deref().map(parsed),
            Wire::Seam(_) => Some(json!({ "seam": seam(intent) })),
        }
    }

    /// Read off what the encoder writes, so that it cannot differ from that.
    fn schedules(&self) -> bool {
        let Wire::Gemini(config) = &self.wire else { return false };
        let mut config = config.clone();
        let name = "probe".to_owned();
        config.tools = vec![voiced::provider::Declaration {
            name: name.clone(),
            description: String::new(),
            schema: json!({"type": "object"}),
            blocking: false,
        }];
        let answer = Answer { id: None, name, body: json!({}), follow_up: FollowUp::Silent };
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
        Intent::AudioStreamEnd => json!("audio_stream_end"),
    }
}

fn answer(answer: &Answer) -> Value {
    let follow_up = match answer.follow_up {
        FollowUp::Silent => "silent",
        FollowUp::WhenIdle => "when_idle",
    };
    json!({"id": answer.id, "name": answer.name, "body": answer.body, "follow_up": follow_up})
}
