// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tools of other processes: servers that speak the Model Context Protocol, as a child process or over HTTP on this
//! machine.
//!
//! It decides which of a server's tools may be offered and under which marks, and what of an answer may reach the
//! model. It never trusts a server's word about itself: a hint may make a tool stricter, never looser, what a server
//! sends is nested below `result`, and a server that asks back (for a sample of the model, for an answer of the person)
//! is refused, as that would lead past the gate.
//!
//! # Contract
//! [`Servers::start`] starts one task for each server on the current runtime and returns at once. The task connects,
//! lists the tools, and starts over with growing pauses whenever the server ends. [`Servers::joined`] gives the tools
//! of the servers that are up at that moment, beside those of this process. A tool once given stays callable: while its
//! server is down, or no longer has the tool as it was, a call is answered at once with an error that names the server.
//! Dropping every clone of [`Servers`] ends the children with everything they started.
//!
//! # What is live
//! Calls follow a restarted server at once. Which tools there are, their schemas and their hints, is taken at
//! [`Servers::joined`] only: whoever shows tools to a model calls it when a conversation begins.
//!
//! # Words
//! - **mark**: what the configuration says about one tool of a server.
//! - **hint**: what the server says about it.

mod call;
mod child;
mod decode;
#[cfg(test)]
mod flood_tests;
mod lines;
mod listing;
mod offer;
mod pace;
mod polite;
mod progress;
mod rate;
mod schema;
mod server;
mod template;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::declare::Origin;
use crate::lock;
use crate::secret::Secret;
use crate::set::{ErasedTool, ToolSet};
use server::Server;

pub use template::{Template, TemplateError};

/// Longest message that is read from a server. An image of some megapixels is left out of the answer, but must not cost
/// the text beside it.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One server, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// What its tools' names begin with.
    pub name: String,
    /// Where it is.
    pub reach: Reach,
    /// From dispatch to answer, 1 to 30 s, for each of its tools.
    pub timeout: Duration,
    /// It may write just-in-time instructions, events and clips, and say in its own words how far a job is.
    pub trusted: bool,
    /// Marks by the server's own names of its tools.
    pub tools: BTreeMap<String, Marks>,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A child of this process, spoken to over its standard input and output.
    Child {
        /// Program and arguments; not empty.
        command: Vec<String>,
        /// Variables that are passed on from this process; `PATH` always is, nothing else.
        env: Vec<String>,
    },
    /// Streamable HTTP, on this machine.
    Http {
        /// An `http://` URL.
        url: String,
    },
}

/// What the configuration says about one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Its effect; the strictest if never said.
    pub effect: crate::Effect,
    /// The model is asked to speak again as soon as it has finished.
    pub needs_result_now: bool,
    /// How long it should take at most; a warning says when it took longer. Nobody waits for a job.
    pub budget: Option<Duration>,
    /// The call is answered at once that it runs, and how it ended is told when it has. How far it is by what its server
    /// says is noted for the model meanwhile.
    pub job: bool,
    /// What a person is asked to agree to before it runs.
    pub confirm: Option<Template>,
    /// What it takes to agree, where a person is asked.
    pub asking: crate::Asking,
    /// Why nobody is asked although it acts on the world outside.
    pub ungated: Option<String>,
    /// Whether it is offered at all.
    pub enabled: bool,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            effect: crate::Effect::default(),
            needs_result_now: false,
            budget: None,
            job: false,
            confirm: None,
            asking: crate::Asking::default(),
            ungated: None,
            enabled: true,
        }
    }
}

/// A tool of a server that is not offered, or a mark that fits none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// The server.
    pub server: String,
    /// The tool, by the server's own name; like the reason without what a terminal acts on, and not longer than a line.
    pub tool: String,
    /// Thing, value and remedy.
    pub reason: String,
    /// Two tools would have the same name: the configuration must change.
    pub clash: bool,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mcp `{}`: tool `{}`: {}", self.server, self.tool, self.reason)
    }
}

/// The tools of this process and those of the servers that are up.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    /// All that may be offered.
    pub tools: ToolSet,
    /// What is not, and why.
    pub left_out: Vec<LeftOut>,
}

/// The servers. Clones are the same servers; they end with the last clone.
#[derive(Clone, Default)]
pub struct Servers(Arc<Inner>);

#[derive(Default)]
struct Inner {
    servers: Vec<Arc<Server>>,
    /// What was complained of already: the same complaint at every conversation would only fill the log.
    told: Mutex<BTreeSet<LeftOut>>,
    /// One for each server; dropping them ends the servers.
    _tasks: JoinSet<()>,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.servers.iter().map(|server| server.name())).finish()
    }
}

impl Servers {
    /// Starts to connect to every server. Inside a tokio runtime, unless there is none.
    #[must_use]
    pub fn start(configs: impl IntoIterator<Item = ServerConfig>) -> Self {
        Self::start_masking(configs, &[])
    }

    /// As [`Servers::start`]; nothing a server says about itself is logged with a copy of one of `secrets` in it, nor of a
    /// variable that was passed to it.
    #[must_use]
    pub fn start_masking(configs: impl IntoIterator<Item = ServerConfig>, secrets: &[Secret]) -> Self {
        let mut tasks = JoinSet::new();
        let servers: Vec<_> =
            configs.into_iter().map(|config| Arc::new(Server::new(config, secrets))).collect();
        for server in &servers {
            tasks.spawn(server::look_after(Arc::clone(server)));
        }
        Self(Arc::new(Inner { servers, told: Mutex::default(), _tasks: tasks }))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.servers.is_empty()
    }

    /// Waits until every server is up or has failed once, at most for `limit`. Gives one line for each that is not up.
    pub async fn settled(&self, limit: Duration) -> Vec<String> {
        let deadline = Instant::now() + limit;
        let mut missing = Vec::new();
        for server in &self.0.servers {
            let why = match timeout_at(deadline, server.settled()).await {
                Ok(Ok(())) => continue,
                Ok(Err(why)) => why,
                Err(_) => format!("it is not ready after {} s", limit.as_secs_f32()),
            };
            missing.push(format!("mcp `{}` has no tools yet: {why}", server.name()));
        }
        missing
    }

    /// `native` and the tools of every server that is up, each checked like one of this process. A tool that fails is
    /// left out; so are both of two that would have the same name, but never one of `native`.
    #[must_use]
    pub fn joined(&self, native: &ToolSet) -> Joined {
        if self.is_empty() {
            return Joined { tools: native.clone(), left_out: Vec::new() };
        }
        let mut left_out = Vec::new();
        let mut offered = Vec::new();
        for server in &self.0.servers {
            if let Some(up) = server.up() {
                offered.extend(offer::offers(server, &up, &mut left_out));
            }
        }
        let mut by_name: BTreeMap<String, Vec<offer::Offer>> = BTreeMap::new();
        for offer in offered {
            by_name.entry(offer.tool.name().to_owned()).or_default().push(offer);
        }
        let mut tools: Vec<ErasedTool> = native.iter().cloned().collect();
        for (name, mut offers) in by_name {
            let taken = native.find(&name).is_some();
            if offers.len() == 1 && !taken {
                tools.extend(offers.pop().map(|offer| offer.tool));
                continue;
            }
            let all: Vec<String> =
                offers.iter().map(|offer| format!("`{}` of `{}`", offer.own_name, offer.server)).collect();
            let with = if taken { "a tool of this device".to_owned() } else { all.join(" and ") };
            left_out.extend(offers.into_iter().map(|offer| LeftOut {
                reason: format!(
                    "the name `{name}` is also that of {with}: rename the server, or set enabled = false for one"
                ),
                server: offer.server,
                tool: offer.own_name,
                clash: true,
            }));
        }
        Joined { tools: ToolSet::new(tools, native.warnings().to_vec()), left_out }
    }

    /// Whether whoever carries `tool` out is there: for one of a server, the server is up and lists it still.
    #[must_use]
    pub fn have(&self, tool: &ErasedTool) -> bool {
        let Origin::Mcp(of) = tool.origin() else { return true };
        let up = self.0.servers.iter().filter(|server| server.name() == of);
        let mut up = up.filter_map(|server| server.up().map(|up| (server, up)));
        up.any(|(server, up)| up.tools.iter().any(|listed| offer::name(server, listed) == tool.name()))
    }

    /// As [`Servers::joined`]; what is left out is logged, each complaint once.
    #[must_use]
    pub fn joined_and_told(&self, native: &ToolSet) -> ToolSet {
        let Joined { tools, left_out } = self.joined(native);
        let mut told = lock(&self.0.told);
        // What a server changes its mind about may be complained of again.
        told.retain(|known| left_out.contains(known));
        for left in left_out {
            if !told.contains(&left) {
                tracing::warn!("{left}");
                told.insert(left);
            }
        }
        tools
    }
}
