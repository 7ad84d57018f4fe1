//! Every call that is owed an answer, and what was answered before.
//!
//! A call has one answer by construction: its place among the answers of its response goes from owed to answered once,
//! and a response leaves the ledger once, when every place is answered.

mod finished;

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use units::{CallKey, TurnId};

use crate::confirm::{Permit, Proposal};
use crate::snapshot::OpenCall;
use crate::tool::{Effect, OutcomeStatus, ToolSpec};

pub(crate) use finished::Finished;

/// Answers and ids remembered, for calls that come again.
const REMEMBERED: usize = 256;

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

/// A call without an answer.
pub(crate) struct Open {
    pub(crate) name: String,
    pub(crate) response: u64,
    pub(crate) stage: Stage,
}

/// How far a call has come.
pub(crate) enum Stage {
    /// Checked; waits for the transcript of what may be the person's answer.
    Held(Box<Proposal>),
    /// May run; waits for the calls before it. The permit is here and nowhere else.
    Queued(Permit, ToolSpec),
    /// With its tool.
    Running(Running),
    /// Equal to a call that has not ended: shares its answer.
    Copy(CallKey),
}

/// What is remembered of a call while its tool has it.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) spec: ToolSpec,
    pub(crate) digest: [u8; 32],
    pub(crate) turn: TurnId,
    /// It spent an approval.
    pub(crate) agreed: bool,
    /// It is past its point of no return.
    pub(crate) begun: bool,
}

/// Why a call that its tool still has is owed no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loose {
    /// The provider took it back.
    TakenBack,
    /// It was answered at its deadline: that nothing was done, or that nobody knows.
    GivenUp { answered: OutcomeStatus },
}

/// The calls of one response, in order.
pub(crate) struct Response {
    pub(crate) id: u64,
    /// The conversation that asked. Answers belong to no other.
    pub(crate) conversation: u64,
    /// The model was heard in this response.
    pub(crate) spoke: bool,
    pub(crate) places: Vec<Place>,
}

/// One call's place among the answers of its response.
pub(crate) enum Place {
    /// Its call is open.
    Owed(CallKey),
    /// It has its answer.
    Answered(Given),
}

/// The one answer to one call.
pub(crate) struct Given {
    pub(crate) call: CallKey,
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) body: Value,
    pub(crate) owes: Owes,
    pub(crate) change: Change,
    /// The call whose answer it shares.
    pub(crate) copy_of: Option<CallKey>,
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

impl Place {
    fn call(&self) -> CallKey {
        match self {
            Self::Owed(call) => *call,
            Self::Answered(given) => given.call,
        }
    }
}

#[derive(Default)]
pub(crate) struct Ledger {
    last_call: CallKey,
    last_response: u64,
    open: BTreeMap<CallKey, Open>,
    ids: BTreeMap<CallKey, String>,
    responses: VecDeque<Response>,
    queue: VecDeque<CallKey>,
    running: Option<CallKey>,
    /// Calls that their tool still has and that are owed no answer any more.
    loose: BTreeMap<CallKey, (Running, Loose)>,
    /// Ids of this conversation that got a place, and those that were refused without one: apart, so that a flood of
    /// the one kind does not drive out the other.
    seen: VecDeque<String>,
    refused: VecDeque<String>,
    pub(crate) finished: Finished,
}

impl Ledger {
    pub(crate) fn open_calls(&self) -> Vec<OpenCall> {
        self.open
            .iter()
            .map(|(call, open)| OpenCall {
                call: *call,
                name: open.name.clone(),
                running: matches!(open.stage, Stage::Running(_)),
            })
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Some response of this conversation is without its answers.
    pub(crate) fn owes(&self, conversation: u64) -> bool {
        self.responses.iter().any(|response| response.conversation == conversation)
    }

    /// Whether a call of this conversation with this id has, had or is owed an answer, as far as is remembered.
    pub(crate) fn knows(&self, conversation: u64, id: Option<&str>) -> bool {
        id.is_some_and(|id| {
            self.seen.iter().chain(&self.refused).any(|known| known == id)
                || self.by_id(conversation, id).is_some()
        })
    }

    /// Another conversation has begun: its ids are its own.
    pub(crate) fn forget_ids(&mut self) {
        self.seen.clear();
        self.refused.clear();
    }

    pub(crate) fn begin_response(&mut self, conversation: u64, spoke: bool) -> u64 {
        self.last_response += 1;
        let id = self.last_response;
        self.responses.push_back(Response { id, conversation, spoke, places: Vec::new() });
        id
    }

    /// Calls that have a place among the answers of their response, answered or not.
    pub(crate) fn places(&self) -> usize {
        self.responses.iter().map(|response| response.places.len()).sum()
    }

    /// The next call's key.
    pub(crate) fn next_key(&mut self) -> CallKey {
        self.last_call = self.last_call.next();
        self.last_call
    }

    /// A key for a call that is answered at once and gets no place here.
    pub(crate) fn refuse(&mut self, id: Option<&str>) -> CallKey {
        if let Some(id) = id {
            push_bounded(&mut self.refused, id);
        }
        self.next_key()
    }

    /// A place for a call in `response`. It is owed an answer from here on.
    pub(crate) fn admit(&mut self, response: u64, id: Option<String>) -> CallKey {
        let call = self.next_key();
        if let Some(id) = id {
            push_bounded(&mut self.seen, &id);
            self.ids.insert(call, id);
        }
        if let Some(response) = self.responses.iter_mut().rfind(|candidate| candidate.id == response) {
            response.places.push(Place::Owed(call));
        }
        call
    }

    /// Keeps an admitted call until it is answered.
    pub(crate) fn keep(&mut self, call: CallKey, open: Open) {
        if matches!(open.stage, Stage::Queued(..)) {
            self.queue.push_back(call);
        }
        self.open.insert(call, open);
    }

    /// Takes an open call out. Whoever takes it answers it with [`Ledger::fill`] or closes it with [`Ledger::void`].
    pub(crate) fn take(&mut self, call: CallKey) -> Option<Open> {
        let open = self.open.remove(&call)?;
        self.queue.retain(|queued| *queued != call);
        if self.running == Some(call) {
            self.running = None;
        }
        Some(open)
    }

    /// Gives a call that is not open any more its one answer.
    pub(crate) fn fill(&mut self, call: CallKey, name: String, body: Value, owes: Owes, change: Change) {
        self.give(Given { call, id: None, name, body, owes, change, copy_of: None });
    }

    /// Gives a call that is not open any more the answer of the one that it equals. The model speaks about that, if it
    /// should; this one is only filed.
    pub(crate) fn fill_copy(&mut self, call: CallKey, name: String, body: Value, original: CallKey) {
        let (owes, change) = (Owes::Silence, Change::Nothing);
        self.give(Given { call, id: None, name, body, owes, change, copy_of: Some(original) });
    }

    fn give(&mut self, given: Given) {
        let id = self.ids.remove(&given.call);
        if let Some((response, place)) = self.find(given.call)
            && let Some(place @ Place::Owed(_)) = self.responses[response].places.get_mut(place)
        {
            *place = Place::Answered(Given { id, ..given });
        }
    }

    /// Puts the truth in the place of an answer that is not sent yet, and of those that share it. False if that of the
    /// call itself is not here any more.
    pub(crate) fn correct(&mut self, call: CallKey, body: &Value, owes: Owes, change: Change) -> bool {
        let mut in_time = false;
        for place in self.responses.iter_mut().flat_map(|response| &mut response.places) {
            let Place::Answered(given) = place else { continue };
            if given.call == call {
                (given.owes, given.change) = (owes, change);
                in_time = true;
            } else if given.copy_of != Some(call) {
                continue;
            }
            given.body = body.clone();
        }
        in_time
    }

    /// A call that will never be answered: its place is gone.
    pub(crate) fn void(&mut self, call: CallKey) {
        self.ids.remove(&call);
        if let Some((response, place)) = self.find(call) {
            self.responses[response].places.remove(place);
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
                    Place::Owed(call) => self.ids.get(call).map(String::as_str),
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

    /// The keys of open calls of which `which` is true, oldest first.
    pub(crate) fn select(&self, which: impl Fn(&Open) -> bool) -> Vec<CallKey> {
        self.open.iter().filter(|(_, open)| which(open)).map(|(call, _)| *call).collect()
    }

    /// The next call to run, if none is running. It counts as running from here on.
    pub(crate) fn start_next(&mut self) -> Option<(CallKey, Permit, ToolSpec)> {
        if self.running.is_some() {
            return None;
        }
        let call = self.queue.pop_front()?;
        let Some(Open { name, response, stage: Stage::Queued(permit, spec) }) = self.open.remove(&call)
        else {
            return None;
        };
        let running = Running {
            spec: spec.clone(),
            digest: *permit.digest(),
            turn: permit.turn(),
            agreed: permit.grant().is_some(),
            begun: false,
        };
        self.open.insert(call, Open { name, response, stage: Stage::Running(running) });
        self.running = Some(call);
        Some((call, permit, spec))
    }

    pub(crate) fn running(&self) -> Option<CallKey> {
        self.running
    }

    pub(crate) fn is_running(&self, call: CallKey) -> bool {
        self.running == Some(call)
    }

    /// The running call is past its point of no return. Of one that is owed no answer any more, its outcome tells.
    pub(crate) fn on_begun(&mut self, call: CallKey) {
        if let Some(Open { stage: Stage::Running(running), .. }) = self.open.get_mut(&call) {
            running.begun = true;
        }
    }

    /// The tool goes on with a call that is owed no answer any more; its outcome decides whether a note is due.
    pub(crate) fn let_go(&mut self, call: CallKey, running: Running, why: Loose) {
        self.loose.insert(call, (running, why));
        if self.loose.len() > REMEMBERED {
            self.loose.pop_first();
        }
    }

    pub(crate) fn take_loose(&mut self, call: CallKey) -> Option<(Running, Loose)> {
        self.loose.remove(&call)
    }

    /// A call with equal arguments that may run or runs.
    pub(crate) fn equal_in_flight(&self, name: &str, digest: &[u8; 32]) -> Option<CallKey> {
        self.open
            .iter()
            .find(|(_, open)| {
                open.name == name
                    && match &open.stage {
                        Stage::Queued(permit, _) => permit.digest() == digest,
                        Stage::Running(running) => running.digest == *digest,
                        Stage::Held(_) | Stage::Copy(_) => false,
                    }
            })
            .map(|(call, _)| *call)
    }

    /// The open calls that share the answer of `call`.
    pub(crate) fn copies_of(&self, call: CallKey) -> Vec<CallKey> {
        self.select(|open| matches!(open.stage, Stage::Copy(original) if original == call))
    }

    /// Whether the model was heard in `response`.
    pub(crate) fn spoke(&self, response: u64) -> bool {
        self.responses.iter().any(|candidate| candidate.id == response && candidate.spoke)
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

    /// The conversation is over: nothing of it will be answered. The calls that were open, and those whose answer was
    /// ready but not sent.
    pub(crate) fn clear(&mut self) -> (Vec<(CallKey, Open)>, Vec<Given>) {
        let unsent = std::mem::take(&mut self.responses)
            .into_iter()
            .flat_map(|response| response.places)
            .filter_map(|place| match place {
                Place::Answered(given) => Some(given),
                Place::Owed(_) => None,
            })
            .collect();
        self.ids.clear();
        self.queue.clear();
        self.running = None;
        self.loose.clear();
        self.forget_ids();
        self.finished = Finished::default();
        (std::mem::take(&mut self.open).into_iter().collect(), unsent)
    }
}

/// Appends `id` to `ids`, which keeps the last [`REMEMBERED`].
fn push_bounded(ids: &mut VecDeque<String>, id: &str) {
    ids.push_back(id.to_owned());
    if ids.len() > REMEMBERED {
        ids.pop_front();
    }
}
