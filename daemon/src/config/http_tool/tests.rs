// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use super::super::tests::{Folder, faults, text};
use super::super::{Config, FileSource, Sources};
use super::*;

const ALLOWED: &str = "[tools.egress]\nallow = [\"slots.example.net\", \"*.clinic.example\"]\n";

/// The table that hosted voice agents take, and one that uses every key.
const TOOLS: &str = r#"
[[tool]]
name = "check_availability"
description = "Check which slots are free. Use before offering any time to the caller."
parameters = { type = "object", properties = { doctor = { type = "string", description = "The doctor's name" }, date = { type = "string", description = "YYYY-MM-DD" } }, required = ["doctor", "date"] }
method = "POST"
url = "https://voxa.clinic.example/voxa/availability"
headers = { Authorization = "Bearer clinic_canary_token" }
pre_call_message = "One moment, let me check."
timeout_seconds = 8
effect = "read"

[[tool]]
name = "_book2"
description = "  Books a slot.  "
method = "GET"
url = "https://slots.example.net/book?site=canary"
timeout_seconds = 2.5
confirm = "Book {date} for {name}."
needs_result_now = false
on_failure = "Say that it did not work."
idempotent = true
[tool.headers]
X-Key = "${secret:voiced.slots}"
[tool.parameters]
type = "OBJECT"
required = ["name", "date"]
[tool.parameters.properties.name]
type = "STRING"
[tool.parameters.properties.date]
type = "STRING"
"#;

#[test]
fn tools_are_read_field_for_field() {
    let loaded = Config::load(&text(&format!("{ALLOWED}{TOOLS}"))).unwrap();
    let [check, book] = &loaded.config.http_tools[..] else { panic!("there are two") };
    let origin = |line| Origin::File { path: "/etc/voiced/voiced.toml".into(), line };
    let tool = &check.tool;
    assert_eq!((tool.name.as_str(), &check.origin), ("check_availability", &origin(4)));
    assert_eq!(tool.parameters.order(), ["doctor", "date"]);
    assert_eq!(tool.parameters.schema()["properties"]["doctor"]["description"], "The doctor's name");
    assert_eq!((tool.method, tool.effect), (Method::Post, Effect::Read));
    assert_eq!(tool.target.url().as_str(), "https://voxa.clinic.example/voxa/availability");
    assert_eq!(tool.headers, [Header::parse("Authorization", "Bearer clinic_canary_token").unwrap()]);
    assert_eq!(tool.pre_call_message, "One moment, let me check.");
    assert_eq!((tool.timeout, &tool.consent), (Duration::from_secs(8), &Consent::NotNeeded));
    assert_eq!((tool.needs_result_now, &tool.on_failure, tool.idempotent), (true, &None, false));

    let tool = &book.tool;
    assert_eq!(tool.description, "Books a slot.");
    assert_eq!(tool.parameters.order(), ["name", "date"], "as written, not as sorted");
    assert_eq!(tool.parameters.schema()["properties"]["date"]["type"], "string");
    assert_eq!((tool.method, tool.effect), (Method::Get, Effect::Outbound));
    assert_eq!(tool.timeout, Duration::from_millis(2500));
    assert!(matches!(&tool.consent, Consent::Ask(_)));
    assert_eq!(tool.headers[0].secrets().collect::<Vec<_>>(), ["voiced.slots"]);
    assert_eq!(
        (tool.needs_result_now, tool.on_failure.as_deref(), tool.idempotent),
        (false, Some("Say that it did not work."), true)
    );

    let shown = loaded.show();
    for line in [
        "tool.check_availability.url = \"https://voxa.clinic.example/voxa/availability\"  # /etc/voiced/voiced.toml:9",
        "tool.check_availability.headers.Authorization = \"***\"  # /etc/voiced/voiced.toml:10",
        "tool._book2.url = \"https://slots.example.net/book?***\"  # /etc/voiced/voiced.toml:19",
        "tool._book2.headers.X-Key = \"***\"  # /etc/voiced/voiced.toml:26",
        "tool._book2.timeout_seconds = 2.5  # /etc/voiced/voiced.toml:20",
    ] {
        assert!(shown.lines().any(|found| found == line), "no line {line:?} in\n{shown}");
    }
    assert!(!format!("{shown}{loaded:?}").contains("canary_token"));
    assert!(!shown.contains("canary"));
}

#[test]
fn what_is_left_out_has_the_default_of_its_field() {
    let tool = "[[tool]]\nname = \"ask\"\ndescription = \"Asks.\"\nurl = \"https://slots.example.net\"\nungated = \"harmless\"\n";
    let tool = Config::load(&text(&format!("{ALLOWED}{tool}"))).unwrap().config.http_tools.remove(0).tool;
    assert_eq!(
        HttpTool { target: tool.target.clone(), ..tool.clone() },
        HttpTool {
            name: "ask".to_owned(),
            description: "Asks.".to_owned(),
            parameters: Parameters::default(),
            method: Method::Post,
            target: tool.target,
            headers: Vec::new(),
            pre_call_message: String::new(),
            timeout: Duration::from_secs(8),
            effect: Effect::Outbound,
            consent: Consent::Ungated("harmless".to_owned()),
            asking: tools::Asking::default(),
            needs_result_now: true,
            on_failure: None,
            idempotent: false,
        }
    );
}

/// Each wrong value at its own line, and all of them together.
#[test]
fn t9_t16_each_fault_has_its_line_and_all_are_told_together() {
    let file = r#"
[[tool]]
[[tool]]
name = "a-b"
description = "no"
url = "ftp://slots.example.net/"
method = "PUT"
timeout_seconds = 0.9
effect = "writes"
needs_result_now = 1
idempotent = "yes"
pre_call_message = "two\nlines"
colour = 3
[tool.headers]
X-Line = "a\nb canary"
X-Ref = "${env:canary}"
Host = "canary"
X-Number = 7
x-line2 = "a"
X-Line2 = "b"
[[tool]]
name = "elsewhere"
description = "Asks somebody else."
url = "https://evil.example/?k=canary"
[[tool]]
name = "plain"
description = "Asks in clear text."
url = "http://slots.example.net/"
effect = "read"
ungated = "x"
parameters = { type = "object", properties = { _call = { type = "string" } } }
headers = "Authorization: canary"
timeout_seconds = 30.1
[[tool]]
name = "books"
description = "Books."
url = "https://me:canary@slots.example.net/"
confirm = "Book {date}."
ungated = "nobody minds"
parameters = { type = "object", properties = { date = { type = "string", default = 1979-05-27 } } }
[[tool]]
name = "sends"
description = "Sends."
url = "https://slots.example.net/"
confirm = "Book <{date}>."
parameters = { type = "object", properties = { date = { type = "string" } }, required = ["date"] }
[[tool]]
name = "asks"
description = "Asks."
url = "https://slots.example.net/"
effect = "outbound"
confirm = "Book {table}."
"#;
    let found = faults(&format!("{ALLOWED}{file}")).replace("/etc/voiced/voiced.toml:", "");
    let expected = r#"4: tool.name = "": expected a text: it cannot be left out
4: tool.description = "": expected a text: it cannot be left out
4: tool.url = "": expected a text: it cannot be left out
4: tool.effect = "outbound": expected `confirm`, the sentence a person is asked with, or `ungated`, the reason why nobody is; or its true effect: "read" or "local"
6: tool.a-b.name = "a-b": expected a name of 1 to 64 letters, digits and _, not a digit first
7: tool.a-b.description = "no": expected 3 to 1000 characters that say what it does and when to use it
8: tool.a-b.url = "ftp://slots.example.net/": expected an absolute URL: https://HOST, or http:// to this machine
9: tool.a-b.method = "PUT": expected "POST" or "GET"
10: tool.a-b.timeout_seconds = 0.9: expected 1..=30
11: tool.a-b.effect = "writes": expected "read" or "local" or "outbound"
12: tool.a-b.needs_result_now = 1: expected true or false
13: tool.a-b.idempotent = "yes": expected true or false
14: tool.a-b.pre_call_message = "two\nlines": expected at most 300 characters, on one line
15: unknown key `tool.a-b.colour`; `voiced config show` lists every key
17: tool.a-b.headers.X-Line = "***": expected a value on one line, without control characters
18: tool.a-b.headers.X-Ref = "***": expected `${secret:NAME}` for a secret, NAME being 1 to 64 of letters, digits, `.`, `_` and `-`
19: tool.a-b.headers.Host = "***": expected a header that the daemon does not write itself
20: tool.a-b.headers.X-Number = "***": expected text in quotes
21: tool.a-b.headers.x-line2 = "***": expected one header of a name; there is `X-Line2` too
23: tool.elsewhere.effect = "outbound": expected `confirm`, the sentence a person is asked with, or `ungated`, the reason why nobody is; or its true effect: "read" or "local"
26: tool.elsewhere.url = "https://evil.example/?***": expected a host that `tools.egress.allow` names: add "evil.example" there if tools may call it
30: tool.plain.url = "http://slots.example.net/": expected https://, as http:// goes to this machine only
32: tool.plain.ungated = "x": expected `effect = "outbound"` with it: nobody is asked about any other
33: tool.plain.parameters = { type = "object", properties = { _call = { type = "string" …: expected no argument `_call`: the service is told of the call under this name
34: tool.plain.headers = ***: expected a table of texts
35: tool.plain.timeout_seconds = 30.1: expected 1..=30
39: tool.books.url = "https://***@slots.example.net/": expected a URL without user, password or `${secret:…}`: give a secret by a header
41: tool.books.ungated = "nobody minds": expected one of `confirm` and `ungated`, not both
42: tool.books.parameters = { type = "object", properties = { date = { type = "string", …: expected a table: the JSON schema of the arguments, without dates
47: tool.sends.confirm = "Book <{date}>.": expected no '<', which cannot be read aloud
54: tool.asks.confirm = "Book {table}.": expected arguments of the tool in braces; `table` is none, there are none"#;
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_by_key(|line| (line.split(':').next().unwrap().parse::<usize>().unwrap(), line.clone()));
        lines
    };
    assert_eq!(sorted(&found), sorted(expected));
    assert!(!found.contains("canary"), "{found}");
}

#[test]
fn what_every_tool_must_hold_is_told_at_the_head_of_the_table() {
    let tool = |rest: &str| {
        faults(&format!(
            "{ALLOWED}[[tool]]\nurl = \"https://slots.example.net\"\ndescription = \"Does it.\"\n{rest}"
        ))
    };
    assert_eq!(
        tool("name = \"end_call\"\neffect = \"read\"\n"),
        "/etc/voiced/voiced.toml:3: tool.end_call: the name is reserved for the daemon"
    );
    let consent =
        "name = \"x\"\nconfirm = \"Do it.\"\n[tool.parameters.properties.confirmed]\ntype = \"boolean\"\n";
    assert!(
        tool(consent).contains("3: tool.x: argument `confirmed` lets the model claim consent"),
        "{}",
        tool(consent)
    );
    let regex = "name = \"x\"\neffect = \"read\"\n[tool.parameters.properties.a]\ntype = \"string\"\npattern = \"(\"\n";
    assert!(tool(regex).contains("3: tool.x: the schema is not valid JSON Schema"), "{}", tool(regex));
}

#[test]
fn nothing_is_allowed_unless_it_is_said() {
    let tool = "[[tool]]\nname = \"x\"\ndescription = \"Does it.\"\neffect = \"read\"\nurl = \"http://127.0.0.1:80/\"\n";
    assert_eq!(
        faults(tool),
        "/etc/voiced/voiced.toml:5: tool.x.url = \"http://127.0.0.1:80/\": expected a host that `tools.egress.allow` names: \
         add \"127.0.0.1\" there if tools may call it"
    );
    let allowed = Sources { set: vec!["tools.egress.allow=[\"127.0.0.1\"]".into()], ..text(tool) };
    assert!(Config::load(&allowed).is_ok());
    assert_eq!(
        faults("[tools.egress]\nallow = [\"https://slots.example.net\"]\n"),
        "/etc/voiced/voiced.toml:2: tools.egress.allow = [\"https://slots.example.net\"]: expected host names, addresses, or \
         `*.SUFFIX`, without scheme, port or path; `https://slots.example.net` is none"
    );
    assert_eq!(
        faults("[tools.call]\nuser_data = \"[]\"\n"),
        "/etc/voiced/voiced.toml:2: tools.call.user_data = \"[]\": expected a JSON object, such as '{\"site\": \"north\"}'"
    );
}

#[test]
fn tables_that_are_none_are_named() {
    assert_eq!(
        faults("[tool]\nname = \"x\"\n"),
        "/etc/voiced/voiced.toml:1: tool = [tool]: expected a table for each tool, under [[tool]]"
    );
    assert_eq!(faults("tool = [3]\n"), "/etc/voiced/voiced.toml:1: tool = 3: expected a table");
}

#[test]
fn every_file_adds_tools_and_two_of_one_name_are_a_fault_that_names_both() {
    let folder = Folder::new();
    let tool = |name: &str| {
        format!(
            "[[tool]]\nname = \"{name}\"\ndescription = \"Does it.\"\neffect = \"read\"\nurl = \"https://slots.example.net\"\n"
        )
    };
    let file = folder.write("voiced.toml", &format!("{ALLOWED}{}", tool("one")));
    folder.write("voiced.d/site.toml", &tool("two"));
    let sources = Sources { file: FileSource::Required(file), ..Sources::default() };
    let names: Vec<String> =
        Config::load(&sources).unwrap().config.http_tools.into_iter().map(|tool| tool.tool.name).collect();
    assert_eq!(names, ["one", "two"]);
    folder.write("voiced.d/site.toml", &format!("{}{}", tool("two"), tool("one")));
    assert_eq!(
        Config::load(&sources).unwrap_err().to_string().replace(&format!("{}/", folder.0.display()), ""),
        "voiced.d/site.toml:6: tool.one.name = \"one\": expected another name than that of the tool at voiced.toml:3"
    );
}

/// The example in the shipped file is one that works.
#[test]
fn the_shipped_example_of_a_tool_is_good() {
    let example: String = Config::shipped_example()
        .lines()
        .skip_while(|line| *line != "#   [[tool]]")
        .filter_map(|line| line.strip_prefix("#   "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(KEYS.iter().filter(|key| !example.contains(&format!("{key} = "))).count(), 0, "{example}");
    let tools = Config::load(&text(&format!("{ALLOWED}{example}"))).unwrap().config.http_tools;
    assert_eq!(tools.len(), 1);
    let asked = example.replace("effect = \"read\"", "").replace("#confirm", "confirm");
    assert!(Config::load(&text(&format!("{ALLOWED}{asked}"))).is_ok());
}

#[test]
fn by_what_a_person_agrees_is_read_where_there_is_a_sentence() {
    let tool = |more: &str| {
        let head = "[[tool]]\nname = \"ask\"\ndescription = \"Asks.\"\nurl = \"https://slots.example.net\"\n";
        let parameters = "parameters = { type = \"object\", properties = { pin = { type = \"string\" } }, required = [\"pin\"] }\n";
        let loaded = Config::load(&text(&format!("{ALLOWED}{head}{parameters}{more}")));
        loaded
            .map(|mut loaded| loaded.config.http_tools.remove(0).tool.asking)
            .map_err(|faults| faults.to_string())
    };
    let confirm = "confirm = \"Open {pin}.\"\n";
    assert_eq!(tool(confirm), Ok(Asking::default()));
    let full = format!("{confirm}consent = \"both\"\nhigh_risk = true\nrepeat_last = 4\n");
    assert_eq!(tool(&full), Ok(Asking { by: Agreement::Both, high_risk: true, repeat_last: Some(4) }));
    for (more, expected) in [
        (
            format!("{confirm}consent = \"nod\"\n"),
            "tool.ask.consent = \"nod\": expected \"voice\" or \"touch\" or ",
        ),
        (format!("{confirm}repeat_last = 11\n"), "tool.ask.repeat_last = 11: expected 1..=10"),
        (
            "ungated = \"so\"\nconsent = \"touch\"\n".to_owned(),
            "tool.ask.consent = \"touch\": expected `confirm` with it",
        ),
        (format!("{confirm}consent = \"touch\"\nhigh_risk = true\n"), "no words can be said"),
    ] {
        let told = tool(&more).unwrap_err();
        assert!(told.contains(expected), "{told}");
    }
}
