// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is given to the loudspeaker: replies as they come, lines of the device's own once they are rendered, and clips once
//! they are here.
//!
//! A clip that is still on its way is waited for behind the speech it belongs to, and a little longer. Whatever becomes of an
//! utterance, the session is told that it is over, once, unless the task that renders it panics: then a timer of the session
//! ends it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use audio::{Command, Priority};
use session::{Input, LineKind};
use tokio::task::{JoinError, JoinSet};
use tracing::{debug, error, warn};
use units::{Clip, Db, Frames, Instant, Pcm, UtteranceId};

use super::Running;
use crate::clip::ClipError;
use crate::clip::earcon::Earcon;
use crate::clip::store::Found;
use crate::clock::Clock;
use crate::fault::chain;
use crate::speech::SpeechError;
use crate::watch::Moment;

/// How far playout is lowered while it is unclear whether the person is barging in: clearly quieter, still followable.
pub(super) const DUCK: Db = Db(-15.0);

/// How long a clip that is still on its way is waited for once everything else was heard. A sound that comes later seems to
/// belong to nothing.
const CLIP_PATIENCE: Duration = Duration::from_secs(4);

/// What is on its way to the loudspeaker.
#[derive(Default)]
pub(super) struct Sounds {
    lines: JoinSet<Line>,
    /// How many flushes there have been.
    flushes: u64,
    /// Clips that are waited for.
    coming: BTreeMap<UtteranceId, Clip>,
    arrivals: JoinSet<Arrival>,
    /// Utterances that the worker was given and whose end it has not reported.
    unheard: BTreeSet<UtteranceId>,
    /// Until when clips are waited for, while nothing else is to be heard.
    patience: Option<Instant>,
    /// What the worker had no room for and must be told all the same: the last of each kind.
    owed: Vec<Command>,
}

/// A line of the device's own, rendered or not.
pub(super) struct Line {
    utterance: UtteranceId,
    kind: LineKind,
    /// How many flushes there had been when it was asked for.
    flushes: u64,
    rendered: Result<Pcm, SpeechError>,
}

/// A clip that was waited for, here or not.
pub(super) struct Arrival {
    utterance: UtteranceId,
    got: Result<Pcm, Arc<ClipError>>,
}

/// Something that can be given to the loudspeaker, or never will be.
pub(super) enum Ready {
    Line(Line),
    Clip(Arrival),
    /// Clips have been waited for for long enough.
    Late,
    Broken(JoinError),
}

impl Sounds {
    /// Waits for one. Safe to drop.
    pub(super) async fn ready(&mut self, clock: &Clock) -> Ready {
        tokio::select! {
            Some(line) = self.lines.join_next() => line.map_or_else(Ready::Broken, Ready::Line),
            Some(clip) = self.arrivals.join_next() => clip.map_or_else(Ready::Broken, Ready::Clip),
            () = clock.sleep_until(self.patience) => Ready::Late,
        }
    }

    /// Waits for every engine.
    pub(super) async fn rendered(&mut self) {
        while self.lines.join_next().await.is_some() {}
    }

    /// The worker reports that nothing more of this will be heard.
    pub(super) fn on_over(&mut self, now: Instant, utterance: UtteranceId) {
        self.unheard.remove(&utterance);
        self.set_patience(now);
    }

    /// Patience runs while clips are all that is to be heard.
    fn set_patience(&mut self, now: Instant) {
        if self.coming.is_empty() || !self.unheard.is_empty() {
            self.patience = None;
        } else {
            self.patience = self.patience.or(Some(now + CLIP_PATIENCE));
        }
    }
}

impl Running {
    /// Tells the worker what it had no room for.
    pub(super) fn settle_commands(&mut self) {
        for owed in std::mem::take(&mut self.sounds.owed) {
            self.command(owed);
        }
    }

    pub(super) fn command(&mut self, command: Command) {
        if let Command::Append { utterance, .. } = &command {
            self.sounds.unheard.insert(*utterance);
            self.sounds.patience = None;
        }
        let lost = match self.driver.audio.command(command) {
            Ok(()) => return,
            Err(lost) => lost,
        };
        match lost {
            // An utterance that cannot be played has not been heard; whoever waits for it must not wait for ever.
            Command::Append { utterance, .. } | Command::Finish { utterance }
                if super::is_earcon(utterance) =>
            {
                self.sounds.unheard.remove(&utterance);
            }
            Command::Append { utterance, .. } | Command::Finish { utterance } => {
                error!(%utterance, "the audio worker takes no commands; an utterance is lost");
                self.sounds.unheard.remove(&utterance);
                self.inputs.push_back(not_heard(utterance));
            }
            Command::Flush
            | Command::Duck(_)
            | Command::Volume(_)
            | Command::Rate(_)
            | Command::UplinkOpen { .. }
            | Command::UplinkClose => {
                error!("the audio worker takes no commands; is it stopped?");
            }
            Command::Mute(_) | Command::MuteLine(_) => {
                error!("the audio worker takes no commands: the microphone is switched as soon as it does");
                let kind = std::mem::discriminant(&lost);
                self.sounds.owed.retain(|owed| std::mem::discriminant(owed) != kind);
                self.sounds.owed.push(lost);
            }
        }
    }

    pub(super) fn flush(&mut self) {
        self.sounds.flushes += 1;
        self.command(Command::Flush);
        // What is still fetched may be wanted again, and goes on by itself.
        self.sounds.arrivals = JoinSet::new();
        self.sounds.patience = None;
        self.sounds.unheard.clear();
        for (utterance, clip) in std::mem::take(&mut self.sounds.coming) {
            debug!(%utterance, %clip, "a clip was flushed before it came");
            self.inputs.push_back(not_heard(utterance));
        }
    }

    pub(super) fn speak(&mut self, now: Instant, utterance: UtteranceId, text: String, kind: LineKind) {
        self.show(now, &Moment::Line { text: &text, kind });
        let speech = Arc::clone(&self.driver.speech);
        let flushes = self.sounds.flushes;
        self.sounds
            .lines
            .spawn(async move { Line { utterance, kind, flushes, rendered: speech.render(text).await } });
    }

    /// Begins to fetch a clip that a result brings. False if it cannot be played at all: its call is told of as ever.
    pub(super) fn begin_clip(&mut self, clip: &Clip) -> bool {
        let found = self.driver.clips.find(clip);
        if let Err(fault) = &found {
            warn!("a tool's clip is left out: {}", chain(fault));
        }
        found.is_ok()
    }

    pub(super) fn play_clip(&mut self, utterance: UtteranceId, clip: Clip) {
        match self.driver.clips.find(&clip) {
            Ok(Found::Here(pcm)) => self.give(utterance, Priority::Clip, pcm),
            Ok(Found::Coming(coming)) => {
                self.sounds.coming.insert(utterance, clip);
                self.sounds.arrivals.spawn(async move { Arrival { utterance, got: coming.arrived().await } });
                self.sounds.set_patience(self.driver.clock.now());
            }
            Err(fault) => {
                warn!("a clip is not played: {}", chain(&fault));
                self.inputs.push_back(not_heard(utterance));
            }
        }
    }

    pub(super) fn on_sound(&mut self, ready: Ready) {
        match ready {
            Ready::Line(line) => self.on_line(line),
            Ready::Clip(arrival) => self.on_clip(arrival),
            Ready::Late => self.on_late_clips(),
            Ready::Broken(cause) => {
                error!(%cause, "what is to be heard could not be made ready");
                self.feed(Input::Timeout);
            }
        }
    }

    fn on_line(&mut self, line: Line) {
        let Line { utterance, kind, flushes, rendered } = line;
        if flushes != self.sounds.flushes {
            debug!(%utterance, "a line was flushed before it was rendered");
            return self.feed(not_heard(utterance));
        }
        match rendered {
            Ok(pcm) => {
                let priority = match kind {
                    LineKind::ReadBack => Priority::ReadBack,
                    LineKind::Apology => Priority::Alert,
                    LineKind::PreCall | LineKind::Goodbye => Priority::PreCall,
                };
                self.give(utterance, priority, pcm);
                self.pump();
            }
            Err(fault) => {
                warn!(error = &fault as &dyn std::error::Error, "a line was not spoken");
                self.cue(Earcon::Error);
                self.feed(not_heard(utterance));
            }
        }
    }

    fn on_clip(&mut self, arrival: Arrival) {
        let Arrival { utterance, got } = arrival;
        self.sounds.coming.remove(&utterance);
        match got {
            Ok(pcm) => {
                self.give(utterance, Priority::Clip, pcm);
                self.pump();
            }
            Err(fault) => {
                warn!("a clip is not played: {}", chain(&fault));
                self.sounds.set_patience(self.driver.clock.now());
                self.feed(not_heard(utterance));
            }
        }
    }

    fn on_late_clips(&mut self) {
        self.sounds.arrivals = JoinSet::new();
        self.sounds.patience = None;
        for (utterance, clip) in std::mem::take(&mut self.sounds.coming) {
            warn!(
                "clip `{clip}` is not played: it was not here {} s after what it belongs to was heard",
                CLIP_PATIENCE.as_secs()
            );
            self.feed(not_heard(utterance));
        }
    }

    /// Queues the whole of an utterance.
    fn give(&mut self, utterance: UtteranceId, priority: Priority, pcm: Pcm) {
        self.command(Command::Append { utterance, priority, pcm });
        self.command(Command::Finish { utterance });
    }
}

const fn not_heard(utterance: UtteranceId) -> Input {
    Input::PlayoutFinished { utterance, heard: Frames(0), cut: true }
}
