// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a service answers, and what of it the model reads.

use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Map, Value};

use crate::result::ToolResult;
use crate::secret::{Secret, masked, redacted};
use crate::shape::Status;

/// Longest body that is read. The model gets a few thousand characters of it at most; what is behind them only costs
/// memory.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// How much of a body that is not JSON the model reads, in Unicode scalar values.
pub const TEXT_CHARS_MAX: usize = 2000;

/// Some editors begin a file with it; it is no part of the JSON behind it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An answer as far as it was read.
pub(super) struct Answer {
    pub(super) status: u16,
    body: Vec<u8>,
    /// There was more.
    cut: bool,
}

/// Sends `request` and reads its answer.
pub(super) async fn exchange(request: RequestBuilder) -> Result<Answer, reqwest::Error> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let (body, cut) = bounded(response).await?;
    Ok(Answer { status, body, cut })
}

async fn bounded(mut response: Response) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = BODY_BYTES_MAX - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
    Ok((body, false))
}

impl Answer {
    /// The status as it came, and the body below `result`: as JSON if it is JSON, whatever its header says, else as the
    /// first [`TEXT_CHARS_MAX`] characters. A body that was not read to its end is text and says that it was cut. Copies
    /// of `masks` are masked.
    pub(super) fn for_model(&self, masks: &[Secret]) -> ToolResult {
        let json = || serde_json::from_slice(self.body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.body));
        let result = match (!self.cut).then(json) {
            Some(Ok(value)) => masked(value, masks),
            Some(Err(_)) | None => {
                let text = redacted(masks, &String::from_utf8_lossy(&self.body));
                text.chars().take(TEXT_CHARS_MAX).collect::<String>().into()
            }
        };
        let mut body = object([("status", self.status.into()), ("result", result)]);
        if self.cut {
            body.insert("truncated".to_owned(), true.into());
        }
        let fine = StatusCode::from_u16(self.status).is_ok_and(|status| status.is_success());
        ToolResult::answered(if fine { Status::Success } else { Status::Error }, body)
    }
}

pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
