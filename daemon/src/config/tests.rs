// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::schema::Schema;
use super::*;

/// A folder of its own for one test; removed when it ends.
pub(super) struct Folder(pub PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("voiced-config-{}-{n}", std::process::id()));
        fs::create_dir_all(path.join("voiced.d")).unwrap();
        Self(path)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The faults of `voiced.toml` in this folder, without the folder's own name.
    fn faults(&self) -> String {
        let file = FileSource::Required(self.0.join("voiced.toml"));
        let faults = Config::load(&Sources { file, ..Sources::default() }).unwrap_err();
        faults.to_string().replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

pub(super) fn text(text: &str) -> Sources {
    Sources {
        file: FileSource::Text("/etc/voiced/voiced.toml".into(), text.to_owned()),
        ..Sources::default()
    }
}

pub(super) fn faults(of: &str) -> String {
    Config::load(&text(of)).unwrap_err().to_string()
}

/// The shipped example with every key set to the default that it shows.
pub(super) fn uncommented() -> String {
    let is_key = |line: &str| {
        line.strip_prefix('#').and_then(|line| line.split_once(" = ")).is_some_and(|(key, _)| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        })
    };
    Config::shipped_example()
        .lines()
        .map(|line| format!("{}\n", if is_key(line) { &line[1..] } else { line }))
        .collect()
}

#[test]
fn each_kind_of_fault_has_its_line() {
    for (file, expected) in [
        ("[vad]\nhangover_ms = 5", "2: vad.hangover_ms = 5: expected 10..=3000 in steps of 10"),
        ("[vad]\nhangover_ms = 405", "2: vad.hangover_ms = 405: expected 10..=3000 in steps of 10"),
        ("[vad]\nhangover_ms = \"400\"", "2: vad.hangover_ms = \"400\": expected a whole number"),
        ("[vad]\nhangover_ms = 400.0", "2: vad.hangover_ms = 400.0: expected a whole number"),
        (
            "[vad]\nhangover_ms = 99999999999999999999",
            "2: vad.hangover_ms = 99999999999999999999: expected a whole number",
        ),
        ("[vad]\nhangover_ms = [1,\n 2]", "2: vad.hangover_ms = [1,…: expected a whole number"),
        ("[vad]\nhangver_ms = 5", "2: unknown key `vad.hangver_ms`; did you mean `vad.hangover_ms`?"),
        ("[vad]\nhangover-ms = 5", "2: unknown key `vad.hangover-ms`; did you mean `vad.hangover_ms`?"),
        ("[vad]\ncolour = 5", "2: unknown key `vad.colour`; `voiced config show` lists every key"),
        ("[audio]\nthreshold = 0.5", "2: unknown key `audio.threshold`; did you mean `vad.threshold`?"),
        ("\n[vda]\nthreshold = 0.5", "2: unknown key `vda`; did you mean `vad`?"),
        ("vad = 3", "1: vad = 3: expected a table"),
        ("[vad.threshold]\nx = 1", "1: vad.threshold = [vad.threshold]: expected a number"),
        ("[vad]\nthreshold = 1", "2: vad.threshold = 1.0: expected 0.1..=0.95"),
        ("[vad]\nthreshold = nan", "2: vad.threshold = nan: expected 0.1..=0.95"),
        ("[engage]\nmode = \"ptt\"", "2: engage.mode = \"ptt\": expected \"voice\" or \"always\""),
        ("[tools]\nenabled = 1", "2: tools.enabled = 1: expected true or false"),
        (
            "[speech]\ncommand = [\"piper\", 1]",
            "2: speech.command = [\"piper\", 1]: expected a list of texts",
        ),
        (
            "[speech]\nengine = \"command\"",
            "2: speech.engine = \"command\": expected `speech.command` to name a program with it",
        ),
        (
            "[audio]\ncapture = \"hw:1\"",
            "2: audio.capture = \"hw:1\": expected \"default\", \"none\", \"file:PATH\", \"alsa:NAME\" or \"pulse:NAME\" (`voiced audio list` names them)",
        ),
        ("[audio]\ncapture_channel = 64", "2: audio.capture_channel = 64: expected \"mix\" or 0..=63"),
        (
            "[audio]\ncapture_channel = true",
            "2: audio.capture_channel = true: expected a whole number or text in quotes",
        ),
        ("[gate]\nattempts = 0", "2: gate.attempts = 0: expected 1..=5"),
        (
            "[tools.notify]\nenabled = true",
            "2: tools.notify.enabled = true: expected `tools.notify.url` to be set with it",
        ),
        (
            "[tools.kb]\nenabled = true",
            "2: tools.kb.enabled = true: expected `tools.kb.folder` to be set with it",
        ),
        (
            "[tools.kb]\nfolders = \"house\"",
            "2: unknown key `tools.kb.folders`; did you mean `tools.kb.folder`?",
        ),
        (
            "[tools.device_audio]\noffer = [\"unmute\"]",
            "2: tools.device_audio.offer = [\"unmute\"]: expected one or more of those that this device can carry out: set_volume, set_speech_rate, faster, slower, reset_speech, set_voice, reset_voice, mute",
        ),
        (
            "[tools.device_audio]\noffer = [\"mute\", \"set_voice\"]",
            "2: tools.device_audio.offer = [\"mute\", \"set_voice\"]: expected `tools.device_audio.unmute` to be set with it, or \
             none of them can be offered",
        ),
        (
            "[tools.device_audio]\nunmute = \"Press\\tit.\"",
            "2: tools.device_audio.unmute = \"Press\\tit.\": expected at most 200 characters in one line, or \"\"",
        ),
        (
            "[clips]\nbell = \"https://sounds.example/bell.wav?key=k\"",
            "2: clips.bell = \"https://sounds.example/bell.wav?***\": expected a host that `tools.egress.allow` names: add \
             \"sounds.example\" there if tools may call it",
        ),
        (
            "[tools.egress]\nallow = [\"sounds.example\"]\n[clips]\nbell = \"http://sounds.example/bell.wav\"",
            "4: clips.bell = \"http://sounds.example/bell.wav\": expected https://, as http:// goes to this machine only",
        ),
        (
            "[tools.egress]\nallow = [\"a b\"]\n[clips]\nbell = \"https://sounds.example/bell.wav\"",
            "2: tools.egress.allow = [\"a b\"]: expected host names, addresses, or `*.SUFFIX`, without scheme, port or path; `a b` \
             is none",
        ),
        (
            "[tools.device_audio]\noffer = [\"set_voice\"]",
            "2: tools.device_audio.offer = [\"set_voice\"]: expected `tools.device_audio.voices` to be set with it, or none of \
             them can be offered",
        ),
        (
            "[tools.device_audio]\nvoices = [\"Kore\"]",
            "2: tools.device_audio.voices = [\"Kore\"]: expected [], or two or more names of voices to choose from, each once",
        ),
        (
            "[tools.device_audio]\nvoices = [\"Kore\", \"Kore\"]",
            "2: tools.device_audio.voices = [\"Kore\", \"Kore\"]: expected [], or two or more names of voices to choose from, \
             each once",
        ),
        (
            "[tools.device_audio]\nvoices = [\"Puck\", \"Zephyr\"]",
            "2: tools.device_audio.voices = [\"Puck\", \"Zephyr\"]: expected `provider.voice` among them, the usual one: \"Kore\"",
        ),
        ("[tools]\nprofile = \"voxy\"", "2: tools.profile = \"voxy\": expected \"default\" or \"voxa\""),
        ("[tools]\ntimeout_s = 31", "2: tools.timeout_s = 31: expected 1..=30"),
        ("[log]\nrecords = \"/\"", "2: log.records = \"/\": expected the path of a file: this is a folder"),
        ("[log]\nrecords_max_mb = 0", "2: log.records_max_mb = 0: expected 1..=1000"),
        ("[log]\nrecords_keep = 101", "2: log.records_keep = 101: expected 0..=100"),
        (
            "[clips]\nbell = \"nowhere.wav\"",
            "2: clips.bell = \"nowhere.wav\": expected \"builtin:NAME\", an https:// URL, or the path of an audio file that exists",
        ),
        (
            "[clips]\n\"a b\" = \"x\"",
            "2: clips.\"a b\" = \"x\": expected a name of 1..=24 characters: a-z first, then a-z, 0-9 and _",
        ),
        (
            "[hal.sim.zones.freezer]",
            "1: hal.sim.zones.freezer = {}: expected at least one of humidity, temp_c",
        ),
        (
            "[tools.warehouse.zones.freezer]\nmin_c = 1",
            "2: tools.warehouse.zones.freezer.min_c = 1.0: expected a zone of the board: cold_storage, loading_dock",
        ),
        (
            "[tools.warehouse.zones.cold_storage]\nmin_c = 9",
            "2: tools.warehouse.zones.cold_storage.min_c = 9.0: expected min_c below max_c (9 and 8)",
        ),
        (
            "[tools.warehouse.zones.loading_dock]\nmn_c = 9",
            "2: unknown key `tools.warehouse.zones.loading_dock.mn_c`; did you mean `tools.warehouse.zones.loading_dock.min_c`?",
        ),
        (
            "[persona]\nfile = \"nowhere.txt\"",
            "2: persona.file = \"nowhere.txt\": expected a text file that can be read (No such file or directory (os error 2))",
        ),
    ] {
        assert_eq!(faults(file), format!("/etc/voiced/voiced.toml:{expected}"), "{file}");
    }
}

#[test]
fn what_is_not_toml_is_named_by_line_and_column() {
    let found = faults("[vad]\nonset_ms = \n[gate\n");
    let places: Vec<&str> = found.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["/etc/voiced/voiced.toml:2:12", "/etc/voiced/voiced.toml:3:6"], "{found}");
    assert!(found.lines().all(|line| line.contains(": not TOML: ")), "{found}");
    assert_eq!(
        faults("[vad]\nonset_ms = 96\nonset_ms = 96\n"),
        "/etc/voiced/voiced.toml:3:1: not TOML: duplicate key; it stands above already: put what belongs to it there, or into a file of its own in voiced.d"
    );
}

#[test]
fn faults_of_all_layers_come_together_in_the_order_of_the_layers() {
    let folder = Folder::new();
    let file = folder.write("voiced.toml", "[vad]\nthreshold = 2.0\nonset_ms = \"x\"\n[gate]\ngrant_s = 0\n");
    folder.write("voiced.d/20-b.toml", "not toml\n");
    folder.write("voiced.d/10-a.toml", "[log]\nlevle = \"debug\"\n");
    folder.write("voiced.d/ignored.txt", "not toml either\n");
    let sources = Sources {
        file: FileSource::Required(file),
        env: vec![("VOICED__VAD__HANGOVER_MS".into(), "soon".into()), ("OTHER".into(), "1".into())],
        set: vec!["engage.idle_after_s=1".into(), "nonsense".into(), "tool.enabled=true".into()],
    };
    let found = Config::load(&sources).unwrap_err();
    assert_eq!(found.len(), 9);
    assert_eq!(
        found.to_string().replace(&format!("{}/", folder.0.display()), ""),
        "voiced.toml:2: vad.threshold = 2.0: expected 0.1..=0.95\n\
         voiced.toml:3: vad.onset_ms = \"x\": expected a whole number\n\
         voiced.toml:5: gate.grant_s = 0: expected 5..=60\n\
         voiced.d/10-a.toml:2: unknown key `log.levle`; did you mean `log.level`?\n\
         voiced.d/20-b.toml:1:5: not TOML: key with no value, expected `=`\n\
         env VOICED__VAD__HANGOVER_MS: vad.hangover_ms = soon: expected a whole number\n\
         flag --set nonsense: expected section.key=value\n\
         flag --set: unknown key `tool.enabled`; did you mean `tools.enabled`?\n\
         flag --set: engage.idle_after_s = 1: expected 5..=3600"
    );
}

#[test]
fn a_broken_file_causes_no_faults_elsewhere() {
    let folder = Folder::new();
    folder.write("voiced.toml", "[tools.notify]\nurl = https://gateway.example.org/\n");
    folder.write("voiced.d/10.toml", "tools.notify.enabled = true\nspeech.engine = \"command\"\n");
    let found = folder.faults();
    assert!(found.lines().all(|line| line.starts_with("voiced.toml:2:")), "{found}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    assert_eq!(folder.faults(), "voiced.toml: no such file; create it, or leave out --config");
    fs::write(folder.0.join("voiced.toml"), b"[vad]\n# \xff\n").unwrap();
    fs::create_dir(folder.0.join("voiced.d/10.toml")).unwrap();
    assert_eq!(
        folder.faults(),
        "voiced.toml: cannot be read: it is not UTF-8 text\n\
         voiced.d/10.toml: cannot be read: it is not a regular file"
    );
    fs::write(folder.0.join("voiced.toml"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
    assert!(
        folder.faults().starts_with(
            "voiced.toml: cannot be read: it is larger than the 1048576 bytes that belong there"
        ),
        "{}",
        folder.faults()
    );
}

#[test]
fn plaintext_stays_on_this_machine_unless_allowed() {
    for (url, allowed, good) in [
        ("ws://127.0.0.1:9000", false, true),
        ("ws://[::1]:9000/live", false, true),
        ("ws://localhost", false, true),
        ("ws://10.0.0.7:9000", false, false),
        ("ws://127.0.0.1.example.org", false, false),
        ("ws://10.0.0.7:9000", true, true),
        ("wss://gateway.example.org/live", false, true),
        ("wss://user:word@gateway.example.org", false, false),
        ("https://gateway.example.org", false, false),
        ("gateway.example.org:443", false, false),
        ("wss://", false, false),
    ] {
        let file = format!("[provider]\nendpoint = \"{url}\"\nallow_plaintext = {allowed}\n");
        assert_eq!(Config::load(&text(&file)).is_ok(), good, "{url} {allowed}");
    }
    assert_eq!(
        faults("[tools.notify]\nurl = \"http://10.0.0.7/send\""),
        "/etc/voiced/voiced.toml:2: tools.notify.url = \"http://10.0.0.7/send\": expected https://, as http:// goes to \
         this machine only unless `tools.notify.allow_plaintext` is true"
    );
}

#[test]
fn the_persona_is_said_once() {
    let folder = Folder::new();
    folder.write("who.txt", "You are a test.");
    folder.write("voiced.toml", "[persona]\ntext = \"You are another.\"\nfile = \"who.txt\"\n");
    assert_eq!(
        folder.faults(),
        "voiced.toml:3: persona.file = \"who.txt\": expected \"\", as `persona.text` is set too: one of them says who the \
         voice is"
    );
}

/// Every key with every kind of value, right and wrong: a configuration, or faults that name the key's section.
#[test]
fn no_value_of_a_known_key_panics() {
    let values = [
        "0",
        "-1",
        "1",
        "64",
        "9223372036854775807",
        "-9223372036854775808",
        "99999999999999999999",
        "0x10",
        "0.5",
        "-1e308",
        "inf",
        "nan",
        "true",
        "\"\"",
        "\"x\"",
        "\"file:\"",
        "\"ws://\"",
        "\"http://[::1\"",
        "\"builtin:\"",
        "\"\\u0000\"",
        "[]",
        "[\"\"]",
        "[1]",
        "{}",
        "{ a = 1 }",
        "1979-05-27",
        "07:32:00",
    ];
    for (key, _) in Schema::new().leaves() {
        let section = key.split('.').next().unwrap();
        for value in values {
            let found =
                Config::load(&text(&format!("{key} = {value}\n"))).map(|_| ()).map_err(|f| f.to_string());
            assert!(
                found.as_ref().err().is_none_or(|found| found.contains(section)),
                "{key} = {value}: {found:?}"
            );
        }
    }
}

/// The example with every key set, damaged in up to four places by a fixed seed: a configuration or faults, never a
/// panic.
#[test]
fn no_damaged_file_panics() {
    let whole = uncommented();
    let mut seed = 1_u64;
    let mut draw = |bound: usize| {
        // Knuth's MMIX generator; the high bits are the good ones.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % bound
    };
    let mut refused = 0;
    for _ in 0..500 {
        let mut damaged: Vec<char> = whole.chars().collect();
        for _ in 0..=draw(4) {
            let at = draw(damaged.len());
            match draw(3) {
                0 => damaged[at] = ['"', '[', ']', '=', '.', '\n', '\0', '{', '#', '-', '9', 'e'][draw(12)],
                1 if damaged.len() > 1 => drop(damaged.remove(at)),
                _ => damaged.truncate(at.max(1)),
            }
        }
        refused += usize::from(Config::load(&text(&damaged.into_iter().collect::<String>())).is_err());
    }
    assert!(
        (1..500).contains(&refused),
        "{refused} of 500 refused: the damage is too small or too large to test much"
    );
}
