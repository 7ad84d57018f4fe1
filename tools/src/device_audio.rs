// SPDX-License-Identifier: MIT OR Apache-2.0

//! How the device sounds, changed by asking: the pace and the voice of its speech, its volume, its microphone.
//!
//! Two things cannot be asked for. The microphone is only ever switched off: once it is off nobody can be heard asking
//! for it back, so what switches it on is in the person's hand (a button, the screen) and never in the model's. And the
//! volume does not go to nothing: the device reads a question back before it acts, and a question that nobody could hear
//! is none.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::declare::{Declaration, Effect, ToolBuilder};
use crate::handler::{HasTools, tool};
use crate::result::{ToolError, ToolResult};

/// Pace of speech, in percent of the voice's own. Beyond these speech is hard to follow, and one live provider allows no
/// more than 150.
pub const RATE_PERCENT: RangeInclusive<u16> = 50..=150;
const RATE_NORMAL: u16 = 100;

/// What "faster" and "slower" mean: the smallest step that is plainly heard.
const RATE_STEP: u16 = 20;

/// Volume, in percent of what the device can do. Quieter than 10 % is not heard over a shop floor.
pub const VOLUME_PERCENT: RangeInclusive<u8> = 10..=100;

/// Time to change the voice: some providers must be connected to anew for it.
const VOICE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time the device may take over a change before the log says so; its audio worker takes orders every 10 ms.
const BUDGET: Duration = Duration::from_millis(100);

/// The name of the event that tells the screen how the device sounds.
pub const EVENT: &str = "device_audio";

const LANE: &str = "device_audio";

const RULES: &str = "\
• DEVICE SOUND RULE (`set_speech_rate`, `faster`, `slower`, `reset_speech`):
  1. When the person asks you to speak faster or slower, call the tool at once and go on with what was being talked \
about. Do not explain the setting.
  2. For \"faster\" or \"slower\" without a number use `faster` or `slower`, and `set_speech_rate` only for a pace they \
name.";

const MUTE_RULES: &str = "\
• MICROPHONE RULE (`mute`):
  1. `mute` switches the microphone off. Call it only when the person plainly asks you to stop listening, never to end a \
conversation. You cannot switch it on again: say how they can.";

const VOICE_RULES: &str = "\
• VOICE RULE (`set_voice`, `reset_voice`):
  1. Change the voice only when the person asks for another one. If they name none, say which there are and ask.
  2. Say of the change what the result says: some devices change their voice only later.";

/// How the device sounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sound {
    /// Pace of speech, in percent of the voice's own.
    pub rate_percent: u16,
    /// Name of the voice.
    pub voice: String,
    /// Name of the voice from the next connection to the provider on, if it will be another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_voice: Option<String>,
    /// Volume, in percent of what the device can do.
    pub volume_percent: u8,
    /// Whether the microphone is off.
    pub muted: bool,
}

/// Why the device does not sound as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AudioError {
    /// This device, or the provider it speaks with, cannot do that at all.
    #[error("not possible: {0}")]
    Unsupported(String),
    /// It should have worked.
    #[error("failed: {0}")]
    Failed(String),
}

/// What can be changed about the sound of a device. An order returns when it holds, with what is true then: a device may
/// come as near as it can.
pub trait DeviceAudio: Send + Sync {
    /// How the device sounds at this moment.
    fn sound(&self) -> Sound;

    /// The voices there are, by the names a person may say. The first is the usual one. None where the voice is fixed.
    fn voices(&self) -> Vec<String>;

    /// Whether the person waits while the voice changes: then the device says so first.
    fn voice_takes_time(&self) -> bool {
        true
    }

    /// Changes the pace of speech.
    ///
    /// # Errors
    /// See [`AudioError`]; the pace is what it was.
    fn set_rate(&self, percent: u16) -> BoxFuture<'static, Result<Sound, AudioError>>;

    /// Changes the voice to one of [`DeviceAudio::voices`], at once or with the next connection.
    ///
    /// # Errors
    /// See [`AudioError`]; the voice is what it was.
    fn set_voice(&self, voice: &str) -> BoxFuture<'static, Result<Sound, AudioError>>;

    /// Changes the volume.
    ///
    /// # Errors
    /// See [`AudioError`]; the volume is what it was.
    fn set_volume(&self, percent: u8) -> BoxFuture<'static, Result<Sound, AudioError>>;

    /// Switches the microphone off. There is no order to switch it on: that is the person's.
    ///
    /// # Errors
    /// See [`AudioError`]; the microphone is on.
    fn mute(&self) -> BoxFuture<'static, Result<Sound, AudioError>>;
}

/// The eight tools over one device.
pub struct AudioKit {
    audio: Arc<dyn DeviceAudio>,
    unmute: String,
    /// `None` is all of them.
    offered: Option<BTreeSet<String>>,
}

impl std::fmt::Debug for AudioKit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AudioKit").field("sound", &self.audio.sound()).finish_non_exhaustive()
    }
}

impl AudioKit {
    /// The tools over `audio`. `unmute` is what the person has to do to be heard again, in a sentence of its own, such as
    /// `Press the green button.`
    #[must_use]
    pub fn new(audio: Arc<dyn DeviceAudio>, unmute: impl Into<String>) -> Self {
        Self { audio, unmute: unmute.into(), offered: None }
    }

    /// Offers the tools of these names only: those that this device can carry out.
    #[must_use]
    pub fn offering<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.offered = Some(names.into_iter().map(str::to_owned).collect());
        self
    }
}

/// Makes you speak at a given pace. Use it when the person names a pace, such as 'half as fast'.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SetSpeechRate {
    /// Percent of the usual pace: 100 is usual, 50 half as fast, 150 half as fast again.
    #[schemars(range(min = 50, max = 150))]
    pub percent: u16,
}

/// Makes you speak one step faster. Use it when the person asks you to speak faster.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Faster {}

/// Makes you speak one step slower. Use it when the person asks you to speak slower or cannot follow.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Slower {}

/// Makes you speak at your usual pace. Use it when the person wants the normal pace back.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResetSpeech {}

/// Changes your voice. Use it when the person asks for another voice.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SetVoice {
    /// Name of the voice.
    pub voice: String,
}

/// Gives you your usual voice. Use it when the person wants the normal voice back.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResetVoice {}

/// Sets how loud you are. Use it when the person asks for louder, quieter or a given volume; without a number, change it
/// by 20.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SetVolume {
    /// Percent of the loudest.
    #[schemars(range(min = 10, max = 100))]
    pub percent: u8,
}

/// Switches the microphone off, so that you hear nothing until the person switches it on by hand. Use it only when the
/// person plainly asks you to stop listening.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Mute {}

impl HasTools for AudioKit {
    /// Without voices to choose from there are no tools for it.
    fn tools(self: Arc<Self>) -> Vec<Declaration> {
        let mut tools = vec![
            self.order("set_speech_rate", |kit, args: SetSpeechRate| kit.rate(args.percent))
                .instruct(RULES)
                .erase(),
            // Said twice it is meant twice.
            self.order("faster", |kit, _: Faster| kit.step(i32::from(RATE_STEP))).repeatable().erase(),
            self.order("slower", |kit, _: Slower| kit.step(-i32::from(RATE_STEP))).repeatable().erase(),
            self.order("reset_speech", |kit, _: ResetSpeech| kit.rate(RATE_NORMAL)).idempotent().erase(),
            self.order("set_volume", |kit, args: SetVolume| kit.volume(args.percent)).idempotent().erase(),
            self.order("mute", |kit, _: Mute| kit.mute())
                .idempotent()
                .needs_result_now()
                .timeout(QUICK_TIMEOUT)
                .instruct(MUTE_RULES)
                .erase(),
        ];
        if let [usual, ..] = self.audio.voices().as_slice() {
            let usual = usual.clone();
            let set = self.order("set_voice", |kit, args: SetVoice| kit.voice(args.voice));
            let reset = self.order("reset_voice", move |kit, _: ResetVoice| kit.voice(usual.clone()));
            let waits = self.audio.voice_takes_time();
            let set = set.choices("voice", self.audio.voices()).instruct(VOICE_RULES);
            tools.push(of_voice(set, waits).erase());
            tools.push(of_voice(reset, waits).erase());
        }
        if let Some(offered) = &self.offered {
            tools.retain(|tool| offered.contains(&tool.name));
        }
        tools
    }
}

/// What nobody waits for happens at once or not at all.
const QUICK_TIMEOUT: Duration = Duration::from_secs(2);

/// What a change of voice needs beyond the other orders, more if it takes its time.
fn of_voice<A: 'static>(order: ToolBuilder<A>, waits: bool) -> ToolBuilder<A> {
    let order = order.idempotent().needs_result_now();
    if waits {
        order.pre_call("Just a moment.").timeout(VOICE_TIMEOUT).budget(VOICE_TIMEOUT / 2)
    } else {
        order.timeout(QUICK_TIMEOUT)
    }
}

type Done = BoxFuture<'static, Result<ToolResult, ToolError>>;

impl AudioKit {
    fn order<A>(
        self: &Arc<Self>,
        name: &str,
        order: impl Fn(&Self, A) -> Done + Send + Sync + 'static,
    ) -> ToolBuilder<A>
    where
        A: for<'de> Deserialize<'de> + JsonSchema + Send + 'static,
    {
        let kit = Arc::clone(self);
        tool(move |args: A| order(&kit, args)).named(name).effect(Effect::Local).lane(LANE).budget(BUDGET)
    }

    fn rate(&self, percent: u16) -> Done {
        let order = self.audio.set_rate(percent);
        done(order, |sound| format!("You speak at {} % of the usual pace.", sound.rate_percent))
    }

    fn step(&self, step: i32) -> Done {
        let rate = i32::from(self.audio.sound().rate_percent);
        let (slowest, fastest) = (i32::from(*RATE_PERCENT.start()), i32::from(*RATE_PERCENT.end()));
        let next = (rate + step).clamp(slowest, fastest);
        match u16::try_from(next) {
            Ok(next) if next != self.audio.sound().rate_percent => self.rate(next),
            Ok(_) | Err(_) => {
                let end = if step > 0 { "fast" } else { "slow" };
                Box::pin(async move { Ok(ToolResult::ok(format!("You already speak as {end} as you can."))) })
            }
        }
    }

    fn voice(&self, voice: String) -> Done {
        done(self.audio.set_voice(&voice), |sound| match &sound.next_voice {
            None => format!("Your voice is {}.", sound.voice),
            Some(next) => format!(
                "Your voice is still {}. It will be {next} when the connection is next made, at the latest in the next \
                 conversation.",
                sound.voice
            ),
        })
    }

    fn volume(&self, percent: u8) -> Done {
        done(self.audio.set_volume(percent), |sound| format!("The volume is {} %.", sound.volume_percent))
    }

    fn mute(&self) -> Done {
        let order = self.audio.mute();
        let text = format!("The microphone is off. To switch it on again: {}", self.unmute);
        let say =
            "Say just that, in 1 short spoken sentence, and nothing after it: you will not hear an answer.";
        Box::pin(async move { Ok(done(order, |_| text).await?.then_say(say)) })
    }
}

/// Carries an order out and says what is true afterwards.
fn done(
    order: BoxFuture<'static, Result<Sound, AudioError>>,
    say: impl FnOnce(&Sound) -> String + Send + 'static,
) -> Done {
    Box::pin(async move {
        match order.await {
            Ok(sound) => Ok(ToolResult::ok(say(&sound)).event(EVENT, &sound)),
            Err(error @ AudioError::Unsupported(_)) => {
                Err(ToolError::public("this device cannot do that").because(error))
            }
            Err(error @ AudioError::Failed(_)) => {
                Err(ToolError::public("the sound of the device could not be changed").because(error))
            }
        }
    })
}
