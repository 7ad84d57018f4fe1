// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fetching a file from a host that tools may call: once, whole, within bounds, and without following anybody elsewhere.

use std::time::Duration;

use tokio::time::timeout;

use super::client::chain;
use super::{ClientError, HttpClient, Target, Trust};
use crate::apart::apart;

/// Why a file could not be fetched. No text holds the URL, whose query may be what a service calls a key.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// No client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The service answered, and not with the file. A redirect is such an answer.
    #[error("its service answered with status {status}")]
    Status {
        /// What it answered with.
        status: u16,
    },
    /// There is more of it than was asked for.
    #[error("it is larger than {bytes_max} bytes")]
    TooLarge {
        /// What was asked for at most.
        bytes_max: usize,
    },
    /// It did not come, or not whole.
    #[error("it did not arrive: {0}")]
    Lost(String),
    /// It was not there in time.
    #[error("it did not arrive whole within {} ms", .0.as_millis())]
    Late(Duration),
}

/// Fetches the file at `target`, at most `bytes_max` bytes of it, within `limit` from first to last. Runs on a thread of its
/// own, whose work ends when the future is dropped.
///
/// # Errors
/// See [`DownloadError`]. Nothing is tried again.
pub async fn download(target: Target, bytes_max: usize, limit: Duration) -> Result<Vec<u8>, DownloadError> {
    let work = apart(async move {
        // Made here, as it reads the certificates of the machine from its disk.
        let client = HttpClient::new(if target.is_encrypted() { Trust::System } else { Trust::Nobody })?;
        body(&client, &target, bytes_max).await
    });
    match timeout(limit, work).await {
        Ok(Ok(done)) => done,
        Ok(Err(cause)) => Err(DownloadError::Lost(cause.to_string())),
        Err(_) => Err(DownloadError::Late(limit)),
    }
}

async fn body(client: &HttpClient, target: &Target, bytes_max: usize) -> Result<Vec<u8>, DownloadError> {
    let lost = |cause| DownloadError::Lost(chain(cause));
    let mut response = client.inner().get(target.url().clone()).send().await.map_err(lost)?;
    if !response.status().is_success() {
        return Err(DownloadError::Status { status: response.status().as_u16() });
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        if body.len() + chunk.len() > bytes_max {
            return Err(DownloadError::TooLarge { bytes_max });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
