// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a person's approval goes through, without sound: session, toolbox, journal and gate log on one state folder, and a tool of
//! a web service. The conversation is on virtual time and takes no longer than disk and service do.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use session::{
    Capabilities, Input, Intent, Notice, Outcome, OutcomeStatus, Output, ProviderCall, ProviderEvent, Session,
};
use units::{CallKey, Hz, Instant, UtteranceId};
use voiced::assembly::{Bus, Extend, tool_set};
use voiced::config::{Config, FileSource, Sources};
use voiced::gate_log::GateLog;
use voiced::identity::Identity;
use voiced::journal::Journal;
use voiced::toolbox::{Told, Toolbox};

/// The tool that every [`Device`] has: it acts on the world outside, by a service, and asks first. It takes an `order`.
pub const PRINT: &str = "print_order";

const SECOND: Duration = Duration::from_secs(1);

/// How long the journal may take to say what earlier runs have left.
const LEFT_LIMIT: Duration = Duration::from_secs(10);

type Watch = Box<dyn FnMut(&Output)>;

/// One run of a device.
pub struct Device {
    // Dropped in this order: the journal is let go of by the calls first, and lets go of the gate log.
    toolbox: Toolbox,
    journal: Arc<Journal>,
    gate_log: GateLog,
    session: Session,
    now: Instant,
    unplayed: Vec<UtteranceId>,
    running: usize,
    calls: u64,
    watch: Watch,
    /// What was noticed.
    pub notices: Vec<Notice>,
    /// What the provider was told.
    pub intents: Vec<Intent>,
    /// How calls ended.
    pub outcomes: Vec<(CallKey, OutcomeStatus, Value)>,
}

impl Device {
    /// A configuration with [`PRINT`], carried out by the service on this port of this machine. `more` is TOML with dotted keys.
    #[must_use]
    pub fn config(state: &Path, port: u16, is_idempotent: bool, more: &str) -> String {
        format!(
            "state.dir = '{}'\n\
             tools.egress.allow = [\"127.0.0.1\"]\n\
             {more}\n\
             [[tool]]\n\
             name = \"{PRINT}\"\n\
             description = \"Prints an order. Use it when somebody wants one printed.\"\n\
             url = \"http://127.0.0.1:{port}/\"\n\
             parameters = {{ type = \"object\", properties = {{ order = {{ type = \"string\" }} }}, required = [\"order\"] }}\n\
             confirm = \"Print the order {{order}}.\"\n\
             idempotent = {is_idempotent}\n",
            state.display()
        )
    }

    /// Starts, and tells the model what is left of earlier runs. Inside a runtime. `watch` sees what the session wants before it
    /// is done.
    ///
    /// # Panics
    /// If it cannot be put together.
    pub async fn start(config: &str, watch: impl FnMut(&Output) + 'static) -> Self {
        crate::install_tls();
        let file = FileSource::Text("device.toml".into(), config.to_owned());
        let config = Config::load(&Sources { file, ..Sources::default() });
        let config = config.unwrap_or_else(|faults| panic!("{faults}")).config;
        let state = config.state.dir.clone().expect("it names a folder for state");
        let identity = Identity::load(Some(&state));
        let extend: Extend = Arc::new(|tools| tools);
        let tools = tool_set(&config, &extend, Bus::Inline).unwrap_or_else(|fault| panic!("{fault}"));
        let toolbox = Toolbox::new(tools, identity.clone());
        let gate_log = GateLog::start(&state, config.gate.log.clone(), &toolbox, &identity);
        let gate_log = gate_log.expect("there is a thread for it");
        let journal = Journal::start(&state, identity.run(), gate_log.report());
        let journal = Arc::new(journal.expect("there is a thread for it"));
        let toolbox = toolbox.journal(Arc::clone(&journal));
        let settings = session::Config { engage: session::Engage::Always, ..session::Config::default() };
        let session = Session::new(settings, Box::new(toolbox.catalog()), 1);
        let mut device = Self {
            toolbox,
            journal,
            gate_log,
            session,
            now: Instant::ZERO,
            unplayed: Vec::new(),
            running: 0,
            calls: 0,
            watch: Box::new(watch),
            notices: Vec::new(),
            intents: Vec::new(),
            outcomes: Vec::new(),
        };
        device.feed(Input::Start);
        device.provider(ProviderEvent::Ready {
            resumed: false,
            capabilities: Capabilities {
                hold_uplink_during_calls: false,
                resumes: true,
                takes_notes: true,
                takes_earlier_calls: false,
            },
        });
        let journal = Arc::clone(&device.journal);
        journal.flush(LEFT_LIMIT).await;
        let left = tokio::select! {
            biased;
            note = journal.note() => Some(note),
            () = std::future::ready(()) => None,
        };
        if let Some(text) = left {
            device.feed(Input::Note { text });
        }
        device
    }

    /// The model asks for an order to be printed, and the question is heard to its end.
    pub fn is_asked(&mut self, order: &str) {
        self.calls_for(order);
        self.hear_all();
    }

    /// A person says this, and it is transcribed.
    pub fn hears(&mut self, text: &str) {
        self.pass(SECOND);
        self.feed(Input::SpeechStarted { onset_ago: Duration::from_millis(100) });
        self.pass(SECOND);
        self.feed(Input::SpeechEnded { voiced: Duration::from_millis(900) });
        self.provider(ProviderEvent::UserText(text.to_owned()));
        self.pass(SECOND);
    }

    /// The model calls for an order.
    pub fn calls_for(&mut self, order: &str) {
        self.calls += 1;
        let id = Some(format!("id-{}", self.calls));
        let args = serde_json::json!({ "order": order });
        self.provider(ProviderEvent::Calls(vec![ProviderCall { id, name: PRINT.to_owned(), args }]));
        self.pass(SECOND);
    }

    /// Waits until every call that runs has ended, and the model has said all it wants to.
    pub async fn ends(&mut self) {
        while self.running > 0 {
            self.goes_on().await;
        }
        self.provider(ProviderEvent::TurnComplete { more: false });
        self.hear_all();
    }

    /// Waits for one thing that a call has to tell.
    pub async fn goes_on(&mut self) {
        match self.toolbox.told().await {
            Told::Begun(call) => self.feed(Input::EffectBegun { call }),
            Told::Job(call) => self.feed(Input::BecameJob { call }),
            Told::Line(call, text) => self.feed(Input::CallLine { call, text }),
            Told::Note(call, text) => self.feed(Input::CallNote { call, text }),
            Told::Superseded(call, summary) => self.feed(Input::Superseded { call, summary }),
            Told::Event(_) => {}
            Told::Done(call, outcome) => self.on_done(call, outcome),
        }
    }

    /// The whole way of one order from the question to its end.
    pub async fn prints(&mut self, order: &str) {
        self.is_asked(order);
        self.hears("Yes.");
        self.calls_for(order);
        self.ends().await;
    }

    /// The power goes: nothing is ended, and whatever runs is gone. Another may start on the same folder then.
    pub async fn is_cut_off(self) {
        drop(self);
        // The runtime lets go of calls when it comes by.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
    }

    fn on_done(&mut self, call: CallKey, outcome: Outcome) {
        self.running -= 1;
        self.outcomes.push((call, outcome.status, outcome.body.clone()));
        self.gate_log.on_outcome(call, &outcome);
        self.feed(Input::Outcome { call, outcome });
    }

    /// Everything that is to be heard is heard to its end.
    fn hear_all(&mut self) {
        while !self.unplayed.is_empty() {
            let utterance = self.unplayed.remove(0);
            self.feed(Input::PlayoutStarted { utterance });
            self.pass(SECOND * 2);
            let heard = Hz::K24.frames_in(SECOND * 2);
            self.feed(Input::PlayoutFinished { utterance, heard, cut: false });
        }
    }

    fn provider(&mut self, event: ProviderEvent) {
        self.feed(Input::Provider(event));
    }

    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(due) = self.session.deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.feed(Input::Timeout);
        }
        self.now = end;
    }

    fn feed(&mut self, input: Input) {
        self.session.handle(self.now, input);
        while let Some(output) = self.session.poll() {
            (self.watch)(&output);
            match output {
                Output::Speak { utterance, .. } => self.unplayed.push(utterance),
                Output::Run(permit) => {
                    self.running += 1;
                    self.toolbox.dispatch(permit);
                }
                Output::Cancel { call } => self.toolbox.cancel(call),
                Output::Send(intent) => {
                    self.toolbox.on_sent(&intent);
                    self.journal.on_sent(&intent);
                    self.intents.push(intent);
                }
                Output::Notice(notice) => {
                    self.gate_log.on_notice(&notice);
                    self.notices.push(notice);
                }
                Output::Connect { .. }
                | Output::Disconnect
                | Output::UplinkOpen { .. }
                | Output::UplinkClose
                | Output::Play { .. }
                | Output::PlayEnd { .. }
                | Output::PlayClip { .. }
                | Output::Duck
                | Output::Unduck
                | Output::Flush
                | Output::Sheet(_)
                | Output::SheetClosed { .. }
                | Output::Event(_)
                | Output::Ended { .. } => {}
            }
        }
    }

    /// Statuses of the answers that the model was given, in order.
    #[must_use]
    pub fn answers(&self) -> Vec<&str> {
        let answers = self
            .intents
            .iter()
            .filter_map(|intent| if let Intent::Answer(answers) = intent { Some(answers) } else { None });
        answers.flatten().map(|answer| answer.body["status"].as_str().unwrap_or("none")).collect()
    }

    /// Notes that the model was given, in order.
    #[must_use]
    pub fn notes(&self) -> Vec<&str> {
        fn note(intent: &Intent) -> Option<&str> {
            if let Intent::Note(text) = intent { Some(text) } else { None }
        }
        self.intents.iter().filter_map(note).collect()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("notices", &self.notices).finish_non_exhaustive()
    }
}
