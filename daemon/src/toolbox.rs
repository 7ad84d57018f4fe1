// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where calls run: the only place that reaches a tool's body, and only with a [`Permit`].

mod deliveries;
mod mailbox;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use session::lexicon::Locale;
use session::{
    Catalog, ClientEvent, Consent, Effect, Intent, OnBargeIn, Outcome, OutcomeStatus, Permit, PreCall,
    Prepared, ToolSpec, UndoCall,
};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tools::{
    Agreement, CallControl, CallInfo, CallNotice, Cx, ErasedTool, Shaped, Status, ToolSet, ToolView,
};
use tracing::error;
use units::CallKey;

use self::deliveries::Deliveries;
use self::mailbox::Mailbox;
use crate::challenge;
use crate::identity::{self, Identity};
use crate::speech;
use crate::tooling::Tooling;

/// What a call has to tell, last of all its end.
#[derive(Debug, PartialEq)]
pub enum Told {
    /// It passed its point of no return.
    Begun(CallKey),
    /// It goes on as a job.
    Job(CallKey),
    /// It shows something while it runs.
    Event(ClientEvent),
    /// It has the device say something while it runs.
    Line(CallKey, String),
    /// It tells the model something while it runs.
    Note(CallKey, String),
    /// It ended.
    Done(CallKey, Outcome),
    /// It would do something else by now than what a person agreed to: this. Nothing was done.
    Superseded(CallKey, String),
}

/// The tools, and the calls that are running.
pub struct Toolbox {
    tools: Tooling,
    identity: Identity,
    view: SharedView,
    locale: Locale,
    running: JoinSet<(CallKey, Ended)>,
    controls: BTreeMap<CallKey, CallControl>,
    mailbox: Arc<Mailbox>,
    deliveries: Deliveries,
}

impl Toolbox {
    /// A toolbox of these tools.
    #[must_use]
    pub fn new(tools: impl Into<Tooling>, identity: Identity) -> Self {
        Self {
            tools: tools.into(),
            view: SharedView::default(),
            identity,
            locale: Locale::En,
            running: JoinSet::new(),
            controls: BTreeMap::new(),
            mailbox: Arc::default(),
            deliveries: Deliveries::default(),
        }
    }

    /// Has answers in this language.
    #[must_use]
    pub const fn locale(mut self, locale: Locale) -> Self {
        self.locale = locale;
        self
    }

    /// What the session may know of these tools.
    #[must_use]
    pub fn catalog(&self) -> Shelf {
        Shelf {
            tools: self.tools.clone(),
            identity: self.identity.clone(),
            view: self.view.clone(),
            locale: self.locale,
        }
    }

    /// Which tools the model may see; all of them until somebody says otherwise.
    #[must_use]
    pub fn view(&self) -> SharedView {
        self.view.clone()
    }

    /// The tools, and when they change.
    #[must_use]
    pub const fn tooling(&self) -> &Tooling {
        &self.tools
    }

    /// Starts the call that `permit` allows. What comes of it is told by [`Toolbox::told`], always.
    pub fn dispatch(&mut self, permit: Permit) {
        let call = permit.call_key();
        let Some(tool) = self.tools.current().find(permit.name()).cloned() else {
            // Catalog and toolbox read the same set, so this is a bug of ours, or the permit is from before a new
            // conversation whose tools are others; it is answered all the same.
            error!(tool = permit.name(), "a permitted tool is not in the toolbox");
            let body = json!({"status": "error", "error": format!("the {} tool failed", permit.name())});
            self.running.spawn(async move { (call, Ended::Done(failed(body))) });
            return;
        };
        let info = CallInfo {
            call,
            turn: permit.turn(),
            session: self.identity.run().to_owned(),
            idempotency_key: permit
                .grant()
                .map(|grant| self.identity.idempotency_key(grant, permit.digest())),
            deadline: Instant::now() + permit.timeout(),
        };
        let mailbox = Arc::clone(&self.mailbox);
        let (cx, control) = Cx::new(info, move |notice| mailbox.put(notice));
        self.controls.insert(call, control);
        self.deliveries.on_run(call, &tool, permit.args());
        let run = run(&tool, permit, cx);
        self.running.spawn(async move { (call, run.await) });
    }

    /// Stops a call that has not begun its effect; any other goes on.
    pub fn cancel(&mut self, call: CallKey) {
        if let Some(control) = self.controls.get(&call) {
            control.cancel();
        }
    }

    /// `intent` is handed to the link.
    pub fn on_sent(&mut self, intent: &Intent) {
        if let Intent::Answer(answers) = intent {
            answers.iter().for_each(|answer| self.deliveries.on_sent(answer));
        }
    }

    /// The answers to these calls were written to the provider: what their tools do after that begins. Inside a tokio runtime.
    pub fn on_delivered(&mut self, calls: &[CallKey]) {
        calls.iter().for_each(|call| self.deliveries.on_delivered(*call));
    }

    /// The link is gone: what was handed to it and not said to be delivered never will be.
    pub fn on_link_lost(&mut self) {
        self.deliveries.on_lost();
    }

    /// What happens next. Safe to drop: nothing is lost.
    pub async fn told(&mut self) -> Told {
        loop {
            tokio::select! {
                biased;
                notice = self.mailbox.take() => return notice.into(),
                Some(done) = self.running.join_next() => match done {
                    Ok((call, ended)) => {
                        self.controls.remove(&call);
                        let well = matches!(&ended, Ended::Done(shaped) if shaped.status == Status::Success);
                        self.deliveries.on_done(call, well);
                        return match ended {
                            Ended::Done(shaped) => Told::Done(call, outcome(call, shaped)),
                            Ended::Superseded(summary) => Told::Superseded(call, summary),
                        };
                    }
                    // `run` catches a tool's panic; this is one of our own around it. The session's deadline answers.
                    Err(cause) => error!(%cause, "a call's task ended by itself"),
                },
            }
        }
    }
}

/// What a call outside a session brought.
#[derive(Debug)]
pub struct Trial {
    /// How it ended, without its events.
    pub outcome: Outcome,
    /// What it showed, while it ran and in its outcome.
    pub events: Vec<ClientEvent>,
    /// It became a job: in a conversation it would have been answered then that it runs.
    pub became_job: bool,
    /// What it had the device say.
    pub lines: Vec<String>,
    /// What it told the model outside of its outcome.
    pub notes: Vec<String>,
}

impl Trial {
    /// That of a call that did not get as far as its tool; `body` is what the model would read.
    #[must_use]
    pub const fn refused(body: Value) -> Self {
        let outcome = Outcome {
            status: OutcomeStatus::Error,
            body,
            events: Vec::new(),
            clip_after: None,
            silent_ok: false,
        };
        Self { outcome, events: Vec::new(), became_job: false, lines: Vec::new(), notes: Vec::new() }
    }
}

/// Runs one permitted call outside a session, as `voiced tools test` does.
pub async fn run_alone(tools: &ToolSet, identity: &Identity, permit: Permit) -> Trial {
    let mut toolbox = Toolbox::new(tools.clone(), identity.clone());
    toolbox.dispatch(permit);
    let (mut events, mut lines, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let mut became_job = false;
    loop {
        match toolbox.told().await {
            Told::Begun(_) => {}
            Told::Job(_) => became_job = true,
            Told::Event(event) => events.push(event),
            Told::Line(_, text) => lines.push(text),
            Told::Note(_, text) => notes.push(text),
            Told::Superseded(_, summary) => {
                let error = "what would be done has changed since it was agreed to; nothing was done";
                return Trial::refused(json!({"status": "error", "error": error, "it_would_be": summary}));
            }
            Told::Done(_, mut outcome) => {
                events.append(&mut outcome.events);
                return Trial { outcome, events, became_job, lines, notes };
            }
        }
    }
}

impl From<CallNotice> for Told {
    fn from(notice: CallNotice) -> Self {
        match notice {
            CallNotice::EffectBegun { call } => Self::Begun(call),
            CallNotice::BecameJob { call } => Self::Job(call),
            CallNotice::Event { call, name, payload } => Self::Event(ClientEvent { call, name, payload }),
            CallNotice::Line { call, text } => Self::Line(call, text),
            CallNotice::Note { call, text } => Self::Note(call, text),
        }
    }
}

/// How a dispatched call ended.
enum Ended {
    Done(Shaped),
    /// What was agreed to does not hold any more. In the words of its gate, as things are.
    Superseded(String),
}

/// The one way to a tool's body. The arguments are the permit's: those that were checked and agreed to. What a person agreed to
/// is looked at once more where the tool says how, before anything is done.
fn run(tool: &ErasedTool, permit: Permit, cx: Cx) -> impl Future<Output = Ended> + Send + 'static {
    let tool = tool.clone();
    async move {
        if let Some(agreed) = permit.summary()
            && let Some(looking) = tool.recheck(permit.args().clone(), cx.clone())
        {
            match looking.await {
                Ok(sentence) if sentence == agreed => {}
                Ok(sentence) => match sentence_fault(&sentence) {
                    None => return Ended::Superseded(sentence),
                    Some(fault) => {
                        error!(tool = tool.name(), fault, "what it would do cannot be asked about");
                        let body =
                            json!({"status": "error", "error": format!("the {} tool failed", tool.name())});
                        return Ended::Done(failed(body));
                    }
                },
                Err(shaped) => return Ended::Done(shaped),
            }
        }
        Ended::Done(tool.run(permit.args().clone(), cx).await)
    }
}

fn failed(body: Value) -> Shaped {
    Shaped { status: Status::Error, body, events: Vec::new(), clip_after: None, silent_ok: false }
}

/// What keeps a sentence from being read aloud.
fn sentence_fault(sentence: &str) -> Option<String> {
    let char = speech::unspeakable(sentence)?;
    Some(format!("the sentence to be read aloud holds {char:?}, which a voice cannot say: leave it out"))
}

fn outcome(call: CallKey, shaped: Shaped) -> Outcome {
    Outcome {
        status: match shaped.status {
            Status::Success | Status::Running => OutcomeStatus::Success,
            Status::Error => OutcomeStatus::Error,
            Status::Unknown => OutcomeStatus::Unknown,
            Status::Cancelled => OutcomeStatus::Cancelled,
        },
        body: shaped.body,
        events: shaped
            .events
            .into_iter()
            .map(|(name, payload)| ClientEvent { call, name, payload })
            .collect(),
        clip_after: shaped.clip_after,
        silent_ok: shaped.silent_ok,
    }
}

/// What the session knows of the tools.
#[derive(Clone, Debug)]
pub struct Shelf {
    tools: Tooling,
    identity: Identity,
    view: SharedView,
    locale: Locale,
}

/// Which tools the model may see, for whoever shows and hides them. Clones are one. Tools that come later are seen as
/// long as nobody has said what is.
#[derive(Clone, Debug, Default)]
pub struct SharedView(Arc<Mutex<Option<ToolView>>>);

impl SharedView {
    /// The model sees the tools of `view`, from the person's next turn on.
    pub fn show(&self, view: ToolView) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
    }

    fn shows(&self, name: &str) -> bool {
        let view = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        view.as_ref().is_none_or(|view| view.find(name).is_some())
    }
}

impl Catalog for Shelf {
    fn spec(&self, name: &str) -> Option<ToolSpec> {
        self.tools.current().find(name).map(spec)
    }

    fn view(&self) -> Vec<String> {
        let mut names = self.tools.there();
        names.retain(|name| self.view.shows(name));
        names
    }

    fn prepare(&self, name: &str, args: &Value) -> Result<Prepared, String> {
        let tools = self.tools.current();
        let tool = tools.find(name).ok_or_else(|| format!("There is no tool named {name}."))?;
        prepare_for(tool, &self.identity, args, self.locale)
    }

    fn undo(&self, name: &str, args: &Value) -> Option<UndoCall> {
        let tools = self.tools.current();
        let tool = tools.find(name)?;
        let by = tools.find(tool.undone_by()?)?;
        match tool.undo(args)? {
            Ok(args) => Some(UndoCall { tool: by.name().to_owned(), shown: by.masked(&args), args }),
            Err(fault) => {
                error!(tool = name, fault, "how it is undone cannot be told");
                None
            }
        }
    }
}

/// The facts of a tool, as the session takes them.
#[must_use]
pub fn spec(tool: &ErasedTool) -> ToolSpec {
    let asking = tool.asking().unwrap_or_default();
    ToolSpec {
        name: tool.name().to_owned(),
        effect: match tool.effect() {
            // Who put a gate on a tool wants a person asked, whatever else was declared.
            _ if tool.is_gated() => Effect::Outbound,
            tools::Effect::Read => Effect::Read,
            tools::Effect::Local => Effect::Local,
            tools::Effect::Outbound => Effect::Outbound,
        },
        ungated: tool.ungated().is_some(),
        consent: match asking.by {
            Agreement::Voice => Consent::Voice,
            Agreement::Touch => Consent::Touch,
            Agreement::Button => Consent::Button,
            Agreement::VoiceOrTouch => Consent::VoiceOrTouch,
            Agreement::Both => Consent::VoiceAndTouch,
        },
        repeat_last: asking.repeat_last,
        needs_result_now: tool.needs_result_now(),
        timeout: tool.timeout(),
        ends_session: tool.ends_session(),
        pre_call: tool.pre_call().map(|line| match line {
            tools::PreCall::Always(text) => PreCall::Always(text.clone()),
            tools::PreCall::IfSilent(text) => PreCall::IfSilent(text.clone()),
        }),
        waiting: tool.waiting().map(str::to_owned),
        lane: tool.lane().map(str::to_owned),
        parallel: tool.is_parallel(),
        job: tool.is_job(),
        repeatable: tool.is_repeatable(),
        independent: tool.is_independent(),
        run_when_heard: tool.runs_when_heard(),
        urgent: tool.is_urgent(),
        idempotent: tool.is_idempotent(),
        on_barge_in: match tool.on_barge_in() {
            tools::OnBargeIn::Cancel => OnBargeIn::Cancel,
            tools::OnBargeIn::Finish => OnBargeIn::Finish,
        },
    }
}

/// Checks `args` and renders what the gate needs of them, for a person who answers in English.
///
/// # Errors
/// One text for the model that names every fault.
pub fn prepare(tool: &ErasedTool, identity: &Identity, args: &Value) -> Result<Prepared, String> {
    prepare_for(tool, identity, args, Locale::En)
}

fn prepare_for(
    tool: &ErasedTool,
    identity: &Identity,
    args: &Value,
    locale: Locale,
) -> Result<Prepared, String> {
    let args = tool.prepare(args)?;
    let schema = tools::canonical(tool.schema());
    let digest = identity.digest(tool.name(), &schema, &tools::canonical(&args));
    let summary = tool.summary(&args).transpose()?;
    if let Some(fault) = summary.as_deref().and_then(sentence_fault) {
        return Err(fault);
    }
    let slots = tool.slots(&args)?;
    let is_high_risk = tool.asking().is_some_and(|asking| asking.high_risk);
    let challenge = if is_high_risk { challenge::draw(locale) } else { Vec::new() };
    Ok(Prepared { args, digest, summary, slots, challenge, nonce: identity::nonce() })
}
