// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a lane promises its callers, whatever the driver does.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use hal::{ErrorKind, HalError, Handle, Health, Lane, QUEUE};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, advance, pause, resume};

/// Long enough that only a clock moved by hand ever gets there.
const HOUR: Duration = Duration::from_secs(3600);

/// A driver that notes what it was asked.
type Notes = Vec<&'static str>;

fn lane() -> Handle<Notes> {
    Lane::spawn("test").unwrap().attach(Box::new(Notes::new()))
}

async fn note(handle: &Handle<Notes>, what: &'static str) -> Result<Notes, HalError> {
    handle
        .call(Instant::now() + HOUR, move |notes| {
            notes.push(what);
            Ok(notes.clone())
        })
        .await
}

/// A call that stays inside the driver until the sender is used or dropped. Comes back when it is inside.
async fn hold(handle: &Handle<Notes>) -> (Sender<()>, JoinHandle<Result<(), HalError>>) {
    let (inside, entered) = oneshot::channel();
    let (release, released): (Sender<()>, Receiver<()>) = channel();
    let call = handle.call(Instant::now() + HOUR, move |notes| {
        notes.push("held");
        let _ = inside.send(());
        let _ = released.recv();
        Ok(())
    });
    let held = tokio::spawn(call);
    entered.await.unwrap();
    (release, held)
}

fn kind<T: std::fmt::Debug>(result: Result<T, HalError>) -> ErrorKind {
    result.unwrap_err().kind
}

#[tokio::test]
async fn calls_run_one_after_another_on_the_same_driver() {
    let handle = lane();
    note(&handle, "first").await.unwrap();
    assert_eq!(note(&handle.clone(), "second").await.unwrap(), ["first", "second"]);
}

#[tokio::test]
async fn a_hung_driver_costs_its_caller_the_deadline_and_everyone_else_nothing() {
    let handle = lane();
    let (release, held) = hold(&handle).await;
    pause();
    advance(HOUR).await;
    assert_eq!(kind(held.await.unwrap()), ErrorKind::Timeout);
    assert!(matches!(handle.health(), Health::NotResponding { .. }));

    let asked = Instant::now();
    assert_eq!(kind(note(&handle, "meanwhile").await), ErrorKind::Timeout);
    assert_eq!(asked.elapsed(), Duration::ZERO, "refused without waiting");

    release.send(()).unwrap();
    while handle.health() != Health::Ready {
        std::thread::yield_now();
    }
    resume();
    assert_eq!(note(&handle, "after").await.unwrap(), ["held", "after"]);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_keeps_what_it_took() {
    let handle = lane();
    let (release, held) = hold(&handle).await;
    let waiting: Vec<_> = (0..QUEUE)
        .map(|_| {
            let handle = handle.clone();
            tokio::spawn(async move { note(&handle, "queued").await })
        })
        .collect();
    yield_now().await;
    assert_eq!(kind(note(&handle, "one too many").await), ErrorKind::Busy);
    release.send(()).unwrap();
    held.await.unwrap().unwrap();
    for call in waiting {
        call.await.unwrap().unwrap();
    }
    let notes = note(&handle, "last").await.unwrap();
    assert_eq!(notes.iter().filter(|note| **note == "queued").count(), QUEUE);
    assert!(!notes.contains(&"one too many"));
}

#[tokio::test]
async fn a_call_whose_caller_has_left_never_runs() {
    let handle = lane();
    let (release, held) = hold(&handle).await;
    let left = tokio::spawn({
        let handle = handle.clone();
        async move { note(&handle, "abandoned").await }
    });
    yield_now().await;
    left.abort();
    assert!(left.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();
    held.await.unwrap().unwrap();
    assert_eq!(note(&handle, "after").await.unwrap(), ["held", "after"]);
}

#[tokio::test]
async fn a_call_whose_turn_did_not_come_is_busy_and_did_nothing() {
    let handle = lane();
    let (release, held) = hold(&handle).await;
    pause();
    let late = handle.call(Instant::now() + Duration::from_secs(1), |notes| {
        notes.push("late");
        Ok(())
    });
    // The clock jumps to the only deadline there is: the runtime has nothing else to do.
    assert_eq!(kind(late.await), ErrorKind::Busy);
    resume();
    release.send(()).unwrap();
    held.await.unwrap().unwrap();
    assert_eq!(note(&handle, "after").await.unwrap(), ["held", "after"]);
}

#[tokio::test]
async fn a_driver_panic_ends_its_lane_and_nothing_else() {
    let handle = lane();
    let panicked =
        handle.call(Instant::now() + HOUR, |_| -> Result<(), HalError> { panic!("a bug in the driver") });
    assert_eq!(kind(panicked.await), ErrorKind::Bus);
    assert_eq!(handle.health(), Health::Failed);
    assert_eq!(kind(note(&handle, "after").await), ErrorKind::Bus);
    note(&lane(), "another lane").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_past_its_deadline_is_not_started() {
    let handle = Lane::inline("test").attach(Box::new(Notes::new()));
    let past = handle.call(Instant::now(), |notes| {
        notes.push("late");
        Ok(())
    });
    assert_eq!(kind(past.await), ErrorKind::Cancelled);
    assert_eq!(note(&handle, "only").await.unwrap(), ["only"]);
}

#[tokio::test(start_paused = true)]
async fn an_inline_lane_takes_no_time() {
    let handle = Lane::inline("test").attach(Box::new(Notes::new()));
    let start = Instant::now();
    note(&handle, "first").await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_inline_lane_behaves_like_a_hung_driver() {
    let lane = Lane::inline("test");
    let handle = lane.attach(Box::new(Notes::new()));
    let stall = lane.stall();
    let start = Instant::now();
    let call = handle.call(start + Duration::from_secs(2), |notes| {
        notes.push("stalled");
        Ok(())
    });
    assert_eq!(kind(call.await), ErrorKind::Timeout);
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(kind(note(&handle, "meanwhile").await), ErrorKind::Timeout);
    assert_eq!(start.elapsed(), Duration::from_secs(2), "refused without waiting");
    drop(stall);
    assert_eq!(lane.health(), Health::Ready);
    assert_eq!(note(&handle, "after").await.unwrap(), ["after"]);
}

#[tokio::test(start_paused = true)]
async fn a_stall_that_ends_in_time_only_delays_calls_and_keeps_their_order() {
    let lane = Lane::inline("test");
    let handle = lane.attach(Box::new(Notes::new()));
    let stall = lane.stall();
    let calls: Vec<_> = ["first", "second", "third"]
        .into_iter()
        .map(|what| {
            let handle = handle.clone();
            tokio::spawn(async move { note(&handle, what).await })
        })
        .collect();
    advance(Duration::from_secs(1)).await;
    drop(stall);
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(note(&handle, "last").await.unwrap(), ["first", "second", "third", "last"]);
}

#[tokio::test(start_paused = true)]
async fn an_inline_queue_is_bounded_too() {
    let lane = Lane::inline("test");
    let handle = lane.attach(Box::new(Notes::new()));
    let stall = lane.stall();
    let calls: Vec<_> = (0..=QUEUE)
        .map(|_| {
            let handle = handle.clone();
            tokio::spawn(async move { note(&handle, "queued").await })
        })
        .collect();
    yield_now().await;
    assert_eq!(kind(note(&handle, "one too many").await), ErrorKind::Busy);
    drop(stall);
    for call in calls {
        call.await.unwrap().unwrap();
    }
}
