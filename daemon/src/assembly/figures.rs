// SPDX-License-Identifier: MIT OR Apache-2.0

//! The figures of the session, from the configuration.

use session::{GateConfig, ReadBack};
use tools::{Agreement, ErasedTool, ToolSet};

use super::speech;
use crate::config::{self, Config, EngageMode};

pub(super) fn session_config(config: &Config) -> session::Config {
    session::Config {
        engage: match config.engage.mode {
            EngageMode::Always => session::Engage::Always,
            EngageMode::Voice => session::Engage::Voice { idle_after: config.engage.idle_after },
        },
        preroll_max: config.engage.preroll,
        barge_in_min_speech: config.barge_in.min_speech,
        max_follow_ups: config.tools.profile.max_follow_ups(),
        gate: gate_config(config),
        ..session::Config::default()
    }
}

fn gate_config(config: &Config) -> GateConfig {
    let config::Gate { asking, limits, deadline, grant, attempts, log: _ } = &config.gate;
    GateConfig {
        deadline: *deadline,
        grant: *grant,
        attempts: u32::from(*attempts),
        locale: asking.locale,
        other_locales: asking.other_locales.clone(),
        read_back: match asking.read_back {
            config::ReadBack::Device => ReadBack::Device,
            // The engine may be installed for it later: it is looked for at the start.
            config::ReadBack::Model => ReadBack::Model { then_device: speech(config).find().is_ok() },
        },
        accept_preasked: asking.accept_preasked,
        own_microphone: asking.trust_capture || config.audio.capture.hears_the_room(),
        proposals: usize::from(limits.proposals),
        declines: usize::from(limits.declines),
        violations: usize::from(limits.violations),
        effects: usize::from(limits.effects),
        ..GateConfig::default()
    }
}

/// What keeps people from agreeing, for whoever starts the daemon.
pub(super) fn cautions(gate: &GateConfig, screen: bool, config: &Config, tools: &ToolSet) -> Vec<String> {
    let mut cautions = Vec::new();
    let by = |wanted: fn(Agreement) -> bool| {
        tools.iter().filter(move |tool| tool.asking().is_some_and(|asking| wanted(asking.by)))
    };
    if !gate.own_microphone && by(takes_a_voice).next().is_some() {
        cautions.push(format!(
            "nothing that is said is taken for consent: audio.capture = {:?} is not known to be the room this device is in; \
             gate.trust_capture = true says that it is",
            config.audio.capture
        ));
    }
    if !gate.button {
        cautions.extend(by(|by| by == Agreement::Button).map(|tool| {
            format!(
                "nobody can agree to tool `{}`: it takes the button, and hal.button.device names none",
                tool.name()
            )
        }));
    }
    if !screen {
        cautions.extend(by(|by| matches!(by, Agreement::Touch | Agreement::Both)).map(|tool| {
            format!(
                "nobody can agree to tool `{}`: it takes a tap, and this program draws no screen (see `voiced::screen`); another \
                 way to agree is `consent`, or the gate of the tool",
                tool.name()
            )
        }));
    }
    cautions.extend(config.gate.log.fields.keys().filter_map(|place| unknown_place(place, config, tools)));
    cautions
}

/// What is wrong with the place of a policy of the gate log.
fn unknown_place((name, field): &(String, String), config: &Config, tools: &ToolSet) -> Option<String> {
    let wrong = match tools.find(name).map(ErasedTool::schema) {
        Some(schema) => {
            let argument = field.split(['.', '[']).next().unwrap_or_default();
            let is_known = schema.get("properties").is_some_and(|known| known.get(argument).is_some());
            (!is_known).then_some("the tool has no such argument")?
        }
        // A server may bring it later.
        None => config.mcp.is_empty().then_some("there is no such tool")?,
    };
    Some(format!("gate.log.fields: `{name}.{field}`: {wrong}, so its policy holds for nothing"))
}

const fn takes_a_voice(by: Agreement) -> bool {
    match by {
        Agreement::Voice | Agreement::VoiceOrTouch | Agreement::Both => true,
        Agreement::Touch | Agreement::Button => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use session::lexicon::Locale;
    use tools::{ErasedTool, Gate};

    use super::*;

    fn set(keys: &[&str]) -> Config {
        let set = keys.iter().map(ToString::to_string).collect();
        let loaded = Config::load(&config::Sources { set, ..Default::default() });
        loaded.unwrap_or_else(|faults| panic!("{faults}")).config
    }

    #[test]
    fn row_58_the_profile_of_the_configuration_is_the_cap_of_the_session() {
        for (profile, cap) in [("default", 6), ("voxa", 3)] {
            let config = set(&[&format!("tools.profile={profile}")]);
            assert_eq!(session_config(&config).max_follow_ups, cap, "{profile}");
        }
    }

    #[test]
    fn the_keys_of_the_gate_are_the_figures_of_the_session() {
        assert_eq!(session_config(&set(&[])).gate, GateConfig::default(), "as shipped");
        let config = set(&[
            "gate.locale=es",
            "gate.other_locales=[\"en\"]",
            "gate.accept_preasked=true",
            "gate.deadline_s=60",
            "gate.grant_s=20",
            "gate.attempts=3",
            "gate.proposals=4",
            "gate.declines=5",
            "gate.violations=6",
            "gate.effects=7",
        ]);
        let expected = GateConfig {
            locale: Locale::Es,
            other_locales: vec![Locale::En],
            accept_preasked: true,
            deadline: std::time::Duration::from_secs(60),
            grant: std::time::Duration::from_secs(20),
            attempts: 3,
            proposals: 4,
            declines: 5,
            violations: 6,
            effects: 7,
            ..GateConfig::default()
        };
        assert_eq!(session_config(&config).gate, expected);
        let config =
            set(&["gate.read_back=model", "speech.engine=command", "speech.command=[\"/no/such/engine\"]"]);
        assert_eq!(session_config(&config).gate.read_back, ReadBack::Model { then_device: false });
    }

    #[test]
    fn e10_a_file_is_not_the_room_unless_somebody_says_so() {
        let own = |keys: &[&str]| session_config(&set(keys)).gate.own_microphone;
        assert!(own(&[]));
        assert!(!own(&["audio.capture=file:person.wav"]));
        assert!(own(&["audio.capture=file:person.wav", "gate.trust_capture=true"]));
    }

    #[test]
    fn what_nobody_could_agree_to_is_said_at_the_start() {
        let tools = |gate: Gate<Value>| {
            let schema = json!({"type": "object", "properties": {}});
            let act = ErasedTool::dynamic("act", "Acts when asked.", schema, |_, _| async {});
            let tools = ToolSet::builder().tool(act.gate(gate)).build();
            tools.unwrap_or_else(|faults| panic!("{faults}"))
        };
        let by_button = tools(Gate::button(|_| "Do it.".to_owned()));
        let by_voice = tools(Gate::voice(|_| "Do it.".to_owned()));
        let by_touch = tools(Gate::touch(|_| "Do it.".to_owned()));
        let told_with = |screen: bool, keys: &[&str], tools: &ToolSet| {
            let config = set(keys);
            cautions(&session_config(&config).gate, screen, &config, tools)
        };
        let told = |keys: &[&str], tools: &ToolSet| told_with(true, keys, tools);
        assert!(told(&[], &by_voice).is_empty() && told(&[], &by_touch).is_empty());
        assert!(told_with(false, &[], &by_voice).is_empty());
        assert!(
            told_with(false, &[], &by_touch)[0].starts_with("nobody can agree to tool `act`: it takes a tap")
        );
        assert!(told(&[], &by_button)[0].starts_with("nobody can agree to tool `act`: it takes the button"));
        let place = |place: &str| told(&[&format!("gate.log.fields=[\"{place} = plain\"]")], &by_voice);
        assert!(place("act.note").first().is_some_and(|text| text.contains("no such argument")));
        assert!(place("acts.note").first().is_some_and(|text| text.contains("no such tool")));
        let file = ["audio.capture=file:person.wav"];
        assert!(told(&file, &by_voice)[0].starts_with("nothing that is said is taken for consent"));
        assert!(told(&file, &by_touch).is_empty());
    }
}
