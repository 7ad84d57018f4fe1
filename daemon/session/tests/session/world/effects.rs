// SPDX-License-Identifier: MIT OR Apache-2.0

//! What calls did to the world, and whether the model may not know: such a thing is not done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use session::{OutcomeStatus, Permit};
use units::CallKey;

use crate::shop;

/// How long a call that undoes another is waited for: the time that every tool of the shop has which undoes.
const UNDOING: Duration = Duration::from_secs(8);

/// How long what a call did, and the model may not know, keeps an equal one from running.
const UNREAD: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Effects {
    /// Tool and arguments of each call that changes something, and when it was run.
    made: BTreeMap<CallKey, ((String, String), Duration)>,
    /// Calls past their point of no return that their tools still have.
    begun: BTreeSet<CallKey>,
    /// Calls that were taken back, and when calls ended that did something.
    taken_back: BTreeSet<CallKey>,
    done: BTreeMap<CallKey, Duration>,
    /// Tool and arguments of each call, as they were asked for.
    asked: BTreeMap<CallKey, (String, String)>,
    /// What was done by calls that were taken back, and when.
    unread: BTreeMap<(String, String), Duration>,
    /// Calls of the device's own, and which they undo.
    own: BTreeMap<CallKey, CallKey>,
    /// Those of them that have not come back, and until when they are waited for.
    undoing: BTreeMap<CallKey, Duration>,
    /// Tools and arguments of calls that share the answer of another.
    coalesced: BTreeSet<(String, String)>,
}

impl Effects {
    pub fn on_run(&mut self, permit: &Permit, now: Duration) {
        if !shop::is_done_once(permit.name()) {
            return;
        }
        let made = (permit.name().to_owned(), permit.args().to_string());
        if let Some(until) = self.undoing.get_mut(&permit.call_key()) {
            *until = now + UNDOING;
        }
        for (undo, until) in &self.undoing {
            let (undone, _) = &self.made[&self.own[undo]];
            assert!(*undone != made || now >= *until, "{made:?} runs while the same is being undone");
        }
        for call in &self.begun {
            let (other, since) = &self.made[call];
            assert!(
                *other != made || now - *since >= UNREAD,
                "{made:?} runs while an equal call is under way"
            );
        }
        // What the device undoes, it undoes whatever was done before.
        if let Some(since) = self.unread.get(&made).filter(|_| !self.is_own(permit.call_key())) {
            assert!(now - *since >= UNREAD, "{made:?} runs though it was done by a call that was taken back");
        }
        self.coalesced.remove(&made);
        self.made.insert(permit.call_key(), (made, now));
    }

    /// The device makes a call that undoes another.
    pub fn on_made(&mut self, call: CallKey, undoes: CallKey, args: &Value, now: Duration) {
        assert!(self.taken_back.contains(&undoes) && self.done.contains_key(&undoes), "{undoes} stands");
        assert!(!self.own.contains_key(&undoes), "what undoes is not undone");
        assert!(!self.own.values().any(|other| *other == undoes), "what is done once is undone once");
        let (made, _) = &self.made[&undoes];
        assert_eq!(made.1, args.to_string());
        assert!(!self.coalesced.contains(made), "{made:?} is what another call was answered with");
        self.own.insert(call, undoes);
        // It waits for its turn first.
        self.undoing.insert(call, now + UNDOING * 100);
    }

    pub fn is_own(&self, call: CallKey) -> bool {
        self.own.contains_key(&call)
    }

    pub fn on_arrived(&mut self, call: CallKey, name: &str, args: &Value) {
        self.asked.insert(call, (name.to_owned(), args.to_string()));
    }

    /// The call has the answer of an equal one.
    pub fn on_coalesced(&mut self, call: CallKey) {
        if let Some(asked) = self.asked.get(&call) {
            self.coalesced.insert(asked.clone());
            self.unread.remove(asked);
        }
    }

    pub fn on_begun(&mut self, call: CallKey) {
        if self.made.contains_key(&call) {
            self.begun.insert(call);
        }
    }

    pub fn on_outcome(&mut self, call: CallKey, status: OutcomeStatus, now: Duration) {
        self.begun.remove(&call);
        self.undoing.remove(&call);
        if let Some(undone) = self.own.get(&call).filter(|_| status == OutcomeStatus::Success) {
            self.done.remove(undone);
            self.unread.remove(&self.made[undone].0);
        }
        if self.made.contains_key(&call) && matches!(status, OutcomeStatus::Success | OutcomeStatus::Unknown)
        {
            self.done.insert(call, now);
            self.note(call, now);
        }
    }

    /// The call will never be answered; here, because it was taken back. What was to undo another does not run.
    pub fn on_closed(&mut self, call: CallKey, now: Duration) {
        self.undoing.remove(&call);
        self.taken_back.insert(call);
        self.note(call, now);
    }

    /// The model was told what such a call has done.
    pub fn on_recalled(&mut self, made: &(String, String)) {
        self.unread.remove(made);
    }

    fn note(&mut self, call: CallKey, now: Duration) {
        if self.taken_back.contains(&call) && self.done.contains_key(&call) && now - self.done[&call] < UNREAD
        {
            let (made, _) = self.made[&call].clone();
            self.unread.insert(made, self.done[&call]);
        }
    }
}
