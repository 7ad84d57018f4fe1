// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a call costs between the model's message and its answer, with a thousand tools registered and no driver behind
//! them: session, ledger, toolbox and shaping. Processor time only: the time that the settle guard lets pass is virtual.

use std::alloc::System;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use session::{Capabilities, Config, Engage, Input, Intent, Output, ProviderCall, ProviderEvent, Session};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tools::{Effect, ToolSet, tool};
use units::Instant as Moment;
use voiced::identity::Identity;
use voiced::toolbox::{Told, Toolbox};

use crate::report::{Figure, Spread};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TOOLS: usize = 1000;
const CALLS: usize = 10_000;

/// Beyond this a session that never runs its call is broken, and so would be the figure.
const TIMERS_MAX: usize = 20;

/// Reads one sensor. Use it when the person asks for its value.
#[derive(Deserialize, JsonSchema)]
struct Read {
    /// Number of the sensor.
    sensor: u32,
    /// What the value is for.
    purpose: String,
}

async fn read(args: Read) -> String {
    format!("sensor {} reads 4.5 for {}", args.sensor, args.purpose)
}

/// The figures.
pub fn figures() -> Vec<Figure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs nothing of the system");
    runtime.block_on(async {
        let mut bench = Bench::new();
        let (mut turns, mut calls) = (Vec::with_capacity(CALLS), Vec::with_capacity(CALLS));
        let region = Region::new(ALLOCATOR);
        let (mut allocations, mut bytes) = (0, 0);
        for number in 0..CALLS {
            let started = Instant::now();
            bench.person_speaks();
            turns.push(started.elapsed());

            let before = region.change();
            let started = Instant::now();
            bench.call(number).await;
            calls.push(started.elapsed());
            let spent = region.change() - before;
            allocations += spent.allocations;
            bytes += spent.bytes_allocated;
        }
        let mean = calls.iter().sum::<Duration>().as_nanos() / CALLS as u128;
        vec![
            Figure::new(&format!("call → answer, {TOOLS} tools, {CALLS} calls"), micros(&calls))
                .goal("≤ 1 ms"),
            Figure::new("… in the mean", format!("{mean} ns")),
            Figure::new(
                "… allocations of a call",
                format!("{:.1}, {:.1} KiB", ratio(allocations, CALLS), ratio(bytes, CALLS) / 1024.0),
            ),
            Figure::new(&format!("a person's turn opens, {TOOLS} tools"), micros(&turns)),
        ]
    })
}

#[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
fn ratio(sum: usize, count: usize) -> f64 {
    sum as f64 / count as f64
}

fn micros(spans: &[Duration]) -> String {
    let Spread { p50, p99, .. } = Spread::of(spans);
    format!("{:.1} / {:.1} µs", p50.as_secs_f64() * 1e6, p99.as_secs_f64() * 1e6)
}

/// A session with its tools, and a provider and a person that do only what a call needs.
struct Bench {
    session: Session,
    toolbox: Toolbox,
    now: Moment,
}

impl Bench {
    fn new() -> Self {
        let mut builder = ToolSet::builder();
        for number in 0..TOOLS {
            builder = builder.tool(tool(read).named(format!("read_sensor_{number}")).effect(Effect::Read));
        }
        let tools = builder.build().expect("all of them are declared alike, and rightly");
        let toolbox = Toolbox::new(tools, Identity::fixed());
        let config = Config { engage: Engage::Always, ..Config::default() };
        let session = Session::new(config, Box::new(toolbox.catalog()), 1);
        let mut bench = Self { session, toolbox, now: Moment::ZERO };
        bench.happens(Input::Start);
        bench.happens(Input::LinkOpened);
        let capabilities = Capabilities {
            hold_uplink_during_calls: false,
            resumes: false,
            takes_notes: true,
            takes_earlier_calls: false,
        };
        bench.happens(Input::Provider(ProviderEvent::Ready { resumed: false, capabilities }));
        bench
    }

    /// Hands in one thing that happened, and what it brings.
    fn happens(&mut self, input: Input) -> Vec<Output> {
        self.session.handle(self.now, input);
        std::iter::from_fn(|| self.session.poll()).collect()
    }

    fn passes(&mut self, span: Duration) {
        self.now = Moment::from_boot(self.now.since_boot() + span);
    }

    fn person_speaks(&mut self) {
        self.happens(Input::Provider(ProviderEvent::TurnComplete { more: false }));
        self.passes(Duration::from_secs(2));
        self.happens(Input::SpeechStarted { onset_ago: Duration::from_millis(100) });
        self.passes(Duration::from_secs(1));
        self.happens(Input::SpeechEnded { voiced: Duration::from_millis(900) });
    }

    /// From the model's message to the answer that leaves.
    async fn call(&mut self, number: usize) {
        let call = ProviderCall {
            id: Some(format!("call-{number}")),
            name: format!("read_sensor_{}", number % TOOLS),
            args: json!({"sensor": number % 50, "purpose": "the morning report"}),
        };
        let mut outputs = self.happens(Input::Provider(ProviderEvent::Calls(vec![call])));
        for _ in 0..TIMERS_MAX {
            let run = outputs
                .into_iter()
                .find_map(|output| if let Output::Run(permit) = output { Some(permit) } else { None });
            if let Some(permit) = run {
                return self.run(permit).await;
            }
            self.now = self.session.deadline().expect("a call that waits has a timer");
            outputs = self.happens(Input::Timeout);
        }
        panic!("call {number} of the bench never ran");
    }

    async fn run(&mut self, permit: session::Permit) {
        self.toolbox.dispatch(permit);
        let Told::Done(call, outcome) = self.toolbox.told().await else {
            panic!("the tool of the bench has no effect and shows no event");
        };
        let outputs = self.happens(Input::Outcome { call, outcome });
        let answered = outputs.iter().any(|output| matches!(output, Output::Send(Intent::Answer(_))));
        assert!(answered, "the outcome of a call is its answer: {outputs:?}");
    }
}
