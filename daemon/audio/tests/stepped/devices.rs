// SPDX-License-Identifier: MIT OR Apache-2.0

//! Devices that lie, hang, are busy or are moved about.

use super::rig::{losses, notes};
use super::*;

/// A worker that listens to this microphone and lets everything out.
fn listening(microphone: &sim::Microphone, channels: Channels) -> Rig {
    let config = Config { channels, ..Config::new(Source::Sim(microphone.clone()), Sink::Null) };
    let rig = Rig::new(config);
    rig.tell(Command::UplinkOpen { preroll: Duration::ZERO });
    rig
}

fn hz(rate: u32) -> Hz {
    Hz::new(rate).unwrap()
}

#[test]
fn b05_a_microphone_of_zeros_is_named_and_so_is_one_that_stalls() {
    let microphone = sim::Microphone::new(Hz::K48, 1).judged();
    let mut rig = listening(&microphone, Channels::Average);
    rig.run(MS(30_000));
    let said = notes(&rig);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("fault: the simulated microphone: microphone silent (digital zero)"));
    microphone.say(&sim::voice(MS(2_000)));
    rig.run(MS(2_000));
    assert_eq!(
        notes(&rig).last().unwrap(),
        "well: the simulated microphone: the microphone is no longer silent"
    );
    assert_eq!(rig.count(down), 0);

    microphone.fault(sim::Fault::Stalled);
    rig.run(MS(2_000));
    assert!(losses(&rig)[0].contains("has moved no frame for 1000 ms"), "{:?}", losses(&rig));
}

#[test]
fn a_microphone_that_is_off_here_is_not_called_silent() {
    let microphone = sim::Microphone::new(Hz::K48, 1).judged();
    let mut rig = listening(&microphone, Channels::Average);
    rig.tell(Command::Mute(true));
    rig.run(MS(60_000));
    assert_eq!(notes(&rig), [""; 0]);
    rig.tell(Command::Mute(false));
    rig.run(MS(15_000));
    assert_eq!(notes(&rig), [""; 0], "only from here on");
    rig.run(MS(10_000));
    assert_eq!(notes(&rig).len(), 1);
}

#[test]
fn an_overdriven_microphone_and_one_with_an_offset_are_named() {
    for (level, word) in [([32_767i16, -32_768], "overdriven"), ([9_000, 8_000], "constant offset")] {
        let microphone = sim::Microphone::new(Hz::K16, 1).judged();
        let mut rig = listening(&microphone, Channels::Average);
        microphone.say(&Pcm::new(Hz::K16, level.repeat(8_000 * 15)));
        rig.run(MS(15_000));
        let said = notes(&rig);
        assert!(said.len() == 1 && said[0].contains(word), "{said:?}");
    }
}

#[test]
fn b11_a_device_that_is_busy_is_named_once_and_taken_when_it_is_free() {
    let microphone = sim::Microphone::new(Hz::K48, 1);
    let speaker = sim::Speaker::new(Hz::K48);
    microphone.fault(sim::Fault::Busy(3));
    speaker.fault(sim::Fault::Busy(3));
    let mut rig = Rig::new(Config::new(Source::Sim(microphone), Sink::Sim(speaker)));
    rig.run(MS(10_000));
    let said = losses(&rig);
    assert_eq!(said.len(), 2, "one a device: {said:?}");
    assert!(said.iter().all(|text| text.contains("in use by another program")), "{said:?}");
    let counters = rig.handle.counters();
    assert_eq!((counters.device_downs, counters.device_ups), (6, 2));
    assert!(rig.when(up).unwrap() <= MS(3_100), "after 0.5, 1 and 1.5 s");
}

#[test]
fn b14_a_microphone_of_any_rate_and_channel_count_is_heard() {
    for (rate, count, channels) in
        [(44_100, 2, Channels::Average), (8_000, 1, Channels::Average), (48_000, 6, Channels::Only(4))]
    {
        let mut microphone = sim::Microphone::new(hz(rate), count);
        if let Channels::Only(channel) = channels {
            microphone = microphone.hearing_in(channel);
        }
        let mut rig = listening(&microphone, channels);
        let said = voice(MS(800), hz(8_000));
        microphone.say(&said);
        rig.run(MS(1_200));
        let expected = convert(&said, Hz::K16);
        let (_, likeness) = find(&expected.samples()[1_600..9_600], &rig.microphone());
        assert!(likeness > 0.99, "{rate} Hz, {count} channels: {likeness}");
        assert_eq!(rig.count(started), 1, "{rate} Hz");
        assert!(rig.when(up).is_some_and(|at| at <= MS(20)));
        let told = rig.seen.iter().any(|(_, event)| {
            matches!(event, Event::DeviceUp { text, .. }
                if text.contains(&hz(rate).to_string()) && text.contains(&format!("{count} channels")))
        });
        assert!(told, "its rate and its channels are told");
    }
}

#[test]
fn b15_a_clock_that_is_wrong_is_named_with_both_rates() {
    let microphone = sim::Microphone::new(Hz::K16, 1).off_by(380_000);
    let speaker = sim::Speaker::new(Hz::K48).off_by(-81_250);
    let mut rig = Rig::new(Config::new(Source::Sim(microphone), Sink::Sim(speaker)));
    rig.run(MS(60_000));
    let mut said = notes(&rig);
    said.sort();
    assert_eq!(said.len(), 2, "once each: {said:?}");
    assert!(
        said[0].starts_with("fault: the simulated loudspeaker: device runs at 44.1 kHz instead of 48 kHz")
    );
    assert!(
        said[1].starts_with("fault: the simulated microphone: device runs at 22.1 kHz instead of 16 kHz")
    );
    assert!(rig.when(|event| matches!(event, Event::DeviceFault { .. })).unwrap() <= MS(11_500));
    assert_eq!(rig.count(down), 0, "it goes on");
}

#[test]
fn b16_speech_in_one_channel_is_heard_in_that_one_and_silence_in_another_is_named() {
    for (channel, is_heard) in [(2, true), (0, false)] {
        let microphone = sim::Microphone::new(Hz::K48, 4).hearing_in(2).judged();
        let mut rig = listening(&microphone, Channels::Only(channel));
        microphone.say(&sim::voice(MS(22_000)));
        rig.run(MS(22_000));
        assert_eq!(rig.count(started), usize::from(is_heard), "channel {channel}");
        assert_eq!(level(&rig.microphone()) > 0.0, is_heard, "channel {channel}");
        assert_eq!(notes(&rig).len(), usize::from(!is_heard), "{:?}", notes(&rig));
        assert!(notes(&rig).iter().all(|text| text.contains("another channel")));
    }
}

#[test]
fn b18_a_device_that_hangs_in_opening_holds_up_nothing_and_is_taken_when_it_comes() {
    let microphone = sim::Microphone::new(Hz::K48, 1);
    microphone.fault(sim::Fault::Hung);
    let mut rig = listening(&microphone, Channels::Average);
    rig.play(A, voice(MS(1_000), Hz::K24));
    rig.run(MS(60_000));
    assert_eq!(rig.finished(A), Some((Frames(24_000), false)), "the loudspeaker plays meanwhile");
    assert_eq!(losses(&rig).len(), 1, "{:?}", losses(&rig));
    assert!(losses(&rig)[0].contains("did not answer within 5 s"));
    microphone.fault(sim::Fault::None);
    microphone.say(&sim::voice(MS(1_000)));
    rig.run(MS(1_000));
    assert_eq!(rig.count(started), 1);
    assert_eq!(rig.handle.counters().device_ups, 2, "one attempt, not one more each time");
}

#[test]
fn b06_a_monitor_is_refused_as_a_microphone_unless_it_was_asked_for() {
    for monitor_allowed in [false, true] {
        let microphone = sim::Microphone::new(Hz::K48, 1);
        microphone.put("speaker.monitor", true);
        let config = Config { monitor_allowed, ..Config::new(Source::Sim(microphone.clone()), Sink::Null) };
        let mut rig = Rig::new(config);
        rig.tell(Command::UplinkOpen { preroll: Duration::ZERO });
        microphone.say(&sim::voice(MS(5_000)));
        rig.run(MS(5_000));
        assert_eq!(losses(&rig).len(), usize::from(!monitor_allowed), "{:?}", losses(&rig));
        assert_eq!(rig.microphone().is_empty(), !monitor_allowed, "nothing of it is streamed");
        if !monitor_allowed {
            assert!(losses(&rig)[0].contains("hears what the loudspeaker plays (`speaker.monitor`)"));
            microphone.put("mic", false);
            rig.run(MS(2_000));
            assert!(!rig.microphone().is_empty(), "the microphone is back");
        }
    }
}

#[test]
fn b07_a_microphone_that_a_sound_server_moves_to_the_loudspeaker_is_lost_and_comes_back() {
    let microphone = sim::Microphone::new(Hz::K48, 1);
    microphone.put("mic", false);
    let mut rig = listening(&microphone, Channels::Average);
    microphone.say(&sim::voice(MS(60_000)));
    rig.run(MS(1_000));
    assert!(rig.microphone().len() > 14_000);
    microphone.put("speaker.monitor", true);
    rig.seen.clear();
    rig.run(MS(10_000));
    assert_eq!(rig.microphone().len(), 0, "not a frame of it is streamed");
    assert_eq!(rig.count(ended), 1, "speech does not outlive its microphone");
    assert_eq!(losses(&rig).len(), 1, "{:?}", losses(&rig));
    microphone.put("mic", false);
    rig.run(MS(2_000));
    assert!(rig.microphone().len() > 8_000);
}

#[test]
fn b07_a_loudspeaker_that_is_moved_is_spoken_of_when_it_goes_and_when_it_is_back() {
    let speaker = sim::Speaker::new(Hz::K48);
    speaker.put("speaker");
    let mut rig = Rig::new(Config::new(Source::Silence, Sink::Sim(speaker.clone())));
    rig.play(A, voice(MS(3_000), Hz::K24));
    rig.run(MS(1_000));
    for name in ["mic_feed", "speaker"] {
        speaker.put(name);
        rig.run(MS(500));
    }
    rig.run(MS(2_000));
    let said = notes(&rig);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("moved it from `speaker` to `mic_feed`") && said[1].contains("at `speaker` again")
    );
    assert_eq!(rig.finished(A), Some((Frames(72_000), false)), "what plays goes on");
}
