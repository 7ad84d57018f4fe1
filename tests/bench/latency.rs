// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much later things happen because of the daemon.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use e2e::{MICROPHONE, SPEAKER, SPEAKER_LOOP, Scratch, wav};
use units::{Frames, Hz, Pcm};

use crate::report::{Figure, Spread};
use crate::signal::{self, Phases};
use crate::streams::{Ear, Heard, Mouth};
use crate::subject::{Engage, Subject};

/// Marks in each measurement, at least: with 60, p99 is the slowest one.
const MARKS: usize = 60;

/// Interruptions measured.
const INTERRUPTIONS: usize = 25;

/// A mark that is seen later than this after its cause belongs to another cause.
const LATEST: Duration = Duration::from_secs(1);

/// Streams settle: buffers reach their sizes, the sound server its latency.
const SETTLE: Duration = Duration::from_secs(2);

/// Level under which the loudspeaker counts as silent: 48 dB under the tone that is interrupted.
const SILENT: f32 = 0.001;

/// From a click in the microphone to the message that holds it, on the provider's side of the socket.
pub fn mic_to_socket(scratch: &Scratch) -> Vec<Figure> {
    let subject = Subject::start(scratch, Engage::Always);
    let _ = subject.model.first_audio();
    let gap = Duration::from_millis(300);
    let track =
        signal::click_track(Hz::K48, MARKS, Duration::from_millis(500), gap, Duration::from_millis(60));
    let track = Pcm::new(Hz::K48, track);
    let ear = Ear::open(MICROPHONE, track.span() + Duration::from_secs(20));
    sleep(SETTLE);
    drop(subject.model.take_uplink());
    play(&track, "micbus", scratch).finish();
    sleep(LATEST);
    let uplink = subject.model.take_uplink();
    let heard = ear.stop();

    let said: Vec<Instant> = times(&heard);
    let mut whole = Vec::new();
    let mut beyond = Vec::new();
    let mut rests = Vec::new();
    for start in signal::clicks(&uplink.samples, Hz::K16) {
        let frame = usize::try_from(Hz::K16.frames_in(start).0).expect("it is an index");
        let Some((arrival, end)) = uplink.arrivals.iter().find(|(_, end)| *end > frame) else {
            continue;
        };
        let Some(cause) = cause_of(&said, *arrival) else {
            continue;
        };
        // The rest of the message had to be spoken before it could be sent.
        let rest = Frames((end - frame) as u64).span(Hz::K16);
        whole.push(*arrival - cause);
        beyond.push((*arrival - cause).saturating_sub(rest));
        rests.push(rest);
    }
    let note = format!("a click lay {} before the end of its 20 ms message", Spread::of(&rests));
    vec![
        Figure::spread("mic → socket", &whole, MARKS).peer("22 ms").note(&note),
        Figure::spread("mic → socket, beyond the message it is in", &beyond, MARKS).goal("≤ 15 ms p99"),
    ]
}

/// What a cpal program pays on this card from its callback to the loudspeaker's monitor.
pub fn playback_floor() -> Figure {
    let mouth = Mouth::open(SPEAKER);
    let gap = Duration::from_millis(300);
    let ear = Ear::open(SPEAKER_LOOP, gap * 2 * 64 + Duration::from_secs(20));
    sleep(SETTLE);
    let mut phases = Phases::default();
    let handed: Vec<Instant> = (0..MARKS)
        .map(|_| {
            sleep(gap + phases.part_of(Duration::from_millis(20)));
            mouth.click()
        })
        .collect();
    sleep(LATEST);
    let spans = spans(&handed, &times(&ear.stop()));
    Figure::spread("bench floor: cpal callback → speaker", &spans, MARKS)
}

/// From a message with audio, on the provider's side of the socket, to the loudspeaker; and from `interrupted` to
/// silence. `floor` is [`playback_floor`].
pub fn socket_to_speaker(scratch: &Scratch, floor: &Figure) -> Vec<Figure> {
    let subject = Subject::start(scratch, Engage::Always);
    let _ = subject.model.first_audio();
    let reply = signal::click_track(Hz::K24, 1, CLICK_AT, Duration::from_millis(250), Duration::ZERO);
    let ear = Ear::open(SPEAKER_LOOP, Duration::from_secs(100));
    sleep(SETTLE);
    let mut phases = Phases::default();
    let sent: Vec<Instant> = (0..MARKS)
        .map(|_| {
            sleep(Duration::from_millis(700) + phases.part_of(Duration::from_millis(20)));
            subject.model.reply(&reply) + CLICK_AT
        })
        .collect();
    sleep(LATEST);
    let spans = spans(&sent, &times(&ear.stop()));
    let speaker = Figure::spread("socket → speaker", &spans, MARKS);
    vec![speaker.floor(floor).peer("0 ms").goal("≤ 15 ms p99 beyond"), interruption(&subject, floor)]
}

/// Where the click is in a reply: after any fade-in.
const CLICK_AT: Duration = Duration::from_millis(50);

fn interruption(subject: &Subject, floor: &Figure) -> Figure {
    let tone = tone(Duration::from_secs(10));
    let ear = Ear::open(SPEAKER_LOOP, Duration::from_secs(120));
    sleep(SETTLE);
    let mut phases = Phases::default();
    let interrupted: Vec<Instant> = (0..INTERRUPTIONS)
        .map(|_| {
            subject.model.begin_reply(&tone);
            sleep(Duration::from_secs(1) + phases.part_of(Duration::from_millis(20)));
            let at = subject.model.interrupt();
            sleep(LATEST + Duration::from_millis(200));
            at
        })
        .collect();
    let heard = ear.stop();
    let spans: Vec<Duration> = interrupted
        .iter()
        .filter_map(|&at| {
            let (from, until) = (heard.frame_at(at), heard.frame_at(at + LATEST));
            let last = signal::last_sound(&heard.samples, from, until, SILENT)?;
            Some(heard.time_of(Frames(last as u64).span(Hz::K48)).saturating_duration_since(at))
        })
        .collect();
    Figure::spread("`interrupted` → silence", &spans, INTERRUPTIONS)
        .floor(floor)
        .peer("30 ms")
        .goal("≤ 30 ms beyond")
}

/// A tone of 1 kHz at -12 dBFS, 24 kHz.
fn tone(span: Duration) -> Vec<i16> {
    let step = 2.0 * std::f64::consts::PI * 1_000.0 / f64::from(Hz::K24.get());
    #[expect(clippy::cast_possible_truncation, reason = "within ±8192")]
    let sample = |frame: u64| ((frame as f64 * step).sin() * 8_192.0) as i16;
    (0..Hz::K24.frames_in(span).0).map(sample).collect()
}

/// When the clicks of a recording were there.
fn times(heard: &Heard) -> Vec<Instant> {
    signal::clicks(&heard.samples, Hz::K48).into_iter().map(|at| heard.time_of(at)).collect()
}

/// For each cause the time to the first effect after it and before the next cause. A cause without one has none.
fn spans(causes: &[Instant], effects: &[Instant]) -> Vec<Duration> {
    let mut spans = Vec::new();
    for (index, &cause) in causes.iter().enumerate() {
        let end = causes.get(index + 1).copied().unwrap_or(cause + LATEST);
        spans.extend(
            effects.iter().find(|&&effect| effect >= cause && effect < end).map(|&effect| effect - cause),
        );
    }
    spans
}

/// The last cause before an effect, if it is near enough to be its cause.
fn cause_of(causes: &[Instant], effect: Instant) -> Option<Instant> {
    let cause = causes.iter().rfind(|&&cause| cause <= effect)?;
    Some(*cause).filter(|&cause| effect - cause < signal::CLICK_GAP_MIN)
}

/// A program that plays a file on a sink of the card.
pub struct Player(Child);

impl Player {
    /// Waits for its end.
    pub fn finish(mut self) {
        let status = self.0.wait().expect("it is our child");
        assert!(status.success(), "paplay failed: {status}");
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and that is fine.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Plays `pcm` on the sink `sink`.
///
/// # Panics
/// If the player does not start.
pub fn play(pcm: &Pcm, sink: &str, scratch: &Scratch) -> Player {
    let path = scratch.path().join("play.wav");
    wav(&path, pcm);
    Player(paplay(sink, &path))
}

fn paplay(sink: &str, path: &Path) -> Child {
    let child = Command::new("paplay").arg("--device").arg(sink).arg(path).stdin(Stdio::null()).spawn();
    child.unwrap_or_else(|error| panic!("paplay does not start: {error}"))
}
