// SPDX-License-Identifier: MIT OR Apache-2.0

//! What may be declared, and how it is asked about.

use tools::http::{EgressError, HeaderError, TargetError};
use tools::{Origin, PreCall};

use super::*;

const NOWHERE: &str = "https://127.0.0.1/free";

#[test]
fn the_fields_become_the_marks_of_the_tool() {
    let silent = built(&asking(NOWHERE));
    assert_eq!((silent.pre_call(), silent.needs_result_now(), silent.is_idempotent()), (None, true, false));
    assert_eq!((silent.budget(), silent.timeout()), (Duration::from_secs(2), Duration::from_secs(8)));
    assert_eq!(silent.origin(), &Origin::Configuration);
    let tool = HttpTool {
        pre_call_message: "One moment.".to_owned(),
        timeout: Duration::from_millis(1500),
        needs_result_now: false,
        idempotent: true,
        ..acting(NOWHERE)
    };
    let tool = built(&tool);
    assert_eq!(tool.pre_call(), Some(&PreCall::Always("One moment.".to_owned())));
    assert_eq!((tool.needs_result_now(), tool.is_idempotent()), (false, true));
    assert_eq!((tool.budget(), tool.timeout()), (Duration::from_millis(1500), Duration::from_millis(1500)));
    assert_eq!(tool.ungated(), Some("the service asks by itself"));
}

#[test]
fn the_rules_for_every_tool_hold_here_too() {
    assert_eq!(asking(NOWHERE).faults(), [""; 0]);
    let schema = json!({"type": "object", "properties": {"confirmed": {"type": "boolean"}}});
    let parameters = Parameters::new(&schema, Vec::new()).unwrap();
    let tool = HttpTool {
        name: "end_call".to_owned(),
        consent: Consent::Ask(Confirm::parse("Book it.", &parameters).unwrap()),
        parameters,
        ..acting(NOWHERE)
    };
    let faults = tool.faults();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert_eq!(faults[0], "the name is reserved for the daemon");
    assert!(faults[1].starts_with("argument `confirmed` lets the model claim consent"), "{faults:?}");
}

#[test]
fn t9_only_two_methods() {
    assert_eq!(
        ["GET", "POST", "PUT", "post", ""].map(Method::parse),
        [Some(Method::Get), Some(Method::Post), None, None, None]
    );
}

#[test]
fn t9_where_requests_may_go() {
    let hosts = [
        "slots.example.net",
        "*.clinic.example",
        "127.0.0.1",
        "localhost",
        "::1",
        "Grün.example",
        "10.0.0.7",
    ];
    let egress = Egress::parse(&hosts.map(str::to_owned)).unwrap();
    let to = |url: &str| Target::parse(url, &egress).map(|target| target.url().to_string());
    for url in [
        "https://slots.example.net/free",
        "https://SLOTS.example.net:8443/free?a=b",
        "https://a.clinic.example/",
        "https://a.b.clinic.example/",
        "http://127.0.0.1:8080/",
        "http://localhost/",
        "http://[::1]:8080/",
        "https://10.0.0.7/",
        "https://GRÜN.example/",
    ] {
        assert!(to(url).is_ok(), "{url}: {:?}", to(url));
    }
    let not_allowed = |host: &str| Err(TargetError::NotAllowed { host: host.to_owned() });
    for (url, expected) in [
        ("https://clinic.example/", not_allowed("clinic.example")),
        ("https://notclinic.example/", not_allowed("notclinic.example")),
        ("https://a.clinic.example.evil.net/", not_allowed("a.clinic.example.evil.net")),
        ("https://slots.example.net./", not_allowed("slots.example.net.")),
        ("https://2130706434/", not_allowed("127.0.0.2")),
        ("http://slots.example.net/", Err(TargetError::ClearText)),
        ("http://10.0.0.7/", Err(TargetError::ClearText)),
        ("https://me:hunter2@slots.example.net/", Err(TargetError::Secret)),
        ("https://slots.example.net/?key=${secret:a}", Err(TargetError::Secret)),
        ("ftp://slots.example.net/", Err(TargetError::Url)),
        ("slots.example.net/free", Err(TargetError::Url)),
        ("/free", Err(TargetError::Url)),
        ("", Err(TargetError::Url)),
    ] {
        assert_eq!(to(url), expected, "{url}");
    }
    let nothing = Target::parse("https://slots.example.net/", &Egress::default()).unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "a host that `tools.egress.allow` names: add \"slots.example.net\" there if tools may call it"
    );
    assert_eq!(
        format!("{:?}", Target::parse("https://slots.example.net/a?key=canary", &egress).unwrap()),
        "https://slots.example.net/a?***"
    );
}

#[test]
fn an_entry_of_the_list_is_a_host_and_nothing_else() {
    for entry in
        ["", "*", "*.", "*.*.net", "a.*", "https://a.net", "a.net:80", "a.net/x", "u@a.net", "a b", "a\\b"]
    {
        let found = Egress::parse(&["good.net".to_owned(), entry.to_owned()]);
        assert_eq!(found, Err(EgressError { entry: entry.to_owned() }), "{entry:?}");
    }
}

#[test]
fn t9_headers_are_one_line_and_their_secrets_are_there() {
    for (name, value, expected) in [
        ("X-A", "one\r\nX-B: two", HeaderError::Value),
        ("X-A", "one\ntwo", HeaderError::Value),
        ("X-A", "nul\0", HeaderError::Value),
        ("X A", "v", HeaderError::Name),
        ("", "v", HeaderError::Name),
        ("host", "v", HeaderError::Ours),
        ("Content-Length", "3", HeaderError::Ours),
        ("Idempotency-Key", "k", HeaderError::Ours),
        ("X-A", "${secret:}", HeaderError::Reference),
        ("X-A", "${secret:../key}", HeaderError::Reference),
        ("X-A", "${secret:a", HeaderError::Reference),
        ("X-A", "${env:HOME}", HeaderError::Reference),
        ("X-A", "${secret:a}${", HeaderError::Reference),
    ] {
        assert_eq!(Header::parse(name, value), Err(expected), "{name}: {value:?}");
    }
    let several = Header::parse("X-A", "a ${secret:one}-${secret:two.b} $5 {x}").unwrap();
    assert_eq!(several.secrets().collect::<Vec<_>>(), ["one", "two.b"]);

    let headers = [("A", "${secret:NONE}"), ("B", "${secret:clinic}"), ("C", "${secret:broken}")];
    let headers = headers.map(|(name, value)| Header::parse(name, value).unwrap()).to_vec();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = HttpClient::new(Trust::Nobody).unwrap();
    let faults =
        HttpTool { headers, ..asking(NOWHERE) }.declare(&client, &Arc::default(), &secrets).unwrap_err();
    assert_eq!(
        faults,
        [
            "headers.A: no secret `NONE`",
            "headers.C: a secret of it has characters that no HTTP header can carry"
        ]
    );
}

#[test]
fn t74_no_header_value_is_printed() {
    let mut tool = asking(NOWHERE);
    tool.headers.push(Header::parse("X-Key", "canary").unwrap());
    let shown = format!("{tool:?} {:#?}", tool.headers);
    assert!(shown.contains("Authorization: ***") && shown.contains("X-Key: ***"), "{shown}");
    assert!(!shown.contains("canary") && !shown.contains("Bearer") && !shown.contains("north"), "{shown}");
}

#[test]
fn t14_types_in_capitals_are_written_as_json_schema_does() {
    let schema = json!({
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "enum": ["STRING", "OBJECT"], "default": "STRING"},
            "list": {"type": "ARRAY", "items": {"type": "INTEGER"}},
            "either": {"anyOf": [{"type": "NUMBER"}, {"type": ["BOOLEAN", "NULL"]}]},
            "maybe": {"type": "STRING", "nullable": true, "enum": ["a"]},
        },
        "required": ["type"],
    });
    let parameters = Parameters::new(&schema, vec!["list".to_owned(), "stranger".to_owned()]).unwrap();
    assert_eq!(
        parameters.schema(),
        &json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["STRING", "OBJECT"], "default": "STRING"},
                "list": {"type": "array", "items": {"type": "integer"}},
                "either": {"anyOf": [{"type": "number"}, {"type": ["boolean", "null"]}]},
                "maybe": {"type": ["string", "null"], "enum": ["a", null]},
            },
            "required": ["type"],
        })
    );
    assert_eq!(parameters.order(), ["list", "either", "maybe", "type"]);
}

#[test]
fn t16_no_argument_may_stand_where_the_call_is_told() {
    let schema = json!({"type": "object", "properties": {"_call": {"type": "string"}}});
    let fault = Parameters::new(&schema, Vec::new()).unwrap_err();
    assert!(fault.starts_with("no argument `_call`"), "{fault}");
    for (schema, expected) in [
        (json!([]), "a JSON schema"),
        (json!({"type": "STRING"}), "`type = \"object\"`"),
        (
            json!({"type": "object", "properties": {"a": {"type": "INT"}}}),
            "a JSON schema; #/properties/a: there is no type",
        ),
        (json!({"type": "object", "properties": 1}), "`properties` to be a table"),
    ] {
        let fault = Parameters::new(&schema, Vec::new()).unwrap_err();
        assert!(fault.starts_with(expected), "{fault}");
    }
    assert_eq!(Parameters::new(&json!({"type": "object"}), Vec::new()), Ok(Parameters::default()));
}

fn booking() -> Parameters {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "phone": {"type": "string"},
            "people": {"type": "integer"},
            "dishes": {"type": "array", "items": {"type": "string"}},
            "where": {"type": "object"},
            "note": {"type": "string"},
        },
        "required": ["name", "phone", "people", "dishes", "where"],
    });
    Parameters::new(&schema, Vec::new()).unwrap()
}

#[test]
fn a_person_hears_the_very_arguments_that_are_sent() {
    let parameters = booking();
    let sentence = "Book for {people} as {name}, phone { phone }, with {dishes}.";
    let tool = HttpTool {
        consent: Consent::Ask(Confirm::parse(sentence, &parameters).unwrap()),
        parameters,
        ..acting(NOWHERE)
    };
    let tool = built(&tool);
    let args = json!({
        "name": " Anna\n Berg ", "phone": "9876543210", "people": 4.0, "dishes": ["soup", "bread"], "where": {},
    });
    let args = tool.prepare(&args).unwrap();
    assert_eq!(
        tool.summary(&args),
        Some(Ok("Book for 4 as Anna Berg, phone 9 8 7 6 5 4 3 2 1 0, with soup, bread.".to_owned()))
    );
    assert_eq!(tool.slots(&args).unwrap(), ["4", "Anna Berg", "9876543210", "soup, bread"]);
    let unknown = json!({"name": "a", "phone": "1", "people": 1, "dishes": [], "where": {}, "more": 1});
    assert!(tool.prepare(&unknown).unwrap_err().contains("/more"), "what was asked is what is sent");
}

#[test]
fn a_sentence_that_could_leave_something_out_is_refused() {
    for (sentence, expected) in [
        ("", "a sentence that says"),
        ("Book {table}.", "arguments of the tool in braces; `table` is none, there are dishes, name"),
        ("Book {note}.", "required arguments in braces; add \"note\" to `required`"),
        ("Book {where}.", "arguments that can be read aloud in braces; `where` is an object"),
        ("Book {name.", "a `}` after each `{`"),
        ("Book name}.", "a `{` before each `}`"),
        ("Book {}.", "arguments of the tool in braces; `` is none"),
    ] {
        let fault = Confirm::parse(sentence, &booking()).unwrap_err();
        assert!(fault.starts_with(expected), "{sentence}: {fault}");
    }
    assert!(Confirm::parse("Call {x}.", &Parameters::default()).unwrap_err().contains("there are none"));
}
