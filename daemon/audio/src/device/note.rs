// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is said about a device that is open and not well.

/// Said once when something begins that progress alone does not show, and once when it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// It has begun.
    Fault(String),
    /// It is over.
    Well(String),
}

/// How many times in a row something must be seen, or not be seen, before it is believed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

/// Turns a row of sightings into a beginning and an end.
#[derive(Debug)]
pub(crate) struct Latch {
    patience: Patience,
    is_on: bool,
    in_a_row: u32,
}

impl Latch {
    pub(crate) const fn new(patience: Patience) -> Self {
        Self { patience, is_on: false, in_a_row: 0 }
    }

    /// `Some(true)` when it begins with this sighting, `Some(false)` when it ends.
    pub(crate) fn see(&mut self, seen: bool) -> Option<bool> {
        if seen == self.is_on {
            self.in_a_row = 0;
            return None;
        }
        self.in_a_row += 1;
        let needed = if seen { self.patience.begin } else { self.patience.end };
        if self.in_a_row < needed {
            return None;
        }
        self.is_on = seen;
        self.in_a_row = 0;
        Some(seen)
    }

    /// Forgets what was seen since the last beginning or end.
    pub(crate) const fn interrupt(&mut self) {
        self.in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_often_enough_begins_and_ends_once() {
        let mut latch = Latch::new(Patience { begin: 2, end: 3 });
        let seen = [true, false, true, true, true, false, false, true, false, false, false, false];
        let said: Vec<_> = seen.iter().map(|seen| latch.see(*seen)).collect();
        let mut expected = [None; 12];
        expected[3] = Some(true);
        expected[10] = Some(false);
        assert_eq!(said, expected);
    }

    #[test]
    fn an_interruption_starts_the_row_again() {
        let mut latch = Latch::new(Patience { begin: 2, end: 1 });
        assert_eq!(latch.see(true), None);
        latch.interrupt();
        assert_eq!(latch.see(true), None);
        assert_eq!(latch.see(true), Some(true));
    }
}
