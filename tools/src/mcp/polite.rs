// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a server may ask of us: whether we are there, and nothing else; and how much of it. What is of use in the rest
//! that it sends is taken here: progress of a job, and the tools of a list that is broken.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ClientResult, ErrorCode, ErrorData, JsonRpcMessage,
    JsonRpcNotification, RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest,
};
use rmcp::transport::Transport;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};

use super::listing::{Unread, is_broken_list, mended};
use super::pace::{MESSAGE, Pace};
use super::progress::Board;

/// Replies to requests of the server that may be on their way at once; a request beyond them is not answered. Without a
/// bound, a server that asks in a loop and reads nothing would fill the memory.
const REPLIES: usize = 16;

/// A transport on which every request of the server but a ping is refused: a sample of the model or an answer of the
/// person must not be had past the gate. Of what it announces, only a changed list of tools is passed on, and progress is
/// given to whoever listens to it.
///
/// Whatever makes us write is answered here, within one bound, and nothing is read faster than [`MESSAGE`] allows.
#[derive(Debug)]
pub(super) struct Polite<T> {
    inner: T,
    server: Arc<str>,
    told: bool,
    replies: Arc<Semaphore>,
    pace: Pace,
    /// The last request for a list of tools.
    listing: Option<RequestId>,
    /// A broken list that is being mended. Kept here, as `receive` may be dropped at any moment.
    mending: Option<JoinHandle<ServerJsonRpcMessage>>,
    heard: Heard,
}

/// Where what a server sends goes to, other than to the library. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    pub(super) unread: Unread,
    pub(super) progress: Board,
}

impl<T: Transport<RoleClient>> Polite<T> {
    pub(super) fn new(server: &Arc<str>, inner: T, heard: &Heard) -> Self {
        Self {
            inner,
            server: Arc::clone(server),
            told: false,
            replies: Arc::new(Semaphore::new(REPLIES)),
            pace: Pace::new(),
            listing: None,
            mending: None,
            heard: heard.clone(),
        }
    }

    fn reply(&mut self, reply: ClientJsonRpcMessage) {
        if let Ok(permit) = Arc::clone(&self.replies).try_acquire_owned() {
            let sent = self.inner.send(reply);
            tokio::spawn(async move {
                // A server that is gone needs no answer.
                let _ = sent.await;
                drop(permit);
            });
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Polite<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &mut item {
            if matches!(request.request, ClientRequest::ListToolsRequest(_)) {
                self.listing = Some(request.id.clone());
            }
            self.heard.progress.on_sent(&mut request.request);
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(mending) = &mut self.mending {
                let list = mending.await;
                self.mending = None;
                // It is only cancelled with the whole runtime.
                return list.ok();
            }
            self.pace.rest().await;
            let message = self.inner.receive().await?;
            self.pace.spend(MESSAGE);
            let request = match message {
                JsonRpcMessage::Request(request) => request,
                // It moves no deadline.
                JsonRpcMessage::Notification(JsonRpcNotification {
                    notification: ServerNotification::ProgressNotification(progress),
                    ..
                }) => {
                    self.heard.progress.on_progress(progress.params);
                    continue;
                }
                // Log lines belong on standard error.
                JsonRpcMessage::Notification(notification)
                    if !matches!(
                        notification.notification,
                        ServerNotification::ToolListChangedNotification(_)
                    ) =>
                {
                    continue;
                }
                JsonRpcMessage::Response(answer)
                    if self.listing.as_ref() == Some(&answer.id) && is_broken_list(&answer.result) =>
                {
                    let unread = self.heard.unread.clone();
                    self.mending =
                        Some(spawn_blocking(move || mended(JsonRpcMessage::Response(answer), &unread)));
                    continue;
                }
                message @ (JsonRpcMessage::Response(_)
                | JsonRpcMessage::Notification(_)
                | JsonRpcMessage::Error(_)) => return Some(message),
            };
            let method = match &request.request {
                ServerRequest::PingRequest(_) => {
                    self.reply(JsonRpcMessage::response(ClientResult::empty(()), request.id));
                    continue;
                }
                ServerRequest::CreateMessageRequest(_) => "sampling/createMessage",
                ServerRequest::ElicitRequest(_) => "elicitation/create",
                ServerRequest::ListRootsRequest(_) => "roots/list",
                ServerRequest::CustomRequest(_) | _ => "something of its own",
            };
            if !std::mem::replace(&mut self.told, true) {
                tracing::warn!(
                    server = &*self.server,
                    "it asked for {method}, and was refused: a tool may not ask the model or the person"
                );
            }
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client answers no requests", None);
            self.reply(JsonRpcMessage::error(error, Some(request.id)));
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    use rmcp::model::{ListToolsRequest, NumberOrString, PaginatedRequestParams, ServerResult};
    use serde_json::json;
    use tokio::io::sink;

    use crate::mcp::lines::Lines;

    #[tokio::test]
    async fn only_an_answer_to_a_request_for_tools_is_mended() {
        let answer = |id: u32| json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [{"name": "broken"}]}});
        let says = format!("{}\n{}\n", answer(7), answer(6));
        let server: Arc<str> = "bench".into();
        let heard = Heard::default();
        let lines = Lines::new(&server, &Arc::from([]), says.as_bytes(), sink());
        let mut polite = Polite::new(&server, lines, &heard);
        let request = ListToolsRequest::with_param(PaginatedRequestParams::default());
        let request = ClientRequest::ListToolsRequest(request);
        polite.send(JsonRpcMessage::request(request, NumberOrString::Number(6))).await.unwrap();
        let result = |message: Option<ServerJsonRpcMessage>| match message {
            Some(JsonRpcMessage::Response(answer)) => answer.result,
            other => panic!("no answer: {other:?}"),
        };
        assert!(matches!(result(polite.receive().await), ServerResult::CustomResult(_)));
        assert!(heard.unread.take().is_empty());
        assert!(matches!(result(polite.receive().await), ServerResult::ListToolsResult(_)));
        assert_eq!(heard.unread.take().len(), 1);
    }
}
