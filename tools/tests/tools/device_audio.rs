// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sound of the device, over one that records what it was told.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tools::device_audio::{AudioError, AudioKit, DeviceAudio, EVENT, Sound};
use tools::{BoxFuture, Cx, Effect, PreCall, Shaped, Status, ToolSet};

struct Recorder {
    sound: Mutex<Sound>,
    orders: Mutex<Vec<String>>,
    voices: Vec<String>,
    /// Another voice comes with the next connection only.
    later: bool,
    fault: Mutex<Option<AudioError>>,
}

impl Recorder {
    fn with_voices(voices: &[&str]) -> Arc<Self> {
        Arc::new(Self::of(voices))
    }

    fn of(voices: &[&str]) -> Self {
        let sound = Sound {
            rate_percent: 100,
            voice: "anna".to_owned(),
            next_voice: None,
            volume_percent: 50,
            muted: false,
        };
        Self {
            sound: Mutex::new(sound),
            orders: Mutex::default(),
            voices: voices.iter().map(|&voice| voice.to_owned()).collect(),
            later: false,
            fault: Mutex::default(),
        }
    }

    fn order(
        &self,
        text: String,
        change: impl FnOnce(&mut Sound),
    ) -> BoxFuture<'static, Result<Sound, AudioError>> {
        self.orders.lock().unwrap().push(text);
        let outcome = match self.fault.lock().unwrap().clone() {
            Some(fault) => Err(fault),
            None => {
                let mut sound = self.sound.lock().unwrap();
                change(&mut sound);
                Ok(sound.clone())
            }
        };
        Box::pin(async move { outcome })
    }

    fn orders(&self) -> Vec<String> {
        std::mem::take(&mut *self.orders.lock().unwrap())
    }
}

impl DeviceAudio for Recorder {
    fn sound(&self) -> Sound {
        self.sound.lock().unwrap().clone()
    }

    fn voices(&self) -> Vec<String> {
        self.voices.clone()
    }

    fn voice_takes_time(&self) -> bool {
        !self.later
    }

    fn set_rate(&self, percent: u16) -> BoxFuture<'static, Result<Sound, AudioError>> {
        self.order(format!("rate {percent}"), |sound| sound.rate_percent = percent)
    }

    fn set_voice(&self, voice: &str) -> BoxFuture<'static, Result<Sound, AudioError>> {
        self.order(format!("voice {voice}"), |sound| {
            let name = voice.to_owned();
            if self.later { sound.next_voice = Some(name) } else { sound.voice = name }
        })
    }

    fn set_volume(&self, percent: u8) -> BoxFuture<'static, Result<Sound, AudioError>> {
        self.order(format!("volume {percent}"), |sound| sound.volume_percent = percent)
    }

    fn mute(&self) -> BoxFuture<'static, Result<Sound, AudioError>> {
        self.order("mute".to_owned(), |sound| sound.muted = true)
    }
}

fn kit(recorder: &Arc<Recorder>) -> ToolSet {
    let audio: Arc<dyn DeviceAudio> = Arc::clone(recorder) as _;
    let kit = Arc::new(AudioKit::new(audio, "Press the green button."));
    ToolSet::builder().component(kit).build().unwrap()
}

async fn call(tools: &ToolSet, name: &str, args: Value) -> Shaped {
    let tool = tools.find(name).unwrap();
    tool.run(tool.prepare(&args).unwrap(), Cx::for_test()).await
}

#[test]
fn the_kit_is_declared_without_a_doubt() {
    let tools = kit(&Recorder::with_voices(&["anna", "ben"]));
    let names = [
        "faster",
        "mute",
        "reset_speech",
        "reset_voice",
        "set_speech_rate",
        "set_voice",
        "set_volume",
        "slower",
    ];
    assert_eq!(tools.names().collect::<Vec<_>>(), names);
    assert_eq!(tools.warnings(), []);
    for tool in tools.iter() {
        assert_eq!((tool.effect(), tool.lane()), (Effect::Local, Some("device_audio")), "{}", tool.name());
    }
    assert!(tools.rules().contains("DEVICE SOUND RULE") && tools.rules().contains("VOICE RULE"));
    assert_eq!(
        tools.find("set_voice").unwrap().schema()["properties"]["voice"]["enum"],
        json!(["anna", "ben"])
    );
    assert_eq!(
        tools.find("set_voice").unwrap().pre_call(),
        Some(&PreCall::IfSilent("Just a moment.".to_owned()))
    );
    assert!(
        tools.find("faster").unwrap().is_repeatable() && !tools.find("set_volume").unwrap().is_repeatable()
    );
}

#[test]
fn a_device_with_one_voice_offers_no_other() {
    let tools = kit(&Recorder::with_voices(&[]));
    assert!(tools.find("set_voice").is_none() && tools.find("reset_voice").is_none());
    assert!(!tools.rules().contains("VOICE RULE"));
}

#[tokio::test(start_paused = true)]
async fn the_pace_is_set_stepped_and_reset() {
    let recorder = Recorder::with_voices(&[]);
    let tools = kit(&recorder);
    let shaped = call(&tools, "set_speech_rate", json!({"percent": 75.0})).await;
    assert_eq!(shaped.body, json!({"status": "success", "message": "You speak at 75 % of the usual pace."}));
    let sound = json!({"rate_percent": 75, "voice": "anna", "volume_percent": 50, "muted": false});
    assert_eq!(shaped.events, [(EVENT.to_owned(), sound)]);
    call(&tools, "faster", json!({})).await;
    for _ in 0..3 {
        call(&tools, "slower", json!({})).await;
    }
    let shaped = call(&tools, "slower", json!({})).await;
    assert_eq!(shaped.body["message"], "You already speak as slow as you can.");
    call(&tools, "reset_speech", json!({})).await;
    assert_eq!(recorder.orders(), ["rate 75", "rate 95", "rate 75", "rate 55", "rate 50", "rate 100"]);
}

#[tokio::test(start_paused = true)]
async fn the_voice_is_changed_and_given_back() {
    let recorder = Recorder::with_voices(&["anna", "ben"]);
    let tools = kit(&recorder);
    assert_eq!(
        call(&tools, "set_voice", json!({"voice": "ben"})).await.body["message"],
        "Your voice is ben."
    );
    assert_eq!(call(&tools, "reset_voice", json!({})).await.body["message"], "Your voice is anna.");
    assert_eq!(recorder.orders(), ["voice ben", "voice anna"]);
    assert!(tools.prepare("set_voice", &json!({"voice": "carl"})).is_err());
}

#[tokio::test(start_paused = true)]
async fn row_129_a_voice_that_comes_later_is_told_as_one_and_nobody_waits_for_it() {
    let recorder = Arc::new(Recorder { later: true, ..Recorder::of(&["anna", "ben"]) });
    let tools = kit(&recorder);
    assert_eq!(tools.warnings(), []);
    assert_eq!(tools.find("set_voice").unwrap().pre_call(), None);
    let shaped = call(&tools, "set_voice", json!({"voice": "ben"})).await;
    assert_eq!(
        shaped.body["message"],
        "Your voice is still anna. It will be ben when the connection is next made, at the latest in the next conversation."
    );
    assert_eq!(shaped.events[0].1["next_voice"], "ben");
}

#[tokio::test(start_paused = true)]
async fn the_volume_never_goes_to_nothing() {
    let recorder = Recorder::with_voices(&[]);
    let tools = kit(&recorder);
    assert_eq!(
        call(&tools, "set_volume", json!({"percent": 10})).await.body["message"],
        "The volume is 10 %."
    );
    for bad in [0, 9, 101] {
        assert!(tools.prepare("set_volume", &json!({"percent": bad})).is_err(), "{bad}");
    }
    assert_eq!(recorder.orders(), ["volume 10"]);
}

#[tokio::test(start_paused = true)]
async fn the_microphone_is_switched_off_and_only_a_hand_switches_it_on() {
    let recorder = Recorder::with_voices(&[]);
    let tools = kit(&recorder);
    let shaped = call(&tools, "mute", json!({})).await;
    assert_eq!(
        shaped.body["message"],
        "The microphone is off. To switch it on again: Press the green button."
    );
    assert!(tools.find("mute").unwrap().needs_result_now(), "the person has to be told how");
    call(&tools, "mute", json!({})).await;
    assert!(recorder.sound().muted);
    assert_eq!(recorder.orders(), ["mute", "mute"]);
    let unmute = json!({"on": true, "muted": false});
    assert_eq!(
        tools.prepare("mute", &unmute),
        Ok(json!({})),
        "no argument of the model's reaches the device"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_device_cannot_do_is_said_plainly() {
    let recorder = Recorder::with_voices(&[]);
    let tools = kit(&recorder);
    for (fault, told) in [
        (AudioError::Unsupported("no mixer".to_owned()), "this device cannot do that"),
        (AudioError::Failed("EIO".to_owned()), "the sound of the device could not be changed"),
    ] {
        *recorder.fault.lock().unwrap() = Some(fault);
        let shaped = call(&tools, "set_volume", json!({"percent": 30})).await;
        assert_eq!(
            (shaped.status, &shaped.body),
            (Status::Error, &json!({"status": "error", "error": told}))
        );
        assert!(shaped.events.is_empty());
    }
}
