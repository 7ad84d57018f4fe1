// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an integrator's mistakes look like: each must not compile, and its message must say what to write.

use std::process::Command;

/// The compiler whose words the texts beside the cases are. Another one says the same in other words.
const RUSTC: &str = "rustc 1.95.";

#[test]
fn t02_t03_mistakes_do_not_compile_and_are_explained() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().expect("this was compiled by it").stdout;
    if !version.starts_with(RUSTC.as_bytes()) {
        return;
    }
    // `TRYBUILD=overwrite` rewrites the texts. The first two are rows T2 and T3 of the tool contract.
    let cases = trybuild::TestCases::new();
    cases.compile_fail("cases/sync_function.rs");
    cases.compile_fail("cases/foreign_parameter.rs");
    cases.compile_fail("cases/result_without_json.rs");
    cases.compile_fail("cases/gate_of_another_tool.rs");
}
