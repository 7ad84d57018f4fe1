// SPDX-License-Identifier: MIT OR Apache-2.0

//! The person's side of the demo when a person sits in front of it.
//!
//! The rehearsal hears that somebody speaks, not what is said: it follows its script. So a person is told which line
//! comes next, whether they speak it, type it, or let the recording say it.

use std::io::BufRead;

use audio::sim::Microphone;
use rehearsal::demo::PERSON_LINES;
use rehearsal::voices;
use tokio::sync::mpsc::Sender;
use units::{Hz, Instant, Pcm};

use crate::speech::Speech;
use crate::watch::{Moment, Observer};

/// What to say, in order: for a person with a microphone.
pub(super) fn script() -> String {
    let mut text = String::from(
        "the rehearsal does not understand speech: it follows its script. Say these lines, each when it is your turn:\n",
    );
    for line in PERSON_LINES {
        if let Ok(recording) = voices::person(line.id) {
            text.push_str(&format!("  “{}”\n", recording.text));
        }
    }
    text
}

/// A microphone that a person at a keyboard speaks through: Enter says the next line of the script, and anything typed
/// is spoken instead of it. `gone` is told if standard input ends before the script does.
pub(super) fn keyboard(speech: Speech, gone: Sender<String>) -> Microphone {
    let microphone = Microphone::new(Hz::K48, 1);
    let mouth = microphone.clone();
    let (typed, mut lines) = tokio::sync::mpsc::channel::<String>(8);
    // Reading a terminal cannot be interrupted, so it has a thread of its own that ends with the process.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if typed.blocking_send(line).is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        for line in PERSON_LINES {
            let Ok(next) = voices::person(line.id) else { continue };
            super::print(&format!("           [Enter] says “{}”; or type something else to say", next.text));
            let Some(text) = lines.recv().await else {
                let _ = gone.try_send("standard input has ended; --interactive needs a terminal".to_owned());
                return;
            };
            match say(&speech, text.trim(), next.pcm).await {
                Ok(pcm) => mouth.say(&pcm),
                Err(fault) => super::print(&format!("           that could not be said: {fault}")),
            }
        }
    });
    microphone
}

async fn say(speech: &Speech, text: &str, next: Pcm) -> Result<Pcm, crate::speech::SpeechError> {
    if text.is_empty() { Ok(next) } else { speech.render(text.to_owned()).await }
}

/// Tells when a device that a person needs cannot be opened in the first place. One that fails later is opened again.
pub(super) struct Devices {
    gone: Sender<String>,
    opened: Vec<audio::Direction>,
}

impl Devices {
    pub(super) const fn new(gone: Sender<String>) -> Self {
        Self { gone, opened: Vec::new() }
    }
}

impl Observer for Devices {
    fn observe(&mut self, _: Instant, moment: &Moment<'_>) {
        if let Moment::Audio(audio::Event::DeviceUp { direction, .. }) = moment {
            if !self.opened.contains(direction) {
                self.opened.push(*direction);
            }
        } else if let Moment::Audio(audio::Event::DeviceDown { direction, text }) = moment
            && !self.opened.contains(direction)
        {
            // It is told once; the second device may be missing too.
            let _ = self.gone.try_send(text.clone());
        }
    }
}
