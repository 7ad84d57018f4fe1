// SPDX-License-Identifier: MIT OR Apache-2.0

//! The scenario file: a mirror of its text, and the checks that turn it into [`Scenario`].

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;
use units::Hz;

use super::{
    Action, AnswerLike, Burst, CallPlan, Close, Connection, Deed, FrameKind, Hearing, Opening, Say, Scenario,
    Source, Step, Trigger, Turn, TurnEnd, Wire,
};

/// Why a scenario cannot be used. Correct the file; nothing else helps.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Not TOML, an unknown key, or a wrong type. The text names the line.
    #[error("scenario is not valid: {0}")]
    Syntax(Box<toml::de::Error>),
    /// A value that no rehearsal can follow.
    #[error("scenario line {line}: {text}")]
    Value {
        /// The line, from 1.
        line: usize,
        /// What is wrong and what would be right.
        text: String,
    },
    /// No bundled scenario has this name.
    #[error("no scenario `{name}`: expected one of {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// A step says something that is not recorded.
    #[error("scenario `{scenario}` says `{voice}`, which is not recorded: expected one of {known}")]
    Voice {
        /// The scenario's name.
        scenario: String,
        /// The voice id.
        voice: String,
        /// The ids there are, separated by commas.
        known: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    name: String,
    #[serde(default)]
    wire: RawWire,
    #[serde(default)]
    hearing: RawHearing,
    #[serde(default)]
    connection: Vec<Spanned<RawConnection>>,
    #[serde(default)]
    turn: Vec<Spanned<RawTurn>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawWire {
    burst: Option<Spanned<RawBurst>>,
    frames: Option<RawFrames>,
    pretty: Option<bool>,
    reply_after_ms: Option<u32>,
    transcript_after_ms: Option<u32>,
    setup_after_ms: Option<u32>,
    turn_end: Option<RawTurnEnd>,
    expect_key: Option<String>,
    tiny_first: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawBurst {
    Times(f64),
    Word(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawFrames {
    Binary,
    Text,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawTurnEnd {
    Played,
    Early,
    Never,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawHearing {
    threshold_dbfs: Option<f32>,
    onset_ms: Option<u32>,
    silence_ms: Option<u32>,
    interrupt_after_ms: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConnection {
    #[serde(default)]
    silent_setup: bool,
    close: Option<RawClose>,
    upgrade: Option<u16>,
    refuse_resume: Option<RawClose>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClose {
    code: u16,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    #[serde(default)]
    on: RawTrigger,
    hears: Option<String>,
    #[serde(default)]
    steps: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum RawTrigger {
    #[default]
    Speech,
    Start,
    Note,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    say: Option<String>,
    tone_ms: Option<u32>,
    call: Option<RawCall>,
    calls: Option<Vec<RawCall>>,
    await_answer: Option<bool>,
    after_answer: Option<Vec<Spanned<RawStep>>>,
    pause_ms: Option<u32>,
    cancel_calls: Option<bool>,
    goaway_ms: Option<u32>,
    not_resumable: Option<bool>,
    think: Option<String>,
    raw_json: Option<Value>,
    raw_text: Option<String>,
    raw_bytes: Option<Vec<u8>>,
    huge_bytes: Option<usize>,
    close: Option<RawClose>,
    drop: Option<bool>,
    half_open: Option<bool>,
    // Of `say` and `tone_ms`.
    rate_hz: Option<u32>,
    #[serde(default)]
    odd: bool,
    stale_ms: Option<u32>,
    mid: Option<RawMid>,
    // Of any step.
    when: Option<RawLike>,
    // Of the two that wait.
    expect: Option<RawLike>,
    expect_status: Option<String>,
    expect_instruction_contains: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMid {
    at_ms: u32,
    calls: Vec<RawCall>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawLike {
    status: Option<String>,
    instruction_contains: Option<String>,
    scheduling: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    id: Option<String>,
    times: Option<u32>,
    #[serde(default)]
    in_model_turn: bool,
}

/// What is wrong with a step, without its place.
type Fault = String;

pub(super) fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let raw: RawScenario = toml::from_str(text).map_err(|error| ScenarioError::Syntax(Box::new(error)))?;
    let at =
        |offset: usize, text_of: Fault| ScenarioError::Value { line: line_of(text, offset), text: text_of };
    let wire = wire(raw.wire).map_err(|(offset, fault)| at(offset, fault))?;
    let connections = raw
        .connection
        .into_iter()
        .map(|raw| {
            let offset = raw.span().start;
            connection(raw.into_inner()).map_err(|fault| at(offset, fault))
        })
        .collect::<Result<_, _>>()?;
    let mut turns = Vec::new();
    for raw in raw.turn {
        let raw = raw.into_inner();
        turns.push(Turn {
            on: match raw.on {
                RawTrigger::Speech => Trigger::Speech,
                RawTrigger::Start => Trigger::Start,
                RawTrigger::Note => Trigger::Note,
            },
            hears: raw.hears,
            steps: steps(raw.steps).map_err(|(offset, fault)| at(offset, fault))?,
        });
    }
    let hearing = Hearing {
        threshold_dbfs: raw.hearing.threshold_dbfs.unwrap_or(-42.0),
        onset: millis(raw.hearing.onset_ms.unwrap_or(60)),
        silence: raw.hearing.silence_ms.map(millis),
        interrupt_after: millis(raw.hearing.interrupt_after_ms.unwrap_or(250)),
    };
    Ok(Scenario { name: raw.name, wire, hearing, connections, turns })
}

fn wire(raw: RawWire) -> Result<Wire, (usize, Fault)> {
    let burst = match raw.burst {
        None => Burst::Times(4.0),
        Some(raw) => {
            let offset = raw.span().start;
            match raw.into_inner() {
                RawBurst::Times(times) if (0.5..=1000.0).contains(&times) => Burst::Times(times),
                RawBurst::Word(word) if word == "all" => Burst::All,
                RawBurst::Times(_) | RawBurst::Word(_) => {
                    return Err((offset, "burst: expected 0.5..=1000.0 or \"all\"".to_owned()));
                }
            }
        }
    };
    Ok(Wire {
        burst,
        frames: match raw.frames {
            Some(RawFrames::Text) => FrameKind::Text,
            Some(RawFrames::Binary) | None => FrameKind::Binary,
        },
        pretty: raw.pretty.unwrap_or(true),
        reply_after: millis(raw.reply_after_ms.unwrap_or(600)),
        transcript_after: millis(raw.transcript_after_ms.unwrap_or(150)),
        setup_after: millis(raw.setup_after_ms.unwrap_or(250)),
        turn_end: match raw.turn_end {
            Some(RawTurnEnd::Early) => TurnEnd::Early,
            Some(RawTurnEnd::Never) => TurnEnd::Never,
            Some(RawTurnEnd::Played) | None => TurnEnd::Played,
        },
        expect_key: raw.expect_key,
        tiny_first: raw.tiny_first.unwrap_or(true),
    })
}

fn connection(raw: RawConnection) -> Result<Connection, Fault> {
    let opening = match (raw.silent_setup, raw.close, raw.upgrade) {
        (false, None, None) => Opening::Confirm,
        (true, None, None) => Opening::Silent,
        (false, Some(raw), None) => Opening::Close(close(raw)?),
        (false, None, Some(status)) if (400..=599).contains(&status) => Opening::Upgrade(status),
        (false, None, Some(status)) => {
            return Err(format!("upgrade = {status}: expected an HTTP status 400..=599"));
        }
        _ => return Err("connection: at most one of silent_setup, close and upgrade".to_owned()),
    };
    Ok(Connection { opening, refuse_resume: raw.refuse_resume.map(close).transpose()? })
}

fn steps(raw: Vec<Spanned<RawStep>>) -> Result<Vec<Step>, (usize, Fault)> {
    raw.into_iter()
        .map(|raw| {
            let offset = raw.span().start;
            step(raw.into_inner(), offset)
        })
        .collect()
}

fn step(raw: RawStep, offset: usize) -> Result<Step, (usize, Fault)> {
    let at = |fault: Fault| (offset, fault);
    let mut raw = raw;
    let when = raw.when.take().map(like);
    let expect = expectation(&mut raw);
    let mut actions: Vec<Action> = deeds(&mut raw).map_err(at)?.into_iter().map(Action::Do).collect();
    if let Some(then) = raw.after_answer.take() {
        actions.push(Action::Answers(Some(steps(then)?)));
    }
    if switch(raw.await_answer, "await_answer").map_err(at)? {
        actions.push(Action::Answers(None));
    }
    match (actions.pop(), actions.is_empty()) {
        (Some(Action::Do(_)), true) if expect.is_some() => {
            Err(at("expect belongs to await_answer or after_answer".to_owned()))
        }
        (Some(action), true) => Ok(Step { action, when, expect }),
        (None, _) => {
            Err(at("step does nothing: expected one action, such as say, call or await_answer".to_owned()))
        }
        (Some(_), false) => Err(at("step has several actions: write one step for each".to_owned())),
    }
}

fn expectation(raw: &mut RawStep) -> Option<AnswerLike> {
    let short = (raw.expect_status.take(), raw.expect_instruction_contains.take());
    let long = raw.expect.take().map(like);
    if long.is_none() && short == (None, None) {
        return None;
    }
    let long = long.unwrap_or_default();
    Some(AnswerLike {
        status: short.0.or(long.status),
        instruction_contains: short.1.or(long.instruction_contains),
        scheduling: long.scheduling,
    })
}

/// Everything the step does at once; more than one is a fault that the caller reports.
fn deeds(raw: &mut RawStep) -> Result<Vec<Deed>, Fault> {
    let mut deeds = Vec::new();
    let voice = raw.say.take().map(Source::Voice);
    let tone = raw.tone_ms.take().map(|ms| Source::Tone(millis(ms)));
    if voice.is_none() && tone.is_none() {
        if raw.rate_hz.is_some() || raw.odd || raw.stale_ms.is_some() || raw.mid.is_some() {
            return Err("rate_hz, odd, stale_ms and mid belong to say or tone_ms".to_owned());
        }
    } else {
        for source in voice.into_iter().chain(tone) {
            deeds.push(Deed::Say(say(source, raw)?));
        }
    }
    for planned in raw.call.take().map(|call| vec![call]).into_iter().chain(raw.calls.take()) {
        deeds.push(Deed::Call(calls(planned)?));
    }
    let switches = [
        (raw.cancel_calls, "cancel_calls", Deed::CancelCalls),
        (raw.not_resumable, "not_resumable", Deed::NotResumable),
        (raw.drop, "drop", Deed::Drop),
        (raw.half_open, "half_open", Deed::HalfOpen),
    ];
    for (value, name, deed) in switches {
        if switch(value, name)? {
            deeds.push(deed);
        }
    }
    deeds.extend(raw.pause_ms.map(|ms| Deed::Pause(millis(ms))));
    deeds.extend(raw.goaway_ms.map(|ms| Deed::GoAway(millis(ms))));
    deeds.extend(raw.think.take().map(Deed::Think));
    deeds.extend(raw.raw_json.take().map(Deed::RawJson));
    deeds.extend(raw.raw_text.take().map(Deed::RawText));
    deeds.extend(raw.raw_bytes.take().map(Deed::RawBytes));
    deeds.extend(raw.huge_bytes.map(Deed::Huge));
    if let Some(raw) = raw.close.take() {
        deeds.push(Deed::Close(close(raw)?));
    }
    Ok(deeds)
}

fn say(source: Source, raw: &mut RawStep) -> Result<Say, Fault> {
    let rate = match raw.rate_hz {
        None => Hz::K24,
        Some(rate) if (8_000..=192_000).contains(&rate) => Hz::new(rate).unwrap_or(Hz::K24),
        Some(rate) => return Err(format!("rate_hz = {rate}: expected 8000..=192000")),
    };
    let mid = match raw.mid.take() {
        None => None,
        Some(mid) => Some((millis(mid.at_ms), calls(mid.calls)?)),
    };
    Ok(Say { source, rate, odd: raw.odd, stale: millis(raw.stale_ms.unwrap_or(0)), mid })
}

/// A key that can only be `true`.
fn switch(value: Option<bool>, name: &str) -> Result<bool, Fault> {
    match value {
        Some(false) => Err(format!("{name} = false does nothing: leave it out")),
        Some(true) => Ok(true),
        None => Ok(false),
    }
}

fn calls(raw: Vec<RawCall>) -> Result<Vec<CallPlan>, Fault> {
    if raw.is_empty() {
        return Err("calls is empty: expected at least one call".to_owned());
    }
    raw.into_iter()
        .map(|raw| {
            let times = raw.times.unwrap_or(1);
            if !(1..=100).contains(&times) {
                return Err(format!("call `{}`: times = {times}: expected 1..=100", raw.name));
            }
            let RawCall { name, args, id, in_model_turn, .. } = raw;
            Ok(CallPlan { name, args, id, times, in_model_turn })
        })
        .collect()
}

fn close(raw: RawClose) -> Result<Close, Fault> {
    // Codes a peer may put into a close frame (RFC 6455 section 7.4).
    if !matches!(raw.code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(format!("close code {}: expected 1000..=1003, 1007..=1014 or 3000..=4999", raw.code));
    }
    if raw.reason.len() > 123 {
        return Err(format!("close reason of {} bytes: a close frame holds at most 123", raw.reason.len()));
    }
    Ok(Close { code: raw.code, reason: raw.reason })
}

fn like(raw: RawLike) -> AnswerLike {
    AnswerLike {
        status: raw.status,
        instruction_contains: raw.instruction_contains,
        scheduling: raw.scheduling,
    }
}

fn millis(ms: u32) -> Duration {
    Duration::from_millis(u64::from(ms))
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
