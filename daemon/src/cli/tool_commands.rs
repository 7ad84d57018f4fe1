// SPDX-License-Identifier: MIT OR Apache-2.0

//! `voiced tools`: what the model is offered, and one tool run exactly as a live call would.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Subcommand;
use serde_json::{Value, json};
use session::{NeedsConsent, OutcomeStatus, Permit, PreCall};
use tokio::runtime::Runtime;
use tools::mcp::Joined;
use tools::{Agreement, Asking, ErasedTool, ToolSet};

use super::run::start_log;
use super::tool_report;
use super::{EXIT_CONFIG, EXIT_INTERNAL, fail, note, print, runtime};
use crate::assembly::{self, Bus, Extend};
use crate::clock::millis;
use crate::config::{Asking as Asked, Config};
use crate::fault::chain;
use crate::identity::Identity;
use crate::sound::{TOOLS, VOICE_TOOLS};
use crate::toolbox::{self, Trial, run_alone};
use crate::tooling::{self, COMMAND_LIMIT};

#[derive(Debug, Subcommand)]
pub(super) enum ToolsCommand {
    #[command(flatten)]
    Configured(Configured),
    /// Turn tools that are declared as JSON objects into `[[tool]]` tables, on standard output
    Import {
        /// A list of them, or an object that has one under "tools"; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// What is done with the tools of the configuration.
#[derive(Debug, Subcommand)]
pub(super) enum Configured {
    /// What the model is offered: name, effect, and whether a person is asked first
    List {
        /// One JSON array with schemas instead of a table
        #[arg(long)]
        json: bool,
    },
    /// One tool whole: description, schema, rules, limits
    Show {
        /// Its name
        name: String,
    },
    /// Run one tool as a live call would: same checks, same shaping; a gated tool still asks
    Test {
        /// Its name
        name: String,
        /// Its arguments, a JSON object
        #[arg(long, default_value = "{}", value_name = "JSON")]
        args: String,
    },
    /// What the records of a device say about its tools: calls, failures, times, and marks that look wrong
    Report {
        /// Files that `log.records` has written, oldest first
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// One JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
}

/// What a service reads where a conversation has its ids.
const TRIAL: &str = "test";

/// Items of a list that a person keeps in mind who only hears it.
const SPOKEN_ITEMS_MAX: usize = 5;

pub(super) fn run(command: Configured, config: &Config, extend: &Extend) -> ExitCode {
    // What a tool logs, such as why a service did not answer, is half of what a trial is for.
    start_log(config.log.level);
    let config = match command {
        Configured::Test { .. } => &on_trial(config),
        Configured::List { .. } | Configured::Show { .. } | Configured::Report { .. } => config,
    };
    let native = match assembly::tool_set(config, extend, Bus::Thread) {
        Ok(tools) => tools,
        Err(fault) => return fail(EXIT_CONFIG, chain(&fault)),
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(cause) => {
            return fail(EXIT_INTERNAL, format_args!("the async runtime cannot be started: {cause}"));
        }
    };
    let code = with_tools(command, config, &native, &runtime);
    // A blocking thread that hangs (a resolver) must not hold up the end of the process.
    runtime.shutdown_background();
    code
}

/// Does it with the servers up, as a call needs them.
fn with_tools(command: Configured, config: &Config, native: &ToolSet, runtime: &Runtime) -> ExitCode {
    let servers = runtime.block_on(async {
        let servers = tooling::servers(config);
        for missing in servers.settled(COMMAND_LIMIT).await {
            note(format_args!("caution: {missing}"));
        }
        servers
    });
    let Joined { tools, left_out } = servers.joined(native);
    for left in left_out {
        note(format_args!("caution: {left}"));
    }
    match command {
        Configured::List { json: true } => {
            print(&json!(tools.iter().map(as_value).collect::<Vec<_>>()).to_string())
        }
        Configured::List { json: false } => print(&tools.iter().map(as_row).collect::<Vec<_>>().join("\n")),
        Configured::Show { name } => match find(&tools, &name) {
            Ok(tool) => print(&format!("{:#}", as_value(tool))),
            Err(code) => code,
        },
        Configured::Report { files, json } => tool_report::report(&files, &tools, json),
        Configured::Test { name, args } => match find(&tools, &name) {
            Ok(tool) => test(config, &tools, tool, &args, runtime),
            Err(code) => code,
        },
    }
}

fn find<'a>(tools: &'a ToolSet, name: &str) -> Result<&'a ErasedTool, ExitCode> {
    tools.find(name).ok_or_else(|| {
        let known = tools.names().collect::<Vec<_>>().join(", ");
        let off = switch_of(name).map(|key| format!("; `{key}` offers it")).unwrap_or_default();
        fail(2, format_args!("there is no tool `{name}`{off}; there are: {known}"))
    })
}

/// The key that offers a tool of a kit.
fn switch_of(name: &str) -> Option<&'static str> {
    match name {
        "kb_search" => Some("tools.kb.enabled"),
        "read_warehouse_sensors" => Some("tools.warehouse.enabled"),
        "send_notification" => Some("tools.notify.enabled"),
        name if TOOLS.contains(&name) => Some("tools.device_audio.enabled"),
        _ => None,
    }
}

fn as_row(tool: &ErasedTool) -> String {
    let (consent, why) = match (tool.asking(), tool.ungated()) {
        (Some(asking), _) => (asks(asking), String::new()),
        (None, Some(reason)) => ("asks nobody".to_owned(), format!(" Asks nobody because: {reason}")),
        (None, None) => (String::new(), String::new()),
    };
    let head = tool.description().split(". ").next().unwrap_or_default().trim_end_matches('.');
    format!("{:<26} {:<9} {consent:<44} {head}.{why}", tool.name(), effect(tool))
}

/// By what a person agrees, and what a spoken answer must hold.
fn asks(asking: Asking) -> String {
    let by = match asking.by {
        Agreement::Voice => "voice",
        Agreement::Touch => "a tap",
        Agreement::Button => "the button",
        Agreement::VoiceOrTouch => "voice or a tap",
        Agreement::Both => "voice and a tap",
    };
    let code = if asking.high_risk { ", with a code" } else { "" };
    let digits = asking.repeat_last.map(|digits| format!(", with {digits} digits")).unwrap_or_default();
    format!("asks: {by}{code}{digits}")
}

/// Whether a spoken yes is all that it takes.
fn is_a_plain_yes(asking: Asking) -> bool {
    let by_voice = matches!(asking.by, Agreement::Voice | Agreement::VoiceOrTouch);
    by_voice && !asking.high_risk && asking.repeat_last.is_none()
}

fn as_value(tool: &ErasedTool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description(),
        "effect": effect(tool),
        "gated": tool.is_gated(),
        "agreed_to_by": tool.asking().map(|asking| asking.by.as_str()),
        "high_risk": tool.asking().is_some_and(|asking| asking.high_risk),
        "repeat_last": tool.asking().and_then(|asking| asking.repeat_last),
        "looks_once_more": tool.has_recheck(),
        "ungated_because": tool.ungated(),
        "needs_result_now": tool.needs_result_now(),
        "timeout_s": tool.timeout().as_secs_f64(),
        "said_before_it_runs": spoken_first(tool),
        "undone_by": tool.undone_by(),
        "parameters": tool.schema(),
        "rules": tool.rules(),
    })
}

fn spoken_first(tool: &ErasedTool) -> Option<String> {
    toolbox::spec(tool).pre_call.map(|line| match line {
        PreCall::Always(text) | PreCall::IfSilent(text) => text,
    })
}

fn effect(tool: &ErasedTool) -> &'static str {
    match tool.effect() {
        tools::Effect::Read => "read",
        tools::Effect::Local => "local",
        tools::Effect::Outbound => "outbound",
    }
}

/// Runs one tool and prints what a live call would have brought: `ok`, `status`, `elapsed_ms`, `response`,
/// `sent_to_model`.
fn test(config: &Config, tools: &ToolSet, tool: &ErasedTool, args: &str, runtime: &Runtime) -> ExitCode {
    if TOOLS.contains(&tool.name()) && !VOICE_TOOLS.contains(&tool.name()) {
        return fail(
            2,
            "this tool changes the sound of a daemon that runs, and here is none: ask for it in a conversation",
        );
    }
    let args: Value = match serde_json::from_str(args) {
        Ok(args) => args,
        Err(cause) => return fail(2, format_args!("--args is not JSON: {cause}")),
    };
    let identity = Identity::load(None).named(TRIAL);
    let spec = toolbox::spec(tool);
    let prepared = match toolbox::prepare(tool, &identity, &args) {
        Ok(prepared) => prepared,
        Err(detail) => {
            let body = json!({"status": "error", "error": "invalid arguments", "detail": detail});
            return report(false, 0, &body);
        }
    };
    let permit = match session::observing(&spec, prepared.clone()) {
        Ok(permit) => permit,
        Err(NeedsConsent) => match ask(&config.gate.asking, tool, &spec, prepared) {
            Ok(permit) => permit,
            Err(code) => return code,
        },
    };
    let started = Instant::now();
    let Trial { outcome, events, became_job, lines, notes } =
        runtime.block_on(run_alone(tools, &identity, permit));
    let elapsed_ms = millis(started.elapsed());
    for event in &events {
        note(format_args!("screen event {}: {}", event.name, event.payload));
    }
    if became_job {
        note(
            "it becomes a job: in a conversation it is answered at once that it runs, and this is told when it comes",
        );
    }
    if let Some(clip) = &outcome.clip_after {
        note(format_args!("a clip is played: {clip}"));
    }
    for line in &lines {
        note(format_args!("the device says: {line}"));
    }
    for told in &notes {
        note(format_args!("the model is told: {told}"));
    }
    note(format_args!("the model reads {} characters", outcome.body.to_string().chars().count()));
    if let Some(caution) = list_caution(&outcome.body) {
        note(format_args!("caution: {caution}"));
    }
    report(outcome.status == OutcomeStatus::Success, elapsed_ms, &outcome.body)
}

fn list_caution(body: &Value) -> Option<String> {
    let items = longest_list(body);
    (items > SPOKEN_ITEMS_MAX).then(|| {
        format!(
            "it lists {items} items, and a person who hears them keeps {SPOKEN_ITEMS_MAX}: show them with an event, and answer \
             what is to be said of them"
        )
    })
}

/// How many items the longest list in an answer has.
fn longest_list(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest_list).fold(items.len(), usize::max),
        Value::Object(fields) => fields.values().map(longest_list).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn report(ok: bool, elapsed_ms: u64, body: &Value) -> ExitCode {
    print(&format!("{:#}", shown(ok, elapsed_ms, body)));
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What a trial shows: five keys, whatever was tried. `status` is the word or the number that the model reads.
fn shown(ok: bool, elapsed_ms: u64, body: &Value) -> Value {
    let status = body.get("status").cloned().unwrap_or(Value::Null);
    let response = body.get("result").or_else(|| body.get("results")).cloned().unwrap_or(Value::Null);
    json!({"ok": ok, "status": status, "elapsed_ms": elapsed_ms, "response": response, "sent_to_model": body})
}

/// The configuration with nothing in it that a service could take for a conversation.
fn on_trial(config: &Config) -> Config {
    let mut config = config.clone();
    config.tools.call.agent_id = TRIAL.to_owned();
    config.tools.call.user_data.clear();
    config
}

/// Asks the person at the terminal, in the words the device would speak. A typed yes is enough here, whatever a conversation
/// would take.
fn ask(
    asked: &Asked,
    tool: &ErasedTool,
    spec: &session::ToolSpec,
    prepared: session::Prepared,
) -> Result<Permit, ExitCode> {
    let question = session::ask_at_console(spec, prepared)
        .map_err(|_| fail(EXIT_INTERNAL, format_args!("{} has no sentence to ask with", spec.name)))?;
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(fail(2, "this tool acts on the world outside and asks first: run it from a terminal"));
    }
    if let Some(asking) = tool.asking().filter(|asking| !is_a_plain_yes(*asking)) {
        note(format_args!("in a conversation it {}; here a typed yes is enough", asks(asking)));
    }
    let (sentence, yes) = (question.sentence().trim_end(), asked.locale.yes());
    note(format_args!("{sentence} Type a whole answer, such as `{yes}`:"));
    let mut typed = String::new();
    if input.lock().read_line(&mut typed).is_err() {
        return Err(fail(EXIT_INTERNAL, "the answer cannot be read"));
    }
    question.answer(asked.locale, &asked.other_locales, &typed).map_err(|refusal| fail(1, refusal))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use std::sync::Arc;

    use crate::config::{FileSource, Sources};
    use crate::demo::sink::Sink;

    use super::*;

    fn configured(url: &str) -> Config {
        let file = format!(
            "[tools]\nwarehouse.enabled = false\n[tools.egress]\nallow = [\"127.0.0.1\"]\n\
             [tools.call]\nagent_id = \"front-desk\"\ndevice_id = \"kiosk-7\"\nuser_data = '{{\"patient_id\": \"P-1042\"}}'\n\
             [[tool]]\nname = \"check\"\ndescription = \"Checks.\"\nurl = \"{url}\"\neffect = \"read\"\n\
             headers = {{ Authorization = \"Bearer clinic_secret_token\" }}\n\
             parameters = {{ type = \"object\", properties = {{ date = {{ type = \"string\" }} }} }}\n"
        );
        let file = FileSource::Text("voiced.toml".into(), file);
        Config::load(&Sources { file, ..Sources::default() }).unwrap().config
    }

    #[test]
    fn how_a_tool_is_agreed_to_is_in_the_list() {
        let schema = || json!({"type": "object", "properties": {}});
        let act = |gate: tools::Gate<Value>| {
            let act = ErasedTool::dynamic("act", "Acts when asked.", schema(), |_, _| async {});
            let tools = ToolSet::builder().tool(act.gate(gate)).build().unwrap();
            let tool = tools.find("act").unwrap();
            (as_row(tool), as_value(tool))
        };
        let (row, value) = act(tools::Gate::both(|_| "Do it.".to_owned()).high_risk());
        assert!(row.contains("asks: voice and a tap, with a code"), "{row}");
        assert_eq!((&value["agreed_to_by"], &value["high_risk"]), (&json!("both"), &json!(true)));
        let gate = tools::Gate::voice(|_| "Open 12.".to_owned()).slots(|_| vec!["12".to_owned()]);
        let (row, value) = act(gate.repeat_last(2).recheck(|_| async { Ok("Open 12.".to_owned()) }));
        assert!(row.contains("asks: voice, with 2 digits"), "{row}");
        assert_eq!((&value["repeat_last"], &value["looks_once_more"]), (&json!(2), &json!(true)));
    }

    #[test]
    fn row_46_a_list_that_nobody_keeps_in_mind_is_cautioned_about_wherever_it_is() {
        for body in [
            json!({"status": "success", "message": "none"}),
            json!({"result": {"rows": [[1, 2], [1, 2, 3, 4, 5]], "one": [1]}}),
        ] {
            assert_eq!(list_caution(&body), None, "{body}");
        }
        let caution = list_caution(&json!({"result": {"one": [1], "rows": [{"bays": [1, 2, 3, 4, 5, 6]}]}}));
        assert!(
            caution
                .is_some_and(|caution| caution.starts_with("it lists 6 items, and a person who hears them"))
        );
    }

    async fn called(config: &Config, identity: &Identity) -> session::Outcome {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let extend: Extend = Arc::new(|builder| builder);
        let tools = assembly::tool_set(config, &extend, Bus::Inline).unwrap();
        let tool = tools.find("check").unwrap();
        let prepared = toolbox::prepare(tool, identity, &json!({"date": "2026-10-02"})).unwrap();
        let permit = session::observing(&toolbox::spec(tool), prepared).unwrap();
        run_alone(&tools, identity, permit).await.outcome
    }

    #[tokio::test]
    async fn t75_a_trial_sends_ids_of_its_own_and_shows_what_a_live_call_would_bring() {
        let sink = Sink::start().await.unwrap();
        let config = configured(&sink.url());
        let live = called(&config, &Identity::fixed()).await;
        let tried = called(&on_trial(&config), &Identity::fixed().named(TRIAL)).await;
        let [of_live, of_trial] = &sink.deliveries()[..] else { panic!("each asks once") };
        let call = |session: &str, agent: &str, user_data: Value| {
            json!({
                "date": "2026-10-02",
                "_call": {
                    "call_id": session, "agent_id": agent, "from": "", "to": "", "user_data": user_data,
                    "device_id": "kiosk-7", "turn": 0, "tool_call_id": "call-0",
                },
            })
        };
        assert_eq!(of_live.body, call("run", "front-desk", json!({"patient_id": "P-1042"})));
        assert_eq!(of_trial.body, call("test", "test", json!({})));

        // The sink counts what it is sent, and nothing else differs.
        let body = json!({"status": 200, "result": {"id": 2, "queued": true}});
        assert_eq!(live.body.to_string().replace("\"id\":1", "\"id\":2"), tried.body.to_string());
        assert_eq!(
            shown(tried.status == OutcomeStatus::Success, 184, &tried.body),
            json!({
                "ok": true, "status": 200, "elapsed_ms": 184, "response": {"id": 2, "queued": true},
                "sent_to_model": body,
            })
        );
    }

    #[tokio::test]
    async fn t75_a_service_that_does_not_answer_is_shown_with_the_same_keys() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = configured(&format!("http://{}/", listener.local_addr().unwrap()));
        drop(listener);
        let tried = called(&on_trial(&config), &Identity::fixed().named(TRIAL)).await;
        let body = json!({"status": 0, "error": "the check service did not answer"});
        assert_eq!(
            shown(tried.status == OutcomeStatus::Success, 2, &tried.body),
            json!({"ok": false, "status": 0, "elapsed_ms": 2, "response": null, "sent_to_model": body})
        );
    }

    #[test]
    fn t9_t74_a_missing_secret_is_named_with_its_place_beside_every_other_fault() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let file = "[tools.egress]\nallow = [\"127.0.0.1\"]\n\
                    [[tool]]\nname = \"check\"\ndescription = \"Checks.\"\nurl = \"http://127.0.0.1:9/\"\neffect = \"read\"\n\
                    headers = { Authorization = \"Bearer ${secret:NONE}\", X-A = \"${secret:NEITHER}\" }\n\
                    [[tool]]\nname = \"read_warehouse_sensors\"\ndescription = \"Reads.\"\nurl = \"http://127.0.0.1:9/\"\n\
                    effect = \"read\"\n";
        let file = FileSource::Text("voiced.toml".into(), file.to_owned());
        let config = Config::load(&Sources { file, ..Sources::default() }).unwrap().config;
        let extend: Extend = Arc::new(|builder| builder);
        let found = assembly::tool_set(&config, &extend, Bus::Inline).unwrap_err().to_string();
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 3, "{found}");
        assert!(
            lines[0].starts_with("tool `check`: voiced.toml:3: headers.Authorization: no secret `NONE`: "),
            "{found}"
        );
        assert!(
            lines[1].starts_with("tool `check`: voiced.toml:3: headers.X-A: no secret `NEITHER`: "),
            "{found}"
        );
        assert!(lines[2].starts_with("tool `read_warehouse_sensors`: the name is taken twice"), "{found}");
        assert!(!found.contains("Bearer"), "{found}");
    }
}
