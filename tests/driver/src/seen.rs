// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the test looks at.

use std::time::Duration;

use serde_json::Value;
use session::{ClientEvent, FollowUp, Notice, Snapshot, TurnRecord};

use crate::provider::Link;
use crate::room::Heard;
use crate::script::Profile;
use crate::world::Driver;

/// What became of the person's last turn, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Nothing is owed: the person has stopped, the model has closed its turn, every call has its answer.
    pub completed: bool,
    /// Nothing was heard in it but the person.
    pub speechless: bool,
    /// Answers that asked the model to speak again.
    pub hops: u32,
    /// Calls the model made.
    pub calls: u32,
    /// Calls that ran and whose result the model waits for.
    pub awaited: u32,
}

impl Driver {
    /// The person's last turn, so far. What is told when it is over is in [`Driver::turns`].
    #[must_use]
    pub fn turn(&self) -> Turn {
        let open = self.session.snapshot().calls;
        let mut turn = Turn {
            completed: self.speech_since.is_none() && !self.turn_is_open() && open.is_empty(),
            speechless: true,
            ..Turn::default()
        };
        let opened = |(_, notice): &(_, Notice)| matches!(notice, Notice::TurnOpened { .. });
        let from = self.log.notices.iter().rposition(opened).unwrap_or_default();
        for (_, notice) in &self.log.notices[from..] {
            if let Notice::CallArrived { .. } = notice {
                turn.calls += 1;
            } else if let Notice::CallAnswered {
                follow_up: FollowUp::WhenIdle | FollowUp::Interrupt, ..
            } = notice
            {
                turn.hops += 1;
            } else if let Notice::CallRun { name, .. } = notice {
                let waited_for = self.tools.find(name).is_some_and(|tool| tool.needs_result_now());
                turn.awaited += u32::from(waited_for);
            } else if let Notice::Played { heard, .. } = notice {
                turn.speechless &= heard.is_zero();
            }
        }
        turn.speechless &= !self.room.is_audible();
        turn
    }

    /// The record of every turn that is over.
    #[must_use]
    pub fn turns(&self) -> Vec<TurnRecord> {
        let record = |(_, notice): &(Duration, Notice)| {
            if let Notice::Turn(record) = notice { Some(record.clone()) } else { None }
        };
        self.log.notices.iter().filter_map(record).collect()
    }

    /// Every message to the provider, in order; microphone audio is none. For Gemini what the daemon's own encoder writes,
    /// for OpenAI what this crate's does; for a provider without one what the session asked of it, under `seam`.
    #[must_use]
    pub fn wire(&self) -> &[Value] {
        &self.log.wire
    }

    /// What the model was told since it last said or asked something: what the person said, answers, notes.
    #[must_use]
    pub fn next_context(&self) -> &[Value] {
        &self.log.context
    }

    /// Every event for the screen, in order.
    #[must_use]
    pub fn events(&self) -> &[ClientEvent] {
        &self.log.events
    }

    /// The payload of the next event for the screen of this name: of those not yet taken in this way, which are passed over
    /// up to there.
    ///
    /// # Panics
    /// If there is none.
    pub fn screen_shows(&mut self, name: &str) -> Value {
        let fresh = &self.log.events[self.asserted_events..];
        let Some(at) = fresh.iter().position(|event| event.name == name) else {
            panic!("no `{name}` is shown: {fresh:#?}");
        };
        let payload = fresh[at].payload.clone();
        self.asserted_events += at + 1;
        payload
    }

    /// The daemon's timeline, one object for each moment, as `voiced demo` writes it.
    ///
    /// # Panics
    /// Never: it is JSON.
    #[must_use]
    pub fn timeline(&self) -> Vec<Value> {
        let written = String::from_utf8_lossy(&self.written()).into_owned();
        written
            .lines()
            .map(|line| serde_json::from_str(line).expect("the timeline is written as JSON"))
            .collect()
    }

    /// The same as values, with the time of each.
    #[must_use]
    pub fn notices(&self) -> &[(Duration, Notice)] {
        &self.log.notices
    }

    /// What works and will be regretted: of the tools as they were built, and of what was logged since.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let built = self.tools.warnings().iter().map(ToString::to_string);
        built.chain(self.warnings.lines()).collect()
    }

    /// What left the loudspeaker, or was to, in order.
    #[must_use]
    pub fn heard(&self) -> &[Heard] {
        self.room.heard()
    }

    /// How long `clip` lasts when it is played: half a second if nobody says.
    pub fn clip_lasts(&mut self, clip: &str, span: Duration) {
        self.room.clip_lasts(clip, span);
    }

    /// When the microphone was let out (`true`) and shut.
    #[must_use]
    pub fn uplink(&self) -> &[(Duration, bool)] {
        &self.log.uplink
    }

    /// The microphone is let out.
    #[must_use]
    pub fn uplink_is_open(&self) -> bool {
        self.log.uplink.last().is_some_and(|(_, open)| *open)
    }

    /// Tools that acted on the world, once for each call: it began its effect, or is outbound and came back done or in
    /// doubt.
    #[must_use]
    pub fn effects(&self) -> Vec<&str> {
        self.log.effects.values().map(String::as_str).collect()
    }

    /// There were this many effects.
    ///
    /// # Panics
    /// If there were more or fewer.
    pub fn expect_effects(&self, count: usize) {
        let effects = self.effects();
        assert_eq!(effects.len(), count, "these acted on the world: {effects:?}");
    }

    /// What the session is about.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.session.snapshot()
    }

    /// What the provider can do.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.script.profile()
    }

    /// The time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.now().since_boot()
    }

    /// Who ended the session, if it has ended: `agent` or `daemon`.
    #[must_use]
    pub fn ended_by(&self) -> Option<&'static str> {
        self.log.ended
    }

    /// The figures in force.
    #[must_use]
    pub fn config(&self) -> &session::Config {
        &self.config
    }

    /// Nothing more can come of the session, or nothing can be said to the provider.
    pub(crate) fn is_over(&self) -> bool {
        self.log.ended.is_some() && self.link == Link::Gone
    }
}
