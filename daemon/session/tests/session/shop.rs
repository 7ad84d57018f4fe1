// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tools of the tests: one of every kind that is handled differently.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use session::{Catalog, Effect, OnBargeIn, PreCall, Prepared, ToolSpec, UndoCall};
use units::Nonce;

/// What the shop shows; `None` is everything it has.
pub type Shown = Arc<Mutex<Option<Vec<String>>>>;

/// What there is to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stock {
    /// The tools without a mark.
    Plain,
    /// All of them.
    Full,
}

pub struct Shop {
    stock: Stock,
    shown: Shown,
}

/// name, effect, ungated, needs_result_now, ends_session
pub const TOOLS: [(&str, Effect, bool, bool, bool); 7] = [
    ("end_session", Effect::Local, false, false, true),
    ("look_up", Effect::Read, false, false, false),
    ("open_gate", Effect::Outbound, false, false, false),
    ("print_label", Effect::Outbound, true, false, false),
    ("read_sensor", Effect::Read, false, true, false),
    ("send_text", Effect::Outbound, false, false, false),
    ("set_volume", Effect::Local, false, false, false),
];

/// One for each mark, sorted, and those that undo or are undone.
pub const MARKED: [&str; 17] = [
    "ask_service",
    "bolt_door",
    "find_part",
    "make_report",
    "next_page",
    "ring_bell",
    "see_left",
    "see_right",
    "send_fax",
    "show_bay",
    "smell_gas",
    "tidy_up",
    "water_plants",
    "open_valve",
    "close_valve",
    "book_room",
    "start_belt",
];

fn marked(name: &str) -> Option<ToolSpec> {
    let read = ToolSpec::new(name, Effect::Read);
    let local = ToolSpec::new(name, Effect::Local);
    let outbound = ToolSpec::new(name, Effect::Outbound);
    let always = Some(PreCall::Always("One moment.".into()));
    Some(match name {
        "ask_service" => ToolSpec {
            needs_result_now: true,
            pre_call: always,
            waiting: Some("Still checking.".into()),
            timeout: std::time::Duration::from_secs(30),
            ..read
        },
        "bolt_door" => ToolSpec { ungated: true, lane: Some("door".into()), ..outbound },
        "find_part" => ToolSpec {
            needs_result_now: true,
            pre_call: Some(PreCall::IfSilent("Let me look.".into())),
            ..read
        },
        "make_report" => ToolSpec { job: true, needs_result_now: true, ..read },
        "next_page" => ToolSpec { repeatable: true, parallel: true, ..local },
        "ring_bell" => ToolSpec { ungated: true, independent: true, ..outbound },
        "see_left" => ToolSpec { parallel: true, lane: Some("left".into()), ..read },
        "see_right" => ToolSpec { parallel: true, lane: Some("right".into()), ..read },
        "send_fax" => ToolSpec { pre_call: always, ..outbound },
        "show_bay" => ToolSpec { run_when_heard: true, ..local },
        "smell_gas" => ToolSpec { needs_result_now: true, urgent: true, ..read },
        "water_plants" => {
            ToolSpec { ungated: true, idempotent: true, on_barge_in: OnBargeIn::Cancel, ..outbound }
        }
        "open_valve" | "close_valve" => ToolSpec { lane: Some("valve".into()), ..local },
        "book_room" | "start_belt" => ToolSpec { ungated: true, ..outbound },
        "tidy_up" => ToolSpec { job: true, lane: Some("door".into()), ..local },
        _ => return None,
    })
}

pub fn is_guarded(name: &str) -> bool {
    name == "send_fax" || TOOLS.iter().any(|tool| tool.0 == name && tool.1 == Effect::Outbound && !tool.2)
}

pub fn is_job(name: &str) -> bool {
    marked(name).is_some_and(|spec| spec.job)
}

pub fn is_parallel(name: &str) -> bool {
    marked(name).is_some_and(|spec| spec.parallel && spec.effect == Effect::Read)
}

pub fn lane(name: &str) -> Option<String> {
    marked(name)?.lane
}

/// It changes something, and the same again soon is not meant, or not sure to be.
pub fn is_done_once(name: &str) -> bool {
    let spec = Shop::new(Stock::Full).spec(name);
    spec.is_some_and(|spec| spec.effect != Effect::Read && !spec.repeatable && !spec.idempotent)
}

/// It acts on the world outside, or ends the session.
pub fn waits_for_speech(name: &str) -> bool {
    Shop::new(Stock::Full).spec(name).is_some_and(|spec| spec.effect == Effect::Outbound || spec.ends_session)
}

impl Shop {
    pub fn new(stock: Stock) -> Self {
        Self { stock, shown: Shown::default() }
    }

    /// By which what it shows is changed.
    pub fn shown(&self) -> Shown {
        Arc::clone(&self.shown)
    }
}

impl Catalog for Shop {
    fn spec(&self, name: &str) -> Option<ToolSpec> {
        let plain = TOOLS.into_iter().find(|tool| tool.0 == name).map(
            |(name, effect, ungated, needs_result_now, ends_session)| ToolSpec {
                ungated,
                needs_result_now,
                ends_session,
                ..ToolSpec::new(name, effect)
            },
        );
        plain.or_else(|| marked(name))
    }

    fn view(&self) -> Vec<String> {
        if let Some(shown) = &*self.shown.lock().unwrap() {
            return shown.clone();
        }
        let marked: &[&str] = match self.stock {
            Stock::Plain => &[],
            Stock::Full => &MARKED,
        };
        let mut names: Vec<String> = TOOLS.iter().map(|tool| tool.0.to_owned()).collect();
        names.extend(marked.iter().map(|name| (*name).to_owned()));
        names.sort();
        names
    }

    /// A valve is opened and closed, a belt stopped by its bolt, and a room given back by fax, which a person must agree to.
    fn undo(&self, name: &str, args: &Value) -> Option<UndoCall> {
        let tool = match name {
            "open_valve" => "close_valve",
            "close_valve" => "open_valve",
            "start_belt" => "bolt_door",
            "book_room" => "send_fax",
            _ => return None,
        };
        Some(UndoCall { tool: tool.to_owned(), args: args.clone(), shown: args.clone() })
    }

    /// Whole numbers may come as floats; `send_text` needs a phone and a text; nothing else is asked.
    fn prepare(&self, name: &str, args: &Value) -> Result<Prepared, String> {
        let Value::Object(fields) = args else {
            return Err("/: expected an object".into());
        };
        let args = Value::Object(fields.iter().map(|(key, value)| (key.clone(), whole(value))).collect());
        let text = |field: &str| {
            args[field].as_str().map(str::to_owned).ok_or_else(|| format!("/{field}: expected text"))
        };
        let (summary, slots) = match name {
            "send_text" => {
                let (phone, text) = (text("phone")?, text("text")?);
                (Some(format!("Send '{text}' to {phone}.")), vec![phone])
            }
            "open_gate" => (Some("Open the gate.".to_owned()), Vec::new()),
            "send_fax" => (Some("Send the fax.".to_owned()), Vec::new()),
            _ => (None, Vec::new()),
        };
        let digest = digest(name, &args);
        // One for each call's arguments is random enough here.
        let nonce = Nonce::new(digest.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte)));
        Ok(Prepared { digest, args, summary, slots, challenge: Vec::new(), nonce })
    }
}

fn whole(value: &Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 => {
            format!("{number:.0}").parse::<i64>().map_or_else(|_| value.clone(), Value::from)
        }
        _ => value.clone(),
    }
}

/// FNV-1a over the name and the fields in order of their names. Good enough to tell tests' calls apart.
fn digest(name: &str, args: &Value) -> [u8; 32] {
    let empty = Map::new();
    let mut fields: Vec<_> = args.as_object().unwrap_or(&empty).iter().collect();
    fields.sort_by_key(|(key, _)| key.as_str());
    let text = format!("{name}{fields:?}");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut digest = [0; 32];
    for (place, byte) in text.bytes().enumerate() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        digest[place % 24..place % 24 + 8].copy_from_slice(&hash.to_le_bytes());
    }
    digest
}
