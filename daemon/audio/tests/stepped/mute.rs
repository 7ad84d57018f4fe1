// SPDX-License-Identifier: MIT OR Apache-2.0

//! The microphone that is off.

use super::*;

fn muted(event: &Event) -> bool {
    matches!(event, Event::Muted(true))
}

#[test]
fn b70_a_worker_that_starts_muted_lets_nothing_out_and_says_so() {
    let microphone = sim::Microphone::new(Hz::K48, 1);
    let config = Config { muted: true, ..Config::new(Source::Sim(microphone.clone()), Sink::Null) };
    let mut rig = Rig::new(config);
    microphone.say(&sim::voice(MS(32_000)));
    rig.tell(Command::UplinkOpen { preroll: MS(3_000) });
    rig.run(MS(30_000));
    assert!(rig.handle.is_muted() && rig.count(muted) == 1);
    assert_eq!((rig.microphone().len(), rig.count(started)), (0, 0));
    assert!(rig.handle.counters().capture_hops > 2_900, "it was delivered all the while");
    assert_eq!(rig.handle.counters().muted_leak, 0);
    rig.tell(Command::Mute(false));
    rig.run(MS(1_500));
    assert!(level(&rig.microphone()) > 100.0 && rig.count(started) == 1);
}

#[test]
fn b70_while_the_hardware_holds_it_off_nobody_switches_it_on() {
    let microphone = sim::Microphone::new(Hz::K16, 1);
    let config = Config { mute_line: true, ..Config::new(Source::Sim(microphone.clone()), Sink::Null) };
    let mut rig = Rig::new(config);
    microphone.say(&sim::voice(MS(20_000)));
    rig.tell(Command::UplinkOpen { preroll: MS(0) });
    rig.tell(Command::Mute(false));
    rig.run(MS(1_000));
    assert!(rig.handle.is_muted() && rig.microphone().is_empty(), "nobody knows yet where it stands");
    rig.tell(Command::MuteLine(false));
    rig.run(MS(500));
    assert!(!rig.handle.is_muted());
    let before = rig.microphone().len();
    assert!(before > 7_000);
    rig.tell(Command::MuteLine(true));
    rig.tell(Command::Mute(true));
    rig.tell(Command::Mute(false));
    rig.run(MS(1_000));
    assert!(rig.handle.is_muted());
    assert_eq!(rig.microphone().len(), before);
    // What was asked for meanwhile holds once the hardware lets go.
    rig.tell(Command::Mute(true));
    rig.tell(Command::MuteLine(false));
    rig.run(MS(500));
    assert!(rig.handle.is_muted());
    assert_eq!(rig.microphone().len(), before);
    let asked: Vec<bool> = rig
        .seen
        .iter()
        .filter_map(|(_, event)| match event {
            Event::MuteAsked(asked) => Some(*asked),
            _ => None,
        })
        .collect();
    assert_eq!(asked, [false, true, false, true]);
    assert_eq!(rig.handle.counters().muted_leak, 0);
}

#[test]
fn b70_a_microphone_that_comes_back_is_still_off() {
    let microphone = sim::Microphone::new(Hz::K16, 1);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone.clone()), Sink::Null));
    rig.tell(Command::UplinkOpen { preroll: MS(0) });
    rig.tell(Command::Mute(true));
    rig.run(MS(200));
    microphone.fault(sim::Fault::Gone);
    rig.run(MS(1_000));
    microphone.fault(sim::Fault::None);
    microphone.say(&sim::voice(MS(9_000)));
    rig.run(MS(6_000));
    assert_eq!(rig.count(up), 3, "loudspeaker, microphone, and the microphone again");
    assert_eq!((rig.microphone().len(), rig.count(started)), (0, 0));
}

#[test]
fn b70_what_was_said_before_it_was_switched_off_does_not_come_when_it_is_on_again() {
    for echo in [Echo::Off, Echo::Software, Echo::Auto { tail: MS(300) }, Echo::HalfDuplex { tail: MS(300) }]
    {
        let microphone = sim::Microphone::new(Hz::K48, 1);
        let config = Config { echo, ..Config::new(Source::Sim(microphone.clone()), Sink::Null) };
        let mut rig = Rig::new(config);
        rig.tell(Command::UplinkOpen { preroll: MS(0) });
        microphone.say(&sim::voice(MS(1_500)));
        rig.run(MS(1_000));
        assert!(level(&rig.microphone()) > 100.0, "{echo:?}");
        rig.tell(Command::Mute(true));
        rig.run(MS(3_000));
        let before = rig.microphone().len();
        rig.tell(Command::Mute(false));
        rig.run(MS(500));
        let after = &rig.microphone()[before..];
        assert!(after.len() > 6_000 && after.iter().all(|sample| *sample == 0), "{echo:?}");
    }
}
