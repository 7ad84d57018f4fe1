// SPDX-License-Identifier: MIT OR Apache-2.0

//! Layers in order, merged and checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Config;
use super::check::Check;
use super::fault::{Faults, Origin};
use super::http_tool;
use super::layer::{self, Layer, Reading};
use super::mcp;
use super::raw::Raw;
use super::schema::Schema;

/// Where the configuration is looked for when nobody says otherwise.
pub const DEFAULT_FILE: &str = "/etc/voiced/voiced.toml";

/// Folder beside the file whose `*.toml` files are read after it, in the order of their names.
const DROP_IN_FOLDER: &str = "voiced.d";

/// Where the layers come from. Everything is an argument, so a test needs no process environment.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file.
    pub file: FileSource,
    /// The environment, as name and value; only names that begin with `VOICED__` are read.
    pub env: Vec<(String, String)>,
    /// `--set` arguments, in order: `section.key=value`.
    pub set: Vec<String>,
}

/// Which file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum FileSource {
    /// None, and no drop-ins.
    #[default]
    None,
    /// This one if it exists; a missing file is no fault.
    IfPresent(PathBuf),
    /// This one; a missing file is a fault.
    Required(PathBuf),
    /// This text under this name, without drop-ins.
    Text(PathBuf, String),
}

impl Sources {
    /// What a command of the daemon reads: `--config` (or [`DEFAULT_FILE`] if it exists), the process environment,
    /// `--set`. A variable that is not UTF-8 is read with replacement characters.
    #[must_use]
    pub fn from_process(config: Option<PathBuf>, set: Vec<String>) -> Self {
        let file = match config {
            Some(path) => FileSource::Required(path),
            None => FileSource::IfPresent(PathBuf::from(DEFAULT_FILE)),
        };
        let env = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .filter(|(name, _)| name.starts_with(layer::ENV_PREFIX))
            .collect();
        Self { file, env, set }
    }

    /// The shipped example alone.
    #[must_use]
    pub fn shipped_example() -> Self {
        let name = Path::new("voiced.toml").to_path_buf();
        Self { file: FileSource::Text(name, Config::shipped_example().to_owned()), ..Self::default() }
    }
}

/// A configuration and where each value came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The checked values.
    pub config: Config,
    /// Key by key, as written, with its origin. Ordered by key.
    pub origins: BTreeMap<String, Entry>,
    /// The files that were read, in order.
    pub files: Vec<PathBuf>,
}

/// One effective value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The value.
    pub value: toml::Value,
    /// Who set it.
    pub origin: Origin,
}

impl Config {
    /// Reads, merges and checks every layer.
    ///
    /// # Errors
    /// Every fault of every layer, at least one. A daemon in a terminal prints them and exits 78.
    ///
    /// # Panics
    /// If the mirror refuses what passed a schema that was read off the mirror.
    pub fn load(sources: &Sources) -> Result<Loaded, Faults> {
        let schema = Schema::new();
        let mut faults = Vec::new();
        let mut files = Vec::new();
        let mut layers = vec![Layer::defaults(&schema)];
        let mut reading = Reading { schema: &schema, faults: &mut faults };
        match &sources.file {
            FileSource::None => {}
            FileSource::Text(path, text) => layers.push(reading.text(path, text)),
            FileSource::IfPresent(path) | FileSource::Required(path) => {
                match reading.file(path) {
                    Some(layer) => {
                        files.push(path.clone());
                        layers.push(layer);
                    }
                    None if matches!(sources.file, FileSource::Required(_)) => reading.missing(path),
                    None => {}
                }
                let folder = path.parent().unwrap_or(Path::new("")).join(DROP_IN_FOLDER);
                for (path, layer) in reading.drop_ins(&folder) {
                    files.push(path);
                    layers.push(layer);
                }
            }
        }
        layers.push(reading.env(&sources.env));
        layers.push(reading.set(&sources.set));

        let mut merged = config::Config::builder();
        let mut origins = BTreeMap::new();
        let mut drafts = Vec::new();
        let mut servers = Vec::new();
        for mut layer in layers {
            drafts.append(&mut layer.tools);
            servers.append(&mut layer.servers);
            merged = merged.add_source(layer.clone());
            origins.extend(layer.into_entries());
        }
        let raw: Raw = merged
            .build()
            .and_then(config::Config::try_deserialize)
            .expect("the schema is read off the mirror, and every layer has passed it");
        let mut config = Check { entries: &origins, faults: &mut faults }.config(raw);
        config.http_tools = http_tool::collected(
            drafts,
            &config.tools.egress,
            config.tools.timeout,
            &mut origins,
            &mut faults,
        );
        config.mcp = mcp::collected(servers, config.tools.timeout, &mut origins, &mut faults);
        if faults.is_empty() {
            Ok(Loaded { config, origins, files })
        } else {
            Err(Faults::sorted(faults, &files))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail there")]

    use std::time::Duration;

    use super::super::tests::{Folder, text};
    use super::super::{Board, CaptureChannel, ClipSource, Device, Level, SimZone, ZoneLimits};
    use super::*;

    #[test]
    fn a_default_file_may_be_missing_and_its_drop_ins_still_count() {
        let folder = Folder::new();
        folder.write("voiced.d/site.toml", "[log]\nlevel = \"warn\"\n");
        let file = FileSource::IfPresent(folder.0.join("voiced.toml"));
        let loaded = Config::load(&Sources { file, ..Sources::default() }).unwrap();
        assert_eq!(loaded.config.log.level, Level::Warn);
        assert_eq!(loaded.files, [folder.0.join("voiced.d/site.toml")]);
    }

    #[test]
    fn later_layers_win_key_by_key_and_every_value_knows_its_origin() {
        let folder = Folder::new();
        let file = folder.write(
            "voiced.toml",
            "[vad]\nthreshold = 0.6\nonset_ms = 100\nhangover_ms = 500\n[gate]\ngrant_s = 10\n",
        );
        let drop_in = folder.write("voiced.d/10.toml", "vad = { onset_ms = 110, hangover_ms = 510 }\n");
        let sources = Sources {
            file: FileSource::Required(file.clone()),
            env: vec![
                ("VOICED__VAD__HANGOVER_MS".into(), "520".into()),
                ("VOICED__GATE__GRANT_S".into(), "11".into()),
                ("VOICED__SPEECH__COMMAND".into(), "[\"piper\", \"-q\"]".into()),
                ("VOICED__AUDIO__CAPTURE_CHANNEL".into(), "1".into()),
            ],
            set: vec!["gate.grant_s=12".into(), "gate.grant_s = 13".into(), "provider.voice=Puck".into()],
        };
        let Loaded { config, origins, files } = Config::load(&sources).unwrap();
        assert_eq!(files, [file.clone(), drop_in.clone()]);
        assert_eq!(config.vad.threshold, 0.6);
        assert_eq!(config.vad.onset, Duration::from_millis(110));
        assert_eq!(config.vad.hangover, Duration::from_millis(520));
        assert_eq!(config.gate.grant, Duration::from_secs(13));
        assert_eq!(config.provider.voice.as_deref(), Some("Puck"));
        assert_eq!(config.audio.capture_channel, CaptureChannel::Index(1));
        assert_eq!(origins["vad.threshold"].origin, Origin::File { path: file, line: 2 });
        assert_eq!(origins["vad.onset_ms"].origin, Origin::File { path: drop_in, line: 1 });
        assert_eq!(
            origins["vad.hangover_ms"].origin,
            Origin::Env { name: "VOICED__VAD__HANGOVER_MS".into() }
        );
        assert_eq!(origins["gate.grant_s"].origin, Origin::Flag);
        assert_eq!(origins["gate.deadline_s"].origin, Origin::Default);
    }

    #[test]
    fn chosen_names_add_to_the_shipped_ones() {
        let file = "[hal.sim.zones.freezer]\ntemp_c = -18\n[tools.warehouse.zones.freezer]\nmax_c = -15\n";
        let config = Config::load(&text(file)).unwrap().config;
        let Board::Sim(zones) = config.hal.board else { panic!("the board is the simulator") };
        assert_eq!(zones.keys().collect::<Vec<_>>(), ["cold_storage", "freezer", "loading_dock"]);
        assert_eq!(zones["freezer"], SimZone { temp_c: -18.0, humidity: 50.0 });
        assert_eq!(config.tools.warehouse.zones["freezer"], ZoneLimits { min_c: -60.0, max_c: -15.0 });
        assert_eq!(config.tools.warehouse.zones["cold_storage"], ZoneLimits { min_c: 2.0, max_c: 8.0 });
    }

    #[test]
    fn a_relative_path_in_a_file_is_relative_to_that_file() {
        let folder = Folder::new();
        folder.write("who.txt", "  You are a test.\n");
        folder.write("bell.wav", "");
        let file = folder.write(
            "voiced.toml",
            "persona = { file = \"who.txt\" }\ntools.egress.allow = [\"*.example\"]\n\
             clips = { bell = \"bell.wav\", far = \"https://a.example/far.ogg?key=k\" }\naudio = { capture = \"file:in.wav\" }\n",
        );
        let set = vec!["audio.playback=file:out.wav".to_owned()];
        let loaded =
            Config::load(&Sources { file: FileSource::Required(file), set, env: Vec::new() }).unwrap();
        assert!(
            loaded.show().contains("clips.far = \"https://a.example/far.ogg?***\"  #"),
            "{}",
            loaded.show()
        );
        let config = loaded.config;
        let ClipSource::Url(far) = &config.clips["far"] else { panic!("{:?}", config.clips) };
        assert_eq!(far.url().as_str(), "https://a.example/far.ogg?key=k");
        assert_eq!(config.persona.text, "You are a test.");
        assert_eq!(config.clips["bell"], ClipSource::File(folder.0.join("bell.wav")));
        assert_eq!(config.clips["alarm"].to_string(), "builtin:alarm");
        assert_eq!(config.audio.capture, Device::File(folder.0.join("in.wav")));
        assert_eq!(config.audio.playback, Device::File("out.wav".into()));
    }

    /// The same value given as text, in a variable or as an argument, means what it means in a file.
    #[test]
    fn layers_agree_on_what_a_value_means() {
        for value in ["0", "5", "10", "405", "410", "3000", "3010", "-10", "ten", "4e2", "400.0", "true"] {
            let config = |sources: &Sources| Config::load(sources).map(|loaded| loaded.config).ok();
            let file = config(&text(&format!("[vad]\nhangover_ms = {value}\n")));
            let env = vec![("VOICED__VAD__HANGOVER_MS".to_owned(), value.to_owned())];
            assert_eq!(
                file,
                config(&Sources { set: vec![format!("vad.hangover_ms={value}")], ..Sources::default() })
            );
            assert_eq!(file, config(&Sources { env, ..Sources::default() }));
        }
    }
}
