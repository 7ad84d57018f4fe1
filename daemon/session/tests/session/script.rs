// SPDX-License-Identifier: MIT OR Apache-2.0

//! Inputs as one line of text each.

use std::time::Duration;

use serde_json::Value;
use session::{
    Capabilities, ClientEvent, FailureCause, Input, LinkFailure, Outcome, OutcomeStatus, ProviderCall,
    ProviderEvent, SheetAnswer,
};
use units::{CallKey, Clip, Frames, Hz, Nonce, Pcm, PendingId, UtteranceId};

/// Parses `text`: a name, then what belongs to it.
pub fn input(text: &str) -> Input {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let words: Vec<&str> = rest.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    match name {
        "start" => Input::Start,
        "stop" => Input::Stop,
        "speech-started" => Input::SpeechStarted { onset_ago: field(&words, "ago=") },
        "speech-ended" => Input::SpeechEnded { voiced: field(&words, "voiced=") },
        "started" => Input::PlayoutStarted { utterance: UtteranceId(number(words[0])) },
        "finished" | "cut" => Input::PlayoutFinished {
            utterance: UtteranceId(number(words[0])),
            heard: Hz::K24.frames_in(field(&words, "heard=")),
            cut: name == "cut",
        },
        "pace" => Input::Pace { percent: u16::try_from(number(words[0])).unwrap() },
        "muted" | "unmuted" => Input::Muted { muted: name == "muted" },
        "screen" => Input::Screen { there: has("there") },
        "shown" => Input::SheetShown { pending: PendingId(number(words[0])) },
        "tap" => Input::SheetAnswered {
            nonce: Nonce::parse(&format!("{:0>32}", words[0])).unwrap(),
            answer: match words[1] {
                "confirm" => SheetAnswer::Confirm,
                "decline" => SheetAnswer::Decline,
                "dismiss" => SheetAnswer::Dismiss,
                other => panic!("no answer is called `{other}`"),
            },
            shown_for: field(&words, "for="),
        },
        "button-down" | "button-up" => Input::Button { down: name == "button-down" },
        "person-changed" => Input::PersonChanged,
        "superseded" => {
            let (call, summary) = rest.split_once(' ').unwrap();
            Input::Superseded { call: CallKey(number(call)), summary: summary.to_owned() }
        }
        "link-opened" => Input::LinkOpened,
        "link-closed" => {
            Input::LinkClosed(LinkFailure { cause: cause(words[0]), text: words[1..].join(" ") })
        }
        "call-line" | "call-note" => {
            let (call, text) = rest.split_once(' ').unwrap();
            let (call, text) = (CallKey(number(call)), text.to_owned());
            if name == "call-line" { Input::CallLine { call, text } } else { Input::CallNote { call, text } }
        }
        "note" => Input::Note { text: rest.to_owned() },
        "became-job" => Input::BecameJob { call: CallKey(number(words[0])) },
        "effect-begun" => Input::EffectBegun { call: CallKey(number(words[0])) },
        "outcome" => {
            let (call, outcome) = rest.split_once(' ').unwrap();
            let call = CallKey(number(call));
            Input::Outcome { call, outcome: self::outcome(call, outcome) }
        }
        "ready" => Input::Provider(ProviderEvent::Ready {
            resumed: has("resumed"),
            capabilities: Capabilities {
                hold_uplink_during_calls: has("hold"),
                resumes: true,
                takes_notes: !has("no-notes"),
                takes_earlier_calls: has("earlier-calls"),
            },
        }),
        _ => Input::Provider(provider(name, rest, &words)),
    }
}

fn provider(name: &str, rest: &str, words: &[&str]) -> ProviderEvent {
    match name {
        "audio" => {
            let Frames(frames) = Hz::K24.frames_in(span(words[0]));
            ProviderEvent::ReplyAudio(Pcm::new(Hz::K24, vec![0; usize::try_from(frames).unwrap()]))
        }
        "reply-text" => ProviderEvent::ReplyText(rest.to_owned()),
        "user-text" => ProviderEvent::UserText(rest.to_owned()),
        "call" => ProviderEvent::Calls(rest.split(" | ").map(call).collect()),
        "calls-cancelled" => ProviderEvent::CallsCancelled(words.iter().map(|id| (*id).to_owned()).collect()),
        "generation-complete" => ProviderEvent::GenerationComplete,
        "turn-complete" => ProviderEvent::TurnComplete { more: words.contains(&"more") },
        "interrupted" => ProviderEvent::Interrupted,
        "handle" => ProviderEvent::ResumeHandle((rest != "none").then(|| rest.to_owned())),
        "go-away" => ProviderEvent::GoAway { left: words.first().map(|left| span(left)) },
        "usage" => ProviderEvent::Usage { input_tokens: number(words[0]), output_tokens: number(words[1]) },
        other => panic!("no input is called `{other}`"),
    }
}

/// `ID NAME ARGS`; an id of `-` is none.
fn call(text: &str) -> ProviderCall {
    let mut parts = text.splitn(3, ' ');
    let id = parts.next().filter(|id| *id != "-").map(str::to_owned);
    let name = parts.next().unwrap().to_owned();
    let args = parts.next().map_or(Value::Object(Default::default()), |args| args.parse().unwrap());
    ProviderCall { id, name, args }
}

/// `STATUS BODY`, then `clip=NAME` or `kept-clip=NAME`, and `event=NAME` if they belong to it.
fn outcome(call: CallKey, text: &str) -> Outcome {
    let (status, rest) = text.split_once(' ').unwrap();
    let status = match status {
        "success" => OutcomeStatus::Success,
        "error" => OutcomeStatus::Error,
        "unknown" => OutcomeStatus::Unknown,
        "cancelled" => OutcomeStatus::Cancelled,
        other => panic!("no status is called `{other}`"),
    };
    let mut bodies = serde_json::Deserializer::from_str(rest).into_iter();
    let body = bodies.next().unwrap().unwrap();
    let mut outcome = Outcome { status, body, events: Vec::new(), clip_after: None, silent_ok: false };
    for extra in rest[bodies.byte_offset()..].split_whitespace() {
        if let Some(clip) = extra.strip_prefix("clip=") {
            outcome.clip_after = Some(clip.into());
        } else if let Some(clip) = extra.strip_prefix("kept-clip=") {
            outcome.clip_after = Some(Clip::named(clip).kept());
        } else if extra == "silent-ok" {
            outcome.silent_ok = true;
        } else if let Some(name) = extra.strip_prefix("event=") {
            outcome.events.push(ClientEvent { call, name: name.to_owned(), payload: Value::Null });
        }
    }
    outcome
}

fn cause(text: &str) -> FailureCause {
    match text {
        "requested" => FailureCause::Requested,
        "transient" => FailureCause::Transient,
        "quota" => FailureCause::Quota,
        "handle-refused" => FailureCause::HandleRefused,
        "credentials" => FailureCause::Credentials,
        "refused" => FailureCause::Refused,
        "protocol" => FailureCause::Protocol,
        other => panic!("no cause is called `{other}`"),
    }
}

fn field(words: &[&str], name: &str) -> Duration {
    words.iter().find_map(|word| word.strip_prefix(name)).map(span).unwrap_or_default()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

/// `250ms` or `50s`.
pub fn span(text: &str) -> Duration {
    match text.strip_suffix("ms") {
        Some(millis) => Duration::from_millis(number(millis)),
        None => Duration::from_secs(number(text.strip_suffix('s').unwrap())),
    }
}
