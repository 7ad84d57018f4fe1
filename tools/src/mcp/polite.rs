//! What a server may ask of us: whether we are there, and nothing else; and how much of it.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientResult, ErrorCode, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
    ServerNotification, ServerRequest,
};
use rmcp::transport::Transport;
use tokio::sync::Semaphore;

use super::pace::{MESSAGE, Pace};

/// Replies to requests of the server that may be on their way at once; a request beyond them is not answered. Without a
/// bound, a server that asks in a loop and reads nothing would fill the memory.
const REPLIES: usize = 16;

/// A transport on which every request of the server but a ping is refused: a sample of the model or an answer of the
/// person must not be had past the gate. Of what it announces, only a changed list of tools is passed on.
///
/// Whatever makes us write is answered here, within one bound, and nothing is read faster than [`MESSAGE`] allows.
#[derive(Debug)]
pub(super) struct Polite<T> {
    inner: T,
    server: Arc<str>,
    told: bool,
    replies: Arc<Semaphore>,
    pace: Pace,
}

impl<T: Transport<RoleClient>> Polite<T> {
    pub(super) fn new(server: &Arc<str>, inner: T) -> Self {
        let replies = Arc::new(Semaphore::new(REPLIES));
        Self { inner, server: Arc::clone(server), told: false, replies, pace: Pace::new() }
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
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            self.pace.rest().await;
            let message = self.inner.receive().await?;
            self.pace.spend(MESSAGE);
            let request = match message {
                JsonRpcMessage::Request(request) => request,
                // Progress moves no deadline, and log lines belong on standard error.
                JsonRpcMessage::Notification(notification)
                    if !matches!(
                        notification.notification,
                        ServerNotification::ToolListChangedNotification(_)
                    ) =>
                {
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
