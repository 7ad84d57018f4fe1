//! What the provider and the connection to it do.

use std::time::Duration;

use session::{FailureCause, Input, LinkFailure, ProviderCall, ProviderEvent};

use crate::model::Call;
use crate::world::Driver;

/// The longest that the daemon is waited for to try again: past its longest wait.
const DIAL_LIMIT: Duration = Duration::from_secs(120);

/// The connection, as the provider sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Gone,
    /// Asked for, and not answered yet.
    Dialled {
        resume: Option<String>,
    },
    Up,
}

/// What a provider says again when it takes up a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Nothing.
    Nothing,
    /// The transcript of what the person said last.
    LastWords,
    /// The calls that have no answer, under their own ids.
    OpenCalls,
}

impl Driver {
    /// The connection is lost. It stays so until [`Driver::provider_resumes`] or [`Driver::provider_begins_anew`].
    pub async fn provider_drops(&mut self) {
        self.link = Link::Gone;
        self.away = true;
        self.turn_open = false;
        let text = "the connection was lost".to_owned();
        self.feed(Input::LinkClosed(LinkFailure { cause: FailureCause::Transient, text }));
        self.settle().await;
    }

    /// The daemon tries again and the provider takes up the conversation, if it is one that can; else this is
    /// [`Driver::provider_begins_anew`]. The provider says again what `replay` says.
    pub async fn provider_resumes(&mut self, replay: Replay) {
        self.is_dialled().await;
        self.answer_the_dial();
        self.settle().await;
        if !self.script.capabilities().resumes {
            return;
        }
        match replay {
            Replay::Nothing => {}
            Replay::LastWords => self.provider(ProviderEvent::UserText(self.last_words.clone())),
            Replay::OpenCalls => {
                let open = self.calls_without_answer();
                let again: Vec<ProviderCall> =
                    open.iter().map(|call| self.asked[call.at()].call.clone()).collect();
                self.provider(ProviderEvent::Calls(again));
            }
        }
        self.settle().await;
    }

    /// The daemon tries again and the provider knows nothing of what was.
    pub async fn provider_begins_anew(&mut self) {
        self.is_dialled().await;
        self.link = Link::Dialled { resume: None };
        self.answer_the_dial();
        self.settle().await;
    }

    /// The provider takes calls back.
    pub async fn server_cancels(&mut self, calls: &[Call]) {
        let ids = calls.iter().filter_map(|call| self.id(*call)).collect();
        self.provider(ProviderEvent::CallsCancelled(ids));
        self.settle().await;
    }

    /// The provider says that it will close the connection after `left`. It is there for the next one.
    pub async fn provider_leaves(&mut self, left: Duration) {
        self.provider(ProviderEvent::GoAway { left: Some(left) });
        self.settle().await;
    }

    /// The provider says something, if it is there.
    pub(crate) fn provider(&mut self, event: ProviderEvent) {
        if self.link == Link::Up {
            self.feed(Input::Provider(event));
        }
    }

    async fn is_dialled(&mut self) {
        self.pass_while(DIAL_LIMIT, |driver| driver.link == Link::Gone).await;
        assert!(
            matches!(self.link, Link::Dialled { .. }),
            "the daemon does not try to connect: {:?}",
            self.link
        );
    }

    /// Takes the connection that was asked for, if one was.
    pub(crate) fn answer_the_dial(&mut self) {
        let Link::Dialled { resume } = &self.link else { return };
        let resume = resume.clone();
        self.link = Link::Up;
        self.away = false;
        if let Some(setup) = self.script.setup(resume.as_deref()) {
            self.log.wire.push(setup);
        }
        self.feed(Input::LinkOpened);
        let capabilities = self.script.capabilities();
        let (resumes, resumed) = (capabilities.resumes, resume.is_some());
        self.provider(ProviderEvent::Ready { resumed: resumed && resumes, capabilities });
        if resumes {
            self.provider(ProviderEvent::ResumeHandle(Some("handle".to_owned())));
        }
    }

    pub(crate) fn on_disconnect(&mut self) {
        if std::mem::replace(&mut self.link, Link::Gone) != Link::Gone {
            self.turn_open = false;
            let text = "closed by us".to_owned();
            self.feed_later(Input::LinkClosed(LinkFailure { cause: FailureCause::Requested, text }));
        }
    }
}
