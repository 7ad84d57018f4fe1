// SPDX-License-Identifier: MIT OR Apache-2.0

//! Did everything the demo promises happen? Judged from what the other ends saw, not from what the daemon says of itself.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use audio::find::Recording;
use rehearsal::{Report, Said};
use session::{GateEnd, Notice, Spoken};
use units::{Instant, Pcm};

use super::sink::Delivery;
use crate::clip;

/// What was seen.
#[derive(Debug)]
pub(super) struct Facts {
    pub report: Report,
    pub deliveries: Vec<Delivery>,
    pub notices: Vec<(Instant, Notice)>,
    /// What the loudspeaker played, if it was recorded.
    pub heard: Option<PathBuf>,
    /// The first question of the gate, spoken again with the device's voice: the same words give the same waveform.
    pub read_back: Option<Pcm>,
    pub timeline: PathBuf,
    /// Where it is kept who agreed to what.
    pub state: PathBuf,
    /// The person was the recording, so every scene must have happened.
    pub scripted_person: bool,
}

/// One promise.
#[derive(Debug)]
struct Check {
    what: &'static str,
    ok: bool,
    detail: String,
}

/// The demo, judged.
#[derive(Debug)]
pub struct Verdict {
    checks: Vec<Check>,
    scripted_person: bool,
    heard: Option<PathBuf>,
    timeline: PathBuf,
    state: PathBuf,
}

impl Verdict {
    /// Whether everything promised happened.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.ok)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nsummary of the rehearsal")?;
        for Check { what, ok, detail } in &self.checks {
            let mark = if *ok { "ok  " } else { "FAIL" };
            writeln!(f, "  {mark}  {what}: {detail}")?;
        }
        if let Some(heard) = &self.heard {
            writeln!(f, "what was heard:    {}", heard.display())?;
        }
        writeln!(f, "what happened:     {}", self.timeline.display())?;
        writeln!(f, "who agreed:        voiced gate log --set state.dir={}", self.state.display())?;
        f.write_str(match (self.scripted_person, self.passed()) {
            (true, true) => "everything promised happened",
            (true, false) => "NOT everything promised happened",
            (false, true) => {
                "what was said was heard and answered; without the recorded person nothing else is judged"
            }
            (false, false) => "this was no conversation",
        })
    }
}

pub(super) fn judge(facts: &Facts) -> Verdict {
    let mut checks = vec![protocol(facts)];
    if facts.scripted_person {
        checks.extend([sensor(facts), barge_in(facts), message(facts), refusal(facts), goodbye(facts)]);
        checks.extend(facts.heard.as_ref().map(|path| order(facts, path)));
    } else {
        checks.push(talk(facts));
    }
    Verdict {
        checks,
        scripted_person: facts.scripted_person,
        heard: facts.heard.clone(),
        timeline: facts.timeline.clone(),
        state: facts.state.clone(),
    }
}

fn check(what: &'static str, ok: bool, detail: impl Into<String>) -> Check {
    Check { what, ok, detail: detail.into() }
}

fn protocol(facts: &Facts) -> Check {
    let report = &facts.report;
    let faults: Vec<&str> = report.violations.iter().chain(&report.unmet).map(String::as_str).collect();
    let ok = faults.is_empty() && report.connections >= 1;
    let detail = if faults.is_empty() {
        format!(
            "{:.0} s of microphone audio, {} answers, every message as the protocol wants it",
            report.client_audio.as_secs_f64(),
            report.answers.len()
        )
    } else {
        faults.join("; ")
    };
    check("protocol", ok, detail)
}

/// With a person who may say anything: did either side hear the other?
fn talk(facts: &Facts) -> Check {
    let heard = facts.report.client_audio;
    let said = facts.report.said.len();
    let detail = if heard.is_zero() {
        "no microphone audio came; does `voiced audio list` show the microphone, and can it be opened?"
            .to_owned()
    } else if said == 0 {
        "nothing that the rehearsal took for speech came; it waits for the lines in their order, spoken plainly".to_owned()
    } else {
        format!("the rehearsal answered {said} times")
    };
    check("talk", said > 0, detail)
}

fn sensor(facts: &Facts) -> Check {
    let answer = facts.report.answers.iter().find(|answer| answer.name == "read_warehouse_sensors");
    let instruction = answer.and_then(|answer| answer.instruction()).unwrap_or_default();
    let clip = facts
        .notices
        .iter()
        .any(|(_, notice)| matches!(notice, Notice::Played { what: Spoken::Clip, cut: false, .. }));
    let ok =
        answer.is_some_and(|answer| answer.status() == Some("success")) && !instruction.is_empty() && clip;
    let detail = match (answer, clip) {
        (None, _) => "the sensor tool was not answered".to_owned(),
        (Some(_), false) => "the alarm clip was not heard".to_owned(),
        (Some(_), true) => format!("answered with “{instruction}”, and the alarm was heard after the reply"),
    };
    check("1 sensor", ok, detail)
}

fn barge_in(facts: &Facts) -> Check {
    let heard = facts
        .notices
        .iter()
        .find_map(|(_, notice)| if let Notice::BargeIn { heard, .. } = notice { Some(*heard) } else { None });
    let cut = facts.report.said.iter().any(|said| said.cut);
    match heard {
        Some(heard) => {
            let detail = format!("the reply stopped after {} ms of it were heard", heard.as_millis());
            check("2 barge-in", cut && !heard.is_zero(), detail)
        }
        None => check("2 barge-in", false, "the reply was not stopped"),
    }
}

fn message(facts: &Facts) -> Check {
    let [delivery] = facts.deliveries.as_slice() else {
        return check(
            "3 message",
            false,
            format!("{} messages were delivered; it should be one", facts.deliveries.len()),
        );
    };
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let spoken = rehearsal::voices::person("message").map(|line| digits(&line.text)).unwrap_or_default();
    let sent = delivery.body.get("phone").and_then(serde_json::Value::as_str).map(digits).unwrap_or_default();
    let granted =
        facts.notices.iter().filter(|(_, notice)| matches!(notice, Notice::GateGranted { .. })).count();
    let spent = facts.notices.iter().filter(|(_, notice)| matches!(notice, Notice::GateSpent { .. })).count();
    let ok = sent == spoken && delivery.key.is_some() && granted == 1 && spent == 1;
    check("3 message", ok, format!("one message to {sent}, as spoken, after a person's yes"))
}

fn refusal(facts: &Facts) -> Check {
    let asked = facts.report.calls.iter().filter(|call| call.name == "send_notification").count();
    let ran = facts
        .notices
        .iter()
        .filter(|(_, notice)| matches!(notice, Notice::CallRun { name, .. } if name == "send_notification"));
    let ran = ran.count();
    let declined = facts
        .notices
        .iter()
        .any(|(_, notice)| matches!(notice, Notice::GateClosed { how: GateEnd::Declined, .. }));
    let detail = format!("the model called {asked} times, {ran} ran, the person's no ended it");
    check("4 refusal", asked >= 5 && ran == 1 && declined, detail)
}

fn goodbye(facts: &Facts) -> Check {
    let ended = facts.notices.iter().any(|(_, notice)| matches!(notice, Notice::Ended { by: "agent" }));
    let last = facts.notices.iter().rev().find_map(|(_, notice)| {
        if let Notice::Played { what, cut, .. } = notice { Some((*what, *cut)) } else { None }
    });
    let ok = ended && last == Some((Spoken::Reply, false));
    check(
        "5 goodbye",
        ok,
        if ok {
            "heard to its end, then the session ended"
        } else {
            "the session did not end after a heard goodbye"
        },
    )
}

/// The recording holds reply, clip, read-back and goodbye, in that order, found by their waveforms.
fn order(facts: &Facts, path: &PathBuf) -> Check {
    const WHAT: &str = "heard.wav";
    let recording = std::fs::read(path).map_err(|cause| cause.to_string());
    let recording = recording
        .and_then(|bytes| clip::decode("heard.wav", bytes, Duration::MAX).map_err(|cause| cause.to_string()));
    let recording = match recording {
        Ok(pcm) => Recording::new(&pcm),
        Err(cause) => return check(WHAT, false, cause),
    };
    let said =
        |id: &str| facts.report.said.iter().find(|said| said.id == id).map(|Said { pcm, .. }| pcm.clone());
    let pieces: [(&str, Option<Pcm>); 5] = [
        ("reply", said("too_warm")),
        (
            "clip",
            clip::Clips::load([("alarm", "builtin:alarm")])
                .ok()
                .and_then(|clips| clips.find("alarm").cloned()),
        ),
        ("read-back", facts.read_back.clone()),
        ("confirmation", said("on_its_way")),
        ("goodbye", said("goodbye")),
    ];
    let mut at = Duration::ZERO;
    let mut places = Vec::new();
    for (name, piece) in pieces {
        let Some(found) = piece.and_then(|piece| recording.find(&piece, at)) else {
            return check(WHAT, false, format!("no {name} after {:.1} s", at.as_secs_f64()));
        };
        at = found.at;
        places.push(format!("{name} {:.1} s", at.as_secs_f64()));
    }
    check(WHAT, true, places.join(", "))
}
