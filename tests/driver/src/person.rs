// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the person does.

use std::time::Duration;

use session::{GateState, Input, ProviderEvent};

use crate::realtime::Said;
use crate::room::spoken_for;
use crate::world::Driver;

/// Speech that the local detector needs before it is sure.
const ONSET: Duration = Duration::from_millis(100);

/// A person who waits for the device to be quiet waits this much longer.
const BREATH: Duration = Duration::from_millis(200);

/// The longest that anything queued is waited for.
const QUIET_LIMIT: Duration = Duration::from_secs(300);

/// Longer than a transcript needs to count as final.
const UNDERSTOOD: Duration = Duration::from_millis(500);

/// What the provider needs to hear of somebody before it cuts its own reply.
const PROVIDER_HEARS: Duration = Duration::from_millis(300);

/// When the person speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When what the device has to say has been heard.
    Quiet,
    /// At once, whatever is playing.
    OverPlayback,
}

impl Driver {
    /// The person waits until the device is quiet, and says this. Its transcript comes as they end.
    pub async fn user_says(&mut self, text: &str) {
        self.user_turn(text, spoken_for(text), When::Quiet).await;
    }

    /// The person makes a sound of this length, which the provider transcribes as `text`; not at all if that is empty.
    pub async fn user_turn(&mut self, text: &str, voiced: Duration, when: When) {
        if when == When::Quiet {
            self.plays_out().await;
            self.model_done().await;
            self.advance(BREATH).await;
        }
        self.make_sound(voiced).await;
        self.user_ends(text).await;
    }

    /// The person speaks over what the device says, this long after it begins to be heard, or from this moment on if it
    /// is heard already. They say nothing that can be understood.
    pub async fn user_barges_in(&mut self, after: Duration) {
        self.pass_while(QUIET_LIMIT, |driver| driver.room.is_busy() && !driver.room.is_audible()).await;
        self.advance(after).await;
        self.make_sound(Duration::from_millis(600)).await;
        self.user_ends("").await;
    }

    /// The question of the gate is heard to its end. What the person is asked to agree to.
    ///
    /// # Panics
    /// If none is open, or it is not heard.
    pub async fn question_is_heard(&mut self) -> String {
        self.plays_out().await;
        let gate = self.session.snapshot().gate;
        let GateState::Waiting { summary } = gate else {
            panic!("no question waits for its answer: {gate:?}; this was heard: {:#?}", self.heard());
        };
        summary
    }

    /// The person hears the question to its end and agrees. What they have agreed to; it does not run before the model
    /// makes its call again.
    ///
    /// # Panics
    /// If there is no question, or the yes does not count.
    pub async fn user_approves(&mut self) -> String {
        let summary = self.question_is_heard().await;
        self.user_says("Yes, that's right.").await;
        self.advance(UNDERSTOOD).await;
        let gate = self.session.snapshot().gate;
        assert!(matches!(gate, GateState::Granted { .. }), "the yes does not count: {gate:?}");
        summary
    }

    /// The person hears the question to its end and says no. What they have not agreed to.
    ///
    /// # Panics
    /// If there is no question, or it is not over.
    pub async fn user_declines(&mut self) -> String {
        let summary = self.question_is_heard().await;
        self.user_says("No.").await;
        self.advance(UNDERSTOOD).await;
        let gate = self.session.snapshot().gate;
        assert_eq!(gate, GateState::Clear, "the no does not count");
        summary
    }

    /// The provider transcribes this at this moment, whether anybody has spoken or not.
    pub async fn words_come(&mut self, text: &str) {
        self.provider(ProviderEvent::UserText(text.to_owned()));
        self.settle().await;
    }

    /// Whatever the device has to say is heard.
    pub async fn question_or_silence(&mut self) {
        self.plays_out().await;
    }

    /// A sound of this length that is no speech, whatever is playing.
    pub async fn noise(&mut self, span: Duration) {
        self.make_sound(span).await;
        self.user_ends("").await;
    }

    /// The person begins to speak, and goes on until [`Driver::user_ends`].
    pub async fn user_begins(&mut self) {
        self.make_sound(ONSET).await;
    }

    /// The person stops speaking. The provider transcribes all of it as `text`, not at all if that is empty; if it was
    /// replying and heard them for long enough, it cuts its reply.
    pub async fn user_ends(&mut self, text: &str) {
        let since = self.speech_since.take().expect("`user_begins` comes before `user_ends`");
        let voiced = self.now() - since;
        let provider_hears = voiced >= PROVIDER_HEARS;
        if provider_hears && self.turn_is_open() {
            self.provider(ProviderEvent::Interrupted);
            self.model_done().await;
        }
        self.feed(Input::SpeechEnded { voiced });
        if provider_hears && self.realtime.is_some() {
            self.say([Said::Committed]);
        }
        if !text.is_empty() {
            self.last_words = text.to_owned();
            self.provider(ProviderEvent::UserText(text.to_owned()));
        }
        self.settle().await;
    }

    /// Everything that the device has to say is heard, and what it says after that. Something that was heard to its end
    /// since the last time begins with `prefix`.
    ///
    /// # Panics
    /// If nothing does.
    pub async fn agent_is_heard(&mut self, prefix: &str) {
        self.plays_out().await;
        self.model_done().await;
        self.plays_out().await;
        let heard = self.room.heard();
        let fresh = &heard[self.asserted..];
        assert!(
            fresh.iter().any(|heard| !heard.cut && heard.text.starts_with(prefix)),
            "nothing heard begins with {prefix:?}: {fresh:#?}"
        );
        self.asserted = heard.len();
    }

    /// Nothing was heard to its end since this was last looked at.
    ///
    /// # Panics
    /// If something was.
    pub async fn agent_is_silent(&mut self) {
        self.plays_out().await;
        let heard = self.room.heard();
        let fresh: Vec<_> = heard[self.asserted..].iter().filter(|heard| !heard.cut).collect();
        assert!(fresh.is_empty(), "this was heard: {fresh:#?}");
        self.asserted = heard.len();
    }

    pub(crate) async fn plays_out(&mut self) {
        self.pass_while(QUIET_LIMIT, |driver| driver.room.is_busy()).await;
    }

    /// The speech begins, is found, and lasts.
    async fn make_sound(&mut self, span: Duration) {
        assert!(self.speech_since.is_none(), "the person is speaking already");
        self.speech_since = Some(self.now());
        let onset = span.min(ONSET);
        self.advance(onset).await;
        self.feed(Input::SpeechStarted { onset_ago: onset });
        self.advance(span.saturating_sub(onset)).await;
    }
}
