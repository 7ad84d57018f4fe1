// SPDX-License-Identifier: MIT OR Apache-2.0

//! The device's own voice: a child process that turns a line into WAV.
//!
//! The words go to the child on its standard input, never on its command line, where any user of the device could read
//! them. A line that cannot be spoken is an error the caller must act on: a question nobody heard is not a question.

mod child;
mod text;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use units::{Hz, Pcm};

pub use self::text::unspeakable;
use crate::clip;

/// How long a speech engine may take for one line before it is killed.
pub const RENDER_LIMIT: Duration = Duration::from_secs(10);

/// How the device speaks.
#[derive(Clone, Debug)]
pub struct Speech {
    program: String,
    args: Vec<String>,
    stopped: Arc<AtomicBool>,
    /// One child at a time: lines are few, and a flood of them must not become a flood of processes.
    one: Arc<Semaphore>,
}

/// Why a line could not be spoken.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// The program could not be started.
    #[error("speech engine `{program}` cannot be started; install it or set speech.engine")]
    Start {
        /// The program.
        program: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// It did not finish in time.
    #[error("speech engine `{program}` gave no audio within {} s", RENDER_LIMIT.as_secs())]
    Slow {
        /// The program.
        program: String,
    },
    /// The daemon stops, and nothing more is spoken.
    #[error("speech engine `{program}` was ended because the daemon stops")]
    Stopped {
        /// The program.
        program: String,
    },
    /// It failed or wrote something else than WAV.
    #[error("speech engine `{program}` failed: {detail}")]
    Failed {
        /// The program.
        program: String,
        /// What it said.
        detail: String,
    },
}

impl Speech {
    /// espeak-ng with this voice (`en`, `de`, …).
    #[must_use]
    pub fn espeak(voice: &str) -> Self {
        // 150 words a minute: digits of a read-back must be easy to follow in a noisy hall.
        let args = ["--stdin", "--stdout", "-s", "150", "-v", voice].map(str::to_owned).to_vec();
        Self::command("espeak-ng".to_owned(), args)
    }

    /// Any program that reads a line on standard input and writes WAV to standard output.
    #[must_use]
    pub fn command(program: String, args: Vec<String>) -> Self {
        Self { program, args, stopped: Arc::default(), one: Arc::new(Semaphore::new(1)) }
    }

    /// Looks for the engine's program without running it.
    ///
    /// # Errors
    /// [`SpeechError::Start`] if it is not an executable file on the search path.
    pub fn find(&self) -> Result<(), SpeechError> {
        use std::os::unix::fs::PermissionsExt;
        let runnable = |path: &std::path::Path| {
            path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
        };
        let found = if self.program.contains('/') {
            runnable(std::path::Path::new(&self.program))
        } else {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders).any(|folder| runnable(&folder.join(&self.program)))
        };
        if found {
            return Ok(());
        }
        let cause = std::io::Error::new(std::io::ErrorKind::NotFound, "no such program on the search path");
        Err(SpeechError::Start { program: self.program.clone(), cause })
    }

    /// Speaks a word to nobody: whether the engine can, with the voice it was given.
    ///
    /// # Errors
    /// See [`SpeechError`]; lines of the device's own will not be spoken.
    pub async fn try_out(&self) -> Result<(), SpeechError> {
        self.find()?;
        self.render("Ready.".to_owned()).await.map(drop)
    }

    /// Speaks `text`: mono, 24 kHz. Runs the child on a blocking thread.
    ///
    /// # Errors
    /// See [`SpeechError`]; the line was not spoken.
    pub async fn render(&self, text: String) -> Result<Pcm, SpeechError> {
        let speech = self.clone();
        // The semaphore is never closed, so this only waits.
        let _turn = self.one.acquire().await;
        let rendered = tokio::task::spawn_blocking(move || speech.render_blocking(&text)).await;
        rendered.unwrap_or_else(|cause| {
            Err(SpeechError::Failed { program: self.program.clone(), detail: cause.to_string() })
        })
    }

    /// Ends every child that is at work and lets no other start: for the end of the daemon.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn render_blocking(&self, text: &str) -> Result<Pcm, SpeechError> {
        let failed = |detail: String| SpeechError::Failed { program: self.program.clone(), detail };
        let limits =
            child::Limits { span: RENDER_LIMIT, bytes: clip::MAX_CLIP_BYTES, stopped: &self.stopped };
        let input = text::plain(text) + "\n";
        let ran = child::run(Command::new(&self.program).args(&self.args), input, &limits);
        let ran = ran.map_err(|fault| match fault {
            child::Fault::Start(cause) => SpeechError::Start { program: self.program.clone(), cause },
            child::Fault::System(cause) => failed(cause.to_string()),
            child::Fault::Slow => SpeechError::Slow { program: self.program.clone() },
            child::Fault::Stopped => SpeechError::Stopped { program: self.program.clone() },
        })?;
        if !ran.success {
            return Err(failed(String::from_utf8_lossy(&ran.complaint).trim().chars().take(200).collect()));
        }
        let pcm =
            clip::decode("speech", ran.output, clip::MAX_CLIP).map_err(|cause| failed(cause.to_string()))?;
        Ok(audio::convert(&pcm, Hz::K24))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::{self, Receiver};
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_missing_engine_is_named() {
        let speech = Speech::command("no-such-speech-engine".to_owned(), Vec::new());
        let fault = speech.render("hello".to_owned()).await.expect_err("it does not exist");
        assert!(fault.to_string().contains("`no-such-speech-engine` cannot be started"), "{fault}");
    }

    #[tokio::test]
    async fn what_the_engine_complains_of_is_passed_on() {
        let fault = sh("echo no such voice >&2; exit 3").render("hello".to_owned()).await;
        assert!(fault.expect_err("it exits 3").to_string().ends_with("failed: no such voice"));
    }

    #[tokio::test]
    async fn output_that_is_not_audio_is_an_error() {
        let fault = Speech::command("cat".to_owned(), Vec::new()).render("hello there".to_owned()).await;
        assert!(fault.expect_err("it echoes text").to_string().contains("not WAV"));
    }

    #[tokio::test]
    async fn words_reach_the_engine_on_its_input() {
        // The engine here checks what it reads and answers with a WAV of its own making.
        let script = "read line; [ \"$line\" = 'two words' ] || exit 1; \
            printf 'RIFF\\050\\000\\000\\000WAVEfmt \\020\\000\\000\\000\\001\\000\\001\\000\\300\\135\\000\\000\\200\\273\\000\\000\\002\\000\\020\\000data\\004\\000\\000\\000\\001\\000\\002\\000'";
        let pcm = sh(script).render("two words".to_owned()).await.expect("it is a WAV");
        assert_eq!(pcm.samples(), [1, 2]);
    }

    /// Far longer than a shell takes to start or the kernel to end it, and less than an engine is given.
    const SOON: Duration = Duration::from_secs(8);

    fn sh(script: &str) -> Speech {
        Speech::command("sh".to_owned(), vec!["-c".to_owned(), script.to_owned()])
    }

    /// Renders on a thread that a test need not wait for, so that one which hangs fails.
    fn rendering(speech: &Speech, text: String) -> Receiver<Result<Pcm, SpeechError>> {
        let (done, rendered) = mpsc::channel();
        let speech = speech.clone();
        std::thread::spawn(move || done.send(speech.render_blocking(&text)));
        rendered
    }

    /// Asks again and again until there is an answer; fails after [`SOON`].
    #[track_caller]
    fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + SOON;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < deadline, "{what} within {SOON:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether a process is there and not only waits to be reaped, which is for whoever took it over to do.
    fn is_at_work(pid: u32) -> bool {
        let facts = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        facts.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    }

    /// A file that an engine tells a process id by.
    struct PidFile(PathBuf);

    impl PidFile {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("voiced-speech-{name}-{}", std::process::id())))
        }

        fn pid(&self) -> u32 {
            wait_for("the engine starts", || {
                let text = std::fs::read_to_string(&self.0).unwrap_or_default();
                text.strip_suffix('\n').and_then(|pid| pid.parse().ok())
            })
        }
    }

    impl Drop for PidFile {
        fn drop(&mut self) {
            // It may not have been written.
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn an_engine_is_ended_with_all_it_started_when_the_daemon_stops() {
        let file = PidFile::new("stop");
        // What it started holds its output open, and would after its end.
        let speech = sh(&format!("sleep 300 & echo $! >{}; sleep 300", file.0.display()));
        let rendered = rendering(&speech, "hello".to_owned());
        let started = file.pid();
        assert!(is_at_work(started));
        speech.stop();
        let fault = rendered.recv_timeout(SOON).expect("it does not hang").expect_err("it says nothing");
        assert!(matches!(fault, SpeechError::Stopped { .. }), "{fault}");
        wait_for("what it started ends", || (!is_at_work(started)).then_some(()));
    }

    #[test]
    fn what_an_engine_left_running_is_ended_with_it() {
        // What it started has closed the output, so nothing else shows that it is there.
        for end in ["exit 3", "exit 0"] {
            let file = PidFile::new(end);
            let path = file.0.display();
            let script = format!("sleep 300 <&- >&- 2>&- & echo $! >'{path}'; {end}");
            let rendered = rendering(&sh(&script), "hello".to_owned()).recv_timeout(SOON);
            assert!(matches!(rendered, Ok(Err(SpeechError::Failed { .. }))), "{end}: {rendered:?}");
            let started = file.pid();
            wait_for("what it left ends", || (!is_at_work(started)).then_some(()));
        }
    }

    #[test]
    fn an_engine_that_does_not_read_hangs_nobody() {
        let file = PidFile::new("deaf");
        let speech = sh(&format!("echo $$ >{}; exec sleep 300", file.0.display()));
        // More than a pipe holds.
        let rendered = rendering(&speech, "hello ".repeat(100_000));
        let engine = file.pid();
        speech.stop();
        let fault = rendered.recv_timeout(SOON).expect("it does not hang").expect_err("it says nothing");
        assert!(matches!(fault, SpeechError::Stopped { .. }), "{fault}");
        assert!(!is_at_work(engine));
    }

    #[tokio::test]
    async fn no_engine_starts_once_the_daemon_stops() {
        let file = PidFile::new("late");
        let speech = sh(&format!("echo $$ >{}", file.0.display()));
        speech.stop();
        let fault = speech.render("hello".to_owned()).await.expect_err("it says nothing");
        assert!(matches!(fault, SpeechError::Stopped { .. }), "{fault}");
        assert!(!file.0.exists(), "it was started");
    }
}
