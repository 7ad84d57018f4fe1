// SPDX-License-Identifier: MIT OR Apache-2.0

//! Paths: the built daemon, folders that are removed again, and where wire logs go.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use units::Pcm;

/// The `voiced` binary of this build's profile, built first if it is not up to date.
///
/// `VOICED_BIN` names another one, such as an installed package's.
///
/// # Panics
/// If it does not build.
#[must_use]
pub fn voiced_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("VOICED_BIN") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

/// Cargo has no way to ask for another package's binary, so a test that needs one builds it. An up-to-date build takes
/// a moment; a stale binary would test yesterday's code.
fn build() -> PathBuf {
    let profile_dir = profile_dir();
    let profile =
        profile_dir.file_name().and_then(|name| name.to_str()).expect("cargo names profiles in ASCII");
    let profile = if profile == "debug" { "dev" } else { profile };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    // Cargo tells a test about its package; build scripts that look at such variables would run again, and again in the
    // next build outside.
    let about_us = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in env::vars_os() {
        if about_us.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes())) {
            build.env_remove(name);
        }
    }
    let status = build
        .args(["build", "--package", "voiced", "--bin", "voiced", "--profile", profile])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"))
        .arg("--target-dir")
        .arg(target_dir())
        .status()
        .expect("cargo runs: it runs the tests too");
    assert!(status.success(), "`cargo build -p voiced` failed: its errors are above");
    profile_dir.join("voiced")
}

/// The folder of this build's profile, such as `target/debug`.
fn profile_dir() -> PathBuf {
    let exe = env::current_exe().expect("the path of a running program is known");
    let folder = exe.parent().expect("a program is in a folder");
    // Test binaries are in `deps`, others beside it.
    let profile = if folder.ends_with("deps") { folder.parent() } else { Some(folder) };
    profile.expect("cargo's folders are nested").to_owned()
}

fn target_dir() -> PathBuf {
    profile_dir().parent().expect("cargo's folders are nested").to_owned()
}

/// An empty folder for the wire logs of the test `name`: `<target>/wire-logs/<name>`, or the same below
/// `VOICED_E2E_WIRE_DIR`. CI hands every `client-*.jsonl` in it to the protocol oracle, so it outlives the test.
///
/// # Panics
/// If it cannot be made empty.
#[must_use]
pub fn wire_dir(name: &str) -> PathBuf {
    let base =
        env::var_os("VOICED_E2E_WIRE_DIR").map_or_else(|| target_dir().join("wire-logs"), PathBuf::from);
    let dir = base.join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir)
            .unwrap_or_else(|error| panic!("{} cannot be emptied: {error}", dir.display()));
    }
    fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{} cannot be made: {error}", dir.display()));
    dir
}

/// A folder of its own below the system's temporary one; dropping it removes it with all that is in it.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes an empty one. The name is short: socket paths are limited to 107 bytes.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = env::temp_dir().join(format!("voiced-{}-{number}", std::process::id()));
        fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{} cannot be made: {error}", dir.display()));
        Self(dir)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A configuration of a daemon that has no sound and keeps its state in here.
    #[must_use]
    pub fn without_sound(&self) -> String {
        let state = self.0.join("state");
        format!("audio.capture = 'none'\naudio.playback = 'none'\nstate.dir = '{}'\n", state.display())
    }

    /// Writes a file into it and gives its path.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text)
            .unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
        path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind in /tmp harms nobody.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Writes `pcm` as a 16-bit mono WAV file.
///
/// # Panics
/// If it cannot be written.
pub fn wav(path: &Path, pcm: &Pcm) {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: pcm.rate().get(),
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let written = hound::WavWriter::create(path, spec).and_then(|mut writer| {
        pcm.samples().iter().try_for_each(|&sample| writer.write_sample(sample))?;
        writer.finalize()
    });
    written.unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}
