// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls that the model writes out as speech: they are cut off, and asked for once more as calls.

use crate::answers;
use crate::notes::Ask;
use crate::notice::Notice;
use crate::session::Session;

/// What nobody says and models are known to write around a call.
const GIVEAWAYS: [&str; 4] = ["tool_code", "tool_outputs", "tools_output", "default_api."];

impl Session {
    /// The next piece of what the model's speech says.
    pub(crate) fn on_reply_text(&mut self, text: &str) {
        self.reply.text(text);
        if let Some(name) = written_call(self.reply.said(), &self.view) {
            let name = name.to_owned();
            self.on_written_call(name);
        }
    }

    fn on_written_call(&mut self, name: String) {
        let ask = answers::written_call(&name);
        self.cx.notice(Notice::CallSpoken { name });
        self.playout.flush(&mut self.cx, None);
        self.reply.cut(&mut self.cx);
        if self.person.is_speaking() || !self.gate.is_clear() {
            return;
        }
        if self.are_follow_ups_spent() || std::mem::replace(&mut self.tally.asked_to_call, true) {
            self.say_stuck();
        } else {
            // At once: it also ends what the model is still saying.
            self.ask(ask, Ask { asked_at: self.cx.now, wish: "", urgent: true });
        }
    }
}

/// The tool that `said` writes a call of, or what gives one away.
fn written_call<'a>(said: &str, tools: &'a [String]) -> Option<&'a str> {
    let named = tools.iter().map(String::as_str).find(|name| is_called(said, name));
    named.or_else(|| GIVEAWAYS.into_iter().find(|giveaway| said.contains(giveaway)))
}

/// `name` stands in `said` as it does in code: before its arguments, or as the value of a JSON field.
fn is_called(said: &str, name: &str) -> bool {
    said.match_indices(name).any(|(at, _)| {
        let (before, after) = (&said[..at], &said[at + name.len()..]);
        let part_of_a_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let arguments = !part_of_a_word && after.starts_with(['(', '{']);
        let field = before.strip_suffix('"').is_some_and(|before| before.trim_end().ends_with(':'));
        arguments || (field && after.starts_with('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_written_out_is_told_from_talk_about_a_tool() {
        let tools = ["look_up".to_owned(), "volume".to_owned()];
        for (said, found) in [
            ("look_up(q=\"x\")", Some("look_up")),
            ("Sure. call:look_up{q:1}", Some("look_up")),
            ("{\"name\": \"look_up\", \"args\": {}}", Some("look_up")),
            ("print(default_api.x", Some("default_api.")),
            ("tools_output", Some("tools_output")),
            ("The volume (as you asked) is 40.", None),
            ("I use look_up for that.", None),
            ("It is called \"look_up\".", None),
            ("my_look_up(1)", None),
            ("", None),
        ] {
            assert_eq!(written_call(said, &tools), found, "{said}");
        }
    }
}
