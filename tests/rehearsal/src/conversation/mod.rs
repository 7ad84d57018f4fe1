// SPDX-License-Identifier: MIT OR Apache-2.0

//! One connection's conversation, without a socket or a clock.
//!
//! The caller gives it what arrived and the time, asks it for the next deadline, and drains [`Conversation::poll`]
//! after each input. What comes out is sent in order; [`Out::Close`], [`Out::Drop`] and [`Out::HalfOpen`] are last.

mod perform;
mod reply;

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::detector::{Detector, Heard};
use crate::report::Answered;
use crate::scenario::{Close, Connection, Opening, Trigger};
use crate::stage::{Stage, Standing};
use crate::validate::{Backend, ClientMessage, Finding, Validator, Weight, microphone_rate};
use crate::wire;

pub(crate) use perform::Script;
use reply::Reply;

/// Silence that ends speech if neither the scenario nor the client says how much.
const SILENCE: Duration = Duration::from_millis(700);

/// Between two fragments of the person's transcript.
const FRAGMENT_GAP: Duration = Duration::from_millis(60);

/// The most a close frame's reason may hold, in bytes (RFC 6455 section 5.5).
const REASON_BYTES_MAX: usize = 123;

/// What to do on the wire.
#[derive(Debug, PartialEq)]
pub(crate) enum Out {
    /// A protocol message.
    Message(Value),
    /// A text frame that is not one.
    Text(String),
    /// A binary frame that is not one.
    Bytes(Vec<u8>),
    /// The closing handshake.
    Close(Close),
    /// The stream ends here and now.
    Drop,
    /// Nothing is read or written from here on.
    HalfOpen,
}

/// How far a connection is.
#[derive(Debug)]
enum Phase {
    /// Nothing but a setup may arrive.
    Fresh,
    /// The setup is good; `setupComplete`, or what the scenario has in its place, is due.
    Confirming {
        at: Instant,
    },
    Open,
    /// The last output was given.
    Over,
}

/// What the client's setup asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    transcribe_input: bool,
    transcribe_output: bool,
    resumption: bool,
    resumes: bool,
    no_interruption: bool,
    /// History comes first, in `clientContent`, until one has `turnComplete`.
    seeding: bool,
}

/// See the module's documentation.
pub(crate) struct Conversation {
    number: u32,
    plan: Connection,
    validator: Validator,
    asked: Asked,
    phase: Phase,
    detector: Option<Detector>,
    out: VecDeque<Out>,
    /// Fragments of the person's transcript that are due.
    transcripts: VecDeque<(Instant, String)>,
    /// When `interrupted` is due, after speech set in.
    interrupt_at: Option<Instant>,
    /// When an announced end comes.
    expires: Option<Instant>,
    script: Option<Script>,
    reply: Reply,
    /// Audio heard since the last turn was completed.
    heard: Duration,
}

impl Conversation {
    pub(crate) fn new(number: u32, plan: Connection, backend: Backend) -> Self {
        Self {
            number,
            plan,
            validator: Validator::new(backend),
            asked: Asked::default(),
            phase: Phase::Fresh,
            detector: None,
            out: VecDeque::new(),
            transcripts: VecDeque::new(),
            interrupt_at: None,
            expires: None,
            script: None,
            reply: Reply::default(),
            heard: Duration::ZERO,
        }
    }

    /// The next thing to do on the wire.
    pub(crate) fn poll(&mut self) -> Option<Out> {
        self.out.pop_front()
    }

    /// The client presented a key that is not the expected one.
    pub(crate) fn refuse_key(&mut self) {
        self.close(1007, "API key not valid. Please pass a valid API key.");
    }

    /// When [`Self::on_timeout`] is wanted.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Over | Phase::Fresh => None,
            Phase::Confirming { at } => Some(at),
            Phase::Open => {
                let transcript = self.transcripts.front().map(|(at, _)| *at);
                let script = self.script.as_ref().and_then(Script::wake_at);
                let due = [transcript, script, self.reply.deadline(), self.interrupt_at, self.expires];
                due.into_iter().flatten().min()
            }
        }
    }

    /// Does whatever is due.
    pub(crate) fn on_timeout(&mut self, stage: &mut Stage, now: Instant) {
        if self.superseded(stage) {
            return;
        }
        match self.phase {
            Phase::Confirming { at } if at <= now => self.confirm(stage, now),
            Phase::Open => self.perform_due(stage, now),
            Phase::Confirming { .. } | Phase::Fresh | Phase::Over => {}
        }
    }

    /// The connection ended. A script that waits for an answer can go on in a connection that resumes this one.
    pub(crate) fn on_end(&mut self, stage: &mut Stage) {
        if stage.current == self.number && !matches!(self.phase, Phase::Fresh) {
            self.reply.finish_said(stage, true);
            stage.suspended = self.script.take().filter(Script::waits_for_answers);
        }
        self.phase = Phase::Over;
    }

    /// Takes one message.
    pub(crate) fn on_text(&mut self, stage: &mut Stage, now: Instant, text: &str) {
        if matches!(self.phase, Phase::Over) || self.superseded(stage) {
            return;
        }
        let (message, found) = self.validator.check(text);
        for finding in found {
            self.judge(stage, &finding);
        }
        match message {
            None => {}
            Some(ClientMessage::Setup(setup)) => self.on_setup(stage, now, setup),
            Some(ClientMessage::RealtimeInput(input)) => self.on_realtime_input(stage, now, &input),
            Some(ClientMessage::ClientContent(content)) => self.on_client_content(stage, now, &content),
            Some(ClientMessage::ToolResponse(response)) => self.on_tool_response(stage, now, &response),
            Some(ClientMessage::ContextUpdate) => {}
        }
    }

    /// Reports a finding; the first violation closes the connection, as the live service does.
    fn judge(&mut self, stage: &mut Stage, finding: &Finding) {
        let text = format!("connection {}: {finding}", self.number);
        match finding.weight {
            Weight::Note => {
                tracing::info!("{text}");
                stage.report.notes.push(text);
            }
            Weight::Violation => {
                tracing::warn!("{text}");
                stage.report.violations.push(text);
                self.close(1007, &finding.to_string());
            }
        }
    }

    fn close(&mut self, code: u16, reason: &str) {
        if matches!(self.phase, Phase::Over) {
            return;
        }
        let mut end = reason.len().min(REASON_BYTES_MAX);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        self.finish(Out::Close(Close { code, reason: reason[..end].to_owned() }));
    }

    /// Gives the last output.
    fn finish(&mut self, last: Out) {
        self.out.push_back(last);
        self.phase = Phase::Over;
    }

    fn send(&mut self, message: Value) {
        if !matches!(self.phase, Phase::Over) {
            self.out.push_back(Out::Message(message));
        }
    }

    /// Another connection has taken the session over: the service keeps one.
    fn superseded(&mut self, stage: &Stage) -> bool {
        let over = stage.current > self.number;
        if over {
            self.close(1011, "Internal error encountered.");
        }
        over
    }

    fn on_setup(&mut self, stage: &mut Stage, now: Instant, setup: Map<String, Value>) {
        let setup = Value::Object(setup);
        let handle = setup.pointer("/sessionResumption/handle").and_then(Value::as_str);
        stage.report.setups.push(setup.clone());
        if let Some(handle) = handle {
            if let Some(refusal) = self.plan.refuse_resume.clone() {
                return self.close(refusal.code, &refusal.reason);
            }
            if !stage.knows_handle(handle) {
                let finding =
                    Finding::violation("setup.sessionResumption.handle", "no such handle was issued");
                return self.judge(stage, &finding);
            }
        }
        let has = |field: &str| setup.get(field).is_some();
        let is = |path: &str, value: Value| setup.pointer(path) == Some(&value);
        self.asked = Asked {
            transcribe_input: has("inputAudioTranscription"),
            transcribe_output: has("outputAudioTranscription"),
            resumption: has("sessionResumption"),
            resumes: handle.is_some(),
            no_interruption: is("/realtimeInputConfig/activityHandling", "NO_INTERRUPTION".into()),
            seeding: handle.is_none() && is("/historyConfig/initialHistoryInClientContent", true.into()),
        };
        let silence = setup.pointer("/realtimeInputConfig/automaticActivityDetection/silenceDurationMs");
        let silence = silence.and_then(Value::as_u64).map(Duration::from_millis);
        let hearing = stage.scenario.hearing;
        self.detector = Some(Detector::new(hearing, hearing.silence.or(silence).unwrap_or(SILENCE)));
        match self.plan.opening.clone() {
            Opening::Silent => {}
            Opening::Close(close) => self.close(close.code, &close.reason),
            Opening::Confirm | Opening::Upgrade(_) => {
                self.phase = Phase::Confirming { at: now + stage.scenario.wire.setup_after };
            }
        }
    }

    fn confirm(&mut self, stage: &mut Stage, now: Instant) {
        self.phase = Phase::Open;
        self.validator.confirm();
        stage.current = self.number;
        if !self.asked.resumes {
            stage.begin_session();
        }
        self.send(wire::setup_complete(&format!("rehearsal-{}", self.number)));
        if self.asked.resumption {
            let handle = stage.issue_handle(self.number);
            self.send(wire::resumable(&handle));
        }
        if self.asked.resumes {
            self.script = stage.suspended.take();
            self.perform_due(stage, now);
        } else if let Some(turn) = stage.next_turn(Trigger::Start) {
            self.start_turn(stage, now, turn);
        }
    }

    fn on_realtime_input(&mut self, stage: &mut Stage, now: Instant, input: &Map<String, Value>) {
        if let Some(audio) = input.get("audio") {
            let (rate, samples) = microphone_audio(audio);
            let span =
                units::Frames(samples.len() as u64).span(units::Hz::new(rate).unwrap_or(units::Hz::K16));
            stage.report.client_audio += span;
            self.heard += span;
            if !self.validator.manual_activity() {
                let heard = self.detector.as_mut().map(|detector| detector.feed(rate, samples.into_iter()));
                for event in heard.unwrap_or_default() {
                    self.on_heard(stage, now, event);
                }
            }
        }
        if input.contains_key("audioStreamEnd")
            && let Some(event) = self.detector.as_mut().and_then(Detector::flush)
        {
            self.on_heard(stage, now, event);
        }
        if input.contains_key("activityStart") {
            self.on_heard(stage, now, Heard::Onset);
        }
        if input.contains_key("activityEnd") {
            self.on_heard(stage, now, Heard::End);
        }
        if let Some(text) = input.get("text").and_then(Value::as_str) {
            stage.report.texts.push(text.to_owned());
            self.on_note(stage, now);
        }
    }

    fn on_heard(&mut self, stage: &mut Stage, now: Instant, event: Heard) {
        match event {
            Heard::Onset => {
                if self.is_busy() && !self.asked.no_interruption {
                    self.interrupt_at = Some(now + stage.scenario.hearing.interrupt_after);
                }
            }
            Heard::End => {
                if self.interrupt_at.take().is_some() {
                    self.interrupt(stage, now);
                }
                stage.report.segments += 1;
                match stage.next_turn(Trigger::Speech) {
                    Some(turn) => self.start_turn(stage, now, turn),
                    None => stage.report.unscripted += 1,
                }
            }
        }
    }

    /// Text that may start a turn, and cuts into a reply only if it does.
    fn on_note(&mut self, stage: &mut Stage, now: Instant) {
        if let Some(turn) = stage.next_turn(Trigger::Note) {
            if self.is_busy() {
                self.interrupt(stage, now);
            }
            self.start_turn(stage, now, turn);
        }
    }

    fn on_client_content(&mut self, stage: &mut Stage, now: Instant, content: &Map<String, Value>) {
        let turns = content.get("turns").and_then(Value::as_array).into_iter().flatten();
        let parts = turns.filter_map(|turn| turn.get("parts")?.as_array()).flatten();
        stage.report.texts.extend(parts.filter_map(|part| Some(part.get("text")?.as_str()?.to_owned())));
        let complete = content.get("turnComplete") == Some(&Value::Bool(true));
        if self.asked.seeding {
            self.asked.seeding = !complete;
            return;
        }
        // It always cuts into a reply, whether or not it asks for another.
        if self.is_busy() {
            self.interrupt(stage, now);
        }
        if complete {
            self.on_note(stage, now);
        }
    }

    fn on_tool_response(&mut self, stage: &mut Stage, now: Instant, response: &Map<String, Value>) {
        let answers = response.get("functionResponses").and_then(Value::as_array).into_iter().flatten();
        for (index, answer) in answers.enumerate() {
            let text = |field: &str| answer.get(field).and_then(Value::as_str).map(str::to_owned);
            let answered = Answered {
                id: text("id").unwrap_or_default(),
                name: text("name").unwrap_or_default(),
                scheduling: text("scheduling"),
                response: answer.get("response").cloned().unwrap_or_default(),
                at: now,
            };
            let interim = answer.get("willContinue") == Some(&Value::Bool(true));
            let path = format!("toolResponse.functionResponses[{index}].id");
            let id = &answered.id;
            let finding = match stage.answer(&answered, interim) {
                Standing::Taken => None,
                Standing::Crossed => Some(Finding::note(path, format!("`{id}` crossed its cancellation"))),
                Standing::Unknown => {
                    Some(Finding::violation(path, format!("`{id}` was not issued in this session")))
                }
                Standing::Twice => Some(Finding::violation(path, format!("`{id}` was answered before"))),
                Standing::Cancelled => Some(Finding::violation(path, format!("`{id}` was cancelled"))),
            };
            match finding {
                Some(finding) => self.judge(stage, &finding),
                None if interim => {}
                None => {
                    if let Some(script) = &mut self.script {
                        script.on_answer(answered);
                    }
                }
            }
        }
        self.perform_due(stage, now);
    }

    /// Sends the transcript of the person's turn in fragments, none of which says that it is the last.
    fn transcribe(&mut self, stage: &Stage, now: Instant, text: &str) {
        if !self.asked.transcribe_input {
            return;
        }
        let letters: Vec<char> = text.chars().collect();
        let mut at = now + stage.scenario.wire.transcript_after;
        // Three fragments, cut wherever that falls.
        for piece in letters.chunks(letters.len().div_ceil(3).max(1)) {
            self.transcripts.push_back((at, piece.iter().collect()));
            at += FRAGMENT_GAP;
        }
    }
}

/// The rate and samples of microphone audio that the validator has passed.
fn microphone_audio(audio: &Value) -> (u32, Vec<i16>) {
    let text = |field: &str| audio.get(field).and_then(Value::as_str).unwrap_or_default();
    let bytes = STANDARD.decode(text("data")).unwrap_or_default();
    let samples = bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect();
    (microphone_rate(text("mimeType")), samples)
}
