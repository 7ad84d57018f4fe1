// SPDX-License-Identifier: MIT OR Apache-2.0

//! The calls of one response and their answers: one place each, in order, sent together.

use serde_json::Value;
use units::{CallKey, Instant, TurnId};

use super::{Asked, Ledger, push_bounded};
use crate::tool::{Effect, OnBargeIn, OutcomeStatus, UndoCall};

/// Whether an answer asks the model to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owes {
    /// It must not: somebody else speaks.
    Silence,
    /// Only if the model has not spoken in this response, so that the person is not left in silence.
    SpeechIfNone,
    /// The person waits to hear about it.
    Speech,
}

/// What an answered call did to the world. Unless that is nothing, it must be a note if it cannot be an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    Made,
    /// Nobody knows.
    Doubtful,
}

impl Change {
    pub(crate) fn of(effect: Effect, status: OutcomeStatus) -> Self {
        if effect == Effect::Read {
            return Self::Nothing;
        }
        match status {
            OutcomeStatus::Success => Self::Made,
            OutcomeStatus::Unknown => Self::Doubtful,
            OutcomeStatus::Error | OutcomeStatus::Cancelled => Self::Nothing,
        }
    }
}

/// How the outbound calls of a response have gone so far, for those behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Fine,
    Failed,
    /// One was answered before it ended: to free the microphone, or because its tool takes long.
    Unfinished,
}

/// The calls of one response, in order.
pub(crate) struct Response {
    pub(crate) id: u64,
    /// The conversation that asked. Answers belong to no other.
    pub(crate) conversation: u64,
    pub(crate) asked_at: Instant,
    /// The person's turn it came in.
    pub(super) turn: TurnId,
    /// The model, or the device for one of its calls, was heard in this response.
    pub(crate) spoke: bool,
    /// Every call of it that may run only looks and may run beside others.
    pub(super) together: bool,
    pub(super) step: Step,
    pub(crate) places: Vec<Place>,
}

/// One call's place among the answers of its response.
pub(crate) enum Place {
    /// Its call is open.
    Owed(CallKey),
    /// It has its answer.
    Answered(Given),
}

/// What a call is answered.
pub(crate) struct Told {
    pub(crate) body: Value,
    pub(crate) owes: Owes,
    pub(crate) change: Change,
    /// How that can be undone.
    pub(crate) undo: Option<Box<UndoCall>>,
    /// How the tool that brought it takes a barge-in; `None` if no tool did.
    pub(crate) by: Option<OnBargeIn>,
    /// It may interrupt the model.
    pub(crate) urgent: bool,
}

impl Told {
    /// What no tool brought.
    pub(crate) fn ours(body: Value, owes: Owes) -> Self {
        Self { body, owes, change: Change::Nothing, undo: None, by: None, urgent: false }
    }
}

/// The one answer to one call.
pub(crate) struct Given {
    pub(crate) call: CallKey,
    pub(crate) id: Option<String>,
    pub(crate) asked_at: Instant,
    pub(crate) name: String,
    /// The arguments, as the model wrote them.
    pub(crate) args: Value,
    pub(crate) told: Told,
    /// The call whose answer it shares.
    pub(crate) copy_of: Option<CallKey>,
    /// The person spoke over the device after it was ready and before it was sent.
    pub(crate) spoken_over: bool,
}

impl Place {
    pub(super) fn call(&self) -> CallKey {
        match self {
            Self::Owed(call) => *call,
            Self::Answered(given) => given.call,
        }
    }
}

impl Ledger {
    pub(crate) fn begin_response(
        &mut self,
        conversation: u64,
        spoke: bool,
        turn: TurnId,
        now: Instant,
    ) -> u64 {
        self.last_response += 1;
        let id = self.last_response;
        self.responses.push_back(Response {
            id,
            conversation,
            asked_at: now,
            turn,
            spoke,
            together: true,
            step: Step::Fine,
            places: Vec::new(),
        });
        id
    }

    /// Some response of this conversation is without its answers.
    pub(crate) fn owes(&self, conversation: u64) -> bool {
        self.responses.iter().any(|response| response.conversation == conversation)
    }

    /// Calls that have a place among the answers of their response, answered or not.
    pub(crate) fn places(&self) -> usize {
        self.responses.iter().map(|response| response.places.len()).sum()
    }

    /// Gives a call that is not open any more its one answer.
    pub(crate) fn fill(&mut self, call: CallKey, name: String, told: Told) {
        self.give(call, name, told, None);
    }

    /// Gives a call that is not open any more the answer of the one that it equals.
    pub(crate) fn fill_copy(&mut self, call: CallKey, name: String, told: Told, original: CallKey) {
        self.give(call, name, told, Some(original));
    }

    /// The person has opened a turn between `earlier` and `later`.
    pub(crate) fn are_turns_apart(&self, earlier: CallKey, later: CallKey) -> bool {
        let turn = |call| self.find(call).map(|(response, _)| self.responses[response].turn);
        turn(earlier) < turn(later)
    }

    fn give(&mut self, call: CallKey, name: String, told: Told, copy_of: Option<CallKey>) {
        let Some(Asked { id, args, at }) = self.asked.remove(&call) else { return };
        if let Some((response, place)) = self.find(call)
            && let Some(place @ Place::Owed(_)) = self.responses[response].places.get_mut(place)
        {
            *place = Place::Answered(Given {
                call,
                id,
                asked_at: at,
                name,
                args,
                told,
                copy_of,
                spoken_over: false,
            });
        }
    }

    /// Puts the truth in the place of an answer that is not sent yet, and of those that share it. False if that of the
    /// call itself is not here any more.
    pub(crate) fn correct(&mut self, call: CallKey, body: &Value, owes: Owes, change: Change) -> bool {
        let mut in_time = false;
        for place in self.responses.iter_mut().flat_map(|response| &mut response.places) {
            let Place::Answered(given) = place else { continue };
            if given.call == call {
                (given.told.owes, given.told.change) = (owes, change);
                in_time = true;
            } else if given.copy_of != Some(call) {
                continue;
            }
            given.told.body = body.clone();
        }
        in_time
    }

    /// The person spoke over the device: what is ready and not sent comes too late to be spoken about.
    pub(crate) fn on_spoken_over(&mut self) {
        for place in self.responses.iter_mut().flat_map(|response| &mut response.places) {
            if let Place::Answered(given) = place {
                given.spoken_over = true;
            }
        }
    }

    /// A call that will never be answered: its place is gone.
    pub(crate) fn void(&mut self, call: CallKey) {
        let owed = self.asked.remove(&call).and_then(|asked| asked.id);
        if let Some((response, place)) = self.find(call) {
            let given = match self.responses[response].places.remove(place) {
                Place::Answered(given) => given.id,
                Place::Owed(_) => None,
            };
            if let Some(id) = owed.or(given) {
                push_bounded(&mut self.taken_back, &id);
            }
            self.responses.retain(|response| !response.places.is_empty());
        }
    }

    /// The response that a call belongs to and its place there. Keys are given in order, so places are sorted by them.
    fn find(&self, call: CallKey) -> Option<(usize, usize)> {
        self.responses.iter().enumerate().find_map(|(response, candidate)| {
            let place = candidate.places.binary_search_by_key(&call, Place::call).ok()?;
            Some((response, place))
        })
    }

    /// The call without an answer, or with one not yet sent, that the provider calls by this id in `conversation`.
    pub(crate) fn by_id(&self, conversation: u64, id: &str) -> Option<CallKey> {
        let responses = self.responses.iter().filter(|response| response.conversation == conversation);
        responses
            .flat_map(|response| &response.places)
            .find(|place| {
                let known = match place {
                    Place::Owed(call) => self.asked.get(call).and_then(|asked| asked.id.as_deref()),
                    Place::Answered(given) => given.id.as_deref(),
                };
                known == Some(id)
            })
            .map(Place::call)
    }

    /// An answer that is ready but not sent.
    pub(crate) fn ready(&self, call: CallKey) -> Option<&Given> {
        let (response, place) = self.find(call)?;
        match self.responses[response].places.get(place)? {
            Place::Answered(given) => Some(given),
            Place::Owed(_) => None,
        }
    }

    pub(super) fn response(&self, id: u64) -> Option<&Response> {
        self.responses.iter().find(|candidate| candidate.id == id)
    }

    pub(super) fn response_mut(&mut self, id: u64) -> Option<&mut Response> {
        self.responses.iter_mut().find(|candidate| candidate.id == id)
    }

    /// Whether the model was heard in `response`.
    pub(crate) fn spoke(&self, response: u64) -> bool {
        self.response(response).is_some_and(|response| response.spoke)
    }

    /// Something is said for `response`.
    pub(crate) fn on_line(&mut self, response: u64) {
        if let Some(response) = self.response_mut(response) {
            response.spoke = true;
        }
    }

    /// The model is heard: it counts for every response without its answers.
    pub(crate) fn on_speech(&mut self) {
        for response in &mut self.responses {
            response.spoke = true;
        }
    }

    /// The next response of which every call has its answer.
    pub(crate) fn take_complete(&mut self) -> Option<Response> {
        self.responses.retain(|response| !response.places.is_empty());
        let place = self
            .responses
            .iter()
            .position(|response| response.places.iter().all(|place| matches!(place, Place::Answered(_))))?;
        self.responses.remove(place)
    }
}
