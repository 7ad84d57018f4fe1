// SPDX-License-Identifier: MIT OR Apache-2.0

//! How the device sounds, as far as a tool may change it: the pace of the model's speech and the volume, which hold at once,
//! and the voice that the next connection has. A tool switches the microphone off and never on: that is the owner's, by a
//! [`Switch`](crate::switch::Switch).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};
use std::time::Duration;

use audio::Command;
use tools::BoxFuture;
use tools::device_audio::{AudioError, DeviceAudio, RATE_PERCENT, Sound as State, VOLUME_PERCENT};
use units::Db;

use crate::voice::Voice;

/// Names of the tools that this device can carry out.
pub const TOOLS: [&str; 8] =
    ["set_volume", "set_speech_rate", "faster", "slower", "reset_speech", "set_voice", "reset_voice", MUTE];

/// The one of them that needs a way back.
pub const MUTE: &str = "mute";

/// Those of them that need voices to choose from.
pub const VOICE_TOOLS: [&str; 2] = ["set_voice", "reset_voice"];

/// How often it is looked whether the audio worker has taken an order, and how often at most: a second in all, a hundred
/// times what it needs.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOKS_MAX: u32 = 100;

/// The sound of the device behind one audio worker and the links of one dialer.
#[derive(Debug)]
pub struct Sound {
    audio: Option<audio::Handle>,
    settings: Settings,
    voices: Vec<String>,
}

/// What holds at this moment. Clones are one.
#[derive(Clone, Debug)]
struct Settings {
    volume_percent: Arc<AtomicU8>,
    rate_percent: Arc<AtomicU16>,
    voice: Voice,
}

impl Settings {
    fn state(&self, muted: bool) -> State {
        State {
            rate_percent: self.rate_percent.load(Ordering::Relaxed),
            voice: self.voice.of_connection().unwrap_or_default(),
            next_voice: self.voice.next(),
            volume_percent: self.volume_percent.load(Ordering::Relaxed),
            muted,
        }
    }
}

impl Sound {
    /// The sound of a worker that was started at `volume`, without which pace and volume cannot be changed. The next link is
    /// made with `voice`, which may become any of `voices`.
    #[must_use]
    pub fn new(audio: Option<audio::Handle>, volume: Db, voice: Voice, voices: Vec<String>) -> Self {
        let volume_percent = Arc::new(AtomicU8::new(percent(volume)));
        let rate_percent = Arc::new(AtomicU16::new(audio::RATE_OWN));
        Self { audio, settings: Settings { volume_percent, rate_percent, voice }, voices }
    }

    /// Orders `command`; once the audio worker obeys it, `keep` stores it. The sound that holds then.
    fn order(
        &self,
        command: Command,
        keep: impl FnOnce(&Settings) + Send + 'static,
    ) -> BoxFuture<'static, Result<State, AudioError>> {
        let (audio, settings) = (self.audio.clone(), self.settings.clone());
        Box::pin(async move {
            let Some(audio) = audio else {
                return Err(AudioError::Failed("no audio worker runs here".to_owned()));
            };
            obeyed(&audio, command).await?;
            keep(&settings);
            Ok(settings.state(audio.is_muted()))
        })
    }
}

impl DeviceAudio for Sound {
    fn sound(&self) -> State {
        self.settings.state(self.audio.as_ref().is_some_and(audio::Handle::is_muted))
    }

    fn voices(&self) -> Vec<String> {
        self.voices.clone()
    }

    fn voice_takes_time(&self) -> bool {
        // It is noted, and that is all.
        false
    }

    fn set_rate(&self, percent: u16) -> BoxFuture<'static, Result<State, AudioError>> {
        let percent = percent.clamp(*RATE_PERCENT.start(), *RATE_PERCENT.end());
        self.order(Command::Rate(percent), move |settings| {
            settings.rate_percent.store(percent, Ordering::Relaxed)
        })
    }

    fn set_voice(&self, voice: &str) -> BoxFuture<'static, Result<State, AudioError>> {
        if !self.voices.iter().any(|known| known == voice) {
            return cannot("there is no such voice");
        }
        self.settings.voice.want(voice);
        let sound = self.sound();
        Box::pin(async move { Ok(sound) })
    }

    fn set_volume(&self, percent: u8) -> BoxFuture<'static, Result<State, AudioError>> {
        let percent = percent.clamp(*VOLUME_PERCENT.start(), *VOLUME_PERCENT.end());
        let keep = move |settings: &Settings| settings.volume_percent.store(percent, Ordering::Relaxed);
        self.order(Command::Volume(level(percent)), keep)
    }

    fn mute(&self) -> BoxFuture<'static, Result<State, AudioError>> {
        self.order(Command::Mute(true), |_| {})
    }
}

/// Gives an order and waits until it holds.
async fn obeyed(audio: &audio::Handle, command: Command) -> Result<(), AudioError> {
    let before = audio.counters().turns;
    audio
        .command(command)
        .map_err(|_| AudioError::Failed("the audio worker takes no commands".to_owned()))?;
    for _ in 0..LOOKS_MAX {
        // The turn under way may have looked for orders before this one came; the next one cannot have.
        if audio.counters().turns >= before + 2 {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(AudioError::Failed("the audio worker does not move".to_owned()))
}

fn cannot(why: &str) -> BoxFuture<'static, Result<State, AudioError>> {
    let error = AudioError::Unsupported(why.to_owned());
    Box::pin(async move { Err(error) })
}

/// How far the lowest volume, 10 %, is below the highest: far enough to be quiet, and it can still be heard.
const RANGE_DB: f32 = 20.0;

/// The level of a volume. Loudness goes with decibels, so each percent is the same step of them: from 100 % at 0 dB to 10 % at
/// -20 dB.
fn level(percent: u8) -> Db {
    Db((f32::from(percent) - 100.0) / 90.0 * RANGE_DB)
}

/// The nearest volume to a level. What is below the lowest volume is 0 %.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
fn percent(level: Db) -> u8 {
    (100.0 + level.0 / RANGE_DB * 90.0).round().clamp(0.0, 100.0) as u8
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use audio::{Engine, Priority, Sink, Source, sim};
    use units::{Hz, Pcm, UtteranceId};

    use super::*;
    use crate::demo::step_through;

    #[tokio::test(start_paused = true)]
    async fn row_129_a_volume_holds_when_its_order_comes_back() {
        let speaker = sim::Speaker::new(Hz::K24);
        let config = audio::Config::new(Source::Silence, Sink::Sim(speaker.clone()));
        let (stepper, handle) = Engine::stepped(config, |_| true).unwrap();
        let utterance = UtteranceId(1);
        let pcm = Pcm::new(Hz::K24, vec![10_000i16; 48_000]);
        handle.command(Command::Append { utterance, priority: Priority::Reply, pcm }).unwrap();
        let sound = Sound::new(Some(handle), Db(-6.0), Voice::new(None), Vec::new());
        assert_eq!(sound.sound().volume_percent, 73);
        let orders = async {
            let quiet = sound.set_volume(10).await.unwrap();
            assert_eq!(quiet.volume_percent, 10);
            tokio::time::sleep(Duration::from_millis(300)).await;
            // Nothing is less than what can be heard.
            assert_eq!(sound.set_volume(0).await.unwrap().volume_percent, 10);
            tokio::time::sleep(Duration::from_millis(300)).await;
            speaker.recorded().samples().last().copied()
        };
        assert_eq!(step_through(stepper, orders).await, Some(1_000));
        assert_eq!(sound.sound().volume_percent, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn row_129_a_pace_holds_when_its_order_comes_back() {
        let config = audio::Config::new(Source::Silence, Sink::Sim(sim::Speaker::new(Hz::K24)));
        let rates = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = Arc::clone(&rates);
        let events = move |event| {
            if let audio::Event::Rate(percent) = event {
                seen.lock().unwrap().push(percent);
            }
            true
        };
        let (stepper, handle) = Engine::stepped(config, events).unwrap();
        let sound = Sound::new(Some(handle), Db(0.0), Voice::new(None), Vec::new());
        assert_eq!(sound.sound().rate_percent, 100);
        let orders = async {
            assert_eq!(sound.set_rate(70).await.unwrap().rate_percent, 70);
            assert_eq!(*rates.lock().unwrap(), [70], "it is told of");
            // Nothing is slower than what can be followed.
            assert_eq!(sound.set_rate(10).await.unwrap().rate_percent, 50);
            assert_eq!(*rates.lock().unwrap(), [70, 50]);
        };
        step_through(stepper, orders).await;
        assert_eq!(sound.sound().rate_percent, 50);
    }

    #[tokio::test(start_paused = true)]
    async fn row_129_an_order_that_nobody_takes_fails_and_changes_nothing() {
        let config = audio::Config::new(Source::Silence, Sink::Null);
        let (_stepper, handle) = Engine::stepped(config, |_| true).unwrap();
        let of = |audio| Sound::new(audio, Db(0.0), Voice::new(None), Vec::new());
        let stuck = of(Some(handle));
        assert_eq!(
            stuck.set_volume(30).await,
            Err(AudioError::Failed("the audio worker does not move".to_owned()))
        );
        assert!(matches!(stuck.set_rate(70).await, Err(AudioError::Failed(_))));
        assert_eq!((stuck.sound().volume_percent, stuck.sound().rate_percent), (100, 100));
        let absent = of(None);
        assert!(matches!(absent.set_volume(30).await, Err(AudioError::Failed(_))));
        assert!(matches!(stuck.mute().await, Err(AudioError::Failed(_))));
        assert!(matches!(absent.mute().await, Err(AudioError::Failed(_))));
        assert!(!stuck.sound().muted && !absent.sound().muted);
    }

    #[tokio::test(start_paused = true)]
    async fn row_129_the_microphone_is_off_when_its_order_comes_back_and_whoever_switches_it_on_is_believed()
    {
        let config = audio::Config::new(Source::Silence, Sink::Null);
        let (stepper, handle) = Engine::stepped(config, |_| true).unwrap();
        let sound = Sound::new(Some(handle.clone()), Db(0.0), Voice::new(None), Vec::new());
        let orders = async {
            assert!(!sound.sound().muted);
            assert!(sound.mute().await.unwrap().muted && handle.is_muted());
            assert!(sound.set_volume(30).await.unwrap().muted, "nothing else changes it");
            assert!(sound.set_rate(120).await.unwrap().muted && handle.is_muted());
            handle.command(Command::Mute(false)).unwrap();
            tokio::time::sleep(Duration::from_millis(30)).await;
            assert!(!sound.sound().muted);
        };
        step_through(stepper, orders).await;
    }

    #[tokio::test]
    async fn row_129_another_voice_is_that_of_the_next_connection_and_this_one_keeps_its_own() {
        let voices = ["Kore", "Puck"].map(str::to_owned);
        let voice = Voice::new(Some("Kore".to_owned()));
        let sound = Sound::new(None, Db(0.0), voice.clone(), voices.into());
        assert_eq!(voice.connect().as_deref(), Some("Kore"));
        let told = |sound: State| (sound.voice, sound.next_voice);
        let puck_next = ("Kore".to_owned(), Some("Puck".to_owned()));
        assert_eq!(told(sound.set_voice("Puck").await.unwrap()), puck_next);
        assert_eq!(told(sound.sound()), puck_next);
        assert_eq!(told(sound.set_voice("Kore").await.unwrap()), ("Kore".to_owned(), None));
        sound.set_voice("Puck").await.unwrap();
        assert_eq!(voice.connect().as_deref(), Some("Puck"));
        assert_eq!(told(sound.sound()), ("Puck".to_owned(), None));
        assert!(matches!(sound.set_voice("Charon").await, Err(AudioError::Unsupported(_))));
        assert_eq!(told(sound.sound()), ("Puck".to_owned(), None));
    }
}
