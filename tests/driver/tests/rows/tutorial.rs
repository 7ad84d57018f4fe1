//! The tutorial of the tools shows what the head of this crate runs.

#[test]
fn the_tutorial_is_what_is_run() {
    let tutorial = include_str!("../../../../tools/README.md");
    let head = include_str!("../../src/lib.rs");
    let run: Vec<&str> = head.lines().filter_map(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let (_, section) = tutorial.split_once("```rust,ignore\n").unwrap();
    let (shown, _) = section.split_once("```").unwrap();
    let shown: Vec<&str> = shown.lines().map(str::trim).collect();
    assert!(run.windows(shown.len()).any(|lines| lines == shown), "{shown:#?}");
}
