// SPDX-License-Identifier: MIT OR Apache-2.0

//! The virtual sound card: a private sound server with a microphone that is fed and a loudspeaker that is recorded.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use units::{Hz, Pcm};

use crate::{Scratch, wav};

/// The card's microphone as an ALSA device.
pub const MICROPHONE: &str = "rig_mic";

/// The card's loudspeaker as an ALSA device.
pub const SPEAKER: &str = "rig_speaker";

/// What the loudspeaker plays, as an ALSA capture device.
pub const SPEAKER_LOOP: &str = "rig_loop";

/// The variables that lead a program to the card: those of [`Rig::env`].
pub const RIG_VARIABLES: [&str; 5] =
    ["ALSA_CONFIG_PATH", "PULSE_SERVER", "PULSE_COOKIE", "XDG_RUNTIME_DIR", "HOME"];

/// A running virtual sound card. Dropping it ends every process of it, and so does the end of this process, however it
/// ends.
///
/// It needs `pulseaudio`, `pulseaudio-utils` and `libasound2-plugins`, and no privileges. A process has one at a time:
/// several sound servers and daemons on a small machine starve each other, and audio has gaps.
#[derive(Debug)]
pub struct Rig {
    /// Clients that never leave, so that the null sinks stay warm: the first sound through a cold one is seconds late.
    warm: Vec<Client>,
    /// Stops the card when its input ends.
    janitor: Child,
    scratch: Scratch,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// One card at a time.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    // A test that failed with a card has ended its card all the same.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rig {
    /// Starts one in a folder of its own, once no other is left.
    ///
    /// # Panics
    /// If it does not start; the text is what the script says, packages to install included.
    #[must_use]
    pub fn start() -> Self {
        Self::started(None)
    }

    /// The same in a room where the microphone hears the loudspeaker: each tap `MILLISECONDS:DECIBELS`, with commas
    /// between them.
    ///
    /// # Panics
    /// As [`Rig::start`].
    #[must_use]
    pub fn with_echo(taps: &str) -> Self {
        Self::started(Some(taps))
    }

    fn started(echo: Option<&str>) -> Self {
        let turn = turn();
        let more = echo.map_or_else(Vec::new, |taps| vec!["--echo", taps]);
        Self::starting(&more, Some(turn))
    }

    /// Starts a sound server; whoever holds the turn starts it.
    pub(crate) fn starting(more: &[&str], turn: Option<MutexGuard<'static, ()>>) -> Self {
        let scratch = Scratch::new();
        let janitor = janitor(scratch.path());
        let mut start = script();
        start.arg("start").arg("--dir").arg(scratch.path()).args(more);
        let output = start.output().expect("bash is everywhere");
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "the virtual sound card does not start: {}{}install pulseaudio, pulseaudio-utils and libasound2-plugins",
            said(&output.stdout),
            said(&output.stderr),
        );
        let mut rig = Self { warm: Vec::new(), janitor, scratch, _turn: turn };
        rig.warm();
        rig
    }

    /// Keeps the sinks warm that are there, afresh.
    pub(crate) fn warm(&mut self) {
        self.warm.clear();
        let zeros = File::open("/dev/zero").expect("Linux has it");
        // In its own format and at 20 ms it makes the microphone deliver blocks of 5 ms. With other blocks, or in another
        // format, ALSA's pulse plugin turns in circles in every capturing program, at up to half a core (measured 2026-11).
        let feed = [
            "pacat",
            "--device=micbus",
            "--rate=48000",
            "--channels=1",
            "--format=s16le",
            "--latency-msec=20",
        ];
        self.warm.push(self.client(&feed, zeros.into(), Stdio::null()));
        let drain = ["parec", "--device=speaker.monitor", "--latency-msec=20"];
        self.warm.push(self.client(&drain, Stdio::null(), Stdio::null()));
    }

    /// The microphone or the loudspeaker (`mic`, `speaker`) is pulled out. With both on this server, it re-routes whatever
    /// used it.
    ///
    /// # Panics
    /// If it is not plugged in.
    pub fn unplug(&self, device: &str) {
        self.does(&["unplug", device]);
    }

    /// It is plugged in again.
    ///
    /// # Panics
    /// If the sound server does not take it.
    pub fn plug(&mut self, device: &str) {
        self.does(&["plug", device]);
        self.warm();
    }

    /// The microphone delivers nothing more, until `resume`.
    ///
    /// # Panics
    /// If there is none.
    pub fn suspend(&self) {
        self.does(&["suspend", "mic"]);
    }

    /// It delivers again.
    ///
    /// # Panics
    /// If there is none.
    pub fn resume(&self) {
        self.does(&["resume", "mic"]);
    }

    /// The sound server is killed.
    pub fn crash(&self) {
        self.does(&["crash"]);
    }

    /// It is started again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn revive(&mut self) {
        self.does(&["revive"]);
        self.warm();
    }

    /// The sound server hangs, until [`Rig::thaw`].
    pub fn freeze(&self) {
        self.does(&["freeze"]);
    }

    /// It goes on.
    pub fn thaw(&self) {
        self.does(&["thaw"]);
    }

    #[track_caller]
    fn does(&self, words: &[&str]) {
        let output =
            script().args(words).arg("--dir").arg(self.scratch.path()).stdout(Stdio::null()).output();
        let output = output.expect("bash is everywhere");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// What a program needs in its environment to use this card and nothing of the user's own.
    #[must_use]
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        let dir = self.scratch.path();
        let mut server = OsString::from("unix:");
        server.push(dir.join("pulse.sock"));
        let values: [OsString; 5] = [
            dir.join("asound.conf").into(),
            server,
            dir.join("home/cookie").into(),
            dir.join("run").into(),
            dir.join("home").into(),
        ];
        RIG_VARIABLES.into_iter().zip(values).collect()
    }

    /// Speaks `pcm` into the microphone and returns at once.
    ///
    /// # Panics
    /// If the player cannot be started.
    #[must_use = "dropping it stops the speech"]
    pub fn say(&self, pcm: &Pcm) -> Client {
        let path = self.scratch.path().join("say.wav");
        wav(&path, pcm);
        let path = path.to_str().expect("the folder is named by us");
        self.client(&["paplay", "--device=micbus", path], Stdio::null(), Stdio::null())
    }

    /// Starts recording what the loudspeaker plays.
    ///
    /// # Panics
    /// If the recorder cannot be started.
    #[must_use]
    pub fn record(&self) -> Recorder {
        let args =
            ["parec", "--device=speaker.monitor", "--raw", "--format=s16le", "--rate=48000", "--channels=1"];
        let args = [&args[..], &["--latency-msec=20"]].concat();
        let mut client = self.client(&args, Stdio::null(), Stdio::piped());
        let stream = client.0.stdout.take().expect("it was asked for");
        let tape = Arc::new(Tape { samples: Mutex::default(), grown: Condvar::new() });
        let writer = Arc::clone(&tape);
        thread::spawn(move || writer.fill(stream));
        Recorder { tape, _client: client }
    }

    fn client(&self, command: &[&str], stdin: Stdio, stdout: Stdio) -> Client {
        let child = Command::new(command[0])
            .args(&command[1..])
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .envs(self.env())
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn();
        Client(child.unwrap_or_else(|error| panic!("{} does not start: {error}", command[0])))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.warm.clear();
        drop(self.janitor.stdin.take());
        // It has done what can be done, whatever its status.
        drop(self.janitor.wait());
    }
}

/// Starts a process that waits for the end of its input, stops the card in `dir`, and removes `dir`. The other end of its
/// input is closed by the kernel even when this process is killed. In a group of its own, it outlives a ^C.
fn janitor(dir: &Path) -> Child {
    let child = Command::new("bash")
        .args(["-c", r#"cat; bash "$1" stop --dir "$2"; rm -rf "$2""#, "janitor"])
        .args([script_path().as_path(), dir])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    child.expect("bash is everywhere")
}

fn script_path() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "rig", "audio-rig.sh"].iter().collect()
}

fn script() -> Command {
    let mut command = Command::new("bash");
    command.arg(script_path()).stdin(Stdio::null());
    command
}

/// A program that uses the card. Dropping it kills it.
#[derive(Debug)]
pub struct Client(Child);

impl Client {
    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// If it failed.
    pub fn finished(mut self) {
        let status = self.0.wait().expect("it is our child");
        assert!(status.success(), "a client of the virtual sound card failed: {status}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and that is fine.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A recording in progress, 48 kHz mono. It is also the clock of a test on real streams: audio arrives as time passes.
pub struct Recorder {
    tape: Arc<Tape>,
    _client: Client,
}

struct Tape {
    samples: Mutex<Vec<i16>>,
    grown: Condvar,
}

impl Tape {
    fn fill(&self, mut stream: impl Read) {
        let mut bytes = vec![0; 9600];
        let mut odd = None;
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            let fresh = odd.take().into_iter().chain(bytes[..length].iter().copied());
            let fresh: Vec<u8> = fresh.collect();
            let (pairs, rest) = fresh.as_chunks::<2>();
            odd = rest.first().copied();
            self.lock().extend(pairs.iter().map(|pair| i16::from_le_bytes(*pair)));
            self.grown.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<i16>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    /// What was recorded so far.
    #[must_use]
    pub fn pcm(&self) -> Pcm {
        Pcm::new(Hz::K48, self.tape.lock().as_slice())
    }

    /// Records `span` more.
    ///
    /// # Panics
    /// If the sound server delivers nothing for 10 s beyond that.
    #[track_caller]
    pub fn run(&self, span: Duration) {
        let end = self.pcm().span() + span;
        let deadline = Instant::now() + span + Duration::from_secs(10);
        let mut samples = self.tape.lock();
        while Hz::K48.frames_in(end).0 > samples.len() as u64 {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the virtual loudspeaker delivers no audio: is the sound server alive?");
            samples = self.tape.grown.wait_timeout(samples, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Records until `seen` gives something, looking ten times a second. `None` after `limit` of recorded audio.
    ///
    /// # Panics
    /// If the sound server delivers nothing for 10 s.
    #[track_caller]
    pub fn until<T>(&self, limit: Duration, mut seen: impl FnMut() -> Option<T>) -> Option<T> {
        let end = self.pcm().span() + limit;
        loop {
            let found = seen();
            if found.is_some() || self.pcm().span() >= end {
                return found;
            }
            self.run(Duration::from_millis(100));
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({:?})", self.pcm())
    }
}
