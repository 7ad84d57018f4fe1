//! How the device sounds, as far as a tool may change it: its volume. The pace and the voice of the model's speech are
//! what the provider sends, and a microphone that a tool has switched off could not be switched on again by anybody, so
//! none of these is offered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use audio::Command;
use tools::BoxFuture;
use tools::device_audio::{AudioError, DeviceAudio, Sound as State, VOLUME_PERCENT};
use units::Db;

/// Names of the tools that this device can carry out.
pub const TOOLS: [&str; 1] = ["set_volume"];

/// How often it is looked whether the audio worker has taken an order, and how often at most: a second in all, a hundred
/// times what it needs.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOKS_MAX: u32 = 100;

/// Pace of speech that is not changed, in percent.
const RATE_PERCENT: u16 = 100;

/// The sound of the device behind one audio worker.
#[derive(Debug)]
pub struct Sound {
    audio: Option<audio::Handle>,
    volume_percent: Arc<AtomicU8>,
}

impl Sound {
    /// The sound of a worker that was started at `volume`. Without a worker nothing can be changed.
    #[must_use]
    pub fn new(audio: Option<audio::Handle>, volume: Db) -> Self {
        Self { audio, volume_percent: Arc::new(AtomicU8::new(percent(volume))) }
    }
}

impl DeviceAudio for Sound {
    fn sound(&self) -> State {
        state(self.volume_percent.load(Ordering::Relaxed))
    }

    fn voices(&self) -> Vec<String> {
        Vec::new()
    }

    fn set_rate(&self, _: u16) -> BoxFuture<'static, Result<State, AudioError>> {
        cannot("the pace of the provider's speech is not changed here")
    }

    fn set_voice(&self, _: &str) -> BoxFuture<'static, Result<State, AudioError>> {
        cannot("the voice is that of the configuration")
    }

    fn set_volume(&self, percent: u8) -> BoxFuture<'static, Result<State, AudioError>> {
        let percent = percent.clamp(*VOLUME_PERCENT.start(), *VOLUME_PERCENT.end());
        let (audio, volume) = (self.audio.clone(), Arc::clone(&self.volume_percent));
        Box::pin(async move {
            let Some(audio) = audio else {
                return Err(AudioError::Failed("no audio worker runs here".to_owned()));
            };
            obeyed(&audio, Command::Volume(level(percent))).await?;
            volume.store(percent, Ordering::Relaxed);
            Ok(state(percent))
        })
    }

    fn mute(&self) -> BoxFuture<'static, Result<State, AudioError>> {
        cannot("nothing on this device switches the microphone on again")
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

const fn state(volume_percent: u8) -> State {
    State { rate_percent: RATE_PERCENT, voice: String::new(), volume_percent, muted: false }
}

/// The level of a volume: percent of the amplitude at 0 dB, so that 10 % is -20 dB and can still be heard.
fn level(percent: u8) -> Db {
    Db::from_amplitude(f32::from(percent) / 100.0)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
fn percent(level: Db) -> u8 {
    (level.amplitude() * 100.0).round().clamp(0.0, 100.0) as u8
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
        let sound = Sound::new(Some(handle), Db(-6.0));
        assert_eq!(sound.sound().volume_percent, 50);
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
    async fn row_129_an_order_that_nobody_takes_fails_and_changes_nothing() {
        let config = audio::Config::new(Source::Silence, Sink::Null);
        let (_stepper, handle) = Engine::stepped(config, |_| true).unwrap();
        let stuck = Sound::new(Some(handle), Db(0.0));
        assert_eq!(
            stuck.set_volume(30).await,
            Err(AudioError::Failed("the audio worker does not move".to_owned()))
        );
        assert_eq!(stuck.sound().volume_percent, 100);
        let absent = Sound::new(None, Db(0.0));
        assert!(matches!(absent.set_volume(30).await, Err(AudioError::Failed(_))));
        assert!(matches!(absent.mute().await, Err(AudioError::Unsupported(_))));
    }
}
