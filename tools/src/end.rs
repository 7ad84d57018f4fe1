// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tool by which the model ends the conversation.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::declare::{Effect, ToolBuilder};
use crate::handler::tool;
use crate::result::ToolResult;

/// End the conversation. Use it only when the person has said goodbye or plainly needs nothing more. Say goodbye first,
/// in the same reply.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EndSession {}

/// The tool, under its reserved name. The session drains the goodbye before it closes the link.
pub fn end_session() -> ToolBuilder<EndSession> {
    async fn end_session(_: EndSession) -> ToolResult {
        ToolResult::ok("The session ends when your goodbye has been heard.").silent_ok()
    }
    tool(end_session).effect(Effect::Local).ends_session()
}
