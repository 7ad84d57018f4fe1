// SPDX-License-Identifier: MIT OR Apache-2.0

//! What must hold whenever a call runs or is answered.

use std::time::Duration;

use serde_json::Value;
use session::{Answer, Permit};
use units::CallKey;

use super::World;
use crate::shop;

/// How long a call may keep the microphone shut before it goes on as a job.
const BLOCKING: Duration = Duration::from_secs(6);

/// A call that its tool has, as far as the session wants it.
pub struct Active {
    pub(super) call: CallKey,
    name: String,
    since: Duration,
}

impl World {
    pub(super) fn on_run(&mut self, permit: &Permit) {
        self.check_order(permit);
        self.effects.on_run(permit, self.now);
        self.active.push(Active { call: permit.call_key(), name: permit.name().to_owned(), since: self.now });
        self.running.push(permit.call_key());
        if shop::waits_for_speech(permit.name()) && !self.effects.is_own(permit.call_key()) {
            assert!(!self.speaking, "what cannot be undone by talking does not run into speech");
        }
        if shop::is_job(permit.name()) {
            self.jobs_run += 1;
        }
        if !shop::is_guarded(permit.name()) {
            assert_eq!(permit.grant(), None);
            return;
        }
        self.guarded_runs += 1;
        let grant = permit.grant().expect("a guarded call spends an approval");
        assert!(self.grants.insert(grant.0), "an approval is spent once");
        let summary = summary(permit.name(), permit.args());
        let agreed_to = self.agreed_to[&grant.0].as_str();
        let slots = permit.args()["phone"].as_str().map(str::to_owned).into_iter().collect::<Vec<_>>();
        let aloud = session::readback::spoken(&summary, &slots);
        assert_eq!(agreed_to, format!("{aloud} Is that right?"), "what runs is what was read out");
        assert!(self.grants.len() <= self.agreements, "each approval has an agreement of its own");
    }

    /// One at a time, but for jobs and for what only looks and may run side by side; never two on a lane.
    fn check_order(&self, permit: &Permit) {
        let lane = shop::lane(permit.name());
        for other in &self.active {
            assert!(lane.is_none() || shop::lane(&other.name) != lane, "a lane has one call at a time");
            let unwaited = shop::is_job(&other.name)
                || self.unwaited.contains(&other.call)
                || (self.hold && self.now - other.since >= BLOCKING);
            let together = shop::is_parallel(&other.name) && shop::is_parallel(permit.name());
            assert!(unwaited || together, "{} runs beside {}", permit.name(), other.name);
        }
    }

    /// The session does not wait for this call any more.
    pub(super) fn not_active(&mut self, call: CallKey) {
        self.active.retain(|active| active.call != call);
    }

    /// Everything of one response goes out in one message, in the order of the calls; once, and not if it was taken
    /// back.
    pub(super) fn on_answers(&mut self, answers: Vec<Answer>) {
        assert!(!answers.is_empty());
        let mut before = None;
        for answer in answers {
            assert!(answer.body.is_object());
            let key = (self.conversation, answer.id.expect("every call of this world has an id"));
            assert!(!self.taken_back.contains(&key), "what was taken back is not answered");
            if answer.body["repeat"] == true {
                self.effects.on_recalled(&self.asked_for[&key]);
            }
            let place = self.order[&key];
            if let Some((response, call)) = before {
                assert!(place.0 == response && place.1 > call, "answers come in the order of their calls");
            }
            before = Some(place);
            let count = self.answers.entry(key).or_default();
            *count += 1;
            assert_eq!(*count, 1, "a call has one answer");
        }
    }

    /// The model is asked to speak: it cuts off nothing that is said, unless that is what it is for.
    pub(super) fn on_ask(&mut self, text: &str) {
        self.on_told(text);
        assert!(!self.speaking, "nobody is talked over");
        if !text.starts_with("[You wrote") && !text.contains("smell_gas") {
            assert!(self.open_replies.is_empty(), "no reply is cut off");
            let over = |playing| self.flushed.contains(playing) || self.given_up.contains(playing);
            assert!(self.playing.iter().all(|(playing, _)| over(playing)), "nothing that plays is cut off");
        }
    }

    pub(super) fn on_told(&mut self, text: &str) {
        self.jobs_told += text.matches("[result of make_report").count();
        assert!(self.jobs_told <= self.jobs_run, "a job is told of once");
    }

    pub(super) fn on_earlier(&mut self, id: Option<&str>) {
        let made = self.asked.keys().any(|key| key.0 < self.conversation && Some(key.1.as_str()) == id);
        assert!(made, "an earlier conversation asked for {id:?}");
    }

    /// Calls of this conversation that have no answer and were not taken back.
    pub fn unanswered(&self) -> Vec<&str> {
        let live = self.asked.keys().filter(|key| key.0 == self.conversation);
        live.filter(|key| !self.answers.contains_key(*key) && !self.taken_back.contains(*key))
            .map(|key| key.1.as_str())
            .collect()
    }
}

/// The sentence that a person is asked to agree to.
fn summary(name: &str, args: &Value) -> String {
    match name {
        "open_gate" => return "Open the gate.".to_owned(),
        "send_fax" => return "Send the fax.".to_owned(),
        _ => {}
    }
    format!("Send '{}' to {}.", args["text"].as_str().unwrap(), args["phone"].as_str().unwrap())
}
