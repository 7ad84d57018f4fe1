// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clips that a result brings from the web.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use audio::find::Recording;
use e2e::{Seen, Talk};
use session::{Notice, Spoken};
use tools::http::{DownloadError, Target};
use tools::{BoxFuture, Clip, Effect, ErasedTool, ToolResult};
use units::{Hz, Pcm};
use voiced::clip::store::Fetch;

/// Two seconds that sound like nothing else in a conversation.
#[expect(clippy::cast_possible_truncation, reason = "a quarter of full scale")]
fn sound() -> Pcm {
    let sweep = |n: u32| {
        let t = f64::from(n) / 24_000.0;
        (8_000.0 * (std::f64::consts::TAU * t * (300.0 + 200.0 * t)).sin()) as i16
    };
    Pcm::new(Hz::K24, (0..48_000).map(sweep).collect::<Vec<_>>())
}

fn wav() -> Vec<u8> {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: 24_000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = hound::WavWriter::new(&mut bytes, spec).expect("a header fits in memory");
    sound().samples().iter().for_each(|sample| writer.write_sample(*sample).expect("memory takes samples"));
    writer.finalize().expect("memory can be seeked");
    bytes.into_inner()
}

/// A host that takes its time, on the clock of the conversation.
#[derive(Clone)]
struct Host {
    takes: Duration,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Host {
    fn taking(seconds: u64) -> Self {
        Self { takes: Duration::from_secs(seconds), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

impl Fetch for Host {
    fn fetch(&self, target: Target) -> BoxFuture<'static, Result<Vec<u8>, DownloadError>> {
        self.asked.lock().expect("nobody panics with it").push(target.url().to_string());
        let takes = self.takes;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok(wav())
        })
    }
}

/// A talk by a bundled scenario about sensors, whose tool brings this clip.
fn talk(name: &'static str, scenario: &str, clip: Clip) -> Talk {
    Talk::bundled(name, scenario)
        .set("tools.warehouse.enabled=false")
        .set("tools.egress.allow=[\"sounds.example\", \"127.0.0.1\"]")
        .set("clips.bell=https://sounds.example/bell.wav")
        .tools(move |tools| {
            let schema = serde_json::json!({"type": "object", "properties": {"zone": {"type": "string"}}});
            let clip = clip.clone();
            let read = move |_, _| {
                let clip = clip.clone();
                async move { ToolResult::ok("It is too warm.").then_say("Warn the person.").clip_after(clip) }
            };
            let tool =
                ErasedTool::dynamic("read_warehouse_sensors", "Reads a zone when asked.", schema, read);
            tools.tool(tool.effect(Effect::Read).needs_result_now())
        })
}

/// When the sound was heard, counted from the end of what the model said under this id.
fn heard_after(seen: &Seen, id: &str) -> Option<Duration> {
    let recording = Recording::new(&seen.heard);
    let reply = recording.find(&seen.said(id), Duration::ZERO).expect("the reply is heard");
    let clip = recording.find(&sound(), Duration::ZERO)?;
    let end = reply.at + seen.said(id).span();
    Some(clip.at.checked_sub(end).unwrap_or_else(|| panic!("clip {clip:?} before the end of {reply:?}")))
}

/// How the playout of each clip ended: what was heard of it, and whether it was cut.
fn clips(seen: &Seen) -> Vec<(Duration, bool)> {
    let clip = |notice: &Notice| {
        if let Notice::Played { what: Spoken::Clip, heard, cut, .. } = notice {
            return Some((*heard, *cut));
        }
        None
    };
    seen.notices.iter().filter_map(|(_, notice)| clip(notice)).collect()
}

#[test]
fn t60_a_clip_by_url_is_fetched_while_the_model_talks_and_heard_after_its_reply() {
    // A service of the real web, as far as a socket of this machine is one; the clock of the talk waits for it.
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    let url = format!("http://{}/warn.wav?key=canary", listener.local_addr().expect("it is bound"));
    let service = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("it is called");
        let mut request = [0; 4096];
        let read = stream.read(&mut request).expect("it is asked");
        let body = wav();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).expect("it listens");
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let seen = talk("clip_url", "sensor", Clip::named(url)).says(1_500, "temperature").lasting(16).run();
    seen.assert_clean();
    let request = service.join().expect("it served");
    assert!(request.starts_with("GET /warn.wav?key=canary HTTP/1.1\r\n"), "{request}");
    let after = heard_after(&seen, "too_warm").expect("the clip is heard");
    assert!(after < Duration::from_millis(500), "{after:?}");
    assert_eq!(clips(&seen), [(sound().span(), false)]);
    let told = format!("{:?}{:?}", seen.notices, seen.report.answers);
    assert!(!told.contains("canary") && told.contains("/warn.wav?***"), "{told}");
}

#[test]
fn row_112_a_clip_of_the_configuration_by_url_is_fetched_once_it_is_wanted() {
    let host = Host::taking(2);
    let seen = talk("clip_named", "sensor", "bell".into())
        .clips_by(host.clone())
        .says(1_500, "temperature")
        .lasting(16)
        .run();
    seen.assert_clean();
    assert_eq!(host.asked(), ["https://sounds.example/bell.wav"]);
    assert!(heard_after(&seen, "too_warm").expect("the clip is heard") < Duration::from_millis(500));
    let unasked = Host::taking(2);
    let _ = talk("clip_unasked", "sensor", "bell".into()).clips_by(unasked.clone()).run();
    assert_eq!(unasked.asked(), Vec::<String>::new());
}

#[test]
fn row_112_a_clip_that_comes_after_its_reply_was_heard_plays_when_it_comes_and_not_if_that_takes_too_long() {
    let reply = rehearsal::Voices::bundled().expect("they are sound");
    let reply = reply.find("too_warm").expect("it is recorded").pcm.span().as_secs();
    let late = |name, more| {
        talk(name, "sensor", "https://sounds.example/late.wav".into())
            .clips_by(Host::taking(reply + more))
            .says(1_500, "temperature")
            .lasting(30)
            .run()
    };
    let seen = late("clip_late", 3);
    seen.assert_clean();
    let after = heard_after(&seen, "too_warm").expect("it is waited for");
    assert!((Duration::from_millis(500)..Duration::from_secs(4)).contains(&after), "{after:?}");
    let seen = late("clip_too_late", 8);
    seen.assert_clean();
    assert_eq!(heard_after(&seen, "too_warm"), None);
    assert_eq!(clips(&seen), [(Duration::ZERO, true)], "and its utterance is over all the same");
}

#[test]
fn row_112_a_person_who_speaks_before_the_clip_is_there_does_not_hear_it_unless_it_is_kept() {
    let reply = rehearsal::Voices::bundled().expect("they are sound");
    let reply = reply.find("too_warm").expect("it is recorded").pcm.span();
    let url = "https://sounds.example/late.wav";
    let spoken_over = |name, clip| {
        let host = Host::taking(reply.as_secs() + 4);
        let probe = Talk::bundled("clip_probe", "sensor").says(1_500, "temperature").lasting(14).run();
        let at = Recording::new(&probe.heard)
            .find(&probe.said("too_warm"), Duration::ZERO)
            .expect("it is said")
            .at;
        // A second after the reply was heard.
        let speaks = u64::try_from((at + reply).as_millis()).expect("seconds") + 1_000;
        let seen = talk(name, "sensor", clip).clips_by(host.clone());
        let seen = seen.says(1_500, "temperature").says(speaks, "hello").lasting(40).run();
        assert_eq!(host.asked(), [url], "it is fetched once");
        seen
    };
    let seen = spoken_over("clip_spoken_over", url.into());
    assert_eq!(clips(&seen), [(Duration::ZERO, true)]);
    let seen = spoken_over("clip_kept", Clip::named(url).kept());
    assert_eq!(clips(&seen), [(Duration::ZERO, true), (sound().span(), false)]);
}

#[test]
fn row_112_a_clip_that_may_not_be_fetched_is_left_out_and_the_conversation_goes_on() {
    for (name, clip) in [
        ("clip_elsewhere", "https://elsewhere.example/a.wav"),
        ("clip_clear", "http://sounds.example/a.wav"),
        ("clip_secret", "https://me:secret@sounds.example/a.wav"),
        ("clip_unknown", "gong"),
    ] {
        let host = Host::taking(0);
        let seen = talk(name, "sensor", clip.into())
            .clips_by(host.clone())
            .says(1_500, "temperature")
            .lasting(14)
            .run();
        seen.assert_clean();
        assert_eq!(seen.statuses("read_warehouse_sensors"), ["success"], "{clip}");
        assert!(!seen.said("too_warm").samples().is_empty());
        assert_eq!((clips(&seen), host.asked()), (Vec::new(), Vec::new()), "{clip}");
    }
}
