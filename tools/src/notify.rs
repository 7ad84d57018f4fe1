// SPDX-License-Identifier: MIT OR Apache-2.0

//! A short text message to a phone, sent once, after the person has agreed to its very words and digits.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::BoxFuture;
use crate::cx::Cx;
use crate::declare::{Effect, Gate, ToolBuilder};
use crate::handler::tool;
use crate::result::{ToolError, ToolResult};

#[cfg(feature = "http")]
mod http;
mod phone;

#[cfg(feature = "http")]
pub use http::{HttpOutbox, OutboxError, RESPONSE_BYTES_MAX};
pub use phone::{Phone, PhoneError};

/// Time for a message service to answer before the log says so: longer, and the person wonders.
const BUDGET: Duration = Duration::from_secs(2);

const RULES: &str = "\
• NOTIFICATION RULE (`send_notification`):
  1. When the person asks to send something and you have the number and the text, call this tool at once. Do not ask \
whether to send it: the device reads message and number back and asks by itself.
  2. While the answer is `pending_confirmation`, say nothing. When the person has said yes, call it again with the same \
arguments.
  3. Never say that a message was sent before this tool says so.
  4. Never invent a number or use a dummy such as '0000000000': ask for it.";

const ON_SUCCESS: &str =
    "Say in 1 short spoken sentence that the message was sent. Do not read the number out again.";
const ON_FAILURE: &str =
    "Say in 1 spoken sentence that the message was not sent, and why. Offer to try again later.";

/// Sends a short text message to a phone number. Use it when the person asks to have something sent to somebody.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SendNotification {
    /// The phone number to send to, digits as the person said them.
    #[schemars(with = "String", regex(pattern = r"^\+?[0-9][0-9 ()./-]*$"))]
    pub phone: Phone,
    /// The text of the message, 1 to 300 characters.
    #[serde(deserialize_with = "one_line")]
    #[schemars(length(min = 1, max = 300))]
    pub message: String,
}

/// Whitespace of any kind becomes one space: what is read back is what is sent.
fn one_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return Err(serde::de::Error::custom("the message is empty"));
    }
    Ok(line)
}

/// One message as it is handed over.
#[derive(Clone, Debug, PartialEq)]
pub struct Post {
    /// What is sent, as JSON.
    pub body: Value,
    /// The same for every attempt that one approval allows.
    pub idempotency_key: Option<String>,
}

/// What the receiving service answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Its body, if it is JSON of acceptable size.
    pub body: Option<Value>,
}

/// Why there is no answer. The two differ in what may be said afterwards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// It certainly did not arrive; sending it again is safe.
    #[error("not sent: {0}")]
    NotSent(String),
    /// It may have arrived; sending it again may send it twice.
    #[error("no answer: {0}")]
    Unknown(String),
}

/// Where messages go.
pub trait Outbox: Send + Sync {
    /// Hands over one message, once: no retry, no redirect.
    ///
    /// # Errors
    /// See [`PostError`].
    fn post(&self, post: Post) -> BoxFuture<'static, Result<Reply, PostError>>;
}

/// The tool. `timeout` is from dispatch to answer, 1 to 30 s.
pub fn send_notification(outbox: Arc<dyn Outbox>, timeout: Duration) -> ToolBuilder<SendNotification> {
    tool(move |args: SendNotification, cx: Cx| send(args, cx, Arc::clone(&outbox)))
        .named("send_notification")
        .effect(Effect::Outbound)
        .gate(
            Gate::voice(|args: &SendNotification| {
                format!("Send '{}' to {}.", args.message, args.phone.spoken())
            })
            .slots(|args| vec![args.phone.digits().to_owned()]),
        )
        .instruct(RULES)
        .on_failure(ON_FAILURE)
        .needs_result_now()
        .budget(BUDGET.min(timeout))
        .waiting("I am still sending it.")
        .timeout(timeout)
}

async fn send(args: SendNotification, cx: Cx, outbox: Arc<dyn Outbox>) -> Result<ToolResult, ToolError> {
    let post = Post {
        body: json!({
            "phone": args.phone,
            "message": args.message,
            "_call": {"call_id": cx.call().to_string(), "session_id": cx.session()},
        }),
        idempotency_key: cx.idempotency_key().map(str::to_owned),
    };
    cx.begin_effect()?;
    match outbox.post(post).await {
        Ok(Reply { status: 200..=299, .. }) => Ok(ToolResult::ok("The message was sent.")
            .then_say(ON_SUCCESS)
            .event("notification_sent", json!({"phone_ends_in": args.phone.last_four()}))),
        Ok(Reply { status, body }) => {
            let blame = if status < 500 { "refused the message" } else { "has a fault" };
            let result = ToolResult::error(format!("the notification service {blame} (HTTP {status})"));
            Ok(match body {
                Some(body) => result.data(body),
                None => result,
            })
        }
        Err(error @ PostError::NotSent(_)) => {
            Err(ToolError::public("the notification service cannot be reached").because(error))
        }
        Err(error @ PostError::Unknown(_)) => Err(ToolError::unknown().because(error)),
    }
}
