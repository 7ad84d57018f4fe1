// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the confirmation gate costs for each thing that happens: the call that asks, the question being heard, speech, its
//! words, the call that spends the yes. Processor time only; the conversation's own time is virtual.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use session::{
    Capabilities, Config, Engage, Input, LineKind, Outcome, OutcomeStatus, Output, ProviderCall,
    ProviderEvent, Session,
};
use tools::{Cx, Effect, ErasedTool, Gate, ToolResult, ToolSet};
use units::{CallKey, Frames, Instant as Moment, UtteranceId};
use voiced::identity::Identity;
use voiced::toolbox::Toolbox;

use crate::report::{Figure, Spread};

const CYCLES: usize = 2000;

/// The figures.
pub fn figures() -> Vec<Figure> {
    let mut bench = Bench::new();
    for cycle in 0..CYCLES {
        bench.agree(cycle);
    }
    let Spread { p50, p99, .. } = Spread::of(&bench.spans);
    let most = bench.spans.iter().max().copied().unwrap_or_default();
    let micros = |span: Duration| span.as_secs_f64() * 1e6;
    vec![
        Figure::new(
            &format!("gate, each input of {CYCLES} questions"),
            format!("{:.1} / {:.1} µs", micros(p50), micros(p99)),
        )
        .goal("< 50 µs"),
        Figure::new("… the slowest", format!("{:.1} µs", micros(most))),
        Figure::new("… inputs of a question", format!("{:.1}", ratio(bench.spans.len(), CYCLES))),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
fn ratio(sum: usize, count: usize) -> f64 {
    sum as f64 / count as f64
}

struct Bench {
    session: Session,
    /// It holds the tools that the session asks about.
    _toolbox: Toolbox,
    now: Moment,
    spans: Vec<Duration>,
    calls: u64,
}

impl Bench {
    fn new() -> Self {
        let schema = json!({"type": "object", "properties": {
            "phone": {"type": "string"}, "text": {"type": "string"},
        }});
        let text = |args: &Value, field: &str| args[field].as_str().unwrap_or_default().to_owned();
        let gate = Gate::voice(move |args: &Value| {
            format!("Send '{}' to {}.", text(args, "text"), text(args, "phone"))
        })
        .slots(move |args: &Value| vec![text(args, "phone")]);
        let send = ErasedTool::dynamic(
            "send_text",
            "Sends a text. Use it when asked to.",
            schema,
            |_: Value, _: Cx| async { ToolResult::ok("It is sent.") },
        );
        let tools = ToolSet::builder().tool(send.effect(Effect::Outbound).gate(gate).repeatable()).build();
        let toolbox = Toolbox::new(tools.expect("it is declared in full"), Identity::fixed());
        let mut config = Config { engage: Engage::Always, ..Config::default() };
        config.gate.effects = usize::MAX;
        let session = Session::new(config, Box::new(toolbox.catalog()), 1);
        let mut bench = Self { session, _toolbox: toolbox, now: Moment::ZERO, spans: Vec::new(), calls: 0 };
        bench.happens(Input::Start);
        bench.happens(Input::LinkOpened);
        let capabilities = Capabilities {
            hold_uplink_during_calls: false,
            resumes: false,
            takes_notes: true,
            takes_earlier_calls: false,
        };
        bench.happens(Input::Provider(ProviderEvent::Ready { resumed: false, capabilities }));
        bench.spans.clear();
        bench
    }

    /// A question from the call to the effect.
    fn agree(&mut self, cycle: usize) {
        self.says("send it please");
        let outputs = self.call(cycle);
        let question = outputs.iter().find_map(|output| {
            if let Output::Speak { utterance, kind: LineKind::ReadBack, .. } = output {
                Some(*utterance)
            } else {
                None
            }
        });
        let Some(utterance) = question else { panic!("nobody is asked: {outputs:?}") };
        self.is_heard(utterance);
        self.says("yes, that's right");
        let mut outputs = self.call(cycle);
        while !outputs.iter().any(|output| matches!(output, Output::Run(_))) {
            self.now = self.session.deadline().unwrap_or_else(|| panic!("the call never runs: {outputs:?}"));
            outputs = self.happens(Input::Timeout);
        }
        let outcome = Outcome {
            status: OutcomeStatus::Success,
            body: json!({"status": "success"}),
            events: Vec::new(),
            clip_after: None,
            silent_ok: false,
        };
        self.happens(Input::Outcome { call: CallKey(self.calls), outcome });
        self.happens(Input::Provider(ProviderEvent::TurnComplete { more: false }));
    }

    fn call(&mut self, cycle: usize) -> Vec<Output> {
        self.calls += 1;
        let args = json!({"phone": format!("98765{:05}", cycle % 100_000), "text": "hi"});
        let id = Some(format!("call-{}", self.calls));
        let call = ProviderCall { id, name: "send_text".to_owned(), args };
        self.happens(Input::Provider(ProviderEvent::Calls(vec![call])))
    }

    fn is_heard(&mut self, utterance: UtteranceId) {
        self.happens(Input::PlayoutStarted { utterance });
        self.passes(Duration::from_secs(4));
        self.happens(Input::PlayoutFinished { utterance, heard: Frames(96_000), cut: false });
    }

    fn says(&mut self, words: &str) {
        self.passes(Duration::from_secs(2));
        self.happens(Input::SpeechStarted { onset_ago: Duration::from_millis(100) });
        self.passes(Duration::from_secs(1));
        self.happens(Input::SpeechEnded { voiced: Duration::from_millis(900) });
        self.happens(Input::Provider(ProviderEvent::UserText(words.to_owned())));
        self.passes(Duration::from_millis(500));
        self.happens(Input::Timeout);
    }

    fn passes(&mut self, span: Duration) {
        self.now = Moment::from_boot(self.now.since_boot() + span);
    }

    fn happens(&mut self, input: Input) -> Vec<Output> {
        let started = Instant::now();
        self.session.handle(self.now, input);
        let outputs = std::iter::from_fn(|| self.session.poll()).collect();
        self.spans.push(started.elapsed());
        outputs
    }
}
