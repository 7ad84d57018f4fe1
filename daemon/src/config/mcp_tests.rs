// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a table of a server may hold, and what is said of one that is wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::time::Duration;

use tools::Effect;
use tools::mcp::Reach;

use super::tests::{Folder, faults, text};
use super::{Config, FileSource, Sources};

const SCALE: &str = r#"
[[mcp]]
name = "scale"
command = ["/opt/vendor/scale-mcp", "--port", "/dev/ttyUSB0"]
env = ["LANG"]
[mcp.tools.weigh]
effect = "read"
needs_result_now = true
budget_ms = 300

[[mcp]]
name = "label-printer"
url = "http://127.0.0.1:8100/mcp"
timeout_seconds = 20
trusted = true
[mcp.tools.print]
confirm = "Print {copies} labels."
job = true
[mcp.tools."feed.paper"]
effect = "local"
enabled = false
[mcp.tools.search]
ungated = "it only looks things up"
"#;

#[test]
fn a_program_with_a_path_is_where_the_file_says_and_one_with_a_name_is_searched_for() {
    for (given, runs) in [("./scale.py", "/etc/voiced/./scale.py"), ("bin/scale", "/etc/voiced/bin/scale")]
        .into_iter()
        .chain([("/opt/scale", "/opt/scale"), ("scale", "scale")])
    {
        let loaded =
            Config::load(&text(&format!("[[mcp]]\nname = \"scale\"\ncommand = [\"{given}\", \"./a\"]\n")));
        let command = [runs, "./a"].map(str::to_owned).to_vec();
        assert_eq!(loaded.unwrap().config.mcp[0].reach, Reach::Child { command, env: Vec::new() });
    }
}

#[test]
fn servers_are_read_with_their_marks() {
    let loaded = Config::load(&text(SCALE)).unwrap();
    let [scale, printer] = &loaded.config.mcp[..] else { panic!("there are two") };
    let command = ["/opt/vendor/scale-mcp", "--port", "/dev/ttyUSB0"].map(str::to_owned).to_vec();
    assert_eq!(scale.name, "scale");
    assert_eq!(scale.reach, Reach::Child { command, env: vec!["LANG".to_owned()] });
    assert_eq!((scale.timeout, scale.trusted), (Duration::from_secs(8), false));
    let weigh = &scale.tools["weigh"];
    assert_eq!((weigh.effect, weigh.needs_result_now), (Effect::Read, true));
    assert_eq!(weigh.budget, Some(Duration::from_millis(300)));
    assert_eq!(printer.reach, Reach::Http { url: "http://127.0.0.1:8100/mcp".to_owned() });
    assert_eq!((printer.timeout, printer.trusted), (Duration::from_secs(20), true));
    let print = &printer.tools["print"];
    assert_eq!(print.confirm.as_ref().unwrap().to_string(), "Print {copies} labels.");
    assert_eq!((print.effect, print.job, weigh.job), (Effect::Outbound, true, false));
    assert!(!printer.tools["feed.paper"].enabled);
    assert_eq!(printer.tools["search"].ungated.as_deref(), Some("it only looks things up"));
    let shown = loaded.show();
    for line in [
        "mcp.scale.timeout_seconds = 20",
        "mcp.label-printer.timeout_seconds = 20  # /etc/voiced/voiced.toml:14",
        "mcp.scale.tools.weigh.effect = \"read\"  # /etc/voiced/voiced.toml:7",
    ] {
        assert_eq!(shown.contains(line), !line.starts_with("mcp.scale.timeout"), "{line}\n{shown}");
    }
}

#[test]
fn each_fault_has_its_line_and_all_are_told_together() {
    let file = r#"
[[mcp]]
command = ["x"]
[[mcp]]
name = "Scale"
command = []
[[mcp]]
name = "scale"
[[mcp]]
name = "both"
command = ["x"]
url = "http://127.0.0.1:1/"
[[mcp]]
name = "far"
url = "https://user:canary@example.org/mcp"
env = ["A"]
[[mcp]]
name = "marks"
command = ["x"]
env = ["KEY=canary"]
timeout_seconds = 31
trusted = "yes"
tmeout_seconds = 3
[mcp.tools]
flat = 3
[mcp.tools.a]
effect = "writes"
budget_ms = 0
confirm = "{x}"
[mcp.tools.b]
confirm = "Run {x}."
ungated = "no"
[mcp.tools.c]
confrim = "Run."
ungated = " "
[mcp.tools.d]
job = true
budget_ms = 300
[mcp.tools.e]
job = 1
[mcp.tools.f]
job = false
budget_ms = 300
needs_result_now = true
"#;
    let found = faults(file).replace("/etc/voiced/voiced.toml:", "");
    let expected = r#"2: mcp.name = "": expected a name of 1..=24 characters: a-z first, then a-z, 0-9, - and _
4: mcp.Scale.command = []: expected a program and its arguments
5: mcp.Scale.name = "Scale": expected a name of 1..=24 characters: a-z first, then a-z, 0-9, - and _
7: mcp.scale.command = neither command and url: expected one of the two
9: mcp.both.command = both command and url: expected one of the two
15: mcp.far.url = "https://***@example.org/mcp": expected an http:// URL of this machine, such as http://127.0.0.1:8100/mcp
16: mcp.far.env = ["A"]: expected no variables with `url`: there is no child to pass them to
20: mcp.marks.env = [***]: expected names of environment variables, not their values
21: mcp.marks.timeout_seconds = 31: expected 1..=30
22: mcp.marks.trusted = "yes": expected true or false
23: unknown key `mcp.marks.tmeout_seconds`; did you mean `mcp.marks.timeout_seconds`?
25: mcp.marks.tools.flat = 3: expected a table
27: mcp.marks.tools.a.effect = "writes": expected "read" or "local" or "outbound"
28: mcp.marks.tools.a.budget_ms = 0: expected 1..=30000
29: mcp.marks.tools.a.confirm = "{x}": expected words beside the arguments, that say what is done
32: mcp.marks.tools.b.ungated = "no": expected one of `confirm` and `ungated`, not both
34: unknown key `mcp.marks.tools.c.confrim`; did you mean `mcp.marks.tools.c.confirm`?
35: mcp.marks.tools.c.ungated = " ": expected why nobody need be asked
38: mcp.marks.tools.d.budget_ms = 300: expected no budget with `job`: nobody waits for it
40: mcp.marks.tools.e.job = 1: expected true or false"#;
    assert_eq!(found, expected);
    assert!(!found.contains("canary"));
    assert!(faults("[mcp]\nname = \"x\"\n").contains("1: mcp = "), "{}", faults("[mcp]\nname = \"x\"\n"));
    assert!(faults("mcp = [3]\n").ends_with("1: mcp = 3: expected a table"));
}

#[test]
fn two_servers_whose_tools_would_have_the_same_names_are_a_fault_that_names_both() {
    let folder = Folder::new();
    let server = |name: &str| format!("[[mcp]]\nname = \"{name}\"\ncommand = [\"x\"]\n");
    let file = folder.write("voiced.toml", &server("label-printer"));
    folder.write("voiced.d/site.toml", &format!("{}{}", server("other"), server("label_printer")));
    let sources = Sources { file: FileSource::Required(file), ..Sources::default() };
    let found =
        Config::load(&sources).unwrap_err().to_string().replace(&format!("{}/", folder.0.display()), "");
    assert_eq!(
        found,
        "voiced.d/site.toml:4: mcp.name = \"label_printer\": expected another name than that of \"label-printer\" \
         (voiced.toml:1): their tools would have the same names"
    );
}

#[test]
fn by_what_a_person_agrees_is_read_where_there_is_a_sentence() {
    let marks = |more: &str| {
        let text = format!("[[mcp]]\nname = \"far\"\nurl = \"http://127.0.0.1:1/\"\n[mcp.tools.act]\n{more}");
        let file = FileSource::Text("voiced.toml".into(), text);
        let loaded = Config::load(&Sources { file, ..Sources::default() });
        loaded.map(|loaded| loaded.config.mcp[0].tools["act"].asking).map_err(|faults| faults.to_string())
    };
    let confirm = "confirm = \"Open it.\"\n";
    assert_eq!(marks(confirm), Ok(tools::Asking::default()));
    let full = format!("{confirm}consent = \"button\"\nhigh_risk = true\nrepeat_last = 10\n");
    let expected = tools::Asking { by: tools::Agreement::Button, high_risk: true, repeat_last: Some(10) };
    assert_eq!(
        marks(&full),
        Ok(expected),
        "that it does not fit together is found where the tool is declared"
    );
    for (more, expected) in [
        (format!("{confirm}consent = \"nod\"\n"), "tools.act.consent = \"nod\": expected \"voice\" or "),
        (format!("{confirm}repeat_last = 0\n"), "tools.act.repeat_last = 0: expected 1..=10"),
        (
            "ungated = \"so\"\nhigh_risk = true\n".to_owned(),
            "tools.act.high_risk = true: expected `confirm` with it",
        ),
    ] {
        let told = marks(&more).unwrap_err();
        assert!(told.contains(expected), "{told}");
    }
}
