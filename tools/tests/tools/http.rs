// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tools of the configuration, against services that answer well, badly, late or not at all.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tools::http::{
    CallFacts, Confirm, Consent, Egress, Header, HttpClient, HttpTool, Method, Parameters, Target, Trust,
};
use tools::{Asking, CallInfo, CallNotice, Cx, Effect, ErasedTool, Secret, Shaped, ToolSet};
use units::{CallKey, TurnId};

mod answers;
mod declaring;
mod hostile;
mod requests;
mod service;

const SECRET: &str = "s3cret-token-of-the-clinic";

fn egress() -> Egress {
    Egress::parse(&["127.0.0.1".to_owned(), "nowhere.invalid".to_owned()]).unwrap()
}

/// A tool that only asks, at this URL.
fn asking(url: &str) -> HttpTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "doctor": {"type": "string"},
            "date": {"type": "string"},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
            "near": {"type": ["object", "null"]},
            "count": {"type": "integer"},
        },
    });
    let order = ["doctor", "date", "tags", "near", "count"].map(str::to_owned).to_vec();
    HttpTool {
        name: "free_slots".to_owned(),
        description: "Free slots of a day. Use it before naming a time.".to_owned(),
        parameters: Parameters::new(&schema, order).unwrap(),
        method: Method::Post,
        target: Target::parse(url, &egress()).unwrap(),
        headers: vec![
            Header::parse("Authorization", "Bearer ${secret:clinic}").unwrap(),
            Header::parse("X-Site", "north").unwrap(),
        ],
        pre_call_message: String::new(),
        timeout: Duration::from_secs(8),
        effect: Effect::Read,
        consent: Consent::NotNeeded,
        asking: Asking::default(),
        needs_result_now: true,
        on_failure: None,
        idempotent: false,
    }
}

/// The same, but it acts on the world outside.
fn acting(url: &str) -> HttpTool {
    let consent = Consent::Ungated("the service asks by itself".to_owned());
    HttpTool { effect: Effect::Outbound, consent, ..asking(url) }
}

fn secrets(name: &str) -> Result<Secret, String> {
    match name {
        "clinic" => Ok(Secret::new(SECRET)),
        "digits" => Ok(Secret::new("9876543210123456")),
        "more-digits" => Ok(Secret::new("987654321098765432109876")),
        "broken" => Ok(Secret::new("two\nlines-of-a-secret")),
        _ => Err(format!("no secret `{name}`")),
    }
}

fn built(tool: &HttpTool) -> ErasedTool {
    // A second installation in this process finds the first; either is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let facts = CallFacts {
        agent_id: "front-desk".to_owned(),
        device_id: "kiosk-7".to_owned(),
        user_data: json!({"patient_id": "P-1042"}).as_object().unwrap().clone(),
    };
    let client = HttpClient::new(Trust::Nobody).unwrap();
    let declaration = tool.declare(&client, &Arc::new(facts), &secrets).unwrap();
    let tools = ToolSet::builder().tool(declaration).build().unwrap();
    tools.find(&tool.name).unwrap().clone()
}

/// A call that ends in 8 s, and what it tells the daemon meanwhile.
fn call() -> (Cx, Arc<Mutex<Vec<CallNotice>>>) {
    let notices = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&notices);
    let info = CallInfo {
        call: CallKey(4),
        turn: TurnId(2),
        session: "s-9".to_owned(),
        idempotency_key: Some("ABC234".to_owned()),
        deadline: Instant::now() + Duration::from_secs(8),
    };
    (Cx::new(info, move |notice| log.lock().unwrap().push(notice)).0, notices)
}

async fn run(tool: &HttpTool, args: Value) -> Shaped {
    let tool = built(tool);
    tool.run(tool.prepare(&args).unwrap(), call().0).await
}

/// Asks a service that gives this answer.
async fn told(answer: impl Into<Vec<u8>>) -> Shaped {
    let service = service::Service::answering(answer).await;
    run(&asking(&service.url), json!({})).await
}

fn did_not_answer() -> Value {
    json!({"status": 0, "error": "the free_slots service did not answer"})
}
