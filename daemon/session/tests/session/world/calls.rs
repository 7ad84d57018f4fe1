// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls of the model, as the world around the session remembers them.

use serde_json::json;
use session::{LinkState, ProviderCall, ProviderEvent};

use super::{Transport, World};

impl World {
    pub(super) fn is_up(&self) -> bool {
        self.transport == Transport::Open && self.session.snapshot().link == LinkState::Up
    }

    pub fn call(&mut self, name: &str, arg: i64) {
        let args = json!({"phone": "12345", "text": arg.to_string(), "n": arg});
        let id = Some(self.next_id(name));
        self.give_calls(vec![ProviderCall { id, name: name.to_owned(), args }]);
    }

    /// One response with all these calls, each with an id of its own and arguments that no other has.
    pub fn calls(&mut self, names: &[&str]) {
        let calls = names.iter().map(|name| {
            self.calls_made += 1;
            let args = json!({"q": self.calls_made});
            ProviderCall { id: Some(self.next_id(name)), name: (*name).to_owned(), args }
        });
        let calls = calls.collect();
        self.give_calls(calls);
    }

    fn next_id(&mut self, name: &str) -> String {
        self.ids_made += 1;
        let id = format!("id{}", self.ids_made);
        self.ids.push((id.clone(), name.to_owned()));
        id
    }

    pub(super) fn give_calls(&mut self, calls: Vec<ProviderCall>) {
        if self.is_up() {
            self.responses += 1;
            for (place, call) in calls.iter().filter(|call| call.id.is_some()).enumerate() {
                let key = (self.conversation, call.id.clone().unwrap());
                self.asked_for
                    .entry(key.clone())
                    .or_insert_with(|| (call.name.clone(), call.args.to_string()));
                self.order.entry(key.clone()).or_insert((self.responses, place));
                *self.asked.entry(key).or_default() += 1;
            }
        }
        self.provider(ProviderEvent::Calls(calls));
    }

    /// Calls that were answered.
    pub fn answered(&self) -> usize {
        self.answers.len()
    }
}
