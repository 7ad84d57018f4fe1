// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the daemon takes: processor time, memory, time to start, room on disk.

use std::os::unix::net::UnixDatagram;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

use e2e::{Scratch, voiced_binary};
use rehearsal::Voices;
use units::{Hz, Pcm};

use crate::latency::play;
use crate::report::{Figure, Spread};
use crate::subject::{Engage, Subject};

/// How long processor time is summed up.
const WATCHED: Duration = Duration::from_secs(20);

/// Start-ups measured.
const STARTS: usize = 10;

/// Processor time and memory, idle and with audio both ways.
pub fn processor_and_memory(scratch: &Scratch) -> Vec<Figure> {
    let backend = Backend::start();
    sleep(Duration::from_secs(3));
    let floor = load(backend.0.id());
    drop(backend);

    let subject = Subject::start(scratch, Engage::Voice);
    subject.wait_for_devices();
    sleep(Duration::from_secs(3));
    let idle = load(subject.daemon.id());
    let idle_memory = Memory::of(subject.daemon.id());
    drop(subject);

    let subject = Subject::start(scratch, Engage::Always);
    let _ = subject.model.first_audio();
    let room = play(&noise(WATCHED + Duration::from_secs(10)), "micbus", scratch);
    let voices = Voices::bundled().expect("the tests of `rehearsal` decode every recording");
    let speech = voices.find("dock_long").expect("it is bundled").pcm.clone();
    let rounds = WATCHED.as_secs_f64() / speech.span().as_secs_f64();
    for _ in 0..1 + whole(rounds) {
        subject.model.begin_reply(speech.samples());
    }
    sleep(Duration::from_secs(1));
    let active = load(subject.daemon.id());
    let memory = Memory::of(subject.daemon.id());
    drop(room);

    let percent = |load: f64| format!("{load:.2} %");
    vec![
        Figure::new("CPU idle, one core", percent(idle))
            .floor_of(idle, floor, "%")
            .goal("≤ 1.5 % beyond")
            .peer("2.5 %")
            .note("idle: engaged by voice, nobody speaks, no connection"),
        Figure::new("CPU with audio both ways, one core", percent(active))
            .floor_of(active, floor, "%")
            .goal("≤ 3 % beyond")
            .peer("4.8 %")
            .note("both ways: uplink open over room noise, a reply plays; echo handling off"),
        Figure::new("CPU per second of audio", format!("{:.1} ms", active * 10.0)).floor_of(
            active * 10.0,
            floor * 10.0,
            "ms",
        ),
        Figure::new("memory idle, RSS / PSS", idle_memory.to_string()).peer("27 MiB PSS"),
        Figure::new("memory with audio both ways, RSS / PSS / RSS peak", memory.with_peak())
            .goal("≤ 25 / – / 40 MB"),
    ]
}

fn whole(number: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive count")]
    let count = number.ceil() as usize;
    count
}

/// Percent of one core that a process uses over [`WATCHED`], user and system time of all its threads.
fn load(pid: u32) -> f64 {
    let (before, begun) = (processor_time(pid), Instant::now());
    sleep(WATCHED);
    let used = processor_time(pid).saturating_sub(before);
    used.as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0
}

/// `utime + stime` of `/proc/PID/stat`, in ticks of 10 ms.
fn processor_time(pid: u32) -> Duration {
    let stat = proc_file(pid, "stat");
    // The name, in parentheses, may hold anything; the 14th and 15th fields of proc(5) are 12th and 13th after it.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: u64 =
        after.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
}

fn proc_file(pid: u32, name: &str) -> String {
    let path = format!("/proc/{pid}/{name}");
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{path} cannot be read, the process has ended: {error}"))
}

/// Memory of a process in KiB.
struct Memory {
    rss: u64,
    /// The daemon shuts itself to other programs of its user: only root may read this.
    pss: Option<u64>,
    peak: u64,
}

impl Memory {
    fn of(pid: u32) -> Self {
        let smaps = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
        let status = proc_file(pid, "status");
        let pss = smaps.ok().map(|smaps| field(&smaps, "Pss:"));
        Self { rss: field(&status, "VmRSS:"), pss, peak: field(&status, "VmHWM:") }
    }

    fn shown_pss(&self) -> String {
        self.pss.map_or_else(|| "–".to_owned(), mib)
    }

    fn with_peak(&self) -> String {
        format!("{} / {} / {} MiB", mib(self.rss), self.shown_pss(), mib(self.peak))
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {} MiB", mib(self.rss), self.shown_pss())
    }
}

fn mib(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// This program once more, with streams only ([`crate::streams::idle_both_ways`]).
struct Backend(Child, Option<ChildStdin>);

impl Backend {
    fn start() -> Self {
        let exe = std::env::current_exe().expect("the path of a running program is known");
        let mut child = Command::new(exe)
            .arg("--streams-only")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("the bench cannot start itself: {error}"));
        let stdin = child.stdin.take();
        Self(child, stdin)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        // The end of its input is what it waits for.
        drop(self.1.take());
        drop(self.0.wait());
    }
}

/// A quiet room, 48 kHz: noise at about -50 dBFS, so that no detector sees digital zero.
fn noise(span: Duration) -> Pcm {
    let mut state: u32 = 1;
    let samples: Vec<i16> = (0..Hz::K48.frames_in(span).0)
        .map(|_| {
            // Numerical Recipes, 2nd ed., section 7.1.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::from(state.to_be_bytes()[0]) - 128
        })
        .collect();
    Pcm::new(Hz::K48, samples)
}

/// From exec to `READY=1`, and to the first microphone audio at the provider.
pub fn start_up(scratch: &Scratch) -> Vec<Figure> {
    let (mut ready, mut audio) = (Vec::new(), Vec::new());
    for round in 0..STARTS {
        let path = scratch.path().join(format!("notify-{round}"));
        let socket = UnixDatagram::bind(&path).unwrap_or_else(|error| panic!("no notify socket: {error}"));
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("20 s is a valid timeout");
        let subject = Subject::start_with(scratch, Engage::Always, vec![("NOTIFY_SOCKET", path.into())]);
        match readiness(&socket) {
            Ok(at) => ready.push(at - subject.started),
            Err(error) => panic!("no READY=1: {error}; {}", subject.daemon.log()),
        }
        audio.push(subject.model.first_audio() - subject.started);
    }
    let first = Spread::of(&audio);
    vec![
        Figure::spread("exec → READY=1", &ready, STARTS).goal("≤ 150 ms"),
        Figure::new("exec → first audio at the provider", first.to_string()).peer("360 ms"),
    ]
}

fn readiness(socket: &UnixDatagram) -> io::Result<Instant> {
    let mut buffer = [0; 4096];
    loop {
        let length = socket.recv(&mut buffer)?;
        let now = Instant::now();
        if buffer[..length].split(|&byte| byte == b'\n').any(|line| line == b"READY=1") {
            return Ok(now);
        }
    }
}

/// Instructions of a fixed conversation on virtual time: the whole daemon without the sound backend. Counted by `perf`
/// where the processor lets it, by callgrind where not; left out, with a note, where neither is installed.
pub fn instructions(scratch: &Scratch) -> Figure {
    let name = "instructions per second of audio (`voiced demo --fast`)";
    let out = scratch.path().join("demo");
    let audio = match demo_audio(scratch, &out) {
        Ok(audio) => audio,
        Err(why) => return Figure::new(name, "–").note(&why),
    };
    let counted = by_perf(&out)
        .map(|count| (count, "perf"))
        .or_else(|| Some((by_callgrind(scratch, &out)?, "callgrind")));
    match counted {
        Some((count, tool)) => {
            let per_second = count as f64 / audio.as_secs_f64() / 1e6;
            Figure::new(name, format!("{per_second:.1} M")).note(&format!(
                "{count} user instructions over {:.1} s of audio, by {tool}",
                audio.as_secs_f64()
            ))
        }
        None => Figure::new(name, "–").note("neither `perf` counts here nor is valgrind installed"),
    }
}

const DEMO: [&str; 3] = ["demo", "--fast", "--quiet"];

/// Runs the demo once as it is; gives how much audio it heard.
fn demo_audio(scratch: &Scratch, out: &std::path::Path) -> Result<Duration, String> {
    let output = Command::new(voiced_binary())
        .args(DEMO)
        .arg("--out")
        .arg(out)
        .env("XDG_STATE_HOME", scratch.path())
        .output()
        .map_err(|error| format!("`voiced demo` does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(format!(
            "`voiced demo --fast` failed ({}): {}",
            output.status,
            said.trim().replace('\n', "; ")
        ));
    }
    let heard = out.join("heard.wav");
    let reader = hound::WavReader::open(&heard).map_err(|error| format!("{}: {error}", heard.display()))?;
    let rate = Hz::new(reader.spec().sample_rate).unwrap_or(Hz::K48);
    Ok(units::Frames(u64::from(reader.duration())).span(rate))
}

fn by_perf(out: &std::path::Path) -> Option<u64> {
    let output = Command::new("perf")
        .args(["stat", "--field-separator=,", "--event=instructions:u", "--"])
        .arg(voiced_binary())
        .args(DEMO)
        .arg("--out")
        .arg(out)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("instructions"))?;
    line.split(',').next()?.parse().ok()
}

fn by_callgrind(scratch: &Scratch, out: &std::path::Path) -> Option<u64> {
    let file = scratch.path().join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(voiced_binary())
        .args(DEMO)
        .arg("--out")
        .arg(out)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let profile = fs::read(&file).ok()?;
    let profile = String::from_utf8_lossy(&profile);
    // The last summary or totals line of the profile holds the count of `Ir`.
    let line = profile
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Size of the binary as built: stripped in the release profile.
pub fn size() -> Figure {
    let path = voiced_binary();
    let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
    Figure::new("binary", format!("{:.2} MB", bytes as f64 / 1e6)).goal("≤ 12 MB")
}
