// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the model does, and what it is answered.

use std::time::Duration;

use serde_json::Value;
use session::{FollowUp, Input, Notice, ProviderCall, ProviderEvent};
use tools::parse_arguments;
use units::{Hz, Pcm};

use crate::provider::Link;
use crate::realtime::Item;
use crate::room::spoken_for;
use crate::world::Driver;

/// The longest that an answer is waited for: twice what any tool may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A call the model has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call(usize);

/// What is known of it.
pub(crate) struct Asked {
    pub(crate) call: ProviderCall,
    /// The provider gave it no id.
    unnamed: bool,
    /// What the model has written of its arguments, while they come in pieces.
    writing: Option<String>,
    /// How often the provider has shown it.
    shown: u32,
    /// The session has taken it.
    arrived: bool,
    pub(crate) answers: Vec<Answer>,
    pub(crate) closed: Option<&'static str>,
    /// The conversation it belongs to.
    conversation: u32,
    taken_back: bool,
    /// The provider has an answer.
    settled: bool,
}

impl Asked {
    /// It has no id, and an answer to this name in this conversation is its.
    fn waits_unnamed(&self, name: &str, conversation: u32) -> bool {
        self.call.id.is_none() && self.call.name == name && !self.settled && self.conversation == conversation
    }
}

/// What a call was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    name: String,
    args: Value,
    body: Option<Value>,
    speaks: bool,
    latency: Duration,
    coalesced: bool,
}

impl Answer {
    /// The word for how it ended, such as `success` or `pending_confirmation`. Empty if there is no answer.
    #[must_use]
    pub fn status(&self) -> &str {
        self.body().get("status").and_then(Value::as_str).unwrap_or_default()
    }

    /// What the model reads; null if there is no answer.
    #[must_use]
    pub fn body(&self) -> &Value {
        self.body.as_ref().unwrap_or(&Value::Null)
    }

    /// The tool's name, as the model wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments, as the model wrote them: for making the same call again.
    #[must_use]
    pub fn args(&self) -> Value {
        self.args.clone()
    }

    /// The model is asked to speak about it.
    #[must_use]
    pub fn is_to_be_spoken_about(&self) -> bool {
        self.speaks
    }

    /// From the call to this.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.latency
    }

    /// It is the answer of another call that it equalled.
    #[must_use]
    pub fn is_coalesced(&self) -> bool {
        self.coalesced
    }

    /// There is one.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.body.is_some()
    }
}

impl Driver {
    /// The model says this, generated at once and played as it comes to its turn. Its turn stays open for calls.
    pub async fn model_says(&mut self, text: &str) {
        self.model_says_for(text, spoken_for(text)).await;
    }

    /// The same, where the speech lasts this long.
    pub async fn model_says_for(&mut self, text: &str, span: Duration) {
        self.model_acts();
        text.clone_into(&mut self.saying);
        let frames = usize::try_from(Hz::K24.frames_in(span).0).unwrap_or_default();
        self.provider(ProviderEvent::ReplyText(text.to_owned()));
        self.provider(ProviderEvent::ReplyAudio(Pcm::new(Hz::K24, vec![0i16; frames])));
        self.provider(ProviderEvent::GenerationComplete);
        self.settle().await;
    }

    /// The model closes its turn. The person's next one does it too, and so do calls where they end a response.
    pub async fn model_done(&mut self) {
        self.close_turn();
        self.settle().await;
    }

    /// The model makes a call. Comes back when it has its answer, or cannot get one any more.
    pub async fn model_calls(&mut self, name: &str, args: Value) -> Answer {
        let call = self.model_asks(name, args).await;
        self.answer(call).await
    }

    /// The model makes these calls in one response. Comes back when each has its answer, or cannot get one any more.
    pub async fn model_calls_many<'a>(
        &mut self,
        calls: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Vec<Answer> {
        let calls = self.model_asks_many(calls).await;
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            answers.push(self.answer(call).await);
        }
        answers
    }

    /// The model makes a call, and nobody waits for its answer.
    pub async fn model_asks(&mut self, name: &str, args: Value) -> Call {
        let call = self.ask(name, args, false);
        self.make(&[call]).await;
        call
    }

    /// The model makes these calls in one response, and nobody waits for their answers.
    pub async fn model_asks_many<'a>(
        &mut self,
        calls: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Vec<Call> {
        let calls: Vec<Call> = calls.into_iter().map(|(name, args)| self.ask(name, args, false)).collect();
        self.make(&calls).await;
        calls
    }

    /// The model makes a call to which the provider gives no id.
    pub async fn model_asks_without_id(&mut self, name: &str, args: Value) -> Call {
        let call = self.ask(name, args, true);
        self.make(&[call]).await;
        call
    }

    /// The provider shows these calls again, under their own ids, which they need to have.
    pub async fn model_repeats(&mut self, calls: &[Call]) {
        self.make(calls).await;
    }

    /// The model begins a call, whose arguments come in pieces: see [`Driver::model_writes`].
    ///
    /// # Panics
    /// If the provider is one that sends calls whole: see [`Profile::speaks_when_asked`](crate::Profile::speaks_when_asked).
    pub async fn model_begins_call(&mut self, name: &str) -> Call {
        assert!(self.realtime.is_some(), "{} sends its calls whole", self.profile().name);
        let call = self.ask(name, Value::Null, false);
        self.asked[call.0].writing = Some(String::new());
        self.model_acts();
        self.add_item(call);
        self.settle().await;
        call
    }

    /// The model writes the next piece of the arguments of a call that it has begun, as text.
    ///
    /// # Panics
    /// If the call is over.
    pub async fn model_writes(&mut self, call: Call, piece: &str) {
        let writing = self.asked[call.0].writing.as_mut();
        writing.expect("`model_begins_call` comes before `model_writes`").push_str(piece);
        self.write_item(call, piece);
        self.settle().await;
    }

    /// The model has written all of a call that it has begun. It is heard of when the response is over.
    ///
    /// # Panics
    /// If the call is over.
    pub async fn model_ends_call(&mut self, call: Call) {
        let asked = &mut self.asked[call.0];
        let text = asked.writing.take().expect("`model_begins_call` comes before `model_ends_call`");
        asked.call.args = parse_arguments(&text).unwrap_or(Value::String(text));
        self.finish_item(call);
        self.settle().await;
    }

    /// What `call` was answered; waits for it for as long as any tool may take.
    pub async fn answer(&mut self, call: Call) -> Answer {
        self.pass_while(ANSWER_LIMIT, |driver| {
            let asked = &driver.asked[call.0];
            asked.answers.is_empty() && asked.closed.is_none() && !driver.is_over()
        })
        .await;
        let Asked { call: ProviderCall { name, args, .. }, answers, .. } = &self.asked[call.0];
        answers.first().cloned().unwrap_or_else(|| Answer {
            name: name.clone(),
            args: args.clone(),
            body: None,
            speaks: false,
            latency: Duration::ZERO,
            coalesced: false,
        })
    }

    /// How often `call` was answered: never more than once.
    #[must_use]
    pub fn answers(&self, call: Call) -> usize {
        self.asked[call.0].answers.len()
    }

    /// Why `call` will never be answered, if so.
    #[must_use]
    pub fn closed(&self, call: Call) -> Option<&'static str> {
        self.asked[call.0].closed
    }

    /// The provider gave `call` an id.
    #[must_use]
    pub fn has_id(&self, call: Call) -> bool {
        !self.asked[call.0].unnamed
    }

    /// The session took `call`, and in the conversation that goes on.
    #[must_use]
    pub fn is_current(&self, call: Call) -> bool {
        let asked = &self.asked[call.0];
        asked.arrived && asked.conversation == self.conversation && self.ended_by().is_none()
    }

    /// `call` is to be answered, or was: it is current, and was not taken back.
    #[must_use]
    pub fn is_owed(&self, call: Call) -> bool {
        self.is_current(call) && !self.asked[call.0].taken_back
    }

    pub(crate) fn provider_call(&self, call: Call) -> &ProviderCall {
        &self.asked[call.0].call
    }

    /// Every call that has neither an answer nor a reason for having none.
    pub(crate) fn calls_without_answer(&self) -> Vec<Call> {
        let open = |asked: &Asked| asked.answers.is_empty() && asked.closed.is_none();
        self.asked.iter().enumerate().filter(|(_, asked)| open(asked)).map(|(at, _)| Call(at)).collect()
    }

    /// Whether the provider waits for this answer; if not, what it is an answer to.
    pub(crate) fn answer_is_due(&mut self, answer: &session::Answer) -> Result<(), &'static str> {
        let conversation = self.conversation;
        let is_its = |asked: &&mut Asked| match &answer.id {
            Some(_) => asked.call.id == answer.id,
            None => asked.waits_unnamed(&answer.name, conversation),
        };
        let Some(asked) = self.asked.iter_mut().find(is_its) else { return Err("no call") };
        if asked.conversation != conversation {
            return Err("a call of another conversation");
        }
        if asked.taken_back {
            return Err("a call that was taken back");
        }
        if std::mem::replace(&mut asked.settled, true) {
            return Err("a call that has one");
        }
        Ok(())
    }

    /// A call that is about to be made.
    fn ask(&mut self, name: &str, args: Value, unnamed: bool) -> Call {
        let call = Call(self.asked.len());
        let id = match (unnamed, &self.realtime) {
            (false, _) => Some(format!("call-{}", call.0 + 1)),
            (true, Some(_)) => Some(item_id(call, 1)),
            (true, None) => None,
        };
        self.asked.push(Asked {
            call: ProviderCall { id, name: name.to_owned(), args },
            unnamed,
            writing: None,
            shown: 0,
            arrived: false,
            answers: Vec::new(),
            closed: None,
            conversation: self.conversation,
            taken_back: false,
            settled: false,
        });
        call
    }

    async fn make(&mut self, calls: &[Call]) {
        self.model_acts();
        if self.link == Link::Up && self.realtime.is_some() {
            for call in calls {
                self.add_item(*call);
                let args = self.provider_call(*call).args.to_string();
                self.write_item(*call, &args);
                self.finish_item(*call);
            }
            self.close_turn();
        } else {
            let calls = calls.iter().map(|call| self.provider_call(*call).clone()).collect();
            let event = ProviderEvent::Calls(calls);
            if self.link == Link::Up {
                self.provider(event);
            } else {
                // Over a connection that is gone: what it still says must do no harm.
                self.feed(Input::Provider(event));
            }
        }
        self.settle().await;
    }

    fn add_item(&mut self, call: Call) {
        let Asked { call: ProviderCall { id, name, .. }, unnamed, shown, .. } = &mut self.asked[call.0];
        *shown += 1;
        let item = Item {
            id: item_id(call, *shown),
            call_id: id.clone().filter(|_| !*unnamed),
            name: name.clone(),
            arguments: None,
            whole: false,
        };
        if let Some((_, peer)) = &mut self.realtime {
            peer.add(item);
        }
    }

    fn write_item(&mut self, call: Call, piece: &str) {
        let id = item_id(call, self.asked[call.0].shown);
        if let Some((_, peer)) = &mut self.realtime {
            let said = peer.write(&id, piece);
            self.say(said);
        }
    }

    fn finish_item(&mut self, call: Call) {
        let id = item_id(call, self.asked[call.0].shown);
        if let Some((_, peer)) = &mut self.realtime {
            let said = peer.finish(&id);
            self.say(said);
        }
    }

    fn model_acts(&mut self) {
        match &mut self.realtime {
            Some((_, peer)) if self.link == Link::Up => {
                let said = peer.begin();
                self.say(said);
            }
            Some(_) => {}
            None => self.turn_open = true,
        }
        self.log.context.clear();
    }

    /// The model's turn is not closed.
    pub(crate) fn turn_is_open(&self) -> bool {
        match &self.realtime {
            Some((_, peer)) => peer.is_active(),
            None => self.turn_open,
        }
    }

    /// The model has said all, or is cut.
    pub(crate) fn close_turn(&mut self) {
        for asked in &mut self.asked {
            if asked.writing.take().is_some() {
                asked.closed = Some("its response was over before it was");
            }
        }
        if let Some((_, peer)) = &mut self.realtime {
            let said = peer.end();
            self.say(said);
        } else if std::mem::take(&mut self.turn_open) {
            self.provider(ProviderEvent::TurnComplete { more: false });
        }
    }

    /// The calls that are on their way are lost.
    pub(crate) fn lose_calls(&mut self) {
        for asked in &mut self.asked {
            asked.writing = None;
            if !asked.arrived {
                asked.closed.get_or_insert("it was lost with its connection");
            }
        }
    }

    /// If `input` is about calls, notes which they are.
    pub(crate) fn expect_calls(&mut self, input: &Input) {
        if let Input::Provider(ProviderEvent::CallsCancelled(ids)) = input {
            for (at, asked) in self.asked.iter_mut().enumerate() {
                let is_named = asked.call.id.as_ref().is_some_and(|id| ids.contains(id));
                if is_named && asked.conversation == self.conversation && !asked.taken_back {
                    asked.taken_back = true;
                    self.taken_back.push(at);
                }
            }
        }
        let Input::Provider(ProviderEvent::Calls(calls)) = input else { return };
        self.arriving.clear();
        for call in calls {
            let fresh = |at: &usize| {
                let asked = &self.asked[*at];
                !asked.arrived && asked.closed.is_none() && !self.arriving.contains(at)
            };
            let its = |at: &usize| match &call.id {
                Some(_) => self.asked[*at].call.id == call.id,
                None => self.asked[*at].call == *call,
            };
            let all = || (0..self.asked.len()).filter(its);
            self.arriving.extend(all().find(fresh).or_else(|| all().next()));
        }
    }

    /// What the session said nothing of was not even looked at. What came over a connection that it was just leaving need
    /// not be heard.
    pub(crate) fn close_untaken_calls(&mut self) {
        for at in std::mem::take(&mut self.taken_back) {
            self.asked[at].taken_back = self.link == Link::Up;
        }
        for lost in std::mem::take(&mut self.arriving) {
            let asked = &mut self.asked[lost];
            if !asked.arrived {
                asked.closed.get_or_insert("it was not taken");
            }
        }
    }

    /// Keeps what a notice says of a call.
    pub(crate) fn note_call(&mut self, notice: &Notice) {
        if let Notice::CallArrived { call, .. } = notice {
            if let Some(at) = self.arriving.pop_front() {
                let asked = &mut self.asked[at];
                (asked.arrived, asked.closed, asked.conversation) = (true, None, self.conversation);
                self.keys.insert(*call, at);
            }
        } else if let Notice::DuplicateCall { .. } = notice {
            self.arriving.pop_front();
        } else if let Notice::CallAnswered { call, name, body, follow_up, latency, coalesced, .. } = notice {
            // What is refused unseen was never said to have arrived.
            let at = self.keys.get(call).copied().or_else(|| self.arriving.pop_front());
            if let Some(asked) = at.and_then(|at| self.asked.get_mut(at)) {
                asked.arrived = true;
                asked.answers.push(Answer {
                    name: name.clone(),
                    args: asked.call.args.clone(),
                    body: Some(body.clone()),
                    speaks: match follow_up {
                        FollowUp::WhenIdle | FollowUp::InWords | FollowUp::Interrupt => true,
                        FollowUp::Silent => false,
                    },
                    latency: *latency,
                    coalesced: *coalesced,
                });
            }
        } else if let Notice::CallClosed { call, why, .. } = notice
            && let Some(at) = self.keys.get(call)
        {
            self.asked[*at].closed = Some(why);
        }
    }
}

/// Of a call's place in a response; its id for the answer is another, if it has one.
fn item_id(call: Call, shown: u32) -> String {
    format!("item-{}-{shown}", call.0 + 1)
}
