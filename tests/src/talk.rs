// SPDX-License-Identifier: MIT OR Apache-2.0

//! A whole conversation on virtual time: the real daemon in this process, a scripted model, a recorded person, a
//! simulated board. A minute of talk takes about a second, and runs the same way every time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rehearsal::demo::PersonLine;
use rehearsal::{Rehearsal, Report, Scenario, Voices};
use session::{Notice, SheetAnswer};
use tools::ToolSetBuilder;
use units::{Instant, Pcm};
use voiced::assembly::{Assembly, Extend, Surfaces};
use voiced::clip::store::Fetch;
use voiced::config::{Config, Sources};
use voiced::demo::sink::{Delivery, Sink};
use voiced::demo::{InMemory, Witness, step_through};
use voiced::identity::Identity;
use voiced::provider::Secret;
use voiced::records::Record;
use voiced::screen::{Screen, ScreenEvent};
use voiced::switch::Switch;
use voiced::watch::{Moment, Observer};

use crate::files::{Scratch, wav, wire_dir};

/// What is to be talked about, and how.
pub struct Talk {
    name: &'static str,
    scenario: Scenario,
    lines: Vec<PersonLine>,
    length: Duration,
    set: Vec<String>,
    extend: Extend,
    key: &'static str,
    instruction: Option<String>,
    fetch: Option<Arc<dyn Fetch>>,
    switched: Vec<(Duration, bool)>,
    tapped: bool,
    pressed: Option<Duration>,
}

/// What came of it, as each side saw it.
#[derive(Debug)]
pub struct Seen {
    /// What the model saw.
    pub report: Report,
    /// What the receiver of messages got.
    pub deliveries: Vec<Delivery>,
    /// What the session noticed.
    pub notices: Vec<(Instant, Notice)>,
    /// Screen events, names in order.
    pub events: Vec<String>,
    /// What was ignored of what the provider sent.
    pub anomalies: Vec<String>,
    /// What is kept of it.
    pub records: Vec<Record>,
    /// What the loudspeaker played.
    pub heard: Pcm,
}

impl Talk {
    /// A talk by a bundled scenario in which nobody says anything for 5 s. `name` is that of the test.
    ///
    /// # Panics
    /// If there is no such scenario.
    #[must_use]
    pub fn bundled(name: &'static str, scenario: &str) -> Self {
        Self::scripted(name, Scenario::bundled(scenario).unwrap_or_else(|fault| panic!("{fault}")))
    }

    /// The same by a scenario of the test's own, in TOML.
    ///
    /// # Panics
    /// If the scenario is faulty.
    #[must_use]
    pub fn written(name: &'static str, scenario: &str) -> Self {
        Self::scripted(name, Scenario::parse(scenario).unwrap_or_else(|fault| panic!("{fault}")))
    }

    fn scripted(name: &'static str, scenario: Scenario) -> Self {
        Self {
            name,
            scenario,
            lines: Vec::new(),
            length: Duration::from_secs(5),
            set: Vec::new(),
            extend: Arc::new(|tools| tools),
            key: "e2e-key",
            instruction: None,
            fetch: None,
            switched: Vec::new(),
            tapped: false,
            pressed: None,
        }
    }

    /// The person says this at that time, and the talk goes on for at least 5 s after it began.
    #[must_use]
    pub fn says(mut self, start_ms: u64, id: &'static str) -> Self {
        self.lines.push(PersonLine { id, start_ms });
        self.length = self.length.max(Duration::from_millis(start_ms + 5_000));
        self
    }

    /// The talk lasts this long.
    #[must_use]
    pub const fn lasting(mut self, seconds: u64) -> Self {
        self.length = Duration::from_secs(seconds);
        self
    }

    /// Sets a key of the configuration.
    #[must_use]
    pub fn set(mut self, key_and_value: &str) -> Self {
        self.set.push(key_and_value.to_owned());
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, add: impl Fn(ToolSetBuilder) -> ToolSetBuilder + Send + Sync + 'static) -> Self {
        self.extend = Arc::new(add);
        self
    }

    /// The rehearsal takes no other key than this.
    #[must_use]
    pub fn wanting_key(mut self, key: &str) -> Self {
        self.scenario = self.scenario.with_key(key);
        self
    }

    /// The model is told this and nothing else: no persona, no rules.
    #[must_use]
    pub fn told(mut self, instruction: &str) -> Self {
        self.instruction = Some(instruction.to_owned());
        self
    }

    /// Clips of the web are had from `fetch`, and not from the web.
    #[must_use]
    pub fn clips_by(mut self, fetch: impl Fetch + 'static) -> Self {
        self.fetch = Some(Arc::new(fetch));
        self
    }

    /// At that time somebody switches the microphone on or off.
    #[must_use]
    pub fn switches(mut self, at_ms: u64, on: bool) -> Self {
        self.switched.push((Duration::from_millis(at_ms), on));
        self
    }

    /// There is a screen, and the person agrees to each sheet 2 s after they see it.
    #[must_use]
    pub const fn taps(mut self) -> Self {
        self.tapped = true;
        self
    }

    /// There is a button, and at that time the person holds it for half a second.
    #[must_use]
    pub const fn presses(mut self, at_ms: u64) -> Self {
        self.pressed = Some(Duration::from_millis(at_ms));
        self
    }

    /// Has the talk.
    ///
    /// # Panics
    /// If the daemon cannot be put together or ends by itself with an error.
    #[must_use]
    pub fn run(self) -> Seen {
        crate::install_tls();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.expect("a runtime needs no more than memory");
        let seen = runtime.block_on(self.talk());
        runtime.shutdown_background();
        seen
    }

    async fn talk(self) -> Seen {
        let scratch = Scratch::new();
        let person = scratch.path().join("person.wav");
        let heard = scratch.path().join("heard.wav");
        let microphone = rehearsal::demo::mix(&self.lines, self.length).expect("the lines are recorded");
        wav(&person, &microphone);
        let sink = Sink::start().await.expect("loopback has ports");
        let voices = Voices::bundled().expect("the recordings are sound");
        let rehearsal = Rehearsal::new(self.scenario, voices).expect("the scenario's voices are recorded");

        let mut set = vec![
            "provider.endpoint=ws://127.0.0.1:1".to_owned(),
            format!("audio.capture=file:{}", person.display()),
            format!("audio.playback=file:{}", heard.display()),
            "audio.echo.mode=off".to_owned(),
            // The recording stands for a person in the room.
            "gate.trust_capture=true".to_owned(),
            "engage.mode=always".to_owned(),
            "tools.notify.enabled=true".to_owned(),
            format!("tools.notify.url={}", sink.url()),
            "hal.sim.zones.cold_storage.temp_c=11.4".to_owned(),
            format!("log.wire_dir={}", wire_dir(self.name).display()),
        ];
        set.extend(self.set);
        let config = Config::load(&Sources { set, ..Sources::shipped_example() });
        let config = config.unwrap_or_else(|faults| panic!("{faults}")).config;

        let (witness, recorder) = (Witness::default(), Recorder::default());
        let mut assembly = Assembly::new(config, &self.extend)
            .key(Secret::new(self.key))
            .identity(Identity::fixed())
            .observer(witness.clone())
            .observer(recorder.clone())
            .virtual_time()
            .connector(Arc::new(InMemory { rehearsal: rehearsal.clone() }))
            .end_with_session();
        if let Some(instruction) = self.instruction {
            assembly = assembly.instruction(instruction);
        }
        if let Some(fetch) = self.fetch {
            assembly = assembly.clips_by(fetch);
        }
        let mut surfaces = Surfaces::default();
        if self.tapped {
            tokio::spawn(agree(surfaces.screens.get_or_insert_default().attach()));
        }
        if let Some(at) = self.pressed {
            let (button, finger) = hal::sim::button(&hal::Lane::inline("button"));
            finger.press([(at, Duration::from_millis(500))]);
            surfaces.button = Some(Arc::new(button));
        }
        assembly = assembly.surfaces(surfaces);
        let switch = Switch::default();
        for (at, on) in self.switched {
            let switch = switch.clone();
            tokio::spawn(async move {
                tokio::time::sleep(at).await;
                switch.turn(on);
            });
        }
        let (driver, stepper) = assembly.switch(switch).stepped().unwrap_or_else(|fault| panic!("{fault}"));
        let talk = step_through(stepper, driver.run(tokio::time::sleep(self.length)));
        talk.await.unwrap_or_else(|fault| panic!("{fault}"));
        let recorder = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
        Seen {
            report: rehearsal.report(),
            deliveries: sink.deliveries(),
            notices: witness.notices(),
            events: recorder.events.clone(),
            anomalies: recorder.anomalies.clone(),
            records: recorder.records.clone(),
            heard: recording(heard),
        }
    }
}

/// Reads each sheet and taps the place that agrees.
async fn agree(mut screen: Screen) {
    const READ: Duration = Duration::from_secs(2);
    while let Some(event) = screen.next().await {
        let ScreenEvent::Sheet(sheet) = event else { continue };
        screen.shown(sheet.pending);
        tokio::time::sleep(READ).await;
        screen.answer(sheet.nonce, SheetAnswer::Confirm, READ);
    }
}

fn recording(path: PathBuf) -> Pcm {
    let bytes = std::fs::read(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    // A talk in which nothing is ever played records nothing.
    voiced::clip::decode("heard.wav", bytes, Duration::MAX)
        .unwrap_or_else(|_| Pcm::new(units::Hz::K48, Vec::new()))
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Moments>>);

#[derive(Default)]
struct Moments {
    events: Vec<String>,
    anomalies: Vec<String>,
    records: Vec<Record>,
}

impl Observer for Recorder {
    fn observe(&mut self, _: Instant, moment: &Moment<'_>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match moment {
            Moment::Event(event) => seen.events.push(event.name.clone()),
            Moment::Anomaly(text) => seen.anomalies.push((*text).to_owned()),
            Moment::Record(record) => seen.records.push((*record).clone()),
            Moment::Notice(_) | Moment::Audio(_) | Moment::Line { .. } | Moment::Outcome { .. } => {}
        }
    }
}

impl Seen {
    /// Statuses of the answers to the calls of `name`, in the order they were given.
    #[must_use]
    pub fn statuses(&self, name: &str) -> Vec<String> {
        let answers = self.report.answers.iter().filter(|answer| answer.name == name);
        answers.map(|answer| answer.status().unwrap_or("none").to_owned()).collect()
    }

    /// The audio of what the model said under this id; the whole recording, as far as it was sent.
    ///
    /// # Panics
    /// If it was never said.
    #[must_use]
    pub fn said(&self, id: &str) -> Pcm {
        let said = self.report.said.iter().find(|said| said.id == id);
        said.unwrap_or_else(|| panic!("`{id}` was not said; the model said {:?}", self.report.said))
            .pcm
            .clone()
    }

    /// Fails if the client broke the protocol or the scenario expected something else.
    ///
    /// # Panics
    /// With what was wrong.
    pub fn assert_clean(&self) {
        assert!(self.report.violations.is_empty(), "violations: {:#?}", self.report.violations);
        assert!(
            self.report.unmet.is_empty(),
            "unmet: {:#?}\nnotices: {:#?}",
            self.report.unmet,
            self.notices
        );
        let mut ids: Vec<&str> = self.report.answers.iter().map(|answer| answer.id.as_str()).collect();
        ids.sort_unstable();
        let answers = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), answers, "a call was answered twice");
    }
}
