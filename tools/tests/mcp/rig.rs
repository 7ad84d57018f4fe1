// SPDX-License-Identifier: MIT OR Apache-2.0

//! Servers under test, calls, and what was logged meanwhile.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};
use tools::mcp::{Marks, Reach, ServerConfig, Servers, Template};
use tools::{CallControl, CallInfo, CallNotice, Cx, Effect, ErasedTool, Shaped, ToolSet};
use tracing::subscriber::DefaultGuard;
use units::{CallKey, TurnId};

/// Far longer than any server here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Marks of a tool that only looks.
pub(crate) fn read() -> Marks {
    Marks { effect: Effect::Read, ..Marks::default() }
}

/// Marks of a tool that only looks and takes its time.
pub(crate) fn job() -> Marks {
    Marks { job: true, ..read() }
}

/// Marks of a tool that asks first.
pub(crate) fn confirmed(sentence: &str) -> Marks {
    Marks { confirm: Some(Template::parse(sentence).unwrap()), ..Marks::default() }
}

/// Marks of a tool that acts and asks nobody.
pub(crate) fn ungated() -> Marks {
    Marks { ungated: Some("a test".to_owned()), ..Marks::default() }
}

/// The server of the tests as a child, with these arguments.
pub(crate) fn child(args: &[&str], tools: &[(&str, Marks)]) -> ServerConfig {
    // target/debug/deps/mcp-… and target/debug/examples/mcp_fixture.
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/mcp_fixture");
    assert!(
        program.exists(),
        "build the server of the tests first: cargo build -p tools --example mcp_fixture"
    );
    let mut command = vec![program.display().to_string()];
    command.extend(args.iter().map(|arg| (*arg).to_owned()));
    config(Reach::Child { command, env: Vec::new() }, tools)
}

pub(crate) fn config(reach: Reach, tools: &[(&str, Marks)]) -> ServerConfig {
    ServerConfig {
        name: "bench".to_owned(),
        reach,
        timeout: Duration::from_secs(8),
        trusted: false,
        tools: tools.iter().map(|(name, marks)| ((*name).to_owned(), marks.clone())).collect(),
    }
}

/// The servers, up.
pub(crate) async fn up(configs: impl IntoIterator<Item = ServerConfig>) -> Servers {
    let servers = Servers::start(configs);
    let missing = servers.settled(PATIENCE).await;
    assert!(missing.is_empty(), "{missing:?}");
    servers
}

/// One tool of servers that are up.
pub(crate) fn tool(servers: &Servers, name: &str) -> ErasedTool {
    let joined = servers.joined(&ToolSet::default());
    joined.tools.find(name).unwrap_or_else(|| panic!("no {name}: {:?}", joined.left_out)).clone()
}

/// A call with 8 s to run.
pub(crate) fn call() -> (Cx, CallControl) {
    call_within(Duration::from_secs(8))
}

pub(crate) fn call_within(limit: Duration) -> (Cx, CallControl) {
    Cx::new(info_within(limit), |_| {})
}

fn info_within(limit: Duration) -> CallInfo {
    CallInfo {
        call: CallKey(7),
        turn: TurnId(3),
        session: "s-1".to_owned(),
        idempotency_key: Some("key-1".to_owned()),
        deadline: Instant::now() + limit,
    }
}

/// A call with 8 s to run, and what is noted of it.
pub(crate) fn noted_call() -> (Cx, Arc<Mutex<Vec<String>>>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notes);
    let (cx, _) = Cx::new(info_within(Duration::from_secs(8)), move |notice| {
        if let CallNotice::Note { text, .. } = notice {
            kept.lock().unwrap().push(text);
        }
    });
    (cx, notes)
}

/// Checks the arguments and runs the tool, as a call does.
pub(crate) async fn run(tool: &ErasedTool, args: Value) -> Shaped {
    let args = tool.prepare(&args).unwrap();
    tool.run(args, call().0).await
}

/// Waits until `done` holds.
pub(crate) async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < PATIENCE, "{what} did not come about");
        sleep(Duration::from_millis(20)).await;
    }
}

/// A file of its own for one test; removed when it ends.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("voiced-mcp-{}-{name}", std::process::id())))
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    pub(crate) fn arg(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test may not have written it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What this thread logs.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter("warn,tools=info")
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn count(&self, words: &str) -> usize {
        self.text().lines().filter(|line| line.contains(words)).count()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a process is there, and no corpse.
pub(crate) fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(')').next().unwrap_or_default().trim().chars().next();
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
