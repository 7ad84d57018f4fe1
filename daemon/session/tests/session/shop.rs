//! The tools of the tests: one of every kind that is handled differently.

use std::time::Duration;

use serde_json::{Map, Value};
use session::{Catalog, Effect, Prepared, ToolSpec};

pub struct Shop;

/// name, effect, ungated, needs_result_now, ends_session
const TOOLS: [(&str, Effect, bool, bool, bool); 7] = [
    ("end_session", Effect::Local, false, false, true),
    ("look_up", Effect::Read, false, false, false),
    ("open_gate", Effect::Outbound, false, false, false),
    ("print_label", Effect::Outbound, true, false, false),
    ("read_sensor", Effect::Read, false, true, false),
    ("send_text", Effect::Outbound, false, false, false),
    ("set_volume", Effect::Local, false, false, false),
];

pub fn is_guarded(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.0 == name && tool.1 == Effect::Outbound && !tool.2)
}

impl Catalog for Shop {
    fn spec(&self, name: &str) -> Option<ToolSpec> {
        let (name, effect, ungated, needs_result_now, ends_session) =
            TOOLS.into_iter().find(|tool| tool.0 == name)?;
        Some(ToolSpec {
            name: name.to_owned(),
            effect,
            ungated,
            needs_result_now,
            timeout: Duration::from_secs(8),
            ends_session,
        })
    }

    fn names(&self) -> Vec<String> {
        TOOLS.iter().map(|tool| tool.0.to_owned()).collect()
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
            _ => (None, Vec::new()),
        };
        Ok(Prepared { digest: digest(name, &args), args, summary, slots })
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
