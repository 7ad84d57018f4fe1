// SPDX-License-Identifier: MIT OR Apache-2.0

//! A question and what is said to it, as they should come, and with something in between.

use session::OutcomeStatus;

use super::{Step, World};

impl World {
    /// Proposal, question heard, words said, call again. `early` speech begins before the question is heard.
    pub fn exchange(&mut self, tool: &str, arg: i64, text: &'static str, early: bool) {
        self.take(Step::Hush(500));
        self.call(tool, arg);
        if early {
            self.speak(0);
            self.wait(50);
        }
        self.play_out();
        if !early {
            self.wait(300);
            self.speak(0);
        }
        self.say(text);
        self.call(tool, arg);
    }

    /// Proposal, question heard, then a reply; words said while or after that is heard, call again.
    pub(super) fn overtaken_exchange(&mut self, tool: &str, arg: i64, text: &'static str) {
        self.take(Step::Hush(500));
        self.call(tool, arg);
        self.play_out();
        self.begin_reply(arg == 0);
        self.wait(300);
        self.speak(0);
        self.say(text);
        self.call(tool, arg);
    }

    /// Proposal, question heard, speech begins, then a reply; words said while or after that is heard, call again.
    pub(super) fn mid_turn_exchange(&mut self, tool: &str, arg: i64, text: &'static str) {
        self.take(Step::Hush(500));
        self.call(tool, arg);
        self.play_out();
        self.wait(300);
        self.speak(0);
        self.begin_reply(arg == 0);
        self.say(text);
        self.call(tool, arg);
    }

    /// A reply begins to be heard, and is heard to its end if it `ends`.
    fn begin_reply(&mut self, ends: bool) {
        self.take(Step::TurnComplete(false));
        self.take(Step::Audio(800));
        self.take(Step::Generated);
        self.take(Step::Started(0));
        if ends {
            self.finish_playing(0, false);
        }
    }

    /// The rest of a stretch of speech, and its words.
    fn say(&mut self, text: &'static str) {
        self.wait(900);
        self.take(Step::Hush(800));
        self.hear(text);
        self.wait(500);
    }

    /// Nothing more happens but what time brings, and tools and the loudspeaker coming to their ends.
    pub fn fall_silent(&mut self) {
        self.take(Step::Hush(500));
        for _ in 0..300 {
            while !self.running.is_empty() {
                self.take(Step::Outcome(0, OutcomeStatus::Success));
            }
            self.take(Step::TurnComplete(false));
            while !self.playing.is_empty() {
                self.finish_playing(0, true);
            }
            self.wait(1000);
        }
    }
}
