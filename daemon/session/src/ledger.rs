// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every call that is owed an answer, and what was answered before.
//!
//! A call has one answer by construction: its place among the answers of its response goes from owed to answered once,
//! and a response leaves the ledger once, when every place is answered.

mod finished;
mod queue;
mod response;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use units::{CallKey, Epoch, Instant, TurnId};

use crate::confirm::{Permit, Proposal};
use crate::playout::Mark;
use crate::snapshot::OpenCall;
use crate::tool::{Effect, OutcomeStatus, ToolSpec, UndoCall};

pub(crate) use finished::{Again, Finished, Recalled};
pub(crate) use response::{Change, Given, Owes, Place, Response, Step, Told};

/// Answers and ids remembered, for calls that come again.
const REMEMBERED: usize = 256;

/// A call without an answer.
pub(crate) struct Open {
    /// The tool's name, as the model wrote it.
    pub(crate) name: String,
    pub(crate) response: u64,
    pub(crate) stage: Stage,
}

/// How far a call has come.
pub(crate) enum Stage {
    /// Checked; waits for the transcript of what may be the person's answer.
    Held(Box<Proposal>),
    /// May run; waits for the calls before it. The permit is here and nowhere else.
    Queued(Box<Queued>),
    /// With its tool.
    Running(Box<Running>),
    /// Equal to a call that has not ended: shares its answer.
    Copy(CallKey),
}

/// A call that may run.
pub(crate) struct Queued {
    pub(crate) permit: Permit,
    pub(crate) spec: ToolSpec,
    /// Not before this: until then it shows whether the person goes on speaking.
    pub(crate) settled_at: Instant,
    /// Nor before this was heard, for so long.
    pub(crate) after: Option<(Mark, Instant)>,
    /// Why the device makes it, if it is its own call.
    pub(crate) own: Option<Own>,
}

/// Why the device makes a call by itself. It has no answer: a note tells of it.
#[derive(Clone)]
pub(crate) enum Own {
    /// It undoes another.
    Undoes(Undoes),
    /// A person agreed to this by a tap or with the button.
    Agreed { summary: String },
}

impl Own {
    pub(crate) fn undoes(&self) -> Option<&Undoes> {
        match self {
            Self::Undoes(undoes) => Some(undoes),
            Self::Agreed { .. } => None,
        }
    }
}

/// What a call of the device's own is to undo.
#[derive(Clone)]
pub(crate) struct Undoes {
    /// The call that did it.
    pub(crate) call: CallKey,
    /// The tool's name.
    pub(crate) name: String,
    /// How it is undone.
    pub(crate) by: Box<UndoCall>,
}

impl Stage {
    /// The device's own call, which waits to run. No person and no provider has a say in that.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Queued(queued) if queued.own.is_some())
    }
}

/// What is remembered of a call while its tool has it.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) spec: ToolSpec,
    pub(crate) digest: [u8; 32],
    pub(crate) turn: TurnId,
    /// The connection that asked.
    pub(crate) epoch: Epoch,
    /// The arguments, if it spent an approval: it may have to be asked for anew.
    pub(crate) agreed: Option<Value>,
    /// It is past its point of no return.
    pub(crate) begun: bool,
    /// The provider may have dropped it without a word, and its answer with it.
    pub(crate) dropped: bool,
    /// An equal call was asked for since: what this one does stands for more than itself.
    pub(crate) asked_again: bool,
    /// How what it does can be undone.
    pub(crate) undo: Option<Box<UndoCall>>,
    /// Why the device makes it, if it is its own call.
    pub(crate) own: Option<Own>,
    pub(crate) started: Instant,
    /// When it should have ended.
    pub(crate) due: Instant,
}

impl Running {
    /// A person agreed to it by an act that made it: the model did not ask for it to run.
    pub(crate) fn is_agreed(&self) -> bool {
        matches!(self.own, Some(Own::Agreed { .. }))
    }
}

/// A call that its tool still has and that is owed no answer any more.
pub(crate) struct LetGo {
    pub(crate) running: Running,
    pub(crate) why: Loose,
    at: Instant,
}

/// What an equal call that was let go means for one that would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InTheWay {
    /// Nobody knows yet how it ends: this one must not run.
    Begun,
    /// It may have done something before it was stopped: until then its outcome is waited for.
    Stopping { until: Instant },
}

/// Why a call that its tool still has is owed no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loose {
    /// The provider took it back.
    TakenBack,
    /// It was answered at its deadline: that nothing was done, or that nobody knows.
    GivenUp { answered: OutcomeStatus },
}

/// What the provider said of a call, until it is answered.
struct Asked {
    id: Option<String>,
    args: Value,
    at: Instant,
}

#[derive(Default)]
pub(crate) struct Ledger {
    last_call: CallKey,
    last_response: u64,
    open: BTreeMap<CallKey, Open>,
    asked: BTreeMap<CallKey, Asked>,
    responses: VecDeque<Response>,
    queue: VecDeque<CallKey>,
    running: BTreeSet<CallKey>,
    /// Calls that their tool still has and that were answered that they run.
    jobs: BTreeMap<CallKey, Running>,
    /// Calls that their tool still has and that are owed no answer any more.
    loose: BTreeMap<CallKey, LetGo>,
    /// Ids of this conversation that got a place, those that were refused without one, and those that were taken back:
    /// apart, so that a flood of one kind does not drive out the others.
    seen: VecDeque<String>,
    refused: VecDeque<String>,
    taken_back: VecDeque<String>,
    pub(crate) finished: Finished,
}

/// What a conversation leaves behind when it ends.
pub(crate) struct Remains {
    pub(crate) open: Vec<(CallKey, Open)>,
    pub(crate) unsent: Vec<Given>,
    pub(crate) jobs: Vec<(CallKey, Running)>,
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

    /// Calls that are owed an answer or go on as jobs.
    pub(crate) fn len(&self) -> usize {
        self.open.len() + self.jobs.len()
    }

    /// No call is owed an answer.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// No call is owed an answer and none goes on as a job.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.open.is_empty() && self.jobs.is_empty()
    }

    /// Whether a call of this conversation with this id has, had or is owed an answer, as far as is remembered.
    pub(crate) fn knows(&self, conversation: u64, id: Option<&str>) -> bool {
        id.is_some_and(|id| {
            let mut remembered = self.seen.iter().chain(&self.refused).chain(&self.taken_back);
            remembered.any(|known| known == id) || self.by_id(conversation, id).is_some()
        })
    }

    /// Another conversation has begun: its ids are its own.
    pub(crate) fn forget_ids(&mut self) {
        self.seen.clear();
        self.refused.clear();
        self.taken_back.clear();
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
    pub(crate) fn admit(&mut self, response: u64, id: Option<String>, args: Value, now: Instant) -> CallKey {
        let call = self.next_key();
        if let Some(id) = &id {
            push_bounded(&mut self.seen, id);
        }
        self.asked.insert(call, Asked { id, args, at: now });
        if let Some(response) = self.responses.iter_mut().rfind(|candidate| candidate.id == response) {
            response.places.push(Place::Owed(call));
        }
        call
    }

    /// Keeps an admitted call until it is answered.
    pub(crate) fn keep(&mut self, call: CallKey, open: Open) {
        if let Stage::Queued(queued) = &open.stage {
            self.enqueue(call, open.response, &queued.spec);
        }
        self.open.insert(call, open);
    }

    /// Takes an open call out. Whoever takes it answers it with [`Ledger::fill`] or closes it with [`Ledger::void`].
    pub(crate) fn take(&mut self, call: CallKey) -> Option<Open> {
        let open = self.open.remove(&call)?;
        self.queue.retain(|queued| *queued != call);
        self.running.remove(&call);
        Some(open)
    }

    /// The keys of open calls of which `which` is true, oldest first.
    pub(crate) fn select(&self, which: impl Fn(&Open) -> bool) -> Vec<CallKey> {
        self.open.iter().filter(|(_, open)| which(open)).map(|(call, _)| *call).collect()
    }

    /// The tool goes on with a call that is owed no answer any more; its outcome decides whether a note is due.
    pub(crate) fn let_go(&mut self, call: CallKey, running: Running, why: Loose, at: Instant) {
        self.loose.insert(call, LetGo { running, why, at });
        if self.loose.len() > REMEMBERED {
            self.loose.pop_first();
        }
    }

    /// The provider has taken back a call that had been given up: how it ends after all is told as of one taken back.
    pub(crate) fn on_taken_back(&mut self, call: CallKey) {
        if let Some(let_go) = self.loose.get_mut(&call) {
            let_go.why = Loose::TakenBack;
        }
    }

    pub(crate) fn take_loose(&mut self, call: CallKey) -> Option<LetGo> {
        self.loose.remove(&call)
    }

    /// An equal call is asked for: that is the model's later word, so what those before it did, or will have done, is not
    /// undone by itself.
    pub(crate) fn on_asked_again(&mut self, name: &str, digest: &[u8; 32]) {
        let open = self.open.values_mut().filter_map(|open| match &mut open.stage {
            Stage::Running(running) => Some(&mut **running),
            Stage::Held(_) | Stage::Queued(_) | Stage::Copy(_) => None,
        });
        let loose = self.loose.values_mut().map(|let_go| &mut let_go.running);
        for running in open.chain(self.jobs.values_mut()).chain(loose) {
            running.asked_again |= running.is_equal(name, digest);
        }
        self.finished.on_asked_again(name, digest);
    }

    /// The call that was let go, changes something and equals this one, as long as it counts: one that has begun for
    /// `begun`, any other for `stopped`.
    pub(crate) fn in_the_way(
        &self,
        now: Instant,
        spec: &ToolSpec,
        digest: &[u8; 32],
        (stopped, begun): (Duration, Duration),
    ) -> Option<InTheWay> {
        if spec.effect == Effect::Read || spec.repeatable {
            return None;
        }
        // One that is being undone is as one that is being stopped: what comes after that is done anew.
        let undone = self.jobs.values().find(|job| {
            let undoes = job.own.as_ref().and_then(Own::undoes);
            undoes.is_some_and(|undoes| self.finished.of(undoes.call) == Some((&spec.name, digest)))
        });
        if let Some(undoing) = undone.filter(|undoing| now < undoing.due) {
            return Some(InTheWay::Stopping { until: undoing.due });
        }
        let equal = self.loose.values().filter(|let_go| {
            let running = &let_go.running;
            running.spec.name == spec.name && running.digest == *digest
        });
        equal
            .filter_map(|let_go| {
                let (way, until) = if let_go.running.begun {
                    (InTheWay::Begun, let_go.at + begun)
                } else {
                    let until = let_go.at + stopped;
                    (InTheWay::Stopping { until }, until)
                };
                (now < until).then_some(way)
            })
            .max_by_key(|way| *way == InTheWay::Begun)
    }

    /// Calls that a person agreed to and that wait for their turn.
    pub(crate) fn agreed(&self) -> impl Iterator<Item = (CallKey, &Permit)> {
        self.open.iter().filter_map(|(call, open)| match &open.stage {
            Stage::Queued(queued) if queued.permit.agreed().is_some() => Some((*call, &queued.permit)),
            Stage::Queued(_) | Stage::Held(_) | Stage::Running(_) | Stage::Copy(_) => None,
        })
    }

    /// A call with equal arguments that may run or runs.
    pub(crate) fn equal_in_flight(&self, name: &str, digest: &[u8; 32]) -> Option<CallKey> {
        self.open
            .iter()
            .find(|(_, open)| match &open.stage {
                Stage::Queued(queued) => queued.spec.name == name && queued.permit.digest() == digest,
                Stage::Running(running) => running.spec.name == name && running.digest == *digest,
                Stage::Held(_) | Stage::Copy(_) => false,
            })
            .map(|(call, _)| *call)
    }

    /// The open calls that share the answer of `call`.
    pub(crate) fn copies_of(&self, call: CallKey) -> Vec<CallKey> {
        self.select(|open| matches!(open.stage, Stage::Copy(original) if original == call))
    }

    /// The conversation is over: nothing of it will be answered. The calls that were open, those whose answer was ready
    /// but not sent, and those that go on as jobs.
    pub(crate) fn clear(&mut self) -> Remains {
        let unsent = std::mem::take(&mut self.responses)
            .into_iter()
            .flat_map(|response| response.places)
            .filter_map(|place| match place {
                Place::Answered(given) => Some(given),
                Place::Owed(_) => None,
            })
            .collect();
        self.asked.clear();
        self.queue.clear();
        self.running.clear();
        self.loose.clear();
        self.forget_ids();
        self.finished = Finished::default();
        Remains {
            open: std::mem::take(&mut self.open).into_iter().collect(),
            unsent,
            jobs: std::mem::take(&mut self.jobs).into_iter().collect(),
        }
    }
}

/// Appends `id` to `ids`, which keeps the last [`REMEMBERED`].
fn push_bounded(ids: &mut VecDeque<String>, id: &str) {
    ids.push_back(id.to_owned());
    if ids.len() > REMEMBERED {
        ids.pop_front();
    }
}
