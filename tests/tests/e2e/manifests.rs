// SPDX-License-Identifier: MIT OR Apache-2.0

//! Each crate may use what the architecture gives it and nothing else: a forbidden dependency turns this red.

use std::collections::BTreeSet;
use std::path::Path;

/// Crate folder, what its `[dependencies]` may name.
const MAY_USE: &[(&str, &[&str])] = &[
    ("daemon/units", &[]),
    ("daemon/session", &["units", "serde_json", "tracing", "unicode-normalization"]),
    (
        "daemon/audio",
        &[
            "units",
            "aec3",
            "alsa",
            "cpal",
            "earshot",
            "hound",
            "libc",
            "pulseaudio",
            "rtrb",
            "rubato",
            "sonora",
            "thiserror",
            "tracing",
        ],
    ),
    ("hal", &["heapless", "rustix", "thiserror", "tokio", "tracing"]),
    (
        "tools",
        &[
            "hal",
            "units",
            "bm25",
            "jsonschema",
            "reqwest",
            "rmcp",
            "rustix",
            "rustls",
            "schemars",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tracing",
        ],
    ),
    (
        "tests/rehearsal",
        &[
            "base64",
            "clap",
            "futures-util",
            "serde",
            "serde_json",
            "symphonia",
            "thiserror",
            "tokio",
            "units",
            "tokio-tungstenite",
            "toml",
            "tracing",
            "tracing-subscriber",
        ],
    ),
];

fn dependencies(folder: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace holds this package");
    let manifest =
        std::fs::read_to_string(root.join(folder).join("Cargo.toml")).expect("every crate has one");
    let manifest: toml::Table = manifest.parse().expect("cargo reads it too");
    let tables = manifest.get("dependencies").and_then(toml::Value::as_table);
    tables.map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

#[test]
fn no_crate_uses_more_than_it_may() {
    for (folder, may_use) in MAY_USE {
        let may_use: BTreeSet<String> = may_use.iter().map(ToString::to_string).collect();
        let extra: Vec<String> = dependencies(folder).difference(&may_use).cloned().collect();
        assert!(extra.is_empty(), "{folder} uses {extra:?}, which the architecture does not give it");
    }
}

#[test]
fn the_session_core_is_kept_from_clocks_and_sockets_by_lint() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace holds this package");
    let lint =
        std::fs::read_to_string(root.join("daemon/session/clippy.toml")).expect("session has its own lints");
    for banned in ["std::time::Instant", "std::time::SystemTime", "std::net", "std::thread::sleep"] {
        assert!(lint.contains(banned), "clippy.toml of session does not ban {banned}");
    }
}
