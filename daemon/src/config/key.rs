// SPDX-License-Identifier: MIT OR Apache-2.0

//! Secrets and folders that the configuration names but does not hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, io};

use super::Config;
use crate::file;
use crate::provider::Secret;

/// Name of the systemd credential that holds the key; the unit's `LoadCredential=` uses it.
const CREDENTIAL: &str = "voiced.api-key";

/// What the unit's `SetCredential=` puts there when no key is installed: without a default, a missing credential file
/// would keep the daemon from starting at all.
const CREDENTIAL_UNSET: &str = "unset";

/// Where environment variables come from.
pub trait Env {
    /// The variable's value; `None` if it is absent or not UTF-8.
    fn var(&self, name: &str) -> Option<String>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnv;

impl Env for ProcessEnv {
    fn var(&self, name: &str) -> Option<String> {
        env::var(name).ok()
    }
}

impl Env for BTreeMap<String, String> {
    fn var(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }
}

/// Why there is no key. None of these ends the daemon: it stays up, says so, and tries again when told to reload.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// No place holds one.
    #[error("no key for the provider: {}; set one of them", tried.join(", "))]
    Missing {
        /// Every place that was looked at, with what was found there.
        tried: Vec<String>,
    },
    /// The variable that should hold the message tool's token does not.
    #[error("no token for `tools.notify`: variable {name} is not set; set it")]
    NoToken {
        /// The variable.
        name: String,
    },
    /// No place holds a secret that a header of a tool needs.
    #[error("no secret `{name}`: {}; install one of them", tried.join(", "))]
    NoSecret {
        /// Its name.
        name: String,
        /// Every place that was looked at, with what was found there.
        tried: Vec<String>,
    },
    /// A file that should hold it cannot be read.
    #[error("key file `{path}` cannot be read; check that it exists and that the daemon's user may read it")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// What is there cannot be a key.
    #[error("the key in {place} holds a space or a character that is not printable ASCII; copy it again")]
    Malformed {
        /// Where it was found.
        place: String,
    },
}

/// There is nowhere to keep state.
#[derive(Debug, thiserror::Error)]
#[error("no folder for state: set `state.dir`, or STATE_DIRECTORY, or HOME")]
pub struct StateDirError;

impl Config {
    /// The provider's key: from `provider.api_key_file` if that is set, else from the systemd credential
    /// `voiced.api-key`, else from the variable that `provider.api_key_env` names.
    ///
    /// # Errors
    /// [`KeyError`] names every place that was tried. The caller stays up and says it.
    pub fn api_key(&self, env: &dyn Env) -> Result<Secret, KeyError> {
        let mut tried = Vec::new();
        if let Some(path) = &self.provider.api_key_file {
            let text = read(path)?;
            if !text.is_empty() {
                return secret(text, &format!("`{}`", path.display()));
            }
            tried.push(format!("file `{}` is empty", path.display()));
        }
        match env.var("CREDENTIALS_DIRECTORY").map(|folder| Path::new(&folder).join(CREDENTIAL)) {
            Some(path) if path.exists() => {
                let text = read(&path)?;
                if !text.is_empty() && text != CREDENTIAL_UNSET {
                    return secret(text, &format!("credential `{CREDENTIAL}`"));
                }
                tried.push(format!("credential `{CREDENTIAL}` is not installed"));
            }
            Some(_) => tried.push(format!("credential `{CREDENTIAL}` is not in the unit")),
            None => {}
        }
        let name = &self.provider.api_key_env;
        match env.var(name).map(|text| text.trim().to_owned()) {
            Some(text) if !text.is_empty() => return secret(text, &format!("variable {name}")),
            Some(_) => tried.push(format!("variable {name} is empty")),
            None => tried.push(format!("variable {name} is not set")),
        }
        if self.provider.api_key_file.is_none() {
            tried.push("`provider.api_key_file` is not set".to_owned());
        }
        Err(KeyError::Missing { tried })
    }

    /// The token for the message tool, if one is configured and set.
    ///
    /// # Errors
    /// [`KeyError`] if a variable is named and does not hold a token.
    pub fn notify_token(&self, env: &dyn Env) -> Result<Option<Secret>, KeyError> {
        let Some(name) = self.tools.notify.as_ref().and_then(|notify| notify.token_env.as_ref()) else {
            return Ok(None);
        };
        match env.var(name).map(|text| text.trim().to_owned()) {
            Some(text) if !text.is_empty() => secret(text, &format!("variable {name}")).map(Some),
            Some(_) | None => Err(KeyError::NoToken { name: name.clone() }),
        }
    }

    /// The secret that a header calls `name`: from the systemd credential of this name, else from the file of this name
    /// in `tools.secrets_dir`.
    ///
    /// # Errors
    /// [`KeyError`] names every place that was tried.
    pub fn tool_secret(&self, env: &dyn Env, name: &str) -> Result<Secret, KeyError> {
        let mut tried = Vec::new();
        match env.var("CREDENTIALS_DIRECTORY").map(|folder| Path::new(&folder).join(name)) {
            Some(path) if path.exists() => {
                let text = read(&path)?;
                if !text.is_empty() {
                    return secret(text, &format!("credential `{name}`"));
                }
                tried.push(format!("credential `{name}` is empty"));
            }
            Some(_) => tried.push(format!("credential `{name}` is not in the unit")),
            None => tried.push("systemd has given no credentials".to_owned()),
        }
        match self.tools.secrets_dir.as_ref().map(|folder| folder.join(name)) {
            Some(path) if path.exists() => {
                let text = read(&path)?;
                if !text.is_empty() {
                    return secret(text, &format!("`{}`", path.display()));
                }
                tried.push(format!("file `{}` is empty", path.display()));
            }
            Some(path) => tried.push(format!("there is no file `{}`", path.display())),
            None => tried.push("`tools.secrets_dir` is not set".to_owned()),
        }
        Err(KeyError::NoSecret { name: name.to_owned(), tried })
    }

    /// The folder for state: `state.dir`, else the first of systemd's `STATE_DIRECTORY`, else `voiced` under
    /// `XDG_STATE_HOME`, else `~/.local/state/voiced`. Not created here.
    ///
    /// # Errors
    /// [`StateDirError`] if none of them is set.
    pub fn state_dir(&self, env: &dyn Env) -> Result<PathBuf, StateDirError> {
        if let Some(dir) = &self.state.dir {
            return Ok(dir.clone());
        }
        let set = |name: &str| env.var(name).filter(|value| !value.is_empty());
        if let Some(list) = set("STATE_DIRECTORY") {
            return Ok(PathBuf::from(list.split(':').next().unwrap_or_default()));
        }
        if let Some(home) = set("XDG_STATE_HOME") {
            return Ok(Path::new(&home).join("voiced"));
        }
        set("HOME").map(|home| Path::new(&home).join(".local/state/voiced")).ok_or(StateDirError)
    }
}

/// No key or token is longer: servers take headers of 8 KiB.
const MAX_KEY_BYTES: u64 = 8 * 1024;

fn read(path: &Path) -> Result<String, KeyError> {
    file::read_text(path, MAX_KEY_BYTES)
        .map(|text| text.trim().to_owned())
        .map_err(|cause| KeyError::Unreadable { path: path.to_owned(), cause })
}

/// A key goes into an HTTP header: anything but printable ASCII there is a copying mistake.
fn secret(text: String, place: &str) -> Result<Secret, KeyError> {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(Secret::new(text))
    } else {
        Err(KeyError::Malformed { place: place.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use std::fs;

    use super::super::tests::{Folder, text};
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_key_is_taken_from_the_first_place_that_has_one() {
        let folder = Folder::new();
        let file = folder.write("key", "from-file\n");
        folder.write("voiced.api-key", "from-credential\n");
        let credentials = folder.0.to_str().unwrap();
        let key = |config: &Config, env: &[(&str, &str)]| {
            let pairs: BTreeMap<String, String> =
                env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            config.api_key(&pairs).map(|key| key.expose().to_owned()).map_err(|error| error.to_string())
        };
        let plain = Config::default();
        let mut with_file = Config::default();
        with_file.provider.api_key_file = Some(file.clone());
        let both = [("CREDENTIALS_DIRECTORY", credentials), ("GEMINI_API_KEY", " from-variable ")];
        assert_eq!(key(&with_file, &both), Ok("from-file".into()));
        assert_eq!(key(&plain, &both), Ok("from-credential".into()));
        assert_eq!(key(&plain, &both[1..]), Ok("from-variable".into()));

        folder.write("voiced.api-key", "unset");
        assert_eq!(key(&plain, &both), Ok("from-variable".into()));
        assert_eq!(
            key(&plain, &both[..1]),
            Err("no key for the provider: credential `voiced.api-key` is not installed, variable GEMINI_API_KEY is not set, \
                 `provider.api_key_file` is not set; set one of them"
                .into())
        );
        fs::remove_file(&file).unwrap();
        assert_eq!(
            key(&with_file, &both),
            Err(format!(
                "key file `{}` cannot be read; check that it exists and that the daemon's user may read it",
                file.display()
            ))
        );
        assert_eq!(
            key(&plain, &[("GEMINI_API_KEY", "two words")]),
            Err("the key in variable GEMINI_API_KEY holds a space or a character that is not printable ASCII; copy it again"
                .into())
        );
    }

    #[test]
    fn the_token_of_the_message_tool_is_asked_for_only_if_named() {
        let mut config =
            Config::load(&text("[tools.notify]\nenabled = true\nurl = \"https://h/\"\n")).unwrap().config;
        assert!(config.notify_token(&env(&[])).unwrap().is_none());
        config.tools.notify.as_mut().unwrap().token_env = Some("TOKEN".into());
        assert_eq!(config.notify_token(&env(&[("TOKEN", "t")])).unwrap().unwrap().expose(), "t");
        assert_eq!(
            config.notify_token(&env(&[])).unwrap_err().to_string(),
            "no token for `tools.notify`: variable TOKEN is not set; set it"
        );
    }

    #[test]
    fn a_tools_secret_is_a_credential_or_a_file_and_a_missing_one_is_named() {
        let (credentials, files) = (Folder::new(), Folder::new());
        credentials.write("slots", "from-credential\n");
        files.write("slots", "from-file\n");
        files.write("empty", " \n");
        files.write("lines", "two\nlines");
        let mut config = Config::default();
        let found = |config: &Config, env: &BTreeMap<String, String>, name: &str| {
            config
                .tool_secret(env, name)
                .map(|secret| secret.expose().to_owned())
                .map_err(|fault| fault.to_string().replace(files.0.to_str().unwrap(), "DIR"))
        };
        let unit = env(&[("CREDENTIALS_DIRECTORY", credentials.0.to_str().unwrap())]);
        assert_eq!(found(&config, &unit, "slots"), Ok("from-credential".into()));
        assert_eq!(
            found(&config, &env(&[]), "slots"),
            Err("no secret `slots`: systemd has given no credentials, `tools.secrets_dir` is not set; install one of them"
                .into())
        );
        config.tools.secrets_dir = Some(files.0.clone());
        assert_eq!(found(&config, &unit, "slots"), Ok("from-credential".into()));
        assert_eq!(found(&config, &env(&[]), "slots"), Ok("from-file".into()));
        assert_eq!(
            found(&config, &unit, "empty"),
            Err("no secret `empty`: credential `empty` is not in the unit, file `DIR/empty` is empty; install one of them"
                .into())
        );
        assert_eq!(
            found(&config, &unit, "lines"),
            Err("the key in `DIR/lines` holds a space or a character that is not printable ASCII; copy it again".into())
        );
    }

    #[test]
    fn state_goes_where_the_first_setting_says() {
        let mut config = Config::default();
        let all =
            [("STATE_DIRECTORY", "/var/lib/voiced:/x"), ("XDG_STATE_HOME", "/xdg"), ("HOME", "/home/a")];
        for (vars, expected) in [
            (&all[..], "/var/lib/voiced"),
            (&all[1..], "/xdg/voiced"),
            (&all[2..], "/home/a/.local/state/voiced"),
        ] {
            assert_eq!(config.state_dir(&env(vars)).unwrap(), Path::new(expected));
        }
        assert_eq!(
            config.state_dir(&env(&[])).unwrap_err().to_string(),
            "no folder for state: set `state.dir`, or STATE_DIRECTORY, or HOME"
        );
        config.state.dir = Some("/data".into());
        assert_eq!(config.state_dir(&env(&all)).unwrap(), Path::new("/data"));
    }
}
