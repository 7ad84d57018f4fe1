// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tools that are in force, and when that changes: with a new conversation, never within one.
//!
//! The model is shown its tools when a conversation begins and cannot be shown others until the next. So the session's
//! catalog, the toolbox and the declarations of the link read one set, and the set is made anew only where a link without
//! a past is dialled. What has gone meanwhile, with its server or from its list, leaves the view of the person's next turn.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tools::ToolSet;
use tools::mcp::Servers;
use tracing::warn;

use crate::config::{Config, ProcessEnv};
use crate::provider::Declaration;

/// How long the start waits for the servers. Who is not ready by then has its tools offered in a later conversation.
pub const SETTLE_LIMIT: Duration = Duration::from_secs(4);

/// How long a command such as `voiced check` waits for them: it has nothing else to do, and what it says of a server that
/// is slow to start would be wrong.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// The tools of this process, and those of the servers that were up when the conversation began. Clones share all of it.
#[derive(Clone, Debug)]
pub struct Tooling {
    native: ToolSet,
    servers: Servers,
    current: Arc<Mutex<ToolSet>>,
}

impl Tooling {
    /// `native` is in force until [`Tooling::renew`].
    #[must_use]
    pub fn new(native: ToolSet, servers: Servers) -> Self {
        let current = Arc::new(Mutex::new(native.clone()));
        Self { native, servers, current }
    }

    /// The tools in force.
    #[must_use]
    pub fn current(&self) -> ToolSet {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the tools of the servers that are up at this moment: they are in force from here on.
    pub fn renew(&self) -> ToolSet {
        let tools = self.servers.joined_and_told(&self.native);
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&tools);
        tools
    }

    /// The names of the tools in force that can be carried out at this moment, sorted.
    #[must_use]
    pub fn there(&self) -> Vec<String> {
        let tools = self.current();
        let there = |name: &&str| tools.find(name).is_some_and(|tool| self.servers.have(tool));
        tools.names().filter(there).map(str::to_owned).collect()
    }

    /// Waits for the servers, at most [`SETTLE_LIMIT`]. Who is missing is said in one line; it goes on without them.
    pub async fn settle(&self) {
        let missing = self.servers.settled(SETTLE_LIMIT).await;
        if !missing.is_empty() {
            warn!("starting without some tools: {}", missing.join("; "));
        }
    }
}

impl From<ToolSet> for Tooling {
    /// Tools of this process only.
    fn from(native: ToolSet) -> Self {
        Self::new(native, Servers::default())
    }
}

/// The servers of the configuration, started. On the runtime, if there is any.
#[must_use]
pub fn servers(config: &Config) -> Servers {
    if !config.tools.enabled || config.mcp.is_empty() {
        return Servers::default();
    }
    // A child runs as the daemon's user and may have found it; that there is none yet is said elsewhere.
    let key = config.api_key(&ProcessEnv).ok();
    Servers::start_masking(config.mcp.iter().cloned(), key.as_slice())
}

/// The tools as the model is shown them.
#[must_use]
pub fn declarations(tools: &ToolSet) -> Vec<Declaration> {
    tools
        .iter()
        .map(|tool| Declaration {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            schema: tool.schema().clone(),
            blocking: false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use std::collections::BTreeMap;

    use serde_json::json;
    use session::Catalog;
    use tools::mcp::{Marks, Reach, ServerConfig};
    use tools::{Cx, Effect, ErasedTool};

    use super::*;
    use crate::identity::Identity;
    use crate::toolbox::Toolbox;

    /// A server with one tool, in as few words as the protocol allows.
    const SERVER: &str = r#"
tools='{"name":"weigh","description":"Weighs.","inputSchema":{"type":"object"}}'
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
        *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}' ;;
        *'"tools/list"'*) answer="{\"tools\":[$tools]}" ;;
        # It was called: it has no tool any more, and says so.
        *'"tools/call"'*)
            tools=''
            printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
            answer='{"content":[{"type":"text","text":"3 kg"}]}' ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done"#;

    fn scale(command: [&str; 3]) -> ServerConfig {
        ServerConfig {
            name: "scale".to_owned(),
            reach: Reach::Child { command: command.map(str::to_owned).to_vec(), env: Vec::new() },
            timeout: Duration::from_secs(8),
            trusted: false,
            tools: BTreeMap::from([("weigh".to_owned(), Marks { effect: Effect::Read, ..Marks::default() })]),
        }
    }

    fn native() -> ToolSet {
        let own = ErasedTool::dynamic("own", "The device's own.", json!({"type": "object"}), |_, _| async {});
        ToolSet::builder().tool(own.effect(Effect::Read)).build().unwrap()
    }

    #[tokio::test]
    async fn tools_of_a_server_are_in_force_from_the_next_conversation_on() {
        let tooling = Tooling::new(native(), Servers::start([scale(["sh", "-c", SERVER])]));
        let catalog = Toolbox::new(tooling.clone(), Identity::load(None)).catalog();
        tooling.settle().await;
        assert_eq!(catalog.view(), ["own"], "the conversation has begun without it");
        assert!(tooling.renew().find("scale_weigh").is_some());
        assert_eq!(catalog.view(), ["own", "scale_weigh"]);
        assert!(catalog.spec("scale_weigh").is_some());
        assert!(catalog.prepare("scale_weigh", &json!({})).is_ok());
    }

    #[tokio::test]
    async fn t108_a_tool_that_its_server_has_no_more_leaves_the_next_view() {
        let tooling = Tooling::new(native(), Servers::start([scale(["sh", "-c", SERVER])]));
        let catalog = Toolbox::new(tooling.clone(), Identity::load(None)).catalog();
        tooling.settle().await;
        let weigh = tooling.renew().find("scale_weigh").cloned().unwrap();
        assert_eq!(catalog.view(), ["own", "scale_weigh"]);
        assert_eq!(weigh.run(json!({}), Cx::for_test()).await.body["status"], "success");
        let gone = async {
            while catalog.view() != ["own"] {
                tokio::task::yield_now().await;
            }
        };
        assert!(tokio::time::timeout(SETTLE_LIMIT, gone).await.is_ok(), "{:?}", catalog.view());
        assert!(catalog.spec("scale_weigh").is_some(), "a call that was asked for before still has its tool");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_holds_up_the_start_no_longer_than_it_must() {
        let tooling = Tooling::new(native(), Servers::start([scale(["sh", "-c", "exit 1"])]));
        let settled = tokio::time::timeout(SETTLE_LIMIT, tooling.settle()).await;
        assert!(settled.is_ok(), "it had failed already and was waited for");
        assert_eq!(tooling.renew().names().collect::<Vec<_>>(), ["own"]);
    }
}
