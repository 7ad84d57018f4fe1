// SPDX-License-Identifier: MIT OR Apache-2.0

//! Outputs as one line of text each.

use std::time::Duration;

use session::{
    Channel, Consent, EarlierCall, FollowUp, GateEnd, Intent, LineKind, LinkState, Notice, Output, Presenter,
    Spoken, TurnRecord,
};

pub fn output(output: &Output) -> String {
    match output {
        Output::Connect { resume: None } => "connect".into(),
        Output::Connect { resume: Some(handle) } => format!("connect resume={handle}"),
        Output::Disconnect => "disconnect".into(),
        Output::Send(intent) => self::intent(intent),
        Output::UplinkOpen { preroll } => format!("uplink-open preroll={}", ms(*preroll)),
        Output::UplinkClose => "uplink-close".into(),
        Output::Play { utterance, pcm } => format!("play {utterance} {}", ms(pcm.span())),
        Output::PlayEnd { utterance } => format!("play-end {utterance}"),
        Output::Speak { utterance, text, kind } => format!("speak {utterance} {} {text:?}", line(*kind)),
        Output::PlayClip { utterance, clip } => format!("play-clip {utterance} {clip}"),
        Output::Duck => "duck".into(),
        Output::Unduck => "unduck".into(),
        Output::Flush => "flush".into(),
        Output::Run(permit) => {
            let grant = permit.grant().map(|grant| format!(" {grant}")).unwrap_or_default();
            format!(
                "run {} {} {}{grant} in {}",
                permit.call_key(),
                permit.name(),
                permit.args(),
                permit.turn()
            )
        }
        Output::Cancel { call } => format!("cancel {call}"),
        Output::Sheet(sheet) => {
            let slots = sheet.slots.join("|");
            format!(
                "sheet {} {:?} [{slots}] {}",
                sheet.pending,
                sheet.summary,
                sheet.nonce.reveal().trim_start_matches('0')
            )
        }
        Output::SheetClosed { pending } => format!("sheet-closed {pending}"),
        Output::Event(event) => format!("event {} {} {}", event.call, event.name, event.payload),
        Output::Notice(notice) => format!("- {}", self::notice(notice)),
        Output::Ended { by } => format!("ended by={by}"),
    }
}

fn intent(intent: &Intent) -> String {
    match intent {
        Intent::Answer(answers) => {
            let answers: Vec<_> = answers
                .iter()
                .map(|answer| {
                    let id = answer.id.as_deref().unwrap_or("(none)");
                    format!("{id} {} {} {}", answer.name, follow_up(answer.follow_up), answer.body)
                })
                .collect();
            format!("answer {}", answers.join(" | "))
        }
        Intent::Note(text) => format!("note {text:?}"),
        Intent::Ask(text) => format!("ask {text:?}"),
        Intent::AskInWords(text) => format!("ask-in-words {text:?}"),
        Intent::Earlier(EarlierCall { id, name, args, body }) => {
            format!("earlier {} {name} {args} {body}", id.as_deref().unwrap_or("(none)"))
        }
        Intent::AudioStreamEnd => "audio-stream-end".into(),
    }
}

fn notice(notice: &Notice) -> String {
    match notice {
        Notice::TurnOpened { turn } => format!("{turn} opened"),
        Notice::TurnClosed { turn, voiced } => format!("{turn} closed voiced={}", ms(*voiced)),
        Notice::Turn(record) => turn(record),
        Notice::UserSaid { turn: Some(turn), text } => format!("{turn} said {text:?}"),
        Notice::UserSaid { turn: None, text } => format!("nobody said {text:?}"),
        Notice::ModelSaid { text, cut } => format!("model said {text:?}{}", word(*cut, " cut")),
        Notice::BargeIn { turn, utterance, heard } => {
            format!("barge-in {turn} over {utterance} heard={}", ms(*heard))
        }
        Notice::NoiseIgnored { turn } => format!("{turn} was noise"),
        Notice::Played { utterance, what, heard, cut } => {
            format!("played {utterance} {} heard={}{}", spoken(*what), ms(*heard), word(*cut, " cut"))
        }
        Notice::CallArrived { call, name, args } => format!("{call} arrived {name} {args}"),
        Notice::CallMade { call, name, args, undoes } => {
            let why = undoes.map_or("as agreed".to_owned(), |undoes| format!("to undo {undoes}"));
            format!("{call} made {name} {args} {why}")
        }
        Notice::DuplicateCall { id, name } => format!("duplicate id={id} {name}"),
        Notice::CallRun { call, name, .. } => format!("{call} runs {name}"),
        Notice::CallAnswered { call, name, status, follow_up: asked, latency, coalesced, .. } => {
            let after = ms(*latency);
            format!(
                "{call} answered {name} {status} {} after={after}{}",
                follow_up(*asked),
                word(*coalesced, " coalesced")
            )
        }
        Notice::CallClosed { call, name, why } => format!("{call} closed {name}: {why}"),
        Notice::NoteDropped { text, why } => format!("note dropped, {why}: {text:?}"),
        Notice::LineDropped { call, text, why } => format!("{call} line dropped, {why}: {text:?}"),
        Notice::FollowUpsSpent { turn } => format!("follow-ups spent in {turn}"),
        Notice::CallSpoken { name } => format!("{name} was spoken"),
        Notice::LateOutcome { call } => format!("late outcome {call}"),
        Notice::GatePending { pending, tool, summary, consent, replaces } => {
            let replaces = replaces.map(|old| format!(" replaces {old}")).unwrap_or_default();
            let by = word(*consent != Consent::Voice, " by ");
            let by = if by.is_empty() { String::new() } else { format!("{by}{}", consent.as_str()) };
            format!("{pending} asks {tool} {summary:?}{by}{replaces}")
        }
        Notice::GatePresented { pending, by: Presenter::Device } => format!("{pending} heard"),
        Notice::GatePresented { pending, by } => format!("{pending} put by {}", by.as_str()),
        Notice::GateCut { pending } => format!("{pending} cut"),
        Notice::GateEvidence { pending, turn, read: Ok(reading), .. } => {
            format!("{pending} evidence {turn} {}", reading.as_str())
        }
        Notice::GateEvidence { pending, turn, read: Err(why), .. } => {
            format!("{pending} evidence {turn} does not count: {}", why.as_str())
        }
        Notice::GateGranted { pending, grant, by: Channel::Voice } => format!("{pending} granted {grant}"),
        Notice::GateGranted { pending, grant, by } => {
            format!("{pending} granted {grant} by {}", by.as_str())
        }
        Notice::GateBadNonce => "bad nonce".into(),
        Notice::GateLocked { tool, why } => format!("{tool} needs the screen: {why}"),
        Notice::GateSpent { grant, call } => format!("{grant} spent by {call}"),
        Notice::GateClosed { pending, how } => format!("{pending} {}", end(*how)),
        Notice::GateRefused { call, why } => format!("{call} refused: {why}"),
        Notice::Link { state, epoch, text } => {
            format!("link {} {epoch}{}{text}", link(*state), word(!text.is_empty(), ": "))
        }
        Notice::ClipQueued { clip } => format!("clip {clip} queued"),
        Notice::Usage { input_tokens, output_tokens } => {
            format!("usage in={input_tokens} out={output_tokens}")
        }
        Notice::Ending { call } => format!("ending by {call}"),
        Notice::EndingCancelled => "ending cancelled".into(),
        Notice::PlayoutLost { utterances } => format!("playout lost {utterances}"),
        Notice::Ended { by } => format!("over by={by}"),
    }
}

fn turn(record: &TurnRecord) -> String {
    let TurnRecord { turn, hops, calls, awaited, speechless, open, speak, total, .. } = record;
    let (input, output) = (record.input_tokens, record.output_tokens);
    let span = |span: &Option<Duration>| span.map_or("never".to_owned(), ms);
    format!(
        "{turn} took hops={hops} calls={calls} awaited={awaited} open={} speak={} total={} tokens={input}/{output}{}",
        span(open),
        span(speak),
        ms(*total),
        word(*speechless, " speechless")
    )
}

fn word(when: bool, text: &'static str) -> &'static str {
    if when { text } else { "" }
}

fn ms(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}

fn line(kind: LineKind) -> &'static str {
    match kind {
        LineKind::ReadBack => "read-back",
        LineKind::PreCall => "pre-call",
        LineKind::Apology => "apology",
        LineKind::Goodbye => "goodbye",
    }
}

fn spoken(what: Spoken) -> &'static str {
    match what {
        Spoken::Reply => "reply",
        Spoken::Line(kind) => line(kind),
        Spoken::Clip => "clip",
    }
}

fn follow_up(follow_up: FollowUp) -> &'static str {
    match follow_up {
        FollowUp::Silent => "silent",
        FollowUp::WhenIdle => "when-idle",
        FollowUp::InWords => "in-words",
        FollowUp::Interrupt => "interrupt",
    }
}

fn end(how: GateEnd) -> &'static str {
    match how {
        GateEnd::Declined => "declined",
        GateEnd::Amended => "amended",
        GateEnd::Expired => "expired",
        GateEnd::Superseded => "superseded",
        GateEnd::Dropped => "dropped",
    }
}

fn link(state: LinkState) -> &'static str {
    match state {
        LinkState::Down => "down",
        LinkState::Waiting => "waiting",
        LinkState::Connecting => "connecting",
        LinkState::Up => "up",
        LinkState::Closing => "closing",
    }
}
