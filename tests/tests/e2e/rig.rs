// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program as it is run, on real streams: `voiced run` as a process, cpal, a virtual sound card, TCP.
//!
//! What was heard is recorded from the card's loudspeaker and recognised by its waveform, not its level.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use audio::find::Recording;
use e2e::{Daemon, MICROPHONE, Recorder, Rig, SPEAKER, Scratch, wav, wire_dir};
use rehearsal::demo::{PersonLine, mix};
use rehearsal::{Rehearsal, Report, Scenario, Voices};
use tokio::sync::oneshot;
use units::Pcm;

/// The key the rehearsal insists on.
pub(crate) const KEY: &str = "e2e-key";

/// Whatever happens at once has happened by then, also on a machine that is busy with other tests.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// From SIGTERM to the end of the process: what the program promises.
pub(crate) const STOP: Duration = Duration::from_secs(5);

/// Long enough for several retries of whatever fails.
const WATCHED: Duration = Duration::from_secs(4);

/// A rehearsal on a port of this machine, on a thread of its own. Dropping it ends it.
pub(crate) struct Server {
    rehearsal: Rehearsal,
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Server {
    pub(crate) fn start(scenario: &str) -> Self {
        Self::start_at(scenario, ([127, 0, 0, 1], 0).into())
    }

    pub(crate) fn start_at(scenario: &str, address: SocketAddr) -> Self {
        let scenario = Scenario::bundled(scenario).expect("it is bundled").with_key(KEY);
        let voices = Voices::bundled().expect("they are bundled");
        let rehearsal = Rehearsal::new(scenario, voices).expect("bundled scenarios use bundled voices");
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel::<()>();
        let served = rehearsal.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async {
                let (address, _task) = served.listen(address).await.expect("the port is free");
                tell.send(address).expect("the test waits for it");
                // Comes when the test is over and lets go of the other end.
                drop(stopped.await);
            });
        });
        let address = told.recv().expect("the thread tells it or has panicked");
        Self { rehearsal, address, _stop: stop }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn report(&self) -> Report {
        self.rehearsal.report()
    }
}

/// A configuration for `voiced run` that listens to nobody's loudspeaker. `more` is TOML with dotted keys.
pub(crate) fn config(
    scratch: &Scratch,
    endpoint: SocketAddr,
    wire: &Path,
    engage: &str,
    more: &str,
) -> PathBuf {
    let text = format!(
        "provider.endpoint = 'ws://{endpoint}'\n\
         audio.echo.mode = 'off'\n\
         engage.mode = '{engage}'\n\
         state.dir = '{}'\n\
         log.wire_dir = '{}'\n{more}",
        scratch.path().join("state").display(),
        wire.display(),
    );
    scratch.write("voiced.toml", &text)
}

/// The same on the virtual card.
pub(crate) fn on_card(
    scratch: &Scratch,
    endpoint: SocketAddr,
    wire: &Path,
    engage: &str,
    more: &str,
) -> PathBuf {
    let devices = format!("audio.capture = 'alsa:{MICROPHONE}'\naudio.playback = 'alsa:{SPEAKER}'\n{more}");
    config(scratch, endpoint, wire, engage, &devices)
}

pub(crate) fn run(config: &Path, env: Vec<(&'static str, OsString)>) -> Daemon {
    Daemon::start([OsString::from("run"), "--config".into(), config.into()], env)
}

pub(crate) fn with_key(mut env: Vec<(&'static str, OsString)>) -> Vec<(&'static str, OsString)> {
    env.push(("GEMINI_API_KEY", KEY.into()));
    env
}

/// Waits until the daemon says that it has both devices.
pub(crate) fn wait_for_devices(daemon: &Daemon) {
    for device in ["capture device", "playback device"] {
        daemon.wait_for(&["INFO", device], SOON);
    }
}

/// The person says one line into a quiet room.
pub(crate) fn line(id: &'static str) -> Pcm {
    mix(&[PersonLine { id, start_ms: 500 }], Duration::from_secs(1)).expect("the line is bundled")
}

/// A reply is looked for in pieces of this length: a busy machine's sound server has gaps, and one gap must not hide all
/// of it.
const PIECE: Duration = Duration::from_millis(500);

/// A piece of a reply: where it is in the reply, and where it was heard, if it was.
struct Heard {
    at: Duration,
    heard_at: Option<Duration>,
}

/// Looks for `reply` piece by piece in what was played from `from` on. Pauses between words have no shape of their own
/// and are left out.
fn heard(recorder: &Recorder, reply: &Pcm, from: Duration) -> Vec<Heard> {
    let recording = Recording::new(&recorder.pcm());
    let frames = usize::try_from(reply.rate().frames_in(PIECE).0).expect("a piece fits into memory");
    let loud =
        |samples: &[i16]| samples.iter().filter(|sample| sample.unsigned_abs() > 500).count() * 4 > frames;
    let pieces = reply.samples().chunks_exact(frames).zip(0..).filter(|(samples, _)| loud(samples));
    let find = |(samples, index): (&[i16], u32)| {
        let found = recording.find(&Pcm::new(reply.rate(), samples), from);
        Heard { at: PIECE * index, heard_at: found.map(|found| found.at) }
    };
    pieces.map(find).collect()
}

/// Waits until the rehearsal has begun its reply and `span` more has been recorded, and gives where in the recording the
/// reply begins. It is looked for once, at the end: a search beside the playing would take the processor from it.
#[track_caller]
pub(crate) fn wait_for_reply(
    recorder: &Recorder,
    server: &Server,
    daemon: &Daemon,
    span: Duration,
) -> Duration {
    let said = recorder.until(SOON, || server.report().said.pop());
    recorder.run(span);
    let reply = server.report().said.into_iter().next();
    let pieces = reply.map(|said| heard(recorder, &said.pcm, Duration::ZERO)).unwrap_or_default();
    let begun =
        pieces.iter().find_map(|piece| piece.heard_at.map(|heard_at| heard_at.saturating_sub(piece.at)));
    begun.unwrap_or_else(|| {
        let tape = wire_dir("rig-failed").join("heard.wav");
        wav(&tape, &recorder.pcm());
        panic!(
            "no reply from the loudspeaker; what it played is in {}; said: {said:?}; {:#?}\n{}",
            tape.display(),
            server.report(),
            daemon.log()
        )
    })
}

#[test]
fn a_spoken_question_is_answered_aloud_over_real_streams() {
    let (scratch, rig, server) = (Scratch::new(), Rig::start(), Server::start("sensor"));
    let wire = wire_dir("rig-spoken-question");
    let recorder = rig.record();
    let warm = "hal.sim.zones.cold_storage = { temp_c = 11.4, humidity = 85.0 }\n";
    let mut daemon = run(&on_card(&scratch, server.address, &wire, "voice", warm), with_key(rig.env()));
    wait_for_devices(&daemon);

    let asked = recorder.pcm().span();
    rig.say(&line("temperature")).finished();
    let voices = Voices::bundled().expect("they are bundled");
    let whole = voices.find("too_warm").expect("the scenario says it").pcm.span();
    let at = wait_for_reply(&recorder, &server, &daemon, whole + Duration::from_secs(2));
    assert!(at > asked, "the reply comes after the question");

    let report = server.report();
    assert!(report.passed(), "{report:#?}\n{}", daemon.log());
    assert_eq!(
        report.answers.first().and_then(|answer| answer.status()),
        Some("success"),
        "{}",
        daemon.log()
    );
    let reply = report.said[0].pcm.clone();
    let pieces = heard(&recorder, &reply, at);
    let places: Vec<(Duration, Duration)> =
        pieces.iter().filter_map(|piece| Some((piece.at, piece.heard_at?))).collect();
    // Every gap of a busy machine's sound hides a piece or two. What is found is beyond doubt.
    assert!(places.len() * 2 >= pieces.len(), "{} of {} pieces were heard", places.len(), pieces.len());
    assert!(places.is_sorted_by(|one, next| one.1 < next.1), "the reply was heard in its order: {places:?}");
    assert!(places.last() > Some(&(reply.span() / 2, at)), "the reply was heard to its end: {places:?}");
    let other = &voices.find("dock_long").expect("it is bundled").pcm;
    let found = Recording::new(&recorder.pcm()).find(other, Duration::ZERO);
    assert_eq!(found, None, "what was not said is not found");

    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

fn tail(pcm: &Pcm, span: Duration) -> Pcm {
    let frames = usize::try_from(pcm.rate().frames_in(span).0).expect("recordings fit into memory");
    let samples = pcm.samples();
    Pcm::new(pcm.rate(), &samples[samples.len().saturating_sub(frames)..])
}

#[test]
fn sigterm_in_the_middle_of_a_reply_ends_the_daemon_within_five_seconds() {
    let (scratch, rig, server) = (Scratch::new(), Rig::start(), Server::start("barge_in"));
    let wire = wire_dir("rig-sigterm");
    let recorder = rig.record();
    let mut daemon = run(&on_card(&scratch, server.address, &wire, "voice", ""), with_key(rig.env()));
    wait_for_devices(&daemon);
    rig.say(&line("dock")).finished();
    let at = wait_for_reply(&recorder, &server, &daemon, Duration::from_secs(3));

    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
    let voices = Voices::bundled().expect("they are bundled");
    let whole = voices.find("dock_long").expect("the scenario says it").pcm.span();
    let ended = recorder.pcm().span();
    assert!(ended - at < whole, "the reply of {whole:?} was over before the daemon was: {:?}", ended - at);
    recorder.run(Duration::from_secs(1));
    let silence = tail(&recorder.pcm(), Duration::from_millis(500));
    assert!(silence.samples().iter().all(|&sample| sample == 0), "nothing plays once the daemon is gone");
    let report = server.report();
    assert!(report.violations.is_empty(), "{:?}", report.violations);
}

/// Lines a person would be woken for.
pub(crate) fn complaints(daemon: &Daemon) -> Vec<String> {
    daemon.log().lines().into_iter().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect()
}

#[test]
fn without_a_server_there_is_one_message_and_the_link_comes_up_when_the_server_does() {
    let (scratch, rig) = (Scratch::new(), Rig::start());
    let wire = wire_dir("rig-no-server");
    let recorder = rig.record();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let nobody = nobody.expect("loopback has free ports");
    let mut daemon = run(&on_card(&scratch, nobody, &wire, "always", ""), with_key(rig.env()));
    wait_for_devices(&daemon);
    daemon.wait_for(&["WARN", &nobody.port().to_string()], SOON);
    daemon.stays_up(WATCHED);
    assert_eq!(complaints(&daemon).len(), 1, "one cause, one message; {}", daemon.log());

    let server = Server::start_at("sensor", nobody);
    let connected = recorder.until(SOON, || server.report().setups.pop());
    assert!(connected.is_some(), "no connection within {SOON:?} of the server's start; {}", daemon.log());
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

#[test]
fn without_a_sound_card_there_is_one_message_for_each_direction_and_the_daemon_stays_up() {
    let scratch = Scratch::new();
    let nobody = ([127, 0, 0, 1], 9).into();
    let config = config(&scratch, nobody, &wire_dir("rig-no-card"), "voice", "");
    // ALSA reads this in place of the machine's own configuration, and it names no device.
    let nothing = scratch.write("asound.conf", "defaults.namehint.basic on\n");
    let env = vec![("ALSA_CONFIG_PATH", nothing.into()), ("PULSE_SERVER", "unix:/nonexistent".into())];
    let mut daemon = run(&config, with_key(env));
    for device in ["capture device", "playback device"] {
        daemon.wait_for(&["WARN", device], SOON);
    }
    daemon.stays_up(WATCHED);
    assert_eq!(complaints(&daemon).len(), 2, "one message a device; {}", daemon.log());
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

#[test]
fn without_a_key_there_is_one_message_and_the_daemon_stays_up() {
    let (scratch, rig, server) = (Scratch::new(), Rig::start(), Server::start("sensor"));
    let config = on_card(&scratch, server.address, &wire_dir("rig-no-key"), "always", "");
    let mut daemon = run(&config, rig.env());
    wait_for_devices(&daemon);
    daemon.wait_for(&["WARN", "GEMINI_API_KEY"], SOON);
    daemon.stays_up(WATCHED);
    assert_eq!(complaints(&daemon).len(), 1, "one cause, one message; {}", daemon.log());
    assert_eq!(server.report().connections, 0, "nothing is sent without a key");
    daemon.terminate();
    assert_eq!(daemon.exit_code(STOP), 0, "{}", daemon.log());
}

#[test]
fn a_wrong_configuration_ends_with_78_and_names_the_key() {
    let scratch = Scratch::new();
    let config = scratch.write("voiced.toml", "[vad]\nhangover_ms = 5\n");
    let mut daemon = run(&config, Vec::new());
    assert_eq!(daemon.exit_code(SOON), 78, "{}", daemon.log());
    assert_eq!(daemon.log().count("vad.hangover_ms = 5"), 1, "{}", daemon.log());
}
