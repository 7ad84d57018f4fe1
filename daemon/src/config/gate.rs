// SPDX-License-Identifier: MIT OR Apache-2.0

//! `[gate]`: how a person is asked, and what is kept of it.

use super::Gate;
use super::check::Check;
use super::raw::Raw;
use crate::gate_log::{Policies, Settings};
use crate::records::Bounds;

impl Check<'_> {
    pub(super) fn gate(&mut self, raw: &Raw) -> Gate {
        let (asking, limits) = (self.asking(raw), self.limits(raw));
        let raw = &raw.gate;
        let attempts = self.whole("gate.attempts", raw.attempts, 1..=5);
        let megabytes = self.whole("gate.log.max_mb", raw.log.max_mb, 1..=1000).unsigned_abs();
        let keep = self.whole("gate.log.keep", raw.log.keep, 0..=100);
        Gate {
            asking,
            limits,
            deadline: self.seconds("gate.deadline_s", raw.deadline_s, 5..=300),
            grant: self.seconds("gate.grant_s", raw.grant_s, 5..=60),
            attempts: u8::try_from(attempts).unwrap_or_default(),
            log: Settings {
                bounds: Bounds {
                    bytes_max: megabytes.saturating_mul(1_000_000),
                    keep: u32::try_from(keep).unwrap_or_default(),
                },
                fields: self.policies(&raw.log.fields),
            },
        }
    }

    fn policies(&mut self, fields: &[String]) -> Policies {
        let mut policies = Policies::new();
        for text in fields {
            let read = text.split_once('=').and_then(|(place, policy)| {
                let (tool, field) = place.trim().split_once('.')?;
                let is_named = !tool.is_empty() && !field.is_empty();
                is_named.then_some(())?;
                Some(((tool.to_owned(), field.to_owned()), policy.trim().parse().ok()?))
            });
            match read {
                Some((place, policy)) => drop(policies.insert(place, policy)),
                None => {
                    let expected =
                        format!("\"TOOL.FIELD = POLICY\" with plain, last4 or hash; {text:?} is not");
                    self.wrong("gate.log.fields", &expected);
                }
            }
        }
        policies
    }
}
