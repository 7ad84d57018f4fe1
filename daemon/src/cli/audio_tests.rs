// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced audio test-mic`, `test-speaker`, `levels` and `loopback`: whether the room is heard and the device is, through the
//! daemon's own path.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use audio::{Event, find};
use clap::Args;
use serde_json::json;
use units::{Hz, Pcm};

use super::audio_bench::{Bench, BenchError, Ends, bar, end_bar, show_bar};
use super::audio_verdict::Measured;
use super::{fail, print};
use crate::config::Config;
use crate::fault::chain;

/// What is wrong was found.
const EXIT_FOUND: u8 = 1;

/// How long a measurement lasts and how it is told.
#[derive(Debug, Args)]
pub(super) struct HowLong {
    /// How long to measure, 1 to 60
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl HowLong {
    const fn span(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Listens for a while, to judge the microphone.
pub(super) fn test_mic(config: &Config, how: &HowLong) -> ExitCode {
    let bench = match Bench::open(config, Ends::Microphone) {
        Ok(bench) => bench,
        Err(fault) => return no_bench(&fault, how.json),
    };
    bench.listen();
    let mut take = Take::default();
    bench.watch(how.span(), |event| take.add(&event, !how.json));
    end_bar();
    let counters = bench.counters();
    let clipped = counters.capture_clipped as f64 / counters.capture_frames.max(1) as f64;
    let measured = Measured::of(&take.samples, take.speech(), clipped);
    let findings = measured.findings();
    let is_good = !findings.iter().any(|finding| finding.is_fault);
    let devices = bench.devices.join("; ");
    bench.close();
    let text = if how.json {
        let mut value = measured.as_value();
        value["device"] = json!(devices);
        value["ok"] = json!(is_good);
        value["findings"] = findings
            .iter()
            .map(|finding| json!({"code": finding.code, "text": finding.text, "fault": finding.is_fault}))
            .collect();
        value.to_string()
    } else {
        let mut text = format!("{devices}\n");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "loudest {:.1} dBFS, noise floor {:.1} dBFS, peak {:.1} dBFS, {:.1} s of speech, {:.2} % at full scale, offset {:.2} %",
            measured.loudest.0.max(-120.0),
            measured.floor.0.max(-120.0),
            measured.peak.0.max(-120.0),
            measured.speech.as_secs_f64(),
            measured.clipped * 100.0,
            measured.dc * 100.0,
        );
        for finding in &findings {
            let _ = writeln!(text, "{}: {}", if finding.is_fault { "FAULT" } else { "note" }, finding.text);
        }
        text + if is_good { "the microphone works" } else { "the microphone does not work as it is" }
    };
    ended(&text, is_good)
}

/// Plays a tone, to see whether the loudspeaker takes it.
pub(super) fn test_speaker(config: &Config, how: &HowLong) -> ExitCode {
    let mut bench = match Bench::open(config, Ends::Loudspeaker) {
        Ok(bench) => bench,
        Err(fault) => return no_bench(&fault, how.json),
    };
    let sent = how.span();
    let played = bench.play(scale(sent), |_| {});
    let devices = bench.devices.join("; ");
    let underrun = bench.counters().playback_underrun;
    bench.close();
    let began_ms = played.began_after.map(|after| after.as_millis());
    let text = if how.json {
        json!({
            "device": devices,
            "ok": played.whole,
            "sent_seconds": sent.as_secs_f64(),
            "heard_seconds": played.heard.as_secs_f64(),
            "began_after_ms": began_ms.and_then(|ms| u64::try_from(ms).ok()),
            "underrun_frames": underrun,
        })
        .to_string()
    } else {
        let mut text = format!("{devices}\n");
        let _ = writeln!(
            text,
            "{:.1} of {:.1} s left the loudspeaker, on every channel, {} frames late",
            played.heard.as_secs_f64(),
            sent.as_secs_f64(),
            underrun
        );
        text + if played.whole {
            "the device took all of it: three tones, rising. If you heard none, look at the cable and at the mixer (`alsamixer`)"
        } else {
            "the device did not take all of it: it went away or hangs"
        }
    };
    ended(&text, played.whole)
}

/// Shows the level of the microphone, ten times a second.
pub(super) fn levels(config: &Config, how: &HowLong) -> ExitCode {
    let bench = match Bench::open(config, Ends::Microphone) {
        Ok(bench) => bench,
        Err(fault) => return no_bench(&fault, how.json),
    };
    let mut code = ExitCode::SUCCESS;
    bench.watch(how.span(), |event| {
        if let Event::Levels { input, .. } = event {
            let dbfs = input.0.max(-120.0);
            code = if how.json {
                print(&json!({"input_dbfs": (dbfs * 10.0).round() / 10.0}).to_string())
            } else {
                print(&format!("{} {dbfs:>6.1} dBFS", bar(input)))
            };
        }
    });
    bench.close();
    code
}

/// Records, plays the recording back, and measures how long a sound takes from the daemon through the room and back.
pub(super) fn loopback(config: &Config, how: &HowLong) -> ExitCode {
    let mut bench = match Bench::open(config, Ends::Both) {
        Ok(bench) => bench,
        Err(fault) => return no_bench(&fault, how.json),
    };
    bench.listen();
    let mut take = Take::default();
    bench.watch(how.span(), |event| take.add(&event, !how.json));
    end_bar();
    // The probe first: what is recorded while it plays begins with the order to play it.
    let probe = probe();
    let mut back = Take::default();
    bench.play(probe.clone(), |event| back.add(event, false));
    bench.watch(ROOM, |event| back.add(&event, false));
    let found = find::Recording::new(&Pcm::new(Hz::K16, back.samples)).find(&probe, Duration::ZERO);
    let played = bench.play(Pcm::new(Hz::K16, take.samples.as_slice()), |_| {});
    let devices = bench.devices.join("; ");
    bench.close();
    let latency = found.map(|found| found.at.as_millis());
    let text = if how.json {
        json!({
            "device": devices,
            "ok": played.whole,
            "recorded_seconds": Pcm::new(Hz::K16, take.samples).span().as_secs_f64(),
            "heard_seconds": played.heard.as_secs_f64(),
            "latency_ms": latency.and_then(|ms| u64::try_from(ms).ok()),
        })
        .to_string()
    } else {
        let mut text = format!("{devices}\n");
        let _ = match latency {
            Some(ms) => {
                writeln!(text, "{ms} ms from the daemon through loudspeaker, room and microphone and back")
            }
            None => writeln!(
                text,
                "the microphone did not hear the loudspeaker: headphones, or one of them is off"
            ),
        };
        text + if played.whole {
            "what was recorded was played back"
        } else {
            "what was recorded was not played to its end"
        }
    };
    ended(&text, played.whole)
}

/// How long a sound may take through the room.
const ROOM: Duration = Duration::from_millis(700);

/// What came of the microphone.
#[derive(Debug, Default)]
struct Take {
    samples: Vec<i16>,
    voiced: Duration,
    /// How much audio there was when speech that has not ended began.
    began: Option<usize>,
}

impl Take {
    fn add(&mut self, event: &Event, shown: bool) {
        if let Event::Mic(chunk) = event {
            self.samples.extend_from_slice(chunk);
        } else if matches!(event, Event::SpeechStarted { .. }) {
            self.began = Some(self.samples.len());
        } else if let Event::SpeechEnded { voiced } = event {
            self.began = None;
            self.voiced += *voiced;
        } else if let Event::Levels { input, .. } = event
            && shown
        {
            show_bar(if self.began.is_some() { "speech" } else { "      " }, *input);
        }
    }

    fn speech(&self) -> Duration {
        let open = self.began.map_or(0, |began| self.samples.len() - began);
        self.voiced + units::Frames(open as u64).span(Hz::K16)
    }
}

/// Three rising tones in as much time, 24 kHz, -12 dBFS.
fn scale(span: Duration) -> Pcm {
    let frames = Hz::K24.frames_in(span / 3).0;
    let tones = [440.0, 554.0, 659.0].map(|hertz| sine(frames, |_| hertz));
    Pcm::new(Hz::K24, tones.concat())
}

/// A sweep from 300 to 1,500 Hz in 600 ms: no other sound is like it.
fn probe() -> Pcm {
    let frames = Hz::K24.frames_in(Duration::from_millis(600)).0;
    Pcm::new(Hz::K24, sine(frames, |part| 300.0 + 1_200.0 * part))
}

/// A sine at -12 dBFS whose frequency goes with the part of it that has passed, with 10 ms ramps.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a tone of a minute at most"
)]
fn sine(frames: u64, hertz: impl Fn(f64) -> f64) -> Vec<i16> {
    let mut phase = 0.0f64;
    (0..frames)
        .map(|n| {
            phase += std::f64::consts::TAU * hertz(n as f64 / frames as f64) / 24_000.0;
            let edge = (n.min(frames - 1 - n) as f64 / 240.0).min(1.0);
            (8_231.0 * edge * phase.sin()) as i16
        })
        .collect()
}

fn ended(text: &str, is_good: bool) -> ExitCode {
    match print(text) {
        code if code != ExitCode::SUCCESS => code,
        _ if is_good => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FOUND),
    }
}

fn no_bench(fault: &BenchError, json: bool) -> ExitCode {
    let text = chain(fault);
    if json {
        return ended(&json!({"ok": false, "error": text}).to_string(), false);
    }
    fail(EXIT_FOUND, text)
}
