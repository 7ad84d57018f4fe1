// SPDX-License-Identifier: MIT OR Apache-2.0

//! A driver that blocks its thread: the loudspeaker plays on, sample for sample, and other tools answer meanwhile.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use e2e::{Seen, Talk};
use hal::Lane;
use serde_json::{Value, json};
use tokio::time::Instant;
use tools::{Cx, Effect, ErasedTool, ToolError, ToolSetBuilder};

const SCENARIO: &str = r#"
    name = "blocking"
    [[turn]]
    hears = "Hello there."
    steps = [
        { calls = [{ name = "count_stock" }, { name = "look" }] },
        { say = "dock_long" },
        { say = "dock_long" },
        { await_answer = true },
    ]
"#;

/// How long the driver is stuck, on the talk's clock.
const STUCK: Duration = Duration::from_secs(10);

/// What was done, in order.
type Done = Arc<Mutex<Vec<&'static str>>>;

/// A driver on a real thread of its own that sits in its call for as long as `stuck`, as there is no clock in it, only
/// somebody who lets it go; and a tool that needs no driver.
fn shop(tools: ToolSetBuilder, done: &Done, stuck: Option<Duration>) -> ToolSetBuilder {
    let lane = Lane::spawn("scale").expect("the system gives one more thread");
    let driver = lane.attach(Box::new(()));
    let schema = || json!({"type": "object", "properties": {}});
    let (counted, looked) = (Arc::clone(done), Arc::clone(done));
    let count =
        ErasedTool::dynamic("count_stock", "Counts what is in stock.", schema(), move |_: Value, _: Cx| {
            let (driver, counted) = (driver.clone(), Arc::clone(&counted));
            async move {
                let (release, released) = mpsc::channel();
                match stuck {
                    Some(stuck) => drop(tokio::spawn(async move {
                        tokio::time::sleep(stuck).await;
                        release.send(())
                    })),
                    None => release.send(()).expect("the driver has not been asked yet"),
                }
                let block = move |(): &mut ()| {
                    released.recv().expect("somebody lets it go");
                    Ok(())
                };
                driver.call(Instant::now() + 2 * STUCK, block).await?;
                counted.lock().expect("nobody panics with it").push("counted");
                Ok::<_, ToolError>("It is counted.")
            }
        });
    let look = ErasedTool::dynamic("look", "Looks around.", schema(), move |_: Value, _: Cx| {
        let looked = Arc::clone(&looked);
        async move {
            looked.lock().expect("nobody panics with it").push("looked");
            "All is well."
        }
    });
    tools
        .tool(count.effect(Effect::Read).parallel().timeout(2 * STUCK))
        .tool(look.effect(Effect::Read).parallel())
}

fn talk(name: &'static str, stuck: Option<Duration>) -> (Seen, Vec<&'static str>) {
    let done = Done::default();
    let shared = Arc::clone(&done);
    let seen = Talk::written(name, SCENARIO)
        .tools(move |tools| shop(tools, &shared, stuck))
        .says(1_500, "hello")
        .lasting(30)
        .run();
    seen.assert_clean();
    assert_eq!(seen.statuses("count_stock"), ["success"]);
    assert_eq!(seen.statuses("look"), ["success"]);
    let done = done.lock().expect("nobody panics with it").clone();
    (seen, done)
}

#[test]
fn t43_a_driver_that_blocks_its_thread_takes_no_sample_from_the_reply_and_no_time_from_other_tools() {
    // Which of the two is done first here is between two threads of the system.
    let (free, _) = talk("blocking_free", None);
    let (stuck, done) = talk("blocking_stuck", Some(STUCK));
    assert_eq!(done, ["looked", "counted"], "the other tool runs while the driver is stuck");

    let spoken = stuck.said("dock_long");
    assert!(
        2 * spoken.span() > Duration::from_secs(8),
        "the reply must play while the driver is stuck, but lasts {:?} twice",
        spoken.span()
    );
    assert!(audio::find::Recording::new(&stuck.heard).find(&spoken, Duration::ZERO).is_some());
    let differs =
        free.heard.samples().iter().zip(stuck.heard.samples()).position(|(free, stuck)| free != stuck);
    assert_eq!(differs, None, "the loudspeaker did not play what it plays when nothing blocks");
}
