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
    #[expect(clippy::cast_possible_truncation, reason = "scaled to half of full scale")]
    let scaled: Vec<i16> = samples.iter().map(|sample| (f32::from(*sample) * scale) as i16).collect();
    Pcm::new(rate, scaled)
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
        let microphone = sim::Microphone::new(Hz::K48, 1).off_by(ppm);
        let speaker = sim::Speaker::new(Hz::K48);
        if let Some(path) = path {
            microphone.hears(&speaker, path);
        }
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
        assert!(
            matches!(room.said()[..], [text] if text.starts_with("echo is cancelled")),
            "{:?}",
            room.said()
        );
        let removed = room.removed(Duration::from_secs(10)) + f64::from(gain);
        assert!(removed > 30.0, "at {gain} dB: {removed:.1} dB");
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
    // -40 dBFS.
    let loudest = out.chunks(160).map(level).fold(0.0, f64::max);
    assert!(loudest < 327.0, "{loudest}");
    let opened = out.chunks(160).position(|hop| hop.iter().any(|sample| *sample != 0)).unwrap();
    assert!((20..=150).contains(&opened), "the canceller needs its time, and no more: {opened} hops");
}

#[test]
fn a_person_who_interrupts_6_db_over_the_echo_is_heard_within_300_ms() {
    let mut room = Room::new(AUTO, Some(path(-6.0)), 0);
    room.reply(Duration::from_secs(4));
    let (mut caught, mut times) = (0, vec![]);
    for trial in 0..20 {
        // At another place of the reply each time.
        room.reply(MS(2_000 + 70 * trial));
        assert_eq!(room.rig.count(started), caught, "trial {trial}: nobody spoke");
        room.microphone.say(&words());
        let begun = room.rig.stepper.now();
        let seen = room.rig.seen.len();
        room.reply(MS(2_500));
        let heard = room.rig.seen[seen..].iter().find(|(_, event)| started(event)).map(|(at, _)| *at - begun);
        times.extend(heard);
        caught = room.rig.count(started);
    }
    times.sort();
    assert!(times.iter().filter(|time| **time <= MS(300)).count() >= 19, "{times:?}");
}

#[test]
fn two_clocks_100_ppm_apart_are_held_together() {
    for ppm in [100, -100] {
        let mut room = Room::new(AUTO, Some(path(-6.0)), ppm);
        room.reply(Duration::from_secs(120));
        let state = room.rig.handle.echo();
        let removed = room.removed(Duration::from_secs(20)) - 6.0;
        assert!((state.drift_ppm - ppm as f32).abs() < 10.0, "{state:?}");
        assert!(removed > 30.0, "{removed:.1} dB");
        assert_eq!(room.rig.count(started), 0, "{:?}", room.said());
        let counters = room.rig.handle.counters();
        assert_eq!((counters.far_aligned, counters.far_starved), (1, 0));
    }
}

#[test]
fn the_reference_finds_its_place_again_when_a_device_comes_back() {
    let mut room = Room::new(AUTO, Some(path(0.0)), 50);
    // The drift is learned in silence, and not forgotten with the device.
    room.rig.run(Duration::from_secs(40));
    room.reply(Duration::from_secs(5));
    for round in 0..2 {
        let fault = if round == 0 { sim::Fault::Stalled } else { sim::Fault::Gone };
        room.speaker.fault(fault);
        room.rig.run(MS(1_500));
        room.speaker.fault(sim::Fault::None);
        room.rig.run(MS(2_500));
        room.reply(Duration::from_secs(6));
        room.microphone.fault(fault);
        room.rig.run(MS(1_500));
        room.microphone.fault(sim::Fault::None);
        room.rig.run(MS(2_500));
        room.reply(Duration::from_secs(6));
        let removed = room.removed(MS(3_000));
        assert!(removed > 25.0, "{fault:?}: {removed:.1} dB");
        assert_eq!(room.rig.count(started), 0, "{fault:?}: {:?}", room.rig.when(started));
    }
    assert_eq!(room.said().len(), 1, "the same thing is said once: {:?}", room.said());
}

#[test]
fn where_there_is_no_echo_the_microphone_is_passed_through_until_there_is_one() {
    let mut room = Room::new(AUTO, None, 0);
    room.reply(Duration::from_secs(12));
    assert!(
        matches!(room.said()[..], [text] if text.contains("hears nothing of the loudspeaker")),
        "{:?}",
        room.said()
    );
    let before = room.rig.microphone().len();
    room.microphone.say(&words());
    room.reply(MS(2_000));
    assert!(room.rig.count(started) > 0);
    let heard = &room.rig.microphone()[before..];
    let (_, likeness) = find(&words().samples()[1_600..6_400], heard);
    assert!(likeness > 0.999, "as it is: {likeness}");
    room.microphone.hears(&room.speaker, path(-6.0));
    room.reply(Duration::from_secs(12));
    assert!(room.said().last().unwrap().starts_with("echo is cancelled"), "{:?}", room.said());
}

#[test]
fn an_echo_that_cannot_be_cancelled_makes_it_half_duplex_until_it_can() {
    // Its clock is too far off for any correction.
    let mut room = Room::new(AUTO, Some(path(0.0)), -5_000);
    room.reply(Duration::from_secs(40));
    let failed =
        |event: &Event| matches!(event, Event::Echo { text } if text.starts_with("echo is not cancelled"));
    let told = room.rig.when(failed).expect("it is told");
    let late = room.rig.seen.iter().filter(|(at, event)| *at > told && started(event)).count();
    assert_eq!(late, 0, "{:?}", room.said());
    assert!(told < Duration::from_secs(12), "{told:?}");
}

#[test]
fn a_device_that_should_cancel_and_does_not_is_told_of_once() {
    let mut room = Room::new(Echo::Hardware, Some(path(-6.0)), 0);
    room.reply(Duration::from_secs(10));
    assert!(
        matches!(room.said()[..], [text] if text.starts_with("the device does not cancel")),
        "{:?}",
        room.said()
    );
    let mut room = Room::new(Echo::Hardware, None, 0);
    room.reply(Duration::from_secs(10));
    assert!(room.said().is_empty(), "{:?}", room.said());
}

#[test]
fn while_muted_the_canceller_hears_nothing_and_keeps_its_place() {
    let mut room = Room::new(AUTO, Some(path(0.0)), 0);
    room.reply(Duration::from_secs(5));
    room.rig.tell(Command::Mute(true));
    room.reply(Duration::from_secs(5));
    room.rig.tell(Command::Mute(false));
    room.reply(Duration::from_secs(3));
    assert_eq!(room.rig.count(started), 0);
    assert!(room.removed(MS(2_500)) > 30.0, "{}", room.removed(MS(2_500)));
    assert_eq!(room.rig.handle.counters().far_aligned, 1);
}
