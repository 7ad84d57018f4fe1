// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the provider and the connection to it do.

use std::time::Duration;

use serde_json::Value;
use session::{FailureCause, Input, Intent, LinkFailure, ProviderEvent};
use units::Instant;

use crate::model::Call;
use crate::realtime::Said;
use crate::world::Driver;

/// The longest that the daemon is waited for to try again: past its longest wait.
const DIAL_LIMIT: Duration = Duration::from_secs(120);

/// What a handle begins with; the number of its conversation follows.
const HANDLE: &str = "conversation-";

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

/// Something that the provider has said and the daemon has not heard.
#[derive(Clone, Debug)]
pub(crate) enum OnItsWay {
    /// What any provider says.
    Event(ProviderEvent),
    /// What one says that speaks when it is asked to.
    Said(Said),
}

/// What a provider says again when it takes up a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Nothing.
    Nothing,
    /// The transcript of what the person said last.
    LastWords,
    /// The calls that have no answer, under their own ids; not those without one.
    OpenCalls,
}

impl Driver {
    /// The connection is lost, with what was on its way. It stays so until [`Driver::provider_resumes`] or
    /// [`Driver::provider_begins_anew`].
    pub async fn provider_drops(&mut self) {
        self.link_is_gone();
        self.away = true;
        let text = "the connection was lost".to_owned();
        self.feed(Input::LinkClosed(LinkFailure { cause: FailureCause::Transient, text }));
        self.settle().await;
    }

    /// The daemon tries again and the provider takes up the conversation, if it is one that can; else this is
    /// [`Driver::provider_begins_anew`]. The provider says again what `replay` says.
    ///
    /// # Panics
    /// If the daemon does not try: the connection was not lost, or the session is over.
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
                let its = |call: &Call| self.has_id(*call) && self.is_current(*call);
                let open = self.calls_without_answer().into_iter().filter(its);
                let again = open.map(|call| self.provider_call(call).clone()).collect();
                self.provider(ProviderEvent::Calls(again));
            }
        }
        self.settle().await;
    }

    /// The daemon tries again and the provider knows nothing of what was.
    ///
    /// # Panics
    /// If the daemon does not try: the connection was not lost, or the session is over.
    pub async fn provider_begins_anew(&mut self) {
        self.is_dialled().await;
        self.link = Link::Dialled { resume: None };
        self.answer_the_dial();
        self.settle().await;
    }

    /// The provider takes calls back.
    ///
    /// # Panics
    /// If it is one that does not: see [`Profile::takes_back`](crate::Profile::takes_back).
    pub async fn server_cancels(&mut self, calls: &[Call]) {
        assert!(self.profile().takes_back, "{} takes no calls back", self.profile().name);
        let ids = calls.iter().filter_map(|call| self.provider_call(*call).id.clone()).collect();
        self.provider(ProviderEvent::CallsCancelled(ids));
        self.settle().await;
    }

    /// The provider will close the connection after `left`: it says so, or its adapter knows. It is there for the next.
    pub async fn provider_leaves(&mut self, left: Duration) {
        self.provider(ProviderEvent::GoAway { left: Some(left) });
        self.settle().await;
    }

    /// What the provider and the model say from here on is not heard until [`Driver::provider_is_heard_again`]; what the
    /// daemon says arrives as ever. For races between the two.
    pub fn provider_lags(&mut self) {
        self.lagging = true;
    }

    /// What was on its way arrives, in order, and what is said from here on at once.
    pub async fn provider_is_heard_again(&mut self) {
        self.lagging = false;
        self.drain();
        self.settle().await;
    }

    /// The provider begins a response by itself, as one does that has heard the end of a turn, and says nothing yet. It is
    /// active until the model is done. For a provider that has no responses this is nothing.
    pub async fn provider_begins_response(&mut self) {
        if let Some((_, peer)) = &mut self.realtime {
            let said = peer.begin();
            self.say(said);
        }
        self.settle().await;
    }

    /// What the daemon sent that the provider does not take: a second answer to a call, one to a call that was taken back
    /// or that another conversation made, a message out of place. It should be empty whatever the test does.
    #[must_use]
    pub fn protocol_faults(&self) -> &[String] {
        &self.log.faults
    }

    /// The provider says something, if it is there.
    pub(crate) fn provider(&mut self, event: ProviderEvent) {
        if self.link == Link::Up {
            self.on_its_way.push_back(OnItsWay::Event(event));
            self.drain();
        }
    }

    /// The same for one that speaks when it is asked to.
    pub(crate) fn say(&mut self, said: impl IntoIterator<Item = Said>) {
        if self.link == Link::Up {
            self.on_its_way.extend(said.into_iter().map(OnItsWay::Said));
            self.drain();
        }
    }

    /// The next thing that arrives.
    pub(crate) fn next_said(&mut self) -> Option<OnItsWay> {
        if self.lagging { None } else { self.on_its_way.pop_front() }
    }

    /// What it means to the session.
    pub(crate) fn heard_as(&mut self, now: Instant, said: OnItsWay) -> Vec<ProviderEvent> {
        match (said, &mut self.realtime) {
            (OnItsWay::Event(event), _) => vec![event],
            (OnItsWay::Said(said), Some((adapter, _))) => adapter.hear(now, said),
            (OnItsWay::Said(_), None) => Vec::new(),
        }
    }

    /// Asks for a response if one is wanted and the way is free.
    pub(crate) fn ask_for_speech(&mut self) {
        let now = self.now();
        let request = match (&mut self.realtime, &self.link) {
            (Some((adapter, _)), Link::Up) => adapter.request(now),
            (Some(_) | None, _) => None,
        };
        if let Some(request) = request {
            self.send(request);
        }
    }

    /// Sends one message.
    pub(crate) fn send(&mut self, message: Value) {
        if let Some((_, peer)) = &mut self.realtime {
            match peer.take(&message) {
                Ok(said) => self.on_its_way.extend(said.into_iter().map(OnItsWay::Said)),
                Err(fault) => self.log.faults.push(fault),
            }
        }
        self.log.wire.push(message);
    }

    /// Whether the answers of `intent` are the provider's to have.
    pub(crate) fn judge(&mut self, intent: &Intent) {
        let Intent::Answer(answers) = intent else { return };
        for answer in answers {
            if let Err(why) = self.answer_is_due(answer) {
                self.log.faults.push(format!("an answer to {why}: {answer:?}"));
            }
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
        let capabilities = self.script.capabilities();
        let earlier = resume.as_deref().filter(|_| capabilities.resumes).and_then(resumed_by);
        self.link = Link::Up;
        self.away = false;
        self.begun += u32::from(earlier.is_none());
        self.conversation = earlier.unwrap_or(self.begun);
        if let Some(setup) = self.script.setup(resume.as_deref()) {
            self.send(setup);
        }
        self.feed(Input::LinkOpened);
        let handle = capabilities.resumes.then(|| format!("{HANDLE}{}", self.conversation));
        self.provider(ProviderEvent::Ready { resumed: earlier.is_some(), capabilities });
        if handle.is_some() {
            self.provider(ProviderEvent::ResumeHandle(handle));
        }
    }

    /// Nothing more of this connection is heard or said.
    pub(crate) fn link_is_gone(&mut self) {
        self.link = Link::Gone;
        self.turn_open = false;
        self.on_its_way.clear();
        self.lagging = false;
        self.lose_calls();
        if let Some(ends) = &mut self.realtime {
            *ends = Default::default();
        }
    }

    pub(crate) fn on_disconnect(&mut self) {
        if self.link != Link::Gone {
            self.link_is_gone();
            let text = "closed by us".to_owned();
            self.feed_later(Input::LinkClosed(LinkFailure { cause: FailureCause::Requested, text }));
        }
    }
}

/// The conversation that a handle takes up.
fn resumed_by(handle: &str) -> Option<u32> {
    handle.strip_prefix(HANDLE)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use session::{Answer, FollowUp};
    use tools::ToolSet;
    use units::CallKey;

    use super::*;
    use crate::script::Script;

    fn answer(id: Option<&str>) -> Intent {
        let (id, name, body) = (id.map(str::to_owned), "weigh".to_owned(), json!({}));
        Intent::Answer(vec![Answer { call: CallKey(1), id, name, body, follow_up: FollowUp::Silent }])
    }

    /// Whether `d` finds fault with this answer.
    fn is_a_fault(d: &mut Driver, id: Option<&str>) -> bool {
        let before = d.protocol_faults().len();
        d.judge(&answer(id));
        d.protocol_faults().len() > before
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_waits_for_is_a_fault() {
        let mut d = Driver::new(ToolSet::builder().build().expect("no tools are fine"), Script::gemini());
        assert!(is_a_fault(&mut d, Some("call-1")), "nobody has called");
        // There is no such tool, so each is answered at once.
        d.model_asks("weigh", json!({})).await;
        assert!(is_a_fault(&mut d, Some("call-1")), "it has its answer");
        d.model_asks_without_id("weigh", json!({})).await;
        assert!(is_a_fault(&mut d, None), "so has the one without an id");
        d.provider_drops().await;
        d.provider_begins_anew().await;
        assert!(is_a_fault(&mut d, Some("call-1")), "it is of another conversation");
        d.model_asks("weigh", json!({})).await;
        assert_eq!(d.protocol_faults().len(), 4, "no fault was found with what the session sent");
    }
}
