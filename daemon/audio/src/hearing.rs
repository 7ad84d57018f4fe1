// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the microphone's side does about the loudspeaker: joins the reference, the canceller, the measure and the policy.

use std::time::Duration;

use units::Db;

use crate::config::{Cleaning, Echo};
use crate::counters::Counters;
use crate::dsp::echo::gauge::{Gauge, Reading};
use crate::dsp::echo::policy::{Choice, Policy, Stance};
use crate::dsp::echo::{Canceller, canceller};
use crate::dsp::{HOP_16K, HOP_24K};
use crate::far::{Clock, Far};

/// Hops of silence after which nothing of what was before is in a canceller: its delay is 14 ms with noise suppression.
const DRAIN: usize = 5;

/// How long the room rings on where the configuration does not say.
const TAIL: Duration = Duration::from_millis(300);

/// Loud far-end until the canceller's filter has its full length and is at rest: for 2.5 s it works with a shorter one, and
/// what it leaves while it changes over was heard as speech, 1.7 to 4.2 s in (measured 2026-12, in the four synthetic rooms that
/// were looked at).
const YOUNG: Duration = Duration::from_secs(6);

/// A hop of which a young canceller takes away more than this, in dB, is an echo, whatever is left. Chosen to be where a canceller
/// counts as converged, not measured.
const ECHO_ALONE: f32 = 10.0;

/// What [`Hearing::hop`] found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// For the technician, where what is done changes.
    pub(crate) news: Option<String>,
    /// What is left is an echo that the canceller cannot take away yet: nobody speaks.
    pub(crate) is_echo: bool,
}

/// The echo as it was measured last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EchoState {
    /// How long after its far-end the echo comes: what the canceller found, else what the levels show, to 10 ms.
    pub delay: Option<Duration>,
    /// How far the microphone is below the loudspeaker's signal while that is loud.
    pub erl: Option<Db>,
    /// How much of it is taken away.
    pub erle: Option<Db>,
    /// How much faster the microphone's clock is than the loudspeaker's, in ppm; 0 until it has been learned.
    pub drift_ppm: f32,
}

/// One microphone beside one loudspeaker.
pub(crate) struct Hearing {
    tail: Duration,
    policy: Policy,
    /// `None` where nothing is cancelled and nothing is measured.
    measuring: Option<Measuring>,
    /// Until when a loudspeaker may still be heard.
    loud_until: Duration,
}

struct Measuring {
    far: Far,
    canceller: Option<Box<dyn Canceller>>,
    gauge: Gauge,
    delay: Option<Duration>,
    /// Hops since the microphone was switched off, as far as they matter.
    muted_hops: usize,
}

impl Hearing {
    pub(crate) fn new(echo: Echo, cleaning: Cleaning) -> Self {
        let (choice, tail) = match echo {
            Echo::Auto { tail } => (Choice::Measured, tail),
            Echo::Software => (Choice::Software, TAIL),
            Echo::Hardware => (Choice::Hardware, TAIL),
            Echo::HalfDuplex { tail } => (Choice::Fixed(Stance::HalfDuplex), tail),
            Echo::Off => (Choice::Fixed(Stance::Through), TAIL),
        };
        let measuring = match choice {
            Choice::Measured | Choice::Software => Some(Measuring::new(Some(canceller(cleaning)))),
            Choice::Hardware => Some(Measuring::new(None)),
            Choice::Fixed(_) => None,
        };
        Self { tail, policy: Policy::new(choice), measuring, loud_until: Duration::ZERO }
    }

    /// The loudspeaker is audible at `now`.
    pub(crate) fn audible(&mut self, now: Duration) {
        self.loud_until = now + self.tail;
    }

    /// The loudspeaker's device is another, or none.
    pub(crate) fn playback_changed(&mut self) {
        if let Some(measuring) = &mut self.measuring {
            measuring.far.restart();
        }
        self.forget();
    }

    /// The microphone's device is another, or none.
    pub(crate) fn capture_changed(&mut self) {
        if let Some(measuring) = &mut self.measuring {
            measuring.far.realign();
        }
        self.forget();
    }

    fn forget(&mut self) {
        if let Some(measuring) = &mut self.measuring {
            measuring.forget();
            self.policy.reset();
        }
    }

    /// Takes a reading of the loudspeaker's device; once a turn, before [`Hearing::hop`].
    pub(crate) fn sync(&mut self, clock: Clock) {
        if let Some(measuring) = &mut self.measuring {
            measuring.far.sync(clock);
        }
    }

    /// Takes a hop that leaves for the loudspeaker.
    pub(crate) fn played(&mut self, hop: &[f32; HOP_24K]) {
        if let Some(measuring) = &mut self.measuring {
            measuring.far.push(hop);
        }
    }

    /// Takes what the microphone heard, 16 kHz mono, and leaves in its place what of it may be listened to.
    pub(crate) fn hop(&mut self, now: Duration, is_muted: bool, hop: &mut [f32; HOP_16K]) -> Found {
        let mut found = Found::default();
        if let Some(measuring) = &mut self.measuring {
            let far = measuring.far.take();
            if measuring.far.is_starved() {
                // The loudspeaker stands still, and the canceller takes away what is not there.
                measuring.gauge.reset();
                self.policy.reset();
            }
            if is_muted {
                measuring.drain(&far);
            } else {
                measuring.muted_hops = 0;
                let mut cleaned = *hop;
                if let Some(canceller) = &mut measuring.canceller {
                    canceller.render(&far);
                    canceller.capture(hop, &mut cleaned);
                    measuring.delay = canceller.delay().or(measuring.delay);
                }
                if measuring.gauge.push(&far, hop, &cleaned) {
                    found.news = self.policy.judge(&measuring.reading());
                }
                found.is_echo = self.policy.stance() == Stance::Cancel
                    && now < self.loud_until
                    && measuring.reading().loud < YOUNG
                    && measuring.gauge.just_taken() > ECHO_ALONE;
                match self.policy.stance() {
                    Stance::Guard | Stance::Cancel | Stance::HalfDuplex => *hop = cleaned,
                    Stance::Through => {}
                }
            }
        }
        let is_deaf = match self.policy.stance() {
            Stance::Guard | Stance::HalfDuplex => now < self.loud_until,
            Stance::Cancel | Stance::Through => false,
        };
        if is_muted || is_deaf {
            hop.fill(0.0);
        }
        found
    }

    /// Holds the reference in place; once a turn, after the last [`Hearing::hop`]. `unheard` is what the microphone has
    /// delivered beyond it, in frames at 16 kHz.
    pub(crate) fn steer(&mut self, now: Duration, unheard: f64) {
        if self.measuring.as_mut().is_some_and(|measuring| measuring.far.steer(now, unheard)) {
            self.forget();
        }
    }

    /// Publishes what has been counted.
    pub(crate) fn count(&self, counters: &mut Counters) {
        if let Some(measuring) = &self.measuring {
            let counts = measuring.far.counts();
            counters.far_starved = counts.starved;
            counters.far_aligned = counts.aligned;
        }
    }

    pub(crate) fn state(&self) -> EchoState {
        let Some(measuring) = &self.measuring else {
            return EchoState::default();
        };
        let reading = measuring.reading();
        #[expect(clippy::cast_possible_truncation, reason = "three digits before the point")]
        let drift_ppm = measuring.far.drift_ppm() as f32;
        EchoState { delay: reading.delay, erl: reading.erl, erle: reading.erle, drift_ppm }
    }
}

impl Measuring {
    fn new(canceller: Option<Box<dyn Canceller>>) -> Self {
        Self { far: Far::new(), canceller, gauge: Gauge::new(), delay: None, muted_hops: 0 }
    }

    /// What is measured, with the delay from the canceller where it has found one.
    fn reading(&self) -> Reading {
        let reading = self.gauge.reading();
        Reading { delay: self.delay.or(reading.delay), ..reading }
    }

    /// The microphone is off: what was said before is not to come out of the canceller's delay once it is on again.
    fn drain(&mut self, far: &[f32; HOP_16K]) {
        if self.muted_hops == DRAIN {
            return;
        }
        self.muted_hops += 1;
        if let Some(canceller) = &mut self.canceller {
            canceller.render(far);
            canceller.capture(&[0.0; HOP_16K], &mut [0.0; HOP_16K]);
        }
    }

    fn forget(&mut self) {
        if let Some(canceller) = &mut self.canceller {
            canceller.reset();
        }
        self.gauge.reset();
        self.delay = None;
    }
}
