// SPDX-License-Identifier: MIT OR Apache-2.0

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
    for command in ["run", "demo", "check", "config", "audio", "gate", "tools"] {
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

/// A configuration with an HTTP tool that acts and asks nobody, in a file of its own.
fn with_tool(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("voiced-cli-{name}-{}.toml", std::process::id()));
    let config = "[tools.egress]\nallow = [\"127.0.0.1\"]\n[[tool]]\nname = \"ring\"\ndescription = \"Rings the bell.\"\n\
                  url = \"http://127.0.0.1:9/\"\nungated = \"a bell disturbs nobody\"\n";
    std::fs::write(&path, config).expect("there is a folder for temporary files");
    path
}

#[test]
fn t10_why_a_tool_asks_nobody_is_in_the_list() {
    let path = with_tool("t10");
    let output = voiced(&["tools", "list", "--config", &path.to_string_lossy()]);
    let _ = std::fs::remove_file(&path);
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = list.lines().find(|row| row.starts_with("ring ")).unwrap_or_else(|| panic!("{output:?}"));
    assert!(row.contains("asks nobody") && row.ends_with("because: a bell disturbs nobody"), "{row}");
}

#[test]
fn row_74_a_trial_tells_how_much_the_model_reads() {
    let output =
        voiced(&["tools", "test", "read_warehouse_sensors", "--args", r#"{"zone": "cold_storage"}"#]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let size = shown["sent_to_model"].to_string().chars().count();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(size > 50 && told.contains(&format!("the model reads {size} characters")), "{told}");
}

#[test]
fn a_tool_that_is_switched_off_is_named_with_its_switch() {
    let output = voiced(&["tools", "show", "kb_search"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("there is no tool `kb_search`; `tools.kb.enabled` offers it; there are: "),
        "{said}"
    );
}

#[test]
fn the_sound_of_a_daemon_is_not_tried_where_none_runs() {
    let on = "tools.device_audio.enabled=true";
    let output = voiced(&["tools", "test", "faster", "--args", "{}", "--set", on]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("changes the sound of a daemon that runs"), "{said}");
}

/// A demo that a person was to take part in ends at once where they cannot, and says why.
#[test]
fn a_demo_without_its_person_ends() {
    let out = std::env::temp_dir().join(format!("voiced-cli-demo-{}", std::process::id()));
    for (part, why) in [
        (&["--interactive"][..], "standard input has ended"),
        (&["--mic", "alsa:nowhere"], "there is no capture device `nowhere`"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_voiced"))
            .args(["demo", "--quiet", "--out", &out.to_string_lossy()])
            .args(part)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("cargo has built it");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(70), "{part:?}: {said}");
        assert!(said.contains(why), "{part:?}: {said}");
    }
    let _ = std::fs::remove_dir_all(&out);
}

#[test]
fn a_voice_that_cannot_speak_is_a_caution_that_says_what_is_not_done_without_it() {
    let output = voiced(&["check", "--set", "speech.voice=nonsense"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let caution = said.lines().find(|line| line.contains("speech engine")).unwrap_or_default();
    assert!(caution.ends_with("nothing that asks a person first is done"), "{said}");
}
