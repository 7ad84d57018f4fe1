// SPDX-License-Identifier: MIT OR Apache-2.0

//! Results on their way to the screen and the loudspeaker: T54 to T62 as a conversation shows them.

use driver::{Driver, Script};
use serde_json::{Value, json};
use session::Spoken;
use tools::{Clip, Cx, Effect, ErasedTool, ToolBuilder, ToolResult, ToolSet};

use crate::{both, ms};

fn tool(name: &'static str, result: impl Fn() -> ToolResult + Send + Sync + 'static) -> ToolBuilder<Value> {
    let schema = json!({"type": "object", "properties": {}});
    let description = "Does what a test asks for. Use it when a test says so.";
    let result = std::sync::Arc::new(result);
    ErasedTool::dynamic(name, description, schema, move |_: Value, _: Cx| {
        let result = result();
        async move { result }
    })
    .effect(Effect::Read)
}

fn rows() -> ToolResult {
    ToolResult::ok("Three bays are free.")
        .data(json!({"free": 3}))
        .then_say("Say it in one sentence.")
        .event("rows", json!([4, 7, 9]))
        .clip_after("chime")
}

async fn asked(script: Script) -> Driver {
    let tools = ToolSet::builder()
        .tool(tool("find_bays", rows).needs_result_now())
        .tool(tool("find_bays_kept", || rows().clip_after(Clip::named("chime").kept())).needs_result_now())
        .tool(tool("ring", || ToolResult::ok("It rings.").clip_after("bell").silent_ok()))
        .build()
        .unwrap();
    let mut d = Driver::new(tools, script);
    d.user_says("please").await;
    d
}

#[tokio::test(start_paused = true)]
async fn t58_four_keys_reach_the_model() {
    both(async |script| {
        let mut d = asked(script).await;
        let answer = d.model_calls("find_bays", json!({})).await;
        let told = json!({
            "status": "success",
            "message": "Three bays are free.",
            "result": {"free": 3},
            "instruction": "Say it in one sentence.",
        });
        assert_eq!(*answer.body(), told);
        assert_eq!(d.next_context().last().unwrap()["answer"][0]["body"], told);
        let wire = d.wire().iter().map(ToString::to_string).collect::<String>();
        assert!(!wire.contains("chime") && !wire.contains("[4,7,9]"), "{wire}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t60_event_then_answer_then_speech_then_clip() {
    both(async |script| {
        let mut d = asked(script).await;
        d.clip_lasts("chime", ms(1500));
        d.model_calls("find_bays", json!({})).await;
        assert_eq!(d.screen_shows("rows"), json!([4, 7, 9]));
        let kinds: Vec<String> = d
            .timeline()
            .iter()
            .map(|line| line["kind"].as_str().unwrap().to_owned())
            .filter(|kind| ["client.event", "call.answered"].contains(&kind.as_str()))
            .collect();
        assert_eq!(kinds, ["client.event", "call.answered"]);
        d.model_says("Three bays are free.").await;
        d.agent_is_heard("Three bays").await;
        d.agent_is_silent().await;
        let heard: Vec<_> =
            d.heard().iter().map(|heard| (heard.text.as_str(), heard.what, heard.span)).collect();
        assert_eq!(heard[0].0, "Three bays are free.");
        assert_eq!(heard[1..], [("chime", Spoken::Clip, ms(1500))]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t60_no_clip_after_speech_that_was_cut() {
    both(async |script| {
        let mut d = asked(script).await;
        d.model_calls("find_bays", json!({})).await;
        d.model_says("Three bays are free, and I will tell you everything about each of them.").await;
        d.user_barges_in(ms(1000)).await;
        d.advance(ms(20_000)).await;
        assert!(d.heard().iter().all(|heard| heard.what != Spoken::Clip || heard.span.is_zero()));
        assert!(d.heard()[0].cut);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t60_a_kept_clip_after_speech_that_was_cut() {
    both(async |script| {
        let mut d = asked(script).await;
        d.model_calls("find_bays_kept", json!({})).await;
        d.model_says("Three bays are free, and I will tell you everything about each of them.").await;
        d.user_barges_in(ms(1000)).await;
        d.model_says("As you like.").await;
        d.advance(ms(20_000)).await;
        let heard: Vec<_> = d.heard().iter().filter(|heard| !heard.span.is_zero()).collect();
        assert!(heard[0].cut);
        assert_eq!(heard.last().map(|heard| (heard.text.as_str(), heard.cut)), Some(("chime", false)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn t61_a_clip_nobody_speaks_about() {
    both(async |script| {
        let mut d = asked(script).await;
        let answer = d.model_calls("ring", json!({})).await;
        assert!(!answer.is_to_be_spoken_about());
        d.model_done().await;
        d.advance(ms(1000)).await;
        d.agent_is_heard("bell").await;
    })
    .await;
}
