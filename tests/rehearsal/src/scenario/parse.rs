//! The scenario file: a mirror of its text, and the checks that turn it into [`Scenario`].

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;
use units::Hz;

use super::{
    Action, AnswerLike, Burst, CallPlan, Close, Connection, FrameKind, Hearing, Opening, Say, Scenario,
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
    let at = |offset: usize, text_of: Fault| ScenarioError::Value {
        line: line_of(text, offset),
        text: text_of,
    };
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
    Ok(Scenario {
        name: raw.name,
        wire,
        hearing,
        connections,
        turns,
    })
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
    Ok(Connection {
        opening,
        refuse_resume: raw.refuse_resume.map(close).transpose()?,
    })
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
    let fault = |text: &str| (offset, text.to_owned());
    let when = raw.when.map(like);
    let expect = match (raw.expect, raw.expect_status, raw.expect_instruction_contains) {
        (None, None, None) => None,
        (expect, status, instruction) => {
            let expect = expect.unwrap_or_default();
            Some(AnswerLike {
                status: status.or(expect.status),
                instruction_contains: instruction.or(expect.instruction_contains),
                scheduling: expect.scheduling,
            })
        }
    };
    let source = raw
        .say
        .map(Source::Voice)
        .or_else(|| raw.tone_ms.map(|ms| Source::Tone(millis(ms))));
    if source.is_none() && (raw.rate_hz.is_some() || raw.odd || raw.stale_ms.is_some() || raw.mid.is_some()) {
        return Err(fault("rate_hz, odd, stale_ms and mid belong to say or tone_ms"));
    }
    let mut actions = Vec::new();
    if let Some(source) = source {
        let rate = match raw.rate_hz {
            None => Hz::K24,
            Some(rate) if (8_000..=192_000).contains(&rate) => Hz::new(rate).unwrap_or(Hz::K24),
            Some(rate) => return Err((offset, format!("rate_hz = {rate}: expected 8000..=192000"))),
        };
        let mid = match raw.mid {
            None => None,
            Some(mid) => Some((
                millis(mid.at_ms),
                calls(mid.calls).map_err(|text| (offset, text))?,
            )),
        };
        let stale = millis(raw.stale_ms.unwrap_or(0));
        actions.push(Action::Say(Say {
            source,
            rate,
            odd: raw.odd,
            stale,
            mid,
        }));
    }
    let planned: Vec<RawCall> = raw
        .call
        .into_iter()
        .chain(raw.calls.into_iter().flatten())
        .collect();
    if !planned.is_empty() {
        actions.push(Action::Call(calls(planned).map_err(|text| (offset, text))?));
    }
    if let Some(nested) = raw.after_answer {
        actions.push(Action::AfterAnswer(steps(nested)?));
    }
    let flags = [
        (raw.await_answer, "await_answer", Action::AwaitAnswer),
        (raw.cancel_calls, "cancel_calls", Action::CancelCalls),
        (raw.not_resumable, "not_resumable", Action::NotResumable),
        (raw.drop, "drop", Action::Drop),
        (raw.half_open, "half_open", Action::HalfOpen),
    ];
    for (flag, name, action) in flags {
        match flag {
            Some(true) => actions.push(action),
            Some(false) => return Err((offset, format!("{name} = false does nothing: leave it out"))),
            None => {}
        }
    }
    actions.extend(raw.pause_ms.map(|ms| Action::Pause(millis(ms))));
    actions.extend(raw.goaway_ms.map(|ms| Action::GoAway(millis(ms))));
    actions.extend(raw.think.map(Action::Think));
    actions.extend(raw.raw_json.map(Action::RawJson));
    actions.extend(raw.raw_text.map(Action::RawText));
    actions.extend(raw.raw_bytes.map(Action::RawBytes));
    actions.extend(raw.huge_bytes.map(Action::Huge));
    if let Some(raw) = raw.close {
        actions.push(Action::Close(close(raw).map_err(|text| (offset, text))?));
    }
    let waits = |action: &Action| matches!(action, Action::AwaitAnswer | Action::AfterAnswer(_));
    match (actions.pop(), actions.is_empty()) {
        (Some(action), true) if expect.is_none() || waits(&action) => Ok(Step { action, when, expect }),
        (Some(_), true) => Err(fault("expect belongs to await_answer or after_answer")),
        (None, _) => Err(fault(
            "step does nothing: expected one action, such as say, call or await_answer",
        )),
        (Some(_), false) => Err(fault("step has several actions: write one step for each")),
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
            let RawCall {
                name,
                args,
                id,
                in_model_turn,
                ..
            } = raw;
            Ok(CallPlan {
                name,
                args,
                id,
                times,
                in_model_turn,
            })
        })
        .collect()
}

fn close(raw: RawClose) -> Result<Close, Fault> {
    // Codes a peer may put into a close frame (RFC 6455 section 7.4).
    if !matches!(raw.code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(format!(
            "close code {}: expected 1000..=1003, 1007..=1014 or 3000..=4999",
            raw.code
        ));
    }
    if raw.reason.len() > 123 {
        return Err(format!(
            "close reason of {} bytes: a close frame holds at most 123",
            raw.reason.len()
        ));
    }
    Ok(Close {
        code: raw.code,
        reason: raw.reason,
    })
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
