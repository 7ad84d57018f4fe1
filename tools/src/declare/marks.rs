// SPDX-License-Identifier: MIT OR Apache-2.0

//! The marks of a declaration: what an integrator says about a tool beyond its name, arguments and effect, and the
//! daemon reads back from the checked tool. Every mark has a default that is right for a tool that never mentions it.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use crate::declare::{Effect, ToolBuilder};
use crate::set::ErasedTool;

/// Time a tool of this process may take before its slowness is worth a line in the log: one frame of a screen at 50 Hz,
/// which nobody hears.
pub const BUDGET_DEFAULT: Duration = Duration::from_millis(20);

/// A line of the device's own voice, spoken when a call is really about to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreCall {
    /// Spoken before every run.
    Always(String),
    /// Spoken only if the model has just said nothing itself, and once in a turn.
    IfSilent(String),
}

impl PreCall {
    /// What is spoken.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Always(text) | Self::IfSilent(text) => text,
        }
    }
}

/// What becomes of a running call when the person speaks over it. Past [`crate::Cx::begin_effect`] a call always goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBargeIn {
    /// It is stopped.
    Cancel,
    /// It goes on.
    Finish,
}

/// Where a declaration was written. Two tools of one name are told apart by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// In code of this process.
    #[default]
    Native,
    /// In the configuration.
    Configuration,
    /// Listed by the MCP server of this name.
    Mcp(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Configuration => f.write_str("configuration"),
            Self::Mcp(server) => write!(f, "mcp:{server}"),
        }
    }
}

/// Everything a declaration says by a mark.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each mark is independent of every other")]
pub(crate) struct Marks {
    pub(crate) needs_result_now: bool,
    pub(crate) pre_call: Option<PreCall>,
    pub(crate) waiting: Option<String>,
    pub(crate) budget: Duration,
    pub(crate) lane: Option<String>,
    pub(crate) parallel: bool,
    pub(crate) job: bool,
    pub(crate) repeatable: bool,
    pub(crate) idempotent: bool,
    pub(crate) independent: bool,
    pub(crate) urgent: bool,
    pub(crate) run_when_heard: bool,
    pub(crate) on_barge_in: Option<OnBargeIn>,
    pub(crate) optional: bool,
    pub(crate) hidden: BTreeSet<String>,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            needs_result_now: false,
            pre_call: None,
            waiting: None,
            budget: BUDGET_DEFAULT,
            lane: None,
            parallel: false,
            job: false,
            repeatable: false,
            idempotent: false,
            independent: false,
            urgent: false,
            run_when_heard: false,
            on_barge_in: None,
            optional: false,
            hidden: BTreeSet::new(),
        }
    }
}

/// A line that can be spoken: one without words is none.
fn spoken(line: impl Into<String>) -> Option<String> {
    Some(line.into()).filter(|line| !line.trim().is_empty())
}

/// The marks.
impl<A: 'static> ToolBuilder<A> {
    /// The model is asked to speak again as soon as it has finished. Without it the result is filed silently.
    pub fn needs_result_now(mut self) -> Self {
        self.declaration.marks.needs_result_now = true;
        self
    }

    /// A line the device speaks when a call is about to run, unless the model has just spoken itself; once in a turn.
    /// It never delays the run, and is not spoken for a call that is refused or only waits for a person's yes.
    /// An empty line is none.
    pub fn pre_call(mut self, line: impl Into<String>) -> Self {
        self.declaration.marks.pre_call = spoken(line).map(PreCall::IfSilent);
        self
    }

    /// As [`ToolBuilder::pre_call`], but before every run, whatever the model has said.
    pub fn pre_call_always(mut self, line: impl Into<String>) -> Self {
        self.declaration.marks.pre_call = spoken(line).map(PreCall::Always);
        self
    }

    /// A line the device speaks, in place of its general one, when the person has heard nothing for long and this tool
    /// is what they wait for.
    pub fn waiting(mut self, line: impl Into<String>) -> Self {
        self.declaration.marks.waiting = spoken(line);
        self
    }

    /// How long it may take before the log says so; 20 ms if never said, which suits code that waits for nothing.
    /// Nothing is cancelled: that is what [`ToolBuilder::timeout`] is for.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.declaration.marks.budget = budget;
        self
    }

    /// Calls of one lane never overlap, whichever tools they are of. Name it after the piece of hardware it guards.
    pub fn lane(mut self, name: impl Into<String>) -> Self {
        self.declaration.marks.lane = Some(name.into());
        self
    }

    /// May run beside other parallel calls of the same response. Only for a tool that reads and has no gate; anything
    /// else fails the build, since the order of effects is part of what the person asked for.
    pub fn parallel(mut self) -> Self {
        self.declaration.marks.parallel = true;
        self
    }

    /// Takes longer than a person waits: the call is answered at once that it is running, and its result is told when
    /// it comes, by its timeout as ever. Surviving a barge-in is another matter: see [`ToolBuilder::on_barge_in`]. A tool that
    /// finds out only while it runs says so there: [`crate::Cx::become_job`].
    pub fn job(mut self) -> Self {
        self.declaration.marks.job = true;
        self
    }

    /// The same call again within a turn means it again, as for a "next page" button. Without it a repeat of a local or
    /// outbound call is taken for the model's stutter and answered from the first.
    pub fn repeatable(mut self) -> Self {
        self.declaration.marks.repeatable = true;
        self
    }

    /// Running it twice with the same arguments does no more than running it once, so it may be tried again when the
    /// outcome of the first time is not known.
    pub fn idempotent(mut self) -> Self {
        self.declaration.marks.idempotent = true;
        self
    }

    /// Runs even if an outbound call before it in the same response has failed. Without it the steps behind a failed one
    /// are refused.
    pub fn independent(mut self) -> Self {
        self.declaration.marks.independent = true;
        self
    }

    /// Its result may interrupt the model's speech. For warnings that cannot wait; nothing else.
    pub fn urgent(mut self) -> Self {
        self.declaration.marks.urgent = true;
        self
    }

    /// Runs when the loudspeaker has played what the model said before the call, so that the screen moves with the
    /// words. Without it a call runs when it arrives.
    pub fn run_when_heard(mut self) -> Self {
        self.declaration.marks.run_when_heard = true;
        self
    }

    /// What becomes of a running call when the person speaks over it. If never said, a tool that reads is cancelled and
    /// any other finishes.
    pub fn on_barge_in(mut self, policy: OnBargeIn) -> Self {
        self.declaration.marks.on_barge_in = Some(policy);
        self
    }

    /// Left out with a warning where the hardware it asks for is missing. Without it a missing handle fails the build.
    pub fn optional(mut self) -> Self {
        self.declaration.marks.optional = true;
        self
    }

    /// Names a field that is for the tool and its device alone. Wherever it stands in a result's data it is left out of
    /// what the model reads, and so of transcript and timeline; as an argument its value is masked in both. The
    /// keyword `x-hidden` in the schema says the same: `#[schemars(extend("x-hidden" = true))]`.
    pub fn hidden(mut self, field: impl Into<String>) -> Self {
        self.declaration.marks.hidden.insert(field.into());
        self
    }

    /// Where the declaration comes from: [`Origin::Native`] unless said.
    pub fn origin(mut self, origin: Origin) -> Self {
        self.declaration.origin = origin;
        self
    }
}

/// The marks, as the daemon reads them.
impl ErasedTool {
    /// Whether the model is asked to speak again as soon as it has finished.
    #[must_use]
    pub fn needs_result_now(&self) -> bool {
        self.marks().needs_result_now
    }

    /// The line spoken when a call is about to run, and when it is.
    #[must_use]
    pub fn pre_call(&self) -> Option<&PreCall> {
        self.marks().pre_call.as_ref()
    }

    /// The line spoken when a person has waited long for this tool.
    #[must_use]
    pub fn waiting(&self) -> Option<&str> {
        self.marks().waiting.as_deref()
    }

    /// How long it may take before the log says so.
    #[must_use]
    pub fn budget(&self) -> Duration {
        self.marks().budget
    }

    /// The lane on which its calls never overlap others.
    #[must_use]
    pub fn lane(&self) -> Option<&str> {
        self.marks().lane.as_deref()
    }

    /// Whether it may run beside other parallel calls of the same response.
    #[must_use]
    pub fn is_parallel(&self) -> bool {
        self.marks().parallel
    }

    /// Whether a call is answered at once and its result told when it comes.
    #[must_use]
    pub fn is_job(&self) -> bool {
        self.marks().job
    }

    /// Whether the same call again within a turn means it again.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.marks().repeatable
    }

    /// Whether running it twice does no more than running it once.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.marks().idempotent
    }

    /// Whether it runs even behind a failed outbound call of the same response.
    #[must_use]
    pub fn is_independent(&self) -> bool {
        self.marks().independent
    }

    /// Whether its result may interrupt the model's speech.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.marks().urgent
    }

    /// Whether it waits until what the model said before the call has been played.
    #[must_use]
    pub fn runs_when_heard(&self) -> bool {
        self.marks().run_when_heard
    }

    /// What becomes of a running call when the person speaks over it, the default of its effect applied.
    #[must_use]
    pub fn on_barge_in(&self) -> OnBargeIn {
        self.marks().on_barge_in.unwrap_or(match self.effect() {
            Effect::Read => OnBargeIn::Cancel,
            Effect::Local | Effect::Outbound => OnBargeIn::Finish,
        })
    }

    /// The fields that are left out of results and masked in records of arguments, sorted.
    pub fn hidden(&self) -> impl Iterator<Item = &str> {
        self.marks().hidden.iter().map(String::as_str)
    }
}
