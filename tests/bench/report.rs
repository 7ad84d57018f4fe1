// SPDX-License-Identifier: MIT OR Apache-2.0

//! Figures and how they are printed.

use std::fmt;
use std::time::Duration;

/// The middle and the far end of a set of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Half of them are not longer.
    pub p50: Duration,
    /// 99 of 100 are not longer; with fewer than 100, the longest.
    pub p99: Duration,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    /// Of these, in any order. All zero if there is none.
    pub fn of(spans: &[Duration]) -> Self {
        let mut sorted = spans.to_vec();
        sorted.sort_unstable();
        let rank = |percent: usize| {
            let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            sorted.get(index).copied().unwrap_or_default()
        };
        Self { p50: rank(50), p99: rank(99), count: sorted.len() }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {} ms", ms(self.p50), ms(self.p99))
    }
}

fn ms(span: Duration) -> String {
    format!("{:.1}", span.as_secs_f64() * 1e3)
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Figure {
    name: String,
    value: String,
    spread: Option<Spread>,
    floor: String,
    beyond: String,
    peer: String,
    goal: String,
    notes: Vec<String>,
}

impl Figure {
    /// A figure in words.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
            spread: None,
            floor: String::new(),
            beyond: String::new(),
            peer: String::new(),
            goal: String::new(),
            notes: Vec::new(),
        }
    }

    /// The spread of `spans`, of which there should be `expected`.
    pub fn spread(name: &str, spans: &[Duration], expected: usize) -> Self {
        let spread = Spread::of(spans);
        let mut figure = Self::new(name, spread.to_string());
        figure.spread = Some(spread);
        if spread.count < expected {
            let lost = expected - spread.count;
            figure.notes.push(format!("{lost} of {expected} marks were not found and are not in it"));
        }
        figure
    }

    /// What of it the bench itself costs, at the median, taken off.
    pub fn floor(mut self, floor: &Self) -> Self {
        if let (Some(spread), Some(Spread { p50: base, .. })) = (self.spread, floor.spread) {
            self.floor = format!("{} ms", ms(base));
            let beyond = Spread {
                p50: spread.p50.saturating_sub(base),
                p99: spread.p99.saturating_sub(base),
                count: spread.count,
            };
            let ratio = spread.p50.as_secs_f64() / base.as_secs_f64();
            self.beyond = format!("{beyond} ({ratio:.1} ×)");
        }
        self
    }

    /// The same for a figure in a unit of its own.
    pub fn floor_of(mut self, value: f64, base: f64, unit: &str) -> Self {
        self.floor = format!("{base:.2} {unit}");
        self.beyond = format!("{:.2} {unit} ({:.1} ×)", value - base, value / base);
        self
    }

    /// The best of what people would otherwise run, with its floor taken off.
    pub fn peer(mut self, best: &str) -> Self {
        self.peer = best.to_owned();
        self
    }

    /// What is aimed at.
    pub fn goal(mut self, goal: &str) -> Self {
        self.goal = goal.to_owned();
        self
    }

    /// Something a reader must know to read the figure.
    pub fn note(mut self, note: &str) -> Self {
        self.notes.push(note.to_owned());
        self
    }
}

/// A Markdown table of the figures, with their notes under it.
pub fn table(figures: &[Figure]) -> String {
    let mut text = String::from(
        "| figure (p50 / p99) | value | bench floor | beyond the floor | goal | best peer |\n|---|---|---|---|---|---|\n",
    );
    let mut notes = Vec::new();
    for figure in figures {
        let marks: String = figure
            .notes
            .iter()
            .map(|note| {
                notes.push(note);
                format!(" [{}]", notes.len())
            })
            .collect();
        let Figure { name, value, floor, beyond, goal, peer, .. } = figure;
        text.push_str(&format!("| {name}{marks} | {value} | {floor} | {beyond} | {goal} | {peer} |\n"));
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    for (index, note) in notes.iter().enumerate() {
        text.push_str(&format!("[{}] {note}\n", index + 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn percentiles_are_spans_that_were_measured() {
        let spans: Vec<Duration> = (1..=200).rev().map(MS).collect();
        assert_eq!(Spread::of(&spans), Spread { p50: MS(100), p99: MS(198), count: 200 });
        assert_eq!(Spread::of(&[MS(7)]), Spread { p50: MS(7), p99: MS(7), count: 1 });
        assert_eq!(Spread::of(&[]).count, 0);
    }

    #[test]
    fn the_floor_is_taken_off_and_lost_marks_are_said() {
        let floor = Figure::spread("floor", &[MS(20)], 1);
        let figure = Figure::spread("it", &[MS(30), MS(50)], 3).floor(&floor).goal("≤ 15 ms");
        let text = table(&[figure]);
        assert!(
            text.contains("| it [1] | 30.0 / 50.0 ms | 20.0 ms | 10.0 / 30.0 ms (1.5 ×) | ≤ 15 ms |  |"),
            "{text}"
        );
        assert!(text.ends_with("[1] 1 of 3 marks were not found and are not in it\n"), "{text}");
    }
}
