// SPDX-License-Identifier: MIT OR Apache-2.0

//! Who this device and this run are: what approvals and idempotency keys are bound to.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use tracing::warn;
use units::{GrantId, Nonce};

use crate::file;

/// Name of the device's secret in the state folder.
const SECRET_FILE: &str = "device.key";

/// Who this device and this run are.
#[derive(Clone)]
pub struct Identity {
    boot: String,
    run: String,
    secret: [u8; 32],
}

impl Identity {
    /// This device, with its secret kept in `state`, and a fresh run.
    ///
    /// Without a usable state folder the secret lasts for this run only, which is said once: a repeat of an effect
    /// after a restart then carries another key.
    #[must_use]
    pub fn load(state: Option<&Path>) -> Self {
        let secret = match state.map(device_secret) {
            Some(Ok(secret)) => secret,
            Some(Err(cause)) => {
                warn!(%cause, "the device's secret cannot be kept; set state.dir to a folder that can be written");
                random()
            }
            None => random(),
        };
        // Read where it exists; elsewhere the run alone tells two boots apart.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { boot: boot.trim().to_owned(), run: hex(&random::<16>()), secret }
    }

    /// An identity for tests and rehearsals: the same every time.
    #[must_use]
    pub fn fixed() -> Self {
        Self { boot: "boot".to_owned(), run: "run".to_owned(), secret: [7; 32] }
    }

    /// The same device in a run of this name: what a trial tells the services it calls.
    #[must_use]
    pub fn named(self, run: &str) -> Self {
        Self { run: run.to_owned(), ..self }
    }

    /// The id of this run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The boot of the machine that this run is in; empty where the system does not say.
    #[must_use]
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Stands for `text` in a log: the same for the same text, on this device only, and nobody without the device's secret can
    /// find out which text by trying.
    #[must_use]
    pub fn pseudonym(&self, text: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"pseudonym");
        mac.update(text.as_bytes());
        hex(&mac.finalize().into_bytes()[..8])
    }

    /// Binds an approval to boot, run, tool, schema and arguments. Every part is length-prefixed, so that no two
    /// different lists of parts hash alike.
    #[must_use]
    pub fn digest(&self, tool: &str, schema: &str, args: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in [&self.boot, &self.run, tool, schema, args] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().into()
    }

    /// The idempotency key of one approval: the same for every attempt it allows, another for the next approval.
    #[must_use]
    pub fn idempotency_key(&self, grant: GrantId, digest: &[u8; 32]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(&grant.0.to_be_bytes());
        mac.update(digest);
        data_encoding::BASE32_NOPAD.encode(&mac.finalize().into_bytes())
    }
}

/// The beginning of an idempotency key: enough for a person to tell two apart.
#[must_use]
pub fn key8(key: &str) -> &str {
    key.get(..8).unwrap_or(key)
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("boot", &self.boot).field("run", &self.run).finish_non_exhaustive()
    }
}

/// Enough to say how long a file is that is not the secret it should be.
const MAX_SECRET_FILE_BYTES: u64 = 4096;

fn device_secret(state: &Path) -> io::Result<[u8; 32]> {
    let path = state.join(SECRET_FILE);
    match file::read(&path, MAX_SECRET_FILE_BYTES) {
        Ok(bytes) => bytes.try_into().map_err(|bytes: Vec<u8>| {
            io::Error::other(format!(
                "`{}` has {} bytes and should have 32: remove it",
                path.display(),
                bytes.len()
            ))
        }),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
            let secret = random();
            // Written aside and renamed: a power cut leaves no half a secret.
            let aside = state.join(format!("{SECRET_FILE}.{}", std::process::id()));
            let mut file =
                fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
            file.write_all(&secret)?;
            file.sync_all()?;
            fs::rename(&aside, &path)?;
            Ok(secret)
        }
        Err(cause) => Err(io::Error::other(format!("`{}`: {cause}", path.display()))),
    }
}

/// What one sheet on the screen is answered with.
#[must_use]
pub fn nonce() -> Nonce {
    Nonce::new(u128::from_ne_bytes(random()))
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the kernel has a random source");
    bytes
}

/// Two lower-case digits a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_every_part_and_on_where_they_are_split() {
        let me = Identity::fixed();
        let base = me.digest("send", "{}", r#"{"to":"1"}"#);
        assert_eq!(base, me.digest("send", "{}", r#"{"to":"1"}"#));
        assert_ne!(base, me.digest("send", "{}", r#"{"to":"2"}"#));
        assert_ne!(me.digest("ab", "c", ""), me.digest("a", "bc", ""));
        let later = Identity { run: "another".to_owned(), ..me.clone() };
        assert_ne!(base, later.digest("send", "{}", r#"{"to":"1"}"#));
    }

    #[test]
    fn each_approval_has_its_own_key() {
        let me = Identity::fixed();
        let digest = me.digest("send", "{}", "{}");
        let key = me.idempotency_key(GrantId(1), &digest);
        assert_eq!(key, me.idempotency_key(GrantId(1), &digest));
        assert_ne!(key, me.idempotency_key(GrantId(2), &digest));
        assert!(key.len() == 52 && key.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
    }

    #[test]
    fn the_secret_survives_a_restart_and_is_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let state = std::env::temp_dir().join(format!("voiced-identity-{}", std::process::id()));
        let first = Identity::load(Some(&state));
        let second = Identity::load(Some(&state));
        assert_eq!(first.secret, second.secret);
        assert_ne!(first.run, second.run);
        let mode = fs::metadata(state.join(SECRET_FILE)).expect("it was written").permissions().mode();
        assert_eq!(mode & 0o077, 0);
        fs::remove_dir_all(state).expect("it is ours");
    }

    #[test]
    fn a_damaged_secret_is_not_used() {
        let state = std::env::temp_dir().join(format!("voiced-identity-bad-{}", std::process::id()));
        fs::create_dir_all(&state).expect("temp is writable");
        fs::write(state.join(SECRET_FILE), b"short").expect("temp is writable");
        let fault = device_secret(&state).expect_err("five bytes are no secret");
        assert!(fault.to_string().contains("has 5 bytes"), "{fault}");
        fs::remove_dir_all(state).expect("it is ours");
    }
}
