// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clips at hand and on their way: those of the configuration, and those that are fetched once a result asks for them.
//!
//! Fetching begins when a clip is first wanted, while the model still talks, and never holds up anybody: it is read and
//! decoded on threads of its own. Few are fetched at once, and what was fetched is kept for a while, so that a clip that
//! every result brings is not asked for every time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tools::BoxFuture;
use tools::http::{DownloadError, Egress, Target, download};
use units::{Clip, Hz, Pcm};

use super::{ClipError, Clips, MAX_CLIP, MAX_CLIP_BYTES, decode};

/// From the first byte sent to the last one read. A clip that takes longer belongs to a reply that is over.
const FETCH_LIMIT: Duration = Duration::from_secs(15);

/// Clips fetched and decoded at once: each may take 24 MB as it comes and twice that while it is decoded.
const FETCHES_MAX: usize = 2;

/// Clips on their way at once, those that wait for their turn included: as many as the session lets wait.
const COMING_MAX: usize = 8;

/// Audio kept of what was fetched: three minutes, or one of the longest clips and a few short ones.
const KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long what was fetched is kept: long enough for a conversation, and the sound behind a URL may be another tomorrow.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// How long it is remembered that a clip could not be fetched: whoever wants it for the same reply need not ask again.
const FAILED_FOR: Duration = Duration::from_secs(30);

/// How many of those are remembered.
const FAILURES_MAX: usize = 32;

/// How a file gets from a host to this device.
pub trait Fetch: Send + Sync {
    /// The whole file at `target`, at most [`MAX_CLIP_BYTES`] bytes. Polled on the thread of the conversation: it must not
    /// block.
    ///
    /// # Errors
    /// See [`DownloadError`].
    fn fetch(&self, target: Target) -> BoxFuture<'static, Result<Vec<u8>, DownloadError>>;
}

/// Over the network.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    bytes_max: usize,
    limit: Duration,
}

impl Default for Web {
    fn default() -> Self {
        Self { bytes_max: usize::try_from(MAX_CLIP_BYTES).unwrap_or(usize::MAX), limit: FETCH_LIMIT }
    }
}

impl Fetch for Web {
    fn fetch(&self, target: Target) -> BoxFuture<'static, Result<Vec<u8>, DownloadError>> {
        Box::pin(download(target, self.bytes_max, self.limit))
    }
}

type Got = Result<Pcm, Arc<ClipError>>;

/// All clips that may be played. Use it on the runtime.
pub struct Store {
    clips: Clips,
    egress: Egress,
    fetch: Arc<dyn Fetch>,
    slots: Arc<Semaphore>,
    /// The one last asked for at the end.
    fetched: Vec<Fetched>,
}

struct Fetched {
    target: Target,
    asked: Instant,
    got: watch::Receiver<Option<Got>>,
}

/// Where a clip is.
#[derive(Debug)]
pub enum Found {
    /// Here: mono, 24 kHz.
    Here(Pcm),
    /// On its way.
    Coming(Coming),
}

/// A clip that is being fetched.
#[derive(Debug)]
pub struct Coming {
    name: String,
    got: watch::Receiver<Option<Got>>,
}

impl Coming {
    /// Waits for it.
    ///
    /// # Errors
    /// Why it does not come.
    pub async fn arrived(mut self) -> Result<Pcm, Arc<ClipError>> {
        match self.got.wait_for(Option::is_some).await.ok().and_then(|got| got.clone()) {
            Some(got) => got,
            None => Err(Arc::new(ClipError::GivenUp { name: self.name })),
        }
    }
}

impl Store {
    /// The `clips` of the configuration, and what `fetch` brings from hosts of `egress`.
    #[must_use]
    pub fn new(clips: Clips, egress: Egress, fetch: Arc<dyn Fetch>) -> Self {
        Self { clips, egress, fetch, slots: Arc::new(Semaphore::new(FETCHES_MAX)), fetched: Vec::new() }
    }

    /// The clip, or the fetch that brings it, which is begun unless it is under way.
    ///
    /// # Errors
    /// That there is no such clip, that it may not be fetched, or that too many are.
    ///
    /// # Panics
    /// Outside of a tokio runtime, if it must be fetched.
    pub fn find(&mut self, clip: &Clip) -> Result<Found, ClipError> {
        let name = clip.to_string();
        let target = if clip.is_url() {
            Target::parse(clip.source(), &self.egress)
                .map_err(|cause| ClipError::Forbidden { name: name.clone(), cause })?
        } else if let Some(pcm) = self.clips.find(clip.source()) {
            return Ok(Found::Here(pcm.clone()));
        } else {
            let target = self.clips.target(clip.source()).cloned();
            target.ok_or_else(|| ClipError::Unnamed { name: name.clone() })?
        };
        let got = self.fetched(target, &name)?;
        let here = got.borrow().clone();
        Ok(match here {
            Some(Ok(pcm)) => Found::Here(pcm),
            // That it did not come is said as if it had just been found.
            Some(Err(_)) | None => Found::Coming(Coming { name, got }),
        })
    }

    fn fetched(&mut self, target: Target, name: &str) -> Result<watch::Receiver<Option<Got>>, ClipError> {
        self.prune();
        if let Some(at) = self.fetched.iter().position(|fetched| fetched.target == target) {
            let fetched = self.fetched.remove(at);
            let got = fetched.got.clone();
            self.fetched.push(fetched);
            return Ok(got);
        }
        if self.fetched.iter().filter(|fetched| fetched.got.borrow().is_none()).count() >= COMING_MAX {
            return Err(ClipError::Crowded { name: name.to_owned(), max: COMING_MAX });
        }
        let (tell, got) = watch::channel(None);
        let fetching =
            bring(target.clone(), name.to_owned(), Arc::clone(&self.fetch), Arc::clone(&self.slots));
        tokio::spawn(async move {
            // The store may be gone.
            let _ = tell.send(Some(fetching.await.map_err(Arc::new)));
        });
        self.fetched.push(Fetched { target, asked: Instant::now(), got: got.clone() });
        Ok(got)
    }

    /// Forgets what did not come, what is old, and what is too much: first what was not asked for the longest.
    fn prune(&mut self) {
        let (mut bytes, mut failures) = (0, 0);
        let mut keep = |fetched: &Fetched| match &*fetched.got.borrow() {
            Some(Ok(pcm)) if fetched.asked.elapsed() < KEPT_FOR => {
                bytes += std::mem::size_of_val(pcm.samples());
                bytes <= KEPT_BYTES_MAX
            }
            Some(Ok(_)) => false,
            Some(Err(_)) => {
                failures += 1;
                fetched.asked.elapsed() < FAILED_FOR && failures <= FAILURES_MAX
            }
            None => fetched.got.has_changed().is_ok(),
        };
        let mut kept: Vec<Fetched> = self.fetched.drain(..).rev().filter(|fetched| keep(fetched)).collect();
        kept.reverse();
        self.fetched = kept;
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("fetched", &self.fetched.len()).finish_non_exhaustive()
    }
}

async fn bring(
    target: Target,
    name: String,
    fetch: Arc<dyn Fetch>,
    slots: Arc<Semaphore>,
) -> Result<Pcm, ClipError> {
    let _slot = slots.acquire().await;
    let bytes = match fetch.fetch(target).await {
        Ok(bytes) => bytes,
        Err(cause) => return Err(ClipError::Lost { name, cause }),
    };
    let given_up = ClipError::GivenUp { name: name.clone() };
    let decoded = tokio::task::spawn_blocking(move || {
        decode(&name, bytes, MAX_CLIP).map(|pcm| audio::convert(&pcm, Hz::K24))
    });
    decoded.await.unwrap_or(Err(given_up))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
