// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is not wrong but will be heard: things a live model or a person will stumble over.

use std::time::Duration;

use super::BuildWarning;
use crate::declare::{Declaration, Effect};
use crate::set::ErasedTool;

/// Text of all declarations, in bytes, from which a live model was seen to repeat itself before it calls anything
/// (google-gemini/gemini-live-api-examples#46).
const DECLARED_BYTES_MAX: usize = 6000;

/// Number of tools from which the same was seen.
const TOOLS_MAX: usize = 16;

/// Longest wait in which silence is not yet taken for a broken line.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// What deserves a second look in one declaration.
pub(super) fn doubts(tool: &Declaration) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut words = tool.description.split(|ch: char| !ch.is_alphanumeric()).map(str::to_lowercase);
    if !words.clone().any(|word| matches!(word.as_str(), "when" | "whenever" | "before" | "after" | "if")) {
        doubts.push("the description does not say when to use it: the model has to guess".to_owned());
    }
    let marks = &tool.marks;
    let acts = tool.effect == Effect::Outbound || tool.gate.is_some();
    if acts && !marks.needs_result_now && words.any(|word| word == "returns") {
        doubts.push(
            "the description promises a result, yet the model is not asked again when there is one: drop the promise, \
             or mark it `.needs_result_now()`"
                .to_owned(),
        );
    }
    let silent = marks.pre_call.is_none() && marks.waiting.is_none() && !marks.job;
    if marks.needs_result_now && silent && tool.timeout() > SILENCE_MAX {
        doubts.push(format!(
            "the person may wait {:?} for it in silence: give it a line to be spoken first (`.pre_call(..)`, \
             `.waiting(..)`; in a configuration `pre_call_message`), or a timeout of at most {SILENCE_MAX:?}",
            tool.timeout()
        ));
    }
    doubts
}

/// What deserves a second look in the set as a whole.
pub(super) fn doubts_about_all(tools: &[ErasedTool]) -> Vec<BuildWarning> {
    let mut doubts = Vec::new();
    let mut doubt = |text: String| doubts.push(BuildWarning { tool: None, text });
    if tools.len() > TOOLS_MAX {
        doubt(format!(
            "there are {} tools: with more than {TOOLS_MAX} a live model gets slow and repeats itself; leave out what \
             this device does not need",
            tools.len()
        ));
    }
    let bytes: usize = tools
        .iter()
        .map(|tool| tool.name().len() + tool.description().len() + tool.schema().to_string().len())
        .sum();
    if bytes > DECLARED_BYTES_MAX {
        doubt(format!(
            "the declarations take {bytes} bytes: over {DECLARED_BYTES_MAX} a live model gets slow and repeats itself; \
             shorten descriptions or leave out tools"
        ));
    }
    doubts
}
