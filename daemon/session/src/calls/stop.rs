// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls that are stopped: by the person, by the provider, with the link.

use crate::Output;
use crate::answers;
use crate::ledger::{Change, Loose, Open, Owes, Stage, Told};
use crate::notice::Notice;
use crate::session::Session;
use crate::tool::{Effect, OnBargeIn, OutcomeStatus};

impl Session {
    /// Stops and answers what has not begun: everything that waits to run, and a running call whose tool says so.
    pub(crate) fn stop_unbegun_calls(&mut self) {
        let unbegun = self.ledger.select(|open| match &open.stage {
            Stage::Held(_) | Stage::Queued(_) => !open.stage.is_own(),
            Stage::Running(running) => {
                running.spec.on_barge_in == OnBargeIn::Cancel && !running.begun && running.own.is_none()
            }
            Stage::Copy(_) => false,
        });
        for call in unbegun {
            let Some(Open { name, stage, .. }) = self.ledger.take(call) else {
                continue;
            };
            let undo = if let Stage::Running(running) = &stage { running.undo.clone() } else { None };
            self.answer(call, name, Told { undo, ..Told::ours(answers::cancelled(), Owes::Silence) });
            if let Stage::Running(running) = stage {
                self.cx.emit(Output::Cancel { call });
                // It may have begun just before: then what it was answered is not true.
                let why = Loose::GivenUp { answered: OutcomeStatus::Cancelled };
                self.ledger.let_go(call, *running, why, self.cx.now);
            }
        }
    }

    /// The session ends: what has not started does not, what only looks is stopped, and the rest is waited for.
    pub(crate) fn stop_calls_to_end(&mut self) {
        let stopped = self.ledger.select(|open| match &open.stage {
            Stage::Held(_) | Stage::Queued(_) => !open.stage.is_own(),
            Stage::Running(running) => running.spec.effect == Effect::Read,
            Stage::Copy(_) => false,
        });
        for call in stopped {
            let Some(Open { name, stage, .. }) = self.ledger.take(call) else {
                continue;
            };
            if let Stage::Running(_) = stage {
                self.cx.emit(Output::Cancel { call });
            }
            self.answer(call, name, Told::ours(answers::session_ending(), Owes::Silence));
        }
        let reads = self.ledger.jobs().filter(|(_, job)| job.spec.effect == Effect::Read);
        for call in reads.map(|(call, _)| call).collect::<Vec<_>>() {
            self.abandon_job(call);
        }
    }

    /// The provider takes calls back: they are never answered.
    pub(crate) fn on_calls_cancelled(&mut self, ids: &[String]) {
        let Some((conversation, _)) = self.link.up() else {
            return;
        };
        for id in ids {
            let Some(call) = self.ledger.by_id(conversation, id) else {
                continue;
            };
            let mut shared = answers::cancelled();
            self.abandon_job(call);
            let mut told = (Change::Nothing, None);
            let copies = self.ledger.copies_of(call);
            let name = if let Some(given) = self.ledger.ready(call) {
                let name = given.name.clone();
                told = (given.told.change, given.told.undo.clone());
                self.ledger.finished.on_unread(call);
                self.ledger.on_taken_back(call);
                name
            } else if let Some(Open { name, stage, .. }) = self.ledger.take(call) {
                if let Stage::Running(running) = stage {
                    if running.begun {
                        shared = answers::outcome_unknown();
                    } else {
                        self.cx.emit(Output::Cancel { call });
                    }
                    self.ledger.let_go(call, *running, Loose::TakenBack, self.cx.now);
                }
                name
            } else {
                continue;
            };
            self.ledger.void(call);
            let why = "the provider took it back";
            self.cx.notice(Notice::CallClosed { call, name: name.clone(), why });
            self.tell_taken_back(call, &name, told.0, told.1);
            for copy in copies {
                self.answer_copy(call, copy, shared.clone(), Owes::Silence);
            }
        }
    }
}
