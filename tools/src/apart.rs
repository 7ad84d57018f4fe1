// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work on a thread and a runtime of its own.
//!
//! What reads of a connection is the HTTP library's to decide, and some of it has no end: it parses interim answers (1xx)
//! in one go for as long as there are any. It has no limit on them and yields only every hundred reads or so, which is a
//! second of a conversation. On a thread of its own it costs the peer its call, and nobody else anything.

use std::convert::Infallible;
use std::io;

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// Does `work` apart from the runtime that this is called on. Dropping the future ends the work.
///
/// # Errors
/// When there is no runtime for it, or it panicked.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    // Never sent; it is closed when nobody waits any more.
    let (_waits, gone) = oneshot::channel::<Infallible>();
    let done = spawn_blocking(move || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let done = runtime.block_on(async {
            tokio::select! {
                biased;
                _ = gone => Err(io::Error::other("nobody waits for it")),
                done = work => Ok(done),
            }
        });
        // A resolver that hangs is not waited for.
        runtime.shutdown_background();
        done
    });
    done.await.map_err(io::Error::other)?
}
