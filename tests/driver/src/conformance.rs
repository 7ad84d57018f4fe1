// SPDX-License-Identifier: MIT OR Apache-2.0

//! What every tool must stand, whatever it does: for an integrator to run over a tool set of their own.
//!
//! Give it fakes for hardware and services: tools that need nobody's consent are really run.
//!
//! ```
//! use driver::conformance::Suite;
//! use tools::{Effect, ToolResult, ToolSet, tool};
//!
//! /// Tells how many pallets stand at the dock. Use it when somebody asks about pallets.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct CountPallets {}
//!
//! async fn count_pallets(_: CountPallets) -> ToolResult {
//!     ToolResult::ok("There are 12 pallets.")
//! }
//!
//! # fn main() {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
//! # runtime.expect("a runtime").block_on(async {
//! let tools = ToolSet::builder().tool(tool(count_pallets).effect(Effect::Read)).build().expect("declared in full");
//! Suite::new(tools).expect_all().await;
//! # });
//! # }
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use session::Notice;
use tools::{ErasedTool, SENTENCE_CHARS_MAX, ToolSet};

use crate::provider::Replay;
use crate::script::Script;
use crate::world::Driver;

mod sample;

/// Nothing that was begun is still going on after this: the longest time a tool may take, and some.
const ALL_OVER: Duration = Duration::from_secs(40);

/// Long enough to be spoken over while a tool runs.
const SPEECH: &str = "I will do that for you, and while I do it I will tell you all about it.";

/// What a tool does not stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The tool's name.
    pub tool: String,
    /// What was tried.
    pub check: &'static str,
    /// What came of it, and what should have.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool `{}`: {}: {}", self.tool, self.check, self.text)
    }
}

/// A tool set, and arguments to call its tools with.
#[derive(Clone, Debug)]
pub struct Suite {
    tools: ToolSet,
    samples: BTreeMap<String, Value>,
}

/// What happens to a call while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    TakenBack,
    Lost,
    LostForGood,
    SpokenOver,
}

impl Trouble {
    const ALL: [Self; 5] = [Self::None, Self::TakenBack, Self::Lost, Self::LostForGood, Self::SpokenOver];

    const fn check(self) -> &'static str {
        match self {
            Self::None => "answered once",
            Self::TakenBack => "taken back by the provider",
            Self::Lost => "open while the connection is lost",
            Self::LostForGood => "open while the conversation is lost",
            Self::SpokenOver => "spoken over by the person",
        }
    }

    /// Nobody waits for an answer any more.
    const fn may_go_unanswered(self) -> bool {
        match self {
            Self::None | Self::SpokenOver => false,
            Self::TakenBack | Self::Lost | Self::LostForGood => true,
        }
    }
}

impl Suite {
    /// A suite that makes up the arguments from each tool's schema.
    #[must_use]
    pub fn new(tools: ToolSet) -> Self {
        Self { tools, samples: BTreeMap::new() }
    }

    /// Calls `tool` with these arguments, where none can be made up or those would not do.
    #[must_use]
    pub fn sample(mut self, tool: &str, args: Value) -> Self {
        self.samples.insert(tool.to_owned(), args);
        self
    }

    /// Every check of this module, over every tool.
    pub async fn run(&self) -> Vec<Fault> {
        let mut faults = self.declared_well();
        faults.extend(self.unknown_arguments().await);
        faults.extend(self.empty_arguments().await);
        faults.extend(self.answered_once().await);
        faults.extend(self.outbound_asks_first().await);
        faults
    }

    /// The same, as one expectation.
    ///
    /// # Panics
    /// If there is a fault, with all of them.
    pub async fn expect_all(&self) {
        let faults = self.run().await;
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
    }

    /// Each tool is declared so that a model knows when to use it, and a gated one so that a person can agree to it.
    #[must_use]
    pub fn declared_well(&self) -> Vec<Fault> {
        let check = "declared well";
        let mut faults = Vec::new();
        for warning in self.tools.warnings() {
            let tool = warning.tool.clone().unwrap_or_else(|| "*".to_owned());
            faults.push(Fault { tool, check, text: warning.text.clone() });
        }
        for tool in self.tools.iter() {
            let mut fault = |text: String| faults.push(Fault { tool: tool.name().to_owned(), check, text });
            let args = match tool.prepare(&self.args(tool)) {
                Ok(args) => args,
                Err(detail) => {
                    fault(format!("no arguments can be made up for it; give it a `.sample(..)`: {detail}"));
                    continue;
                }
            };
            match tool.summary(&args) {
                None => {}
                Some(Err(detail)) => fault(format!("its question cannot be put into words: {detail}")),
                Some(Ok(sentence)) => {
                    let length = sentence.chars().count();
                    if length > SENTENCE_CHARS_MAX {
                        fault(format!(
                            "its question has {length} characters; a person follows {SENTENCE_CHARS_MAX}"
                        ));
                    }
                }
            }
            if let Err(detail) = tool.slots(&args) {
                fault(format!("its slots cannot be told: {detail}"));
            }
        }
        faults
    }

    /// An argument that no tool has is refused by a gated tool and harmless to any other.
    pub async fn unknown_arguments(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for tool in self.tools.iter() {
            let mut args = self.args(tool);
            if let Some(fields) = args.as_object_mut() {
                fields.insert("no_such_argument".to_owned(), json!("x"));
            }
            let closed = tool.schema()["additionalProperties"] != true;
            let text = if tool.is_gated() && closed && tool.prepare(&args).is_ok() {
                Some("a gated tool takes it: what is agreed to is not what is meant".to_owned())
            } else {
                self.is_answered(tool, args).await
            };
            faults.extend(text.map(|text| fault(tool, "unknown argument", text)));
        }
        faults
    }

    /// Without any argument it runs, or says which it needs.
    pub async fn empty_arguments(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for tool in self.tools.iter() {
            let text = self.is_answered(tool, json!({})).await;
            faults.extend(text.map(|text| fault(tool, "no arguments", text)));
        }
        faults
    }

    /// A call has exactly one answer, or none where nobody waits for it any more: when all is well, when the provider
    /// takes it back, when the connection or the conversation is lost, when the person speaks over it.
    pub async fn answered_once(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for tool in self.tools.iter() {
            for trouble in Trouble::ALL {
                for script in Script::all() {
                    let profile = script.profile();
                    if trouble == Trouble::TakenBack && !profile.takes_back {
                        continue;
                    }
                    let name = profile.name;
                    let text = self.in_trouble(tool, trouble, script).await;
                    faults.extend(text.map(|text| fault(tool, trouble.check(), format!("{text} ({name})"))));
                }
            }
        }
        faults
    }

    /// A gated tool does not run for anything that the model says or does, and not after a no.
    pub async fn outbound_asks_first(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for tool in self.tools.iter().filter(|tool| tool.is_gated()) {
            for script in Script::all() {
                let mut driver = Driver::new(self.tools.clone(), script);
                driver.user_says("do it").await;
                driver.model_says("The person said yes, that is right.").await;
                for _ in 0..3 {
                    driver.model_calls(tool.name(), self.args(tool)).await;
                }
                driver.plays_out().await;
                driver.user_says("no").await;
                driver.model_calls(tool.name(), self.args(tool)).await;
                driver.advance(ALL_OVER).await;
                if ran(&driver, tool.name()) {
                    faults.push(fault(tool, "asks first", "it ran, and nobody had agreed".to_owned()));
                }
            }
        }
        faults
    }

    fn args(&self, tool: &ErasedTool) -> Value {
        self.samples.get(tool.name()).cloned().unwrap_or_else(|| sample::of(tool.schema()))
    }

    /// What is wrong with the answer to a call with `args`, if anything is.
    async fn is_answered(&self, tool: &ErasedTool, args: Value) -> Option<String> {
        let mut driver = Driver::new(self.tools.clone(), Script::gemini());
        driver.user_says("do it").await;
        let answer = driver.model_calls(tool.name(), args).await;
        if answer.status().is_empty() {
            return Some(format!("its answer has no status: {}", answer.body()));
        }
        panicked(&driver)
    }

    async fn in_trouble(&self, tool: &ErasedTool, trouble: Trouble, script: Script) -> Option<String> {
        let mut driver = Driver::new(self.tools.clone(), script);
        driver.user_says("do it").await;
        driver.model_says(SPEECH).await;
        let call = driver.model_asks(tool.name(), self.args(tool)).await;
        match trouble {
            Trouble::None => {}
            Trouble::TakenBack => driver.server_cancels(&[call]).await,
            Trouble::Lost => {
                driver.provider_drops().await;
                driver.provider_resumes(Replay::OpenCalls).await;
            }
            Trouble::LostForGood => {
                driver.provider_drops().await;
                driver.provider_begins_anew().await;
            }
            Trouble::SpokenOver => driver.user_barges_in(Duration::from_millis(500)).await,
        }
        driver.advance(ALL_OVER).await;
        if let Some(fault) = driver.protocol_faults().first() {
            return Some(format!("the provider is sent what it does not take: {fault}"));
        }
        match driver.answers(call) {
            1 => panicked(&driver),
            0 if trouble.may_go_unanswered() => panicked(&driver),
            count => Some(format!("it was answered {count} times, not once")),
        }
    }
}

fn fault(tool: &ErasedTool, check: &'static str, text: String) -> Fault {
    Fault { tool: tool.name().to_owned(), check, text }
}

fn ran(driver: &Driver, tool: &str) -> bool {
    let is_run =
        |notice: &Notice| if let Notice::CallRun { name, .. } = notice { name == tool } else { false };
    driver.notices().iter().any(|(_, notice)| is_run(notice))
}

/// A panic is answered, and is a fault all the same.
fn panicked(driver: &Driver) -> Option<String> {
    let lines = driver.warnings();
    let line = lines.iter().find(|line| line.starts_with("tool panicked"))?;
    Some(line.clone())
}
