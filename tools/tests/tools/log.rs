// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keeps what is logged on this thread while it lives, so that a test can read it.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    static LINES: RefCell<Option<Vec<(Level, String)>>> = const { RefCell::new(None) };
}

/// The log of one test.
pub struct Log(());

impl Log {
    pub fn start() -> Self {
        // One subscriber for the whole process: interest in a line is cached for all threads alike.
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Keep).unwrap());
        LINES.set(Some(Vec::new()));
        Self(())
    }

    /// Every line so far that was warned of or worse: its message, then its fields.
    pub fn warnings(&self) -> Vec<String> {
        LINES.with_borrow(|lines| {
            let lines = lines.iter().flatten().filter(|(level, _)| *level <= Level::WARN);
            lines.map(|(_, text)| text.clone()).collect()
        })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        LINES.set(None);
    }
}

struct Keep;

impl Subscriber for Keep {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let line = format!("{}{}", text.message, text.fields);
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.push((*event.metadata().level(), line));
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            write!(self.fields, " {field}={value:?}").unwrap();
        }
    }
}
