//! The binary from outside: what it says of itself, and how it ends when it is called wrongly.

use std::process::{Command, Output};

fn voiced(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_voiced")).args(args).output().expect("cargo has built it")
}

#[test]
fn the_version_is_that_of_the_package() {
    let output = voiced(&["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("voiced {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_command_is_in_the_help_and_has_one() {
    let help = voiced(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for command in ["run", "demo", "check", "config", "audio", "tools"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in:\n{help}");
        let own = voiced(&[command, "--help"]);
        assert_eq!(own.status.code(), Some(0), "{command}");
        assert!(String::from_utf8_lossy(&own.stdout).contains("Usage: voiced "), "{command}");
    }
}

#[test]
fn wrong_arguments_end_with_2_and_name_what_is_wrong() {
    for (args, named) in [
        (&["sing"][..], "'sing'"),
        (&["run", "--quietly"], "'--quietly'"),
        (&["tools", "test"], "<NAME>"),
        (&[], "Usage: voiced"),
    ] {
        let output = voiced(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(named), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}
