//! `voiced tools`: what the model is offered, and one tool run exactly as a live call would.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::time::Instant;

use clap::Subcommand;
use serde_json::{Value, json};
use session::{NeedsConsent, OutcomeStatus, Permit};
use tokio::runtime::Runtime;
use tools::mcp::Joined;
use tools::{ErasedTool, ToolSet};

use super::{EXIT_CONFIG, EXIT_INTERNAL, chain, fail, note, print, runtime};
use crate::assembly::{self, Bus, Extend};
use crate::config::Config;
use crate::identity::Identity;
use crate::toolbox::{self, run_alone};
use crate::tooling::SETTLE_LIMIT;

#[derive(Debug, Subcommand)]
pub(super) enum ToolsCommand {
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
}

pub(super) fn run(command: ToolsCommand, config: &Config, extend: &Extend) -> ExitCode {
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
fn with_tools(command: ToolsCommand, config: &Config, native: &ToolSet, runtime: &Runtime) -> ExitCode {
    let servers = runtime.block_on(async {
        let servers = assembly::servers(config);
        for missing in servers.settled(SETTLE_LIMIT).await {
            note(format_args!("caution: {missing}"));
        }
        servers
    });
    let Joined { tools, left_out } = servers.joined(native);
    for left in left_out {
        note(format_args!("caution: {left}"));
    }
    match command {
        ToolsCommand::List { json: true } => {
            print(&json!(tools.iter().map(as_value).collect::<Vec<_>>()).to_string())
        }
        ToolsCommand::List { json: false } => print(&tools.iter().map(as_row).collect::<Vec<_>>().join("\n")),
        ToolsCommand::Show { name } => match find(&tools, &name) {
            Ok(tool) => print(&format!("{:#}", as_value(tool))),
            Err(code) => code,
        },
        ToolsCommand::Test { name, args } => match find(&tools, &name) {
            Ok(tool) => test(&tools, tool, &args, runtime),
            Err(code) => code,
        },
    }
}

fn find<'a>(tools: &'a ToolSet, name: &str) -> Result<&'a ErasedTool, ExitCode> {
    tools.find(name).ok_or_else(|| {
        let known = tools.names().collect::<Vec<_>>().join(", ");
        fail(2, format_args!("there is no tool `{name}`; there are: {known}"))
    })
}

fn as_row(tool: &ErasedTool) -> String {
    let consent = if tool.is_gated() {
        "asks a person first"
    } else if tool.ungated().is_some() {
        "asks nobody, by written reason"
    } else {
        ""
    };
    let head = tool.description().split(". ").next().unwrap_or_default().trim_end_matches('.');
    let row = format!("{:<26} {:<9} {consent:<20} {head}.", tool.name(), effect(tool));
    row.trim_end().to_owned()
}

fn as_value(tool: &ErasedTool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description(),
        "effect": effect(tool),
        "gated": tool.is_gated(),
        "ungated_because": tool.ungated(),
        "needs_result_now": tool.needs_result_now(),
        "timeout_s": tool.timeout().as_secs_f64(),
        "parameters": tool.schema(),
        "rules": tool.rules(),
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
fn test(tools: &ToolSet, tool: &ErasedTool, args: &str, runtime: &Runtime) -> ExitCode {
    let args: Value = match serde_json::from_str(args) {
        Ok(args) => args,
        Err(cause) => return fail(2, format_args!("--args is not JSON: {cause}")),
    };
    let identity = Identity::load(None);
    let spec = toolbox::spec(tool);
    let prepared = match toolbox::prepare(tool, &identity, &args) {
        Ok(prepared) => prepared,
        Err(detail) => {
            let body = json!({"status": "error", "error": "invalid arguments", "detail": detail});
            return report(false, "error", 0, &body);
        }
    };
    let permit = match session::observing(&spec, prepared.clone()) {
        Ok(permit) => permit,
        Err(NeedsConsent) => match ask(&spec, prepared) {
            Ok(permit) => permit,
            Err(code) => return code,
        },
    };
    let started = Instant::now();
    let (outcome, events) = runtime.block_on(run_alone(tools, &identity, permit));
    let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    for event in events.iter().chain(&outcome.events) {
        note(format_args!("screen event {}: {}", event.name, event.payload));
    }
    let ok = outcome.status == OutcomeStatus::Success;
    let status = outcome.body.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
    report(ok, &status, elapsed_ms, &outcome.body)
}

fn report(ok: bool, status: &str, elapsed_ms: u64, body: &Value) -> ExitCode {
    let response = body.get("result").or_else(|| body.get("results")).cloned().unwrap_or(Value::Null);
    let text = json!({
        "ok": ok, "status": status, "elapsed_ms": elapsed_ms, "response": response, "sent_to_model": body,
    });
    print(&format!("{text:#}"));
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Asks the person at the terminal, in the words the device would speak.
fn ask(spec: &session::ToolSpec, prepared: session::Prepared) -> Result<Permit, ExitCode> {
    let question = session::ask_at_console(spec, prepared)
        .map_err(|_| fail(EXIT_INTERNAL, format_args!("{} has no sentence to ask with", spec.name)))?;
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(fail(2, "this tool acts on the world outside and asks first: run it from a terminal"));
    }
    note(format_args!("{}  Type a whole answer, such as `yes`:", question.sentence()));
    let mut typed = String::new();
    if input.lock().read_line(&mut typed).is_err() {
        return Err(fail(EXIT_INTERNAL, "the answer cannot be read"));
    }
    question.answer(&typed).map_err(|refusal| fail(1, refusal))
}
