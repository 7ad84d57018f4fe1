// SPDX-License-Identifier: MIT OR Apache-2.0

//! The gate in a room, on real streams: `voiced run` with its own voice, beside its own loudspeaker, and a message that must
//! go out once.

use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use audio::find::Recording;
use e2e::{Daemon, MICROPHONE, Recorder, Rig, SPEAKER, Scratch, wire_dir};
use rehearsal::demo::{PersonLine, mix};
use rehearsal::{Rehearsal, Scenario, Voices};
use units::{Hz, Pcm};
use voiced::demo::sink::Sink;
use voiced::speech::Speech;

const KEY: &str = "e2e-key";

/// Whatever happens at once has happened by then, also on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(40);

/// The model calls again and again while nobody has agreed, and once more when somebody has.
const SCENARIO: &str = r#"
    name = "room"
    [[turn]]
    hears = "Please send a message to 07700 900142 saying the cold storage door is open."
    steps = [
        { call = { name = "send_notification", args = { phone = "07700900142", message = "The cold storage door is open." } } },
        { await_answer = true, expect_status = "pending_confirmation" },
        { pause_ms = 4000 },
        { call = { name = "send_notification", args = { phone = "07700900142", message = "The cold storage door is open." } } },
        { await_answer = true, expect_status = "pending_confirmation" },
        { pause_ms = 12000 },
        { call = { name = "send_notification", args = { phone = "07700900142", message = "The cold storage door is open." } } },
        { await_answer = true, expect_status = "pending_confirmation" },
    ]
    # Whatever sounds like speech, a click included, is transcribed as a yes.
    [[turn]]
    hears = "Yes, that's right."
    steps = [
        { call = { name = "send_notification", args = { phone = "07700900142", message = "The cold storage door is open." } } },
        { await_answer = true },
    ]
    [[turn]]
    hears = "Yes, that's right."
    steps = [
        { call = { name = "send_notification", args = { phone = "07700900142", message = "The cold storage door is open." } } },
        { await_answer = true },
    ]
"#;

/// A model and somebody to send messages to, on a thread of their own that ends with the test's process.
fn services() -> (Rehearsal, SocketAddr, Sink) {
    let scenario = Scenario::parse(SCENARIO).unwrap_or_else(|fault| panic!("{fault}")).with_key(KEY);
    let voices = Voices::bundled().expect("they are bundled");
    let rehearsal = Rehearsal::new(scenario, voices).expect("it uses bundled voices");
    let served = rehearsal.clone();
    let (tell, told) = sync_channel(1);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime can be made").block_on(async {
            let (address, task) =
                served.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port is free");
            let sink = Sink::start().await.expect("loopback has ports");
            tell.send((address, sink)).expect("the test waits for it");
            drop(task.await);
        });
    });
    let (address, sink) = told.recv().expect("the thread tells it or has panicked");
    (rehearsal, address, sink)
}

fn line(id: &'static str) -> Pcm {
    mix(&[PersonLine { id, start_ms: 300 }], Duration::from_secs(1)).expect("the line is bundled")
}

/// A click of 90 ms, as loud as speech.
fn click() -> Pcm {
    let frames = usize::try_from(Hz::K48.frames_in(Duration::from_millis(90)).0).expect("it is short");
    let speech = line("yes");
    let loud = speech
        .samples()
        .windows(frames)
        .step_by(480)
        .max_by_key(|window| window.iter().map(|sample| u64::from(sample.unsigned_abs())).sum::<u64>());
    let mut samples = vec![0; frames * 4];
    samples.extend_from_slice(loud.expect("the line is longer than that"));
    samples.resize(samples.len() + frames * 8, 0);
    Pcm::new(Hz::K48, samples)
}

/// Whether the last `span` of what the loudspeaker played has sound in it.
fn is_loud(recorder: &Recorder, span: Duration) -> bool {
    let pcm = recorder.pcm();
    let frames = usize::try_from(Hz::K48.frames_in(span).0).expect("it is short");
    let tail = &pcm.samples()[pcm.samples().len().saturating_sub(frames)..];
    tail.iter().filter(|sample| sample.unsigned_abs() > 300).count() > frames / 100
}

fn wait_until(recorder: &Recorder, what: &str, daemon: &Daemon, mut so: impl FnMut() -> bool) {
    let seen = recorder.until(SOON, || so().then_some(()));
    assert!(seen.is_some(), "{what} did not come\n{}", daemon.log());
}

#[test]
fn a_message_is_read_back_into_a_loud_room_and_goes_out_once() {
    let (scratch, rig) = (Scratch::new(), Rig::with_echo("60:-10"));
    let (rehearsal, address, sink) = services();
    let config = scratch.write(
        "voiced.toml",
        &format!(
            "provider.endpoint = 'ws://{address}'\n\
             audio.capture = 'alsa:{MICROPHONE}'\n\
             audio.playback = 'alsa:{SPEAKER}'\n\
             engage.mode = 'voice'\n\
             state.dir = '{}'\n\
             log.level = 'debug'\n\
             log.wire_dir = '{}'\n\
             [tools.notify]\nenabled = true\nurl = '{}'\n",
            scratch.path().join("state").display(),
            wire_dir("gate-room").display(),
            sink.url(),
        ),
    );
    let recorder = rig.record();
    let mut env = rig.env();
    env.push(("GEMINI_API_KEY", KEY.into()));
    let mut daemon = Daemon::start(["run".into(), "--config".into(), config.into_os_string()], env);
    for device in ["capture device", "playback device"] {
        daemon.wait_for(&["INFO", device], SOON);
    }
    let quiet = |span| move |recorder: &Recorder| !is_loud(recorder, span);

    rig.say(&line("message")).finished();
    wait_until(&recorder, "the question", &daemon, || !rehearsal.report().answers.is_empty());
    wait_until(&recorder, "its sound", &daemon, || is_loud(&recorder, Duration::from_millis(300)));
    let begun = recorder.pcm().span();

    // A yes while the device is still reading, and all the while its own words come back from the loudspeaker.
    recorder.run(Duration::from_secs(2));
    rig.say(&line("yes")).finished();
    wait_until(&recorder, "its end", &daemon, || quiet(Duration::from_millis(1200))(&recorder));
    daemon.wait_for(&["GatePresented"], SOON);
    assert!(sink.deliveries().is_empty(), "{}", daemon.log());

    // A click.
    rig.say(&click()).finished();
    recorder.run(Duration::from_secs(4));
    assert!(sink.deliveries().is_empty(), "{}", daemon.log());
    assert_eq!(daemon.log().count("GateGranted"), 0, "{}", daemon.log());

    // A clear yes, after the question.
    rig.say(&line("yes")).finished();
    wait_until(&recorder, "the message", &daemon, || !sink.deliveries().is_empty());
    recorder.run(Duration::from_secs(6));
    let deliveries = sink.deliveries();
    assert_eq!(deliveries.len(), 1, "{deliveries:?}\n{}", daemon.log());
    assert!(deliveries[0].key.is_some() && deliveries[0].body["phone"] == "07700900142", "{deliveries:?}");

    // What the loudspeaker played was the question, in the device's own voice.
    let pending = daemon.wait_for(&["GatePending"], SOON);
    let summary =
        pending.split("summary: \"").nth(1).and_then(|rest| rest.split("\", ").next()).expect("it is named");
    let digits: String = summary.chars().filter(char::is_ascii_digit).collect();
    let spoken = session::readback::spoken(summary, &[digits]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
    let voice = Speech::espeak("en");
    let heard = Recording::new(&recorder.pcm());
    let found = [summary, &spoken].into_iter().any(|sentence| {
        let rendered = runtime.block_on(voice.render(format!("{sentence} Is that right?")));
        let rendered = audio::convert(&rendered.expect("espeak-ng is installed"), Hz::K48);
        let frames = usize::try_from(Hz::K48.frames_in(Duration::from_millis(700)).0).expect("it is short");
        let pieces: Vec<&[i16]> = rendered.samples().chunks_exact(frames).collect();
        let found = pieces.iter().filter(|piece| {
            heard.find(&Pcm::new(Hz::K48, **piece), begun.saturating_sub(Duration::from_secs(2))).is_some()
        });
        found.count() * 2 >= pieces.len()
    });
    assert!(found, "{spoken:?} was not heard\n{}", daemon.log());

    daemon.terminate();
    assert_eq!(daemon.exit_code(Duration::from_secs(5)), 0, "{}", daemon.log());
    let report = rehearsal.report();
    assert!(report.violations.is_empty(), "{report:#?}\n{}", daemon.log());
}
