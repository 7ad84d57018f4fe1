// SPDX-License-Identifier: MIT OR Apache-2.0

//! A loudspeaker beside a microphone: what is cancelled, what is not listened to, and what is said of it.

use audio::sim::Path;
use audio::{Cleaning, Priority};
use rehearsal::voices::{Voices, person};

use super::*;

/// What the model says, 24 kHz, some seconds of it, its peaks at -6 dBFS.
fn reply() -> Pcm {
    let voices = Voices::bundled().unwrap();
    let said: Vec<i16> = ["dock_long", "too_warm", "dock_long"]
        .iter()
        .flat_map(|id| convert(&voices.find(id).unwrap().pcm, Hz::K24).samples().to_vec())
        .collect();
    at_peak(&said, Hz::K24)
}

/// What the person says, 16 kHz, its peaks at -6 dBFS.
fn words() -> Pcm {
    at_peak(convert(&person("stop").unwrap().pcm, Hz::K16).samples(), Hz::K16)
}

fn at_peak(samples: &[i16], rate: Hz) -> Pcm {
    let peak = samples.iter().map(|sample| f32::from(*sample).abs()).fold(1.0, f32::max);
    let scale = 16_384.0 / peak;
    Pcm::new(rate, samples.iter().map(|sample| (f32::from(*sample) * scale) as i16).collect::<Vec<i16>>())
}

/// A microphone that hears the loudspeaker.
struct Room {
    rig: Rig,
    microphone: sim::Microphone,
    speaker: sim::Speaker,
    next: u64,
}

impl Room {
    fn new(echo: Echo, path: Option<Path>, ppm: i32) -> Self {
        let microphone = sim::Microphone::new(Hz::K48, 1);
        let speaker = sim::Speaker::new(Hz::K48);
        if let Some(path) = path {
            microphone.hears(&speaker, path);
        }
        microphone.skew(ppm);
        let config = Config {
            echo,
            cleaning: Cleaning::default(),
            ..Config::new(Source::Sim(microphone.clone()), Sink::Sim(speaker.clone()))
        };
        let rig = Rig::new(config);
        rig.tell(Command::UplinkOpen { preroll: MS(0) });
        Self { rig, microphone, speaker, next: 1 }
    }

    /// Plays replies for this long, one after the other.
    fn reply(&mut self, span: Duration) {
        let said = reply();
        let until = self.rig.stepper.now() + span;
        while self.rig.stepper.now() < until {
            let utterance = UtteranceId(self.next);
            self.next += 1;
            self.rig.tell(Command::Append { utterance, priority: Priority::Reply, pcm: said.clone() });
            self.rig.tell(Command::Finish { utterance });
            let length = said.frames().span(Hz::K24).min(until.saturating_sub(self.rig.stepper.now()));
            self.rig.run(length.max(MS(10)));
        }
    }

    fn said(&self) -> Vec<&str> {
        self.rig
            .seen
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Echo { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// How far what went out in the last `span` is below what the microphone heard, in dB.
    fn removed(&self, span: Duration) -> f64 {
        let out = self.rig.microphone();
        let frames = span.as_millis() as usize * 16;
        let played = self.speaker.recorded();
        let heard = level(&played.samples()[played.samples().len() - frames * 3..]);
        20.0 * (heard / level(&out[out.len() - frames..]).max(0.01)).log10()
    }
}

fn path(gain: f32) -> Path {
    Path { delay: MS(40), gain: Db(gain), ring: MS(250) }
}

const AUTO: Echo = Echo::Auto { tail: Duration::from_millis(300) };

#[test]
fn b29_it_does_not_interrupt_itself_however_loud_its_echo() {
    for gain in [-20.0, -10.0, 0.0] {
        let mut room = Room::new(AUTO, Some(path(gain)), 0);
        room.rig.run(MS(500));
        room.reply(Duration::from_secs(30));
        assert_eq!(room.rig.count(started), 0, "at {gain} dB: {:?}", room.said());
        assert!(matches!(room.said()[..], [text] if text.starts_with("echo is cancelled")), "{:?}", room.said());
        let removed = room.removed(Duration::from_secs(10)) + f64::from(gain);
        assert!(removed > 30.0, "at {gain} dB: {removed:.1} dB");
        let state = room.rig.handle.echo();
        eprintln!("at {gain} dB: {removed:.1} dB removed, {state:?}, {:?}", room.said());
        assert_eq!(room.rig.handle.counters().far_starved, 0);
        assert_eq!(room.rig.handle.counters().far_aligned, 1);
    }
}

#[test]
fn b30_the_first_seconds_of_the_first_reply_are_not_taken_for_speech() {
    let mut room = Room::new(Echo::Software, Some(path(0.0)), 0);
    room.reply(Duration::from_secs(3));
    assert_eq!(room.rig.count(started), 0);
    let out = room.rig.microphone();
    let loudest = out.chunks(160).map(level).fold(0.0, f64::max);
    eprintln!("loudest hop of the first 3 s: {loudest:.0}; {:?}", room.said());
    // -40 dBFS.
    assert!(loudest < 327.0, "{loudest}");
    let deaf = out.chunks(160).position(|hop| hop.iter().any(|sample| *sample != 0));
    eprintln!("listening again after {deaf:?} hops");
}
