//! What the model does, and what it is answered.

use std::time::Duration;

use serde_json::Value;
use session::{FollowUp, Input, Notice, ProviderCall, ProviderEvent};
use units::{Hz, Pcm};

use crate::room::spoken_for;
use crate::world::Driver;

/// The longest that an answer is waited for: twice what any tool may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A call the model has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call(usize);

impl Call {
    pub(crate) const fn at(self) -> usize {
        self.0
    }
}

/// What is known of it.
pub(crate) struct Asked {
    pub(crate) call: ProviderCall,
    pub(crate) answers: Vec<Answer>,
    pub(crate) closed: Option<&'static str>,
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

    /// The model closes its turn. The person's next one does it too.
    pub async fn model_done(&mut self) {
        if std::mem::take(&mut self.turn_open) {
            self.provider(ProviderEvent::TurnComplete { more: false });
        }
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
        let at = self.asked.len();
        self.model_asks_many([(name, args)]).await;
        Call(at)
    }

    /// The model makes these calls in one response, and nobody waits for their answers.
    pub async fn model_asks_many<'a>(
        &mut self,
        calls: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Vec<Call> {
        let first = self.asked.len();
        let calls: Vec<ProviderCall> = calls
            .into_iter()
            .zip(first..)
            .map(|((name, args), at)| ProviderCall {
                id: Some(format!("call-{}", at + 1)),
                name: name.to_owned(),
                args,
            })
            .collect();
        self.give_calls(calls).await
    }

    /// The model makes a call to which the provider gives no id.
    pub async fn model_asks_without_id(&mut self, name: &str, args: Value) -> Call {
        let at = self.asked.len();
        self.give_calls(vec![ProviderCall { id: None, name: name.to_owned(), args }]).await;
        Call(at)
    }

    /// The provider shows these calls again, under their own ids.
    pub async fn model_repeats(&mut self, calls: &[Call]) {
        let calls = calls.iter().map(|call| self.asked[call.0].call.clone()).collect();
        self.give_calls(calls).await;
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

    pub(crate) fn id(&self, call: Call) -> Option<String> {
        self.asked[call.0].call.id.clone()
    }

    /// The calls of the last response that asked for any.
    pub(crate) fn calls_without_answer(&self) -> Vec<Call> {
        let open = |asked: &Asked| asked.answers.is_empty() && asked.closed.is_none();
        self.asked.iter().enumerate().filter(|(_, asked)| open(asked)).map(|(at, _)| Call(at)).collect()
    }

    async fn give_calls(&mut self, calls: Vec<ProviderCall>) -> Vec<Call> {
        self.model_acts();
        let first = self.asked.len();
        for call in &calls {
            self.asked.push(Asked { call: call.clone(), answers: Vec::new(), closed: None });
        }
        let handles: Vec<usize> = (first..self.asked.len()).collect();
        self.arriving = handles.iter().copied().collect();
        // Also over a connection that is gone: what it still says must do no harm.
        self.feed(Input::Provider(ProviderEvent::Calls(calls)));
        // What never arrived was not even looked at.
        for lost in std::mem::take(&mut self.arriving) {
            self.asked[lost].closed.get_or_insert("it was not taken");
        }
        self.settle().await;
        handles.into_iter().map(Call).collect()
    }

    fn model_acts(&mut self) {
        self.turn_open = true;
        self.log.context.clear();
    }

    /// Keeps what a notice says of a call.
    pub(crate) fn note_call(&mut self, notice: &Notice) {
        match notice {
            Notice::CallArrived { call, .. } => {
                if let Some(at) = self.arriving.pop_front() {
                    self.keys.insert(*call, at);
                }
            }
            Notice::DuplicateCall { .. } => {
                if let Some(at) = self.arriving.pop_front() {
                    self.asked[at].closed = Some("its id had been seen before");
                }
            }
            Notice::CallAnswered { call, name, body, follow_up, latency, coalesced, .. } => {
                // What is refused unseen was never said to have arrived.
                let at = self.keys.get(call).copied().or_else(|| self.arriving.pop_front());
                if let Some(asked) = at.and_then(|at| self.asked.get_mut(at)) {
                    asked.answers.push(Answer {
                        name: name.clone(),
                        args: asked.call.args.clone(),
                        body: Some(body.clone()),
                        speaks: match follow_up {
                            FollowUp::WhenIdle => true,
                            FollowUp::Silent => false,
                        },
                        latency: *latency,
                        coalesced: *coalesced,
                    });
                }
            }
            Notice::CallClosed { call, why, .. } => {
                if let Some(at) = self.keys.get(call) {
                    self.asked[*at].closed = Some(why);
                }
            }
            // About turns, speech, the gate and the link.
            Notice::TurnOpened { .. }
            | Notice::TurnClosed { .. }
            | Notice::Turn(_)
            | Notice::UserSaid { .. }
            | Notice::ModelSaid { .. }
            | Notice::BargeIn { .. }
            | Notice::NoiseIgnored { .. }
            | Notice::Played { .. }
            | Notice::CallRun { .. }
            | Notice::LateOutcome { .. }
            | Notice::NoteDropped { .. }
            | Notice::GatePending { .. }
            | Notice::GatePresented { .. }
            | Notice::GateCut { .. }
            | Notice::GateEvidence { .. }
            | Notice::GateGranted { .. }
            | Notice::GateSpent { .. }
            | Notice::GateClosed { .. }
            | Notice::GateRefused { .. }
            | Notice::Link { .. }
            | Notice::ClipQueued { .. }
            | Notice::Usage { .. }
            | Notice::Ending { .. }
            | Notice::EndingCancelled
            | Notice::PlayoutLost { .. }
            | Notice::Ended { .. } => {}
        }
    }
}
