// SPDX-License-Identifier: MIT OR Apache-2.0

//! The demo keeps its promises.

use std::sync::Arc;

use voiced::assembly::Extend;
use voiced::demo::{Options, run};

#[test]
fn everything_the_demo_promises_happens() {
    let out = e2e::wire_dir("demo");
    let options = Options {
        fast: true,
        out: out.clone(),
        mic: None,
        speaker: None,
        interactive: false,
        provider: "gemini".to_owned(),
        quiet: true,
    };
    let extend: Extend = Arc::new(|tools| tools);
    e2e::install_tls();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.expect("a runtime needs no more than memory");
    let verdict = runtime.block_on(run(&options, &extend)).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(verdict.passed(), "{verdict}");
    let timeline = std::fs::read_to_string(out.join("timeline.jsonl")).expect("the demo writes it");
    for kind in ["call.answered", "client.event", "gate.granted", "barge_in", "ended"] {
        assert!(timeline.contains(&format!("\"kind\":\"{kind}\"")), "no {kind} in the timeline");
    }
}
