// SPDX-License-Identifier: MIT OR Apache-2.0

//! The demo on a terminal: what happens, as it happens, one line a moment and a level bar while nothing does.

use std::io::{IsTerminal, Write};

use session::{FollowUp, GateEnd, LineKind, Notice, Reading};
use units::{Db, Instant};

use crate::watch::{Moment, Observer};

/// Writes the timeline to a terminal or a file. Write errors are ignored: a closed terminal does not end the demo.
#[derive(Debug)]
pub struct Console {
    color: bool,
    /// Level bars are drawn over and over in one line; that needs a terminal and real time.
    bars: bool,
    start: Option<Instant>,
    bar_shown: bool,
}

#[derive(Clone, Copy)]
enum Who {
    Person,
    Model,
    Device,
    Tool,
    Gate,
    Link,
}

impl Who {
    const fn label(self) -> (&'static str, &'static str) {
        match self {
            Self::Person => ("person", "\x1b[36m"),
            Self::Model => ("model", "\x1b[32m"),
            Self::Device => ("device", "\x1b[35m"),
            Self::Tool => ("tool", "\x1b[33m"),
            Self::Gate => ("gate", "\x1b[31m"),
            Self::Link => ("link", "\x1b[90m"),
        }
    }
}

impl Console {
    /// A console on standard output; `live` means that moments come in real time, so level bars make sense.
    #[must_use]
    pub fn new(live: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let color = terminal && std::env::var_os("NO_COLOR").is_none();
        Self { color, bars: terminal && live, start: None, bar_shown: false }
    }

    fn line(&mut self, at: Instant, who: Who, text: &str) {
        let (label, color) = who.label();
        let (color, reset) = if self.color { (color, "\x1b[0m") } else { ("", "") };
        let start = *self.start.get_or_insert(at);
        let clear = if std::mem::take(&mut self.bar_shown) { "\r\x1b[K" } else { "" };
        let mut out = std::io::stdout().lock();
        let _ =
            writeln!(out, "{clear}{:>7.2} s  {color}{label:<6}{reset}  {text}", (at - start).as_secs_f64());
    }

    fn bar(&mut self, input: Db, output: Db) {
        if !self.bars {
            return;
        }
        self.bar_shown = true;
        let mut out = std::io::stdout().lock();
        let _ = write!(out, "\r\x1b[K           mic {}  speaker {}", meter(input), meter(output));
        let _ = out.flush();
    }
}

/// A level bar of 20 cells over the top 60 dB.
fn meter(level: Db) -> String {
    let cells = ((level.0 + 60.0) / 3.0).clamp(0.0, 20.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 20")]
    let cells = cells as usize;
    format!("{}{}", "█".repeat(cells), "·".repeat(20 - cells))
}

impl Observer for Console {
    fn observe(&mut self, at: Instant, moment: &Moment<'_>) {
        match moment {
            Moment::Notice(notice) => {
                if let Some((who, text)) = describe(notice) {
                    self.line(at, who, &text);
                }
            }
            Moment::Event(event) => {
                self.line(at, Who::Tool, &format!("screen event {}: {}", event.name, event.payload));
            }
            Moment::Line { text, kind } => {
                let what = match kind {
                    LineKind::ReadBack => "asks",
                    LineKind::PreCall | LineKind::Apology | LineKind::Goodbye => "says",
                };
                self.line(at, Who::Device, &format!("{what} with its own voice: “{text}”"));
            }
            Moment::Anomaly(text) => self.line(at, Who::Link, &format!("ignored: {text}")),
            Moment::Audio(audio::Event::Levels { input, output }) => self.bar(*input, *output),
            Moment::Audio(
                audio::Event::DeviceUp { text, .. }
                | audio::Event::DeviceDown { text, .. }
                | audio::Event::DeviceFault { text, .. }
                | audio::Event::DeviceWell { text, .. },
            ) => self.line(at, Who::Device, text),
            // What they tell has been shown as a notice.
            Moment::Audio(_) | Moment::Outcome { .. } | Moment::Record(_) => {}
        }
    }
}

/// A notice in words; `None` for those that a better-placed one already tells.
fn describe(notice: &Notice) -> Option<(Who, String)> {
    Some(match notice {
        Notice::TurnOpened { turn } => (Who::Person, format!("speaks ({turn})")),
        Notice::UserSaid { turn: Some(_), text } => (Who::Person, format!("said “{}”", text.trim())),
        Notice::UserSaid { turn: None, text } => {
            (Who::Person, format!("transcript without speech, discarded: “{}”", text.trim()))
        }
        Notice::ModelSaid { text, cut } => {
            (Who::Model, format!("said “{}”{}", text.trim(), if *cut { " (cut)" } else { "" }))
        }
        Notice::BargeIn { heard, .. } => (
            Who::Person,
            format!("barges in: the reply is flushed, {} ms of it were heard", heard.as_millis()),
        ),
        Notice::NoiseIgnored { .. } => (Who::Person, "that was noise; playout goes on".to_owned()),
        Notice::Played { what, heard, cut, .. } => {
            let what = match what {
                session::Spoken::Reply => "reply",
                session::Spoken::Line(LineKind::ReadBack) => "read-back",
                session::Spoken::Line(LineKind::PreCall | LineKind::Apology | LineKind::Goodbye) => "line",
                session::Spoken::Clip => "clip",
            };
            let end = if *cut { "cut" } else { "to its end" };
            (Who::Device, format!("{what} heard {end}: {} ms", heard.as_millis()))
        }
        Notice::CallArrived { call, name, args } => (Who::Model, format!("calls {name}({args}) [{call}]")),
        Notice::CallMade { call, name, args, undoes } => {
            let why = undoes.map_or("as a person agreed".to_owned(), |undoes| format!("to undo [{undoes}]"));
            (Who::Device, format!("calls {name}({args}) [{call}] {why}"))
        }
        Notice::DuplicateCall { id, name } => {
            (Who::Model, format!("repeats call id {id} of {name}: ignored"))
        }
        Notice::CallRun { call, name, grant } => {
            let by = grant.map(|grant| format!(", allowed once by {grant}")).unwrap_or_default();
            (Who::Tool, format!("{name} runs [{call}]{by}"))
        }
        Notice::CallAnswered { call, status, body, follow_up, .. } => {
            (Who::Tool, answered(*call, status, body, *follow_up))
        }
        Notice::FollowUpsSpent { turn } => {
            (Who::Model, format!("may call no more tools in {turn}: it has asked for too many"))
        }
        Notice::CallSpoken { name } => (Who::Model, format!("speaks {name} instead of calling it: cut off")),
        Notice::CallClosed { call, why, .. } => (Who::Tool, format!("[{call}] is never answered: {why}")),
        Notice::NoteDropped { text, why } => (Who::Model, format!("is not told “{text}”: {why}")),
        Notice::LineDropped { call, text, why } => {
            (Who::Tool, format!("[{call}] does not say “{text}”: {why}"))
        }
        Notice::LateOutcome { call } => (Who::Tool, format!("[{call}] came back too late")),
        Notice::ClipQueued { clip } => (Who::Tool, format!("clip “{clip}” waits for the end of the reply")),
        Notice::GatePending { summary, .. } => (Who::Gate, format!("needs a person: “{summary}”")),
        Notice::GatePresented { by, .. } => {
            let put = if *by == session::Presenter::Screen { "is on the screen" } else { "was heard" };
            (Who::Gate, format!("the question {put}; only a person's answer counts"))
        }
        Notice::GateCut { .. } => (Who::Gate, "the question was cut; it will be asked again".to_owned()),
        Notice::GateEvidence { read: Err(why), .. } => {
            (Who::Gate, format!("what was said is no answer: {}", why.as_str()))
        }
        Notice::GateBadNonce => (Who::Gate, "somebody answers a sheet that is not there".to_owned()),
        Notice::GateLocked { tool, why } => (Who::Gate, format!("{tool} needs the screen now: {why}")),
        Notice::GateEvidence { read: Ok(reading), .. } => {
            (Who::Gate, format!("the answer reads as {}", reading_word(*reading)))
        }
        Notice::GateGranted { grant, .. } => {
            (Who::Gate, format!("a person agreed: {grant}, good for one call"))
        }
        Notice::GateSpent { grant, call } => (Who::Gate, format!("{grant} is spent by {call}")),
        Notice::GateClosed { how, .. } => (Who::Gate, format!("closed: {}", end_word(*how))),
        Notice::GateRefused { call, why } => (Who::Gate, format!("refuses {call}: {why}")),
        Notice::Link { state, text, .. } => {
            let state = format!("{state:?}").to_lowercase();
            (Who::Link, if text.is_empty() { state } else { format!("{state}: {text}") })
        }
        Notice::Ending { .. } => (Who::Model, "ends the session; the goodbye plays first".to_owned()),
        Notice::EndingCancelled => (Who::Person, "keeps talking: the session goes on".to_owned()),
        Notice::Ended { by } => (Who::Device, format!("session ended by {by}")),
        Notice::PlayoutLost { utterances } => {
            (Who::Device, format!("{utterances} utterances were never heard"))
        }
        Notice::TurnClosed { .. } | Notice::Turn(_) | Notice::Usage { .. } => return None,
    })
}

fn answered(call: units::CallKey, status: &str, body: &serde_json::Value, follow_up: FollowUp) -> String {
    let mut text = format!("[{call}] answered: {status}");
    for key in ["message", "error"] {
        if let Some(words) = body.get(key).and_then(serde_json::Value::as_str) {
            text.push_str(&format!(" — {words}"));
        }
    }
    if let Some(jit) = body.get("instruction").and_then(serde_json::Value::as_str) {
        text.push_str(&format!(" | just in time: “{jit}”"));
    }
    if matches!(follow_up, FollowUp::Silent) {
        text.push_str(" (silent)");
    }
    text
}

const fn reading_word(reading: Reading) -> &'static str {
    match reading {
        Reading::Yes => "yes",
        Reading::No => "no",
        Reading::Amend => "a change",
        Reading::Unclear => "unclear",
    }
}

const fn end_word(how: GateEnd) -> &'static str {
    match how {
        GateEnd::Declined => "the person declined",
        GateEnd::Amended => "the person wants it changed",
        GateEnd::Expired => "nobody answered in time",
        GateEnd::Superseded => "the model asked for something else",
        GateEnd::Dropped => "it could not be asked or the session ended",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_spans_sixty_decibels() {
        assert_eq!(meter(Db::SILENCE), "·".repeat(20));
        assert_eq!(meter(Db(0.0)), "█".repeat(20));
        assert_eq!(meter(Db(-30.0)), format!("{}{}", "█".repeat(10), "·".repeat(10)));
    }

    #[test]
    fn an_answer_shows_its_instruction() {
        let body = serde_json::json!({"status": "success", "message": "11.4 °C", "instruction": "Warn."});
        let text = answered(units::CallKey(1), "success", &body, FollowUp::WhenIdle);
        assert_eq!(text, "[call-1] answered: success — 11.4 °C | just in time: “Warn.”");
    }
}
