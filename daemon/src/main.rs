// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program `voiced`.

use std::process::ExitCode;

fn main() -> ExitCode {
    voiced::Daemon::builder().main()
}
