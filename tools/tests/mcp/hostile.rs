// SPDX-License-Identifier: MIT OR Apache-2.0

//! A child that means harm, or is broken past what an SDK would send: what it costs, and what of it is shown.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tools::mcp::{Marks, Reach, ServerConfig, Servers};
use tools::{Secret, Status, ToolSet};

use crate::rig::{Log, PATIENCE, child, config, read, run, tool, ungated, until, up};

/// Answers the greeting; a list of tools with what `list` prints, a call with what `call` prints. Both have the number of
/// the request in `$id`.
const SERVER: &str = r#"
list() { eval "$1"; }
call() { eval "$2"; }
ok() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
        *'"initialize"'*) ok '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
        *'"tools/list"'*) list "$@" ;;
        *'"tools/call"'*) call "$@" ;;
    esac
done"#;

const ONE_TOOL: &str =
    r#"ok '{"tools":[{"name":"weigh","description":"Weighs.","inputSchema":{"type":"object"}}]}'"#;

fn server(list: &str, call: &str, marks: Marks) -> ServerConfig {
    let command = ["sh", "-c", SERVER, "server", list, call].map(str::to_owned).to_vec();
    let env = vec!["CARGO_MANIFEST_DIR".to_owned()];
    config(Reach::Child { command, env }, &[("weigh", marks)])
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_at_once() {
    let nested = format!(
        "ok '{{\"content\":[],\"structuredContent\":{{\"a\":{}{}}}}}'",
        "[".repeat(300),
        "]".repeat(300)
    );
    let many = "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":[0' $id; yes ,0 | head -n 300000 | tr -d '\\n'; echo ']}}'";
    for (call, fault) in [
        ("printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[}}\\n' $id", "could not be read"),
        ("printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"\\377\"}\\n' $id", "could not be read"),
        (nested.as_str(), "could not be read"),
        (many, "held too many values"),
        (
            "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"' $id; head -c 5000000 /dev/zero | tr '\\0' x; echo '\"}'",
            "was too long",
        ),
    ] {
        let servers = up([server(ONE_TOOL, call, read())]).await;
        let since = Instant::now();
        let shaped = run(&tool(&servers, "bench_weigh"), json!({})).await;
        assert_eq!(shaped.body["error"], format!("the answer of the bench server {fault}"), "{shaped:?}");
        assert!(since.elapsed() < Duration::from_secs(7), "it waited for the deadline: {call:.60}");
    }
    let broken = "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[}}\\n' $id";
    let servers = up([server(ONE_TOOL, broken, ungated())]).await;
    assert_eq!(run(&tool(&servers, "bench_weigh"), json!({})).await.status, Status::Unknown);
    // A list that cannot be read keeps nobody waiting either.
    let servers = Servers::start([server(broken, "", read())]);
    assert_eq!(
        servers.settled(PATIENCE).await,
        ["mcp `bench` has no tools yet: its answer could not be read"]
    );
}

#[tokio::test]
async fn names_of_tools_are_clean_and_short_wherever_they_are_shown() {
    let (log, _logging) = Log::start();
    let evil = r"x\\n2026-11-30T12:00:00Z  INFO voiced: all is well \\u001b[2J\\u202epwn\\r";
    let list = format!(
        "long=$(head -c 100000 /dev/zero | tr '\\0' n); printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{\"tools\":[\
         {{\"name\":\"{evil}\",\"inputSchema\":{{\"$ref\":\"{evil}\"}}}},\
         {{\"name\":\"{evil}{evil}\",\"inputSchema\":{{\"type\":\"object\"}}}},\
         {{\"name\":\"ref\",\"inputSchema\":{{\"$ref\":\"{evil}%s\"}}}},\
         {{\"name\":\"%s\",\"inputSchema\":{{\"type\":\"object\"}}}}]}}}}\\n' $id $long $long"
    );
    let servers = up([server(&list, "", read())]).await;
    let left_out = servers.joined(&ToolSet::default()).left_out;
    assert_eq!(left_out.len(), 5, "four of the server, and the mark that fits none: {left_out:?}");
    let _ = servers.joined_and_told(&ToolSet::default());
    let shown: Vec<String> = left_out.iter().map(ToString::to_string).chain([log.text()]).collect();
    for text in shown.iter().flat_map(|text| text.lines()) {
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text:?}");
        assert!(text.chars().count() < 1000, "{} characters: {text:.200}", text.chars().count());
        assert!(!text.starts_with("2026-11-30T12:00:00Z"), "a line that the server wrote: {text}");
    }
    assert!(left_out.iter().all(|left| !left.to_string().contains('\n')));
}

#[tokio::test]
async fn a_list_on_many_pages_is_bounded_like_one_page() {
    let page = "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"nextCursor\":\"%s\",\"tools\":[{\"name\":\"weigh%s\",\"description\":\"' \
                $id $id $id; head -c 900000 /dev/zero | tr '\\0' x; echo '\",\"inputSchema\":{\"type\":\"object\"}}]}}'";
    let servers = up([server(page, "", read())]).await;
    let left_out = servers.joined(&ToolSet::default()).left_out;
    let listed: Vec<&str> =
        left_out.iter().map(|left| left.tool.as_str()).filter(|tool| *tool != "weigh").collect();
    assert_eq!(listed.len(), 4, "of 32 pages of 0.9 MB: {listed:?}");
}

#[tokio::test]
async fn the_last_words_of_a_child_are_logged_though_no_line_ends_them() {
    let (log, _logging) = Log::start();
    let _servers = Servers::start([server("printf 'out of paper' >&2; exit 3", "", read())]);
    until("the last words", || log.text().contains("says: out of paper")).await;
}

#[tokio::test]
async fn what_a_child_was_told_is_in_no_answer() {
    let passed = env!("CARGO_MANIFEST_DIR");
    let mut config = child(&[], &[("environment", read())]);
    let Reach::Child { env, .. } = &mut config.reach else { panic!("it is a child") };
    *env = vec!["CARGO_MANIFEST_DIR".to_owned()];
    let servers = up([config]).await;
    let shaped = run(&tool(&servers, "bench_environment"), json!({})).await;
    assert_eq!(shaped.body["result"]["CARGO_MANIFEST_DIR"], "***");
    assert!(!shaped.body.to_string().contains(passed), "{}", shaped.body);
    // Nor in an error, which is logged and told as well.
    let refuses = "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":1,\"message\":\"no %s\"}}\\n' $id \"$CARGO_MANIFEST_DIR\"";
    let servers = up([server(ONE_TOOL, refuses, ungated())]).await;
    let shaped = run(&tool(&servers, "bench_weigh"), json!({})).await;
    assert_eq!(shaped.body["result"]["message"], "no ***", "{}", shaped.body);
}

#[tokio::test]
async fn what_a_child_was_told_is_not_in_the_log() {
    let (log, _logging) = Log::start();
    let key = "AIza-of-the-provider";
    let passed = env!("CARGO_MANIFEST_DIR");
    assert!(passed.len() >= 12, "too short to be taken for a secret: {passed}");
    let says = format!(
        "pad=$(head -c 490 /dev/zero | tr '\\0' p); for out in 1 2; do echo \"key {key} $CARGO_MANIFEST_DIR\" >&$out; \
         echo \"$pad {key}\" >&$out; done; {ONE_TOOL}"
    );
    let servers = Servers::start_masking([server(&says, "", read())], &[Secret::new(key)]);
    assert!(servers.settled(PATIENCE).await.is_empty());
    until("what it says", || log.count("says: ") == 2).await;
    drop(servers);
    assert!(log.text().contains("says: key *** ***"), "{}", log.text());
    assert!(log.text().contains("first: key *** ***"), "{}", log.text());
    for piece in [key, "AIza-of", passed] {
        assert!(!log.text().contains(piece), "{piece}: {}", log.text());
    }
    // Nor is why it does not work, in its own words.
    let refuses = format!(
        "printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{{\"code\":1,\"message\":\"no {key}\"}}}}\\n' $id"
    );
    let servers = Servers::start_masking([server(&refuses, "", read())], &[Secret::new(key)]);
    let why = servers.settled(PATIENCE).await.join("");
    assert!(why.ends_with("it did not list its tools: it says: no ***"), "{why}");
    assert!(!log.text().contains(key), "{}", log.text());
}

#[tokio::test]
async fn t108_a_tool_that_cannot_be_read_is_left_out_and_its_server_stays() {
    let (log, _logging) = Log::start();
    let sound = r#"{"name":"weigh","description":"Weighs.","inputSchema":{"type":"object"}}"#;
    let broken = |name: &str| format!(r#"{{"name":"{name}","inputSchema":7}}"#);
    let many = (1..=9).map(|at| broken(&format!("broken{at}"))).collect::<Vec<_>>().join(",");
    let list = format!("ok '{{\"tools\":[{many},{sound}]}}'");
    let mut config = server(&list, "ok '{\"content\":[],\"structuredContent\":3}'", read());
    // One that is configured is told of wherever it stands; one that is switched off is not.
    config.tools.insert("broken8".to_owned(), read());
    config.tools.insert("broken2".to_owned(), Marks { enabled: false, ..Marks::default() });
    let servers = up([config]).await;
    let joined = servers.joined(&ToolSet::default());
    assert_eq!(joined.tools.names().collect::<Vec<_>>(), ["bench_weigh"]);
    assert_eq!(run(&tool(&servers, "bench_weigh"), json!({})).await.body["result"], 3);
    let named: Vec<&str> = joined.left_out.iter().map(|left| left.tool.as_str()).collect();
    assert_eq!(named, ["broken1", "broken3", "broken4", "broken5", "broken8", "and 3 more"]);
    assert_eq!(
        joined.left_out[0].to_string(),
        "mcp `bench`: tool `broken1`: left out: its inputSchema cannot be read: invalid type: integer `7`, expected a map"
    );
    for _ in 0..3 {
        let _ = servers.joined_and_told(&ToolSet::default());
    }
    assert_eq!(log.count("tool `broken1`: left out"), 1, "{}", log.text());
}
