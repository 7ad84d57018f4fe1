//! Follow-up and silence, T76 to T88.

use driver::Script;
use serde_json::json;

use crate::{asked, ms, row};

row!(t76_unmarked_after_speech, script, {
    let (mut d, _) = asked(script).await;
    d.model_says("I turn it on.").await;
    let answer = d.model_calls("set_lamp", json!({})).await;
    assert!(!answer.is_to_be_spoken_about());
    d.agent_is_heard("I turn it on.").await;
    assert!(d.turn().completed);
    assert_eq!(d.turn().hops, 0);
    if d.profile().schedules {
        let sent = &d.wire().last().unwrap()["toolResponse"]["functionResponses"][0];
        assert_eq!(sent["scheduling"], "SILENT");
    }
});

row!(t77_marked, script, {
    let (mut d, _) = asked(script).await;
    d.model_says("Let me see.").await;
    let answers =
        d.model_calls_many([("check_stock", json!({"n": 1})), ("check_stock", json!({"n": 2}))]).await;
    let spoken: Vec<_> = answers.iter().map(|answer| answer.is_to_be_spoken_about()).collect();
    assert_eq!(spoken, [false, true]);
    d.stops().await;
    let record = d.turns().pop().unwrap();
    assert_eq!((record.hops, record.calls, record.awaited), (1, 2, 2));
});

row!(t78_marked_beside_unmarked, script, {
    let (mut d, _) = asked(script).await;
    d.model_says("Let me see.").await;
    d.model_calls_many([("check_stock", json!({})), ("set_lamp", json!({}))]).await;
    assert_eq!(d.turn().hops, 1);
});

row!(t79_unmarked_speechless, script, {
    let (mut d, _) = asked(script).await;
    let answer = d.model_calls("set_lamp", json!({})).await;
    assert!(answer.is_to_be_spoken_about(), "nothing was said, so something has to be");
    assert!(d.turn().speechless);
    d.stops().await;
    assert!(d.turns().pop().unwrap().speechless);
});

row!(t80_cap, script, {
    let (mut d, runs) = asked(script).await;
    for n in 0..d.config().max_follow_ups {
        assert_eq!(d.model_calls("check_stock", json!({"n": n})).await.status(), "success");
    }
    let refused = d.model_calls("check_stock", json!({"n": 99})).await;
    assert_eq!(refused.body()["error"], "no more tools in this turn");
    assert_eq!(runs.names().len(), 6);
    d.user_says("again").await;
    assert_eq!(d.model_calls("check_stock", json!({"n": 99})).await.status(), "success");
});

row!(t81_calls_past_the_cap, script, {
    let (mut d, runs) = asked(script).await;
    let mut spoken = Vec::new();
    for n in 0..d.config().max_follow_ups + 5 {
        let answer = d.model_calls("check_stock", json!({"n": n})).await;
        assert!(answer.is_there());
        spoken.push(answer.is_to_be_spoken_about());
    }
    assert_eq!(spoken[6..], [true, true, true, false, false], "three refusals, then silence");
    d.agent_is_heard("Sorry, I could not finish that.").await;
    assert_eq!(runs.names().len(), 6);
});

row!(t82_unmarked_never_count, script, {
    let (mut d, runs) = asked(script).await;
    d.model_says("I see to it.").await;
    for n in 0..10 {
        assert_eq!(d.model_calls("turn_page", json!({"n": n})).await.status(), "success");
    }
    assert_eq!((runs.names().len(), d.turn().hops), (10, 0));
});

row!(t86_silence, script, {
    let (mut d, _) = asked(script).await;
    d.advance(ms(9900)).await;
    assert!(d.heard().is_empty() && d.turn().speechless);
    d.advance(ms(200)).await;
    d.agent_is_heard("Sorry, that is taking longer").await;
    d.advance(ms(20_000)).await;
    d.agent_is_silent().await;
});

row!(t86_silence_of_a_tool_with_its_own_line, script, {
    let (mut d, _) = asked(script).await;
    let call = d.model_asks("check_stock", json!({"wait_ms": 15_000})).await;
    d.advance(ms(10_100)).await;
    d.agent_is_heard("Still checking.").await;
    assert_eq!(d.answer(call).await.status(), "success");
});

row!(t87_no_line_while_a_question_is_open, script, {
    let (mut d, _) = asked(script).await;
    d.model_calls("send_text", json!({})).await;
    d.agent_is_heard("Send the text. Is that right?").await;
    d.advance(ms(30_000)).await;
    d.agent_is_silent().await;
});

row!(t88_empty_search, script, {
    let (mut d, runs) = asked(script).await;
    d.model_says("Let me look.").await;
    for n in 0..3 {
        d.model_calls("look_up", json!({"empty": true, "n": n})).await;
    }
    let answer = d.model_calls("look_up", json!({"empty": true, "n": 3})).await;
    assert_eq!(answer.body()["retryable"], false);
    assert_eq!(runs.names().len(), 3);
});
