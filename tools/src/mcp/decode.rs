// SPDX-License-Identifier: MIT OR Apache-2.0

//! One line of a child: a message, or what else it is.

use rmcp::model::ServerJsonRpcMessage;

/// Most values that one message may hold. Each takes far more memory than it takes on the line; a list of thousands of
/// tools has a tenth of these.
const NODES_MAX: usize = 256 * 1024;

/// How much of a line that is no protocol is kept: more than is shown, so that a secret in it can still be known.
const HEAD_BYTES: usize = 500;

/// What a line is.
#[derive(Debug)]
pub(super) enum Line {
    Message(Box<ServerJsonRpcMessage>),
    /// An answer that is of no use, and why. Whose it is cannot be told.
    Useless(&'static str),
    /// Something a driver printed: its beginning, as it is.
    Noise(String),
}

pub(super) fn decoded(line: &[u8]) -> Line {
    if nodes(line) > NODES_MAX {
        return Line::Useless("held too many values");
    }
    match serde_json::from_slice(line) {
        Ok(message) => Line::Message(Box::new(message)),
        Err(_) if is_answer(line) => Line::Useless("could not be read"),
        Err(_) => Line::Noise(String::from_utf8_lossy(&line[..line.len().min(HEAD_BYTES)]).into_owned()),
    }
}

/// Whether this was meant to be an answer, as far as can be seen in what is no message.
fn is_answer(line: &[u8]) -> bool {
    let has = |key: &[u8]| line.windows(key.len()).any(|found| found == key);
    line.trim_ascii_start().starts_with(b"{")
        && has(b"\"jsonrpc\"")
        && (has(b"\"result\"") || has(b"\"error\""))
}

/// About how many values the line holds, without making any of them.
fn nodes(line: &[u8]) -> usize {
    let (mut nodes, mut in_text, mut escaped) = (0, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => nodes += 1,
            _ => {}
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_a_useless_answer_or_noise() {
        let answer = |result: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{result}}}");
        let nested = format!("{}{}", "[".repeat(300), "]".repeat(300));
        let many = format!("[0{}]", ",0".repeat(NODES_MAX));
        // Commas in a text are no values.
        let text = format!("\\\"{}", ",[{".repeat(NODES_MAX));
        let texts = answer(&format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"));
        for (line, expected) in [
            (answer("{\"content\":[]}").into_bytes(), "message"),
            (
                answer(&format!("{{\"content\":[],\"structuredContent\":{{\"a\":{nested}}}}}")).into_bytes(),
                "could not be read",
            ),
            (answer(&many).into_bytes(), "held too many values"),
            (texts.into_bytes(), "message"),
            ([answer("\"").as_bytes(), b"\xff"].concat(), "could not be read"),
            (b"{\"level\": \"info\", \"result\": 1}".to_vec(), "noise"),
            (b"sent {\"jsonrpc\":\"2.0\",\"result\":1}".to_vec(), "noise"),
            (b"Loading".to_vec(), "noise"),
        ] {
            let found = match decoded(&line) {
                Line::Message(_) => "message",
                Line::Useless(why) => why,
                Line::Noise(_) => "noise",
            };
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(&line[..line.len().min(90)]));
        }
    }
}
