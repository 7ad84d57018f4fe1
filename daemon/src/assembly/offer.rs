// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which tools the model is offered: those of the configuration, and those of an integrator.

use std::sync::Arc;

use hal::{EvdevButton, PushButton};
use session::Reading;
use session::lexicon::{Expected, read};
use tools::device_audio::AudioKit;
use tools::http::{HttpClient, Trust};
use tools::kb::{KbLimits, KnowledgeBase, kb_search};
use tools::notify::{HttpOutbox, send_notification};
use tools::{Agreement, BuildError, BuildErrors, ErasedTool, ToolSet, ToolSetBuilder};

use super::{AssemblyError, Bus, Extend};
use crate::config::{Asking, Board, Config, DeclaredTool, Kb, ProcessEnv, ReadBack};
use crate::fault::chain;
use crate::sound::{MUTE, Sound};
use crate::speech;
use crate::voice::Voice;

/// The tools of the configuration and those that `extend` adds, checked together.
///
/// # Errors
/// Every fault of every tool.
pub fn tool_set(config: &Config, extend: &Extend, bus: Bus) -> Result<ToolSet, AssemblyError> {
    tools_over(config, extend, bus, None, Voice::new(config.provider.voice.clone()))
}

/// As [`tool_set`], over this audio worker, without which the volume cannot be changed, and with `voice` as what a tool may
/// change.
pub(super) fn tools_over(
    config: &Config,
    extend: &Extend,
    bus: Bus,
    audio: Option<audio::Handle>,
    voice: Voice,
) -> Result<ToolSet, AssemblyError> {
    if !config.tools.enabled {
        return Ok(ToolSet::default());
    }
    let board = board(config, bus)?;
    let mut builder = ToolSet::builder().timeout(config.tools.timeout);
    if let Some(sensors) = board.sensors {
        builder = builder.hal(sensors);
        if config.tools.warehouse.enabled {
            builder = builder.tool(tools::warehouse::read_warehouse_sensors(warehouse_config(config)));
        }
    } else if config.tools.warehouse.enabled {
        tracing::warn!("read_warehouse_sensors is not offered: hal.board has no sensors");
    }
    if let Some(outputs) = board.outputs {
        builder = builder.hal(outputs);
    }
    if let Some(notify) = &config.tools.notify {
        let token = config.notify_token(&ProcessEnv)?.map(|token| tools::Secret::new(token.expose()));
        let outbox = HttpOutbox::new(&notify.url, token.as_ref(), notify.timeout)?;
        builder = builder.tool(send_notification(Arc::new(outbox), notify.timeout));
    }
    if let Some(kit) = &config.tools.device_audio {
        let sound = Arc::new(Sound::new(audio, config.audio.volume, voice, kit.voices.clone()));
        // Without a way back nobody could be heard asking for it.
        let offered =
            kit.offer.iter().map(String::as_str).filter(|name| *name != MUTE || kit.unmute.is_some());
        let unmute = kit.unmute.clone().unwrap_or_default();
        builder = builder.component(Arc::new(AudioKit::new(sound, unmute).offering(offered)));
    }
    let (mut builder, mut faults) = http_tools(builder, config);
    if let Some(kb) = &config.tools.kb {
        match documents(kb) {
            Ok(knowledge) => builder = builder.tool(kb_search(Arc::new(knowledge))),
            Err(fault) => faults.push(fault),
        }
    }
    let tools = match extend(builder).tool(tools::end::end_session()).build() {
        Ok(tools) => tools,
        Err(BuildErrors(more)) => {
            return Err(BuildErrors(faults.into_iter().chain(more).collect()).into());
        }
    };
    faults.extend(tools.iter().filter_map(unspeakable));
    faults.extend(tools.iter().filter_map(|tool| unaskable(tool, &config.gate.asking)));
    if faults.is_empty() { Ok(tools) } else { Err(BuildErrors(faults).into()) }
}

/// What the device's voice could not say of the question about a tool.
fn unspeakable(tool: &ErasedTool) -> Option<BuildError> {
    let char = speech::unspeakable(&tool.sample_summary()?)?;
    let fault =
        format!("the sentence to be agreed to holds {char:?}, which a voice cannot say: leave it out");
    Some(BuildError { tool: tool.name().to_owned(), fault })
}

/// Words of an answer at most: "that is right".
const ANSWER_WORDS_MAX: usize = 3;

/// What keeps the question about a tool from being asked as it must be.
fn unaskable(tool: &ErasedTool, asked: &Asking) -> Option<BuildError> {
    let asking = tool.asking()?;
    let fault = |fault: String| Some(BuildError { tool: tool.name().to_owned(), fault });
    let by_model = asked.read_back == ReadBack::Model;
    if by_model && (asking.high_risk || asking.repeat_last.is_some() || asking.by == Agreement::Button) {
        return fault(
            "it is high_risk, has digits repeated or takes the button, which the device itself must ask for, and \
             gate.read_back = \"model\": leave one out"
                .to_owned(),
        );
    }
    let sentence = tool.sample_summary()?;
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let ends = (1..=ANSWER_WORDS_MAX.min(words.len())).map(|count| words[words.len() - count..].join(" "));
    let is_answer = |end: &String| {
        let reading = read(asked.locale, &asked.other_locales, end, &Expected::default());
        matches!(reading, Reading::Yes | Reading::No)
    };
    let end = ends.into_iter().find(is_answer)?;
    fault(format!(
        "the sentence to be agreed to ends in {end:?}, which is an answer: its echo would answer it; word it otherwise"
    ))
}

/// The button of the configuration, on a lane of its own.
pub(super) fn button(config: &Config, bus: Bus) -> Result<Option<Arc<PushButton>>, AssemblyError> {
    let Some(button) = &config.hal.button else { return Ok(None) };
    let driver = EvdevButton::new(&button.device, button.key);
    Ok(Some(Arc::new(PushButton::attach(&bus.lane("button")?, Box::new(driver)))))
}

/// Reads the documents that `kb_search` answers from.
fn documents(kb: &Kb) -> Result<KnowledgeBase, BuildError> {
    KnowledgeBase::open(&kb.folder, KbLimits::default()).map_err(|fault| BuildError {
        tool: "kb_search".to_owned(),
        fault: format!("{}: tools.kb.folder: {}", kb.origin, chain(&fault)),
    })
}

/// Adds the tools that a web service carries out, and gives what keeps others of them from being added.
fn http_tools(mut builder: ToolSetBuilder, config: &Config) -> (ToolSetBuilder, Vec<BuildError>) {
    let mut faults = Vec::new();
    let Some(first) = config.http_tools.first() else {
        return (builder, faults);
    };
    let encrypted = config.http_tools.iter().any(|declared| declared.tool.target.is_encrypted());
    let client = match HttpClient::new(if encrypted { Trust::System } else { Trust::Nobody }) {
        Ok(client) => client,
        Err(fault) => {
            // None of them can work, and for one reason.
            faults.push(BuildError { tool: first.tool.name.clone(), fault: chain(&fault) });
            return (builder, faults);
        }
    };
    let mut facts = config.tools.call.clone();
    if facts.device_id.is_empty() {
        facts.device_id = machine_name();
    }
    let facts = Arc::new(facts);
    let secret = |name: &str| config.tool_secret(&ProcessEnv, name).map_err(|fault| fault.to_string());
    for DeclaredTool { tool, origin } in &config.http_tools {
        match tool.declare(&client, &facts, &secret) {
            Ok(declaration) => builder = builder.tool(declaration),
            Err(found) => faults.extend(
                found
                    .into_iter()
                    .map(|fault| BuildError { tool: tool.name.clone(), fault: format!("{origin}: {fault}") }),
            ),
        }
    }
    (builder, faults)
}

/// The name of this machine; empty where nobody gave it one.
fn machine_name() -> String {
    std::fs::read_to_string("/etc/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}

fn board(config: &Config, bus: Bus) -> Result<hal::Board, AssemblyError> {
    Ok(match &config.hal.board {
        Board::None => hal::Board::default(),
        Board::Sim(zones) => {
            if bus == Bus::Thread {
                tracing::info!(
                    "hal.board = \"sim\": the sensors are a simulator; their readings are not real"
                );
            }
            let zones = zones.iter().map(|(name, zone)| (name.as_str(), zone.temp_c, zone.humidity));
            hal::sim::warehouse_of(&bus.lane("sim")?, zones).0
        }
    })
}

fn warehouse_config(config: &Config) -> tools::warehouse::WarehouseConfig {
    let zones = config.tools.warehouse.zones.iter();
    let limits = zones.map(|(name, zone)| {
        (name.clone(), tools::warehouse::Limits { min_c: zone.min_c, max_c: zone.max_c })
    });
    tools::warehouse::WarehouseConfig { limits: limits.collect() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use std::fs;
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::config::{FileSource, Sources};
    use crate::identity::Identity;
    use crate::toolbox::{prepare, run_alone, spec};

    /// A folder with a configuration in it, for one test.
    struct Site(PathBuf);

    impl Site {
        fn new(name: &str, config: &str) -> Self {
            let path = std::env::temp_dir().join(format!("voiced-offer-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("house")).unwrap();
            fs::write(path.join("voiced.toml"), config).unwrap();
            Self(path)
        }

        fn config(&self) -> Config {
            let file = FileSource::Required(self.0.join("voiced.toml"));
            Config::load(&Sources { file, ..Sources::default() }).unwrap().config
        }

        fn tools(&self) -> Result<ToolSet, String> {
            let extend: Extend = Arc::new(|builder| builder);
            tool_set(&self.config(), &extend, Bus::Inline)
                .map_err(|fault| fault.to_string().replace(&format!("{}/", self.0.display()), ""))
        }
    }

    impl Drop for Site {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[tokio::test]
    async fn kb_search_answers_from_the_folder_beside_the_file_that_names_it() {
        let site = Site::new("found", "[tools.kb]\nenabled = true\nfolder = \"house\"\n");
        fs::write(site.0.join("house/hours.md"), "# Opening hours\nThe kiosk is open from 9 to 17.\n")
            .unwrap();
        let tools = site.tools().unwrap();
        let tool = tools.find("kb_search").unwrap();
        let identity = Identity::fixed();
        let permit = session::observing(
            &spec(tool),
            prepare(tool, &identity, &json!({"query": "opening hours"})).unwrap(),
        );
        let outcome = run_alone(&tools, &identity, permit.unwrap()).await.outcome;
        assert_eq!(outcome.status, session::OutcomeStatus::Success);
        assert!(outcome.body.to_string().contains("open from 9 to 17"), "{}", outcome.body);
    }

    #[test]
    fn f3_documents_that_cannot_be_searched_are_a_fault_with_file_and_line_beside_every_other() {
        let config = "[tools.kb]\nenabled = true\nfolder = \"house\"\n[tools.egress]\nallow = [\"127.0.0.1\"]\n\
                      [[tool]]\nname = \"check\"\ndescription = \"Checks.\"\nurl = \"http://127.0.0.1:9/\"\n\
                      effect = \"read\"\nheaders = { X-A = \"${secret:NONE}\" }\n";
        let _ = rustls::crypto::ring::default_provider().install_default();
        let site = Site::new("faults", config);
        let found = site.tools().unwrap_err();
        let kb = "tool `kb_search`: voiced.toml:3: tools.kb.folder: house holds no .md or .txt file with text in it";
        assert!(found.lines().any(|line| line == kb), "{found}");
        assert!(found.contains("no secret `NONE`"), "{found}");

        fs::write(site.0.join("house/latin.txt"), b"caf\xe9").unwrap();
        let found = site.tools().unwrap_err();
        assert!(
            found.contains("voiced.toml:3: tools.kb.folder: house/latin.txt is not UTF-8 text"),
            "{found}"
        );
        fs::remove_dir_all(site.0.join("house")).unwrap();
        let found = site.tools().unwrap_err();
        assert!(found.contains("tools.kb.folder: house cannot be read: No such file"), "{found}");
    }

    #[test]
    fn row_129_only_tools_of_the_sound_that_can_be_carried_out_are_offered() {
        let site = Site::new("sound", "[tools]\nwarehouse.enabled = false\ndevice_audio.enabled = true\n");
        let of_pace_and_volume =
            ["end_session", "faster", "reset_speech", "set_speech_rate", "set_volume", "slower"];
        assert_eq!(site.tools().unwrap().names().collect::<Vec<_>>(), of_pace_and_volume);
        let config = "[tools]\nwarehouse.enabled = false\ndevice_audio.enabled = true\n\
                      device_audio.offer = [\"set_volume\", \"set_voice\", \"reset_voice\"]\n\
                      device_audio.voices = [\"Puck\", \"Kore\"]\n";
        let site = Site::new("voices", config);
        let tools = site.tools().unwrap();
        assert_eq!(
            tools.names().collect::<Vec<_>>(),
            ["end_session", "reset_voice", "set_voice", "set_volume"]
        );
        let usual_first = json!(["Kore", "Puck"]);
        assert_eq!(tools.find("set_voice").unwrap().schema()["properties"]["voice"]["enum"], usual_first);
        let config = "[tools]\nwarehouse.enabled = false\ndevice_audio.enabled = true\n\
                      device_audio.offer = [\"set_volume\", \"mute\"]\ndevice_audio.unmute = \"Press the green button.\"\n";
        let tools = Site::new("mute", config).tools().unwrap();
        assert_eq!(tools.names().collect::<Vec<_>>(), ["end_session", "mute", "set_volume"]);
        let site = Site::new("silent", "[tools]\nwarehouse.enabled = false\n");
        assert_eq!(site.tools().unwrap().names().collect::<Vec<_>>(), ["end_session"]);
    }

    #[test]
    fn f3_a_question_that_no_voice_can_ask_is_a_fault_before_anybody_is_asked() {
        let site = Site::new("question", "[tools]\nwarehouse.enabled = false\n");
        let extend: Extend = Arc::new(|builder: ToolSetBuilder| {
            let schema = json!({"type": "object", "properties": {"form": {"type": "string"}}});
            let stamp = ErasedTool::dynamic("stamp", "Stamps it when asked.", schema, |_, _| async {});
            let ask = |_: &serde_json::Value| "Stamp it █.".to_owned();
            builder.tool(stamp.gate(tools::Gate::voice(ask)))
        });
        let found = tool_set(&site.config(), &extend, Bus::Inline).unwrap_err().to_string();
        assert_eq!(
            found,
            "tool `stamp`: the sentence to be agreed to holds '█', which a voice cannot say: leave it out"
        );
    }

    #[test]
    fn f3_a_question_that_ends_in_an_answer_or_that_nobody_could_ask_is_a_fault() {
        let found = |config: &str, gate: fn() -> tools::Gate<serde_json::Value>| {
            let config = format!("[tools]\nwarehouse.enabled = false\n{config}");
            let file = FileSource::Text("voiced.toml".into(), config);
            let config = Config::load(&Sources { file, ..Sources::default() }).unwrap().config;
            let extend: Extend = Arc::new(move |builder: ToolSetBuilder| {
                let schema = json!({"type": "object", "properties": {}});
                let act = ErasedTool::dynamic("act", "Acts when asked.", schema, |_, _| async {});
                builder.tool(act.gate(gate()))
            });
            tool_set(&config, &extend, Bus::Inline).map(drop).map_err(|fault| fault.to_string())
        };
        let ends = |sentence: &str| {
            format!(
                "tool `act`: the sentence to be agreed to ends in {sentence:?}, which is an answer: its echo would answer it; word it \
             otherwise"
            )
        };
        assert_eq!(found("", || tools::Gate::voice(|_| "Open it, yes.".to_owned())), Err(ends("yes.")));
        assert_eq!(found("", || tools::Gate::touch(|_| "Say go ahead".to_owned())), Err(ends("go ahead")));
        assert_eq!(found("", || tools::Gate::voice(|_| "Say no!".to_owned())), Err(ends("no!")));
        let fine = || tools::Gate::voice(|_| "Send yes to number 4.".to_owned());
        assert_eq!(found("", fine), Ok(()));
        let by_model = "[gate]\nread_back = \"model\"\n";
        assert_eq!(found(by_model, fine), Ok(()));
        for gate in [
            || tools::Gate::voice(|_| "Open it.".to_owned()).high_risk(),
            || tools::Gate::button(|_| "Open it.".to_owned()),
            || tools::Gate::voice(|_| "Open 12.".to_owned()).slots(|_| vec!["12".to_owned()]).repeat_last(2),
        ] {
            assert!(found(by_model, gate).unwrap_err().contains("gate.read_back = \"model\""));
            assert_eq!(found("", gate), Ok(()));
        }
    }

    #[test]
    fn row_142_one_key_is_the_time_of_every_tool_that_sets_none() {
        let config = "[tools]\ntimeout_s = 3\nkb.enabled = true\nkb.folder = \"house\"\n[tools.egress]\nallow = [\"127.0.0.1\"]\n\
                      [[tool]]\nname = \"plain\"\ndescription = \"Checks.\"\nurl = \"http://127.0.0.1:9/\"\neffect = \"read\"\n\
                      [[tool]]\nname = \"timed\"\ndescription = \"Checks.\"\nurl = \"http://127.0.0.1:9/\"\neffect = \"read\"\n\
                      timeout_seconds = 2.5\n\
                      [[mcp]]\nname = \"plain\"\nurl = \"http://127.0.0.1:9/\"\n\
                      [[mcp]]\nname = \"timed\"\nurl = \"http://127.0.0.1:9/\"\ntimeout_seconds = 20\n";
        let _ = rustls::crypto::ring::default_provider().install_default();
        let site = Site::new("time", config);
        fs::write(site.0.join("house/hours.md"), "# Opening hours\nFrom 9 to 17.\n").unwrap();
        let tools = site.tools().unwrap();
        let time = |name: &str| tools.find(name).unwrap().timeout().as_millis();
        assert_eq!(
            ["read_warehouse_sensors", "end_session", "plain", "timed"].map(time),
            [3000, 3000, 3000, 2500]
        );
        assert_ne!(time("kb_search"), 3000, "it has a time of its own");
        let servers: Vec<u64> = site.config().mcp.iter().map(|server| server.timeout.as_secs()).collect();
        assert_eq!(servers, [3, 20]);
    }

    #[test]
    fn kb_search_is_not_there_unless_it_is_switched_on() {
        let site = Site::new("off", "[tools.kb]\nfolder = \"nowhere\"\n");
        assert!(site.tools().unwrap().find("kb_search").is_none());
    }
}
