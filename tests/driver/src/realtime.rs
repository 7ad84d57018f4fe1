// SPDX-License-Identifier: MIT OR Apache-2.0

//! A provider that speaks when it is asked to: the part of its adapter that decides, and the other end of the wire.
//!
//! OpenAI Realtime is one. Its calls come in pieces; an answer is filed and says nothing about speech; the model speaks
//! about it when a message of its own asks for a response, of which one can be active at a time; and it begins others by
//! itself when the person has spoken. [`Adapter`] makes calls of pieces and requests of answers. Its messages are those
//! of the protocol; what it hears are values, since driving a conversation needs no JSON from that side.
//!
//! The session takes the calls of one response together, so they are handed over when the response is over.

mod arbiter;
mod items;
mod peer;

use serde_json::{Value, json};
use session::{Answer, EarlierCall, FollowUp, Intent, ProviderEvent};
use units::Instant;
use voiced::provider::Declaration;

use arbiter::{Arbiter, Request};
pub(crate) use items::Item;
use items::Items;
pub(crate) use peer::Peer;

/// What the provider says about responses, and what it says in them but speech.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A response has begun; by this request, unless the provider began it by itself.
    Created { request: Option<String> },
    /// It has taken an item of ours.
    Added { item: String },
    /// The next piece of a call's arguments.
    Piece { item: String, text: String },
    /// A call is over: whole, or cut off.
    Called(Item),
    /// The response is over; these are its calls.
    Done { calls: Vec<Item> },
    /// It has taken what the person said for a turn, and will answer it by itself.
    Committed,
    /// It does not do what this request asks for: a response is active.
    Refused { request: String },
}

/// What stands between the provider and the session, for one connection.
#[derive(Debug, Default)]
pub(crate) struct Adapter {
    arbiter: Arbiter,
    items: Items,
    sent: u64,
}

impl Adapter {
    /// What `said` means to the session.
    pub(crate) fn hear(&mut self, now: Instant, said: Said) -> Vec<ProviderEvent> {
        match said {
            Said::Created { request } => self.arbiter.on_created(request.as_deref()),
            Said::Added { item } => self.arbiter.on_added(&item),
            Said::Piece { item, text } => self.items.on_piece(&item, &text),
            Said::Called(item) => self.items.on_called(item),
            Said::Committed => self.arbiter.on_committed(now),
            Said::Refused { request } => self.arbiter.on_refused(&request),
            Said::Done { calls } => {
                self.arbiter.on_done();
                let calls = self.items.on_done(calls);
                let calls = (!calls.is_empty()).then_some(ProviderEvent::Calls(calls));
                return calls.into_iter().chain([ProviderEvent::TurnComplete { more: false }]).collect();
            }
        }
        Vec::new()
    }

    /// The messages for what the session asks. Whether the model is to speak is left to [`Adapter::request`].
    pub(crate) fn write(&mut self, intent: &Intent) -> Vec<Value> {
        match intent {
            Intent::Answer(answers) => answers.iter().map(|answer| self.output(answer)).collect(),
            Intent::Note(text) => vec![self.note(text)],
            Intent::Ask(text) => vec![self.ask(text, false)],
            Intent::AskInWords(text) => vec![self.ask(text, true)],
            Intent::Earlier(call) => self.earlier(call).into(),
            // It hears silence as silence.
            Intent::AudioStreamEnd => Vec::new(),
        }
    }

    /// The request for a response, if one is wanted and can be made.
    pub(crate) fn request(&mut self, now: Instant) -> Option<Value> {
        let Request { id, in_words } = self.arbiter.next(now)?;
        let mut response = json!({"metadata": {"request": id}});
        if in_words {
            response["tool_choice"] = json!("none");
        }
        Some(json!({"type": "response.create", "event_id": id, "response": response}))
    }

    /// When [`Adapter::request`] may have something without anything being said.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.arbiter.due()
    }

    fn output(&mut self, answer: &Answer) -> Value {
        let output = answer.body.to_string();
        let message =
            self.item(json!({"type": "function_call_output", "call_id": answer.id, "output": output}));
        match answer.follow_up {
            // It speaks of both when its response is over: to cut that off would be one more message.
            FollowUp::WhenIdle | FollowUp::Interrupt => self.wish(&message, false),
            FollowUp::InWords => self.wish(&message, true),
            FollowUp::Silent => {}
        }
        message
    }

    fn ask(&mut self, text: &str, in_words: bool) -> Value {
        let note = self.note(text);
        self.wish(&note, in_words);
        note
    }

    /// A call with its output: an output alone is refused, and a call alone is waited for.
    fn earlier(&mut self, call: &EarlierCall) -> [Value; 2] {
        let EarlierCall { id, name, args, body } = call;
        let (args, output) = (args.to_string(), body.to_string());
        let call = json!({"type": "function_call", "call_id": id, "name": name, "arguments": args});
        let output = json!({"type": "function_call_output", "call_id": id, "output": output});
        [self.item(call), self.item(output)]
    }

    fn note(&mut self, text: &str) -> Value {
        let content = json!([{"type": "input_text", "text": text}]);
        self.item(json!({"type": "message", "role": "system", "content": content}))
    }

    /// The model should speak about the item of `message`.
    fn wish(&mut self, message: &Value, in_words: bool) {
        if let Some(item) = message["item"]["id"].as_str() {
            self.arbiter.wish(item, in_words);
        }
    }

    fn item(&mut self, mut item: Value) -> Value {
        self.sent += 1;
        item["id"] = json!(format!("ours-{}", self.sent));
        json!({"type": "conversation.item.create", "event_id": format!("event-{}", self.sent), "item": item})
    }
}

/// The first message of a connection.
pub(crate) fn setup(instruction: &str, tools: &[Declaration]) -> Value {
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
            })
        })
        .collect();
    let session =
        json!({"type": "realtime", "instructions": instruction, "tools": tools, "tool_choice": "auto"});
    json!({"type": "session.update", "session": session})
}
