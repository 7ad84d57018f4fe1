// SPDX-License-Identifier: MIT OR Apache-2.0

//! What can be wrong with a configuration, in words a technician can act on.

use std::fmt;
use std::path::{Path, PathBuf};

use super::locate::Position;

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody: the shipped default.
    Default,
    /// A file.
    File {
        /// As it was named.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// An environment variable.
    Env {
        /// Its name.
        name: String,
    },
    /// A `--set` argument.
    Flag,
}

impl Origin {
    /// A path in a file is relative to that file, so that it means the same wherever the daemon is started.
    pub(super) fn beside(&self, text: &str) -> PathBuf {
        match self {
            Self::File { path, .. } => path.parent().unwrap_or(Path::new("")).join(text),
            Self::Default | Self::Env { .. } | Self::Flag => PathBuf::from(text),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env { name } => write!(f, "env {name}"),
            Self::Flag => f.write_str("flag --set"),
        }
    }
}

/// One fault. Displays as one line: place, key, value, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A file could not be read.
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// A file is not TOML.
    Syntax {
        /// Which.
        path: PathBuf,
        /// Where in it.
        at: Position,
        /// The parser's words.
        message: String,
    },
    /// A `--set` argument is not `section.key=value`.
    Argument {
        /// What was given.
        given: String,
    },
    /// A key is wrong, or holds something wrong.
    Key {
        /// Who set it.
        origin: Origin,
        /// `section.key`.
        key: String,
        /// What is wrong.
        problem: Problem,
    },
}

/// What is wrong with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is no such key.
    Unknown {
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// It holds something it may not.
    Value {
        /// What it holds, as TOML; masked where it may be a secret.
        value: String,
        /// What it may hold.
        expected: String,
    },
    /// What it declares breaks a rule that is not about one value.
    Rule {
        /// Thing, value and remedy.
        text: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Syntax { path, at, message } => {
                write!(f, "{}:{}:{}: not TOML: {message}", path.display(), at.line, at.column)?;
                if message == "duplicate key" {
                    write!(
                        f,
                        "; it stands above already: put what belongs to it there, or into a file of its own in voiced.d"
                    )?;
                }
                Ok(())
            }
            Self::Argument { given } => write!(f, "flag --set {given}: expected section.key=value"),
            Self::Key { origin, key, problem } => match problem {
                Problem::Unknown { nearest: Some(nearest) } => {
                    write!(f, "{origin}: unknown key `{key}`; did you mean `{nearest}`?")
                }
                Problem::Unknown { nearest: None } => {
                    write!(f, "{origin}: unknown key `{key}`; `voiced config show` lists every key")
                }
                Problem::Value { value, expected } => {
                    write!(f, "{origin}: {key} = {value}: expected {expected}")
                }
                Problem::Rule { text } => write!(f, "{origin}: {key}: {text}"),
            },
        }
    }
}

/// Every fault of a configuration: at least one. Displays one per line, without a last newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub(super) Vec<Fault>);

impl Faults {
    /// The faults: files before the environment before arguments, each file from its top.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }

    /// Puts the faults in the order of their layers (`files` gives that of files), each file from its top.
    pub(super) fn sorted(mut faults: Vec<Fault>, files: &[PathBuf]) -> Self {
        let file = |path: &PathBuf, line| (files.iter().position(|known| known == path).unwrap_or(0), line);
        faults.sort_by_key(|fault| match fault {
            Fault::Unreadable { path, .. } => (0, file(path, 0)),
            Fault::Syntax { path, at, .. } => (0, file(path, at.line)),
            Fault::Key { origin: Origin::File { path, line }, .. } => (0, file(path, *line)),
            Fault::Key { origin: Origin::Default, .. } => (1, (0, 0)),
            Fault::Key { origin: Origin::Env { .. }, .. } => (2, (0, 0)),
            Fault::Key { origin: Origin::Flag, .. } | Fault::Argument { .. } => (3, (0, 0)),
        });
        Self(faults)
    }

    /// How many.
    #[expect(clippy::len_without_is_empty, reason = "never empty: no fault is a configuration")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, fault) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
