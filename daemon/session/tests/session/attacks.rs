// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ways round the gate, and ways in which it kept people out, that were open once: each is one conversation, input by input.

mod taps;

use std::time::Duration;

use serde_json::Value;
use session::{Catalog, Config, Consent, Effect, Engage, Input, Prepared, Session, ToolSpec};
use units::{Instant, Nonce};

use crate::{render, script};

/// A tool for each way to agree, one that shares a lane with a job, and one that takes its time.
const NAMES: [&str; 8] = ["b", "doorjob", "slow", "t", "tdoor", "v", "va", "vt"];

struct Shelf;

impl Catalog for Shelf {
    fn spec(&self, name: &str) -> Option<ToolSpec> {
        let outbound = ToolSpec::new(name, Effect::Outbound);
        let door = Some("door".to_owned());
        Some(match name {
            "v" => outbound,
            "t" => ToolSpec { consent: Consent::Touch, ..outbound },
            "b" => ToolSpec { consent: Consent::Button, ..outbound },
            "vt" => ToolSpec { consent: Consent::VoiceOrTouch, ..outbound },
            "va" => ToolSpec { consent: Consent::VoiceAndTouch, ..outbound },
            "tdoor" => ToolSpec { consent: Consent::Touch, lane: door, ..outbound },
            "doorjob" => {
                let timeout = Duration::from_secs(600);
                ToolSpec { job: true, lane: door, timeout, ..ToolSpec::new(name, Effect::Local) }
            }
            "slow" => ToolSpec { timeout: Duration::from_secs(30), ..ToolSpec::new(name, Effect::Read) },
            _ => return None,
        })
    }

    fn view(&self) -> Vec<String> {
        NAMES.map(str::to_owned).to_vec()
    }

    fn prepare(&self, name: &str, args: &Value) -> Result<Prepared, String> {
        let mut digest = [0; 32];
        for (place, byte) in format!("{name}{args}").bytes().enumerate() {
            digest[place % 32] ^= byte.wrapping_add(u8::try_from(place).unwrap());
        }
        let nonce = match name {
            "t" => 1,
            "vt" => 2,
            "va" => 3,
            "tdoor" => 4,
            _ => 99,
        };
        Ok(Prepared {
            digest,
            args: args.clone(),
            summary: Some(format!("Do {name} it.")),
            slots: Vec::new(),
            challenge: Vec::new(),
            nonce: Nonce::new(nonce),
        })
    }
}

/// What a session says to these inputs, each at its millisecond; `late` comes before the timers that are due.
fn play(config: Config, text: &str) -> Vec<String> {
    let mut session = Session::new(config, Box::new(Shelf), 1);
    let mut told = Vec::new();
    let mut drain = |session: &mut Session| {
        told.extend(std::iter::from_fn(|| session.poll()).map(|output| render::output(&output)));
    };
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (at, what) = line.split_once(' ').unwrap();
        let at = Duration::from_millis(at.parse().unwrap());
        let late = what.strip_prefix("late ");
        while late.is_none()
            && let Some(due) = session.deadline().filter(|due| due.since_boot() < at)
        {
            session.handle(due, Input::Timeout);
            drain(&mut session);
        }
        if what != "end" {
            session.handle(Instant::from_boot(at), script::input(late.unwrap_or(what)));
            drain(&mut session);
        }
    }
    told
}

fn config() -> Config {
    let mut config = Config { engage: Engage::Always, ..Config::default() };
    config.retry.jitter_percent = 0;
    config.gate.button = true;
    config
}

/// A person with a screen and a button, who has asked for something.
fn asked(text: &str) -> Vec<String> {
    let up = "0 start\n100 ready\n110 screen there\n120 button-up\n1000 speech-started ago=100ms\n\
              2000 speech-ended voiced=900ms\n2100 user-text do it\n";
    play(config(), &format!("{up}{text}"))
}

/// The same without a screen or a button, where a model may ask before it calls.
fn preasked(text: &str) -> Vec<String> {
    let up = "0 start\n100 ready\n1000 speech-started ago=100ms\n2000 speech-ended voiced=900ms\n2100 user-text do it\n";
    let mut config = config();
    config.gate.accept_preasked = true;
    play(config, &format!("{up}{text}"))
}

fn runs(told: &[String], tool: &str) -> usize {
    let ran = |line: &&String| line.starts_with("run call-") && line.contains(&format!(" {tool} "));
    told.iter().filter(ran).count()
}

fn says(told: &[String], text: &str) -> bool {
    told.iter().any(|line| line.contains(text))
}

#[test]
fn a_report_that_is_lost_makes_nobody_deaf() {
    let told = asked(
        r#"
3000 audio 500ms
3010 started 1
3020 turn-complete
60000 speech-started
60500 speech-ended voiced=400ms
60600 user-text do it
61500 call a v
61600 started 2
62500 finished 2 heard=900ms
63500 speech-started
64000 speech-ended voiced=400ms
64100 user-text yes
66000 speech-started
66500 speech-ended voiced=400ms
66600 user-text yes
70000 speech-started
70500 speech-ended voiced=400ms
70600 user-text yes that's right
80000 speech-started
80500 speech-ended voiced=400ms
80600 user-text yes that's right
120000 end
"#,
    );
    assert!(says(&told, "granted grant-1"));
}

#[test]
fn a_sleep_amid_a_reply_makes_nobody_deaf() {
    let told = asked(
        r#"
3000 audio 500ms
3010 started 1
3020 turn-complete
600000 late finished 1 heard=500ms
600500 speech-started
601000 speech-ended voiced=400ms
601100 user-text do it
601600 call a v
601700 started 2
602500 finished 2 heard=900ms
603500 speech-started
604000 speech-ended voiced=400ms
604100 user-text yes
610000 end
"#,
    );
    assert!(says(&told, "granted grant-1"));
}

#[test]
fn a_no_that_comes_late_takes_back_what_waits() {
    let told = asked(
        r#"
2900 call s slow
3000 call a v
3100 started 1
4000 finished 1 heard=900ms
5000 speech-started
5400 speech-ended voiced=350ms
5450 user-text yes
5900 call b v
6000 user-text  no wait don't
12000 outcome 1 success {"x":1}
14000 end
"#,
    );
    assert_eq!(runs(&told, "v"), 0);
    assert!(says(&told, "pending-1 declined"));
}

#[test]
fn a_no_in_the_words_of_the_yes_takes_it_back() {
    let told = asked(
        r#"
3000 call a v
3100 started 1
4000 finished 1 heard=900ms
5000 speech-started
5400 speech-ended voiced=350ms
5450 user-text yes
5860 call b v
5950 user-text  no wait don't
14000 end
"#,
    );
    assert_eq!(runs(&told, "v"), 0);
    assert!(says(&told, "pending-1 declined"));
}

#[test]
fn a_no_over_the_question_is_a_no() {
    let told = asked(
        r#"
3000 call a v
3100 started 1
3600 speech-started
3900 cut 1 heard=700ms
4100 speech-ended voiced=450ms
4150 user-text no stop
4700 started 2
5200 speech-started
5500 cut 2 heard=700ms
5700 speech-ended voiced=450ms
5750 user-text no
6300 started 3
60000 end
"#,
    );
    assert!(says(&told, "pending-1 declined"));
}

#[test]
fn a_cough_takes_no_words() {
    let told = asked(
        r#"
3000 call a v
3100 started 1
4000 finished 1 heard=900ms
4300 speech-started
4400 speech-ended voiced=90ms
4800 speech-started
5200 speech-ended voiced=350ms
5300 user-text yes
8000 end
"#,
    );
    assert!(says(&told, "granted grant-1"));
}

#[test]
fn late_words_of_what_was_said_before_are_no_yes() {
    let told = asked(
        r#"
2500 speech-started
2900 speech-ended voiced=400ms
2950 call a v
3000 started 1
3900 finished 1 heard=900ms
4300 speech-started
4500 user-text yes do it
4600 speech-ended voiced=200ms
4650 call b v
8000 end
"#,
    );
    assert!(!says(&told, "granted"));
    assert_eq!(runs(&told, "v"), 0);
}

#[test]
fn the_next_person_ends_what_waits() {
    let told = asked(
        r#"
2900 call s slow
3000 call a v
3100 started 1
4000 finished 1 heard=900ms
5000 speech-started
5400 speech-ended voiced=350ms
5450 user-text yes
5900 call b v
7000 person-changed
30000 outcome 1 success {"x":1}
34000 end
"#,
    );
    assert_eq!(runs(&told, "v"), 0);
}

#[test]
fn a_lock_is_not_passed_by_asking_before() {
    let told = preasked(
        r#"
3000 call a v
3100 started 1
4000 finished 1 heard=900ms
5000 speech-started
5400 speech-ended voiced=350ms
5450 user-text hmm
6100 started 2
7000 finished 2 heard=900ms
8000 speech-started
8400 speech-ended voiced=350ms
8450 user-text hmm
18500 started 3
19500 finished 3 heard=900ms
20000 speech-started
20400 speech-ended voiced=350ms
20450 user-text do it
21000 call c v
22000 audio 500ms
22010 started 4
22100 reply-text Do v it. Is that right?
22200 turn-complete
22600 finished 4 heard=500ms
23500 speech-started
23900 speech-ended voiced=350ms
23950 user-text yes
24400 call d v
26000 end
"#,
    );
    assert_eq!(runs(&told, "v"), 0);
}
