// SPDX-License-Identifier: MIT OR Apache-2.0

//! The figures the session works with. `Default` is what ships.

use std::time::Duration;

use crate::lexicon::Locale;

/// When a conversation is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engage {
    /// From start to stop: the link is kept up and the microphone is live whenever it is.
    Always,
    /// Near-end speech opens the link; silence closes it.
    Voice {
        /// Silence of both sides after which the link is closed.
        idle_after: Duration,
    },
}

impl Engage {
    /// Silence after which a conversation opened by voice is over: long enough to read a label, short enough that the
    /// next person at the kiosk meets a fresh one.
    pub const IDLE_AFTER: Duration = Duration::from_secs(30);
}

impl Default for Engage {
    fn default() -> Self {
        Self::Voice { idle_after: Self::IDLE_AFTER }
    }
}

/// Whose rules about a turn's follow-ups hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// This product's.
    #[default]
    Default,
    /// Those of tools written for Voxa, where a caller's turn makes four requests at most.
    Voxa,
}

impl Profile {
    /// Answers of one user turn that may ask the model to speak again.
    #[must_use]
    pub const fn max_follow_ups(self) -> u32 {
        match self {
            Self::Default => 6,
            Self::Voxa => 3,
        }
    }
}

/// Everything that can be set about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// When a conversation is opened.
    pub engage: Engage,
    /// Microphone audio sent from before a speech onset. The VAD is sure only after some speech; 300 ms covers its
    /// onset time and the unvoiced consonant before it.
    pub preroll: Duration,
    /// The most audio that is sent late, so that the first words survive while the link is made. The worker keeps no
    /// more than this.
    pub preroll_max: Duration,
    /// Near-end speech over playout that makes a barge-in, from its onset. Below it, playout is only lowered: 200 ms is
    /// longer than a click or a cough and shorter than the shortest word that means anything.
    pub barge_in_min_speech: Duration,
    /// The confirmation gate.
    pub gate: GateConfig,
    /// Making the link again.
    pub retry: RetryConfig,
    /// Waits on the provider and on playout.
    pub patience: Patience,
    /// Answers of one user turn that may ask the model to speak again, before its calls are refused; see
    /// [`Profile::max_follow_ups`].
    pub max_follow_ups: u32,
    /// A call that acts on the world outside, and one that ends the session, waits this long for the person to go on: what
    /// a model takes for the end of a turn often is a breath. Longer than the VAD needs to be sure of speech.
    pub settle: Duration,
    /// An answer that comes this long after its call is filed in silence: the talk has moved on.
    pub stale_after: Duration,
    /// A line before a call is left out if the model was heard this recently: what it said covers the wait.
    pub covered: Duration,
    /// Results of one tool in a row in one turn in which nothing was found, from which on it is answered without being
    /// run: models are known to sweep.
    pub sweeps_max: u32,
    /// Calls of one tool with wrong arguments in one turn from which on it is refused: the model is guessing, and only
    /// the person knows.
    pub invalid_max: u32,
    /// A call equal to a finished one of the same turn is answered from the ledger within this time: models are known
    /// to repeat a call whose answer they have not read yet.
    pub repeat_window: Duration,
    /// The same, in whichever turn, for one whose answer the model may not have read: its connection was lost, it was
    /// taken back, or the person spoke before it was answered. The model repeats such calls under other ids.
    pub repeat_window_unread: Duration,
    /// What the device says with its own voice.
    pub lines: Lines,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            engage: Engage::default(),
            preroll: Duration::from_millis(300),
            preroll_max: Duration::from_secs(3),
            barge_in_min_speech: Duration::from_millis(200),
            gate: GateConfig::default(),
            retry: RetryConfig::default(),
            patience: Patience::default(),
            max_follow_ups: Profile::Default.max_follow_ups(),
            settle: Duration::from_millis(300),
            stale_after: Duration::from_secs(60),
            covered: Duration::from_millis(1500),
            sweeps_max: 3,
            invalid_max: 3,
            repeat_window: Duration::from_secs(3),
            repeat_window_unread: Duration::from_secs(60),
            lines: Lines::default(),
        }
    }
}

/// Who reads a question of the confirmation gate out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// The device, with its own voice.
    Device,
    /// The model, word by word; the transcript of what was heard of it must be the question. For devices without a voice:
    /// weaker, as it rests on the provider's transcript.
    Model {
        /// The device can speak it all the same, and does when the model fails twice.
        then_device: bool,
    },
}

/// Figures of the confirmation gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateConfig {
    /// A question lapses this long after it was heard; also if it was not spoken within this time of being made, or not
    /// heard within this time of being spoken. One that is asked again has this time again.
    pub deadline: Duration,
    /// An approval lapses this long after it was given.
    pub grant: Duration,
    /// A transcript counts only if it arrives this soon after the speech it belongs to; a call waits this long for it.
    pub evidence_grace: Duration,
    /// A transcript is final when nothing was added to it for this long. Providers often send no final mark.
    pub finality: Duration,
    /// Voiced speech an answer needs at least; a click has less.
    pub min_voiced: Duration,
    /// Unclear answers after which the question is dropped.
    pub attempts: u32,
    /// Times one question is spoken at most.
    pub presentations: u32,
    /// The language that answers are read in.
    pub locale: Locale,
    /// Other languages that are spoken here. A word that means the opposite in one of them is no answer.
    pub other_locales: Vec<Locale>,
    /// Who reads the question out.
    pub read_back: ReadBack,
    /// The microphone hears the room that the device is in. Where it does not, as with a stream that is fed in, nothing
    /// spoken is an answer.
    pub own_microphone: bool,
    /// The device has a button to agree with.
    pub button: bool,
    /// An answer may overlap what the device plays, and what still sounds of it, by this many percent.
    pub overlap_percent: u32,
    /// What the device plays sounds on for this long in the room and in the canceller.
    pub tail: Duration,
    /// Words that are a run of what was played this recently are its echo, not an answer.
    pub echo_window: Duration,
    /// A sheet takes no tap sooner than this after it is seen: a finger may be on its way to what was there before.
    pub arming: Duration,
    /// The button must be held for this long.
    pub hold: Duration,
    /// Sheets on the screen at most that are not asked aloud too.
    pub sheets: usize,
    /// A model that was asked to put the question first and calls only after the yes may be taken at its word, if what it
    /// said was the question in full.
    pub accept_preasked: bool,
    /// Questions of one tool within [`GateConfig::proposals_span`] at most that nobody agrees to. More are nagging.
    pub proposals: usize,
    /// See [`GateConfig::proposals`].
    pub proposals_span: Duration,
    /// Times that a tool may be turned down in a conversation and within [`GateConfig::lock`]; from then on it needs the
    /// screen.
    pub declines: usize,
    /// Times that a call of one tool may try to get past a refusal, within the same; from then on it needs the screen.
    pub violations: usize,
    /// How long a tool needs the screen, and no longer than the conversation.
    pub lock: Duration,
    /// Calls of one tool that were agreed to and may start within [`GateConfig::effects_span`].
    pub effects: usize,
    /// See [`GateConfig::effects`].
    pub effects_span: Duration,
    /// Questions made in one user turn at most, those that replace another included. One is what a turn is about, and
    /// a misheard digit makes a second; past a third the model is guessing, or wearing the person down.
    pub proposals_per_turn: u32,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(45),
            grant: Duration::from_secs(15),
            evidence_grace: Duration::from_millis(1500),
            finality: Duration::from_millis(400),
            min_voiced: Duration::from_millis(150),
            attempts: 2,
            presentations: 3,
            locale: Locale::En,
            other_locales: Vec::new(),
            read_back: ReadBack::Device,
            own_microphone: true,
            button: false,
            overlap_percent: 30,
            tail: Duration::from_millis(200),
            echo_window: Duration::from_secs(5),
            arming: Duration::from_millis(700),
            hold: Duration::from_millis(300),
            sheets: 3,
            accept_preasked: false,
            proposals: 3,
            proposals_span: Duration::from_secs(600),
            declines: 2,
            violations: 3,
            lock: Duration::from_secs(1800),
            effects: 10,
            effects_span: Duration::from_secs(3600),
            proposals_per_turn: 3,
        }
    }
}

/// Figures of making the link again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryConfig {
    /// Wait before the first attempt. Providers hold a dropped connection for about 1.5 s and refuse to resume it
    /// meanwhile; the second attempt falls after that.
    pub first: Duration,
    /// The wait doubles up to this.
    pub cap: Duration,
    /// Wait where trying again soon cannot help: quota, credentials, refused set-up.
    pub permanent: Duration,
    /// Each wait is spread by up to this many percent either way, so that a fleet does not return as one.
    pub jitter_percent: u32,
    /// A link counts as good, and the wait starts over, after this long with content on it.
    pub stable: Duration,
    /// Failed attempts with one resumption handle before it is given up for a fresh session.
    pub handle_attempts: u32,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            cap: Duration::from_secs(30),
            permanent: Duration::from_secs(60),
            jitter_percent: 20,
            stable: Duration::from_secs(30),
            handle_attempts: 3,
        }
    }
}

/// How long the session waits for what others should do. Every wait has a bound, so none can hold it for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patience {
    /// From connecting to set up, and again from transport open to set up.
    pub setup: Duration,
    /// From asking for the transport to be closed to its being gone.
    pub close: Duration,
    /// From a cut reply to the provider closing its turn; afterwards its audio counts as a fresh reply.
    pub cut_reply: Duration,
    /// From the end of the person's speech to anything heard; afterwards the device says that it takes longer. Also from
    /// asking the model to speak to its speech; afterwards it is not waited for.
    pub reply: Duration,
    /// Microphone audio is withheld for pending calls at most this long.
    pub uplink_hold: Duration,
    /// From dispatch of a call to its being answered that it runs, where one without an answer keeps the microphone
    /// shut.
    pub blocking: Duration,
    /// From the agent's goodbye to the end, whatever still plays.
    pub drain: Duration,
    /// From the end of the call that ends the session to the goodbye, if the model says nothing.
    pub goodbye: Duration,
    /// From an answer to its clip, if the speech that it asked for does not come.
    pub clip: Duration,
    /// Quiet before a clip whose answer asked for no speech.
    pub clip_quiet: Duration,
    /// From a call's arrival to its run, where it waits for what was said before it to be heard.
    pub heard: Duration,
    /// From stopping a call to its outcome. An equal call waits that long, as the first may have done something after all.
    pub stopped: Duration,
    /// Added to the expected end of playout before lost playout reports are given up for.
    pub playout: Duration,
    /// Taken off the time a provider leaves before it closes: the link is made again this much earlier.
    pub go_away_margin: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            setup: Duration::from_secs(12),
            close: Duration::from_secs(2),
            cut_reply: Duration::from_secs(3),
            reply: Duration::from_secs(10),
            uplink_hold: Duration::from_secs(10),
            blocking: Duration::from_secs(6),
            drain: Duration::from_secs(30),
            goodbye: Duration::from_secs(2),
            clip: Duration::from_secs(5),
            clip_quiet: Duration::from_millis(300),
            heard: Duration::from_secs(3),
            stopped: Duration::from_secs(2),
            playout: Duration::from_secs(20),
            go_away_margin: Duration::from_secs(2),
        }
    }
}

/// What the device says with its own voice, in the session's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Follows the summary of a guarded call. Never ends in a word that would be read as agreement: its echo would be
    /// an answer.
    pub question: String,
    /// In its place for a call that the button agrees to.
    pub press: String,
    /// After it for a call that needs the screen too.
    pub tap_too: String,
    /// After it, before the words of a challenge.
    pub code: String,
    /// After it where digits must be said again. `{}` is how many.
    pub repeat_digits: String,
    /// Once per outage.
    pub unreachable: String,
    /// Once per turn, when nothing was heard for [`Patience::reply`] and no tool that runs has a line of its own for that.
    pub slow: String,
    /// When the model's calls lead nowhere.
    pub stuck: String,
    /// When the agent ends the session without a word.
    pub goodbye: String,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            question: "Is that right?".into(),
            press: "Hold the button if that is right.".into(),
            tap_too: "It needs a tap on the screen too.".into(),
            code: "The code to say with your answer is".into(),
            repeat_digits: "Say the last {} digits with your answer.".into(),
            unreachable: "I cannot reach my service right now.".into(),
            slow: "Sorry, that is taking longer than I expected.".into(),
            stuck: "Sorry, I could not finish that.".into(),
            goodbye: "Goodbye.".into(),
        }
    }
}
