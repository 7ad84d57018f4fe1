//! The device's own voice: a child process that turns a line into WAV.
//!
//! The words go to the child on its standard input, never on its command line, where any user of the device could read
//! them. A line that cannot be spoken is an error the caller must act on: a question nobody heard is not a question.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use units::{Hz, Pcm};

use crate::clip;

/// How long a speech engine may take for one line before it is killed.
pub const RENDER_LIMIT: Duration = Duration::from_secs(10);

/// How often a waiting render looks whether the daemon stops.
const STOP_CHECK: Duration = Duration::from_millis(20);

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
        let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
        Err(SpeechError::Start { program: self.program.clone(), cause })
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
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // With all it starts it is one group, so that all of it can be ended.
            .process_group(0)
            .spawn()
            .map_err(|cause| SpeechError::Start { program: self.program.clone(), cause })?;
        let wav = read_all(child.stdout.take());
        let complaint = read_all(child.stderr.take());
        if let Some(mut stdin) = child.stdin.take() {
            // A child that does not read its input shows in its exit status; there is nothing more to say here.
            let _ = writeln!(stdin, "{}", plain(text));
        }
        let Some((success, wav, complaint)) = self.wait(&mut child, &wav, &complaint) else {
            return Err(SpeechError::Slow { program: self.program.clone() });
        };
        if !success {
            return Err(failed(String::from_utf8_lossy(&complaint).trim().chars().take(200).collect()));
        }
        let pcm = clip::decode("speech", wav).map_err(|cause| failed(cause.to_string()))?;
        Ok(audio::convert(&pcm, Hz::K24))
    }

    /// Waits for the child's end and for that of its output, which somebody it started may hold open. `None` if time was
    /// up or the daemon stops; then the whole group is ended.
    fn wait(
        &self,
        child: &mut Child,
        wav: &Receiver<Vec<u8>>,
        complaint: &Receiver<Vec<u8>>,
    ) -> Option<(bool, Vec<u8>, Vec<u8>)> {
        let started = Instant::now();
        let left = || RENDER_LIMIT.saturating_sub(started.elapsed());
        let read = |output: &Receiver<Vec<u8>>| loop {
            match output.recv_timeout(STOP_CHECK) {
                Ok(bytes) => return Some(bytes),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if left().is_zero() || self.stopped.load(Ordering::Relaxed) {
                        return None;
                    }
                }
            }
        };
        let output = read(wav).and_then(|wav| Some((wav, read(complaint)?)));
        let Some((wav, complaint)) = output else {
            end(child);
            return None;
        };
        // Both ends of its output are closed; a child that stays all the same is given no more time than it had.
        while !left().is_zero() && !self.stopped.load(Ordering::Relaxed) {
            match child.try_wait() {
                Ok(Some(status)) => return Some((status.success(), wav, complaint)),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
        }
        end(child);
        None
    }
}

/// Ends the child and everything it started, and reaps it. It may be gone already.
fn end(child: &mut Child) {
    let group = rustix::process::Pid::from_child(child);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _ = child.wait();
}

/// Reads to the end on a thread of its own, which ends when the last holder of the pipe does.
fn read_all(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (done, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            // Two minutes of 48 kHz WAV; what a runaway engine writes beyond it is left in the pipe, and it is killed.
            let _ = from.take(clip::MAX_CLIP_BYTES).read_to_end(&mut bytes);
        }
        // Nobody may be waiting any longer.
        let _ = done.send(bytes);
    });
    read
}

/// Punctuation that a voice passes over or speaks, as people write it in a message.
const PUNCTUATION: &str = " .,;:!?'\"()-_/&%+@#*=°€$£’‘“”–—…";

/// The first character of `text` that cannot be counted on to be spoken: markup of a speech engine, and what is silent or
/// invisible. A sentence that a person is to agree to must not hold any, or they would agree to something else.
#[must_use]
pub fn unspeakable(text: &str) -> Option<char> {
    text.chars().find(|&char| !char.is_alphanumeric() && !PUNCTUATION.contains(char))
}

/// `text` without what an engine would take for markup: espeak-ng reads `[[…]]` as phonemes and `<…>` as a tag.
fn plain(text: &str) -> String {
    text.chars().map(|char| if unspeakable(&char.to_string()).is_some() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_engine_is_named() {
        let speech = Speech::command("no-such-speech-engine".to_owned(), Vec::new());
        let fault = speech.render("hello".to_owned()).await.expect_err("it does not exist");
        assert!(fault.to_string().contains("`no-such-speech-engine` cannot be started"), "{fault}");
    }

    #[tokio::test]
    async fn what_the_engine_complains_of_is_passed_on() {
        let args = ["-c", "echo no such voice >&2; exit 3"].map(str::to_owned).to_vec();
        let fault = Speech::command("sh".to_owned(), args).render("hello".to_owned()).await;
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
        let speech = Speech::command("sh".to_owned(), vec!["-c".to_owned(), script.to_owned()]);
        let pcm = speech.render("two words".to_owned()).await.expect("it is a WAV");
        assert_eq!(pcm.samples(), [1, 2]);
    }

    #[tokio::test]
    async fn an_engine_whose_child_keeps_the_pipe_open_is_ended_with_it_when_the_daemon_stops() {
        let script = "sleep 300 & echo $! >&2; sleep 300";
        let speech = Speech::command("sh".to_owned(), vec!["-c".to_owned(), script.to_owned()]);
        speech.stop();
        let fault = speech.render("hello".to_owned()).await.expect_err("it says nothing");
        assert!(matches!(fault, SpeechError::Slow { .. }), "{fault}");
    }

    #[test]
    fn markup_and_invisible_characters_are_found_and_not_handed_to_the_engine() {
        assert_eq!(unspeakable("Send 'The dock is closed.' to 0 7 7 0 0, 9 0 0 1 4 2. Is that right?"), None);
        for text in ["a [[pay]]", "a <b>", "a\u{200b}", "a\u{202e}b", "a █", "a\n", "a\u{e000}"] {
            assert!(unspeakable(text).is_some(), "{text:?}");
        }
        assert_eq!(plain("a [[p]] <b>"), "a   p    b ");
    }
}
