// SPDX-License-Identifier: MIT OR Apache-2.0

//! How far a job is, by what its server says of it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ClientRequest, GetMeta, ProgressNotificationParam, ProgressToken, RequestMetaObject};
use tokio::sync::watch;
use tokio::time::sleep;

use super::server::Server;
use super::words::clean;
use crate::cx::{Cx, SAID_MAX};
use crate::lock;
use crate::secret::{Secret, redacted};

/// Least time between two notes of one call. In the 30 s that a tool may take at most, that is six of the eight that a call
/// has.
const PAUSE: Duration = Duration::from_secs(5);

/// Largest number that is told. What counts further counts bytes or is made up.
const NUMBER_MAX: f64 = 1e9;

/// Up to this total a person would count; of more, the share says more.
const COUNTED_MAX: f64 = 1000.0;

/// Longest message of a trusted server that is told, in characters.
const MESSAGE_CHARS_MAX: usize = 120;

/// Stands in `_meta` of a call that is listened to, with the number of the listener, until the call leaves this process.
const MARK: &str = "voiced/listener";

/// The calls of one connection whose progress is listened to. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Board(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    next: u64,
    open: BTreeMap<u64, Heard>,
}

#[derive(Debug)]
struct Heard {
    /// Known once the call is on its way.
    token: Option<ProgressToken>,
    /// Only the last is kept, however many there are.
    latest: watch::Sender<Option<ProgressNotificationParam>>,
}

/// Listens to the progress of one call until it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    id: u64,
    board: Board,
    latest: watch::Receiver<Option<ProgressNotificationParam>>,
}

impl Board {
    pub(super) fn listen(&self) -> Listener {
        let (sender, latest) = watch::channel(None);
        let mut calls = lock(&self.0);
        let id = calls.next;
        calls.next += 1;
        calls.open.insert(id, Heard { token: None, latest: sender });
        Listener { id, board: self.clone(), latest }
    }

    /// Notes the token of a request that leaves, if it is one of a listener's, and takes the mark off it.
    pub(super) fn on_sent(&self, request: &mut ClientRequest) {
        let token = request.get_meta().get_progress_token();
        let ClientRequest::CallToolRequest(call) = request else { return };
        let mark = call.params.meta.as_mut().and_then(|meta| meta.remove(MARK));
        if let Some(id) = mark.and_then(|mark| mark.as_u64())
            && let Some(heard) = lock(&self.0).open.get_mut(&id)
        {
            heard.token = token;
        }
    }

    /// Hands progress to whoever listens to its token. Of any other call it is dropped.
    pub(super) fn on_progress(&self, progress: ProgressNotificationParam) {
        let calls = lock(&self.0);
        let of = calls.open.values().find(|heard| heard.token.as_ref() == Some(&progress.progress_token));
        if let Some(heard) = of {
            heard.latest.send_replace(Some(progress));
        }
    }
}

impl Listener {
    /// Marks the call as the one that is listened to.
    pub(super) fn mark(&self, meta: &mut RequestMetaObject) {
        meta.insert(MARK.to_owned(), self.id.into());
    }

    /// Notes for the model how far the call is, whenever there is something else to say and no faster than [`PAUSE`]. Goes
    /// on until it is dropped.
    pub(super) async fn note(self, server: &Server, cx: &Cx) -> Infallible {
        let secrets = server.config.trusted.then(|| server.secrets());
        self.noted(secrets, cx).await
    }

    /// `secrets` are masked in the messages of a server that is trusted; `None` is one that is not.
    async fn noted(mut self, secrets: Option<&[Secret]>, cx: &Cx) -> Infallible {
        let mut told = String::new();
        for _ in 0..SAID_MAX {
            let text = loop {
                if self.latest.changed().await.is_err() {
                    return pending().await;
                }
                let latest = self.latest.borrow_and_update().clone();
                let text = latest.and_then(|progress| words(&progress, secrets));
                if let Some(text) = text.filter(|text| *text != told) {
                    break text;
                }
            };
            cx.note(text.clone());
            told = text;
            sleep(PAUSE).await;
        }
        pending().await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.board.0).open.remove(&self.id);
    }
}

/// What may be said of it: numbers that make sense, and the words of a server that is trusted.
fn words(progress: &ProgressNotificationParam, secrets: Option<&[Secret]>) -> Option<String> {
    let numbers = numbers(progress.progress, progress.total);
    let message = secrets.and_then(|secrets| {
        let message = redacted(secrets, progress.message.as_deref()?);
        Some(clean(&message, MESSAGE_CHARS_MAX)).filter(|message| !message.is_empty())
    });
    match (numbers, message) {
        (Some(numbers), Some(message)) => Some(format!("{numbers}: {message}")),
        (numbers, message) => numbers.or(message),
    }
}

fn numbers(progress: f64, total: Option<f64>) -> Option<String> {
    // Neither infinity nor what is no number is in it.
    let sane = |number: f64| (0.0..=NUMBER_MAX).contains(&number);
    let whole = |number: f64| number.fract() == 0.0;
    match total {
        _ if !sane(progress) => None,
        // Zero has a sign.
        None => whole(progress).then(|| format!("{} so far", progress.abs())),
        Some(total) if !sane(total) || total == 0.0 || progress > total => None,
        Some(total) if whole(progress) && whole(total) && total <= COUNTED_MAX && total != 100.0 => {
            Some(format!("{progress} of {total}"))
        }
        Some(total) => Some(format!("{} %", (progress / total * 100.0).floor())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    use rmcp::model::{CallToolRequest, CallToolRequestParams, NumberOrString};
    use tokio::time::{Instant, timeout};
    use units::{CallKey, TurnId};

    use crate::cx::{CallInfo, CallNotice};

    fn token(number: i64) -> ProgressToken {
        ProgressToken(NumberOrString::Number(number))
    }

    fn progress(of: i64, progress: f64, total: Option<f64>) -> ProgressNotificationParam {
        let mut said = ProgressNotificationParam::new(token(of), progress);
        said.total = total;
        said
    }

    /// A listener whose call has left with this token.
    fn listening(board: &Board, number: i64) -> Listener {
        let listener = board.listen();
        let mut meta = RequestMetaObject::new();
        listener.mark(&mut meta);
        let mut params = CallToolRequestParams::new("bake");
        params.meta = Some(meta);
        let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        request.get_meta_mut().set_progress_token(token(number));
        board.on_sent(&mut request);
        let ClientRequest::CallToolRequest(call) = &request else { panic!("it is one") };
        assert!(call.params.meta.as_ref().unwrap().is_empty(), "the mark would leave: {call:?}");
        listener
    }

    /// What was noted, and how many seconds after the beginning.
    type Noted = Arc<Mutex<Vec<(u64, String)>>>;

    fn call() -> (Cx, Noted) {
        let noted = Noted::default();
        let (kept, since) = (Arc::clone(&noted), Instant::now());
        let info = CallInfo {
            call: CallKey(7),
            turn: TurnId(2),
            session: "s".to_owned(),
            idempotency_key: None,
            deadline: since,
        };
        let (cx, _) = Cx::new(info, move |notice| {
            if let CallNotice::Note { text, .. } = notice {
                lock(&kept).push((since.elapsed().as_secs(), text));
            }
        });
        (cx, noted)
    }

    #[test]
    fn numbers_are_told_where_they_make_sense() {
        for (done, total, expected) in [
            (3.0, Some(10.0), Some("3 of 10")),
            (0.0, Some(1000.0), Some("0 of 1000")),
            (40.0, Some(100.0), Some("40 %")),
            (0.999, Some(1.0), Some("99 %")),
            (500.0, Some(1001.0), Some("49 %")),
            (1e9, Some(1e9), Some("100 %")),
            (3.0, None, Some("3 so far")),
            (0.4, None, None),
            (11.0, Some(10.0), None),
            (0.0, Some(0.0), None),
            (-1.0, Some(10.0), None),
            (1.0, Some(-10.0), None),
            (1.1e9, None, None),
            (1.0, Some(1.1e9), None),
            (f64::NAN, Some(10.0), None),
            (1.0, Some(f64::NAN), None),
            (f64::INFINITY, None, None),
        ] {
            assert_eq!(numbers(done, total).as_deref(), expected, "{done} of {total:?}");
        }
    }

    #[test]
    fn words_of_a_server_are_told_if_it_is_trusted_and_are_clean_and_short() {
        let key = "AIza-of-the-provider";
        let mut said = progress(1, 3.0, Some(10.0));
        said.message = Some(format!("heating\n{key}\u{1b}[2J"));
        assert_eq!(words(&said, None).as_deref(), Some("3 of 10"));
        assert_eq!(words(&said, Some(&[Secret::new(key)])).as_deref(), Some("3 of 10: heating *** [2J"));
        said.total = Some(f64::NAN);
        assert_eq!(words(&said, None), None);
        said.message = Some("x".repeat(1_000_000));
        assert_eq!(words(&said, Some(&[])).unwrap().chars().count(), MESSAGE_CHARS_MAX);
        said.message = Some(" \n".to_owned());
        assert_eq!(words(&said, Some(&[])), None);
    }

    #[tokio::test(start_paused = true)]
    async fn progress_of_a_job_is_noted_at_a_pace_and_the_latest_of_it() {
        let (board, (cx, noted)) = (Board::default(), call());
        let listener = listening(&board, 4);
        let server = async {
            for step in 0..600_u32 {
                for of in [3, 5] {
                    board.on_progress(progress(of, 9.0, Some(9.0)));
                }
                board.on_progress(progress(4, f64::from(step), Some(600.0)));
                sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            never = listener.noted(None, &cx) => match never {},
            () = server => {}
        }
        let noted = lock(&noted);
        let when: Vec<u64> = noted.iter().map(|(at, _)| *at).collect();
        assert_eq!(when, [0, 5, 10, 15, 20, 25, 30, 35], "and no more than a call has");
        assert_eq!(noted[0].1, "0 of 600");
        assert!(["49 of 600", "50 of 600"].contains(&noted[1].1.as_str()), "{noted:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_is_not_told_again() {
        let (board, (cx, noted)) = (Board::default(), call());
        let listener = listening(&board, 4);
        let server = async {
            for step in 0..100_u32 {
                board.on_progress(progress(4, if step < 90 { 1.0 } else { 2.0 }, Some(3.0)));
                sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            never = listener.noted(None, &cx) => match never {},
            () = server => {}
        }
        assert_eq!(*lock(&noted), [(0, "1 of 3".to_owned()), (90, "2 of 3".to_owned())]);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_listens_before_a_call_has_left_nor_after_it() {
        let (board, (cx, noted)) = (Board::default(), call());
        let early = board.listen();
        board.on_progress(progress(4, 1.0, None));
        assert!(timeout(PAUSE, early.noted(None, &cx)).await.is_err());
        let late = listening(&board, 4);
        drop(late);
        board.on_progress(progress(4, 1.0, None));
        assert!(lock(&board.0).open.is_empty(), "a call that has ended is kept");
        assert!(lock(&noted).is_empty());
    }
}
