//! The program `voiced`.

use std::process::ExitCode;

fn main() -> ExitCode {
    voiced::Daemon::builder().main()
}
