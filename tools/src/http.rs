// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tools that are declared in configuration and carried out by a web service.
//!
//! It decides what is sent, what of an answer the model reads, and which hosts may be called at all. It never retries,
//! follows a redirect, uses a proxy, or lets a service write anything the model could take for an instruction: what a
//! service sends is nested below `result`.
//!
//! # Contract
//! Each part of an [`HttpTool`] is checked when it is made, so that a fault can be told of the key it stands under.
//! [`HttpTool::declare`] joins it with what only the running device has: its secrets, the client, and the facts that go
//! with each call.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Url};
use serde_json::{Map, Value, json};
use tokio::time::timeout_at;

use crate::apart::apart;
use crate::build::BuildErrors;
use crate::cx::Cx;
use crate::declare::{Asking, Declaration, Effect, Gate, Origin, ToolBuilder};
use crate::result::{ToolError, ToolResult};
use crate::secret::{Secret, redacted};
use crate::set::{ErasedTool, ToolSet};
use crate::shape::Status;

mod answer;
mod client;
mod confirm;
mod download;
mod egress;
mod header;
mod parameters;
mod query;

pub use answer::{BODY_BYTES_MAX, TEXT_CHARS_MAX};
pub use client::{ClientError, HttpClient, Trust};
pub(crate) use client::{chain, is_loopback};
pub use confirm::Confirm;
pub use download::{DownloadError, download};
pub use egress::{Egress, EgressError, Target, TargetError};
pub use header::{Header, HeaderError};
pub use parameters::{CALL_KEY, Parameters};

/// Time a service may take before its slowness is worth a line in the log: a person in a conversation notices it.
const BUDGET: Duration = Duration::from_secs(2);

/// How long before the deadline of its call a request ends. The session answers at the deadline itself, in words of its
/// own; a service that did not answer in time is to be told as just that.
const MARGIN: Duration = Duration::from_millis(100);

/// How the arguments travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// In the query of the URL.
    Get,
    /// As JSON in the body, with the facts of the call.
    #[default]
    Post,
}

impl Method {
    /// The method of this name, in capitals.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "GET" => Some(Self::Get),
            "POST" => Some(Self::Post),
            _ => None,
        }
    }
}

/// Why the tool may run.
#[derive(Clone, Debug, PartialEq)]
pub enum Consent {
    /// It does nothing to the world outside.
    NotNeeded,
    /// A person is asked with this sentence.
    Ask(Confirm),
    /// Outbound, yet nobody is asked: the reason is the integrator's.
    Ungated(String),
}

/// What a service is told of the call beside its arguments. The model never reads any of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallFacts {
    /// Which of the owner's agents this is.
    pub agent_id: String,
    /// Which of the owner's devices this is.
    pub device_id: String,
    /// Whatever else the services of this site need: a customer, an order.
    pub user_data: Map<String, Value>,
}

/// One tool as the configuration declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpTool {
    /// What the model calls.
    pub name: String,
    /// What the model reads to decide when.
    pub description: String,
    /// The arguments.
    pub parameters: Parameters,
    /// How they travel.
    pub method: Method,
    /// Where to.
    pub target: Target,
    /// Sent with every request.
    pub headers: Vec<Header>,
    /// What the device says before every request; empty for nothing.
    pub pre_call_message: String,
    /// From dispatch to answer: connection, headers and body together.
    pub timeout: Duration,
    /// What the service does to the world.
    pub effect: Effect,
    /// Why it may.
    pub consent: Consent,
    /// What it takes to agree, where a person is asked.
    pub asking: Asking,
    /// The model is asked to speak as soon as the answer is there.
    pub needs_result_now: bool,
    /// What the model should do about an answer other than 2xx.
    pub on_failure: Option<String>,
    /// Asking twice does no more than asking once.
    pub idempotent: bool,
}

impl HttpTool {
    /// The tool, ready to be given to a set. `secret` gives the secret of a name, or says where it was looked for.
    ///
    /// # Errors
    /// Every header that cannot be filled in, by name.
    pub fn declare(
        &self,
        client: &HttpClient,
        facts: &Arc<CallFacts>,
        secret: &dyn Fn(&str) -> Result<Secret, String>,
    ) -> Result<Declaration, Vec<String>> {
        let (headers, masks) = self.filled(secret)?;
        let sender = Arc::new(Sender {
            name: self.name.clone(),
            client: client.clone(),
            method: self.method,
            url: self.target.url().clone(),
            headers,
            masks,
            order: self.parameters.order().to_vec(),
            effect: self.effect,
            facts: Arc::clone(facts),
        });
        let schema = self.parameters.schema().clone();
        let tool = ErasedTool::dynamic(&self.name, &self.description, schema, move |args, cx| {
            let sender = Arc::clone(&sender);
            async move { sender.call(args, cx).await }
        });
        Ok(self.marked(tool))
    }

    /// What no set would take, by the rules for every tool.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let schema = self.parameters.schema().clone();
        let idle = ErasedTool::dynamic(&self.name, &self.description, schema, |_, _| async {});
        match ToolSet::builder().tool(self.marked(idle)).build() {
            Ok(_) => Vec::new(),
            Err(BuildErrors(faults)) => faults.into_iter().map(|error| error.fault).collect(),
        }
    }

    fn marked(&self, tool: ToolBuilder<Value>) -> Declaration {
        let mut tool = tool
            .effect(self.effect)
            .timeout(self.timeout)
            .budget(BUDGET.min(self.timeout))
            .origin(Origin::Configuration);
        if !self.pre_call_message.is_empty() {
            tool = tool.pre_call_always(&self.pre_call_message);
        }
        if self.needs_result_now {
            tool = tool.needs_result_now();
        }
        if self.idempotent {
            tool = tool.idempotent();
        }
        if let Some(instruction) = &self.on_failure {
            tool = tool.on_failure(instruction);
        }
        let tool = match &self.consent {
            Consent::NotNeeded => tool,
            Consent::Ungated(reason) => tool.ungated(reason),
            Consent::Ask(confirm) => {
                let (spoken, exact) = (confirm.clone(), confirm.clone());
                let gate =
                    Gate::voice(move |args| spoken.sentence(args)).slots(move |args| exact.slots(args));
                tool.gate(gate.asking(self.asking))
            }
        };
        tool.erase()
    }

    /// The headers with their secrets, and what must be masked wherever a service repeats it.
    fn filled(
        &self,
        secret: &dyn Fn(&str) -> Result<Secret, String>,
    ) -> Result<(HeaderMap, Vec<Secret>), Vec<String>> {
        let mut headers = HeaderMap::new();
        if self.method == Method::Post {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let (mut masks, mut faults) = (Vec::new(), Vec::new());
        for header in &self.headers {
            match header.filled(secret, &mut masks) {
                Ok(value) => drop(headers.insert(header.name().clone(), value)),
                Err(fault) => faults.push(format!("headers.{}: {fault}", header.written_name())),
            }
        }
        if faults.is_empty() { Ok((headers, masks)) } else { Err(faults) }
    }
}

/// What it takes to call one service.
struct Sender {
    name: String,
    client: HttpClient,
    method: Method,
    url: Url,
    headers: HeaderMap,
    masks: Vec<Secret>,
    order: Vec<String>,
    effect: Effect,
    facts: Arc<CallFacts>,
}

impl Sender {
    async fn call(&self, args: Value, cx: Cx) -> Result<ToolResult, ToolError> {
        let request = self.request(args, &cx);
        match self.effect {
            Effect::Read => {}
            Effect::Local | Effect::Outbound => cx.begin_effect()?,
        }
        let deadline = cx.deadline();
        let exchange =
            timeout_at(deadline.checked_sub(MARGIN).unwrap_or(deadline), apart(answer::exchange(request)));
        let answered = tokio::select! {
            biased;
            answered = exchange => answered,
            // Dropping the exchange closes its connection. Past the point of no return nothing is cancelled.
            () = cx.cancelled() => return Err(ToolError::cancelled()),
        };
        let (arrived, cause) = match answered {
            Ok(Ok(Ok(answer))) => {
                tracing::debug!(tool = self.name, status = answer.status, "the service answered");
                return Ok(answer.for_model(&self.masks));
            }
            Ok(Ok(Err(error))) => (!(error.is_connect() || error.is_builder()), chain(error)),
            // Whether anything was sent by then is not known.
            Ok(Err(error)) => (true, error.to_string()),
            Err(_) => (true, "no whole answer in time".to_owned()),
        };
        let cause = redacted(&self.masks, &cause);
        tracing::warn!(tool = self.name, cause, "the service did not answer");
        let ended = match self.effect {
            Effect::Local | Effect::Outbound if arrived => Status::Unknown,
            Effect::Read | Effect::Local | Effect::Outbound => Status::Error,
        };
        let error = format!("the {} service did not answer", self.name);
        Ok(ToolResult::answered(ended, answer::object([("status", 0.into()), ("error", error.into())])))
    }

    fn request(&self, args: Value, cx: &Cx) -> RequestBuilder {
        let client = self.client.inner();
        let request = match self.method {
            Method::Get => client.get(query::with(&self.url, &self.order, &args)),
            Method::Post => client.post(self.url.clone()).body(self.body(args, cx).to_string()),
        };
        let request = request.headers(self.headers.clone());
        match cx.idempotency_key() {
            Some(key) => request.header("Idempotency-Key", key),
            None => request,
        }
    }

    /// The arguments with the facts of the call. A kiosk has no phone numbers: they are there, and empty.
    fn body(&self, args: Value, cx: &Cx) -> Value {
        let mut body = match args {
            Value::Object(fields) => fields,
            // Checked arguments are an object.
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Map::new()
            }
        };
        let CallFacts { agent_id, device_id, user_data } = &*self.facts;
        let call = json!({
            "call_id": cx.session(), "agent_id": agent_id, "from": "", "to": "", "user_data": user_data,
            "device_id": device_id, "turn": cx.turn().0, "tool_call_id": cx.call().to_string(),
        });
        body.insert(CALL_KEY.to_owned(), call);
        Value::Object(body)
    }
}
