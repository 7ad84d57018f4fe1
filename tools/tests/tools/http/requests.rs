// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is sent.

use tools::Status;

use super::service::{Service, json_answer};
use super::*;

#[tokio::test]
async fn t63_a_post_is_the_arguments_with_the_facts_of_the_call() {
    let mut service = Service::answering(json_answer("200 OK", "{}")).await;
    run(&asking(&service.url), json!({"doctor": "Dr. Kulkarni", "date": "2026-10-02"})).await;
    let heard = service.heard().await;
    assert_eq!(heard.line, "POST /free HTTP/1.1");
    for header in [
        "content-type: application/json",
        "authorization: bearer s3cret-token-of-the-clinic",
        "x-site: north",
        "idempotency-key: abc234",
    ] {
        assert!(heard.headers.lines().any(|line| line == header), "no {header} in {}", heard.headers);
    }
    assert_eq!(
        serde_json::from_str::<Value>(&heard.body).unwrap(),
        json!({
            "doctor": "Dr. Kulkarni",
            "date": "2026-10-02",
            "_call": {
                "call_id": "s-9",
                "agent_id": "front-desk",
                "from": "",
                "to": "",
                "user_data": {"patient_id": "P-1042"},
                "device_id": "kiosk-7",
                "turn": 2,
                "tool_call_id": "call-4",
            },
        })
    );
}

#[tokio::test]
async fn t63_a_call_without_a_key_sends_none() {
    let mut service = Service::answering(json_answer("200 OK", "{}")).await;
    let tool = built(&asking(&service.url));
    tool.run(json!({}), Cx::for_test()).await;
    assert!(!service.heard().await.headers.contains("idempotency-key"));
}

#[tokio::test]
async fn t64_a_get_is_a_form_in_the_order_of_the_schema() {
    let mut service = Service::answering(json_answer("200 OK", "{}")).await;
    let tool = HttpTool { method: Method::Get, ..asking(&format!("{}?v=1", service.url)) };
    let args = json!({
        "count": 3,
        "date": "a&b=c",
        "doctor": "Dr. Grün",
        "near": {"floor": 2},
        "tags": ["one two", null, "drei"],
    });
    run(&tool, args).await;
    let heard = service.heard().await;
    assert_eq!(
        heard.line,
        "GET /free?v=1&doctor=Dr.+Gr%C3%BCn&date=a%26b%3Dc&tags=one+two&tags=drei&near=%7B%22floor%22%3A2%7D&count=3 \
         HTTP/1.1"
    );
    assert_eq!(heard.body, "");
    assert!(!heard.headers.contains("content-type"), "{}", heard.headers);
}

#[tokio::test]
async fn t64_a_null_is_left_out_and_no_argument_means_no_query() {
    let mut service = Service::answering(json_answer("200 OK", "{}")).await;
    let tool = HttpTool { method: Method::Get, ..asking(&service.url) };
    run(&tool, json!({"near": null})).await;
    assert_eq!(service.heard().await.line, "GET /free HTTP/1.1");
}

#[tokio::test]
async fn t69_nothing_is_asked_twice() {
    for method in [Method::Post, Method::Get] {
        let mut service = Service::answering(json_answer("503 Service Unavailable", "{}")).await;
        let shaped = run(&HttpTool { method, ..asking(&service.url) }, json!({})).await;
        assert_eq!(shaped.body["status"], 503);
        service.heard().await;
        // One that hangs up without a word is the other thing clients like to try again.
        let mut silent = Service::answering("").await;
        let shaped = run(&HttpTool { method, ..asking(&silent.url) }, json!({})).await;
        assert_eq!(shaped.body, did_not_answer());
        silent.heard().await;
        assert_eq!((service.unread(), silent.unread()), (0, 0));
    }
}

#[tokio::test]
async fn t70_a_redirect_is_passed_on_and_not_followed() {
    let elsewhere = Service::answering(json_answer("200 OK", "{}")).await;
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        elsewhere.url
    );
    let shaped = told(answer).await;
    assert_eq!(shaped.body, json!({"status": 307, "result": ""}));
    assert_eq!(elsewhere.unread(), 0);
}

#[tokio::test]
async fn an_effect_is_begun_before_anything_is_sent_and_a_question_begins_none() {
    let service = Service::answering(json_answer("200 OK", "{}")).await;
    for (tool, expected) in [
        (asking(&service.url), vec![]),
        (acting(&service.url), vec![CallNotice::EffectBegun { call: CallKey(4) }]),
        (
            HttpTool { effect: Effect::Local, consent: Consent::NotNeeded, ..acting(&service.url) },
            vec![CallNotice::EffectBegun { call: CallKey(4) }],
        ),
    ] {
        let (cx, notices) = call();
        built(&tool).run(json!({}), cx).await;
        assert_eq!(*notices.lock().unwrap(), expected, "{:?}", tool.effect);
    }
}

#[tokio::test]
async fn a_cancelled_call_sends_nothing_and_a_cancelled_question_hangs_up() {
    let mut service = Service::holding("").await;
    let info = |session: &str| CallInfo {
        call: CallKey(4),
        turn: TurnId(2),
        session: session.to_owned(),
        idempotency_key: None,
        deadline: Instant::now() + Duration::from_secs(8),
    };
    let (cx, control) = Cx::new(info("before"), |_| {});
    control.cancel();
    let shaped = built(&acting(&service.url)).run(json!({}), cx).await;
    assert_eq!((shaped.status, service.unread()), (Status::Cancelled, 0));

    let (cx, control) = Cx::new(info("meanwhile"), |_| {});
    let running = tokio::spawn(built(&asking(&service.url)).run(json!({}), cx));
    service.heard().await;
    assert!(control.cancel());
    assert_eq!(running.await.unwrap().status, Status::Cancelled);
}
