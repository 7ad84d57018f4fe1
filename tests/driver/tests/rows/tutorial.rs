// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tutorial of the tools shows what is run here.

/// Without what a heading of a crate puts before them.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.strip_prefix("//!").unwrap_or(line).trim()).collect()
}

#[test]
fn the_tutorial_is_what_is_run() {
    let tutorial = include_str!("../../../../tools/README.md");
    let kiosk = lines(include_str!("../../../../daemon/examples/kiosk.rs"));
    let run = [lines(include_str!("../../src/lib.rs")), lines(include_str!("taxi.rs")), kiosk].concat();
    let sections: Vec<&str> = tutorial.split("```rust,ignore\n").skip(1).collect();
    assert_eq!(sections.len(), 3);
    for section in sections {
        let (shown, _) = section.split_once("```").unwrap();
        let shown = lines(shown);
        assert!(run.windows(shown.len()).any(|run| run == shown), "{shown:#?}");
    }
}
