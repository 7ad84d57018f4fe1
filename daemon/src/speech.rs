//! The device's own voice: a child process that turns a line into WAV.
//!
//! The words go to the child on its standard input, never on its command line, where any user of the device could read
//! them. A line that cannot be spoken is an error the caller must act on: a question nobody heard is not a question.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use units::{Hz, Pcm};

use crate::clip;

/// How long a speech engine may take for one line before it is killed.
pub const RENDER_LIMIT: Duration = Duration::from_secs(10);

/// How the device speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speech {
    program: String,
    args: Vec<String>,
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
        Self { program: "espeak-ng".to_owned(), args }
    }

    /// Any program that reads a line on standard input and writes WAV to standard output.
    #[must_use]
    pub fn command(program: String, args: Vec<String>) -> Self {
        Self { program, args }
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
        let rendered = tokio::task::spawn_blocking(move || speech.render_blocking(&text)).await;
        rendered.unwrap_or_else(|cause| {
            Err(SpeechError::Failed { program: self.program.clone(), detail: cause.to_string() })
        })
    }

    fn render_blocking(&self, text: &str) -> Result<Pcm, SpeechError> {
        let failed = |detail: String| SpeechError::Failed { program: self.program.clone(), detail };
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| SpeechError::Start { program: self.program.clone(), cause })?;
        let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (exit, wav, complaint) = std::thread::scope(|scope| {
            let wav = scope.spawn(|| read_all(stdout));
            let complaint = scope.spawn(|| read_all(stderr));
            if let Some(stdin) = stdin.as_mut() {
                // A child that does not read its input shows in its exit status; there is nothing more to say here.
                let _ = writeln!(stdin, "{text}");
            }
            drop(stdin.take());
            let exit = wait(&mut child);
            (exit, wav.join().unwrap_or_default(), complaint.join().unwrap_or_default())
        });
        match exit {
            None => Err(SpeechError::Slow { program: self.program.clone() }),
            Some(false) => {
                Err(failed(String::from_utf8_lossy(&complaint).trim().chars().take(200).collect()))
            }
            Some(true) => {
                let pcm = clip::decode("speech", wav).map_err(|cause| failed(cause.to_string()))?;
                Ok(audio::convert(&pcm, Hz::K24))
            }
        }
    }
}

fn read_all(from: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // Two minutes of 48 kHz WAV; what a runaway engine writes beyond it is left in the pipe, and it is killed.
        let _ = from.take(clip::MAX_CLIP_BYTES).read_to_end(&mut bytes);
    }
    bytes
}

/// Waits for the child: `Some(success)`, or `None` if it had to be killed.
fn wait(child: &mut Child) -> Option<bool> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if started.elapsed() < RENDER_LIMIT => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                // It may be gone already; either way it is reaped here.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
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
}
